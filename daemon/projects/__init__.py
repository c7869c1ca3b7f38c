"""Which projects exist, which settings do they have, and what does each connection see? Knows no tool and no protocol."""
