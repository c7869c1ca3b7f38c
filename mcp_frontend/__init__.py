"""The `ctxd` command and the stdio end of MCP. Standard library only: a host waits while it starts."""
