"""One inotify descriptor for all projects. Events are read in order, and each is handed on exactly once.

The kernel gives a user 128 instances, and a daemon may have more projects. So projects share one, each by a `Subscription`.

Invariant: after `drain` returns, every event whose cause finished before the call has been handed to each subscription that
watches the folder. There are no events for changes before `watch` returned: read the folder after watching it.
Adding a watch may wait for a slow disk, so it is done without the lock: no project waits for the disk of another.

We use the descriptor, the kill pipe and the parsing of watchdog's InotifyFD, but not its loop and callbacks: its book-keeping
of paths fails with a KeyError under renames, and it records a watch -1 for an unreadable folder.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import errno
import fcntl
import logging
import os
import select
import termios
import threading
from typing import TYPE_CHECKING

from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyFD,
    WatchDescriptor,
    inotify_add_watch,
    inotify_rm_watch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

logger = logging.getLogger(__name__)

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
    | InotifyConstants.IN_MASK_ADD  # two projects that watch one folder share its mask: neither may remove the other's bits
)
_ROOT_MASK = (_FOLDER_MASK | InotifyConstants.IN_MOVE_SELF) & ~InotifyConstants.IN_DONT_FOLLOW

IS_FOLDER = InotifyConstants.IN_ISDIR
IS_ATTRIBUTE = InotifyConstants.IN_ATTRIB
WATCH_LOST = InotifyConstants.IN_IGNORED
OVERFLOW = InotifyConstants.IN_Q_OVERFLOW

UNWATCHED_AT_ONCE = 1_000
"""Most watches removed between two drains: each removal queues an event, and the kernel's queue holds 16,384 in all."""


class Inotify:
    """The shared instance: opened for the first subscription, closed after the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: EventQueue | None = None

    def subscribe(
        self, on_event: Callable[[WatchDescriptor, int, bytes], None], on_batch: Callable[[], None]
    ) -> Subscription:
        """Make a subscription. `on_event(watch, mask, name)` runs under `reading` for each event.

        `on_batch()` runs after events that another subscription's drain, or the thread, has read. Raises OSError if the kernel
        gives no instance.
        """
        with self._lock:
            if self._queue is None or not self._queue.is_alive():
                if self._queue is not None:
                    self._queue.close()
                self._queue = EventQueue()
                self._queue.start()
            subscription = Subscription(self, self._queue, on_event, on_batch)
            with subscription.reading:
                self._queue.subscriptions.add(subscription)
            return subscription

    def leave(self, subscription: Subscription, queue: EventQueue) -> None:
        with self._lock:
            is_last = queue.subscriptions <= {subscription}
            if is_last:
                queue.close()
                if self._queue is queue:
                    self._queue = None
        if not is_last:
            queue.leave(subscription)


class Subscription:
    """One project's part of the shared queue."""

    def __init__(
        self,
        shared: Inotify,
        queue: EventQueue,
        on_event: Callable[[WatchDescriptor, int, bytes], None],
        on_batch: Callable[[], None],
    ) -> None:
        self.reading = queue.reading
        """Held while events are handed on to any subscription."""
        self.on_event = on_event
        self.on_batch = on_batch
        self.watches: set[WatchDescriptor] = set()
        self._shared = shared
        self._queue = queue

    def is_alive(self) -> bool:
        """True if the reading thread is alive. If not, close this subscription and make another."""
        return self._queue.is_alive()

    def drain(self) -> None:
        """Hand on everything that is queued now, to all subscriptions. Raises OSError if the queue is unreadable or closed."""
        self._queue.drain(self)

    def watch(self, path: bytes, remember: Callable[[WatchDescriptor], object], *, is_root: bool = False) -> None:
        """Watch a folder and call `remember(watch)`. The same folder under another path gets the same watch.

        Raises OSError: ENOSPC at the limit of watches, EACCES for an unreadable folder, ENOENT, ENOTDIR.
        """
        self._queue.watch(self, path, remember, _ROOT_MASK if is_root else _FOLDER_MASK)

    def unwatch(self, watch: WatchDescriptor) -> None:
        """Stop a watch. It is no error if the kernel has already dropped it."""
        self._queue.unwatch(self, (watch,))

    def close(self) -> None:
        """Remove all watches. Idempotent."""
        self._shared.leave(self, self._queue)


class EventQueue(InotifyFD):
    """The descriptor, its thread, and the watches of each subscription."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "ctxd-inotify"
        os.set_inheritable(self._inotify_fd, False)  # watchdog opens it without IN_CLOEXEC
        self.reading = threading.Lock()
        self.subscriptions: set[Subscription] = set()
        self._pending_bytes = array.array("i", [0])
        self._watching: dict[WatchDescriptor, tuple[Subscription, ...]] = {}
        self._adding = 0
        self._lost: set[WatchDescriptor] = set()
        """Watches that ended while others were being added: one of those may have got the same number."""

    def run(self) -> None:
        """Read events as they arrive, until the queue is closed or unreadable; subscriptions check `is_alive()`."""
        poller = select.poll()
        poller.register(self._inotify_fd, select.POLLIN)
        poller.register(self._kill_r, select.POLLIN)
        while True:
            ready = poller.poll()
            if any(descriptor == self._kill_r for descriptor, _ in ready):
                return
            try:
                self.drain()
            except OSError:
                if not self._closed:
                    logger.exception("inotify cannot be read")
                return

    def drain(self, asking: Subscription | None = None) -> None:
        """Hand on everything that is queued now. Then call `on_batch` of the receivers, except `asking`."""
        with self.reading:
            if self._closed:
                raise OSError(errno.EBADF, "closed")
            fcntl.ioctl(self._inotify_fd, termios.FIONREAD, self._pending_bytes)
            size = self._pending_bytes[0]
            if not size:
                return
            told = self._hand_on(os.read(self._inotify_fd, size))
        for subscription in told:
            if subscription is not asking:
                subscription.on_batch()

    def _hand_on(self, buffer: bytes) -> set[Subscription]:
        told: set[Subscription] = set()
        last: Collection[Subscription] = ()
        try:
            for watch, mask, _, name in self._parse_event_buffer(buffer):
                subscriptions = self.subscriptions if mask & OVERFLOW else self._watching.get(watch, ())
                for subscription in subscriptions:
                    subscription.on_event(watch, mask, name)
                if subscriptions is not last:
                    told.update(subscriptions)
                    last = subscriptions
                if mask & WATCH_LOST:
                    self._forget(watch, subscriptions)
        except Exception:
            # The events are gone, and nobody knows for which subscription they were.
            logger.exception("events were lost")
            for subscription in self.subscriptions:
                subscription.on_event(WatchDescriptor(-1), OVERFLOW, b"")
            told.update(self.subscriptions)
        return told

    def _forget(self, watch: WatchDescriptor, subscriptions: Collection[Subscription]) -> None:
        self._watching.pop(watch, None)
        for subscription in subscriptions:
            subscription.watches.discard(watch)
        if self._adding:
            self._lost.add(watch)

    def watch(
        self, subscription: Subscription, path: bytes, remember: Callable[[WatchDescriptor], object], mask: int
    ) -> None:
        with self.reading:
            self._adding += 1
        watch = inotify_add_watch(self._inotify_fd, path, mask)
        number = ctypes.get_errno() if watch < 0 else 0
        with self.reading:
            was_lost = watch in self._lost
            self._adding -= 1
            if not self._adding:
                self._lost.clear()
            if self._closed:
                number = errno.EBADF
            if number:
                raise OSError(number, os.strerror(number), path)
            subscriptions = self._watching.get(watch, ())
            if subscription not in subscriptions:
                self._watching[watch] = (*subscriptions, subscription)
                subscription.watches.add(watch)
            remember(watch)
            if was_lost:
                subscription.on_event(watch, WATCH_LOST, b"")
                self._forget(watch, (subscription,))

    def unwatch(self, subscription: Subscription, watches: Collection[WatchDescriptor]) -> None:
        """Stop watches of this subscription; those that another one shares stay."""
        with self.reading:
            if self._closed:
                return
            for watch in watches:
                left = tuple(other for other in self._watching.get(watch, ()) if other is not subscription)
                subscription.watches.discard(watch)
                if left:
                    self._watching[watch] = left
                elif self._watching.pop(watch, None) is not None:
                    inotify_rm_watch(self._inotify_fd, watch)

    def leave(self, subscription: Subscription) -> None:
        """Stop all watches of a subscription."""
        with self.reading:
            self.subscriptions.discard(subscription)
            watches = list(subscription.watches)
        for start in range(0, len(watches), UNWATCHED_AT_ONCE):
            self.unwatch(subscription, watches[start : start + UNWATCHED_AT_ONCE])
            with contextlib.suppress(OSError):  # the next reader meets the same error
                self.drain(subscription)

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
    """True if the kernel has no more watches or queues to give; false for a problem of one folder."""
    return error.errno in {errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
