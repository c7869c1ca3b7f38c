"""Spells a syntax tree so that both RE2 and Rust's regex (ripgrep) read it, or for Python's `re`.

Invariant: classes are explicit ranges and there are no flags, so that all engines read the same set of characters. They
differ only about word boundaries: RE2's is ASCII (see word_boundaries.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.patterns import characters
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
    from collections.abc import Callable, Mapping

    from ctxd.indexer.patterns.characters import Ranges

NOTHING = r"[^\x{0}-\x{10FFFF}]"  # only for RE2: Rust refuses an empty class

BOUNDARIES = {"b": r"\b", "B": r"\B"}
NO_BOUNDARIES = {"b": "", "B": ""}
"""Without boundaries every line that matches still does."""

_SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def spelled(
    node: Node,
    one_of: Callable[[Ranges], str],
    *,
    captures: bool = False,
    boundaries: Mapping[str, str] = BOUNDARIES,
) -> str:
    """`node` as a pattern for multi-line mode. `one_of` writes each set of characters, `boundaries` each word boundary.

    A tree with Look, BackReference or Atomic is for Python's `re` only.
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
                return boundaries.get(kind, kind)
            case Repeat(inner, least, most, greedy):
                repeated = write(inner) if isinstance(inner, Chars) else f"(?:{write(inner)})"
                return repeated + _counts(least, most) + ("" if greedy else "?")

            case Look(inner, behind, negative):
                sign = "!" if negative else "="
                if not behind:
                    return f"(?{sign}{write(inner)})"
                # `re` demands one length for the whole look-behind, the dialect one for each option: split the options.
                options = inner.options if isinstance(inner, Choice) else (inner,)
                looks = [f"(?<{sign}{write(option)})" for option in options]
                return "".join(looks) if negative else f"(?:{'|'.join(looks)})"
            case BackReference(group, ignore_case):
                return f"(?{'i' if ignore_case else ''}:\\{group})"
            case Atomic(inner):
                return f"(?>{write(inner)})"

    return write(node)


def spelled_for_re(node: Node, *, is_ascii: bool) -> str:
    r"""`node` for Python's `re` and a text of one line, ASCII or not.

    Spells `\b` out with look-around: `re` has another idea of a word, and its `\B` does not match in an empty text
    before Python 3.14.
    """
    one_of = _one_of_re_ascii if is_ascii else _one_of_re
    word = one_of(characters.word())
    ahead, behind, no_ahead, no_behind = f"(?={word})", f"(?<={word})", f"(?!{word})", f"(?<!{word})"
    boundaries = {
        "b": f"(?:{behind}{no_ahead}|{no_behind}{ahead})",
        "B": f"(?:{behind}{ahead}|{no_behind}{no_ahead})",
    }
    return spelled(node, one_of, captures=True, boundaries=boundaries)


def _one_of_re(ranges: Ranges) -> str:
    if _is_single(ranges):
        return _code_point(ranges[0][0])
    return f"[{''.join(f'{_code_point(first)}-{_code_point(last)}' for first, last in ranges)}]"


def _one_of_re_ascii(ranges: Ranges) -> str:
    return _one_of_re(characters.restrict_to_ascii(ranges) or _NO_CHARACTER)


_NO_CHARACTER = ((0xD800, 0xD800),)  # a surrogate is in no text; it is one character long, as a look-behind needs


def _code_point(code_point: int) -> str:
    char = chr(code_point)
    return char if char.isascii() and char.isalnum() else f"\\U{code_point:08x}"


def one_of_utf8(ranges: Ranges) -> str:
    return _single(ranges[0][0]) if _is_single(ranges) else f"[{characters.spelled(ranges)}]"


def one_of_ascii(ranges: Ranges) -> str:
    """`ranges` for a text known to be ASCII: a much smaller program, and RE2 finds caseless prefixes faster."""
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
