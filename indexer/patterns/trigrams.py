"""Plans the query for the trigram index: the trigrams that every text with a match must hold.

After Russ Cox, "Regular Expression Matching with a Trigram Index" (2012), over the bytes of canonical text, folded as
the index folds them. Invariant: every chunk of text that holds a match satisfies the query; other chunks may satisfy it,
too. All bounds below only make a query wider.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from ctxd.indexer.patterns.syntax import (
    Assertion,
    Atomic,
    BackReference,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    Repeat,
    Sequence,
    Text,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.patterns.characters import Ranges

STRINGS_MAX = 100  # alternatives kept as strings, such as two digits; more are turned into trigrams
SEAM_MAX = 260  # alternatives where two parts meet, such as a letter and a digit
CLASS_CHARS_MAX = 64  # a larger class counts as any character
CONJUNCTION_MAX = 64  # trigrams of one conjunction; a search asks only for the few rarest
TRIGRAMS_MAX = 1000  # of a whole query; with more of them the index does not pay
SEQUENCE_MAX = 250  # parts of a sequence that are looked at: one takes up to a millisecond
OPTIONS_MAX = 300  # more words than this have more than TRIGRAMS_MAX trigrams

_FOLDED = bytes(
    byte + 0x20 if 0x41 <= byte <= 0x5A or (0xC0 <= byte <= 0xDE and byte != 0xD7) else byte for byte in range(256)
)


@dataclass(frozen=True, slots=True)
class Trigram:
    """Three neighbouring bytes, folded."""

    bytes: bytes


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple[TrigramQuery, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple[TrigramQuery, ...]


TrigramQuery = Trigram | AllOf | AnyOf

EVERYTHING = AllOf(())
"""Any text may match: there is nothing to ask the index for."""

NOTHING = AnyOf(())
"""No text can match."""


def fold(data: bytes) -> bytes:
    """`data` as the index compares it: FTS5's trigram tokenizer over Latin-1 turns A-Z and À-Þ into small letters."""
    return data.translate(_FOLDED)


def plan(tree: Node) -> TrigramQuery:
    """The query that the index can answer for `tree`."""
    query = _plan(tree).required()
    parts = sorted(query.parts, key=_count) if isinstance(query, AllOf) else [query]
    total = 0
    kept = [part for part in parts if (total := total + _count(part)) <= TRIGRAMS_MAX]
    return query if len(kept) == len(parts) else _all_of(kept)


@dataclass(frozen=True, slots=True)
class _Matches:
    """The facts known about the texts that a node matches.

    If `exact`, the matched text is one of `prefixes` (and `suffixes` is the same set). Otherwise it starts with one of
    `prefixes`, ends with one of `suffixes`, and satisfies `query`.
    """

    prefixes: frozenset[bytes]
    suffixes: frozenset[bytes]
    query: TrigramQuery
    exact: bool

    def required(self) -> TrigramQuery:
        return _all_of([self.query, _holding_any(self.prefixes)]) if self.exact else self.query


_EMPTY = frozenset((b"",))
_UNKNOWN = _Matches(_EMPTY, _EMPTY, EVERYTHING, exact=False)


def _exactly(strings: Iterable[bytes]) -> _Matches:
    known = frozenset(strings)
    return _Matches(known, known, EVERYTHING, exact=True)


def _plan(node: Node) -> _Matches:
    match node:
        case Text(text):
            return _exactly([fold(text.encode())])
        case Chars(ranges):
            return _plan_chars(ranges)
        case Assertion():
            return _exactly([b""])
        case Group(inner, _) | Atomic(inner):
            return _plan(inner)
        case Look(inner, _, negative):
            # The text it looks at is in the same line, but beside the match, not in it.
            return _exactly([b""]) if negative else _Matches(_EMPTY, _EMPTY, _plan(inner).required(), exact=False)
        case BackReference():
            return _UNKNOWN
        case Sequence(parts):
            planned = reduce(_then, map(_plan, parts[:SEQUENCE_MAX]), _exactly([b""]))
            return planned if len(parts) <= SEQUENCE_MAX else _then(planned, _UNKNOWN)
        case Choice(options):
            return _either(list(map(_plan, options))) if len(options) <= OPTIONS_MAX else _UNKNOWN
        case Repeat(inner, least, most, _):
            return _plan_repeat(inner, least, most)


def _plan_chars(ranges: Ranges) -> _Matches:
    if sum(last - first + 1 for first, last in ranges) > CLASS_CHARS_MAX:
        return _UNKNOWN
    folded = {fold(chr(char).encode()) for first, last in ranges for char in range(first, last + 1)}
    return _exactly(folded) if len(folded) <= STRINGS_MAX else _UNKNOWN


def _plan_repeat(inner: Node, least: int, most: int | None) -> _Matches:
    if most == 0:
        return _exactly([b""])
    planned = _plan(inner)
    if least == 0:
        return _either([planned, _exactly([b""])]) if most == 1 else _UNKNOWN
    copies = min(least, 3)  # three of one byte are a trigram
    several = reduce(_then, [planned] * copies)
    if most == copies:
        return several
    # More copies may stand in between: the start and the end stay the same.
    return _Matches(several.prefixes, several.suffixes, several.required(), exact=False)


def _then(left: _Matches, right: _Matches) -> _Matches:
    if left.exact and right.exact and len(left.prefixes) * len(right.prefixes) <= STRINGS_MAX:
        both = _exactly(a + b for a in left.prefixes for b in right.prefixes)
        # Several long strings would multiply with every letter that has a case variant of more than one byte.
        if len(both.prefixes) == 1 or min(map(len, both.prefixes)) <= 3:
            return both
        return _Matches(
            _cut(both.prefixes, slice(2)), _cut(both.suffixes, slice(-2, None)), both.required(), exact=False
        )
    query = _all_of([left.required(), _across(left.suffixes, right.prefixes), right.required()])
    prefixes, suffixes = left.prefixes, right.suffixes
    if left.exact:
        prefixes = _joined([(prefixes, _cut(right.prefixes, slice(length))) for length in (2, 1)]) or prefixes
    if right.exact:
        suffixes = _joined([(_cut(left.suffixes, slice(-length, None)), suffixes) for length in (2, 1)]) or suffixes
    return _Matches(_cut(prefixes, slice(2)), _cut(suffixes, slice(-2, None)), query, exact=False)


def _across(suffixes: frozenset[bytes], prefixes: frozenset[bytes]) -> TrigramQuery:
    """The trigrams across the seam of two parts: they lie within two bytes on either side."""
    last, first = _cut(suffixes, slice(-2, None)), _cut(prefixes, slice(2))
    if whole := _joined([(last, first)]):
        return _holding_any(whole)
    halves = [(last, _cut(first, slice(1))), (_cut(last, slice(-1, None)), first)]
    return _all_of(_holding_any(_joined([half])) for half in halves if _joined([half]))


def _joined(pairs: Iterable[tuple[frozenset[bytes], frozenset[bytes]]]) -> frozenset[bytes]:
    """All strings of the first of `pairs` that makes few enough; none if every pair makes too many."""
    few = (pair for pair in pairs if len(pair[0]) * len(pair[1]) <= SEAM_MAX)
    left, right = next(few, (frozenset(), frozenset()))
    return frozenset(a + b for a in left for b in right)


def _either(options: list[_Matches]) -> _Matches:
    if all(option.exact for option in options):
        strings = frozenset().union(*(option.prefixes for option in options))
        if len(strings) <= STRINGS_MAX:
            return _exactly(strings)
    return _Matches(
        _cut(frozenset().union(*(option.prefixes for option in options)), slice(2)),
        _cut(frozenset().union(*(option.suffixes for option in options)), slice(-2, None)),
        _any_of([option.required() for option in options]),
        exact=False,
    )


def _cut(strings: frozenset[bytes], end: slice) -> frozenset[bytes]:
    """At most two bytes at one end of each string; fewer bytes if there would be too many strings."""
    cut = frozenset(string[end] for string in strings)
    if len(cut) > STRINGS_MAX:
        cut = frozenset(string[:1] if end.start is None else string[-1:] for string in cut)
    return cut if len(cut) <= STRINGS_MAX else _EMPTY


def _holding_any(strings: Iterable[bytes]) -> TrigramQuery:
    return _any_of([_holding(string) for string in sorted(set(strings))])


def _holding(string: bytes) -> TrigramQuery:
    """All trigrams of `string`; if it is long, some from all over it."""
    count = max(len(string) - 2, 0)
    step = -(-count // CONJUNCTION_MAX) or 1
    return _all_of([Trigram(string[at : at + 3]) for at in range(0, count, step)])


def _all_of(queries: Iterable[TrigramQuery]) -> TrigramQuery:
    parts: dict[TrigramQuery, None] = {}
    for query in queries:
        if query == NOTHING:
            return NOTHING
        parts.update(dict.fromkeys(query.parts if isinstance(query, AllOf) else (query,)))
    kept = tuple(parts)[:CONJUNCTION_MAX]
    return kept[0] if len(kept) == 1 else AllOf(kept)


def _any_of(queries: Iterable[TrigramQuery]) -> TrigramQuery:
    """A query for any one of `queries`. Parts that all of them share stand in it once."""
    options: dict[TrigramQuery, None] = {}
    for query in queries:
        options.update(dict.fromkeys(query.parts if isinstance(query, AnyOf) else (query,)))
    if len(options) == 1:
        return next(iter(options))
    conjunctions = [query.parts if isinstance(query, AllOf) else (query,) for query in options]
    if not conjunctions:
        return NOTHING
    shared = set(conjunctions[0]).intersection(*conjunctions[1:])
    rests = [_all_of([part for part in parts if part not in shared]) for parts in conjunctions]
    common = [part for part in conjunctions[0] if part in shared]
    if EVERYTHING in rests:
        return _all_of(common)
    return _all_of([*common, AnyOf(tuple(dict.fromkeys(rests)))])


def _count(query: TrigramQuery) -> int:
    return 1 if isinstance(query, Trigram) else sum(map(_count, query.parts))
