"""Which lines hold a text or match a pattern? Candidates from the index, verified on disk. Knows nothing of symbols."""
