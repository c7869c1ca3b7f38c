"""Writes the rows of chunks: their lines, words and vectors (migrations/m0004_chunks.py says what the tables are).

Invariant: chunks, words and vectors of a content are written in the transaction that says they are there. Called from one thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ctxd.indexer.chunk_job import Chunked
    from ctxd.indexer.database import Database

CHUNKS_REVISION = 1
"""What chunks and their words are: raise it when the chunker or the words change, and every content is cut anew."""


class StoredModel(NamedTuple):
    """A model of which there are vectors."""

    id: int
    identity: str
    specification: str
    dimension: int


def stored_models(database: Database) -> list[StoredModel]:
    """Those whose vectors are there, in part at least; the latest last."""
    with database.reader() as connection:
        rows = connection.execute("SELECT id, identity, specification, dimension FROM model ORDER BY id").fetchall()
    return [StoredModel(*row) for row in rows]


def write_chunks(database: Database, content_id: int, result: Chunked, identity: str) -> None:
    """Replace the chunks of one content, or add the vectors of one more model to those it has. Call inside `database.transaction()`.

    `identity` is that of the model that gave the vectors.
    """
    connection = database.writer
    ids = _ids(connection, content_id)
    if result.words or not result.chunks:
        forget_chunks(connection, content_id, ids)
        ids = []
        for chunk, kind, names, words in zip(result.chunks, result.kinds, result.names, result.words, strict=True):
            cursor = connection.execute(
                "INSERT INTO chunk (content_id, start_line, end_line, kind) VALUES (?, ?, ?, ?)",
                (content_id, chunk.start_line, chunk.end_line, kind),
            )
            ids.append(cursor.lastrowid)
            connection.execute(
                "INSERT INTO chunk_text (rowid, names, words) VALUES (?, ?, ?)", (cursor.lastrowid, names, words)
            )
        connection.execute(
            "UPDATE content SET chunks_revision = ?, chunk_count = ? WHERE id = ?",
            (CHUNKS_REVISION, len(ids), content_id),
        )
    if result.dimension:
        number = _model_number(connection, identity, result.model, result.dimension)
        connection.executemany(
            f"INSERT OR REPLACE INTO vector_{number} VALUES (?, ?)", zip(ids, result.vectors, strict=True)
        )
        connection.execute(
            "INSERT OR REPLACE INTO embedded (model_id, content_id, embedded_at) VALUES (?, ?, ?)",
            (number, content_id, int(time.time())),
        )


def forget_chunks(connection: Any, content_id: int, ids: list[int] | None = None) -> None:
    ids = _ids(connection, content_id) if ids is None else ids
    if ids:
        between = (ids[0], ids[-1])
        connection.execute("DELETE FROM chunk_text WHERE rowid BETWEEN ? AND ?", between)
        connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", between)
        for (number,) in connection.execute("SELECT id FROM model").fetchall():
            connection.execute(f"DELETE FROM vector_{number} WHERE chunk_id BETWEEN ? AND ?", between)
    connection.execute("DELETE FROM embedded WHERE content_id = ?", (content_id,))


def drop_models_but(database: Database, kept: int) -> None:
    """Delete the vectors of all models but one."""
    with database.transaction() as connection:
        for (number,) in connection.execute("SELECT id FROM model WHERE id <> ?", (kept,)).fetchall():
            connection.execute(f"DROP TABLE vector_{number}")
            connection.execute("DELETE FROM embedded WHERE model_id = ?", (number,))
            connection.execute("DELETE FROM model WHERE id = ?", (number,))


def _model_number(connection: Any, identity: str, specification: str, dimension: int) -> int:
    """The number of a model, which gets its table where it is new."""
    row = connection.execute("SELECT id FROM model WHERE identity = ?", (identity,)).fetchone()
    if row is not None:
        return row[0]
    cursor = connection.execute(
        "INSERT INTO model (identity, specification, dimension) VALUES (?, ?, ?)", (identity, specification, dimension)
    )
    connection.execute(f"CREATE TABLE vector_{cursor.lastrowid} (chunk_id INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
    return cursor.lastrowid


def _ids(connection: Any, content_id: int) -> list[int]:
    rows = connection.execute("SELECT id FROM chunk WHERE content_id = ? ORDER BY id", (content_id,)).fetchall()
    return [id_ for (id_,) in rows]
