"""The engine: Anserini's Lucene, driven from Python. The only package that knows Java.

`Index` reads and searches, `build_index` writes, `attach_expansions` changes the expansions of an index,
`update_index` adds, replaces and deletes documents.
"""
