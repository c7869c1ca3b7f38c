"""The elements of one file: its definitions, and the one that encloses a line or a match.

Invariant: text and definitions come from the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from ctxd.indexer.languages import LANGUAGE_BY_NAME

if TYPE_CHECKING:
    from ctxd.indexer.symbols.outline import Definition

TYPE_OF_KIND = {"key": "section"}
"""Kinds that have another name in specification 003."""


@dataclass(frozen=True)
class FileElements:
    path: bytes
    data: bytes
    text: bytes | None
    """Canonical; None if the file is binary."""
    language: str | None
    symbols: str
    """"parsed"; "none" (a language without symbols); "too_large"; "failed"; or "pending" (no time to parse it)."""
    definitions: list[Definition] = field(default_factory=list)
    statements: list[tuple[int, int]] = field(default_factory=list)
    """First and last line of each import statement."""

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of each line in the text, then the end of the last line."""
        if not self.text:
            return [0]
        lengths = map(len, self.text.removesuffix(b"\n").split(b"\n"))
        return [0, *accumulate(map((1).__add__, lengths))]  # a file of a megabyte has 30,000 lines

    @property
    def line_count(self) -> int:
        return len(self.line_starts) - 1

    def lines(self, first: int, last: int) -> str:
        """The lines from `first` to `last`, without the last newline."""
        starts = self.line_starts
        return (self.text or b"")[starts[first - 1] : starts[last] - 1].decode()

    def around_line(self, line: int) -> int | None:
        """Index of the innermost definition that encloses a line. Of several within that line, the outermost."""
        around = [
            (one.end_line - one.start_line, one.start_byte - one.end_byte, index)
            for index, one in enumerate(self.definitions)
            if one.start_line <= line <= one.end_line
        ]
        return min(around)[2] if around else None

    def around_span(self, start: int, end: int) -> int | None:
        """Index of the innermost definition that encloses a span of the text."""
        around = [
            (one.end_byte - one.start_byte, index)
            for index, one in enumerate(self.definitions)
            if one.start_byte <= start and end <= one.end_byte
        ]
        return min(around)[1] if around else None

    def children(self, index: int) -> list[Definition]:
        """The definitions directly inside, and those that belong to a type from outside (`func (t *T) F()`)."""
        one = self.definitions[index]
        return [
            other
            for other in self.definitions
            if other.parent == index or (other.parent == one.parent and other.owner == one.name and other is not one)
        ]

    def parent(self, index: int) -> Definition | None:
        """The definition around one, or the type that owns it if this file defines that type."""
        one = self.definitions[index]
        if one.parent >= 0:
            return self.definitions[one.parent]
        return next(
            (other for other in self.definitions if one.owner and other.name == one.owner and not other.owner), None
        )


def type_of(definition: Definition) -> str:
    """The name of its kind in specification 003."""
    return TYPE_OF_KIND.get(definition.kind, definition.kind)


def language_name(language: str) -> str:
    """The name of a language in specification 003, which counts TSX as TypeScript."""
    known = LANGUAGE_BY_NAME.get(language)
    return language if known is None else known.counts_as or language
