"""Which files of a project a query asks about: folders or files, extensions, names, globs.

Invariant: a hidden file belongs to a scope only where the asked path itself names the hidden part, or `hidden` is set.
"""

from __future__ import annotations

import bisect
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer import glob
from ctxd.indexer.file_table import extension_of, is_hidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from threading import RLock

    from ctxd.indexer.file_table import File, FileTable
    from ctxd.indexer.glob import PathFilter


@dataclass(frozen=True, slots=True)
class Only:
    """What narrows every query of a connection: the options of a command line, whatever tool it calls."""

    globs: tuple[str, ...] = ()
    """As ripgrep's --glob: the last one that matches decides, `!` leaves out; see glob.Chosen."""
    folder: bytes = b""
    """What globs with a slash are relative to."""
    extensions: frozenset[bytes] | None = None
    names: frozenset[bytes] = frozenset()
    """Base names that belong beside the extensions."""

    def takes(self, path: bytes) -> bool:
        if self.extensions is not None and extension_of(path) not in self.extensions:
            name = path[path.rfind(b"/") + 1 :]
            if name not in self.names:
                return False
        return not self.globs or glob.chosen(self.globs, self.folder).takes(path)


@dataclass(frozen=True, slots=True)
class Scope:
    """`paths` are relative (`b""` is the whole project); a file that is itself one of them belongs whatever its extension."""

    paths: tuple[bytes, ...] = (b"",)
    extensions: frozenset[bytes] | None = None
    """Lower-cased with the dot; None for all."""
    names: frozenset[bytes] = frozenset()
    """Base names that belong beside the extensions, such as `Makefile`."""
    include: PathFilter | None = None
    exclude: PathFilter | None = None
    hidden: bool = False
    only: Only | None = None

    def contains(self, path: bytes) -> bool:
        return self._is_below(path) and self._passes(path)

    def those_of(self, paths: Iterable[bytes]) -> Iterator[bytes]:
        """The paths that belong, lazily. Most queries ask for everything: they need not be asked what they leave out."""
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
            if not self.hidden and is_hidden(rest):
                continue
            if self._has_extension(path) and (self.only is None or self.only.takes(path)):
                return True
        return False

    def _passes(self, path: bytes) -> bool:
        return (self.include is None or path in self.include) and (self.exclude is None or path not in self.exclude)

    def files(self, table: FileTable) -> Iterator[File]:
        """Its files in byte order of their paths. Call under the table's lock."""
        return map(table.files.__getitem__, self.among(table.sorted_paths()))

    def among(self, paths: list[bytes], up_to: bytes | None = None) -> list[bytes]:
        """Those of a project's sorted paths that belong; with `up_to`, no further than that one."""
        if up_to is not None:
            paths = paths[: bisect.bisect_right(paths, up_to)]
        if self == _EVERYTHING:  # in one step, as most queries ask for it and a large project has 80,000 files
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
    """How many files a scope has, remembered until files come or go: of 80,000 the counting takes 20 to 150 ms.

    Not under the lock, which would hold up every other call: the list of paths is never modified, a look-up is atomic.
    """

    _COUNTS_MAX = 64  # they are few; a stream of new ones must not grow without bound

    def __init__(self, table: FileTable, lock: RLock) -> None:
        self.table = table
        self.lock = lock
        self._generation = -1
        self._counts: dict[tuple[Scope, str], tuple[int, int]] = {}

    def count(
        self, scope: Scope, of: str | None, accepts: Callable[[File], bool], *, up_to: bytes | None = None
    ) -> tuple[int, int]:
        """Files, and those of them that `accepts`; with `up_to`, no further than that path.

        `of` names the test; what is counted by a test without a name, or up to a path, is not remembered.
        """
        with self.lock:
            generation, paths = self.table.generation, self.table.sorted_paths()
            if self._generation != generation or len(self._counts) >= self._COUNTS_MAX:
                self._generation = generation
                self._counts.clear()
            known = self._counts.get((scope, of)) if of is not None and up_to is None else None
        if known is not None:
            return known
        files = map(self.table.files.get, scope.among(paths, up_to))
        accepted = [accepts(file) for file in files if file is not None]
        counted = len(accepted), sum(accepted)
        if of is not None and up_to is None:
            with self.lock:
                if self._generation == generation:
                    self._counts[scope, of] = counted
        return counted

    def files(self, scope: Scope) -> int:
        return self.files_and_binary(scope)[0]

    def files_and_binary(
        self, scope: Scope, *, up_to: bytes | None = None, read: frozenset[bytes] = frozenset()
    ) -> tuple[int, int]:
        """Files, and those that are binary, as far as is known yet and as reading has shown of those in `read`."""
        if read:
            return self.count(scope, None, lambda file: file.is_binary or file.path in read, up_to=up_to)
        return self.count(scope, "binary", lambda file: file.is_binary, up_to=up_to)
