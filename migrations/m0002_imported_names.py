"""The names that a file imports: they find users of a name without a look at all files that mention it.

symbol        gains `imports` (indexer/symbols/outline.py), so that resolving a name reads no definitions.
symbol_name   gains the column `imported`: names and aliases that imports bring in, and the last parts of module names.

Both tables are dropped and created again: from now on their rows are derived in another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def apply(db: Database) -> None:
    for statement in _STATEMENTS:
        db.execute(statement)


_STATEMENTS = (
    "DROP TABLE symbol",
    "DROP TABLE symbol_name",
    """CREATE TABLE symbol (
        content_id INTEGER PRIMARY KEY REFERENCES content (id),
        definitions BLOB NOT NULL,
        imports BLOB NOT NULL,
        reference_blob BLOB NOT NULL
    )""",
    """CREATE VIRTUAL TABLE symbol_name USING fts5 (
        defined, referenced, imported, detail = column, content = '', contentless_delete = 1,
        tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
    )""",
)
