"""Which parts does one text have, and how does it read after a change of one? Reads and writes no files."""
