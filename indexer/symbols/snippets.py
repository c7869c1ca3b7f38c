"""The lines around occurrences, read from the files as they are now.

Invariant: a file that has gone or cannot be read has no lines; it is never an error.
"""

from __future__ import annotations

import contextlib

from ctxd.indexer.decode import Unreadable, decode, read_inside

SNIPPET_CHARS_MAX = 300


class Snippets:
    """The lines of occurrences. The last file read is kept, as occurrences come file by file."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._path = b""
        self._lines: list[bytes] = []
        """Of its text; the last may be all that follows, as most files are read for one line."""

    def of(self, path: bytes, line: int, column: int) -> str:
        """One line, cut around the column where it is long; empty where the file has changed this instant."""
        if path != self._path:
            self._path, self._lines = path, lines_of(self.root, path, line)
        if line >= len(self._lines):
            self._lines[-1:] = self._lines[-1].split(b"\n") if self._lines else []
            if line > len(self._lines):
                return ""
        text = self._lines[line - 1].decode()
        start = max(0, column - 1 - SNIPPET_CHARS_MAX // 3) if len(text) > SNIPPET_CHARS_MAX else 0
        return text[start : start + SNIPPET_CHARS_MAX].strip()


def lines_of(root: bytes, path: bytes, first: int = -1) -> list[bytes]:
    """The lines of a file, or its `first` lines and then all that follows as one; none where it cannot be read."""
    with contextlib.suppress(Unreadable):
        return (decode(read_inside(root, path)[0])[1] or b"").split(b"\n", first)
    return []
