"""One inotify descriptor, read in order: what the kernel told of folders, each event handed on exactly once.

Invariant: after `drain` returns, every event whose cause finished before the call has been handed on. Adding a watch
and remembering whose it is happen under the same lock as reading, so no event meets an unknown watch.

Of watchdog's InotifyFD we use the descriptor, the kill pipe and the parsing. Its loop and its callbacks are left out:
its book-keeping of paths dies of a KeyError under renames, and it records a watch -1 where a folder is unreadable.
"""

from __future__ import annotations

import array
import ctypes
import errno
import fcntl
import os
import select
import termios
import threading
from typing import TYPE_CHECKING

from watchdog.observers.inotify_c import InotifyConstants, InotifyFD, inotify_add_watch, inotify_rm_watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from watchdog.observers.inotify_c import WatchDescriptor

_FOLDER_MASK = (
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_DONT_FOLLOW
    | InotifyConstants.IN_EXCL_UNLINK
)
_ROOT_MASK = (_FOLDER_MASK | InotifyConstants.IN_MOVE_SELF) & ~InotifyConstants.IN_DONT_FOLLOW

IS_FOLDER = InotifyConstants.IN_ISDIR
IS_ATTRIBUTE = InotifyConstants.IN_ATTRIB
WATCH_LOST = InotifyConstants.IN_IGNORED
OVERFLOW = InotifyConstants.IN_Q_OVERFLOW


class EventQueue(InotifyFD):
    """Calls `on_event(watch, mask, name)` under `reading` for each event, and `on_batch()` after those its thread read."""

    def __init__(self, on_event: Callable[[WatchDescriptor, int, bytes], None], on_batch: Callable[[], None]) -> None:
        super().__init__()
        self.name = "ctxd-inotify"
        os.set_inheritable(self._inotify_fd, False)  # watchdog opens it without IN_CLOEXEC
        self.reading = threading.Lock()
        self._on_event = on_event
        self._on_batch = on_batch
        self._pending_bytes = array.array("i", [0])

    def run(self) -> None:
        """Read as events arrive, until closed. An exception ends the thread; whoever owns it sees `is_alive()`."""
        poller = select.poll()
        poller.register(self._inotify_fd, select.POLLIN)
        poller.register(self._kill_r, select.POLLIN)
        while True:
            ready = poller.poll()
            if any(descriptor == self._kill_r for descriptor, _ in ready):
                return
            if self.drain():
                self._on_batch()

    def drain(self) -> bool:
        """Hand on everything that is queued now; whether anything was."""
        with self.reading:
            if self._closed:
                return False
            fcntl.ioctl(self._inotify_fd, termios.FIONREAD, self._pending_bytes)
            size = self._pending_bytes[0]
            if not size:
                return False
            for watch, mask, _, name in self._parse_event_buffer(os.read(self._inotify_fd, size)):
                self._on_event(watch, mask, name)
            return True

    def watch(self, path: bytes, remember: Callable[[WatchDescriptor], object], *, is_root: bool = False) -> None:
        """Watch a folder and call `remember(watch)`; the same folder under another path gives the same watch.

        Raises OSError: ENOSPC at the limit of watches, EACCES for an unreadable folder, ENOENT, ENOTDIR.
        """
        with self.reading:
            watch = inotify_add_watch(self._inotify_fd, path, _ROOT_MASK if is_root else _FOLDER_MASK)
            if watch < 0:
                number = ctypes.get_errno()
                raise OSError(number, os.strerror(number), path)
            remember(watch)

    def unwatch(self, watch: WatchDescriptor) -> None:
        """Stop a watch; one that the kernel has already dropped is fine."""
        inotify_rm_watch(self._inotify_fd, watch)

    def close(self) -> None:
        """Stop the thread and close the descriptors. Idempotent."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        os.write(self._kill_w, b"!")
        if self.is_alive() and self is not threading.current_thread():
            self.join()
        with self.reading:
            self._close_resources()


def is_limit(error: OSError) -> bool:
    """Whether the kernel has no more watches or queues to give, as opposed to something about one folder."""
    return error.errno in {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
