r"""Exact Unicode `\b` and `\B`, made from RE2's ASCII ones.

The characters that a pattern tells apart fall into a few classes. Each character of a line is replaced by the code of
its class. Codes of word characters are ASCII word characters, all other codes are not. So RE2's `\b` over the codes
equals Unicode's `\b` over the line. Invariant: codes have one width; a match starts and ends between codes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING

from ctxd.indexer.patterns import characters
from ctxd.indexer.patterns.engine import compiled
from ctxd.indexer.patterns.spelling import NOTHING, spelled
from ctxd.indexer.patterns.syntax import (
    TOO_LARGE,
    Assertion,
    Chars,
    Choice,
    Group,
    Node,
    PatternError,
    Repeat,
    Sequence,
    Text,
)

if TYPE_CHECKING:
    from ctxd.indexer.patterns.characters import Ranges

_WORD_CODES = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
_OTHER_CODES = "".join(chr(byte) for byte in range(256) if chr(byte) not in _WORD_CODES and byte != ord("\n"))


def has_boundaries(node: Node) -> bool:
    match node:
        case Assertion(kind):
            return kind in ("b", "B")
        case Sequence(parts) | Choice(parts):
            return any(map(has_boundaries, parts))
        case Group(inner, _) | Repeat(inner, _, _, _):
            return has_boundaries(inner)
    return False


class BoundarySearch:
    """Searches single lines that hold any characters."""

    def __init__(self, tree: Node) -> None:
        sets = {characters.word(), *_sets(tree)}
        self._masks = {ranges: 1 << i for i, ranges in enumerate(sets)}
        self._starts, self._start_masks = _partition(self._masks)
        word = self._masks[characters.word()]
        distinct = sorted(set(self._start_masks))
        words = [mask for mask in distinct if mask & word]
        others = [mask for mask in distinct if not mask & word]
        # A code of two bytes is enough for any pattern of legal size; for nearly all patterns one byte is.
        self._width = 1 if len(words) <= len(_WORD_CODES) and len(others) <= len(_OTHER_CODES) else 2
        self._codes = {
            mask: "".join(code)
            for masks, alphabet in ((words, _WORD_CODES), (others, _OTHER_CODES))
            for mask, code in zip(masks, product(alphabet, repeat=self._width), strict=False)
        }
        self._code_of_char = _CodeOfChar(self)
        # The lazy prefix makes a match start between codes if they are two bytes wide.
        pattern = f"(?m)(?s:.{{{self._width}}})*?({spelled(tree, self._one_of, captures=True)})"
        search = compiled(pattern.encode(), latin1=True, anchored=True)
        if search is None:
            raise PatternError(TOO_LARGE)
        self._search = search

    def spans(self, line: bytes, position: int) -> list[tuple[int, int]]:
        """The first match in `line` from `position` on, then its groups; (-1, -1) for none. Offsets in bytes."""
        text = line.decode()
        coded = text.translate(self._code_of_char).encode("latin-1")
        start = len(line[:position].decode()) * self._width
        spans = self._search(coded, start)[1:]
        return [(self._byte_offset(text, first), self._byte_offset(text, last)) for first, last in spans]

    def _byte_offset(self, text: str, coded_offset: int) -> int:
        return -1 if coded_offset < 0 else len(text[: coded_offset // self._width].encode())

    def _one_of(self, ranges: Ranges) -> str:
        mask = self._masks[ranges]
        codes = [code for other, code in self._codes.items() if other & mask]
        if not codes:
            return NOTHING
        if self._width == 1:
            return "[" + "".join(f"\\x{{{ord(code):X}}}" for code in codes) + "]"
        return "(?:" + "|".join("".join(f"\\x{{{ord(part):X}}}" for part in code) for code in codes) + ")"

    def code(self, code_point: int) -> str:
        return self._codes[self._start_masks[bisect_right(self._starts, code_point) - 1]]


class _CodeOfChar(dict[int, str]):
    """Adds each character when it is first met."""

    def __init__(self, search: BoundarySearch) -> None:
        super().__init__()
        self._search = search

    def __missing__(self, code_point: int) -> str:
        code = self[code_point] = self._search.code(code_point)
        return code


def _sets(node: Node) -> set[Ranges]:
    """Every set of characters that `node` names."""
    match node:
        case Text(text):
            return {((ord(char), ord(char)),) for char in text}
        case Chars(ranges):
            return {ranges}
        case Sequence(parts) | Choice(parts):
            return set().union(*map(_sets, parts))
        case Group(inner, _) | Repeat(inner, _, _, _):
            return _sets(inner)
    return set()


def _partition(masks: dict[Ranges, int]) -> tuple[list[int], list[int]]:
    """The code points at which the combination of sets changes, and the combination from each of them on."""
    toggles: defaultdict[int, int] = defaultdict(int, {0: 0})
    for ranges, mask in masks.items():
        for first, last in ranges:
            toggles[first] ^= mask
            toggles[last + 1] ^= mask
    starts = sorted(toggles)
    start_masks = []
    current = 0
    for start in starts:
        current ^= toggles[start]
        start_masks.append(current)
    return starts, start_masks
