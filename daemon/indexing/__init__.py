"""Which files changed, and which data must be derived again? Watching, indexing thread, worker processes. Knows no tool."""
