"""Describes a folder from the file table: its folders with counts, its languages, its README.

Invariant: a file whose lines were counted when it was indexed is not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable, decode, line_count, read_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.files.file_table import File

_READ_FILES_MAX = 200
"""At most this many files that are not indexed yet are read to count their lines. After a first pass few are left."""
_READMES = (b"readme.md", b"readme.rst", b"readme.txt", b"readme", b"readme.adoc", b"readme.markdown", b"readme.org")


class OverviewEntry:
    """A folder or a file of the tree."""

    __slots__ = ("children", "files", "is_file", "lines", "name")

    def __init__(self, name: bytes, *, is_file: bool) -> None:
        self.name = name
        self.is_file = is_file
        self.files = 0
        self.lines = 0
        self.children: list[OverviewEntry] = []


class Overview:
    """An overview of the files below `folder` (`b""` for all), with entries `depth` levels deep."""

    def __init__(self, root: bytes, folder: bytes, files: Iterable[File], depth: int) -> None:
        self.files = self.lines = 0
        self.uncounted = 0
        """Number of files whose lines are not counted yet."""
        self.languages: dict[str, list[int]] = {}
        """Files and lines by language."""
        self.tree = OverviewEntry(folder, is_file=False)
        self.readme: bytes | None = None
        self._root = root
        self._reads_left = _READ_FILES_MAX
        start = len(folder) + 1 if folder else 0
        known: dict[bytes, OverviewEntry] = {b"": self.tree}
        for file in files:
            lines = self._lines_of(file)
            self.files += 1
            self.lines += lines
            parts = file.path[start:].split(b"/")
            language = languages.language_of(file.path)
            counted = self.languages.setdefault(language.name if language is not None else "other", [0, 0])
            counted[0] += 1
            counted[1] += lines
            if len(parts) == 1 and _rank(parts[0]) < _rank(self.readme or b""):
                self.readme = parts[0]
            entry = self.tree
            path = b""
            for level, part in enumerate(parts[:depth]):
                path = path + b"/" + part if path else part
                child = known.get(path)
                if child is None:
                    child = known[path] = OverviewEntry(part, is_file=level == len(parts) - 1)
                    entry.children.append(child)
                child.files += 1
                child.lines += lines
                entry = child

    def by_importance(self) -> list[tuple[OverviewEntry, OverviewEntry]]:
        """Each entry with its parent, level by level; in each level folders come first, and larger before smaller."""
        found: list[tuple[OverviewEntry, OverviewEntry]] = []
        level = [self.tree]
        while level:
            entries = [(parent, child) for parent in level for child in parent.children]
            entries.sort(key=lambda pair: (pair[1].is_file, -pair[1].files, -pair[1].lines, pair[1].name))
            found += entries
            level = [child for _, child in entries if not child.is_file]
        return found

    def _lines_of(self, file: File) -> int:
        content = file.content
        if content is not None:
            return content.lines
        if self._reads_left:
            self._reads_left -= 1
            try:
                text = decode(read_inside(self._root, file.path)[0])[1]
            except Unreadable:
                return 0
            return line_count(text) if text is not None else 0
        self.uncounted += 1
        return 0


def _rank(name: bytes) -> int:
    lower = name.lower()
    return _READMES.index(lower) if lower in _READMES else len(_READMES)
