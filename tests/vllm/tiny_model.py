"""A Qwen3 of random weights with a byte-level tokenizer and a chat template: the real path through vLLM in seconds."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path

CONTEXT = 512
VOCABULARY = 2048
SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
# As Qwen3's own: thinking off is an empty block of thought, written ahead of the reply.
TEMPLATE = (
    "{%- for message in messages %}"
    "{{- '<|im_start|>' + message.role + '\n' + message.content + '<|im_end|>\n' }}"
    "{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}"
    "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\n\n</think>\n\n' }}{%- endif %}"
    "{%- endif %}"
)


def make_tiny_qwen3(folder: Path, context: int = CONTEXT) -> Path:
    """Write the model and return its folder: about 1 MB, always the same weights."""
    # Any, by import_module: these packages are not installed where the types are checked.
    tokenizers, transformers, torch = map(import_module, ("tokenizers", "transformers", "torch"))
    tokenizer = tokenizers.ByteLevelBPETokenizer()
    library = Path(os.__file__).parent
    texts = [(library / f"{name}.py").read_text(encoding="utf-8") for name in ("argparse", "typing", "shutil")]
    tokenizer.train_from_iterator(texts, vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False)
    wrapped = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    wrapped.chat_template = TEMPLATE
    wrapped.save_pretrained(folder)

    torch.manual_seed(0)
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=32,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=wrapped.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=wrapped.convert_tokens_to_ids("<|endoftext|>"),
    )
    transformers.Qwen3ForCausalLM(config).save_pretrained(folder)
    return folder
