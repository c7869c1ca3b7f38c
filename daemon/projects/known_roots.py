"""The list of registered roots on disk, `projects.json`: it remembers every `ctxd add` across crashes.

Invariant: a root leaves the file only when `discard` names it. The file is read before it is first written, replaced as a whole,
and on the disk when `save` returns. An unreadable file is moved aside, never overwritten.
"""

from __future__ import annotations

import glob
import json
import logging
import os
import threading
import time

logger = logging.getLogger(__name__)

_ASIDE = ".unreadable-"


class KnownRoots:
    """Thread-safe. `save` takes as long as the disk does: call it without the registry's lock."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: str | None = None
        """Why the file on disk differs from the known roots."""
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        """Held while the file is written. Taken before `_lock`."""
        self._changes = self._saved = 0
        self._in_the_way = False
        """True if the file can be neither read nor moved aside."""
        self._roots = self._read()

    @property
    def aside(self) -> list[str]:
        """Unreadable files that were moved aside and wait for somebody to look at them."""
        return sorted(glob.glob(glob.escape(self.path) + _ASIDE + "*"))

    def __contains__(self, root: bytes) -> bool:
        with self._lock:
            return root in self._roots

    def all(self) -> set[bytes]:
        with self._lock:
            return set(self._roots)

    def add(self, root: bytes) -> None:
        with self._lock:
            if root not in self._roots:
                self._roots.add(root)
                self._changes += 1

    def discard(self, root: bytes) -> bool:
        """Forget a root. True if it was known."""
        with self._lock:
            if root not in self._roots:
                return False
            self._roots.discard(root)
            self._changes += 1
            return True

    def save(self) -> None:
        """Write the roots. On return, all that were known before the call are on the disk, or `problem` says why not."""
        with self._saving:
            with self._lock:
                changes, roots = self._changes, sorted(map(os.fsdecode, self._roots))
            if changes == self._saved or self._in_the_way:  # another call has written them, or nobody may write
                return
            try:
                self._replace(json.dumps(roots, indent=1))
            except OSError as error:
                problem = (
                    f"{self.path} cannot be written ({error}): what was added or removed is forgotten when the daemon ends. "
                    "Free some disk space, or make its folder writable; it is tried again every second"
                )
                if problem != self.problem:
                    logger.warning("%s", problem)
                self.problem = problem
            else:
                self._saved, self.problem = changes, None

    def _replace(self, text: str) -> None:
        temporary = self.path + ".new"
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)
        folder = os.open(os.path.dirname(self.path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def _read(self) -> set[bytes]:
        try:
            with open(self.path, encoding="utf-8") as file:
                roots = json.load(file)
            if not isinstance(roots, list) or not all(isinstance(root, str) for root in roots):
                raise ValueError("it is no list of folders")
            return set(map(os.fsencode, roots))
        except FileNotFoundError:
            return set()
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("%s cannot be read: %s", self.path, error)
            try:
                os.replace(self.path, f"{self.path}{_ASIDE}{time.strftime('%Y%m%d-%H%M%S')}")
            except OSError as moving:
                self._in_the_way = True
                self.problem = (
                    f"{self.path} can neither be read ({error}) nor moved aside ({moving}): what is added is forgotten when the daemon "
                    "ends. Move it, then run `ctxd restart`"
                )
            return set()
