"""The projects of this user: registered once, remembered across daemons, opened in the background.

Invariant: two projects of one repository share one Database object, because one file is never opened by two writers.
"""

from __future__ import annotations

import glob
import logging
import os
import shlex
import threading
from typing import TYPE_CHECKING, Any

from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.watcher import shared_inotify
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects import config, project_settings
from ctxd.daemon.projects.known_roots import KnownRoots
from ctxd.daemon.projects.project import Project, database_name, not_there
from ctxd.daemon.projects.project_marks import holds_project_file, is_repository, work_tree_around
from ctxd.daemon.projects.view import View
from ctxd.indexer.database import Database, DatabaseError, delete_database, roots_of
from ctxd.indexer.programs import find_programs

if TYPE_CHECKING:
    from ctxd.daemon.protocol import Places

logger = logging.getLogger(__name__)

EMBED_SECONDS_MAX = 300.0  # to load a model and embed some chunks
EMBEDDER_IDLE_SECONDS = 300.0  # after that the next question waits a second for the model to load
EMBEDDER_RSS_BYTES_MAX = 4 << 30  # large models hold 1 to 2 GB; the limit is against leaks
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
        # One process: a transformer uses all cores by itself, and holds 100 MB or more.
        self.embedders = WorkerPool(
            1,
            job_seconds=EMBED_SECONDS_MAX,
            memory_bytes=EMBEDDER_BYTES_MAX,
            idle_seconds=EMBEDDER_IDLE_SECONDS,
            renew_rss_bytes=EMBEDDER_RSS_BYTES_MAX,
        )
        """Separate from the processes that parse, so that no search waits for a first pass."""
        self.editor = Editor(places.edits)
        self.known = KnownRoots(places.registry_file)
        self.projects: dict[bytes, Project] = {}
        self._closing: dict[bytes, threading.Thread] = {}
        """Threads that close removed projects. One opened again at the same root waits: two would write the same rows."""
        self._databases: dict[str, tuple[Database, set[Project]]] = {}
        self._unopened: dict[bytes, tuple[str, str]] = {}
        """Registered but not open: for each root the state that `status` shows, and the reason."""
        self._trying: set[bytes] = set()
        """Roots that a thread is opening. That may hang on a disk that does not answer."""
        self._stamps: dict[bytes, tuple[object, ...]] = {}
        """Stamps of each open project's settings files, taken when they were read."""
        self._ending = False
        self._lock = threading.RLock()

    def open_all(self) -> None:
        """Open every project registered earlier, then delete the databases that none of them uses."""
        with self._lock:
            for root in self.known.all() - self.projects.keys():
                self._unopened.setdefault(root, _NOT_TRIED)
        self.retry()
        self._collect_databases()

    def add(self, root: str) -> Project:
        """The project at a root, registered and opened if needed. A folder that is no repository gets the project around it.

        The new project replaces registered projects inside it, except repositories. Raises ToolError. No file of a project is
        touched while the registry's lock is held: a slow disk would block everybody.
        """
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
        around = self._around(key)
        if around is not None and not is_repository(key):
            self._let_go(key)
            return around
        project = self._opened(real)
        for inner in self._inside(key):
            if not is_repository(inner):
                self._let_go(inner)
        self.known.save()
        return project

    def view(self, root: str) -> View:
        """The view of a connection whose host named `root`. Registers `root` if it has the marks of `project_marks.py`.

        A folder inside a registered project is served by that project, unless it is a repository. Raises ToolError.
        """
        real = os.path.realpath(os.path.expanduser(root))
        key = os.fsencode(real)
        registered = max(
            (one for one in self.known.all() if (key + b"/").startswith(one + b"/")), key=len, default=None
        )
        if registered is not None and registered not in self.projects:  # not opened yet, since the daemon started
            self.add(os.fsdecode(registered))
        with self._lock:
            project = self.projects.get(key)
        if project is not None:
            return View(project)
        around = self._around(key)
        top = work_tree_around(real) if os.path.isdir(real) else None
        if around is not None and (top is None or not os.fsencode(top).startswith(around.root + b"/")):
            return View(around, key[len(around.root) + 1 :])
        refuse_too_wide(real)
        if os.path.isdir(real) and key not in self.known and not holds_project_file(real):
            if top is None:
                raise ToolError(
                    f"{real} is no project: neither a git work tree, nor does it hold a file such as pyproject.toml or package.json",
                    f"`ctxd add {shlex.quote(real)}` makes it one",
                )
            if top != real:  # the whole work tree is registered
                self.add(top)
                return self.view(real)
        project = self.add(real)
        return View(project, key[len(project.root) + 1 :])

    def _around(self, key: bytes) -> Project | None:
        """The innermost registered project around a folder."""
        with self._lock:
            tops = [top for top in self.projects if key.startswith(top + b"/")]
            return self.projects[max(tops, key=len)] if tops else None

    def _inside(self, key: bytes) -> list[bytes]:
        with self._lock:
            return [root for root in self.projects if root.startswith(key + b"/")]

    def _opened(self, root: str) -> Project:
        stamps = project_settings.stamps(root)
        try:
            loaded = project_settings.load(self.places, root, dict(os.environ))
        except config.SettingsError as error:
            raise ToolError(str(error), "Fix the setting, then call again") from None
        name = database_name(root)
        key = os.fsencode(root)
        with self._lock:
            project = self.projects.get(key)
            if project is not None:  # opened by somebody else meanwhile
                return project
            if self._ending:
                raise ToolError("the daemon is about to end", "Call again")
            project = self._make(root, name, loaded)
            self._stamps[key] = stamps
            self.projects[key] = project
            self._unopened.pop(key, None)
            self.known.add(key)
            closing = self._closing.get(key)
        project.open(after=closing)
        return project

    def remove(self, root: str) -> bool:
        """Forget a project; its index is deleted once it has closed. True if it was registered."""
        key = os.fsencode(os.path.realpath(os.path.expanduser(root)))
        was_open = key in self.projects
        was_known = self._let_go(key)
        self.known.save()
        if was_known and not was_open:
            self._collect_databases()
        return was_known

    def _let_go(self, key: bytes) -> bool:
        """Unregister a root. True if it was registered."""
        with self._lock:
            self._unopened.pop(key, None)
            was_known = self.known.discard(key)
            self._close_later(key, forget=True)
        return was_known

    def _close_later(self, key: bytes, *, forget: bool) -> None:
        """Take an open project out and close it in another thread. Call under the lock."""
        project = self.projects.pop(key, None)
        self._stamps.pop(key, None)
        if project is not None:
            name = f"close {os.fsdecode(key)}"
            closing = threading.Thread(target=self._close, args=(key, project, forget), name=name, daemon=True)
            self._closing[key] = closing
            closing.start()

    def _close(self, key: bytes, project: Project, forget: bool) -> None:
        """Close a project that was taken out, and delete its index if `forget`. Waits until its threads have ended."""
        project.close()
        with self._lock:
            self._release(project, forget=forget)
            if self._closing.get(key) is threading.current_thread():
                del self._closing[key]

    def status(self, root: str | None) -> list[dict[str, Any]] | None:
        """Status entries of all projects, or of the one that serves `root`; None if no project does."""
        with self._lock:
            projects = dict(self.projects)
            missing = dict(self._unopened)
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
        return entries + [_entry_of_unopened(os.fsdecode(key), *why) for key, why in sorted(missing.items())]

    def retry(self) -> None:
        """Open projects whose folder has come back, and reopen those whose wrong settings have been written since.

        They are opened one after the other. If a disk blocks this thread, the next call skips that project.
        """
        with self._lock:
            ill = [key for key, project in self.projects.items() if project.settings_problems]
            roots = [*sorted(self._unopened), *ill]
        for key in roots:
            with self._lock:
                if key in self._trying:
                    continue
                self._trying.add(key)
            try:
                self._try(key)
            except Exception:
                logger.exception("opening %s", os.fsdecode(key))
                self._note_unopened(key, "degraded", "the project could not be opened, see `ctxd logs`")
            finally:
                with self._lock:
                    self._trying.discard(key)

    def _try(self, key: bytes) -> None:
        root = os.fsdecode(key)
        if key in self.projects:
            if project_settings.stamps(root) == self._stamps.get(key):
                return
            with self._lock:
                self._close_later(key, forget=False)
                if key in self.known:
                    self._unopened[key] = _NOT_TRIED
        if not os.path.isdir(root):
            self._note_unopened(key, "missing", not_there(root))
            return
        try:
            self.add(root)
        except ToolError as error:
            self._note_unopened(key, "degraded", str(error))

    def _note_unopened(self, key: bytes, state: str, reason: str) -> None:
        with self._lock:
            if key not in self._unopened:  # removed meanwhile
                return
            if self._unopened[key] != (state, reason):
                logger.warning("not opened: %s", reason)
            self._unopened[key] = (state, reason)

    def nothing_to_retry(self) -> bool:
        with self._lock:
            return not self._unopened and not any(project.settings_problems for project in self.projects.values())

    def retry_models(self) -> None:
        """Try failed models again: one may have been fetched."""
        with self._lock:
            projects = list(self.projects.values())
        for project in projects:
            project.model.retry()
            project.indexable.wake.set()

    def close(self) -> None:
        with self._lock:
            self._ending = True
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

    def _make(self, root: str, name: str, loaded: config.InForce) -> Project:
        """A project with the database of that name. Touches no file of the project. Call under the lock."""
        scratch = os.path.join(self.places.state, "git")
        try:
            if name not in self._databases:
                self._databases[name] = (Database(os.path.join(self.places.databases, name)), set())
            database, users = self._databases[name]
            project = Project(
                os.fsencode(root),
                database,
                self.workers,
                loaded.settings,
                matchers=self.matchers,
                embedders=self.embedders,
                editor=self.editor,
                scratch=scratch,
                models=self.places.models,
                programs=self.programs,
                inotify=self.inotify,
                settings_problems=loaded.problems,
            )
        except (DatabaseError, OSError) as error:
            raise ToolError(
                f"the index of {root} cannot be opened: {error}",
                "Free some disk space, or fix the cause named here, then ask again",
                name="RuntimeError",
            ) from None
        users.add(project)
        return project

    def _release(self, project: Project, *, forget: bool) -> None:
        """Close the database of a closed project unless another project uses it: the same root may be open again."""
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
        """Problems of the list of projects, not of a single project."""
        found = [
            f"the list of projects could not be read and was kept as {path}: add the projects again, then delete it"
            for path in self.known.aside
        ]
        return found + [problem for problem in [self.known.problem] if problem]

    def _collect_databases(self) -> None:
        """Delete the databases that no registered project uses.

        They are left by a crash while a project was removed, or by a folder that became a repository and so got a new database.
        A project whose folder is missing keeps its index. While an unreadable list of projects lies aside, all are kept.
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


_NOT_TRIED = ("scanning", "it is about to be opened")


def _entry_of_unopened(root: str, state: str, reason: str) -> dict[str, Any]:
    """The status entry of a registered project that is not open because of `reason`."""
    return {
        "root": root,
        "state": state,
        **dict.fromkeys(("files", "symbols", "occurrences", "chunks", "embedded"), None),
        "progress": {"done": 0, "total": 0, "eta_seconds": None},
        "pending": 0,
        "failed_files": 0,
        "watch": None,
        "model": None,
        "database_bytes": 0,
        "text_ready": False,
        "problems": [reason],
    }
