"""The rows that an overview of a project needs.

content.line_count  lines of the text, 0 for binary; written with the text rows, so that no file is read to count.
link          per content: the names it offers to other files, and those it takes and imports from them, as marks of
              indexer/symbols/outline.py. A row per name would take five times the space.
key_element   per content: at most ten of its offered names, those that most files take. `share` ranks them: the number
              of files that take the name, divided by the number of contents that offer it. Counting all links takes
              seconds in a large project: indexing does it (indexer/symbols/element_ranking.py), an answer only reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def apply(db: Database) -> None:
    for statement in _TABLES:
        db.execute(statement)


_TABLES = (
    "ALTER TABLE content ADD COLUMN line_count INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE link (
        content_id INTEGER PRIMARY KEY REFERENCES content (id),
        offered BLOB NOT NULL,
        taken BLOB NOT NULL,
        imported BLOB NOT NULL
    )""",
    """CREATE TABLE key_element (
        content_id INTEGER NOT NULL REFERENCES content (id),
        mark INTEGER NOT NULL,
        share REAL NOT NULL,
        PRIMARY KEY (content_id, mark)
    ) WITHOUT ROWID""",
    "CREATE INDEX key_element_mark ON key_element (mark)",
)
