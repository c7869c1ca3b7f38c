"""The journal of edits: the old bytes of each edit, so that a person, or the daemon after a crash, can take it back.

Each edit has one file, `<number>.<state>` in the folder `edits` of ctxd's state. Its first line is JSON, the fields of
JournalEntry; the old bytes of the edit's files follow, one after the other. States:

    open     about to be made, or interrupted: it is settled when the daemon starts
    done     made
    undone   made and taken back

Invariant: an entry's content never changes once its file has its name. The state is in the name, and a rename changes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import time
from dataclasses import asdict, dataclass, replace

logger = logging.getLogger(__name__)

VERSION = 1
EDITS_MAX = 1_000
BYTES_MAX = 256 << 20
DAYS_MAX = 30
_DAY_SECONDS = 24 * 3600
_STATES = ("open", "done", "undone")


@dataclass(frozen=True, slots=True)
class EditedFile:
    path: str
    """Relative to the root of the edit. Surrogates stand for bytes that are not UTF-8."""
    temporary: str
    """Name of the temporary file, in the same folder."""
    old_hash: str | None
    """SHA-256 in hex; None if the edit made the file."""
    old_bytes: int
    new_hash: str
    new_bytes: int
    is_backup: bool = False
    """True for a backup that the caller asked for: undo keeps it."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    number: int
    state: str
    time: float
    """Seconds since 1970."""
    tool: str
    root: str
    files: tuple[EditedFile, ...]
    undoes: int | None = None
    """Number of the edit that this one takes back. Such an entry exists only while it is open."""

    @property
    def name(self) -> str:
        return f"{self.number:08}.{self.state}"


class Journal:
    """Not thread-safe: the editor holds a lock."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(folder):
                if name.endswith(".new"):
                    os.unlink(os.path.join(folder, name))

    def begin(
        self, tool: str, root: str, files: list[EditedFile], old: list[bytes | None], undoes: int | None = None
    ) -> JournalEntry:
        """Record the bytes that an edit is about to replace, so that they survive a crash. Raises OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        number = 1 + max((number for number, _ in self._names()), default=0)
        entry = JournalEntry(number, "open", time.time(), tool, root, tuple(files), undoes)
        path = os.path.join(self._folder, entry.name)
        header = json.dumps({"version": VERSION, **asdict(entry)}).encode() + b"\n"
        descriptor = os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.writelines((header, *(data for data in old if data is not None)))
                file.flush()
                os.fsync(file.fileno())
            os.rename(path + ".new", path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(path + ".new")
            raise
        self._sync()
        return entry

    def mark(self, entry: JournalEntry, state: str) -> JournalEntry:
        """Rename an entry to another state. Raises OSError."""
        marked = replace(entry, state=state)
        os.rename(os.path.join(self._folder, entry.name), os.path.join(self._folder, marked.name))
        return marked

    def drop(self, entry: JournalEntry) -> None:
        """Forget an edit that was not made. Raises OSError."""
        os.unlink(os.path.join(self._folder, entry.name))

    def entries(self, *, state: str | None = None) -> list[JournalEntry]:
        """All readable entries, or those in one state; newest first."""
        names = sorted(self._names(), reverse=True)
        found = [self._read(number, own) for number, own in names if state in (None, own)]
        return [entry for entry in found if entry is not None]

    def find(self, number: int) -> JournalEntry | None:
        return next((self._read(*name) for name in self._names() if name[0] == number), None)

    def old(self, entry: JournalEntry) -> list[bytes | None]:
        """The bytes of an edit's files before it. Raises OSError, and ValueError for a damaged entry."""
        with open(os.path.join(self._folder, entry.name), "rb") as file:
            file.readline()
            found = [None if one.old_hash is None else file.read(one.old_bytes) for one in entry.files]
        for one, data in zip(entry.files, found, strict=True):
            if data is not None and hashlib.sha256(data).hexdigest() != one.old_hash:
                raise ValueError(f"entry {entry.number} of the journal is damaged")
        return found

    def prune(self) -> None:
        """Delete the oldest edits beyond the limits, but never the last one and never an open one."""
        kept_bytes = kept = 0
        oldest = time.time() - DAYS_MAX * _DAY_SECONDS
        for number, state in sorted(self._names(), reverse=True):
            path = os.path.join(self._folder, f"{number:08}.{state}")
            with contextlib.suppress(OSError):
                status = os.stat(path)
                kept += 1
                kept_bytes += status.st_size
                is_old = kept > EDITS_MAX or kept_bytes > BYTES_MAX or status.st_mtime < oldest
                if kept > 1 and is_old and state != "open":
                    os.unlink(path)

    def _names(self) -> list[tuple[int, str]]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        parts = [name.partition(".") for name in names]
        return [(int(number), state) for number, _, state in parts if number.isdecimal() and state in _STATES]

    def _read(self, number: int, state: str) -> JournalEntry | None:
        path = os.path.join(self._folder, f"{number:08}.{state}")
        try:
            with open(path, "rb") as file:
                fields = json.loads(file.readline())
            if fields.pop("version") != VERSION:
                return None
            files = tuple(EditedFile(**one) for one in fields.pop("files"))
            return JournalEntry(**{**fields, "state": state, "files": files})
        except (OSError, ValueError, TypeError, KeyError) as error:
            logger.warning("%s cannot be read: %s", path, error)
            return None

    def _sync(self) -> None:
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
