"""Smaller rows of the full-text indexes: they fit a page that ends with a checksum (indexer/page_checksums.py).

FTS5 fills rows of 4,050 bytes. A checksum takes 8 bytes of a page: each row would need a second page for its end, 6 %
more space. Existing rows keep their size until they are merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

_ROW_BYTES = 4_042


def apply(db: Database) -> None:
    for index in ("text_index", "symbol_name", "chunk_text"):
        db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('pgsz', {_ROW_BYTES})")
