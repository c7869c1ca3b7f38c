"""Which files of a project a query asks about: folders or files, extensions, names, globs.

Invariant: a hidden file belongs to a scope only where the asked path itself names the hidden part, or `hidden` is set.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer.file_table import extension_of, is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import RLock

    from ctxd.indexer.file_table import File, FileTable
    from ctxd.indexer.glob import PathFilter


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

    def contains(self, path: bytes) -> bool:
        return self._is_below(path) and self._passes(path)

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
            if (self.hidden or not is_hidden(rest)) and self._has_extension(path):
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

    _SCOPES_MAX = 64  # they are few; a stream of new ones must not grow without bound

    def __init__(self, table: FileTable, lock: RLock) -> None:
        self.table = table
        self.lock = lock
        self._counted: dict[Scope, tuple[int, int, int]] = {}

    def count(self, scope: Scope, up_to: bytes | None = None) -> tuple[int, int]:
        """Files that are not binary, as far as is known, and files that are; with `up_to`, no further than that path."""
        with self.lock:
            generation, paths = self.table.generation, self.table.sorted_paths()
            known = self._counted.get(scope)
        if up_to is None and known is not None and known[0] == generation:
            return known[1:]
        files = map(self.table.files.get, scope.among(paths, up_to))
        binary = [file.is_binary for file in files if file is not None]
        counted = generation, binary.count(False), binary.count(True)
        if up_to is None:
            with self.lock:
                if len(self._counted) >= self._SCOPES_MAX:
                    self._counted.clear()
                self._counted[scope] = counted
        return counted[1:]
