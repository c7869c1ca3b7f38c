"""What has changed, and what is to be derived anew? Watching, the indexing thread, worker processes. Knows no tool."""
