"""The library behind the daemon: files in, answers out. Synchronous; it knows nothing of sockets, MCP or the daemon.

Paths are `bytes`, relative to the project's root, with `/`.
"""
