"""Keeps a project's file table equal to the disk.

Invariant: when `settle` returns None, the table reflects every write that had returned before the call. Events only mark paths
dirty; the disk then says what a dirty path is now. So a surplus event costs one look, and the order of events does not
matter. If events may be missing (overflow, lost watch, dead thread, replaced root), everything is looked at again.
A write through another name of a file causes no event in the folder of this name. So files with several names are looked
at each time. Only the next sweep sees one case: a first link that is made, and written through, outside the tree.

Locks: `start`, `settle`, `follow`, `sweep`, `health` and `close` run under the caller's project lock. The event handler
runs in any thread and touches nothing but the dirty sets, under the queue's own lock.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ctxd.indexer.files.walker import IGNORE_NAMES, Scan, stamp_of

if sys.platform == "linux":
    from ctxd.daemon.indexing import inotify

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import WatchDescriptor

    from ctxd.daemon.indexing.inotify import Inotify, Subscription
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.files.walker import Walker

RACY_NS = 20_000_000
"""Twice the longest tick of the kernel's clock (1-10 ms): two writes within one tick may leave the same times."""
RACY_COARSE_NS = 2_000_000_000
"""The same for file systems that keep whole seconds (2 on FAT)."""
ROUND_FOLDERS = 64
"""Folders visited between two checks of the clock: about 5 ms."""
ROUND_FOLDERS_UNHURRIED = 2000
"""The same without a deadline. Git answers twice as fast if asked about many paths at once."""
ROUND_PATHS = 256
REFUSED_PATHS_MAX = 20_000
"""Ignored paths to remember, so that git is not asked about a busy log file at each write."""
PROBLEMS_MAX = 20
POLL_SECONDS = 1.0
"""Between two background sweeps without events, so that answers have little left to do."""
POLLING_SHARE = 19
"""The pause is at least this many times the length of a sweep, so that sweeps cost at most a twentieth of a processor."""
SWEEPS_COMPARED = 5
"""The shortest of this many last sweeps is the length of a sweep; the others may have waited for a processor or git."""
LINKED_FILES_MAX = 1_000
"""Files with several names that are checked before each answer: 3 ms."""

# How to visit a folder: only itself; with everything below; the same, and known paths are judged again.
_SHALLOW, _DEEP, _FRESH = 0, 1, 2
_AGAIN = -1  # for a file that no event named

_LANDMARK_NAMES = {
    **dict.fromkeys((b"exclude", b"config", b".gitignore"), _FRESH),
    **dict.fromkeys((b"index", b"info", b"HEAD", b"objects", b"refs", b"commondir", b".git"), _SHALLOW),
}
"""Names to watch in a git folder or above the root, with the visit they ask for: they hold rules, or mark a repository."""


@dataclass(frozen=True, slots=True)
class Stale:
    """What an answer may miss, and why."""

    pending_files: int
    reason: str


class Watcher:
    """The disk side of one project: walks the tree, watches it, and brings changes into the table."""

    def __init__(
        self,
        table: FileTable,
        walker: Walker,
        *,
        on_dirty: Callable[[], None],
        shared: Inotify | None,
        watches_max: int = sys.maxsize,
        sweep_seconds: float = 60.0,
    ) -> None:
        """`on_dirty` is called from any thread when `settle` has work.

        Without a `shared` inotify, and above `watches_max` folders, the watcher polls. It sweeps every `sweep_seconds` for changes
        without events.
        """
        self.table = table
        self.walker = walker
        self.missing = False
        """True if the root does not exist (deleted, moved, unmounted). The table keeps its files."""
        self._stopping = False
        self.overflows = 0
        self._on_dirty = on_dirty
        self._shared = shared
        self._watches_max = watches_max
        self._sweep_every_seconds = sweep_seconds
        self._announced = False
        self._root_identity: tuple[int, int] | None = None
        self._folders: dict[bytes, _Folder] = {}
        # Written by the event handler under the queue's lock.
        self._path_of: dict[WatchDescriptor, bytes] = {}
        self._landmark_of: dict[WatchDescriptor, set[bytes]] = {}
        self._dirty: dict[bytes, int] = {}
        self._events_lost = False
        self._last_event = 0.0
        # Work; the project lock guards it.
        self._names: dict[bytes, int] = {}
        self._visits: dict[bytes, int] = {}
        self._sweep_visits: dict[bytes, int] = {}
        self._orphans: list[tuple[WatchDescriptor, bytes]] = []
        self._racy: dict[bytes, float] = {}
        self._refused: set[bytes] = set()
        self._problems: dict[bytes, str] = {}
        self._new_links: set[int] = set()
        """Inodes that turned out to have several names. Some of the other names may be in this project."""
        self._why_polling: str | None = None
        self._unhealthy: str | None = "not started"
        self._landmark_revision = -1
        self._last_reconcile: float | None = None
        self._sweep_seconds = 0.0
        """Seconds that the running sweep has taken so far."""
        self._sweeps_seconds: deque[float] = deque(maxlen=SWEEPS_COMPARED)
        self._sweep_ended = 0.0
        self._queue: Subscription | None = None

    @property
    def backend(self) -> str:
        return "polling" if self._why_polling is not None else "inotify"

    def start(self) -> None:
        """List everything into the table, watching each folder before it is read.

        Files already in the table keep their content if their stamp is still the same.
        """
        self._open_queue()
        self._begin_again("first listing")
        self.settle(None)
        self._sweep_ended = time.monotonic()

    def settle(self, deadline_seconds: float | None) -> Stale | None:
        """Bring the table up to date with the disk. Returns what is left when the deadline passes, None if nothing is."""
        deadline = None if deadline_seconds is None else time.monotonic() + deadline_seconds
        if not self._settle_events(deadline):
            return Stale(1, "the project's folder is not there")
        if pending := len(self._names) + len(self._visits):
            return Stale(pending, f"more changes than could be checked in {_ms(deadline_seconds)}")
        if self._queue is None:
            return self._poll(deadline, deadline_seconds)
        return self._look_at_linked()

    def _settle_events(self, deadline: float | None) -> bool:
        """Look at the paths that events named. False if the root does not exist."""
        self._drain()
        if not self._root_is_there():
            return False
        self._announced = False
        if self._events_lost:
            self._take_dirty()
            self._look_at_everything("events were lost (queue overflow)")
        if self._dirty:
            self._take_dirty()
        if self._names or self._visits:
            self._reconcile(deadline)
        if self._racy and not self._names and not self._visits and self._queue is not None:
            self._look_at_racy(deadline)
        return True

    def follow(self, slice_seconds: float) -> bool:
        """Settle events, and sweep when that is due; the indexing thread calls this from time to time.

        A sweep runs in slices, so that answers get the lock in between. False if a sweep has not ended: call again.
        """
        if self._queue is not None:
            self._settle_events(
                None
            )  # files with several names are left to answers: a fresh one has to be read each time
            every = self._sweep_every_seconds
        else:
            every = max(POLL_SECONDS, POLLING_SHARE * self._sweep_cost)
            if self._root_is_there() and (self._names or self._visits):
                self._reconcile(time.monotonic() + slice_seconds)
                if self._names or self._visits:
                    return False
        if self.missing or (not self._sweep_visits and time.monotonic() < self._sweep_ended + every):
            return True
        return self.sweep(slice_seconds)

    def sweep(self, budget_seconds: float | None = None) -> bool:
        """Compare every folder with the disk, to find changes without events. False if the budget ended first: call again."""
        if not self._root_is_there():
            return True
        if not self._sweep_visits:
            self._sweep_visits[b""] = _DEEP
            self._sweep_seconds = 0.0
        begun = time.monotonic()
        self._visit(self._sweep_visits, None if budget_seconds is None else begun + budget_seconds)
        self._finish_round()
        self._sweep_seconds += time.monotonic() - begun
        if self._sweep_visits:
            return False
        self._sweeps_seconds.append(self._sweep_seconds)
        self._sweep_ended = time.monotonic()
        self._last_reconcile = time.time()
        if not self._visits and not self._names:
            self._unhealthy = None
        if self._racy and self._queue is None:
            self._look_at_racy(None)
        return True

    def look_again(self, path: bytes) -> None:
        """Look at a file again: it was read and differs from the table, and no event has come yet."""
        self._names.setdefault(path, _SHALLOW)

    def health(self) -> dict[str, Any]:
        polls = f"it polls for changes: {why}" if (why := self._why_polling) is not None else None
        problems = [text for text in (self._unhealthy, polls) if text]
        problems += sorted(list(self.walker.problems))  # noqa: C414 - copy first: other threads may add to it meanwhile
        for texts in (dict(self.walker.rule_problems), dict(self._problems)):
            problems += [f"{os.fsdecode(path) or '.'}: {text}" for path, text in sorted(texts.items())]
        if len(problems) > PROBLEMS_MAX:
            problems = [*problems[:PROBLEMS_MAX], f"and {len(problems) - PROBLEMS_MAX} more"]
        return {
            "backend": self.backend,
            "healthy": self._unhealthy is None,
            "overflows": self.overflows,
            "last_event_at": _iso(self._last_event or None),
            "last_reconcile_at": _iso(self._last_reconcile),
            "problems": problems,
        }

    def stop(self) -> None:
        """Make a listing in another thread end after its current round of folders. Call without the lock."""
        self._stopping = True
        self.walker.stop()

    def close(self) -> None:
        """Stop following. Idempotent."""
        self._close_queue()
        self.walker.close()

    # Events

    def _handle(self, watch: WatchDescriptor, mask: int, name: bytes) -> None:
        """Mark the paths of an event as dirty. Runs under the queue's lock, in any thread."""
        self._last_event = time.time()
        if mask & inotify.OVERFLOW:
            self.overflows += 1
            self._events_lost = True
            return
        dirty = self._dirty
        landmark = self._landmark_of.get(watch)
        if landmark is not None:
            mode = _LANDMARK_NAMES.get(name)
            if mode is not None:
                for folder in landmark:
                    dirty[folder] = max(mode, dirty.get(folder, -1))
            if mask & inotify.WATCH_LOST:
                self._landmark_of.pop(watch, None)
                self._landmark_revision = -1
        folder = self._path_of.get(watch)
        if folder is None:
            return
        if mask & inotify.WATCH_LOST:
            self._path_of.pop(watch, None)
            dirty[folder] = max(_DEEP, dirty.get(folder, -1))
        elif not name:  # the folder itself
            mode = _SHALLOW if mask & inotify.IS_ATTRIBUTE else _DEEP
            dirty[folder] = max(mode, dirty.get(folder, -1))
        elif name in IGNORE_NAMES:
            dirty[folder] = _FRESH
            path = folder + b"/" + name if folder else name
            dirty.setdefault(path, _SHALLOW)
        elif name == b".git":
            dirty[folder] = max(_SHALLOW, dirty.get(folder, -1))
        else:
            path = folder + b"/" + name if folder else name
            mode = _DEEP if mask & inotify.IS_FOLDER and not mask & inotify.IS_ATTRIBUTE else _SHALLOW
            if dirty.get(path, -1) < mode:
                dirty[path] = mode

    def _announce(self) -> None:
        if not self._announced and (self._dirty or self._events_lost):
            self._announced = True
            self._on_dirty()

    def _take_dirty(self) -> None:
        """Move the paths that events marked to our own work list."""
        queue = self._queue
        with queue.reading if queue is not None else contextlib.nullcontext():
            dirty, self._dirty = self._dirty, {}
        if not self._names:
            self._names = dirty
            return
        for path, mode in dirty.items():
            self._names[path] = max(mode, self._names.get(path, -1))

    # The root and the queue

    def _root_is_there(self) -> bool:
        """True if the root exists. Starts over if it is another folder than before or has come back."""
        try:
            status = os.stat(self.walker.root)
            identity = (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
        except OSError:
            identity = None
        if identity is not None and identity == self._root_identity and not self.missing:
            return True
        if identity is None:
            self.missing = True
            self._unhealthy = "the root folder is missing"
            return False
        if self._root_identity is not None:
            self._close_queue()
            self._open_queue()
            self._begin_again("the root folder was replaced or came back")
        self.missing = False
        self._root_identity = identity
        return True

    def _begin_again(self, reason: str) -> None:
        """Forget all folders, keep the table, and look at everything as if for the first time."""
        for path in list(self._folders):
            self.walker.forget_folder(path)
        self._folders = {b"": _Folder()}
        self._orphans.clear()
        self._names.clear()
        self._sweep_visits.clear()
        self._problems.clear()
        self._landmark_revision = -1
        self._visits = {b"": _FRESH}
        self._refused.clear()
        self._unhealthy = reason

    def _look_at_everything(self, reason: str) -> None:
        self._events_lost = False
        self._visits[b""] = max(_DEEP, self._visits.get(b"", -1))
        self._unhealthy = reason

    def _open_queue(self) -> None:
        self._why_polling = None
        if self._shared is None:
            self._why_polling = "this system has no inotify"
        elif not self._watches_max:
            self._why_polling = "watches_max is 0 in the settings"
        else:
            try:
                self._queue = self._shared.subscribe(self._handle, self._announce)
            except OSError as error:
                self._why_polling = f"inotify is not available ({error.strerror}); see fs.inotify.max_user_instances, then restart the daemon"

    def _drain(self) -> None:
        queue = self._queue
        if queue is None:
            return
        with contextlib.suppress(OSError):
            if queue.is_alive():
                queue.drain()
                return
        self._close_queue()
        self._open_queue()
        self._look_at_everything("the thread that reads events died")

    def _close_queue(self) -> None:
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()
        self._path_of.clear()
        self._landmark_of.clear()
        self._landmark_revision = -1
        for folder in self._folders.values():
            folder.watch = None

    # Reconciling

    def _reconcile(self, deadline: float | None) -> None:
        """Work through dirty names, then folders, until the deadline."""
        if self._names:
            self._resolve_names(deadline)
        if self._visits and not self._names:
            self._visit(self._visits, deadline)
        self._finish_round()
        if not self._names and not self._visits:
            self._last_reconcile = time.time()
            if self._unhealthy is not None:
                self._drop_unlisted()
                self._unhealthy = None

    def _resolve_names(self, deadline: float | None) -> None:
        """Look at each dirty path, parents before children."""
        names = sorted(self._names)
        for start in range(0, len(names), ROUND_PATHS):
            if start and deadline is not None and time.monotonic() > deadline:
                return
            files: list[bytes] = []
            folders: list[bytes] = []
            statuses: dict[bytes, os.stat_result] = {}
            for path in names[start : start + ROUND_PATHS]:
                self._look_at(path, self._names.pop(path), files, folders, statuses)
            if not files and not folders:
                continue
            accepted = self.walker.accepts(files, folders)
            for path in folders:
                if path in accepted and path.rpartition(b"/")[0] in self._folders:
                    self._add_folder(path)
                    self._visits[path] = _DEEP
            for path in files:
                if path in accepted and path.rpartition(b"/")[0] in self._folders:
                    self._put(path, statuses[path])
                elif len(self._refused) < REFUSED_PATHS_MAX:
                    self._refused.add(path)

    def _look_at(
        self, path: bytes, mode: int, files: list[bytes], folders: list[bytes], statuses: dict[bytes, os.stat_result]
    ) -> None:
        """Settle one dirty path, or add it to the paths that the walker must judge."""
        if mode == _FRESH:
            self.walker.rules_changed(path)
            self._refused.clear()
        parent = self._folders.get(path.rpartition(b"/")[0])
        if parent is None:
            return  # the folder is gone, not accepted, or about to be visited
        if not path:
            self._visits[b""] = max(mode, self._visits.get(b"", -1))
            return
        try:
            status = os.lstat(self._absolute(path))
            kind = stat.S_IFMT(status.st_mode)
        except (FileNotFoundError, NotADirectoryError):
            status, kind = None, 0
        except OSError:
            self._visits.setdefault(path.rpartition(b"/")[0], _SHALLOW)  # records why
            return
        if kind == stat.S_IFDIR:
            if path in parent.files:
                self._remove(path)
            if path in self._folders:
                self._visits[path] = max(mode, self._visits.get(path, -1))
            else:
                folders.append(path)
            return
        if path in self._folders:
            self._drop_folder(path)
        if kind == stat.S_IFREG and status is not None:
            if path in parent.files:
                self._put(path, status, touched=mode != _AGAIN)
            elif path not in self._refused:
                files.append(path)
                statuses[path] = status
        elif path in parent.files:
            self._remove(path)

    def _visit(self, queue: dict[bytes, int], deadline: float | None) -> None:
        """Make the table equal to the disk in each queued folder. A deep visit queues the folders below."""
        while queue and not self._stopping:
            batch: dict[bytes, int] = {}
            while queue and len(batch) < (ROUND_FOLDERS if deadline is not None else ROUND_FOLDERS_UNHURRIED):
                path = next(iter(queue))
                mode = queue.pop(path)
                if path in self._folders:
                    batch[path] = mode
            scans = self.walker.scan(
                batch, known=lambda path, batch=batch: self._known(path, batch[path]), entering=self._watch_folder
            )
            for path, scan in scans.items():
                if path not in self._folders:
                    continue
                if scan is None:
                    if path:
                        self._drop_folder(path)
                else:
                    self._apply(path, scan, batch[path], queue)
            if deadline is not None and time.monotonic() > deadline:
                return

    def _known(self, path: bytes, mode: int) -> tuple[set[bytes], set[bytes]]:
        folder = self._folders[path]
        return (set(), set()) if mode == _FRESH else (folder.files, folder.folders)

    def _apply(self, path: bytes, scan: Scan, mode: int, queue: dict[bytes, int]) -> None:
        folder = self._folders[path]
        if scan.problem is None:
            self._problems.pop(path, None)
        else:
            self._problems[path] = scan.problem
        if scan.rules_changed:
            mode = _FRESH
            self._refused.clear()
        for gone in folder.files - scan.files.keys():
            self._remove(gone)
        for gone in folder.folders - scan.folders:
            self._drop_folder(gone)
        for file, status in scan.files.items():
            self._put(file, status)
        for below in scan.folders:
            if below not in folder.folders:
                self._add_folder(below)
                queue[below] = max(mode, _DEEP)
            elif mode != _SHALLOW:
                queue[below] = max(mode, queue.get(below, -1))

    def _finish_round(self) -> None:
        """Stop the watches of folders that are gone, and watch the places where ignore rules come from."""
        for watch, path in self._orphans:
            # A folder that was only moved already has the same watch under its new path.
            if self._queue is not None and self._path_of.get(watch) == path and not self._is_watched_by(path, watch):
                self._path_of.pop(watch, None)
                if watch not in self._landmark_of:
                    self._queue.unwatch(watch)
        self._orphans.clear()
        if self._queue is not None and self._landmark_revision != self.walker.landmark_revision:
            self._watch_landmarks(self._queue)

    def _is_watched_by(self, path: bytes, watch: WatchDescriptor) -> bool:
        folder = self._folders.get(path)
        return folder is not None and folder.watch == watch

    def _drop_unlisted(self) -> None:
        """Remove files that were in the table before the first listing and were not found by it."""
        for path in list(self.table.files):
            parent = self._folders.get(path.rpartition(b"/")[0])
            if parent is None or path not in parent.files:
                self.table.remove(path)

    # Single files and folders

    def _put(self, path: bytes, status: os.stat_result, *, touched: bool = False) -> None:
        """Record a file. `touched`: an event named it, so its bytes may be new even if its stamp is not."""
        stamp = stamp_of(status)
        file = self.table.files.get(path)
        is_new = file is None or file.stamp != stamp
        if status.st_nlink > 1 and path not in self.table.linked and self._queue is not None:
            self._new_links.add(status.st_ino)
        file = self.table.put(
            path,
            status.st_size,
            stamp,
            touched=touched or path in self._racy,
            inode=status.st_ino,
            has_links=status.st_nlink > 1,
        )
        if is_new:
            newest = max(status.st_mtime_ns, status.st_ctime_ns)
            window = RACY_NS if status.st_mtime_ns % 1_000_000_000 else RACY_COARSE_NS
            if newest + window > time.time_ns():
                self._racy[path] = time.monotonic() + window / 1e9
        self._folders[path.rpartition(b"/")[0]].files.add(file.path)

    def _remove(self, path: bytes) -> None:
        self.table.remove(path)
        self._racy.pop(path, None)
        parent = self._folders.get(path.rpartition(b"/")[0])
        if parent is not None:
            parent.files.discard(path)

    def _add_folder(self, path: bytes) -> None:
        self._folders[path] = _Folder()
        self._folders[path.rpartition(b"/")[0]].folders.add(path)

    def _drop_folder(self, path: bytes) -> None:
        """Forget a folder and all below it."""
        parent = self._folders.get(path.rpartition(b"/")[0])
        if parent is not None:
            parent.folders.discard(path)
        below = [path]
        while below:
            path = below.pop()
            folder = self._folders.pop(path, None)
            if folder is None:
                continue
            below += folder.folders
            for file in folder.files:
                self.table.remove(file)
                self._racy.pop(file, None)
            if folder.watch is not None:
                self._orphans.append((folder.watch, path))
            self._problems.pop(path, None)
            self.walker.forget_folder(path)

    def _look_at_racy(self, deadline: float | None) -> None:
        """Check again the files that were written too shortly before we looked at them."""
        now = time.monotonic()
        due = [path for path, when in self._racy.items() if when <= now]
        if not due:
            return
        self._names |= dict.fromkeys(due, _AGAIN)
        if self._queue is not None:  # a second write would cause an event; without events the file is read again
            for path in due:
                if path not in self.table.linked:
                    del self._racy[path]
        self._reconcile(deadline)
        for path in due:
            self._racy.pop(path, None)

    # Watches

    def _watch_folder(self, path: bytes) -> None:
        queue, folder = self._queue, self._folders[path]
        if queue is None:
            return

        def remember(watch: WatchDescriptor) -> None:
            if folder.watch is not None and folder.watch != watch:
                self._orphans.append((folder.watch, path))
            folder.watch = watch
            self._path_of[watch] = path

        if len(self._path_of) >= self._watches_max:
            self._poll_from_now_on(f"more than {self._watches_max} folders; raise watches_max in the settings")
            return
        try:
            queue.watch(self._absolute(path), remember, is_root=not path)
        except OSError as error:
            if inotify.is_limit(error):
                count = len(self._folders)
                self._poll_from_now_on(
                    f"no inotify watch is left after {count} folders; raise fs.inotify.max_user_watches"
                )
            # Otherwise the folder is unreadable, which the scan records, or gone, which causes an event.

    def _poll_from_now_on(self, reason: str) -> None:
        self._close_queue()
        self._why_polling = f"{reason}, then restart the daemon"

    def _watch_landmarks(self, queue: Subscription) -> None:
        self._landmark_revision = self.walker.landmark_revision
        wanted = self.walker.landmarks()
        found: dict[WatchDescriptor, set[bytes]] = {}
        for path, folders in wanted.items():

            def remember(watch: WatchDescriptor, folders: set[bytes] = folders) -> None:
                found.setdefault(watch, set()).update(folders)
                self._landmark_of[watch] = found[watch]

            with contextlib.suppress(OSError):
                queue.watch(path, remember)
        for watch in [watch for watch in self._landmark_of if watch not in found]:
            self._landmark_of.pop(watch, None)
            if watch not in self._path_of:
                queue.unwatch(watch)

    # Without events

    @property
    def _sweep_cost(self) -> float:
        """Seconds that a sweep takes."""
        return min(self._sweeps_seconds, default=0.0)

    def _poll(self, deadline: float | None, seconds: float | None) -> Stale | None:
        """Sweep. If a sweep takes longer than the deadline, leave it to the indexing thread."""
        polls = f"the project polls for changes ({self._why_polling})"
        now = time.monotonic()
        if deadline is not None and now + self._sweep_cost > deadline:
            return Stale(
                len(self.table),
                f"{polls}: checking all its files takes {_ms(self._sweep_cost)}, longer than settle_ms allows;"
                f" the last one ended {now - self._sweep_ended:.0f} s ago",
            )
        self._sweep_visits.clear()  # a running sweep has seen some folders before this call
        if self.sweep(None if deadline is None else deadline - now):
            return None
        return Stale(len(self.table), f"{polls}, and not all its files could be checked in {_ms(seconds)}")

    # Files with several names

    def _look_at_linked(self) -> Stale | None:
        """Compare files that may be written through another name."""
        table = self.table
        if self._new_links:
            table.linked.update(path for path, file in table.files.items() if file.inode in self._new_links)
            self._new_links.clear()
        if len(table.linked) > LINKED_FILES_MAX:
            return Stale(
                len(table.linked),
                f"{len(table.linked)} files have more than one hard link, too many to check before each answer"
                f" (over {LINKED_FILES_MAX}): writes through their other names are seen within {self._sweep_every_seconds:g} s",
            )
        for path in list(table.linked):
            try:
                status = os.lstat(self._absolute(path))
            except OSError:
                continue  # gone since the call came; an event is on its way
            if stat.S_ISREG(status.st_mode) and (stamp_of(status) != table.files[path].stamp or path in self._racy):
                self._put(path, status)
        return None

    def _absolute(self, path: bytes) -> bytes:
        return self.walker.root + b"/" + path if path else self.walker.root


class _Folder:
    """An accepted folder: its watch, and the full paths of its accepted entries."""

    __slots__ = ("files", "folders", "watch")

    def __init__(self) -> None:
        self.watch: WatchDescriptor | None = None
        self.files: set[bytes] = set()
        self.folders: set[bytes] = set()


def shared_inotify() -> Inotify | None:
    """The inotify that all watchers of a process share; None if the system has none."""
    return inotify.Inotify() if sys.platform == "linux" else None


def _ms(seconds: float | None) -> str:
    return "no time" if seconds is None else f"{seconds * 1000:.0f} ms"


def _iso(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
