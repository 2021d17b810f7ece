"""sira: search with a frozen language model, with the inverted index as judge."""

__version__ = "0.1.0"
