"""Makes edits, the only changes to files of a project: an edit is made as a whole or not at all, even if the daemon crashes.

How an edit is made, under one lock:

    1. Folders are opened without following links. Files are checked: regular, writable, with the bytes the edit was made from.
    2. The journal gets an `open` entry, flushed: the files' bytes, hashes of their new bytes, names of the temporary files.
    3. Each temporary file is written beside its file, gets its owner, mode, ACL and extended attributes, is flushed, read back.
    4. The files are compared once more with the bytes the edit was made from. Then the temporary files are renamed over them.
    5. The folders are flushed, and the entry becomes `done`.

After a failure before the first rename, the temporary files and the entry are removed; after a failure between two renames, the
edit is rolled back. After a crash, the daemon settles the edit at its next start: if all files are new, the edit is made; else
the new ones get their old bytes back. A file that somebody else has written to since stays as it is.

Invariant: at any moment each file is wholly old or wholly new, and a file is replaced only if it holds the bytes that the edit
was made from. A program that does not ask ctxd can still write in the microseconds between comparing and renaming.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ctxd.daemon.edits.journal import EditedFile, Journal, JournalEntry
from ctxd.daemon.edits.replacement import (
    BACKUP_SUFFIX,
    EDIT_BYTES_MAX,
    FileChange,
    FileChanged,
    Replacement,
    read_to_edit,
    temporary_name,
    too_large,
)
from ctxd.daemon.errors import ToolError
from ctxd.indexer.decode import Unreadable, open_folder, read_at

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)

LOCK_SECONDS = 5.0  # to wait for the edit before this one


class UnsettledError(ToolError):
    """Some files of an edit are new and cannot get their old bytes back now; its entry stays open."""


class Editor:
    """Makes the edits of all projects, one after the other. Thread-safe."""

    def __init__(self, folder: str) -> None:
        """`folder` holds the journal. Edits that a crash interrupted are settled first."""
        self._journal = Journal(folder)
        self._lock = threading.Lock()
        self._is_closed = False
        for entry in self._journal.entries(state="open"):
            try:
                self._settle(entry)
            except (OSError, ValueError, ToolError, FileChanged, Unreadable) as error:
                # For example, a disk is full or not mounted: the entry stays for the next start.
                logger.warning("edit %d in %s is not settled: %s", entry.number, entry.root, error)

    def close(self) -> None:
        """Wait for a running edit; no other edit begins after it."""
        with self._lock:
            self._is_closed = True

    def entries(self) -> list[JournalEntry]:
        """The journal, the newest first."""
        with self._lock:
            return self._journal.entries()

    def commit(
        self,
        tool: str,
        root: bytes,
        changes: Sequence[FileChange],
        *,
        stop: Callable[[], bool] = lambda: False,
        undoes: JournalEntry | None = None,
    ) -> JournalEntry:
        """Make all changes or none. Raises FileChanged, and ToolError for everything else that prevents the edit.

        `stop` is called for the last time before the first file is replaced.
        """
        size = sum(max(len(change.old or b""), len(change.new)) for change in changes)
        if size > EDIT_BYTES_MAX:
            raise too_large(f"the files of this edit have {size:,} bytes")
        if len({change.path for change in changes}) < len(changes):
            raise ToolError(
                "the backup of one file is another file of this edit", "Nothing was changed; leave backup out"
            )
        if not self._lock.acquire(timeout=LOCK_SECONDS):
            raise ToolError("another edit is still running", "Nothing was changed; call again", name="TimeoutError")
        try:
            if self._is_closed:
                raise ToolError("the daemon is ending", "Nothing was changed; call again", name="RuntimeError")
            entry = self._commit(tool, root, changes, stop, undoes)
            with contextlib.suppress(OSError):  # the edit is made even if old entries cannot be pruned
                self._journal.prune()
            return entry
        finally:
            self._lock.release()

    def undo(self, number: int) -> JournalEntry:
        """Take back an edit: all of its files get their old bytes, or none does. Raises ToolError."""
        with self._lock:
            entry = self._journal.find(number)
            if entry is None:
                raise ToolError(f"there is no edit {number}", "`ctxd edits` lists them")
            if entry.state != "done":
                raise ToolError(f"edit {number} was taken back already", "`ctxd edits` lists those that were not")
            try:
                old = self._journal.old(entry)
            except (OSError, ValueError) as error:
                raise ToolError(f"the journal cannot be read: {error}", "Nothing was changed") from None
        root = os.fsencode(entry.root)
        changes = []
        for file, before in zip(entry.files, old, strict=True):
            if before is None or file.is_backup:
                continue
            path = os.fsencode(file.path)
            now, _ = read_to_edit(root, path)
            if _hex(now) != file.new_hash:
                raise _written_since(entry, path)
            changes.append(FileChange(path, now, before))
        try:
            self.commit("undo", root, changes, undoes=entry)
        except FileChanged as error:
            raise _written_since(entry, error.path) from None
        return entry

    def _commit(
        self,
        tool: str,
        root: bytes,
        changes: Sequence[FileChange],
        stop: Callable[[], bool],
        undoes: JournalEntry | None,
    ) -> JournalEntry:
        with contextlib.ExitStack() as stack:
            replacements: list[Replacement] = []
            for change in changes:
                replacements.append(Replacement(root, change, temporary_name()))
                stack.callback(replacements[-1].close)
            entry = self._begin(tool, root, replacements, undoes)
            try:
                _replace(root, replacements, stop)
            except UnsettledError:
                raise
            except BaseException:
                for replacement in replacements:
                    replacement.discard()  # before the entry, which names the temporary files
                with contextlib.suppress(OSError):  # on failure the next start finds that nothing was changed
                    self._journal.drop(entry)
                raise
            for replacement in replacements:
                replacement.flush_folder()
        return self._finished(entry)

    def _begin(
        self, tool: str, root: bytes, replacements: list[Replacement], undoes: JournalEntry | None
    ) -> JournalEntry:
        files, old = [], []
        for one in replacements:
            change = one.change
            old.append(change.old)
            files.append(
                EditedFile(
                    path=os.fsdecode(change.path),
                    temporary=os.fsdecode(one.temporary),
                    old_hash=None if change.old is None else _hex(change.old),
                    old_bytes=len(change.old or b""),
                    new_hash=_hex(change.new),
                    new_bytes=len(change.new),
                    is_backup=change.is_backup,
                )
            )
        try:
            number = undoes.number if undoes is not None else None
            return self._journal.begin(tool, os.fsdecode(root), files, old, number)
        except OSError as error:
            raise ToolError(
                f"the journal of edits cannot be written: {error.strerror}",
                "Nothing was changed; free some space where ctxd keeps its state, then call again",
                name="OSError",
            ) from None

    def _finished(self, entry: JournalEntry) -> JournalEntry:
        """Mark an edit as made."""
        try:
            if entry.undoes is None:
                return self._journal.mark(entry, "done")
            undone = self._journal.find(entry.undoes)
            if undone is not None and undone.state == "done":
                self._journal.mark(undone, "undone")
            self._journal.drop(entry)
        except OSError:  # the files are right; the next start finds that and marks the entry
            logger.exception("edit %d is made, but the journal cannot record it", entry.number)
        return entry

    def _settle(self, entry: JournalEntry) -> None:
        """Bring the files that a crash has left into one state, all old or all new. Raises whatever prevents that."""
        root = os.fsencode(entry.root)
        if not os.path.isdir(root):
            raise ToolError("its folder is not there")
        found = [_found(root, file) for file in entry.files]
        states = {state for state, _ in found}
        if states >= {"old", "new"}:
            for file, before, (state, now) in zip(entry.files, self._journal.old(entry), found, strict=True):
                if state == "new":
                    _put_back(root, FileChange(os.fsencode(file.path), before, now), os.fsencode(file.temporary))
        if "new" in states and "old" not in states:
            logger.info("edit %d in %s was made when the daemon ended", entry.number, entry.root)
            self._finished(entry)
        else:
            logger.info("edit %d in %s was interrupted: nothing is changed", entry.number, entry.root)
            self._journal.drop(entry)


def listed(editor: Editor, path: str | None) -> list[dict[str, Any]]:
    """The edits that `ctxd edits` shows, newest first: those that touch a file or folder, or all for None.

    An edit: `{id, time, tool, state, root, files: [{path, backup, bytesBefore, bytesAfter}]}`; the time in ISO 8601, paths
    relative to the root, `bytesBefore` null for a file that the edit made.
    """
    top = os.path.realpath(os.path.expanduser(path)) if path is not None else "/"
    return [
        {
            "id": entry.number,
            "time": datetime.fromtimestamp(entry.time).astimezone().isoformat(timespec="seconds"),
            "tool": entry.tool,
            "state": entry.state,
            "root": entry.root,
            "files": [
                {
                    "path": file.path,
                    "backup": file.is_backup,
                    "bytesBefore": file.old_bytes if file.old_hash is not None else None,
                    "bytesAfter": file.new_bytes,
                }
                for file in entry.files
            ],
        }
        for entry in editor.entries()
        if any(f"{entry.root}/{file.path}/".startswith(f"{top.rstrip('/')}/") for file in entry.files)
    ]


def hash_of(data: bytes) -> str:
    """The hash of a text, in the form that tools show and accept."""
    return "sha256:" + _hex(data)


def backup_of(root: bytes, change: FileChange) -> FileChange | None:
    """The change that copies a file's old bytes into a backup beside it; None if the backup has them already. Raises ToolError."""
    assert change.old is not None
    path = change.path + BACKUP_SUFFIX
    before = read_to_edit(root, path)[0] if os.path.lexists(os.path.join(root, path)) else None
    return None if before == change.old else FileChange(path, before, change.old, is_backup=True)


def _replace(root: bytes, replacements: list[Replacement], stop: Callable[[], bool]) -> None:
    """Replace all files or none. Raises FileChanged, ToolError."""
    replaced: list[Replacement] = []
    try:
        for one in replacements:
            one.prepare()
        if stop():
            raise ToolError("the edit took too long or was cancelled", "Nothing was changed", name="TimeoutError")
        for one in replacements:
            one.compare()
        for one in replacements:
            one.replace()
            replaced.append(one)
    except BaseException as error:
        try:
            for one in replaced:
                _put_back(root, one.change, one.temporary)
        except (ToolError, FileChanged) as second:
            logger.exception("some files of an edit cannot be put back")
            raise UnsettledError(
                f"{_said(error)}; some of the files are replaced and cannot be put back: {_said(second)}",
                "`ctxd restart` tries again",
                name="OSError",
            ) from error
        raise


def _put_back(root: bytes, change: FileChange, temporary: bytes) -> None:
    """Give one file its old bytes back. Raises FileChanged, ToolError."""
    replacement = Replacement(root, FileChange(change.path, change.new, change.old or b""), temporary)
    try:
        if change.old is None:
            replacement.compare()
            replacement.remove()
        else:
            replacement.prepare()
            replacement.compare()
            replacement.replace()
        replacement.flush_folder()
    finally:
        replacement.close()


def _found(root: bytes, file: EditedFile) -> tuple[str, bytes]:
    """State after a crash ("old", "new" or "other") and bytes of a file; removes its temporary file. Raises OSError."""
    path = os.fsencode(file.path)
    try:
        folder = open_folder(root, os.path.dirname(path))
    except Unreadable:
        return "other", b""
    try:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.fsencode(file.temporary), dir_fd=folder)
        data, _ = read_at(folder, os.path.basename(path))
    except Unreadable as error:
        return "old" if file.old_hash is None and error.reason == "missing" else "other", b""
    finally:
        os.close(folder)
    found = _hex(data)
    return "new" if found == file.new_hash else "old" if found == file.old_hash else "other", data


def _said(error: BaseException) -> str:
    """The error's message without its hint, which would say that nothing was changed."""
    return error.message if isinstance(error, ToolError) else str(error)


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _written_since(entry: JournalEntry, path: bytes) -> ToolError:
    return ToolError(
        f"{os.fsdecode(path)!r} has been written to since edit {entry.number}, and taking that back would lose it",
        "Nothing was changed; take back later edits of it first, or change it by hand",
    )
