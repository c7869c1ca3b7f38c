"""What does a pattern mean? One dialect, parsed once, spelled for each engine. Knows no files, no index and no project."""
