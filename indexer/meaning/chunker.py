"""Cuts a text into chunks, the pieces that semantic search finds: whole lines, at most CHUNK_BYTES if possible, cut
where definitions begin.

Invariant: chunks cover every line except blank ones at their edges, do not overlap, and depend only on the text and its
definitions. So a content has the same chunks in every file. Takes linear time.

A definition begins with the comments and decorators right above it. A piece that is too long is cut at its definitions,
then at blank lines, outermost first. Neighbouring pieces are joined again if they fit in one chunk.
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
    """Lines are 1-based, `end_line` inclusive. Bytes are offsets into the canonical text; `end` is exclusive and leaves
    out the last newline.
    """

    start_line: int
    end_line: int
    start: int
    end: int


def chunks(text: bytes, definitions: Sequence[Definition], chunk_bytes: int = CHUNK_BYTES) -> list[Chunk]:
    """The chunks of canonical text, in order. `definitions` are those of its outline; none if it has no symbols."""
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
    """For each line the rank of a cut before it; the least is the best."""
    count = len(lines)
    steps = [0] * (count + 1)
    depths: list[int] = []
    for one in definitions:
        depths.append(min(depths[one.parent] + 1, _NESTING_MAX) if one.parent >= 0 else 0)
        if one.end_line > one.start_line:  # its first line belongs to the definition around it
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
    """Line ranges, ends exclusive: cut at the best ranks until each fits. Neighbours that fit together are joined."""
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
