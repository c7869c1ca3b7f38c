"""Which files have such a name? Knows nothing of what is in them."""
