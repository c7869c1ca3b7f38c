"""One project: its root, its files, its index, and the questions that tools ask about them.

Invariant: every answer begins with `files_now()`. An answer may miss only what that returns as pending, and says so.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.chosen_model import ProjectModel
from ctxd.daemon.indexing.indexable import Indexable
from ctxd.daemon.indexing.readiness import Readiness
from ctxd.daemon.indexing.thread import IndexingThread
from ctxd.daemon.indexing.watcher import Watcher
from ctxd.indexer.database import DatabaseError
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
    from collections.abc import Iterable, Sequence

    from ctxd.daemon.edits.editor import Editor
    from ctxd.daemon.indexing.inotify import Inotify
    from ctxd.daemon.indexing.workers import WorkerPool
    from ctxd.daemon.projects.config import Settings
    from ctxd.indexer.database import Database
    from ctxd.indexer.programs import Programs

logger = logging.getLogger(__name__)


class Project:
    """A project opens in the background; `scanned` is set once every file is listed and watched."""

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
        inotify: Inotify | None,
        settings_problems: Sequence[str] = (),
    ) -> None:
        """`scratch` is a folder for git, `models` the folder of fetched models; all projects share `inotify`.

        `settings_problems` says which of the project's own settings do not count.
        """
        self.root = root
        self.database = database
        self.workers = workers
        self.embedders = embedders
        self.matchers = matchers
        self.editor = editor
        self.settings = settings
        self.settings_problems = list(settings_problems)
        self.lock = threading.RLock()
        self.table = FileTable()
        self.walker = Walker(root, scratch=scratch, allow_secrets=settings.allow_secrets)
        wake = threading.Event()
        self.watcher = Watcher(
            self.table,
            self.walker,
            on_dirty=wake.set,
            shared=inotify,
            watches_max=settings.watches_max,
            sweep_seconds=settings.sweep_seconds,
        )
        self.model = ProjectModel(settings.model, database, embedders, models)
        self.writer = Writer(database, root, self.model.built_in, self.model.other)
        self.counter = ScopeCounter(self.table, self.lock)
        self.text = TextSearch(root, database, self.table, self.lock, self.counter, programs)
        self.names = FileSearch(root, self.table, self.lock, programs)
        self.symbols = SymbolSearch(root, database, self.table, self.lock, self.counter)
        self.semantic = SemanticSearch(database, self.table, self.lock, self.symbols, self.names)
        self.indexable = Indexable(
            root=root,
            settings=settings,
            lock=self.lock,
            wake=wake,
            settled=threading.Condition(self.lock),
            table=self.table,
            watcher=self.watcher,
            database=database,
            writer=self.writer,
            model=self.model,
            text=self.text,
            symbols=self.symbols,
            workers=workers,
            embedders=embedders,
        )
        self.indexing = IndexingThread(self.indexable)
        self.readiness = Readiness(self.indexing)
        self.scanned = threading.Event()
        self._after: threading.Thread | None = None
        self._closing = False
        self._opener = threading.Thread(target=self._open, name=f"open {os.fsdecode(root)}", daemon=True)

    def open(self, after: threading.Thread | None = None) -> None:
        """Begin to list, watch and index once `after` has ended. Returns at once."""
        self._after = after
        self._opener.start()

    def close(self) -> None:
        """Stop all threads of the project and wait for them: a listing ends early, a batch of files is written first."""
        self._closing = True
        self.watcher.stop()
        if self._opener.ident is not None:
            self._opener.join()
        self.indexing.close()
        with self.lock:
            self.watcher.close()

    def _open(self) -> None:
        if self._after is not None:
            self._after.join()
        try:
            with self.lock:
                try:
                    self.writer.load(self.table)
                except DatabaseError:
                    if not self.database.is_lost():  # if lost, the indexing thread starts over
                        raise
                self.watcher.start()
                if self._closing:
                    return
                for content in self.table.contents.values():
                    self.indexing.derivation.note(content)
                chunked = [content for content in self.table.contents.values() if content.chunks == "chunked"]
                self.model.loaded(sum(content.embedded for content in chunked), len(chunked))
            logger.info(
                "%s: %d files, %d to index", os.fsdecode(self.root), len(self.table), len(self.table.without_content)
            )
            self.indexing.start()
            self.scanned.set()
            self.database.shrink()
            self.text.note_plain_files(self.indexing.is_closing)
        except Exception:
            logger.exception("opening %s", os.fsdecode(self.root))
            self.indexing.problem = "the project could not be opened, see `ctxd logs`; then `ctxd restart`"

    def left_out(self, path: bytes) -> str | None:
        """Why a path that a caller names is not searched: "secret" or "ignored"; None if it is searched."""
        with self.lock:
            if not path or path in self.table.files or next(self.table.under(path), None) is not None:
                return None
        if is_secret(path) and not self.settings.allow_secrets:
            return "secret"
        with self.lock:
            judgement = self.walker.explain(path)
        return None if judgement.accepted else "ignored"  # an accepted folder here is empty: nothing was left out

    def left_out_of(self, paths: Iterable[bytes]) -> Counter[str]:
        """Count the paths that a caller names and that are not searched, by reason."""
        return Counter(filter(None, map(self.left_out, paths)))

    def files_now(self) -> dict[str, Any] | None:
        """Bring the file table up to date with the disk. Returns `stale` if that took too long, else None.

        Raises ToolError if the project's folder is gone: an empty answer would claim that there is nothing to find.
        """
        seconds = self.settings.settle_ms / 1000
        if not self.lock.acquire(timeout=seconds):
            return {
                "pending_files": len(self.table.without_content),
                "reason": "the file list is being brought up to date",
            }
        try:
            stale = self.watcher.settle(seconds)
        finally:
            self.lock.release()
        if self.watcher.missing:
            raise gone(self.root)
        return None if stale is None else {"pending_files": stale.pending_files, "reason": stale.reason}

    def model_status(self) -> dict[str, Any]:
        """The project's entry in `ctxd model status --json`: the wanted model, the answering one, progress and problem."""
        model, indexing = self.model, self.indexing
        answering = model.answering() if self.indexable.has_index() else None
        counts = self._counts()
        total = sum(content.chunks == "chunked" for content in list(self.table.contents.values()))
        done = total - len(indexing.derivation.vectors.pending) if model.other else total
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
            "progress": progress if indexing.chunks_ready else self.readiness.progress(),
            "problem": model.problem,
        }

    def status(self) -> dict[str, Any]:
        """The project's entry in `ctxd status --json`. Never waits, neither for a first listing nor for the project's lock."""
        counts = self._counts()
        if self.scanned.is_set():
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

    def _counts(self) -> dict[str, int]:
        """Totals of the rows in the index; empty while the index is lost."""
        try:
            return {**self.symbols.counts(), **self.semantic.counts(self.model.answering())}
        except DatabaseError:
            return dict.fromkeys(("symbols", "occurrences", "failed", "chunks", "embedded"), 0)

    def _status(self, health: dict[str, Any], counts: dict[str, int]) -> dict[str, Any]:
        scanned, derivation = self.scanned.is_set(), self.indexing.derivation
        problems = [*self.settings_problems, *map(str, health.pop("problems"))]
        too_large = self.indexable.too_large() if scanned else None
        lost = self.database.problem if not self.indexing.chunks_ready else None
        problems += [problem for problem in (self.indexing.problem, lost, too_large, self.model.problem) if problem]
        if self.watcher.missing:
            problems.append(not_there(os.fsdecode(self.root)))
            state = "missing"
        elif self.indexing.problem or lost or too_large or not health["healthy"]:
            state = "degraded"
        elif not scanned:
            state = "scanning"
        elif not self.indexing.chunks_ready:
            state = "indexing"
        elif self.settings_problems or self.walker.problems or self.walker.rule_problems:
            state = "degraded"
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
            "progress": self.readiness.progress(),
            "pending": len(self.table.without_content)
            + max(len(derivation.symbols.pending), len(derivation.chunks.pending)),
            "failed_files": counts["failed"],
            "watch": health,
            "model": self.model.specification,
            "database_bytes": self.database.bytes_on_disk(),
            "text_ready": self.indexing.text_ready,
            "problems": problems,
        }


def gone(root: bytes) -> ToolError:
    return ToolError(
        f"the project's folder {os.fsdecode(root)} is not there",
        "If it was moved, name its new path; `ctxd remove` forgets the old one",
        name="FileNotFoundError",
    )


def not_there(root: str) -> str:
    return f"{root} is not there; its index is kept. `ctxd remove` forgets it"


def database_name(root: str) -> str:
    """The name of a root's database: one for all worktrees of a repository, else one for the folder."""
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
