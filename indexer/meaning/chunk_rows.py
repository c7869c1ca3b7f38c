"""Writes the rows of chunks: their lines, words and vectors (migrations/m0004_chunks.py describes the tables).

Invariant: chunks, words and vectors of a content are written in the same transaction as the mark that they exist.
Called from one thread.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxd.indexer.meaning.embedding import BUILT_IN
from ctxd.indexer.meaning.model_error import ModelError
from ctxd.indexer.revisions import CHUNKS_REVISION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.database import Database
    from ctxd.indexer.meaning.chunk_job import Chunked, Embedded
    from ctxd.indexer.meaning.chunker import Chunk


class StoredModel(NamedTuple):
    """A model that has vectors in the database."""

    id: int
    identity: str
    specification: str
    dimension: int


def stored_models(database: Database) -> list[StoredModel]:
    """The models that have all or some vectors in the database, the latest last."""
    with database.reader() as connection:
        rows = connection.execute("SELECT id, identity, specification, dimension FROM model ORDER BY id").fetchall()
    return [StoredModel(*row) for row in rows]


def write_chunks(database: Database, content_id: int, result: Chunked, model: str) -> None:
    """Write the chunks of one content and their vectors. Chunks that exist already stay, with vectors of other models.

    `model` is the identity of the built-in model. Call inside `database.transaction()`.
    """
    connection = database.writer
    known = connection.execute(
        """SELECT chunk.id, start_line, end_line FROM chunk JOIN content ON content.id = content_id
           WHERE content_id = ? AND chunks_revision = ? ORDER BY chunk.id""",
        (content_id, CHUNKS_REVISION),
    ).fetchall()
    ids = [id_ for id_, _, _ in known]
    if [lines for _, *lines in known] != [[one.start_line, one.end_line] for one in result.chunks] or not ids:
        forget_chunks(connection, content_id)
        ids = [_write_chunk(connection, content_id, *columns) for columns in _columns(result)]
        connection.execute(
            "UPDATE content SET chunks_revision = ?, chunk_count = ? WHERE id = ?",
            (CHUNKS_REVISION, len(ids), content_id),
        )
    if result.dimension:
        number = _model_number(connection, model, BUILT_IN, result.dimension)
        _write_vectors(connection, number, zip(ids, result.vectors, strict=True))
        _say_embedded(connection, number, content_id)


def unembedded_chunks(database: Database, content_id: int, identity: str) -> list[tuple[int, int, int]]:
    """Chunks of a content without a vector of a model: id, first and last line."""
    with database.reader() as connection:
        row = connection.execute("SELECT id FROM model WHERE identity = ?", (identity,)).fetchone()
        without = "" if row is None else f"AND id NOT IN (SELECT chunk_id FROM vector_{row[0]})"
        return connection.execute(
            f"SELECT id, start_line, end_line FROM chunk WHERE content_id = ? {without} ORDER BY id", (content_id,)
        ).fetchall()


def write_vectors(database: Database, content_id: int, result: Embedded, identity: str, specification: str) -> bool:
    """Add vectors of another model to a content. Return whether it now has all. Call inside `database.transaction()`.

    Raises ModelError if the model has another dimension than before.
    """
    connection = database.writer
    number = _model_number(connection, identity, specification, result.dimension)
    # Skips chunks that are gone: contents may be deleted while workers embed them.
    there = set(_ids(connection, content_id))
    _write_vectors(connection, number, (one for one in result.vectors if one[0] in there))
    left = connection.execute(
        f"SELECT 1 FROM chunk WHERE content_id = ? AND id NOT IN (SELECT chunk_id FROM vector_{number})", (content_id,)
    ).fetchone()
    if left is None and there:
        _say_embedded(connection, number, content_id)
    return left is None


def _columns(result: Chunked) -> Iterable[tuple[Chunk, str, str, str]]:
    return zip(result.chunks, result.kinds, result.names, result.words, strict=True)


def _write_chunk(connection: Any, content_id: int, chunk: Chunk, kind: str, names: str, words: str) -> int:
    cursor = connection.execute(
        "INSERT INTO chunk (content_id, start_line, end_line, kind) VALUES (?, ?, ?, ?)",
        (content_id, chunk.start_line, chunk.end_line, kind),
    )
    connection.execute(
        "INSERT INTO chunk_text (rowid, names, words) VALUES (?, ?, ?)", (cursor.lastrowid, names, words)
    )
    return cursor.lastrowid


def _write_vectors(connection: Any, number: int, rows: Iterable[tuple[int, bytes]]) -> None:
    connection.executemany(f"INSERT OR REPLACE INTO vector_{number} VALUES (?, ?)", rows)


def _say_embedded(connection: Any, number: int, content_id: int) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO embedded (model_id, content_id, embedded_at) VALUES (?, ?, ?)",
        (number, content_id, int(time.time())),
    )


def forget_chunks(connection: Any, content_id: int) -> None:
    ids = _ids(connection, content_id)
    if ids:
        between = (ids[0], ids[-1])
        connection.execute("DELETE FROM chunk_text WHERE rowid BETWEEN ? AND ?", between)
        connection.execute("DELETE FROM chunk WHERE id BETWEEN ? AND ?", between)
        for (number,) in connection.execute("SELECT id FROM model").fetchall():
            connection.execute(f"DELETE FROM vector_{number} WHERE chunk_id BETWEEN ? AND ?", between)
    connection.execute("DELETE FROM embedded WHERE content_id = ?", (content_id,))


def drop_models_but(database: Database, kept: set[str]) -> None:
    """Delete the vectors of all models except those with these identities."""
    with database.transaction() as connection:
        for number, identity in connection.execute("SELECT id, identity FROM model").fetchall():
            if identity not in kept:
                connection.execute(f"DROP TABLE vector_{number}")
                connection.execute("DELETE FROM embedded WHERE model_id = ?", (number,))
                connection.execute("DELETE FROM model WHERE id = ?", (number,))


def _model_number(connection: Any, identity: str, specification: str, dimension: int) -> int:
    """The number of a model. Creates the table of a new model. Raises ModelError if the dimension has changed."""
    row = connection.execute("SELECT id, dimension FROM model WHERE identity = ?", (identity,)).fetchone()
    if row is not None:
        if row[1] != dimension:
            raise ModelError(
                f"{specification} gives vectors of {dimension} dimensions, those of the index have {row[1]}: it serves another model"
                " under the same name. Give it another one, or index anew: `ctxd remove`, `ctxd add`"
            )
        return row[0]
    cursor = connection.execute(
        "INSERT INTO model (identity, specification, dimension) VALUES (?, ?, ?)", (identity, specification, dimension)
    )
    connection.execute(f"CREATE TABLE vector_{cursor.lastrowid} (chunk_id INTEGER PRIMARY KEY, vector BLOB NOT NULL)")
    return cursor.lastrowid


def _ids(connection: Any, content_id: int) -> list[int]:
    rows = connection.execute("SELECT id FROM chunk WHERE content_id = ? ORDER BY id", (content_id,)).fetchall()
    return [id_ for (id_,) in rows]
