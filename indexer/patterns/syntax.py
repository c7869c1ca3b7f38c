"""The syntax tree of a pattern. It leaves nothing for an engine to decide.

Invariant: case, flags and Unicode are resolved into sets of characters, so that a tree means the same for every engine;
no node matches a newline; no tree needs more memory than RE2 is given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer.patterns import characters

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.indexer.patterns.characters import Ranges

REPETITIONS_MAX = 1000  # RE2's own limit, for a count and for the product of nested counts
COST_MAX = 160_000  # the largest `cost` over ASCII; it compiles in 0.1 s and fits into engine.RE2_BYTES_MAX

TOO_LARGE = "the pattern is too large: shorten it, or repeat fewer times"


class PatternError(ValueError):
    """A pattern that cannot be searched for; `position` is the offset of the error, in characters."""

    def __init__(self, message: str, position: int | None = None) -> None:
        super().__init__(message)
        self.position = position


@dataclass(frozen=True, slots=True)
class Text:
    """These characters, exactly."""

    text: str


@dataclass(frozen=True, slots=True)
class Chars:
    """Any one of two or more characters."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one after the other. Without parts it matches the empty text."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first option that leads to a match."""

    options: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    node: Node
    least: int
    most: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group. Groups count from 1 in the order of their opening parentheses."""

    node: Node
    name: str | None


@dataclass(frozen=True, slots=True)
class Assertion:
    """`^` start of the line, `$` end of the line, `b` a word boundary, `B` no word boundary."""

    kind: str


@dataclass(frozen=True, slots=True)
class Look:
    """A place where `node` matches right after it, or right before it (`behind`). With `negative` it must not match."""

    node: Node
    behind: bool
    negative: bool


@dataclass(frozen=True, slots=True)
class BackReference:
    """The text that a group matched last. If the group took no part in the match, this does not match."""

    group: int
    ignore_case: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first match of `node`; no other one is tried."""

    node: Node


Node = Text | Chars | Sequence | Choice | Repeat | Group | Assertion | Look | BackReference | Atomic


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed pattern: the tree, and the name (or None) of each capturing group.

    `backtracks` is True if the tree holds a Look, BackReference or Atomic, which need an engine that backtracks.
    """

    tree: Node
    group_names: tuple[str | None, ...] = ()
    backtracks: bool = False


def regular(node: Node) -> Node:
    """A tree without Look, BackReference and Atomic. It matches every line that `node` matches, and maybe others."""
    match node:
        case Look():
            return Sequence(())
        case BackReference():
            return _ANY_TEXT  # not the group's own tree: (((a)\1)\2)\3 would double with every level
        case Atomic(inner):
            return regular(inner)
        case Group(inner, name):
            return Group(regular(inner), name)
        case Repeat(inner, least, most, greedy):
            return Repeat(regular(inner), least, most, greedy)
        case Sequence(parts):
            return sequence([regular(part) for part in parts])
        case Choice(options):
            return Choice(tuple(map(regular, options)))
    return node


_ANY_TEXT = Repeat(Chars(characters.NOT_NEWLINE), 0, None, greedy=True)


def check_cost(tree: Node) -> None:
    if cost(tree, lambda ranges: len(characters.restrict_to_ascii(ranges))) > COST_MAX:
        raise PatternError(TOO_LARGE)


def cost(tree: Node, ranges_cost: Callable[[Ranges], int] = len) -> int:
    """About half the instructions RE2 needs for a tree. Raises PatternError if counts multiply to too much."""

    def of(node: Node, times: int) -> int:
        match node:
            case Text(text):
                return times * len(text)
            case Chars(ranges):
                return times * (ranges_cost(ranges) + 3)
            case Sequence(parts) | Choice(parts):
                return times + sum(of(part, times) for part in parts)
            case Group(inner, _) | Look(inner, _, _) | Atomic(inner):
                return times + of(inner, times)
            case Assertion():
                return times
            case BackReference():
                return of(_ANY_TEXT, times)
            case Repeat(inner, least, most, _):
                counted = max(least, 1) if most is None else max(most, 1)
                if least <= 1 and most in (None, 1):
                    counted = 1
                if times * counted > REPETITIONS_MAX:
                    raise PatternError(
                        f"nested repetition counts multiply to more than {REPETITIONS_MAX}: use smaller counts, `*` or `+`"
                    )
                return times + of(inner, times * counted)

    return of(tree, 1)


def newline_error(position: int) -> PatternError:
    return PatternError(
        "a match never spans lines, so a newline cannot be found: search for the text of one line"
        " (`^` and `$` match at the start and end of every line)",
        position,
    )


def one_of(ranges: Ranges, position: int) -> Node:
    """The node for a character of `ranges`, which a user wrote at `position`; never a newline. Raises PatternError."""
    searchable = characters.without_newline(ranges)
    if not searchable:
        if ranges:
            raise newline_error(position)
        raise PatternError("this class matches no character at all", position)
    first, last = searchable[0]
    return Text(chr(first)) if len(searchable) == 1 and first == last else Chars(searchable)


def sequence(parts: list[Node]) -> Node:
    """The sequence of `parts`, with neighbouring texts joined."""
    joined: list[Node] = []
    run: list[str] = []
    for part in parts:
        if isinstance(part, Text):
            run.append(part.text)
            continue
        if run:
            joined.append(Text("".join(run)))
            run.clear()
        joined.append(part)
    if run:
        joined.append(Text("".join(run)))
    return joined[0] if len(joined) == 1 else Sequence(tuple(joined))
