"""How is a file changed without losing a byte? The one writer to projects, and its journal. Knows no tool."""
