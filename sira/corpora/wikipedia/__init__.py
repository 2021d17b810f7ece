"""Wikipedia as a corpus: dump files read as streams, wikitext made plain, pages found by title or address."""
