"""What do several tools need to make an answer? Knows no single tool and nothing of MCP."""
