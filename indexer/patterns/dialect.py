"""Parses the regular expression dialect of docs/patterns.md: a user's pattern becomes a syntax tree.

Invariant: a pattern means the same as in ripgrep, or it is a PatternError. Syntax that only some engines accept is
accepted if it can mean only one thing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxd.indexer.patterns import characters
from ctxd.indexer.patterns.syntax import (
    REPETITIONS_MAX,
    Assertion,
    Atomic,
    BackReference,
    Chars,
    Choice,
    Group,
    Look,
    Node,
    PatternError,
    Repeat,
    Sequence,
    Syntax,
    Text,
    check_cost,
    newline_error,
    one_of,
    sequence,
)

if TYPE_CHECKING:
    from ctxd.indexer.patterns.characters import Ranges

QUERY_CHARS_MAX = 100_000  # parsing takes 1 microsecond a character
DEPTH_MAX = 100  # each level costs a few Python frames in every walk over the tree


def parse_regex(pattern: str, *, ignore_case: bool) -> Syntax:
    """Parse a pattern of the dialect. Raises PatternError."""
    _check_query(pattern)
    parser = _Parser(pattern, _Flags(ignore_case=ignore_case))
    tree = parser.parse()
    check_cost(tree)
    return Syntax(tree, tuple(parser.group_names), parser.backtracks)


def parse_literal(text: str, *, ignore_case: bool) -> Syntax:
    """The tree that matches `text` itself. Raises PatternError."""
    _check_query(text)
    if "\n" in text:
        raise newline_error(text.index("\n"))
    if not ignore_case:
        return Syntax(Text(text))
    variants = {char: one_of(characters.with_case_variants(((ord(char), ord(char)),)), 0) for char in set(text)}
    tree = sequence([variants[char] for char in text])
    check_cost(tree)
    return Syntax(tree)


def _check_query(query: str) -> None:
    if not query:
        raise PatternError("the pattern is empty: give some text to search for", 0)
    if len(query) > QUERY_CHARS_MAX:
        raise PatternError(f"the pattern is longer than {QUERY_CHARS_MAX:,} characters: search for a part of it")
    for position, char in enumerate(query):
        if "\ud800" <= char <= "\udfff":
            raise PatternError("the pattern holds half a character (a lone surrogate): remove it", position)


@dataclass(frozen=True, slots=True)
class _Flags:
    ignore_case: bool = False
    swap_greed: bool = False
    extended: bool = False


_FLAGS = {"i": "ignore_case", "U": "swap_greed", "x": "extended"}

_EXTENDED_SPACE = "\t\n\v\f\r \x85\u200e\u200f\u2028\u2029"  # (?x) skips it: the property Pattern_White_Space

_CONTROL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}

_LOOKS = {"?=": (False, False), "?!": (False, True), "?<=": (True, False), "?<!": (True, True)}
"""(behind, negative)."""

_UNKNOWN_ESCAPES = {
    "Z": "write $ for the end of the line",
    "<": "write \\b for a word boundary, < for the character",
    ">": "write \\b for a word boundary, > for the character",
    "Q": "escape each special character with a backslash instead",
    "E": "escape each special character with a backslash instead",
    "R": "a match never spans lines; write $ for the end of the line",
    "K": "use a group and read its text",
    "h": "write [ \\t]",
    "k": "write \\k<name> for the text of a group",
}


class _Parser:
    def __init__(self, pattern: str, flags: _Flags) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = flags
        self.depth = 0
        self.group_names: list[str | None] = []
        self.closed: set[int] = set()
        """Numbers of the groups that a back-reference may name by now."""
        self.backtracks = False

    def parse(self) -> Node:
        tree = self._choice()
        if self.at < len(self.pattern):
            raise PatternError("unmatched `)`: write \\) for the character itself", self.at)
        return tree

    def _peek(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.pattern[at] if at < len(self.pattern) else ""

    def _choice(self) -> Node:
        options = [self._concatenation()]
        while self._peek() == "|":
            self.at += 1
            options.append(self._concatenation())
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _concatenation(self) -> Node:
        parts: list[Node] = []
        while True:
            self._skip_extended_space()
            if self._peek() in ("", "|", ")"):
                return sequence(parts)
            item = self._item()
            if item is None:
                self._skip_extended_space()
                if self._repetition() is not None:
                    raise PatternError("nothing to repeat: flags such as (?i) match no text", self.at)
                continue
            parts.append(self._repeated(item))

    def _skip_extended_space(self) -> None:
        while self.flags.extended and self._peek():
            if self._peek() in _EXTENDED_SPACE:
                self.at += 1
            elif self._peek() == "#":
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                return

    def _repeated(self, item: Node) -> Node:
        self._skip_extended_space()
        counts = self._repetition()
        if counts is None:
            return item
        greedy = not self.flags.swap_greed
        if self._peek() == "?":
            self.at += 1
            greedy = not greedy
        start = self.at
        self._skip_extended_space()
        if self._repetition() is not None:
            raise PatternError(
                "one repetition right after another: write (?:a*)+ to nest them, (?>a*) for a possessive one, \\* or \\+ for the"
                " character",
                start,
            )
        return Repeat(item, *counts, greedy)

    def _repetition(self) -> tuple[int, int | None] | None:
        """Read `?`, `*`, `+` or `{m,n}` if one is next, else return None. Any other `{` is an ordinary character."""
        char = self._peek()
        if char in ("?", "*", "+"):
            self.at += 1
            return {"?": (0, 1), "*": (0, None), "+": (1, None)}[char]
        following = self._peek(1)
        if char != "{" or not following or following not in "0123456789,":
            return None
        start = self.at
        end = self.pattern.find("}", start)
        least, comma, most = self.pattern[start + 1 : end].partition(",") if end > 0 else ("", "", "")
        low = _count(least)
        high = low if not comma else _count(most) if most else None
        if low is None or (most and high is None):
            raise PatternError(
                "repetition counts are written {3}, {3,} or {3,5}, and {0,5} for at most 5; write \\{ for the character",
                start,
            )
        if high is not None and high < low:
            raise PatternError(f"the repetition {{{low},{high}}} ends before it starts: swap the counts", start)
        if max(low, high or 0) > REPETITIONS_MAX:
            raise PatternError(f"a repetition count is at most {REPETITIONS_MAX}: use a smaller one, `*` or `+`", start)
        self.at = end + 1
        return low, high

    def _item(self) -> Node | None:
        """One item without its repetition; None after flags."""
        start = self.at
        char = self._peek()
        if char == "(":
            return self._group()
        if char == "[":
            return one_of(self._bracketed(), start)
        if char == "\\":
            return self._escape()
        if self._repetition() is not None:
            raise PatternError(f"nothing to repeat before `{char}`: write \\{char} for the character itself", start)
        self.at += 1
        if char == ".":
            return Chars(characters.NOT_NEWLINE)
        if char in "^$":
            return Assertion(char)
        return self._char(char, start)

    def _char(self, char: str, position: int) -> Node:
        if self.flags.ignore_case:
            return one_of(characters.with_case_variants(((ord(char), ord(char)),)), position)
        if char == "\n":
            raise newline_error(position)
        return Text(char)

    def _group(self) -> Node | None:
        start = self.at
        self.at += 1
        flags_before = self.flags
        if not self.pattern.startswith("?", self.at):
            return self._captured(None, start)
        for prefix, (behind, negative) in _LOOKS.items():
            if self.pattern.startswith(prefix, self.at):
                self.at += len(prefix)
                return self._look(start, behind=behind, negative=negative)
        if self.pattern.startswith("?>", self.at):
            self.at += 2
            self.backtracks = True
            return Atomic(self._inside(start))
        if self.pattern.startswith("?P=", self.at):
            return self._back_reference(self._name("=", ")"), start)
        if self.pattern.startswith(("?P<", "?<"), self.at):
            name = self._name("<", ">")
            if name in self.group_names:
                raise PatternError(f"two groups are named {name}: rename one", self.pattern.index("<", start) + 1)
            return self._captured(name, start)
        if self.pattern.startswith("?#", self.at):
            raise PatternError("(?#...) comments are not supported: leave the comment out", start)
        return self._inside(start, flags_before) if self._flags(start) else None

    def _inside(self, start: int, flags_after: _Flags | None = None) -> Node:
        """The rest of the group that starts at `start`, its parenthesis included; flags set inside end with it."""
        flags_after = flags_after or self.flags
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise PatternError(f"groups are nested deeper than {DEPTH_MAX}: flatten the pattern", start)
        node = self._choice()
        self.depth -= 1
        if self._peek() != ")":
            raise PatternError("this `(` is never closed: add `)`, or write \\( for the character itself", start)
        self.at += 1
        self.flags = flags_after
        return node

    def _captured(self, name: str | None, start: int) -> Node:
        self.group_names.append(name)
        number = len(self.group_names)
        group = Group(self._inside(start), name)
        self.closed.add(number)
        return group

    def _look(self, start: int, *, behind: bool, negative: bool) -> Node:
        self.backtracks = True
        node = self._inside(start)
        if behind:
            for option in node.options if isinstance(node, Choice) else (node,):
                if _width(option) is None:
                    raise PatternError(
                        "what a look-behind looks for has a fixed length: write each length as an option of its own, (?<=a|bc),"
                        " or put what varies in a group before",
                        start,
                    )
        return Look(node, behind, negative)

    def _back_reference(self, name: str, start: int) -> Node:
        """A reference to the group with a name or number. The reference itself is read by now."""
        number = int(name) if name.isdigit() else self.group_names.index(name) + 1 if name in self.group_names else 0
        if number not in self.closed:
            raise PatternError(f"there is no group {name} that ends before this back-reference to it", start)
        self.backtracks = True
        return BackReference(number, self.flags.ignore_case)

    def _name(self, opening: str, closing: str) -> str:
        """The name of a group between the next `opening` and `closing`."""
        start = self.pattern.index(opening, self.at) + 1
        end = self.pattern.find(closing, start)
        name = self.pattern[start:end] if end > 0 else ""
        if not (name.isascii() and name.isidentifier()):
            raise PatternError("a group name is letters, digits and _, as in (?P<name>...)", start)
        self.at = end + 1
        return name

    def _flags(self, group_start: int) -> bool:
        """Read `?ims-x:` or `?ims-x)`. Returns whether a group follows."""
        start = self.at
        flags, value, last = self.flags, True, ""
        while True:
            self.at += 1
            char = self._peek()
            if char in (":", ")") and last != "-" and (char == ":" or self.at > start + 1):
                self.at += 1
                self.flags = flags
                return char == ":"
            if char == "-" and value:
                value = False
            elif char in _FLAGS:
                flags = replace(flags, **{_FLAGS[char]: value})
            elif char not in ("m", "s"):  # no effect: `^` and `$` are about lines, nothing matches a newline
                raise PatternError(
                    "unknown group: write (?:...) or (?P<name>...), or flags among i, m, s, U, x such as (?i) or (?i:...)",
                    group_start,
                )
            last = char

    def _escape(self) -> Node:
        start = self.at
        char = self._peek(1)
        if char in ("b", "B"):
            self.at += 2
            if self.pattern.startswith("{", self.at) and not self._peek(1).isdigit():
                raise PatternError("\\b{...} is not supported: write \\b, or \\b\\{ before a brace", start)
            return Assertion(char)
        if char in ("A", "z"):  # each line is searched by itself, as in ripgrep
            self.at += 2
            return Assertion("^" if char == "A" else "$")
        if char and char in "123456789":
            self.at += 2
            if self._peek().isdigit():
                raise PatternError(f"\\{char}{self._peek()} is ambiguous: write (?:\\{char}), or name the group", start)
            return self._back_reference(char, start)
        if char == "k" and self._peek(2) == "<":
            return self._back_reference(self._name("<", ">"), start)
        ranges = self._escaped_class()
        if ranges is not None:
            return one_of(ranges, start)
        return self._char(self._escaped_char(in_class=False), start)

    def _escaped_class(self) -> Ranges | None:
        r"""Read `\d`, `\W`, `\pL`, `\p{Greek}` or the like; None if none is next."""
        start = self.at
        char = self._peek(1)
        if not char or char not in "dDsSwWpP":
            return None
        self.at += 2
        negated = char.isupper()
        if char in "dD":
            ranges = characters.digit()
        elif char in "sS":
            ranges = characters.SPACE
        elif char in "wW":
            ranges = characters.word()
        else:
            name = self._peek()
            self.at += 1
            if name == "{":
                end = self.pattern.find("}", self.at)
                name = self.pattern[self.at : end] if end > 0 else ""
                self.at = end + 1
                if name.startswith("^"):
                    negated, name = not negated, name[1:]
            found = characters.unicode_class(name) if name else None
            if found is None:
                raise PatternError(
                    "unknown Unicode class: write a general category such as \\p{Lu} or a script such as \\p{Greek}",
                    start,
                )
            ranges = characters.with_case_variants(found) if self.flags.ignore_case else found
        return characters.complement(ranges) if negated else ranges

    def _escaped_char(self, *, in_class: bool) -> str:
        start = self.at
        char = self._peek(1)
        self.at += 2
        if not char:
            raise PatternError("the pattern ends in a backslash: write \\\\ for the character itself", start)
        if char in _CONTROL:
            return _CONTROL[char]
        if char in "xuU":
            return self._code_point({"x": 2, "u": 4, "U": 8}[char], start)
        if char == "0":
            raise PatternError("octal escapes are not supported: write \\x00", start)
        if char.isdigit():
            raise PatternError("a back-reference is no character: write it outside the brackets", start)
        if char in "bB" and in_class:
            raise PatternError(f"\\{char} has no meaning in brackets: write \\x08 for a backspace", start)
        if char in _UNKNOWN_ESCAPES or not char.isascii() or char.isalnum() or char == "_":
            hint = _UNKNOWN_ESCAPES.get(char, f"write {char} for the character itself")
            raise PatternError(f"unknown escape \\{char}: {hint}", start)
        return char

    def _code_point(self, digits: int, start: int) -> str:
        if self._peek() == "{":
            end = self.pattern.find("}", self.at)
            digits_text = self.pattern[self.at + 1 : end] if end > 0 else ""
            self.at = end + 1
        else:
            digits_text = self.pattern[self.at : self.at + digits]
            self.at += digits
            if len(digits_text) < digits:
                digits_text = ""
        if not digits_text or len(digits_text) > 8 or any(d not in "0123456789abcdefABCDEF" for d in digits_text):
            raise PatternError("a character's number is written in hexadecimal: \\x41, \\u0041 or \\x{1F600}", start)
        number = int(digits_text, 16)
        if not characters.contains(characters.CODABLE, number):
            raise PatternError(f"there is no character {digits_text}: the last one is 10FFFF", start)
        return chr(number)

    def _bracketed(self) -> Ranges:
        """Read `[...]`. A `]` or `-` that cannot mean anything else is a character."""
        start = self.at
        self.at += 1
        negated = self._peek() == "^"
        self.at += negated
        found: list[tuple[int, int]] = []
        first = True
        while first or self._peek() != "]":
            if self.flags.extended and self._peek() and self._peek() in _EXTENDED_SPACE + "#":
                self._skip_extended_space()
                continue
            item_start = self.at
            low = self._bracket_item(start)
            first = False
            if self._peek() != "-" or self._peek(1) in ("]", ""):
                found += low if isinstance(low, tuple) else ((ord(low), ord(low)),)
                continue
            self.at += 1
            high = self._bracket_item(start)
            if isinstance(low, tuple) or isinstance(high, tuple):
                raise PatternError("a range needs a character at both ends: put the - last, as in [\\w.-]", item_start)
            if low > high:
                raise PatternError(f"the range {low}-{high} is the wrong way round: write {high}-{low}", item_start)
            found.append((ord(low), ord(high)))
        self.at += 1
        ranges = characters.union(found)
        if self.flags.ignore_case:
            ranges = characters.with_case_variants(ranges)
        return characters.complement(ranges) if negated else ranges

    def _bracket_item(self, bracket_start: int) -> str | Ranges:
        start = self.at
        char = self._peek()
        if not char:
            raise PatternError(
                "this `[` is never closed: add `]`, or write \\[ for the character itself", bracket_start
            )
        if char == "[":
            return self._posix_class()
        if char in "&-~" and self._peek(1) == char:
            raise PatternError(
                f"`{char}{char}` in brackets means different things to different tools: write \\{char}", start
            )
        if char == "\\":
            ranges = self._escaped_class()
            return self._escaped_char(in_class=True) if ranges is None else ranges
        self.at += 1
        return char

    def _posix_class(self) -> Ranges:
        start = self.at
        end = self.pattern.find(":]", start + 2)
        name = self.pattern[start + 2 : end] if self._peek(1) == ":" and end > 0 else ""
        ranges = characters.posix_class(name.removeprefix("^"))
        if ranges is None:
            raise PatternError(
                "`[` inside brackets: write \\[ for the character, or a class such as [[:alpha:]]", start
            )
        self.at = end + 2
        if not name.startswith("^"):
            return ranges
        return characters.complement(characters.with_case_variants(ranges) if self.flags.ignore_case else ranges)


def _count(digits: str) -> int | None:
    if not (digits.isascii() and digits.isdigit()):
        return None
    return int(digits) if len(digits) < 10 else REPETITIONS_MAX + 1


def _width(node: Node) -> int | None:
    """The number of characters that `node` matches; None if it varies."""
    match node:
        case Text(text):
            return len(text)
        case Chars():
            return 1
        case Assertion() | Look():
            return 0
        case Group(inner, _) | Atomic(inner):
            return _width(inner)
        case Sequence(parts):
            widths = [_width(part) for part in parts]
            return None if None in widths else sum(width for width in widths if width is not None)
        case Choice(options):
            distinct = {_width(option) for option in options}
            return distinct.pop() if len(distinct) == 1 else None
        case Repeat(inner, least, most, _):
            width = _width(inner)
            return 0 if width == 0 else least * width if width is not None and least == most else None
    return None
