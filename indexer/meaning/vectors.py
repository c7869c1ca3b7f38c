"""Finds the chunks nearest to a vector. For a small project all vectors are kept in memory. For a larger one only their
signs are: these narrow the choice, and the vectors in the database decide.

Memory may still hold a chunk that is gone, so callers check that a file holds its content. Measured with 200,000 chunks
of 128 dimensions: 2 ms to narrow and 4 ms to decide, with 96 % of the 300 nearest found and the 10 nearest always. With
20,000 chunks in memory: 1 ms in all.
"""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxd.indexer.meaning.embedding import normalised, quantised

if TYPE_CHECKING:
    from collections.abc import Collection

    from ctxd.indexer.database import Database

NARROWED = 1_000  # chunks whose vectors are read
KEPT_BYTES = 16 << 20  # of vectors kept in memory: 32,768 of 128 dimensions
_ROWS_AT_ONCE = 20_000


class Near(NamedTuple):
    chunk_id: int
    content_id: int
    cosine: float
    vector: Any
    """float32, of length 1."""


class VectorIndex:
    """Searches the vectors of one model. Thread-safe."""

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
        self._vectors: Any = np.zeros((0, dimension), np.float32)
        """Rows of length 1; None once there are too many to keep."""

    def refresh(self) -> None:
        """Read vectors written since the last call; at first all of them, a million chunks in two seconds."""
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
                kept = None if self._vectors is None else [self._vectors]
                count = len(self._chunk_ids)
                while rows := cursor.fetchmany(_ROWS_AT_ONCE):
                    vectors = [row[2] for row in rows]
                    signs.append(self._signs_of(np.frombuffer(b"".join(vectors), np.int8).reshape(len(rows), -1)))
                    chunk_ids.append(np.array([row[0] for row in rows], np.int64))
                    content_ids.append(np.array([row[1] for row in rows], np.int64))
                    count += len(rows)
                    if count * self.dimension * 4 > KEPT_BYTES:
                        kept = None
                    if kept is not None:
                        kept.append(normalised(vectors))
            self._signs, self._chunk_ids, self._content_ids = map(np.concatenate, (signs, chunk_ids, content_ids))
            self._vectors = None if kept is None else np.concatenate(kept)
            self._step = latest

    def nearest(self, vector: Any, count: int, contents: Collection[int] | None = None) -> list[Near]:
        """Up to `count` chunks, best first, by their cosine to a vector (float32); only of `contents` if given."""
        import numpy as np

        self.refresh()
        with self._lock:
            signs, chunk_ids, content_ids, vectors = self._signs, self._chunk_ids, self._content_ids, self._vectors
        chosen = None
        if contents is not None:
            chosen = np.flatnonzero(np.isin(content_ids, np.fromiter(contents, np.int64, len(contents))))
            chunk_ids, content_ids = chunk_ids[chosen], content_ids[chosen]
        if vectors is None:
            narrowed = self._narrowed(vector, signs if chosen is None else signs[chosen], max(NARROWED, 2 * count))
            return self._read(
                vector, count, dict(zip(chunk_ids[narrowed].tolist(), content_ids[narrowed].tolist(), strict=True))
            )
        if chosen is not None:
            vectors = vectors[chosen]
        cosines = vectors @ vector
        best = np.argpartition(-cosines, count)[:count] if len(cosines) > count else np.arange(len(cosines))
        best = best[np.argsort(-cosines[best], kind="stable")]
        columns = chunk_ids[best].tolist(), content_ids[best].tolist(), cosines[best].tolist(), vectors[best]
        return list(map(Near, *columns))

    def _narrowed(self, vector: Any, signs: Any, count: int) -> Any:
        """The indices of the `count` rows whose signs are nearest to those of a vector."""
        import numpy as np

        if len(signs) <= count:
            return np.arange(len(signs))
        asked = self._signs_of(vector[np.newaxis])[0]
        apart = sum(np.bitwise_count(signs[:, at] ^ asked[at]) for at in range(signs.shape[1]))
        return np.argpartition(apart, count)[:count]

    def _read(self, vector: Any, count: int, of_chunk: dict[int, int]) -> list[Near]:
        """The nearest of some chunks by the vectors in the database. `of_chunk` gives the content of each chunk."""
        import numpy as np

        found = self.of_chunks(quantised(vector[np.newaxis])[0], sorted(of_chunk))
        found.sort(key=lambda one: -one[1])
        found = found[:count]
        vectors = normalised([own for *_, own in found]) if found else ()
        return [Near(id_, of_chunk[id_], cosine, own) for (id_, cosine, _), own in zip(found, vectors, strict=True)]

    def of_chunks(self, vector: bytes, chunk_ids: list[int]) -> list[tuple[int, float, bytes]]:
        """Id, cosine to a quantised vector and own vector of each chunk. Skips chunks with no vector or a zero one."""
        with self._database.reader() as connection:
            rows = connection.execute(
                f"""SELECT chunk_id, 1 - vec_distance_cosine(vec_int8(vector), vec_int8(?)), vector
                    FROM vector_{self.model_id} WHERE chunk_id IN (SELECT value FROM json_each(?))""",
                (vector, json.dumps(chunk_ids)),
            ).fetchall()
        return [row for row in rows if row[1] is not None]

    def _signs_of(self, vectors: Any) -> Any:
        """The signs of each row, packed in 64-bit words."""
        import numpy as np

        bits = np.packbits(vectors > 0, axis=1)
        words = np.zeros((len(bits), self._signs.shape[1] * 8), np.uint8)
        words[:, : bits.shape[1]] = bits
        return words.view(np.uint64)
