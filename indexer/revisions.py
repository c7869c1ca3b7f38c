"""The revisions of derived data. Increase one when its data changes: ctxd then derives it again for every content.

Invariant: constants only, so that writers and readers of rows agree without knowing each other.
"""

TEXT_REVISION = 2
"""The rows that are written with the trigram index."""
SYMBOLS_REVISION = 6
"""The rows of the symbol tables: a query of a language, or the packed form."""
CHUNKS_REVISION = 1
"""The chunks of a text, their words, and how the built-in model embeds them."""
