"""Analyzers by name, and batched analysis through the engine."""

from __future__ import annotations

from collections.abc import Sequence

from sira.errors import InputError
from sira.lucene.jvm import engine, java_errors
from sira.lucene.wire import RECORD, UNIT, to_bytes

_LUCENE = "org.apache.lucene.analysis."

ANALYZERS: dict[str, str] = {
    # Anserini's default: standard tokenizer, possessives, lower case, Lucene's 33 stop words, Porter.
    "english": "english",
    "standard": _LUCENE + "standard.StandardAnalyzer",
    "whitespace": _LUCENE + "core.WhitespaceAnalyzer",
    "cjk": _LUCENE + "cjk.CJKAnalyzer",
    **{
        language: f"{_LUCENE}{code}.{name}Analyzer"
        for language, code, name in (
            ("arabic", "ar", "Arabic"),
            ("bengali", "bn", "Bengali"),
            ("danish", "da", "Danish"),
            ("dutch", "nl", "Dutch"),
            ("finnish", "fi", "Finnish"),
            ("french", "fr", "French"),
            ("german", "de", "German"),
            ("greek", "el", "Greek"),
            ("hindi", "hi", "Hindi"),
            ("hungarian", "hu", "Hungarian"),
            ("indonesian", "id", "Indonesian"),
            ("italian", "it", "Italian"),
            ("japanese", "ja", "Japanese"),
            ("korean", "ko", "Korean"),
            ("norwegian", "no", "Norwegian"),
            ("persian", "fa", "Persian"),
            ("portuguese", "pt", "Portuguese"),
            ("russian", "ru", "Russian"),
            ("spanish", "es", "Spanish"),
            ("swedish", "sv", "Swedish"),
            ("telugu", "te", "Telugu"),
            ("turkish", "tr", "Turkish"),
        )
    },
    "chinese": _LUCENE + "cjk.CJKAnalyzer",
}

_CODES = {
    "ar": "arabic", "bn": "bengali", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fa": "persian", "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian",
    "it": "italian", "ja": "japanese", "ko": "korean", "nl": "dutch", "no": "norwegian", "pt": "portuguese",
    "ru": "russian", "sv": "swedish", "te": "telugu", "tr": "turkish", "zh": "chinese",
}  # fmt: skip


def analyzer_name(name: str) -> str:
    """The canonical name of an analyzer given by name or two-letter language code.

    Raises InputError listing the known names.
    """
    known = _CODES.get(name.lower(), name.lower())
    if known not in ANALYZERS:
        raise InputError(f"analyzer {name!r} is not known: choose one of {', '.join(sorted(ANALYZERS))}")
    return known


def analyze(texts: Sequence[str], analyzer: str = "english") -> list[list[str]]:
    """The index terms of each text, in order; one call to Java for the whole batch."""
    if not texts:
        return []
    java = ANALYZERS[analyzer_name(analyzer)]
    joined = RECORD.join(texts)
    if joined.count(RECORD) != len(texts) - 1:  # a control character, which no analyzer keeps in a term
        joined = RECORD.join(text.replace(RECORD, " ") for text in texts)
    with java_errors():
        reply = to_bytes(engine.analyze(java, joined.encode("utf-8", "replace"))).decode("utf-8")
    return [terms.split(UNIT) if terms else [] for terms in reply.split(RECORD)]
