"""Which files of a project a query asks about: folders or files, extensions, names, globs.

Invariant: a hidden file belongs to a scope only where the asked path itself names the hidden part, or `hidden` is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

from ctxd.indexer.file_table import extension_of, is_hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        """Its files in byte order of their paths."""
        if len(self.paths) == 1:
            yield from (file for file in table.under(self.paths[0]) if self.contains(file.path))
            return
        found = {file.path: file for asked in self.paths for file in table.under(asked) if self.contains(file.path)}
        yield from (found[path] for path in sorted(found))

    def _has_extension(self, path: bytes) -> bool:
        if self.extensions is None or extension_of(path) in self.extensions:
            return True
        return bool(self.names) and path[path.rfind(b"/") + 1 :] in self.names


class ScopeCounter:
    """How many files a scope has, remembered until files come or go: counting 80,000 takes 40 ms. Call under the table's lock."""

    _SCOPES_MAX = 64  # they are few; a stream of new ones must not grow without bound

    def __init__(self, table: FileTable) -> None:
        self.table = table
        self._counted: dict[Scope, tuple[int, int, int]] = {}

    def count(self, scope: Scope, up_to: bytes | None = None) -> tuple[int, int]:
        """Files that are not binary, as far as is known, and files that are; with `up_to`, no further than that path."""
        if up_to is not None:
            files = [file.is_binary for file in takewhile(lambda file: file.path <= up_to, scope.files(self.table))]
            return files.count(False), files.count(True)
        known = self._counted.get(scope)
        if known is None or known[0] != self.table.generation:
            files = [file.is_binary for file in scope.files(self.table)]
            if len(self._counted) >= self._SCOPES_MAX:
                self._counted.clear()
            known = self._counted[scope] = (self.table.generation, files.count(False), files.count(True))
        return known[1:]
