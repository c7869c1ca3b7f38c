"""Cuts a text into chunks, the pieces that semantic search finds: whole lines, about CHUNK_BYTES long, cut where definitions begin.

Invariant: chunks cover every line but blank ones at their edges, do not overlap, and depend on nothing but the text and its
definitions, so that a content has the same chunks wherever it is found. Takes linear time.

A definition begins with the comments and decorators right above it. What is longer than a chunk is cut at the definitions in it,
then at blank lines, outermost first; what lies between two cuts is joined again as far as it fits.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxd.indexer.symbols.outline import Definition

CHUNK_BYTES = 1_500  # half of it scores the same and doubles the vectors

_NESTING_MAX = 15
_INDENT_MAX = 63
_RANK_OF_INDENT = _INDENT_MAX + 1
_RANK_OF_LINE = 2 * (_NESTING_MAX + 2) * _RANK_OF_INDENT
_LEADING = re.compile(rb'[ \t]*(?://|/\*|\*|#|--|@|;|%|"""|\'\'\'|\[[A-Z<])|.*\*/[ \t]*$')
_LEADING_LINES_MAX = 100


class Chunk(NamedTuple):
    """Lines are 1-based, `end_line` inclusive; bytes are offsets into the canonical text, `end` exclusive and before the newline."""

    start_line: int
    end_line: int
    start: int
    end: int


def chunks(text: bytes, definitions: Sequence[Definition], chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """The chunks of canonical text, in order; `definitions` as in its outline, none where it has no symbols."""
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = []
    for first, end in _pieces(_ranks(lines, definitions), starts, chunk_bytes):
        inked = [number for number in range(first, end) if lines[number].strip()]
        if inked:
            last = inked[-1]
            found.append(Chunk(inked[0] + 1, last + 1, starts[inked[0]], starts[last + 1] - 1))
    return found


def _ranks(lines: list[bytes], definitions: Sequence[Definition]) -> list[int]:
    """For each line how good it is to cut before it, the least the best."""
    count = len(lines)
    steps = [0] * (count + 1)
    depths: list[int] = []
    for one in definitions:
        depths.append(min(depths[one.parent] + 1, _NESTING_MAX) if one.parent >= 0 else 0)
        if one.end_line > one.start_line:  # the line of its head belongs to what is around it
            steps[min(one.start_line, count)] += 1
            steps[min(one.end_line, count)] -= 1
    ranks = []
    nesting = 0
    after_blank = True
    for number, line in enumerate(lines):
        nesting += steps[number]
        text = line.lstrip()
        indent = min(len(line) - len(text), _INDENT_MAX)
        if not text:
            ranks.append(_RANK_OF_LINE + _INDENT_MAX + 1)
        elif after_blank:
            ranks.append((2 * min(nesting, _NESTING_MAX) + 1) * _RANK_OF_INDENT + indent)
        else:
            ranks.append(_RANK_OF_LINE + indent)
        after_blank = not text
    for one, depth in zip(definitions, depths, strict=True):
        first = one.start_line - 1
        if not 0 <= first < count:
            continue
        for _ in range(_LEADING_LINES_MAX):
            if first == 0 or not _LEADING.match(lines[first - 1]):
                break
            first -= 1
        ranks[first] = min(ranks[first], 2 * depth * _RANK_OF_INDENT)
    return ranks


def _pieces(ranks: list[int], starts: list[int], chunk_bytes: int) -> list[tuple[int, int]]:
    """Line ranges, ends exclusive: cut at the best ranks until each piece fits, then joined again where neighbours fit together."""
    found: list[tuple[int, int]] = []
    todo = [(0, len(ranks))]
    while todo:
        first, end = todo.pop()
        if starts[end] - starts[first] <= chunk_bytes or end - first <= 1:
            found.append((first, end))
            continue
        best = min(ranks[first + 1 : end])
        cuts = [first, *(line for line in range(first + 1, end) if ranks[line] == best), end]
        joined: list[tuple[int, int]] = []
        for start, stop in pairwise(cuts):
            if joined and starts[stop] - starts[joined[-1][0]] <= chunk_bytes:
                joined[-1] = (joined[-1][0], stop)
            else:
                joined.append((start, stop))
        todo += reversed(joined)
    return found
