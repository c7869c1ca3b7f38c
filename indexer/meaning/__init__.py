"""Which code is about this? Chunks, words, vectors and the ranking of files by them. Loads one model in the daemon."""
