"""What derived data is of today: raise one of these when what it names changes, and every content is derived again.

Invariant: constants only, so that whoever writes rows and whoever reads them agree without knowing each other.
"""

TEXT_REVISION = 2
"""What is written with the trigram index."""
SYMBOLS_REVISION = 6
"""The rows of the symbol tables: a query of a language, or the packed form."""
CHUNKS_REVISION = 1
"""Where a text is cut into chunks, their words, and how the built-in model embeds them."""
