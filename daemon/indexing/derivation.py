"""Sends contents to worker processes and writes the results: symbols, then chunks, then vectors of another model.

Invariant: a content is pending until its rows are written, in the same transaction as its new state. The indexing thread calls
all methods; some say that they need the project's lock.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from ctxd.daemon.indexing.stage import Stage
from ctxd.daemon.indexing.workers import ParseJob
from ctxd.indexer import languages
from ctxd.indexer.files.file_table import TO_DERIVE
from ctxd.indexer.meaning.chunk_job import ChunkJob, EmbedJob
from ctxd.indexer.meaning.chunk_rows import unembedded_chunks, write_chunks, write_vectors
from ctxd.indexer.meaning.model_error import ModelError
from ctxd.indexer.writer import BATCH_FILES_MAX

if TYPE_CHECKING:
    from ctxd.daemon.indexing.indexable import Indexable
    from ctxd.indexer.files.file_table import Content
    from ctxd.indexer.meaning.chunk_job import Embedded

logger = logging.getLogger(__name__)

CHANGED_SECONDS = 0.5  # wait after a file was found changed: by then the watcher knows of it
WITHOUT_OUTLINE = frozenset({"too_large", "failed"})


class Derivation:
    def __init__(self, project: Indexable) -> None:
        self.project = project
        self.symbols = Stage(project.workers, self._parse_job, project.wake.set)
        self.chunks = Stage(project.workers, self._chunk_job, project.wake.set)
        self.vectors = Stage(project.embedders, self._embed_job, project.wake.set)
        """Vectors of a model other than the built-in one: no answer waits for them."""
        self.without_outline: dict[int, Content] = {}
        """Contents in a supported language that have no symbols: too large, or failed."""
        self.chunked = 0
        """Contents cut into chunks since the start."""
        self.unranked = False
        """True if files have changed since the elements were ranked."""

    def begin_anew(self) -> None:
        """Start over: the index was lost, and all derived data with it. Call under the project's lock."""
        self.symbols, self.chunks, self.vectors = self.symbols.anew(), self.chunks.anew(), self.vectors.anew()
        self.without_outline = {}
        self.chunked = 0

    def note(self, content: Content) -> None:
        """Take in a content that a file now points to. Call under the project's lock."""
        if content.chunks in TO_DERIVE:
            self.chunks.pending[content.id] = content
        elif content.chunks == "chunked":
            self._note_vectors(content)
        if content.symbols in TO_DERIVE:
            self.symbols.pending[content.id] = content
        elif content.symbols in WITHOUT_OUTLINE:
            self.without_outline[content.id] = content

    def _note_vectors(self, content: Content) -> None:
        if self.project.model.other and not content.embedded:
            self.vectors.pending[content.id] = content

    def send_some(self, *, text_ready: bool, chunks_ready: bool) -> None:
        """Keep the workers busy. Call under the project's lock."""
        project = self.project
        # Until the text index is built, the indexing thread gets most of the processor: all other tools need the text.
        self.symbols.send_some(project.workers.count if text_ready else 1)
        if not self.symbols.pending:  # a chunk ends where a definition does
            self.chunks.send_some(project.workers.count)
        if chunks_ready and time.monotonic() > project.model.retry_at:
            self.vectors.send_some(project.embedders.count)

    def write(self) -> int:
        """Write the results that came back, at most a batch of each kind. Returns the number of contents."""
        return self._write_symbols() + self._write_chunks() + self._write_vectors()

    def forget_unused(self) -> None:
        """Forget contents that no file holds any more. Call under the project's lock."""
        self.without_outline = {id_: content for id_, content in self.without_outline.items() if content.files}

    def _parse_job(self, content: Content) -> ParseJob | None:
        file = next((f for f in content.files if languages.parsed_language_of(f.path) is not None), None)
        if file is None:
            self.symbols.pending.pop(content.id, None)
            if content.files:
                content.symbols = "none"
            return None
        language = languages.parsed_language_of(file.path)
        assert language is not None
        return ParseJob(
            path=self.project.root + b"/" + file.path,
            language=language.name,
            content_hash=content.hash,
            deadline_seconds=self.project.settings.parse_seconds,
        )

    def _chunk_job(self, content: Content) -> ChunkJob | None:
        if not content.files:
            self.chunks.pending.pop(content.id, None)
            return None
        if content.symbols in TO_DERIVE:
            return None
        return ChunkJob(
            path=self.project.root + b"/" + content.files[0].path,
            content_hash=content.hash,
            definitions=self.project.symbols.packed_definitions(content.id),
            with_vectors=bool(self.project.model.built_in),
        )

    def _embed_job(self, content: Content) -> EmbedJob | None:
        model = self.project.model
        chunks = unembedded_chunks(self.project.database, content.id, model.other) if content.files else []
        if not chunks:
            content.embedded = True
            self.vectors.done(content.id)
            self.project.wake.set()
            return None
        path = self.project.root + b"/" + content.files[0].path
        return EmbedJob(path, content.hash, chunks, model.specification, model.cache)

    def _write_symbols(self) -> int:
        finished = self.symbols.results(BATCH_FILES_MAX)
        if not finished:
            return 0
        try:
            with self.project.database.transaction(self.project.writer.generation):
                for content_id, result in finished:
                    if result.outcome != "changed":
                        self.project.writer.write_symbols(content_id, result.outcome, result.reason, result.packed)
        except BaseException:
            self.symbols.give_back(finished)
            raise
        self.unranked = True
        with self.project.settled:
            for content_id, result in finished:
                # "changed": the file has a newer content, which comes here later. Another file may still have this content.
                content = self._taken(self.symbols, content_id, result.outcome)
                if content is not None:
                    content.symbols = result.outcome
                    self.note(content)
            self.project.settled.notify_all()
        return len(finished)

    def _write_chunks(self) -> int:
        finished = self.chunks.results(BATCH_FILES_MAX)
        if not finished:
            return 0
        try:
            with self.project.database.transaction(self.project.writer.generation):
                for content_id, result in finished:
                    if result.outcome == "chunked":
                        write_chunks(self.project.database, content_id, result, self.project.model.built_in)
        except BaseException:
            self.chunks.give_back(finished)
            raise
        self.chunked += len(finished)
        with self.project.settled:
            for content_id, result in finished:
                content = self._taken(self.chunks, content_id, result.outcome)
                if content is not None:
                    content.chunks = result.outcome
                    if result.outcome == "chunked":
                        self._note_vectors(content)
            self.project.settled.notify_all()
        return len(finished)

    def _write_vectors(self) -> int:
        finished = self.vectors.results(BATCH_FILES_MAX)
        model = self.project.model
        for content_id, result in finished:
            try:
                whole = self._write_vectors_of(content_id, result)
            except ModelError as error:
                model.failed(str(error))
                whole = False
            except BaseException:
                self.vectors.give_back(finished)
                raise
            with self.project.settled:
                self.vectors.give_back([(content_id, None)])
                content = self.project.table.contents.get(content_id)
                if whole or content is None:
                    self.vectors.done(content_id)
                if content is not None:
                    content.embedded = whole
                self.project.settled.notify_all()
        return len(finished)

    def _write_vectors_of(self, content_id: int, result: Embedded) -> bool:
        """Write vectors. True if nothing is left to do for the content. Raises ModelError."""
        model = self.project.model
        if result.outcome == "embedded":
            with self.project.database.transaction(self.project.writer.generation):
                whole = write_vectors(self.project.database, content_id, result, model.other, model.specification)
            model.embedded(whole=whole)
            return whole
        if result.outcome == "failed":
            logger.warning("not embedded by %s: %s", model.specification, result.reason)
            if model.has_embedded:  # the cause is this file, not the model: it is found by its words only
                return True
        if result.outcome == "changed":
            model.retry_at = time.monotonic() + CHANGED_SECONDS
        else:
            model.failed(result.reason)
        return False

    def _taken(self, stage: Stage, content_id: int, outcome: str) -> Content | None:
        """The content whose result was written. After "changed" it stays pending while files hold it."""
        if outcome != "changed":
            return stage.done(content_id)
        stage.give_back([(content_id, None)])
        if content_id not in self.project.table.contents:
            stage.done(content_id)
        return None
