"""Sets of characters, as sorted ranges of code points.

Invariant: RE2 is the one source of Unicode facts; a set is what RE2 matches. The matcher, the planner and ripgrep get
explicit ranges. So they cannot disagree about a class or about case, even if each was built with another Unicode
version.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from ctxd.indexer.patterns.engine import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

Ranges = tuple[tuple[int, int], ...]
"""Code points from first to last, both included. Sorted; no two ranges touch or overlap."""

LAST = 0x10FFFF

CODABLE: Ranges = ((0, 0xD7FF), (0xE000, LAST))
"""All characters that UTF-8 can hold: all but the surrogates."""

NOT_NEWLINE: Ranges = ((0, 0x09), (0x0B, 0xD7FF), (0xE000, LAST))

SPACE: Ranges = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
r"""The property White_Space, for `\s`."""

# Alphabetic + M + Nd + Pc + Join_Control. RE2 has no name for Other_Alphabetic. Its circled and squared letters are
# spelled out; the rest of it is in the categories listed.
_WORD = (
    r"\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{200C}\x{200D}"
    r"\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189}"
)

# This set holds every character that has a case variant.
_CASED = r"\p{Lu}\p{Ll}\p{Lt}\p{Nl}\x{345}\x{24B6}-\x{24E9}"

_POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": ((0x30, 0x39),),
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def posix_class(name: str) -> Ranges | None:
    """`[:name:]`, which is ASCII in every dialect; None if there is no such class."""
    return _POSIX.get(name)


@cache
def word() -> Ranges:
    r"""The characters that `\w` matches."""
    return _matched(f"[{_WORD}]", _sample_text(), _samples())


@cache
def digit() -> Ranges:
    r"""The characters that `\d` matches."""
    return _matched(r"\p{Nd}", _sample_text(), _samples())


@lru_cache(maxsize=64)
def unicode_class(name: str) -> Ranges | None:
    r"""`\p{name}` for a general category or a script; None if there is none. Surrogates are in no set."""
    if name in ("C", "Other"):  # Unicode and ripgrep include unassigned code points, RE2 does not
        return complement(_matched(r"[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Z}]", _sample_text(), _samples()))
    if name == "Any":
        return CODABLE
    if not name.replace("_", "").isalnum() or compiled(rf"\p{{{name}}}".encode()) is None:
        return None
    return _matched(rf"\p{{{name}}}", _sample_text(), _samples())


@lru_cache(maxsize=1024)
def with_case_variants(ranges: Ranges) -> Ranges:
    """`ranges` and every character that simple case folding makes equal to one of them."""
    ascii_only = restrict_to_ascii(ranges)
    added = [(first ^ 0x20, last ^ 0x20) for first, last in _intersection(ascii_only, _POSIX["alpha"])]
    if contains(ascii_only, ord("k")) or contains(ascii_only, ord("K")):
        added.append((0x212A, 0x212A))  # KELVIN SIGN
    if contains(ascii_only, ord("s")) or contains(ascii_only, ord("S")):
        added.append((0x17F, 0x17F))  # LATIN SMALL LETTER LONG S
    if ascii_only != ranges:
        cased = _cased()
        added += _matched(f"(?i)[{spelled(ranges)}]", "".join(map(chr, cased)).encode(), cased, dense=False)
    return union([*ranges, *added])


def union(ranges: Iterable[tuple[int, int]]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """All characters that are not in `ranges`."""
    holes = []
    start = 0
    for first, last in ranges:
        if start < first:
            holes.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        holes.append((start, LAST))
    return _intersection(tuple(holes), CODABLE)


def without_newline(ranges: Ranges) -> Ranges:
    if not contains(ranges, 0x0A):
        return ranges  # otherwise a pattern of 50,000 `\w` took 10 s, because each has 772 ranges
    return _intersection(ranges, NOT_NEWLINE)


def restrict_to_ascii(ranges: Ranges) -> Ranges:
    return tuple((first, min(last, 0x7F)) for first, last in ranges if first <= 0x7F)


def contains(ranges: Ranges, code_point: int) -> bool:
    at = bisect_right(ranges, (code_point, LAST)) - 1
    return at >= 0 and ranges[at][1] >= code_point


def spelled(ranges: Ranges) -> str:
    """`ranges` as the inside of a bracketed class, in a spelling that RE2 and Rust's regex both know."""
    return "".join(
        _spelled_one(first) if first == last else f"{_spelled_one(first)}-{_spelled_one(last)}"
        for first, last in ranges
    )


def _spelled_one(code_point: int) -> str:
    char = chr(code_point)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code_point:X}}}"


def _intersection(left: Ranges, right: Ranges) -> Ranges:
    both = []
    i = j = 0
    while i < len(left) and j < len(right):
        first, last = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first <= last:
            both.append((first, last))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(both)


def _matched(pattern: str, text: bytes, samples: array[int], *, dense: bool = True) -> Ranges:
    """The code points of `samples` (whose UTF-8 is `text`) that `pattern` matches.

    A dense sample stands for all code points up to the next one, any other sample for itself alone.
    """
    spans = compiled((f"(?:{pattern})+" if dense else pattern).encode())
    assert spans is not None, pattern
    found = []
    start, end = spans(text, 0)[0]
    while start >= 0:
        run = text[start:end].decode()
        first, last = ord(run[0]), ord(run[-1])
        if dense:
            following = bisect_right(samples, last)
            last = samples[following] - 1 if following < len(samples) else LAST
        found.append((first, last))
        start, end = spans(text, end)[0]
    return _intersection(union(found), CODABLE)


@cache
def _samples() -> array[int]:
    """Sample code points. All between one and the next are alike: planes 4 to 13, 15 and 16 are uniform."""
    samples = array("I", range(0xD800))
    samples.extend(range(0xE000, 0x40000))
    samples.extend(range(0xE0000, 0xE1000))
    samples.extend((0xE1000, 0xF0000, 0xFFFFE, 0x100000, 0x10FFFE))
    return samples


def _sample_text() -> bytes:
    return _samples().tobytes().decode("utf-32").encode()


@cache
def _cased() -> array[int]:
    ranges = _matched(f"[{_CASED}]", _sample_text(), _samples())
    return array("I", (code_point for first, last in ranges for code_point in range(first, last + 1)))
