"""The indexing thread of one project: it turns changed files into rows, most urgent first.

It settles the watcher, gives files without content their text rows, has symbols, chunks and vectors derived, and maintains the
index.
Invariant: it is the only writer of this project, and answers never wait for it except for rows of changed files (readiness.py).

Lock order: the project's lock before the database's. Files are read and rows written without the project's lock. A result
is applied only if the file has not changed meanwhile (`File.version`).
"""

from __future__ import annotations

import itertools
import logging
import os
import threading
import time
from typing import TYPE_CHECKING

from ctxd.daemon.indexing.derivation import Derivation
from ctxd.daemon.indexing.progress import Left, Progress
from ctxd.daemon.indexing.upkeep import Upkeep
from ctxd.daemon.indexing.workers import PoolClosedError
from ctxd.indexer.database import DatabaseError
from ctxd.indexer.writer import BATCH_BYTES_MAX, BATCH_FILES_MAX

if TYPE_CHECKING:
    from ctxd.daemon.indexing.indexable import Indexable
    from ctxd.indexer.files.file_table import File

logger = logging.getLogger(__name__)

IDLE_SECONDS = 1.0  # between checks while there is no work; an event wakes the thread at once
SWEEP_SLICE_SECONDS = 0.01  # a sweep runs in slices; answers get the lock between two of them
RETRY_SECONDS = 5.0  # after the database could not be written (disk full)


class IndexingThread(threading.Thread):
    """Started and closed by its project."""

    def __init__(self, project: Indexable) -> None:
        super().__init__(name=f"index {os.fsdecode(project.root)}", daemon=True)
        self.project = project
        self.derivation = Derivation(project)
        self.upkeep = Upkeep(project, self.derivation)
        self.progress = Progress()
        completed = project.writer.first_pass()
        self._symbols_ready = completed in {"symbols", "chunks"}
        self._chunks_ready = completed == "chunks"
        self._text_ready = self._symbols_caught_up = self._chunks_caught_up = False
        self.problem: str | None = None
        self._closing = False
        self._backlog: list[File] = []
        self._given_up: dict[File, int] = {}

    def run(self) -> None:
        while not self._closing:
            had_index = self.project.has_index()
            try:
                busy = self._step()
            except PoolClosedError:
                return
            except DatabaseError as error:
                if had_index and not self.project.has_index():
                    continue  # the next step begins a new index
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
        self.project.wake.set()
        with self.project.settled:
            self.project.settled.notify_all()
        if self.is_alive():
            self.join()

    @property
    def text_ready(self) -> bool:
        """True if the text index of the first pass is built."""
        return self._text_ready and self.project.has_index()

    @property
    def symbols_ready(self) -> bool:
        """True once a first pass of this or an earlier daemon has parsed everything. From then on rows answer."""
        return self._symbols_ready and self.project.has_index()

    @property
    def chunks_ready(self) -> bool:
        """True once such a pass has also cut everything into chunks, with vectors of the built-in model."""
        return self._chunks_ready and self.project.has_index()

    @property
    def caught_up(self) -> bool:
        """True once everything that this daemon found to do at its start is derived."""
        return self._chunks_caught_up and self.project.has_index()

    def has_given_up(self, file: File) -> bool:
        """True if this file cannot be read as it is."""
        return self._given_up.get(file) == file.version

    @property
    def given_up(self) -> int:
        """Files that cannot be read as they are."""
        return len(self._given_up)

    def left(self) -> Left:
        """The work left. Call under the project's lock; without it the numbers may be slightly old."""
        unread = max(0, len(self.project.table.without_content) - self.given_up)
        return Left(unread, len(self.derivation.symbols.pending), len(self.derivation.chunks.pending))

    def is_closing(self) -> bool:
        return self._closing

    def _pause(self, seconds: float) -> None:
        self.project.wake.wait(seconds)
        self.project.wake.clear()

    def _step(self) -> bool:
        """Do one round of work. True if there was anything to do."""
        project = self.project
        if not project.has_index():
            self._begin_anew()
        with project.lock:
            swept = project.watcher.follow(SWEEP_SLICE_SECONDS)
            batch = self._next_batch()
            gone = list(itertools.islice(project.table.removed, BATCH_FILES_MAX))
        if gone:
            self.derivation.unranked = True
            project.writer.forget_files(gone)
            with project.lock:
                project.table.removed.difference_update(gone)
        if batch:
            self._index(batch)
        written = self.derivation.write()
        with project.lock:
            self.derivation.send_some(text_ready=self._text_ready, chunks_ready=self._chunks_caught_up)
            self.progress.note(self.left(), time.monotonic())
            done = not project.table.without_content or self._only_given_up()
        self._complete(text_is_done=done)
        if self._chunks_caught_up and not self.derivation.vectors.pending:
            project.model.all_embedded()
        self.problem = None
        busy = bool(batch or gone or written or not swept)
        return busy or (self._symbols_caught_up and self.upkeep.idle())

    def _begin_anew(self) -> None:
        """Start the first pass over: the index was lost. Raises DatabaseError if a new index cannot be made now."""
        project = self.project
        project.database.renew()
        generation = project.writer.register()
        with project.lock:
            project.table.forget_contents()
            project.text.index_renewed()
            project.model.vectors_lost()
            self.derivation.begin_anew()
            self.upkeep.begin_anew()
            self._symbols_ready = self._chunks_ready = False
            self._text_ready = self._symbols_caught_up = self._chunks_caught_up = False
            self._backlog, self._given_up = [], {}
            self.progress = Progress()
            project.writer.generation = generation  # from here on the project has an index

    def _complete(self, *, text_is_done: bool) -> None:
        """Find out which parts have ended: of the first pass, or of the changes made while no daemon ran."""
        name = os.fsdecode(self.project.root)
        if text_is_done and not self._text_ready:
            self.upkeep.text_is_complete()
            self._text_ready = True
        if text_is_done and not self._symbols_caught_up and not self.derivation.symbols.pending:
            self.upkeep.symbols_are_complete()
            if not self._symbols_ready:
                self.project.writer.note_first_pass("symbols")
            self._symbols_caught_up = self._symbols_ready = True
            logger.info("symbols of %s are ready", name)
        if self._symbols_caught_up and not self._chunks_caught_up and not self.derivation.chunks.pending:
            self.upkeep.chunks_are_complete()
            if not self._chunks_ready:
                self.project.writer.note_first_pass("chunks")
            self._chunks_caught_up = self._chunks_ready = True
            logger.info("%s is ready", name)

    def _next_batch(self) -> list[File]:
        table = self.project.table
        if self.project.too_large() is not None:
            return []
        if not self._backlog:
            for file in [file for file, version in self._given_up.items() if file.version != version]:
                del self._given_up[file]
            self._given_up = {f: v for f, v in self._given_up.items() if f in table.without_content}
            # In reverse path order, so that pop() takes the paths in order.
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
        self.upkeep.indexed += len(batch)
        self.derivation.unranked = True
        with project.lock:
            for result in results:
                file = result.file
                if table.files.get(file.path) is not file or file.version != result.version:
                    continue
                if result.content is not None:
                    content = table.contents.get(result.content.id, result.content)
                    content.lines = result.content.lines
                    table.set_content(file, content)
                    self.derivation.note(content)
                elif result.reason == "changed":
                    project.watcher.look_again(file.path)
                else:
                    self._given_up[file] = file.version
            project.settled.notify_all()

    def _only_given_up(self) -> bool:
        return all(map(self.has_given_up, self.project.table.without_content))
