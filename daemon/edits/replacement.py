"""Replaces one file: a temporary file beside it, equal in everything except its bytes, is renamed over it.

Invariant: only temporary files are written to, and a failure leaves the original file as it was.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from dataclasses import dataclass

from ctxd.daemon.errors import ToolError
from ctxd.indexer.decode import Unreadable, open_folder, read_at
from ctxd.indexer.files.walker import TEMPORARY_PREFIX, TEMPORARY_SUFFIX

EDIT_BYTES_MAX = 64 << 20  # of all files of one edit together: memory and the journal hold all of them
BACKUP_SUFFIX = b".bak"
_ACL = "system.posix_acl_access"
_SAME_FILE = ("st_dev", "st_ino", "st_mode", "st_uid", "st_gid")
_NOTHING = "Nothing was changed"


class FileChanged(Exception):  # noqa: N818  # a state of a file, not a fault of ours
    """A file no longer holds the bytes that an edit was made from. `path` is relative to the root."""

    def __init__(self, path: bytes) -> None:
        super().__init__(f"{os.fsdecode(path)!r} was written to meanwhile")
        self.path = path


@dataclass(frozen=True, slots=True)
class FileChange:
    """The path is relative to the root, without symbolic links."""

    path: bytes
    old: bytes | None
    """None if the file does not exist yet."""
    new: bytes
    is_backup: bool = False


def read_to_edit(root: bytes, path: bytes) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file of at most EDIT_BYTES_MAX. Raises ToolError."""
    shown = os.fsdecode(path)
    try:
        folder = open_folder(root, os.path.dirname(path))
    except Unreadable as error:
        raise _unreadable(shown, error) from None
    try:
        with contextlib.suppress(OSError):
            status = os.stat(os.path.basename(path), dir_fd=folder, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode) and status.st_size > EDIT_BYTES_MAX:
                raise too_large(f"{shown!r} has {status.st_size:,} bytes")
        return read_at(folder, os.path.basename(path))
    except Unreadable as error:
        raise _unreadable(shown, error) from None
    finally:
        os.close(folder)


def temporary_name() -> bytes:
    return TEMPORARY_PREFIX + secrets.token_hex(8).encode() + TEMPORARY_SUFFIX


class Replacement:
    """Call `prepare`, `compare`, `replace` in this order, and `close` at the end."""

    def __init__(self, root: bytes, change: FileChange, temporary: bytes) -> None:
        """Open the folder and check the file. `temporary` is a name without a folder. Raises FileChanged, ToolError."""
        self.change = change
        self.temporary = temporary
        self._name = os.path.basename(change.path)
        self._shown = os.fsdecode(change.path)
        self._has_temporary = False
        try:
            self._folder = open_folder(root, os.path.dirname(change.path))
        except Unreadable as error:
            raise _unreadable(self._shown, error) from None
        try:
            self._status = self._compared()
            self._check_writable()
        except BaseException:
            os.close(self._folder)
            raise

    def prepare(self) -> None:
        """Write and flush the temporary file. Raises ToolError."""
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self.temporary, flags, 0o600, dir_fd=self._folder)
            self._has_temporary = True
            try:
                _write(descriptor, self.change.new)
                self._make_alike(descriptor)
                os.fsync(descriptor)
                if not _holds(descriptor, self.change.new):
                    raise OSError(errno.EIO, "what was written is not what is read back")
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self._refused(error) from None

    def compare(self) -> None:
        """Raise FileChanged if the file is no longer the one that was checked, or holds other bytes."""
        before, now = self._status, self._compared()
        if any(getattr(before, field, None) != getattr(now, field, None) for field in _SAME_FILE):
            raise FileChanged(self.change.path)

    def replace(self) -> None:
        """Rename the temporary file over the file. Raises ToolError."""
        try:
            os.rename(self.temporary, self._name, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        except OSError as error:
            raise self._refused(error) from None
        self._has_temporary = False

    def remove(self) -> None:
        """Remove the file. Raises ToolError."""
        try:
            os.unlink(self._name, dir_fd=self._folder)
        except OSError as error:
            raise self._refused(error) from None

    def flush_folder(self) -> None:
        """Flush the folder, so that the rename survives a power failure."""
        with contextlib.suppress(OSError):  # some file systems cannot do this
            descriptor = os.open(b".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def discard(self) -> None:
        """Remove the temporary file, unless it was renamed over the file."""
        if self._has_temporary:
            with contextlib.suppress(OSError):
                os.unlink(self.temporary, dir_fd=self._folder)
            self._has_temporary = False

    def close(self) -> None:
        self.discard()
        os.close(self._folder)

    def _compared(self) -> os.stat_result | None:
        """Check the file's bytes and return its status; None if the edit creates it. Raises FileChanged, ToolError."""
        try:
            data, status = read_at(self._folder, self._name)
        except Unreadable as error:
            if error.reason == "missing" and self.change.old is None:
                return None
            if error.reason == "missing" or self.change.old is None:
                raise FileChanged(self.change.path) from None
            raise _unreadable(self._shown, error) from None
        if data != self.change.old:
            raise FileChanged(self.change.path)
        return status

    def _check_writable(self) -> None:
        # No mode stops root, but a file without any write bit is not meant to be written.
        status = self._status
        if status is None or (status.st_mode & 0o222 and os.access(self._name, os.W_OK, dir_fd=self._folder)):
            return
        raise ToolError(
            f"{self._shown!r} is read-only (mode {stat.S_IMODE(status.st_mode):04o})",
            f"{_NOTHING}; make it writable, then call again",
            name="PermissionError",
        )

    def _make_alike(self, descriptor: int) -> None:
        """Copy owner, mode, ACL and extended attributes of the file; a backup gets its original's. Raises OSError, ToolError."""
        name = self._name.removesuffix(BACKUP_SUFFIX) if self.change.is_backup else self._name
        if self._status is None and not self.change.is_backup:
            return
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        model = os.open(name, flags, dir_fd=self._folder)
        try:
            wanted, attributes = os.fstat(model), _attributes(model)
        finally:
            os.close(model)
        try:
            if (wanted.st_uid, wanted.st_gid) != _owner(descriptor):
                os.fchown(descriptor, wanted.st_uid, wanted.st_gid)
            have = _attributes(descriptor)
            if _ACL in have and _ACL not in attributes:  # the folder's default ACL, which the old file does not have
                os.removexattr(descriptor, _ACL)
            for attribute, value in attributes.items():
                if have.get(attribute) != value:
                    os.setxattr(descriptor, attribute, value)
            os.fchmod(descriptor, stat.S_IMODE(wanted.st_mode))
        except OSError as error:
            raise ToolError(
                f"{self._shown!r} would lose its owner, ACL or extended attributes: {error.strerror}",
                f"{_NOTHING}; its owner can edit it",
                name="PermissionError",
            ) from None

    def _refused(self, error: OSError) -> ToolError:
        hint = "make its folder writable"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO):
            hint = "free some space on its disk"
        return ToolError(
            f"{self._shown!r} cannot be replaced: {error.strerror}",
            f"{_NOTHING}; {hint}, then call again",
            name="PermissionError" if isinstance(error, PermissionError) else "OSError",
        )


def _write(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _holds(descriptor: int, data: bytes) -> bool:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read() == data


def _owner(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_uid, status.st_gid


def _attributes(descriptor: int) -> dict[str, bytes]:
    """Extended attributes, with the ACL. Raises OSError."""
    if not hasattr(os, "listxattr"):  # Python has none on macOS
        return {}
    try:
        names = os.listxattr(descriptor)
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return {}
        raise
    return {name: os.getxattr(descriptor, name) for name in names}


def too_large(what: str) -> ToolError:
    return ToolError(f"{what}; an edit takes at most {EDIT_BYTES_MAX:,}", f"{_NOTHING}; use another program")


def _unreadable(shown: str, error: Unreadable) -> ToolError:
    match error.reason:
        case "missing":
            return ToolError(f"there is no file {shown!r}", "Was it removed just now?", name="FileNotFoundError")
        case "not_a_file":
            return ToolError(f"{shown!r} is not a regular file", "Name a text file")
    return ToolError(f"{shown!r} cannot be read", "Look at its permissions", name="PermissionError")
