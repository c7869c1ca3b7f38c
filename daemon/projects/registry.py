"""The projects of this user: registered once, remembered across daemons, opened in the background.

Invariant: two projects of one repository share one Database object, because one file is never opened by two writers.
"""

from __future__ import annotations

import glob
import logging
import os
import threading
from typing import TYPE_CHECKING, Any

from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.watcher import shared_inotify
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects import config
from ctxd.daemon.projects.known_roots import KnownRoots
from ctxd.daemon.projects.project import Project, database_name, not_there
from ctxd.daemon.projects.view import View
from ctxd.indexer.database import Database, DatabaseError, delete_database, roots_of
from ctxd.indexer.programs import find_programs

if TYPE_CHECKING:
    from ctxd.daemon.protocol import Places

logger = logging.getLogger(__name__)

EMBED_SECONDS_MAX = 300.0  # to load a model and embed some chunks
EMBEDDER_IDLE_SECONDS = 300.0  # the next question would wait a second for the model
EMBEDDER_RSS_BYTES_MAX = 4 << 30  # large models hold 1 to 2 GB; it is leaks that this is against
EMBEDDER_BYTES_MAX = 8 << 30  # of address space: ONNX Runtime maps much more than it uses


class Registry:
    """Thread-safe."""

    def __init__(self, places: Places, settings: config.Settings) -> None:
        self.places = places
        self.settings = settings
        self.programs = find_programs()
        self.inotify = shared_inotify()
        self.workers = WorkerPool(
            settings.workers, job_seconds=settings.parse_seconds, memory_bytes=settings.worker_memory_mib << 20
        )
        self.matchers = WorkerPool(settings.workers, memory_bytes=settings.worker_memory_mib << 20)
        # One: a transformer uses all cores by itself, and holds 100 MB and more.
        self.embedders = WorkerPool(
            1,
            job_seconds=EMBED_SECONDS_MAX,
            memory_bytes=EMBEDDER_BYTES_MAX,
            idle_seconds=EMBEDDER_IDLE_SECONDS,
            renew_rss_bytes=EMBEDDER_RSS_BYTES_MAX,
        )
        """Apart from those that parse: no search waits for a first pass."""
        self.editor = Editor(places.edits)
        self.known = KnownRoots(places.registry_file)
        self.projects: dict[bytes, Project] = {}
        self._closing: dict[bytes, threading.Thread] = {}
        """Of projects that were removed and still end. One opened again at the same place waits for it: two would write the same rows."""
        self._databases: dict[str, tuple[Database, set[Project]]] = {}
        self._missing: dict[bytes, str] = {}
        """Registered, but not open: why."""
        self._lock = threading.RLock()

    def open_all(self) -> None:
        """Open every project registered earlier, then delete the databases that none of them uses."""
        for root in sorted(self.known.all()):
            if root not in self.known:  # removed meanwhile
                continue
            try:
                self.add(os.fsdecode(root))
            except ToolError as error:
                logger.warning("not opened: %s", error)
                self._missing[root] = str(error)
        self._collect_databases()

    def add(self, root: str) -> Project:
        """The project at a root, registered and opened if it was not. Raises ToolError."""
        real = os.path.realpath(os.path.expanduser(root))
        key = os.fsencode(real)
        with self._lock:
            project = self.projects.get(key)
            if project is not None:
                return project
            refuse_too_wide(real)
            if f"{real}/".startswith(f"{os.path.realpath(self.places.state)}/"):
                raise ToolError(f"{real} is where ctxd keeps its own state", "Name the folder of a project")
            if not os.path.isdir(real):
                raise ToolError(f"{real} is not a folder", "Name the folder of a project", name="FileNotFoundError")
            project = self._make(real)
            self.projects[key] = project
            self._missing.pop(key, None)
            self.known.add(key)
            closing = self._closing.get(key)
        project.open(after=closing)
        self.known.save()
        return project

    def view(self, root: str) -> View:
        """The view of a connection whose host named `root`: a folder inside a registered project is served by it.

        Raises ToolError.
        """
        real = os.fsencode(os.path.realpath(os.path.expanduser(root)))
        with self._lock:
            if real not in self.projects:
                around = [top for top in self.projects if real.startswith(top + b"/")]
                if around:
                    top = max(around, key=len)
                    return View(self.projects[top], real[len(top) + 1 :])
        return View(self.add(root))

    def remove(self, root: str) -> bool:
        """Forget a project, and its index when it has ended what it is doing; whether it was registered."""
        key = os.fsencode(os.path.realpath(os.path.expanduser(root)))
        with self._lock:
            project = self.projects.pop(key, None)
            self._missing.pop(key, None)
            was_known = self.known.discard(key)
            if project is not None:
                closing = threading.Thread(target=self._forget, args=(key, project), name=f"remove {root}", daemon=True)
                self._closing[key] = closing
                closing.start()
        self.known.save()
        if project is None and was_known:
            self._collect_databases()
        return was_known

    def _forget(self, key: bytes, project: Project) -> None:
        """Close a removed project, which waits for what it is doing, and delete its index."""
        project.close()
        with self._lock:
            self._release(project, forget=True)
            if self._closing.get(key) is threading.current_thread():
                del self._closing[key]

    def status(self, root: str | None) -> list[dict[str, Any]] | None:
        """Status entries of all projects, or of the one that serves `root`; None where none does."""
        with self._lock:
            projects = dict(self.projects)
            missing = dict(self._missing)
        if root is not None:
            real = os.fsencode(os.path.realpath(os.path.expanduser(root)))
            key = next(
                (k for k in sorted((*projects, *missing), reverse=True) if real == k or real.startswith(k + b"/")), None
            )
            if key is None:
                return None
            projects = {key: projects[key]} if key in projects else {}
            missing = {key: missing[key]} if key in missing else {}
        entries = [project.status() for _, project in sorted(projects.items())]
        return entries + [_entry_of_unopened(os.fsdecode(key), reason) for key, reason in sorted(missing.items())]

    def retry_missing(self) -> None:
        """Open projects whose folder has come back, or whose settings were mended."""
        with self._lock:
            missing = list(self._missing)
        self.known.save()  # where the disk was full
        for key in filter(os.path.isdir, missing):
            try:
                self.add(os.fsdecode(key))
            except ToolError as error:
                self._missing[key] = str(error)

    def retry_models(self) -> None:
        """Try again the models that could not be had: one may have been fetched."""
        with self._lock:
            projects = list(self.projects.values())
        for project in projects:
            project.model.retry()
            project.indexable.wake.set()

    def close(self) -> None:
        with self._lock:
            projects, self.projects = self.projects, {}
            closing = list(self._closing.values())
        self.editor.close()
        self.workers.close()
        self.matchers.close()
        self.embedders.close()
        for project in projects.values():
            project.close()
            self._release(project, forget=False)
        for thread in closing:
            thread.join()

    def _make(self, root: str) -> Project:
        try:
            settings, _ = config.load(self.places.settings_file, root, dict(os.environ))
        except config.SettingsError as error:
            raise ToolError(str(error), "Mend the setting, then call again") from None
        name = database_name(root)
        scratch = os.path.join(self.places.state, "git")
        try:
            if name not in self._databases:
                self._databases[name] = (Database(os.path.join(self.places.databases, name)), set())
            database, users = self._databases[name]
            project = Project(
                os.fsencode(root),
                database,
                self.workers,
                settings,
                matchers=self.matchers,
                embedders=self.embedders,
                editor=self.editor,
                scratch=scratch,
                models=self.places.models,
                programs=self.programs,
                inotify=self.inotify,
            )
        except (DatabaseError, OSError) as error:
            raise ToolError(
                f"the index of {root} cannot be opened: {error}",
                "Free some disk space, or mend what else it says, then ask again",
                name="RuntimeError",
            ) from None
        users.add(project)
        return project

    def _release(self, project: Project, *, forget: bool) -> None:
        """Close the database of a closed project unless another one uses it: the same root may be open again by now."""
        database = project.database
        name = os.path.basename(database.path)  # not database_name: `.git` may have come or gone meanwhile
        _, users = self._databases[name]
        users.discard(project)
        if not users:
            del self._databases[name]
            database.close()
            if forget:
                delete_database(database.path)

    def problems(self) -> list[str]:
        """What is wrong with the list of projects, of no project by itself."""
        found = [
            f"the list of projects could not be read and was kept as {path}: add the projects again, then delete it"
            for path in self.known.aside
        ]
        return found + [problem for problem in [self.known.problem] if problem]

    def _collect_databases(self) -> None:
        """Delete the databases that no registered project uses: those of projects removed in the moment of a crash, or that have
        another one since they became a repository.

        A project whose folder is away keeps its index. While a list of projects waits for somebody to look at it, all are kept.
        """
        if self.known.aside:
            return
        roots = self.known.all()
        there = set(filter(os.path.isdir, roots))
        away = roots - there
        used = {database_name(os.fsdecode(root)) for root in there}
        for path in sorted(glob.glob(os.path.join(glob.escape(self.places.databases), "*.db"))):
            name = os.path.basename(path)
            if name in used or (away and not away.isdisjoint(roots_of(path) or away)):
                continue
            with self._lock:  # nobody opens it meanwhile
                if name not in self._databases:
                    logger.info("no project uses %s", path)
                    delete_database(path)


def refuse_too_wide(root: str) -> None:
    """Raise ToolError for `/` and the home folder: nobody means to index all of it."""
    if root in {"/", os.path.realpath(os.path.expanduser("~"))}:
        raise ToolError(
            f"{root} is too wide to be a project",
            "Start in a project's folder, or name one: --project DIR or CTXD_PROJECT",
        )


def _entry_of_unopened(root: str, reason: str) -> dict[str, Any]:
    """The status entry of a project whose folder is not there, or that `reason` keeps from being opened."""
    is_there = os.path.isdir(root)
    return {
        "root": root,
        "state": "degraded" if is_there else "missing",
        **dict.fromkeys(("files", "symbols", "occurrences", "chunks", "embedded"), None),
        "progress": {"done": 0, "total": 0, "eta_seconds": None},
        "pending": 0,
        "failed_files": 0,
        "watch": None,
        "model": None,
        "database_bytes": 0,
        "text_ready": False,
        "problems": [reason if is_there else not_there(root)],
    }
