"""The files of a project that a query asks about: chosen by folders or files, extensions, names, globs.

Invariant: a hidden file belongs to a scope only where an asked path or a pattern names its hidden part, or `hidden` is set.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer.files.file_table import extension_of, is_hidden
from ctxd.indexer.patterns import glob

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from threading import RLock

    from ctxd.indexer.files.file_table import File, FileTable
    from ctxd.indexer.patterns.glob import PathFilter


@dataclass(frozen=True, slots=True)
class Only:
    """Narrows every query of a connection, for any tool: it comes from the options of a command line."""

    globs: tuple[str, ...] = ()
    """As ripgrep's --glob: the last one that matches decides, `!` leaves out; see glob.Chosen."""
    folder: bytes = b""
    """Globs with a slash are relative to it."""
    extensions: frozenset[bytes] | None = None
    names: frozenset[bytes] = frozenset()
    """Base names that belong beside the extensions."""

    def takes(self, path: bytes) -> bool:
        if self.extensions is not None and extension_of(path) not in self.extensions:
            name = path[path.rfind(b"/") + 1 :]
            if name not in self.names:
                return False
        return not self.globs or glob.chosen(self.globs, self.folder).takes(path)

    def asks_for_hidden(self, path: bytes) -> bool:
        return bool(self.globs) and glob.chosen(self.globs, self.folder).asks_for_hidden(path)


@dataclass(frozen=True, slots=True)
class Scope:
    """`paths` are relative (`b""` is the whole project). A file that is one of them belongs, whatever its extension."""

    paths: tuple[bytes, ...] = (b"",)
    extensions: frozenset[bytes] | None = None
    """Lower-cased with the dot; None for all."""
    names: frozenset[bytes] = frozenset()
    """Base names that belong beside the extensions, such as `Makefile`."""
    include: PathFilter | None = None
    exclude: PathFilter | None = None
    hidden: bool = False
    named_hidden: tuple[PathFilter, ...] = ()
    """Filters from patterns that name hidden parts: hidden files that one of them holds belong to the scope."""
    only: Only | None = None

    def contains(self, path: bytes) -> bool:
        return self._is_below(path) and self._passes(path)

    def those_of(self, paths: Iterable[bytes]) -> Iterator[bytes]:
        """The paths that belong, lazily. Most queries ask for everything, which is cheaper to check."""
        return itertools.filterfalse(is_hidden, paths) if self == _EVERYTHING else filter(self.contains, paths)

    def _is_below(self, path: bytes) -> bool:
        for asked in self.paths:
            if path == asked:
                return True
            if not asked:
                rest = path
            elif path.startswith(asked + b"/"):
                rest = path[len(asked) + 1 :]
            else:
                continue
            if not self.hidden and is_hidden(rest) and not self._names_hidden(path):
                continue
            if self._has_extension(path) and (self.only is None or self.only.takes(path)):
                return True
        return False

    def _names_hidden(self, path: bytes) -> bool:
        return any(path in named for named in self.named_hidden) or (
            self.only is not None and self.only.asks_for_hidden(path)
        )

    def _passes(self, path: bytes) -> bool:
        return (self.include is None or path in self.include) and (self.exclude is None or path not in self.exclude)

    def files(self, table: FileTable) -> Iterator[File]:
        """Its files in byte order of their paths. Call under the table's lock."""
        return map(table.files.__getitem__, self.among(table.sorted_paths()))

    def among(self, paths: list[bytes]) -> list[bytes]:
        """The ones of a project's sorted paths that belong."""
        if self == _EVERYTHING:  # fast, because most queries ask for it and a large project has 80,000 files
            return [path for path in paths if not (path.startswith(b".") or b"/." in path)]
        if b"" not in self.paths:
            found: set[bytes] = set()
            for asked in self.paths:
                # "0" follows "/" in byte order.
                first, last = bisect.bisect_left(paths, asked + b"/"), bisect.bisect_left(paths, asked + b"0")
                itself = bisect.bisect_left(paths, asked)
                found.update(paths[first:last], paths[itself : itself + 1])
            paths = sorted(found)
        return list(filter(self.contains, paths))

    def _has_extension(self, path: bytes) -> bool:
        if self.extensions is None or extension_of(path) in self.extensions:
            return True
        return bool(self.names) and path[path.rfind(b"/") + 1 :] in self.names


_EVERYTHING = Scope()


class ScopeCounter:
    """Counts the files of a scope, and remembers it until files come or go: counting 80,000 takes 20 to 150 ms.

    It counts without the lock, so that no call waits: nobody modifies the list of paths, and a look-up is atomic.
    """

    _COUNTS_MAX = 64  # usually they are few; a stream of new scopes must not fill the memory

    def __init__(self, table: FileTable, lock: RLock) -> None:
        self.table = table
        self.lock = lock
        self._generation = -1
        self._counts: dict[tuple[Scope, str], tuple[int, int]] = {}
        self._last: tuple[Scope, list[bytes], list[bytes]] | None = None
        """The scope last counted in part: its files and its binary files, in byte order."""

    def count(self, scope: Scope, of: str, accepts: Callable[[File], bool]) -> tuple[int, int]:
        """The number of files, and of files that pass the test `accepts`; `of` is the name of the test."""
        generation = self._forget_if_changed()
        known = self._counts.get((scope, of))
        if known is not None:
            return known
        files, accepted = self._members(scope, accepts)
        counted = len(files), len(accepted)
        with self.lock:
            if self._generation == generation:
                self._counts[scope, of] = counted
        return counted

    def files(self, scope: Scope) -> int:
        return self.count(scope, "binary", _is_binary)[0]

    def files_and_binary(
        self, scope: Scope, *, up_to: bytes | None = None, read: Collection[bytes] = ()
    ) -> tuple[int, int]:
        """The number of files up to the path `up_to`, and of binary ones among them.

        Binary are those known to be, and those in `read`: reading has shown that they are.
        """
        if up_to is None and not read:
            return self.count(scope, "binary", _is_binary)
        generation = self._forget_if_changed()
        with self.lock:
            last = self._last
        if last is None or last[0] != scope:
            last = scope, *self._members(scope, _is_binary)
            with self.lock:
                if self._generation == generation:
                    self._last = last
        _, files, binary = last
        more = sum(1 for path in set(read) if _holds(files, path) and not _holds(binary, path))
        if up_to is None:
            return len(files), len(binary) + more
        return bisect.bisect_right(files, up_to), bisect.bisect_right(binary, up_to) + more

    def _forget_if_changed(self) -> int:
        with self.lock:
            generation = self.table.generation
            if self._generation != generation or len(self._counts) >= self._COUNTS_MAX:
                self._generation = generation
                self._counts.clear()
                self._last = None
        return generation

    def _members(self, scope: Scope, accepts: Callable[[File], bool]) -> tuple[list[bytes], list[bytes]]:
        with self.lock:
            paths = self.table.sorted_paths()
        files = list(filter(None, map(self.table.files.get, scope.among(paths))))
        return [file.path for file in files], [file.path for file in files if accepts(file)]


def _is_binary(file: File) -> bool:
    return file.is_binary


def _holds(paths: list[bytes], path: bytes) -> bool:
    at = bisect.bisect_left(paths, path)
    return at < len(paths) and paths[at] == path
