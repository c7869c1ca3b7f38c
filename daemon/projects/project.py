"""One project: a root, its files, its index, and what a tool needs to answer about it.

Invariant: `files_now()` is called before every answer; what it returns as pending is the only thing an answer may miss,
and the answer says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.thread import IndexingThread
from ctxd.daemon.indexing.watcher import Watcher
from ctxd.daemon.projects.chosen_model import ProjectModel
from ctxd.indexer import languages
from ctxd.indexer.files.file_table import FileTable
from ctxd.indexer.files.git import common_folder_of, git_folder_of, is_worktree_of
from ctxd.indexer.files.scope import ScopeCounter
from ctxd.indexer.files.secret_names import is_secret
from ctxd.indexer.files.walker import Walker
from ctxd.indexer.meaning.semantic_search import SemanticSearch
from ctxd.indexer.names.file_search import FileSearch
from ctxd.indexer.symbols.symbol_search import SymbolSearch
from ctxd.indexer.text.text_search import TextSearch
from ctxd.indexer.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ctxd.daemon.edits.editor import Editor
    from ctxd.daemon.indexing.stage import Stage
    from ctxd.daemon.indexing.workers import WorkerPool
    from ctxd.daemon.projects.config import Settings
    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import Content, File
    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.languages import Language
    from ctxd.indexer.programs import Programs

logger = logging.getLogger(__name__)

_MIB = 1024 * 1024
_WAIT_STEP_SECONDS = 0.05
_RANKING_WAIT_SECONDS = 0.5
_VECTORS_WAIT_SECONDS = 2.0
_VECTORS_WAITED_FOR = 8  # files: more take longer than anybody waits


class Project:
    """Opened in the background: `scanned` is set once every file is listed and watched."""

    def __init__(
        self,
        root: bytes,
        database: Database,
        workers: WorkerPool,
        settings: Settings,
        *,
        matchers: WorkerPool,
        embedders: WorkerPool,
        editor: Editor,
        scratch: str,
        models: str = "",
        programs: Programs,
    ) -> None:
        """`scratch` is a folder for git, `models` the one where fetched models lie."""
        self.root = root
        self.database = database
        self.workers = workers
        self.embedders = embedders
        self.matchers = matchers
        self.editor = editor
        self.settings = settings
        self.lock = threading.RLock()
        self.table = FileTable()
        self.walker = Walker(root, scratch=scratch, allow_secrets=settings.allow_secrets)
        self.watcher = Watcher(self.table, self.walker, on_dirty=self._wake, watches_max=settings.watches_max)
        self.model = ProjectModel(settings.model, database, embedders, models)
        self.writer = Writer(database, root, self.model.built_in, self.model.other)
        self.counter = ScopeCounter(self.table, self.lock)
        self.text = TextSearch(root, database, self.table, self.lock, self.counter, programs)
        self.names = FileSearch(root, self.table, self.lock, programs)
        self.symbols = SymbolSearch(root, database, self.table, self.lock, self.counter)
        self.semantic = SemanticSearch(database, self.table, self.lock, self.symbols, self.names)
        self.queue = IndexingThread(self)  # pyright: ignore[reportArgumentType] - one class, seen by two paths
        self.scanned = threading.Event()
        self._after: threading.Thread | None = None
        self._closing = False
        self._opener = threading.Thread(target=self._open, name=f"open {os.fsdecode(root)}", daemon=True)

    def open(self, after: threading.Thread | None = None) -> None:
        """Begin to list, watch and index, when `after` has ended; returns at once."""
        self._after = after
        self._opener.start()

    def close(self) -> None:
        """Wait until nothing of the project runs any more: a listing ends early, a batch of files is written first."""
        self._closing = True
        self.watcher.stop()
        if self._opener.ident is not None:
            self._opener.join()
        self.queue.close()
        with self.lock:
            self.watcher.close()

    def _open(self) -> None:
        if self._after is not None:
            self._after.join()
        try:
            with self.lock:
                self.writer.load(self.table)
                self.watcher.start()
                if self._closing:
                    return
                for content in self.table.contents.values():
                    self.queue.note_content(content)
                chunked = [content for content in self.table.contents.values() if content.chunks == "chunked"]
                self.model.loaded(sum(content.embedded for content in chunked), len(chunked))
            logger.info(
                "%s: %d files, %d to index", os.fsdecode(self.root), len(self.table), len(self.table.without_content)
            )
            self.queue.start()
            self.scanned.set()
            self.database.shrink()
            self.queue.probe()
        except Exception:
            logger.exception("opening %s", os.fsdecode(self.root))
            self.queue.problem = "the project could not be opened, see `ctxd logs`; then `ctxd restart`"

    def _wake(self) -> None:
        self.queue.wake.set()

    def may_index(self) -> bool:
        """Whether the project is small enough to be indexed without asking."""
        return self.too_large() is None

    def too_large(self) -> str | None:
        files = len(self.table)
        if files > self.settings.index_files_max:
            return f"{files} files are more than index_files_max ({self.settings.index_files_max}); raise it in the settings"
        # Summing 80,000 sizes costs 4 ms: only where the number of files makes the sum doubtful at all.
        size = sum(file.size for file in self.table.without_content) // _MIB
        if size > self.settings.index_mib_max:
            return f"{size} MiB to index are more than index_mib_max ({self.settings.index_mib_max}); raise it in the settings"
        return None

    def left_out(self, path: bytes) -> str | None:
        """Why a path on disk that a caller names is not searched: "secret", "ignored", or None where it is."""
        with self.lock:
            if not path or path in self.table.files or next(self.table.under(path), None) is not None:
                return None
        if is_secret(path) and not self.settings.allow_secrets:
            return "secret"
        return "empty" if os.path.isdir(self.root + b"/" + path) else "ignored"

    def files_now(self) -> dict[str, Any] | None:
        """Bring the file table up to the disk of this moment. Returns `stale` where that took too long, else None.

        Raises ToolError where the project's folder is gone: an empty answer would say that there is nothing to find.
        """
        seconds = self.settings.settle_ms / 1000
        if not self.lock.acquire(timeout=seconds):
            return {
                "pending_files": len(self.table.without_content),
                "reason": "the file list is being brought up to date",
            }
        try:
            pending = self.watcher.settle(seconds)
        finally:
            self.lock.release()
        if self.watcher.missing:
            raise gone(self.root)
        if pending:
            return {
                "pending_files": pending,
                "reason": f"more changes than could be looked at in {self.settings.settle_ms} ms",
            }
        return None

    def symbols_now(self, scope: Scope, stop: Callable[[], bool]) -> int:
        """Wait until every file of the scope has its symbols, for at most `symbols_wait_ms`; return how many have not."""
        queue = self.queue

        def require(missing: list[Content]) -> None:
            queue.symbols.require(missing)

        return self._made_now(
            queue.symbols, require, lambda: queue.first_pass_done, languages.parsed_language_of, scope, stop
        )

    def chunks_now(self, scope: Scope, stop: Callable[[], bool]) -> int:
        """As `symbols_now`, of chunks and their vectors."""
        queue = self.queue

        def require(missing: list[Content]) -> None:
            queue.symbols.require(content for content in missing if content.symbols == "pending")
            queue.chunks.require(missing)

        missing = self._made_now(
            queue.chunks, require, lambda: queue.chunks_ready, languages.chunked_language_of, scope, stop
        )
        if not missing:
            self._other_vectors_now(scope, stop)
        return missing

    def _other_vectors_now(self, scope: Scope, stop: Callable[[], bool]) -> None:
        """Give the other model a moment where a few files have just changed: by their words alone they would come after all others."""
        queue = self.queue
        end = time.monotonic() + _VECTORS_WAIT_SECONDS
        with queue.settled:
            while self.model.complete and self.model.problem is None and time.monotonic() < end and not stop():
                missing = [
                    content
                    for content in queue.vectors.pending.values()
                    if any(scope.contains(file.path) for file in content.files)
                ]
                if not 0 < len(missing) <= _VECTORS_WAITED_FOR:
                    break
                queue.vectors.require(missing)
                queue.wake.set()
                queue.settled.wait(_WAIT_STEP_SECONDS)

    def _made_now(
        self,
        stage: Stage,
        require: Callable[[list[Content]], None],
        is_ready: Callable[[], bool],
        language_of: Callable[[bytes], Language | None],
        scope: Scope,
        stop: Callable[[], bool],
    ) -> int:
        queue = self.queue
        end = time.monotonic() + self.settings.symbols_wait_ms / 1000
        with queue.settled:
            while True:
                unknown = self._unknown(self.table.without_content, language_of, scope)
                missing = [
                    content
                    for content in stage.pending.values()
                    if any(scope.contains(file.path) for file in content.files)
                ]
                if not (unknown or missing) or not is_ready():
                    break
                if stop() or time.monotonic() > end or queue.problem is not None:
                    break
                require(missing)
                queue.wake.set()
                queue.settled.wait(_WAIT_STEP_SECONDS)
        return unknown + len(missing)

    def ranked_now(self, stop: Callable[[], bool]) -> None:
        """Wait until the elements are ranked anew, where that is to be done at once: the order of a large project may be of minutes ago."""
        queue = self.queue
        end = time.monotonic() + _RANKING_WAIT_SECONDS
        with queue.settled:
            while queue.unranked and queue.rank_at < end and time.monotonic() < end and not stop():
                queue.wake.set()
                queue.settled.wait(_WAIT_STEP_SECONDS)

    def waiting_for_symbols(self, files: Iterable[File], scope: Scope) -> int:
        """How many of `files` belong to the scope and may get symbols. Call under the project's lock."""
        return self._unknown(files, languages.parsed_language_of, scope)

    def waiting_for_chunks(self, files: Iterable[File], scope: Scope) -> int:
        """Likewise, chunks."""
        return self._unknown(files, languages.chunked_language_of, scope)

    def _unknown(self, files: Iterable[File], language_of: Callable[[bytes], Language | None], scope: Scope) -> int:
        return sum(
            language_of(file.path) is not None and not self.queue.has_given_up(file) and scope.contains(file.path)
            for file in files
        )

    def without_outline(self, scope: Scope) -> dict[str, int]:
        """Files of the scope that are in a language of ours but have no symbols, counted by reason."""
        counted: dict[str, int] = {}
        with self.lock:
            for content in self.queue.without_outline.values():
                for file in content.files:
                    if languages.parsed_language_of(file.path) is not None and scope.contains(file.path):
                        counted[content.symbols] = counted.get(content.symbols, 0) + 1
        return counted

    def progress(self, stage: Stage | None = None) -> dict[str, Any]:
        """Of the first pass, up to a stage or to its end: `{done, total, eta_seconds}` in files."""
        table, queue = self.table, self.queue
        total = len(table)
        if queue.chunks_ready or (stage is queue.symbols and queue.first_pass_done):
            return {"done": total, "total": total, "eta_seconds": 0}
        left = len(stage.pending) if stage else (len(queue.symbols.pending) + len(queue.chunks.pending)) / 2
        done = max(0, int(total - left) - len(table.without_content) + queue.given_up)
        elapsed = time.monotonic() - queue.started_at
        eta = round(elapsed / done * (total - done)) if done > total // 100 else None
        return {"done": done, "total": total, "eta_seconds": eta}

    def model_status(self) -> dict[str, Any]:
        """The project's entry in `ctxd model status --json`: which model is wanted, which answers, how far it is, what is wrong."""
        model, queue = self.model, self.queue
        answering = model.answering()
        counts = self.semantic.counts(answering)
        total = sum(content.chunks == "chunked" for content in list(self.table.contents.values()))
        done = total - len(queue.vectors.pending) if model.other else total
        progress = {
            "done": max(0, done),
            "total": total,
            "eta_seconds": 0 if done >= total else model.eta(total - done),
        }
        return {
            "root": os.fsdecode(self.root),
            "wanted": model.specification,
            "answering": answering.specification if answering is not None else None,
            "dimension": answering.dimension if answering is not None else None,
            "chunks": counts["chunks"],
            "embedded": counts["embedded"],
            "progress": progress if queue.chunks_ready else self.progress(),
            "problem": model.problem,
        }

    def status(self) -> dict[str, Any]:
        """The project's entry in `ctxd status --json`. Does not wait for a first listing."""
        counts = {**self.symbols.counts(), **self.semantic.counts(self.model.answering())}
        if self.scanned.is_set():
            with self.lock:
                return self._status(dict(self.watcher.health()), counts)
        return self._status(
            {
                "backend": self.watcher.backend,
                "healthy": True,
                "overflows": 0,
                "last_event_at": None,
                "last_reconcile_at": None,
                "problems": [],
            },
            counts,
        )

    def _status(self, health: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
        scanned = self.scanned.is_set()
        problems = [str(problem) for problem in health.pop("problems")]
        too_large = self.too_large() if scanned else None
        problems += [
            problem for problem in (self.queue.problem, self.database.problem, too_large, self.model.problem) if problem
        ]
        if self.watcher.missing:
            problems.append(not_there(os.fsdecode(self.root)))
            state = "missing"
        elif self.queue.problem or too_large or not health["healthy"]:
            state = "degraded"
        elif not scanned:
            state = "scanning"
        elif not self.queue.chunks_ready:
            state = "indexing"
        else:
            state = "ready"
        return {
            "root": os.fsdecode(self.root),
            "state": state,
            "files": len(self.table),
            "symbols": counts["symbols"],
            "occurrences": counts["occurrences"],
            "chunks": counts["chunks"],
            "embedded": counts["embedded"],
            "progress": self.progress(),
            "pending": len(self.table.without_content)
            + max(len(self.queue.symbols.pending), len(self.queue.chunks.pending)),
            "failed_files": counts["failed"],
            "watch": health,
            "model": self.model.specification,
            "database_bytes": self.database.bytes_on_disk(),
            "text_ready": self.queue.text_ready,
            "problems": problems,
        }


def gone(root: bytes) -> ToolError:
    return ToolError(
        f"the project's folder {os.fsdecode(root)} is not there",
        "Where it was moved, ask with its new place; `ctxd remove` forgets the old one",
        name="FileNotFoundError",
    )


def not_there(root: str) -> str:
    return f"{root} is not there; its index is kept. `ctxd remove` forgets it"


def database_name(root: str) -> str:
    """The name of the database that serves a root: one for all worktrees of a repository, else one for the folder."""
    return hashlib.sha256(_common_folder(root)).hexdigest()[:16] + ".db"


def _common_folder(root: str) -> bytes:
    own = os.fsencode(os.path.realpath(root))
    folder = own
    while not os.path.lexists(folder + b"/.git"):
        above = os.path.dirname(folder)
        if above == folder:
            return own
        folder = above
    if os.path.isdir(folder + b"/.git"):
        return os.path.realpath(folder + b"/.git")
    git_folder = git_folder_of(folder)
    if git_folder is not None and is_worktree_of(folder, git_folder):
        return os.path.realpath(common_folder_of(git_folder))
    return own
