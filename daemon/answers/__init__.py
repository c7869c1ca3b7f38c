"""How are answers made, in the parts that several tools share? Knows no single tool and nothing of MCP."""
