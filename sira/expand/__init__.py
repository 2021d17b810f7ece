"""Document expansions: the store of proposed phrases, the document-side gate, and putting them into an index."""
