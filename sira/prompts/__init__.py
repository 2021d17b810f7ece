"""Prompts: versioned TOML files that ask a model for phrases or for a text, and their strict rendering to messages."""

from sira.prompts.files import load_prompt, prompt_labels, prompt_names, prompt_path
from sira.prompts.prompt import MOST_PHRASES, MOST_WORDS, Prompt, Side, enclosed

__all__ = [
    "MOST_PHRASES",
    "MOST_WORDS",
    "Prompt",
    "Side",
    "enclosed",
    "load_prompt",
    "prompt_labels",
    "prompt_names",
    "prompt_path",
]
