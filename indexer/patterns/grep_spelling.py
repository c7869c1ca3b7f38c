"""Spells a pattern's tree for grep.

Invariant: the spelling matches every line that the tree matches, and maybe more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.patterns.syntax import Assertion, Chars, Choice, Group, Node, Repeat, Sequence, Text

if TYPE_CHECKING:
    from ctxd.indexer.patterns.characters import Ranges

EXPRESSION_BYTES_MAX = 100_000  # Linux takes 131,071 bytes in one argument
COUNT_MAX = 16  # grep copies a repeated part; a larger count is spelled as 16, or as any number of times
CHARACTERS_MAX = 8  # non-ASCII characters of a class that are spelled one by one: the Kelvin sign beside k

_BEYOND_ASCII = b"[\x80-\xff]"
_SPECIAL = frozenset(rb"\.+*?()|[{^$")


class _Inexpressible(Exception):  # noqa: N818  # caught below
    pass


def arguments_of(tree: Node) -> list[bytes] | None:
    """The arguments with which grep finds every plain file in which `tree` matches; None if grep cannot do it."""
    try:
        if isinstance(tree, Text):
            kind, expression = b"--fixed-strings", tree.text.encode()
        else:
            kind, expression = b"--extended-regexp", _spelled(tree)
    except _Inexpressible:
        return None
    if b"\0" in expression or len(expression) > EXPRESSION_BYTES_MAX:
        return None
    return [kind, b"--regexp=" + expression]


def _spelled(node: Node) -> bytes:
    match node:
        case Text(text):
            return b"".join(map(_byte, text.encode()))
        case Chars(ranges):
            return _character(ranges)
        case Sequence(parts):
            return b"".join(map(_spelled, parts))
        case Choice(options):
            return b"(" + b"|".join(map(_spelled, options)) + b")"
        case Group(inner, _):
            return b"(" + _spelled(inner) + b")"
        case Assertion(kind):
            return kind.encode() if kind in "^$" else b""
        case Repeat(inner, least, most, _):
            if most == 0:
                return b""
            if most is None and isinstance(inner, Chars) and _reaches_beyond_ascii(inner.ranges):
                # Grep sees a run of characters as a run of bytes.
                return _class(_ascii(inner.ranges), more=b"\x80-\xff") + _counts(least, most)
            return b"(" + _spelled(inner) + b")" + _counts(least, most)
    raise _Inexpressible  # a node that was added to the syntax later


def _counts(least: int, most: int | None) -> bytes:
    least = min(least, COUNT_MAX)
    if most is None or most > COUNT_MAX:
        return {0: b"*", 1: b"+"}.get(least, b"{%d,}" % least)
    return b"?" if (least, most) == (0, 1) else b"{%d,%d}" % (least, most)


def _byte(byte: int) -> bytes:
    return b"\\%c" % byte if byte in _SPECIAL else bytes((byte,))


def _character(ranges: Ranges) -> bytes:
    options = [_class(members)] if (members := _ascii(ranges)) else []
    if _reaches_beyond_ascii(ranges):
        beyond = [(max(first, 0x80), last) for first, last in ranges if last >= 0x80]
        if sum(last - first + 1 for first, last in beyond) <= CHARACTERS_MAX:
            options += [chr(code).encode() for first, last in beyond for code in range(first, last + 1)]
        else:
            options.append(_BEYOND_ASCII + b"{2,4}")
    if not options:
        raise _Inexpressible  # the set matches nothing, and grep has no expression for that
    return options[0] if len(options) == 1 and members else b"(" + b"|".join(options) + b")"


def _reaches_beyond_ascii(ranges: Ranges) -> bool:
    return bool(ranges) and ranges[-1][1] >= 0x80


def _ascii(ranges: Ranges) -> set[int]:
    """The ASCII members that a plain file can hold and an argument can name."""
    members = {code for first, last in ranges if first < 0x80 for code in range(first, min(last, 0x7F) + 1)}
    return members - {0, 0x0A}


def _class(members: set[int], *, more: bytes = b"") -> bytes:
    """A bracket expression. It knows no escapes: a special character stands where it is not special."""
    if len(members) == 1 and not more:
        return _byte(*members)
    ordinary = sorted(members - set(b"]^-["))
    body = (b"]" if 0x5D in members else b"") + b"".join(_runs(ordinary)) + more + (b"[" if 0x5B in members else b"")
    if 0x5E in members:
        if not body:  # only `^` and perhaps `-`: a `^` in front would negate
            return b"[-^]"
        body += b"^"
    return b"[" + body + (b"-" if 0x2D in members else b"") + b"]"


def _runs(codes: list[int]) -> list[bytes]:
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][1] + 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return [b"%c-%c" % (first, last) if last > first + 1 else bytes(range(first, last + 1)) for first, last in runs]
