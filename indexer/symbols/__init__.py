"""Where is a name defined and used, and how sure is that? Knows nothing of meaning, and of languages only the rules."""
