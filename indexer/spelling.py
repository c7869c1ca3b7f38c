"""A syntax tree in words that RE2 and Rust's regex (ripgrep) both know.

Invariant: classes are explicit ranges and there are no flags, so that both read the same set of characters. The word
boundary is the one thing they read differently: RE2's is ASCII (see word_boundaries.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer import characters
from ctxd.indexer.syntax import Assertion, Chars, Choice, Group, Node, Repeat, Sequence, Text

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.indexer.characters import Ranges

NOTHING = r"[^\x{0}-\x{10FFFF}]"  # only for RE2: Rust refuses an empty class

_SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def spelled(node: Node, one_of: Callable[[Ranges], str], *, captures: bool = False, boundaries: bool = True) -> str:
    r"""`node` as a pattern for multi-line mode, each set of characters written by `one_of`.

    Without `boundaries`, `\b` and `\B` are left out: every line that matches still does.
    """

    def write(node: Node) -> str:
        match node:
            case Text(text):
                return "".join([one_of(((ord(char), ord(char)),)) for char in text])
            case Chars(ranges):
                return one_of(ranges)
            case Sequence(parts):
                return "".join(map(write, parts))
            case Choice(options):
                return f"(?:{'|'.join(map(write, options))})"
            case Group(inner, name):
                return f"({_named(name)}{write(inner)})" if captures else f"(?:{write(inner)})"
            case Assertion(kind):
                return kind if kind in "^$" else f"\\{kind}" if boundaries else ""
            case Repeat(inner, least, most, greedy):
                repeated = write(inner) if isinstance(inner, Chars) else f"(?:{write(inner)})"
                return repeated + _counts(least, most) + ("" if greedy else "?")

    return write(node)


def one_of_utf8(ranges: Ranges) -> str:
    return _single(ranges[0][0]) if _is_single(ranges) else f"[{characters.spelled(ranges)}]"


def one_of_ascii(ranges: Ranges) -> str:
    """`ranges` where the text is known to be ASCII: a much smaller program, and RE2 finds caseless prefixes faster."""
    within = characters.restrict_to_ascii(ranges)
    return one_of_utf8(within) if within else NOTHING


def _is_single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _single(code_point: int) -> str:
    char = chr(code_point)
    if char in _SPECIAL:
        return "\\" + char
    return char if char.isprintable() else f"\\x{{{code_point:X}}}"


def _counts(least: int, most: int | None) -> str:
    match least, most:
        case 0, 1:
            return "?"
        case 0, None:
            return "*"
        case 1, None:
            return "+"
        case _, None:
            return f"{{{least},}}"
    return f"{{{least}}}" if least == most else f"{{{least},{most}}}"


def _named(name: str | None) -> str:
    return f"?P<{name}>" if name else ""
