"""Rows of full-text indexes that fit a page which ends with a checksum (indexer/page_checksums.py).

FTS5 fills rows of 4,050 bytes. With 8 bytes less on a page each of them would need a second page for its end: 6 % more space. What is
there keeps its size until it is merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database

_ROW_BYTES = 4_042


def apply(db: Database) -> None:
    for index in ("text_index", "symbol_name", "chunk_text"):
        db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('pgsz', {_ROW_BYTES})")
