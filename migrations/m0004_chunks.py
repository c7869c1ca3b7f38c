"""The rows that semantic search needs: chunks of contents, their words, and their vectors.

content.chunks_revision  which revision of our code cut the content into chunks and wrote their words; 0: none yet.
content.chunk_count  how many it has.
chunk         the pieces of a content (indexer/meaning/chunker.py), with their lines and the kind of the definition that
              takes most of the lines ("" if none does). The chunks of a content have consecutive ids, so that a range
              of ids stands for a content.
chunk_text    FTS5 words of each chunk (rowid = its id): the names it defines, and all its words, as indexer/words.py
              splits them. Paths are not among them: a path belongs to a file, not to a content. A query looks at it.
model         the embedding models that have vectors here. Vectors of model N are in the table `vector_N` (chunk id, a
              byte a dimension), which is dropped as a whole when the model is given up. sqlite-vec's own tables (vec0)
              take 60 microseconds to read one vector and 300 ms for the 2,000 nearest of 200,000; a plain table with
              its distance function takes 2 microseconds and 8 ms.
embedded      which contents have vectors of which model, and since when (Unix seconds). `step` grows with each row, so
              that a copy in memory reads only the new rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def apply(db: Database) -> None:
    for statement in _TABLES:
        db.execute(statement)


_TABLES = (
    "ALTER TABLE content ADD COLUMN chunks_revision INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE content ADD COLUMN chunk_count INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE chunk (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        content_id INTEGER NOT NULL REFERENCES content (id),
        start_line INTEGER NOT NULL,
        end_line INTEGER NOT NULL,
        kind TEXT NOT NULL
    )""",
    "CREATE INDEX chunk_content ON chunk (content_id)",
    """CREATE VIRTUAL TABLE chunk_text USING fts5 (
        names, words, content = '', contentless_delete = 1, tokenize = "porter unicode61 remove_diacritics 2 tokenchars '_'"
    )""",
    "INSERT INTO chunk_text (chunk_text, rank) VALUES ('automerge', 0)",
    """CREATE TABLE model (
        id INTEGER PRIMARY KEY,
        identity TEXT NOT NULL UNIQUE,
        specification TEXT NOT NULL,
        dimension INTEGER NOT NULL
    )""",
    """CREATE TABLE embedded (
        step INTEGER PRIMARY KEY AUTOINCREMENT,
        model_id INTEGER NOT NULL REFERENCES model (id),
        content_id INTEGER NOT NULL REFERENCES content (id),
        embedded_at INTEGER NOT NULL,
        UNIQUE (content_id, model_id)
    )""",
)
