"""The indexing thread of one project: what changed becomes rows, most urgent first.

It settles the watcher, gives text rows to files without content, sends contents without symbols to the workers and writes
what comes back. Invariant: it is the only writer of this project, and answers never wait for it except for symbols.

Lock order: the project's lock before the database's. Files are read and rows written without the project's lock; a result
is applied only where the file has not changed meanwhile (`File.version`).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from ctxd.daemon.indexing.stage import Stage
from ctxd.daemon.indexing.workers import ParseJob, PoolClosedError
from ctxd.indexer import languages
from ctxd.indexer.database import DatabaseError
from ctxd.indexer.files.walker import stamp_of
from ctxd.indexer.meaning.chunk_job import ChunkJob, EmbedJob
from ctxd.indexer.meaning.chunk_rows import unembedded_chunks, write_chunks, write_vectors
from ctxd.indexer.meaning.embedding import ModelError
from ctxd.indexer.programs import ProgramFailed
from ctxd.indexer.symbols import element_ranking
from ctxd.indexer.text import grep, ripgrep
from ctxd.indexer.text.text_search import NARROWED_FILES_MIN
from ctxd.indexer.writer import BATCH_BYTES_MAX, BATCH_FILES_MAX

if TYPE_CHECKING:
    from ctxd.daemon.projects.project import Project
    from ctxd.indexer.files.file_table import Content, File
    from ctxd.indexer.meaning.chunk_job import Embedded

logger = logging.getLogger(__name__)

IDLE_SECONDS = 1.0  # between looks where nothing is to do; an event wakes it at once
SWEEP_SLICE_SECONDS = 0.01  # of a sweep, between which answers get the lock
RETRY_SECONDS = 5.0  # after the database could not be written (disk full)
CHANGED_SECONDS = 0.5  # after a file was other than it should be: the watcher will have heard of it by then
COLLECT_SECONDS = 300.0
COLLECT_SHARE = 0.02  # of the files, indexed since it was done last, but at least BATCH_FILES_MAX
MERGE_SHARE = (
    0.05  # files indexed since all segments were merged: what they hold is found in many places, and takes a third more
)
RANK_SHARE = 0.02  # of the time that ranking the elements may take, however often files change
OPTIMIZE_SHARE = 0.05  # files newly indexed in a first pass, below which optimizing costs more than it gives
LONG_RANKING_SECONDS = 1.0  # one that took much memory, too
WITHOUT_OUTLINE = frozenset({"too_large", "failed"})


class IndexingThread(threading.Thread):
    """Started and closed by its project."""

    def __init__(self, project: Project) -> None:
        super().__init__(name=f"index {os.fsdecode(project.root)}", daemon=True)
        self.project = project
        self.wake = threading.Event()
        self.settled = threading.Condition(project.lock)
        """Notified whenever symbols were written or elements ranked; for callers that wait for theirs."""
        self.symbols = Stage(project.workers, self._parse_job, self.wake.set)
        self.chunks = Stage(project.workers, self._chunk_job, self.wake.set)
        self.vectors = Stage(project.embedders, self._embed_job, self.wake.set)
        """Of a model beside the built-in one: no answer waits for them."""
        self.without_outline: dict[int, Content] = {}
        """Contents in a language of ours that have no symbols: too large, or failed."""
        self.first_pass_done = False
        self.text_ready = False
        self.chunks_ready = False
        """Whether the first pass has cut everything into chunks, with vectors of the built-in model."""
        self.started_at = time.monotonic()
        self.problem: str | None = None
        self._closing = False
        self._backlog: list[File] = []
        self._given_up: dict[File, int] = {}
        self._indexed = 0
        self._chunked = 0
        self._swept_at = self._collected_at = time.monotonic()
        self._collected_indexed = self._merged_indexed = 0
        self._untidy = False
        self.unranked = False
        """Whether files have changed since the elements were ranked, which is done again at `rank_at` at the earliest."""
        self.rank_at = 0.0

    def run(self) -> None:
        while not self._closing:
            try:
                busy = self._step()
            except PoolClosedError:
                return
            except DatabaseError as error:
                logger.warning("index of %s not written: %s", os.fsdecode(self.project.root), error)
                self.problem = (
                    f"the index cannot be written ({error}); answers come from the files. Free some disk space"
                )
                self._pause(RETRY_SECONDS)
            except Exception:
                logger.exception("indexing %s", os.fsdecode(self.project.root))
                self.problem = "the indexing thread met a bug, see `ctxd logs`; answers come from the files"
                self._pause(RETRY_SECONDS)
            else:
                if not busy:
                    self._pause(IDLE_SECONDS)

    def close(self) -> None:
        self._closing = True
        self.wake.set()
        with self.settled:
            self.settled.notify_all()
        if self.is_alive():
            self.join()

    def note_content(self, content: Content) -> None:
        """Call under the project's lock for every content that a file now points to."""
        if content.chunks == "pending":
            self.chunks.pending[content.id] = content
        elif content.chunks == "chunked":
            self._note_vectors(content)
        if content.symbols == "pending":
            self.symbols.pending[content.id] = content
        elif content.symbols in WITHOUT_OUTLINE:
            self.without_outline[content.id] = content

    def _note_vectors(self, content: Content) -> None:
        if self.project.model.other and not content.embedded:
            self.vectors.pending[content.id] = content

    def has_given_up(self, file: File) -> bool:
        """Whether this file cannot be read as it is."""
        return self._given_up.get(file) == file.version

    @property
    def given_up(self) -> int:
        """Files that cannot be read as they are."""
        return len(self._given_up)

    def _pause(self, seconds: float) -> None:
        self.wake.wait(seconds)
        self.wake.clear()

    def _step(self) -> bool:
        """One round; whether there was anything to do."""
        project = self.project
        with project.lock:
            swept = True
            if time.monotonic() - self._swept_at > project.settings.sweep_seconds:
                swept = project.watcher.sweep(SWEEP_SLICE_SECONDS)
                if swept:
                    self._swept_at = time.monotonic()
            project.watcher.settle(None)
            batch = self._next_batch()
            gone = list(itertools.islice(project.table.removed, BATCH_FILES_MAX))
        if gone:
            self.unranked = True
            project.writer.forget_files(gone)
            with project.lock:
                project.table.removed.difference_update(gone)
        if batch:
            self._index(batch)
        written = self._write_symbols() + self._write_chunks() + self._write_vectors()
        with project.lock:
            # Until the text index is built, most of the processor is this thread's: text serves every other tool.
            self.symbols.send_some(project.workers.count if self.text_ready else 1)
            if not self.symbols.pending:  # a chunk ends where a definition does
                self.chunks.send_some(project.workers.count)
            if self.chunks_ready and time.monotonic() > project.model.retry_at:
                self.vectors.send_some(project.embedders.count)
            done = not project.table.without_content or self._only_given_up()
        if done and not self.text_ready:
            if self._indexed > len(project.table) * OPTIMIZE_SHARE:
                project.writer.optimize_text()
                project.text.forget_counts()
            self.text_ready = True
        if done and not self.first_pass_done and not self.symbols.pending:
            self._rank()
            if self._indexed > len(project.table) * OPTIMIZE_SHARE:
                project.writer.optimize_names()
                project.database.shrink()
            self.first_pass_done = True
            logger.info("symbols of %s are ready", os.fsdecode(project.root))
        if self.first_pass_done and not self.chunks_ready and not self.chunks.pending:
            if self._chunked > len(project.table) * OPTIMIZE_SHARE:
                project.writer.optimize_chunks()
                project.database.shrink()
            self.chunks_ready = True
            logger.info("%s is ready", os.fsdecode(project.root))
        if self.chunks_ready and not self.vectors.pending:
            project.model.all_embedded()
        self.problem = None
        busy = bool(batch or gone or written or not swept)
        if not busy and self.first_pass_done:
            busy = self._tidy()
        return busy

    def _next_batch(self) -> list[File]:
        table = self.project.table
        if not self.project.may_index():
            return []
        if not self._backlog:
            for file in [file for file, version in self._given_up.items() if file.version != version]:
                del self._given_up[file]
            self._given_up = {f: v for f, v in self._given_up.items() if f in table.without_content}
            # In reverse path order: pop() takes the next one in order.
            self._backlog = sorted(
                (file for file in table.without_content if file not in self._given_up),
                key=lambda file: file.path,
                reverse=True,
            )
        batch: list[File] = []
        size = 0
        while self._backlog and len(batch) < BATCH_FILES_MAX and size < BATCH_BYTES_MAX:
            file = self._backlog.pop()
            if file in table.without_content:
                batch.append(file)
                size += file.size
        return batch

    def _index(self, batch: list[File]) -> None:
        project, table = self.project, self.project.table
        results = project.writer.index_files(batch)
        self._indexed += len(batch)
        self.unranked = True
        with project.lock:
            for result in results:
                file = result.file
                if table.files.get(file.path) is not file or file.version != result.version:
                    continue
                if result.content is not None:
                    content = table.contents.get(result.content.id, result.content)
                    table.set_content(file, content)
                    self.note_content(content)
                elif result.reason == "changed":
                    # Changed since it was listed, and no event said so yet: take it as it is now.
                    with contextlib.suppress(OSError):
                        status = os.lstat(project.root + b"/" + file.path)
                        table.put(file.path, status.st_size, stamp_of(status), touched=True)
                else:
                    self._given_up[file] = file.version
            self.settled.notify_all()

    def _only_given_up(self) -> bool:
        return all(map(self.has_given_up, self.project.table.without_content))

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
        if content.symbols == "pending":
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
            self.wake.set()
            return None
        path = self.project.root + b"/" + content.files[0].path
        return EmbedJob(path, content.hash, chunks, model.specification, model.cache)

    def _write_symbols(self) -> int:
        finished = self.symbols.results(BATCH_FILES_MAX)
        if not finished:
            return 0
        try:
            with self.project.database.transaction():
                for content_id, result in finished:
                    if result.outcome != "changed":
                        self.project.writer.write_symbols(content_id, result.outcome, result.reason, result.packed)
        except BaseException:
            self.symbols.give_back(finished)
            raise
        self.unranked = True
        with self.settled:
            for content_id, result in finished:
                # "changed": the file moved on; its new content is on its way here, and this one may still be another file's.
                content = self._taken(self.symbols, content_id, result.outcome)
                if content is not None:
                    content.symbols = result.outcome
                    self.note_content(content)
            self.settled.notify_all()
        return len(finished)

    def _write_chunks(self) -> int:
        finished = self.chunks.results(BATCH_FILES_MAX)
        if not finished:
            return 0
        try:
            with self.project.database.transaction():
                for content_id, result in finished:
                    if result.outcome == "chunked":
                        write_chunks(self.project.database, content_id, result, self.project.model.built_in)
        except BaseException:
            self.chunks.give_back(finished)
            raise
        self._chunked += len(finished)
        with self.settled:
            for content_id, result in finished:
                content = self._taken(self.chunks, content_id, result.outcome)
                if content is not None:
                    content.chunks = result.outcome
                    if result.outcome == "chunked":
                        self._note_vectors(content)
            self.settled.notify_all()
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
            with self.settled:
                self.vectors.give_back([(content_id, None)])
                content = self.project.table.contents.get(content_id)
                if whole or content is None:
                    self.vectors.done(content_id)
                if content is not None:
                    content.embedded = whole
                self.settled.notify_all()
        return len(finished)

    def _write_vectors_of(self, content_id: int, result: Embedded) -> bool:
        """Whether nothing is left to be done for a content. Raises ModelError."""
        model = self.project.model
        if result.outcome == "embedded":
            with self.project.database.transaction():
                whole = write_vectors(self.project.database, content_id, result, model.other, model.specification)
            model.embedded(whole=whole)
            return whole
        if result.outcome == "failed":
            logger.warning("not embedded by %s: %s", model.specification, result.reason)
            if model.has_embedded:  # this file is the matter, not the model: it is found by its words
                return True
        if result.outcome == "changed":
            model.retry_at = time.monotonic() + CHANGED_SECONDS
        else:
            model.failed(result.reason)
        return False

    def _taken(self, stage: Stage, content_id: int, outcome: str) -> Content | None:
        """The content whose result was written; one that only "changed" stays pending while files hold it."""
        if outcome != "changed":
            return stage.done(content_id)
        stage.give_back([(content_id, None)])
        if content_id not in self.project.table.contents:
            stage.done(content_id)
        return None

    def _tidy(self) -> bool:
        """A little upkeep while nothing else is to do; whether there may be more."""
        now = time.monotonic()
        if now > self.rank_at and self._rank():
            return True
        if self.project.model.drop_unwanted():
            return True
        enough = max(len(self.project.table) * COLLECT_SHARE, BATCH_FILES_MAX)
        if now - self._collected_at > COLLECT_SECONDS or self._indexed - self._collected_indexed > enough:
            with self.project.lock:
                self.without_outline = {id_: content for id_, content in self.without_outline.items() if content.files}
            if self.project.writer.collect():
                return True
            self._collected_at, self._collected_indexed = now, self._indexed
            self._untidy = True
            if self._indexed - self._merged_indexed > len(self.project.table) * MERGE_SHARE:
                self._merged_indexed = self._indexed
                self.project.writer.begin_merging()
        if self._untidy:
            self._untidy = self.project.writer.tidy()
            if not self._untidy:
                self.project.database.shrink()
        return self._untidy

    def _rank(self) -> bool:
        """Rank the elements where files have changed since that was done; whether they had."""
        if not self.unranked:
            return False
        began = time.monotonic()
        element_ranking.rank_elements(self.project.database)
        took = time.monotonic() - began
        with self.settled:
            self.unranked, self.rank_at = False, began + took / RANK_SHARE
            self.settled.notify_all()
        if took > LONG_RANKING_SECONDS:
            self.project.database.shrink()
            logger.info("elements of %s ranked in %.1f s", os.fsdecode(self.project.root), took)
        return True

    def probe(self) -> None:
        """Find out which files are plain, so that a program may narrow them while there is no index (1.5 s for 78,000 files)."""
        project = self.project
        programs = project.text.programs
        if programs.rg is None and programs.grep is None:
            return
        with project.lock:
            versions = {file.path: file.version for file in project.table.without_content}
        if len(versions) < NARROWED_FILES_MIN:
            return
        try:
            if programs.rg is not None:
                odd = ripgrep.files_not_plain(programs.rg, project.root, list(versions), lambda: self._closing)
            else:
                assert programs.grep is not None
                odd = grep.files_not_plain(programs.grep, project.root, list(versions), lambda: self._closing)
        except ProgramFailed as error:
            logger.info("no program could look at the files of %s: %s", os.fsdecode(project.root), error)
            return
        with project.lock:
            for path, version in versions.items():
                file = project.table.files.get(path)
                if file is not None and path not in odd and file.version == version:
                    file.plain_version = version
