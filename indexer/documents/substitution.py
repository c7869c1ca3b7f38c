"""Finds every match of a text or a pattern in one file, and fills in replacements such as `$1`.

Invariant: matches are the same as in the search tools, in one pass over the text; replacements are not searched again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.decode import text_pieces
from ctxd.indexer.patterns.pattern import OutOfTime, PatternError
from ctxd.indexer.text.text_search import PIECE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.indexer.patterns.engine import Spans
    from ctxd.indexer.patterns.pattern import Pattern

_PLACES = re.compile(r"\$(?:(\$)|([0-9]+)|\{(\w*)\})")


class FoundMatch(NamedTuple):
    """Offsets in the text."""

    start: int
    end: int
    line_start: int
    """Start of the line; offsets in `groups` count from here."""
    groups: Spans


def of_literal(search: Callable[[bytes, int], Spans], text: bytes) -> Iterator[FoundMatch]:
    position = 0
    while True:
        start, end = search(text, position)[0]
        if start < 0:
            return
        yield FoundMatch(start, end, 0, [])
        position = end


def of_pattern(pattern: Pattern, text: bytes, stop: Callable[[], bool]) -> Iterator[FoundMatch]:
    """Raises OutOfTime once `stop` returns true: the slowest linear pattern takes 7 s a megabyte."""
    base = 0
    for piece in text_pieces(text, PIECE_BYTES):
        if stop():
            raise OutOfTime(base)
        for line_start, spans in pattern.occurrences(piece):
            start, end = spans[0]
            line = base + line_start
            yield FoundMatch(line + start, line + end, line, spans)
        base += len(piece)


class Template:
    """A replacement. `$1` and `${name}` are groups of the match, `$0` is the whole match, `$$` is a dollar sign."""

    def __init__(self, written: str, group_names: Iterable[str | None]) -> None:
        """Raises PatternError for a group that the pattern does not have."""
        names = ["0", *group_names]
        self._parts: list[bytes | int] = []
        end = 0
        for place in _PLACES.finditer(written):
            self._parts.append(written[end : place.start()].encode())
            end = place.end()
            self._parts.append(b"$" if place[1] else _group(place[2] or place[3], place[0], names))
        self._parts.append(written[end:].encode())

    def filled(self, text: bytes, found: FoundMatch) -> bytes:
        """The replacement for one match. A group that matched nothing is empty."""
        parts = []
        for part in self._parts:
            if isinstance(part, bytes):
                parts.append(part)
            else:
                start, end = found.groups[part]
                parts.append(text[found.line_start + start : found.line_start + end] if start >= 0 else b"")
        return b"".join(parts)


def _group(name: str, written: str, names: list[str | None]) -> int:
    if name.isascii() and name.isdecimal():
        if int(name) < len(names):
            return int(name)
    elif name in names[1:]:
        return names.index(name)
    count = len(names) - 1
    named = "".join(f", {one}" for one in names[1:] if one)
    have = f"it has {count} group{'s' * (count != 1)}{named}" if count else "it has no groups"
    raise PatternError(
        f"the pattern has no group {written}: {have}; write $$ for a dollar sign, ${{1}}0 for group 1 before a 0"
    )
