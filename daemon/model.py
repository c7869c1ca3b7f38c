"""The embedding model of one project: which one is wanted, which one answers, and what is wrong with it.

Invariant: a question is compared with vectors of the model that embedded it. While another model's vectors are being made those
of the one before answer; where a model cannot be had, the one that ships with ctxd does.
"""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from ctxd.indexer import embedding
from ctxd.indexer.chunk_rows import StoredModel, drop_models_but, stored_models
from ctxd.indexer.semantic_search import Meaning

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.daemon.workers import WorkerPool
    from ctxd.indexer.chunk_job import Chunked
    from ctxd.indexer.database import Database
    from ctxd.indexer.vectors import VectorIndex

_PATHS_KEPT = 20_000  # 15 MB
_PATH_PARTS = 3


class ProjectModel:
    def __init__(self, specification: str, database: Database, pool: WorkerPool) -> None:
        self.specification = specification
        self.problem: str | None = None
        """Why the wanted model does not embed, and what mends it."""
        self._database = database
        self._pool = pool
        """Where a question is embedded, for a model that the daemon itself does not load."""
        self._complete = False
        self._lock = threading.Lock()
        self._index: VectorIndex | None = None
        try:
            self.identity = self.identity_of(specification)
        except embedding.ModelError as error:
            self.identity, self.problem = "", str(error)

    @property
    def deadline_seconds(self) -> float:
        """For the chunks of one file."""
        return embedding.deadline_seconds(self.specification)

    @staticmethod
    @functools.cache
    def identity_of(specification: str) -> str:
        return "" if specification == embedding.NONE else embedding.identity_of(specification)

    def note(self, result: Chunked) -> None:
        """What a file's chunks told of the model."""
        self.problem = result.reason or None

    def all_embedded(self) -> None:
        """Every content has been through the wanted model: from now on it answers, if it could be had."""
        wanted = next((one.id for one in stored_models(self._database) if one.identity == self.identity), None)
        if self.specification == embedding.NONE:
            drop_models_but(self._database, 0)
        elif wanted is not None and self.problem is None:
            self._complete = True
            drop_models_but(self._database, wanted)

    def answering(self) -> StoredModel | None:
        """The model whose vectors are compared; None where there are none."""
        if self.specification == embedding.NONE:
            return None
        stored = stored_models(self._database)
        others = [one for one in stored if one.identity != self.identity]
        if others and not self._complete:
            return others[-1]
        return next((one for one in stored if one.identity == self.identity), None)

    def index(self) -> VectorIndex | None:
        """The vectors of the answering model."""
        model = self.answering()
        if model is None:
            return None
        from ctxd.indexer.vectors import VectorIndex

        with self._lock:
            if self._index is None or self._index.model_id != model.id:
                self._index = VectorIndex(self._database, model.id, model.dimension)
            return self._index

    def meaning(self, text: str, stop: Callable[[], bool]) -> Meaning | None:
        """What a text means to the answering model, None where there is none. Raises ModelError."""
        model, index = self.answering(), self.index()
        if model is None or index is None:
            return None
        if model.specification == embedding.BUILT_IN:
            return Meaning(embedding.load(embedding.BUILT_IN).encode([text])[0], index, path_vector)
        from ctxd.indexer.chunk_job import EncodeJob

        result = self._pool.result(EncodeJob(model.specification, text), stop, urgent=True)
        if result is None:
            raise embedding.ModelError("the model did not answer in time")
        if isinstance(result, str):
            raise embedding.ModelError(result)
        return Meaning(result, index)


@functools.lru_cache(maxsize=_PATHS_KEPT)
def path_vector(path: bytes) -> Any:
    """What the last folders and the name of a file mean to the built-in model."""
    name = b"/".join(path.split(b"/")[-_PATH_PARTS:]).rpartition(b".")
    text = (name[0] or name[2]).decode("utf-8", "replace")
    return embedding.load(embedding.BUILT_IN).encode([text.replace("-", " ")])[0]
