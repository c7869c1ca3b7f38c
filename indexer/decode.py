"""Turns the bytes of a file into its *canonical text*, the one form in which ctxd searches, parses and counts lines.

Canonical text is valid UTF-8 without a BOM, in which every "\r\n" has become "\n"; a lone "\r" is text. A file is binary
if it holds a NUL after BOM decoding. Invariant: every reader of file contents goes through this module, so that all
tools agree.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

PLAIN = "plain"
"""The bytes are the canonical text (UTF-8, no BOM, no carriage return): other programs may search them as they are."""
DECODED = "decoded"
"""Text whose canonical form differs from its bytes."""
BINARY = "binary"

_READ_BYTES_MAX = 1 << 30  # read(2) returns at most 2 GiB - 4 KiB at once
_READ_BYTES_FIRST = 1 << 20  # tells a disk image from text: reading one of 2.5 GB took 49 s and 2.5 GB of memory
_READ_BYTES_MORE = 1 << 20  # the step for bytes that were written after the size was asked
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
HASH_BYTES = 16  # of SHA-256: a key for derived rows that can always be rebuilt

_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(data: bytes) -> tuple[str, bytes | None]:
    """Return `(form, canonical text)`; the text is None if the form is BINARY."""
    source = as_utf8(data)
    if source is None:
        return BINARY, None
    text = source.text
    if b"\r" in text:
        return DECODED, canonical(text)
    return (PLAIN if text is data else DECODED), text


class Source(NamedTuple):
    """The text of a file. The file's bytes are `bom`, followed by `text` in `encoding`."""

    text: bytes
    """UTF-8, line endings as they are. U+FFFD stands for bytes that are invalid in the encoding."""
    encoding: str
    """"utf-8", "utf-16-le", "utf-16-be" or "latin-1"."""
    bom: bytes = b""


def as_utf8(data: bytes) -> Source | None:
    """The text of a file; None if it is binary.

    Encodings, in order: UTF-8 (with or without BOM), UTF-16 with BOM, else Latin-1.
    """
    for bom, encoding in _BOMS:
        if data.startswith(bom):
            text = data[len(bom) :].decode(encoding, "replace").encode("utf-8", "replace")
            return None if b"\0" in text else Source(text, encoding, bom)
    if b"\0" in data:
        return None
    if data.isascii():
        return Source(data, "utf-8")
    text = data.removeprefix(codecs.BOM_UTF8)
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return Source(data.decode("latin-1").encode("utf-8"), "latin-1")
    return Source(text, "utf-8", data[: len(data) - len(text)])


def canonical(text: bytes) -> bytes:
    """UTF-8 with the line endings of canonical text."""
    return text.replace(b"\r\n", b"\n")


def line_count(text: bytes) -> int:
    """The number of lines of canonical text. Text after the last newline counts as a line."""
    return text.count(b"\n") + (not text.endswith(b"\n") and bool(text))


def text_pieces(text: bytes, bytes_max: int) -> Iterator[bytes]:
    """Cut canonical text into line-aligned pieces of at most `bytes_max`; a longer line stays whole."""
    start, size = 0, len(text)
    while size - start > bytes_max:
        cut = text.rfind(b"\n", start, start + bytes_max) + 1
        if cut <= start:
            cut = text.find(b"\n", start) + 1 or size
        yield text[start:cut]
        start = cut
    if start < size:
        yield text[start:] if start else text


def content_hash(data: bytes) -> bytes:
    """The key of a content: the first 16 bytes of the SHA-256 of the raw bytes."""
    return hashlib.sha256(data).digest()[:HASH_BYTES]


@dataclass(frozen=True, slots=True)
class Unreadable(Exception):  # noqa: N818  # a state of a file, not a fault of ours
    """A file that cannot be read as expected; `reason` is "missing", "not_a_file", "unreadable" or "other_bytes"."""

    reason: str


def read_regular(path: bytes) -> tuple[bytes, os.stat_result]:
    """The bytes of a regular file, and its status after reading.

    Never follows a final symbolic link, never blocks on a FIFO or device. Reads only the beginning of a large binary
    file, which is enough to see that it is binary. Raises Unreadable.
    """
    return _read(_open(path))


def text_of_content(path: bytes, key: bytes) -> bytes | None:
    """The canonical text of a regular file; None if it is binary. Raises Unreadable, also if its key is another one."""
    data, _ = read_regular(path)
    if content_hash(data) != key:
        raise Unreadable("other_bytes")
    return decode(data)[1]


def read_inside(root: bytes, path: bytes) -> tuple[bytes, os.stat_result]:
    """As `read_regular`, for a file of a project. Follows no link on the way either: a folder may have become one.

    Raises Unreadable.
    """
    return _read(open_inside(root, path))


def open_inside(root: bytes, path: bytes) -> int:
    """A descriptor of the entry at a path of a project. Follows no link, never waits. Raises Unreadable."""
    absolute = root + b"/" + path
    descriptor = _open(absolute)
    if not _is_at(descriptor, absolute):  # it was replaced just now, or a link led elsewhere
        os.close(descriptor)
        descriptor = _open_step_by_step(root, path)
    return descriptor


def _open(path: bytes, folder: int | None = None) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except (FileNotFoundError, NotADirectoryError):
        raise Unreadable("missing") from None
    except OSError:  # a symbolic link, a socket, no permission
        raise Unreadable("unreadable") from None


def _is_at(descriptor: int, path: bytes) -> bool:
    """True if an open file lies at `path`, no link on the way. Linux only; costs a third of `_open_step_by_step`."""
    try:
        return os.readlink(b"/proc/self/fd/%d" % descriptor) == path
    except OSError:
        return False


def _open_step_by_step(root: bytes, path: bytes) -> int:
    folder, _, name = path.rpartition(b"/")
    descriptor = open_folder(root, folder)
    try:
        return _open(name, descriptor)
    finally:
        os.close(descriptor)


def open_folder(root: bytes, path: bytes) -> int:
    """A descriptor of a folder of a project, only to open files in it. Follows no link. Raises Unreadable."""
    try:
        current = os.open(root, _FOLDER_FLAGS)
    except OSError:
        raise Unreadable("missing") from None
    for folder in path.split(b"/") if path else ():
        try:
            below = os.open(folder, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=current)
        except OSError:  # gone, or a link by now: an event will report it
            raise Unreadable("missing") from None
        finally:
            os.close(current)
        current = below
    return current


def read_at(folder: int, name: bytes) -> tuple[bytes, os.stat_result]:
    """As `read_regular`, for a file in an open folder. Raises Unreadable."""
    return _read(_open(name, folder))


def _read(descriptor: int) -> tuple[bytes, os.stat_result]:
    """Read and close."""
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable("not_a_file")
        parts = []
        # Ask for one byte more than the size: this shows that a file has grown, and it is read to its end.
        wanted = min(status.st_size + 1, _READ_BYTES_FIRST)
        while chunk := os.read(descriptor, wanted):
            parts.append(chunk)
            if len(chunk) < wanted or (len(parts) == 1 and _is_binary_from(chunk)):
                break
            wanted = min(max(status.st_size - _READ_BYTES_FIRST + 1, _READ_BYTES_MORE), _READ_BYTES_MAX)
        return parts[0] if len(parts) == 1 else b"".join(parts), os.fstat(descriptor)
    except OSError:
        raise Unreadable("unreadable") from None
    finally:
        os.close(descriptor)


def _is_binary_from(beginning: bytes) -> bool:
    """True if a file with this beginning is binary, whatever follows."""
    return b"\0" in beginning and not any(beginning.startswith(bom) for bom, _ in _BOMS)
