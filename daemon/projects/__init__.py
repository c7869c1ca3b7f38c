"""Which projects are there, with which settings, and who sees what of them? Knows no tool and no protocol."""
