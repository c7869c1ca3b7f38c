"""Which files belong to a project, and which of them does a query ask about? Knows nothing of what is in them."""
