"""Bytes of a text to lines and columns.

Invariant: lines and columns are 1-based; columns count characters, bytes count from the start of the text.
"""

from __future__ import annotations

import bisect
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class TextPlaces:
    """The lines of one text."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._is_ascii = text.isascii()
        lengths = map(len, text.split(b"\n"))
        self._line_starts = list(accumulate((length + 1 for length in lengths), initial=0))
        """The last one is the start of a line after the end: every byte lies between two starts."""

    def line(self, byte: int) -> int:
        return bisect.bisect_right(self._line_starts, byte)

    def in_order(self, ascending: Iterable[int]) -> Iterator[tuple[int, int, int]]:
        """Each byte with its line and column. One pass: even a line of a megabyte is decoded once."""
        text, line_starts, is_ascii = self._text, self._line_starts, self._is_ascii
        line = line_start = next_start = 0
        counted = characters = 0  # of the line, up to the byte before
        for byte in ascending:
            if byte >= next_start:
                line = bisect.bisect_right(line_starts, byte, line)
                line_start, next_start = line_starts[line - 1], line_starts[line]
                counted, characters = line_start, 0
            if is_ascii:
                characters = byte - line_start
            else:
                characters += len(text[counted:byte].decode("utf-8", "replace"))
                counted = byte
            yield byte, line, characters + 1
