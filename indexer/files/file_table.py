"""The files of one project in memory, as they are on disk now, as far as the watcher has reported.

Invariant: a `File` whose `content` is None has bytes that no index row describes yet; every answer must read it.
Everything here is a copy of the disk; the database only remembers it from one daemon to the next.
Call all methods under the project's lock.
"""

from __future__ import annotations

import bisect
import contextlib
from typing import TYPE_CHECKING

from ctxd.indexer.decode import BINARY
from ctxd.indexer.files.path_order import PathOrder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import RLock

    from ctxd.indexer.files.path_order import Shelf


TO_DERIVE = frozenset({"pending", "outdated"})
"""The states of a content's symbols or chunks in which they must be derived."""


class Content:
    """One distinct sequence of bytes, shared by all files that hold it; the trigram index covers it."""

    __slots__ = ("chunks", "embedded", "files", "form", "hash", "id", "lines", "symbols")

    def __init__(self, id_: int, hash_: bytes, form: str, symbols: str, lines: int = 0, chunks: str = "none") -> None:
        self.id = id_
        self.hash = hash_
        self.form = form
        """decode.PLAIN, DECODED or BINARY."""
        self.symbols = symbols
        """"pending", "outdated" (of an older revision; its rows answer until new ones exist), "parsed", "none" (not a
        language of ours), "too_large" or "failed"."""
        self.lines = lines
        """The lines of its text; 0 if it is binary."""
        self.chunks = chunks
        """"pending", "outdated" (as above), "chunked", "none" (not for semantic search), "too_large" or "failed"."""
        self.embedded = False
        """True if it has vectors of the model that is wanted beside the built-in one, or never will."""
        self.files: list[File] = []


class File:
    """One path of the project. `stamp` identifies the state of the inode last seen (see `walker.stamp_of`)."""

    __slots__ = ("content", "inode", "path", "plain_version", "size", "stamp", "version")

    def __init__(self, path: bytes, size: int, stamp: int) -> None:
        self.path = path
        self.size = size
        self.stamp = stamp
        self.inode = 0
        """0 if nobody has looked at the file since the daemon started."""
        self.content: Content | None = None
        self.version = 0
        """Grows whenever the bytes may have changed. A reader notes it before reading and compares it afterwards."""
        self.plain_version = -1
        """The version at which a quick look found the bytes plain (decode.PLAIN), before the content is known."""

    @property
    def is_binary(self) -> bool:
        """True if the file is known to be binary. A file without content may still turn out to be."""
        content = self.content
        return content is not None and content.form == BINARY


def is_hidden(path: bytes) -> bool:
    """True if any component of a relative path starts with a dot."""
    return path.startswith(b".") or b"/." in path


def extension_of(path: bytes) -> bytes:
    """The lower-cased extension with its dot, `b""` without one; a leading dot starts a name, not an extension."""
    name = path[path.rfind(b"/") + 1 :]
    dot = name.rfind(b".")
    return name[dot:].lower() if dot > 0 else b""


class FileTable:
    """Files by path, in byte order on demand, with the set of those not indexed yet."""

    def __init__(self) -> None:
        self.files: dict[bytes, File] = {}
        self.contents: dict[int, Content] = {}
        self.without_content: set[File] = set()
        """Files to read: no current text row holds their bytes. None has a content, except those from `outdated`."""
        self.removed: set[bytes] = set()
        """Paths that are gone, but not yet deleted from the database."""
        self.linked: set[bytes] = set()
        """Paths of files with other names (hard links): a write through another name causes no event in this folder."""
        self.generation = 0
        """Grows with every change of the set of paths, or of which of them are binary."""
        self._noting: list[set[File]] = []
        self._order = PathOrder()

    def __len__(self) -> int:
        return len(self.files)

    @contextlib.contextmanager
    def noting_changes(self, lock: RLock) -> Iterator[set[File]]:
        """The files not indexed yet, and those whose content changes in the `with` block; `lock` is the project's.

        The caller reads rows without the lock. A file that is written meanwhile, even with the same bytes, loses its
        content or gets another one. So the rows of its old content no longer lead to it, and the caller must read it.
        """
        with lock:
            noted = set(self.without_content)
            self._noting.append(noted)
        try:
            yield noted
        finally:
            with lock:
                self._noting = [other for other in self._noting if other is not noted]

    def put(
        self, path: bytes, size: int, stamp: int, *, touched: bool = False, inode: int = 0, has_links: bool = False
    ) -> File:
        """Record a file as it is on disk. A changed stamp drops its content.

        So does `touched` (an event named the file): two writes in one tick of the kernel's clock leave the same stamp.
        """
        file = self.files.get(path)
        if file is None:
            file = self.files[path] = File(path, size, stamp)
            self.removed.discard(path)
            self._path_changed(path)
            self.set_content(file, None)
        elif touched or file.stamp != stamp:
            file.size, file.stamp = size, stamp
            file.version += 1
            self.set_content(file, None)
        file.inode = inode
        if has_links:
            self.linked.add(path)
        elif self.linked:
            self.linked.discard(path)
        return file

    def remove(self, path: bytes) -> File | None:
        file = self.files.pop(path, None)
        if file is not None:
            self.set_content(file, None)
            self.without_content.discard(file)
            self.removed.add(path)
            self.linked.discard(path)
            self._path_changed(path)
        return file

    def set_content(self, file: File, content: Content | None) -> None:
        """Point a file at its content. Forget a content that no file holds any more (the database keeps it a while)."""
        old = file.content
        if content is not None and old is content:  # it was read again because its text rows were outdated
            self.without_content.discard(file)
            return
        for noted in self._noting:
            noted.add(file)
        if (old is not None and old.form == BINARY) != (content is not None and content.form == BINARY):
            self.generation += 1
        if old is content:
            self.without_content.add(file)
            return
        if old is not None:
            old.files.remove(file)
            if not old.files:
                self.contents.pop(old.id, None)
        file.content = content
        if content is None:
            self.without_content.add(file)
        else:
            self.without_content.discard(file)
            content.files.append(file)
            self.contents[content.id] = content

    def forget_contents(self) -> None:
        """Call when the rows that described the files are lost: every file must be read and indexed again."""
        for file in self.files.values():
            file.version += 1  # results still on their way refer to lost rows
            self.set_content(file, None)
        self.removed.clear()

    def outdated(self, file: File) -> None:
        """Note that a file has text rows of an older revision and must be read again. Its other rows still answer."""
        self.without_content.add(file)

    def sorted_paths(self) -> list[bytes]:
        """All paths in byte order. Do not modify the list; after a change there is a new one."""
        return self._order.paths(self.files)

    def shelves(self) -> list[Shelf]:
        """The same paths on shelves, for searching names. Do not modify them."""
        return self._order.shelves(self.files)

    def under(self, folder: bytes) -> Iterator[File]:
        """Files at or below `folder` (`b""` is all), in byte order of their paths."""
        paths = self.sorted_paths()
        files = self.files
        if not folder:
            yield from map(files.__getitem__, paths)
            return
        if folder in files:
            yield files[folder]
        start = bisect.bisect_left(paths, folder + b"/")
        end = bisect.bisect_left(paths, folder + b"0", start)  # "0" follows "/" in byte order
        yield from map(files.__getitem__, paths[start:end])

    def _path_changed(self, path: bytes) -> None:
        self.generation += 1
        self._order.note(path)
