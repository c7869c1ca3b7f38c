"""The chunks nearest to a vector: signs of all vectors in memory narrow, the vectors in the database decide.

Invariant: what is in memory only narrows; a chunk that is gone is not found, as its row is not there. Measured with 200,000 chunks
of 128 dimensions: 2 ms to narrow, 4 to decide, and of the 300 nearest 96 % are found (the 10 nearest always).
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection

    from ctxd.indexer.database import Database

NARROWED = 1_000  # chunks whose vectors are read
_ROWS_AT_ONCE = 20_000


class Near(NamedTuple):
    chunk_id: int
    content_id: int
    cosine: float
    vector: bytes
    """Quantised."""


class VectorIndex:
    """Over the vectors of one model. Thread-safe."""

    def __init__(self, database: Database, model_id: int, dimension: int) -> None:
        import numpy as np

        self.model_id = model_id
        self.dimension = dimension
        self._database = database
        self._lock = threading.Lock()
        self._step = 0
        self._signs = np.zeros((0, -(-dimension // 64)), np.uint64)
        self._chunk_ids = np.zeros(0, np.int64)
        self._content_ids = np.zeros(0, np.int64)

    def refresh(self) -> None:
        """Read what was written since the last time: all of it at first, a million chunks in two seconds."""
        import numpy as np

        with self._lock:
            with self._database.reader() as connection:
                latest = connection.execute("SELECT max(step) FROM embedded").fetchone()[0] or 0
                if latest == self._step:
                    return
                cursor = connection.execute(
                    f"""SELECT chunk_id, embedded.content_id, vector FROM embedded
                        JOIN chunk ON chunk.content_id = embedded.content_id
                        JOIN vector_{self.model_id} ON chunk_id = chunk.id
                        WHERE model_id = ? AND step > ? AND step <= ?""",
                    (self.model_id, self._step, latest),
                )
                signs, chunk_ids, content_ids = [self._signs], [self._chunk_ids], [self._content_ids]
                while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                    vectors = np.frombuffer(b"".join(row[2] for row in rows), np.int8)
                    signs.append(self._signs_of(vectors.reshape(len(rows), self.dimension)))
                    chunk_ids.append(np.array([row[0] for row in rows], np.int64))
                    content_ids.append(np.array([row[1] for row in rows], np.int64))
            self._signs, self._chunk_ids, self._content_ids = map(np.concatenate, (signs, chunk_ids, content_ids))
            self._step = latest

    def nearest(self, vector: Any, count: int, contents: Collection[int] | None = None) -> list[Near]:
        """Up to `count` chunks in order of their cosine to a vector (float32), of `contents` (ids) alone where they are given."""
        import numpy as np

        from ctxd.indexer.embedding import quantised

        self.refresh()
        with self._lock:
            signs, chunk_ids, content_ids = self._signs, self._chunk_ids, self._content_ids
        if contents is not None:
            chosen = np.isin(content_ids, np.fromiter(contents, np.int64, len(contents)))
            signs, chunk_ids, content_ids = signs[chosen], chunk_ids[chosen], content_ids[chosen]
        if len(chunk_ids) > NARROWED:
            asked = self._signs_of(vector[np.newaxis])[0]
            apart = sum(np.bitwise_count(signs[:, at] ^ asked[at]) for at in range(signs.shape[1]))
            narrowed = np.argpartition(apart, NARROWED)[:NARROWED]
            chunk_ids, content_ids = chunk_ids[narrowed], content_ids[narrowed]
        of_chunk = dict(zip(chunk_ids.tolist(), content_ids.tolist(), strict=True))
        found = self.of_chunks(quantised(vector[np.newaxis])[0], sorted(of_chunk))
        found.sort(key=lambda one: -one[1])
        return [Near(id_, of_chunk[id_], cosine, own) for id_, cosine, own in found[:count]]

    def of_chunks(self, vector: bytes, chunk_ids: list[int]) -> list[tuple[int, float, bytes]]:
        """Chunks, their cosine to a quantised vector and their own; what has no vector, or one of zeros, is left out."""
        with self._database.reader() as connection:
            rows = connection.execute(
                f"""SELECT chunk_id, 1 - vec_distance_cosine(vec_int8(vector), vec_int8(?)), vector
                    FROM vector_{self.model_id} WHERE chunk_id IN (SELECT value FROM json_each(?))""",
                (vector, json.dumps(chunk_ids)),
            ).fetchall()
        return [row for row in rows if row[1] is not None]

    def _signs_of(self, vectors: Any) -> Any:
        """The signs of rows as rows of 64-bit words."""
        import numpy as np

        bits = np.packbits(vectors > 0, axis=1)
        words = np.zeros((len(bits), self._signs.shape[1] * 8), np.uint8)
        words[:, : bits.shape[1]] = bits
        return words.view(np.uint64)
