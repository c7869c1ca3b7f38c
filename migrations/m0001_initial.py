"""The first tables: contents, the files that point to them, and the data derived from a content.

content       one row per distinct sequence of bytes (key: the first 16 bytes of its SHA-256). After a rename, a branch
              switch or in a second worktree, ctxd finds the content here and derives nothing again. `form` as in
              indexer/decode.py. `text_revision` and `symbols_revision` say which revision of our code derived its rows
              (0: none yet). `symbols` says how that ended ("pending", "parsed", "none", "too_large", "failed"),
              `symbols_error` why it failed. `last_used` (Unix seconds) tells when to delete a content without files.
root          the folders this database serves (the worktrees of one repository share it).
file          path -> content, per root; paths are bytes relative to the root. `stamp` as in indexer/files/walker.py.
text_row      a row of the trigram index -> its content. Rows are line-aligned pieces of at most 64 KiB (a longer line
              stays whole), so that a match always lies within one row.
text_index    FTS5 trigrams over canonical text decoded as Latin-1 (so any bytes can be indexed). Contentless, without
              positions: it narrows, the bytes on disk decide. Its size: 11.5 % of the Linux kernel; with 16-KiB rows
              14.8 %, with positions 170 %.
common_trigram  how many rows hold a trigram, for trigrams in more than a twentieth of all rows: counting one of them
              costs up to 2 ms, counting a rare one nothing. Written when the text index is optimized; that is exact
              enough for the planner's estimates.
symbol        per content: packed definitions and imports, and packed references (indexer/symbols/outline.py). One blob
              per content instead of a row per occurrence: it takes a fifth of the space, and a file costs two inserts
              instead of hundreds.
symbol_name   FTS5 name -> contents that define or refer to it (rowid = content id). It leads to the rows of `symbol`.
              It folds case; the blobs decide.
note          other facts to remember: "clean_stop" (indexer/database.py); "first_pass:ROOT", the last stage ("symbols"
              or "chunks") that a first pass over a root has completed (indexer/writer.py). A step that drops rows which
              a stage needs to answer deletes that note.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlite_utils import Database


def apply(db: Database) -> None:
    for statement in _TABLES:
        db.execute(statement)


_TABLES = (
    """CREATE TABLE content (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        hash BLOB NOT NULL UNIQUE,
        form TEXT NOT NULL,
        text_revision INTEGER NOT NULL DEFAULT 0,
        symbols_revision INTEGER NOT NULL DEFAULT 0,
        symbols TEXT NOT NULL DEFAULT 'pending',
        symbols_error TEXT,
        definition_count INTEGER NOT NULL DEFAULT 0,
        reference_count INTEGER NOT NULL DEFAULT 0,
        last_used INTEGER NOT NULL
    )""",
    "CREATE TABLE root (id INTEGER PRIMARY KEY, path BLOB NOT NULL UNIQUE)",
    """CREATE TABLE file (
        root_id INTEGER NOT NULL REFERENCES root (id),
        path BLOB NOT NULL,
        size INTEGER NOT NULL,
        stamp INTEGER NOT NULL,
        content_id INTEGER NOT NULL REFERENCES content (id),
        PRIMARY KEY (root_id, path)
    ) WITHOUT ROWID""",
    "CREATE INDEX file_content ON file (content_id)",
    "CREATE TABLE text_row (id INTEGER PRIMARY KEY, content_id INTEGER NOT NULL REFERENCES content (id))",
    "CREATE INDEX text_row_content ON text_row (content_id)",
    """CREATE VIRTUAL TABLE text_index USING fts5 (
        text, tokenize = 'trigram', detail = none, content = '', contentless_delete = 1
    )""",
    "INSERT INTO text_index (text_index, rank) VALUES ('automerge', 0)",
    "CREATE TABLE common_trigram (term TEXT PRIMARY KEY, row_count INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE VIRTUAL TABLE text_vocabulary USING fts5vocab (text_index, 'row')",
    """CREATE TABLE symbol (
        content_id INTEGER PRIMARY KEY REFERENCES content (id),
        definitions BLOB NOT NULL,
        reference_blob BLOB NOT NULL
    )""",
    """CREATE VIRTUAL TABLE symbol_name USING fts5 (
        defined, referenced, detail = column, content = '', contentless_delete = 1,
        tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* Co'"
    )""",
    "CREATE TABLE note (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
)
