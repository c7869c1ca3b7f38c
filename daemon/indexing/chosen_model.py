"""The embedding models of one project: the wanted one, the one that answers, and its problem if it has one.

The built-in model embeds every chunk when it is cut. Another model named in the settings is a second layer, made in the
background. Until its vectors are complete, the previous other model answers, or else the built-in one. The built-in model
also answers whenever the wanted one fails. Invariant: a question is compared with vectors of the model that embedded it.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import TYPE_CHECKING, Any

from ctxd.indexer.meaning import embedding
from ctxd.indexer.meaning.chunk_rows import StoredModel, drop_models_but, stored_models
from ctxd.indexer.meaning.semantic_search import Meaning

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.daemon.indexing.workers import WorkerPool
    from ctxd.indexer.database import Database
    from ctxd.indexer.meaning.vectors import VectorIndex

_PATHS_KEPT = 20_000  # 15 MB
_PATH_PARTS = 3
COMPLETE_SHARE = 0.9
"""Share of the chunked contents that have vectors. Below it the model was never complete, or many files changed meanwhile."""
_REST_SECONDS = (5.0, 300.0)  # pause after a failure of a model: the first one, and the longest
_QUESTION_SECONDS = 5.0  # the rest of a call is for the built-in model and the search
_QUESTION_REST_SECONDS = 20.0  # pause after a model did not answer a question: else each question would wait for it
_DROP_SECONDS = 30.0  # calls that still use the old vectors are over by then


class ProjectModel:
    """`built_in` and `other` are identities, "" where there is no such model."""

    def __init__(self, specification: str, database: Database, pool: WorkerPool, cache: str) -> None:
        self.specification = specification
        self.cache = cache
        """The folder of fastembed's models."""
        self.problem: str | None = None
        """Why the wanted model does not embed or answer, and how to fix it."""
        self.complete = False
        """True once all contents have had vectors of the other model: from then on it answers."""
        self.has_embedded = False
        """True if the other model has embedded anything since the start."""
        self.retry_at = 0.0
        """The earliest time at which the other model is asked to embed again."""
        self.drop_at: float | None = None
        self._database = database
        self._pool = pool
        self._rest = _REST_SECONDS[0]
        self._unasked_until = 0.0
        self._began, self._contents_done = time.monotonic(), 0
        self._lock = threading.Lock()
        self._indexes: dict[int, VectorIndex] = {}
        self.built_in = "" if specification == embedding.NONE else embedding.identity_of(embedding.BUILT_IN)
        self.other = ""
        if embedding.is_other(specification):
            try:
                self.other = embedding.identity_of(specification)
            except embedding.ModelError as error:
                self.problem = str(error)
        database.models_wanted.update({self.built_in, self.other} - {""})

    def loaded(self, embedded: int, chunked: int) -> None:
        """Take the database's counts at the start: `embedded` of `chunked` contents have vectors of the other model."""
        self.complete = bool(self.other) and embedded > 0 and embedded >= COMPLETE_SHARE * chunked
        if self.complete or (not self.other and self.problem is None):
            self.drop_at = time.monotonic()

    def vectors_lost(self) -> None:
        """The index was built again and has no vectors yet."""
        self.complete = self.has_embedded = False
        self.drop_at = None
        self._began, self._contents_done = time.monotonic(), 0
        with self._lock:
            self._indexes = {}

    def eta(self, left: int) -> int | None:
        """Seconds until `left` more contents have their vectors; None if nothing is known yet."""
        if not self._contents_done:
            return None
        return round((time.monotonic() - self._began) / self._contents_done * left)

    def embedded(self, *, whole: bool) -> None:
        """The other model has embedded a content, or part of one unless `whole`."""
        self._contents_done += whole
        self._rest = _REST_SECONDS[0]
        self.has_embedded = True
        self.retry_at = 0.0
        self.problem = None

    def failed(self, reason: str) -> None:
        """The other model cannot be loaded or used: pause, longer each time."""
        self.problem = reason
        self.retry_at = time.monotonic() + self._rest
        self._rest = min(2 * self._rest, _REST_SECONDS[1])

    def retry(self) -> None:
        """Try again at once: somebody may have fixed the model."""
        self._rest = _REST_SECONDS[0]
        self.retry_at = self._unasked_until = 0.0

    def all_embedded(self) -> None:
        """The other model has tried every content: from now on it answers, and unwanted vectors can be deleted."""
        if not self.complete and any(one.identity == self.other for one in stored_models(self._database)):
            self.complete = True
            self.drop_at = time.monotonic() + _DROP_SECONDS

    def drop_unwanted(self) -> bool:
        """Delete vectors that no project wants, when it is time. True if it did."""
        if self.drop_at is None or time.monotonic() < self.drop_at:
            return False
        self.drop_at = None
        drop_models_but(self._database, self._database.models_wanted)
        with self._lock:
            stored = {one.id for one in stored_models(self._database)}
            self._indexes = {id_: index for id_, index in self._indexes.items() if id_ in stored}
        return True

    def answering(self) -> StoredModel | None:
        """The model whose vectors are compared; None if there are none."""
        return next(iter(self._candidates()), None)

    def _candidates(self) -> list[StoredModel]:
        """The models that may answer, best first."""
        if not self.built_in:
            return []
        stored = stored_models(self._database)
        wanted = [one for one in stored if one.identity == self.other and self.complete]
        before = [one for one in stored if one.identity not in {self.other, self.built_in}]
        before = [one for one in before if self.other and _is_there(one)]
        return [
            *wanted,
            *(before[-1:] if not wanted else []),
            *(one for one in stored if one.identity == self.built_in),
        ]

    def meaning(self, text: str, stop: Callable[[], bool]) -> Meaning | None:
        """The meaning of a text by the best model that answers; None if none does. `problem` says why a better one did not."""
        for model in self._candidates():
            if model.specification == embedding.BUILT_IN:
                vector = embedding.built_in().encode([text])[0]
                return Meaning(vector, self._index(model), path_vector)
            if time.monotonic() < self._unasked_until:
                continue
            vector = self._encoded(model, text, stop)
            if vector is None:
                return None
            if not isinstance(vector, str):
                if model.identity == self.other:
                    self.problem = None
                return Meaning(vector, self._index(model))
            self._unasked_until = time.monotonic() + _QUESTION_REST_SECONDS
            if model.identity == self.other:
                self.problem = vector
        return None

    def _encoded(self, model: StoredModel, text: str, stop: Callable[[], bool]) -> Any:
        """The vector of a question, or a str that says why there is none; None if nobody waits any more."""
        from ctxd.indexer.meaning.chunk_job import EncodeJob

        until = time.monotonic() + _QUESTION_SECONDS
        job = EncodeJob(model.specification, self.cache, text)
        vector = self._pool.result(job, lambda: stop() or time.monotonic() > until, urgent=True)
        if vector is None:
            return None if stop() else f"no answer within {_QUESTION_SECONDS:g} s"
        if not isinstance(vector, str) and len(vector) != model.dimension:
            return f"it gives {len(vector)} dimensions, its vectors here have {model.dimension}"
        return vector

    def _index(self, model: StoredModel) -> VectorIndex:
        from ctxd.indexer.meaning.vectors import VectorIndex

        with self._lock:
            if model.id not in self._indexes:
                self._indexes[model.id] = VectorIndex(self._database, model.id, model.dimension)
            return self._indexes[model.id]


@functools.lru_cache(maxsize=_PATHS_KEPT)
def path_vector(path: bytes) -> Any:
    """The built-in model's vector for the name of a file and its last folders."""
    name = b"/".join(path.split(b"/")[-_PATH_PARTS:]).rpartition(b".")
    text = (name[0] or name[2]).decode("utf-8", "replace")
    return embedding.built_in().encode([text.replace("-", " ")])[0]


def _is_there(model: StoredModel) -> bool:
    """True if a model is still the one that made its vectors: its folder may hold another model by now."""
    try:
        return embedding.is_other(model.specification) and embedding.identity_of(model.specification) == model.identity
    except embedding.ModelError:
        return False
