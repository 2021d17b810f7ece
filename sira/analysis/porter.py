"""Porter's stemmer, as Lucene's PorterStemmer computes it."""

from __future__ import annotations

_DOUBLE_SUFFIXES = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "logi": "log",
}  # fmt: skip
_SINGLE_SUFFIXES = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_DOUBLE_ENDS, _SINGLE_ENDS = tuple(_DOUBLE_SUFFIXES), tuple(_SINGLE_SUFFIXES)
# where one is the end of another, the longer comes first
_LAST_ENDS = (
    "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "sion", "tion", "ou", "ism", "ate",
    "iti", "ous", "ive", "ize",
)  # fmt: skip


def porter_stem(word: str) -> str:
    """The stem of one lower-case word; words of one or two letters are their own stem.

    The algorithm is that of Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the three departures
    of Porter's own later releases that `org.apache.lucene.analysis.en.PorterStemmer` has too: `bli` for `abli`, `logi`
    to `log`, and words of up to two letters left alone. Whatever is not one of a, e, i, o, u, y counts as a consonant:
    digits, punctuation inside a word, letters of any other script.

    It is written here because no light library computes it: Snowball's `porter` (PyStemmer, snowballstemmer) lacks the
    departures, and NLTK, which has them, brings much else.
    """
    if len(word) <= 2:
        return word
    word = _inflections(word)
    if word[-1] == "y" and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _DOUBLE_SUFFIXES, _DOUBLE_ENDS)
    word = _replace(word, _SINGLE_SUFFIXES, _SINGLE_ENDS)
    return _tidy(_last_suffix(word))


def _shape(word: str) -> str:
    """One `c` (consonant) or `v` (vowel) a letter: y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a run of vowels is followed by a run of consonants."""
    return _shape(word).count("vc")


def _is_short(word: str) -> bool:
    """Porter's *o: ends consonant, vowel, consonant, the last of which is not w, x or y (`hop`, not `snow`)."""
    return word[-1:] not in ("w", "x", "y") and _shape(word).endswith("cvc")


def _ends_double(word: str) -> bool:
    """Porter's *d: ends with a double consonant."""
    return word[-1:] == word[-2:-1] and _shape(word).endswith("c")


def _inflections(word: str) -> str:
    """Steps 1a and 1b: plurals, -ed, -ing."""
    if word.endswith(("sses", "ies")):
        word = word[:-2]
    elif word[-1] == "s" and word[-2] != "s":
        word = word[:-1]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    if not word.endswith(("ed", "ing")):
        return word
    stem = word[:-2] if word.endswith("ed") else word[:-3]
    if "v" not in _shape(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if _ends_double(stem):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _is_short(stem) else stem


def _replace(word: str, suffixes: dict[str, str], ends: tuple[str, ...]) -> str:
    """Steps 2 and 3: a suffix is replaced where the letters before it measure more than 0."""
    if not word.endswith(ends):
        return word
    suffix = next(end for end in ends if word.endswith(end))
    stem = word.removesuffix(suffix)
    return stem + suffixes[suffix] if _measure(stem) else word


def _last_suffix(word: str) -> str:
    """Step 4: a suffix goes where the letters before it measure more than 1; -ion leaves the s or t before it."""
    if not word.endswith(_LAST_ENDS):
        return word
    suffix = next(end for end in _LAST_ENDS if word.endswith(end))
    stem = word.removesuffix("ion" if suffix.endswith("ion") else suffix)
    return stem if _measure(stem) > 1 else word


def _tidy(word: str) -> str:
    """Step 5: a final -e, and one of a final -ll."""
    measure = _measure(word)
    if word[-1] == "e" and (measure > 1 or (measure == 1 and not _is_short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and measure > 1 else word
