"""How is a file changed without losing a byte? The only code that writes into projects, and its journal. Knows no tool."""
