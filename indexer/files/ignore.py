"""Reads ignore files in git's syntax: `.ignore`, `.ctxdignore`, and `.gitignore` where git itself cannot be asked.

Invariant: as in git, a verdict is about one path whose parents are not ignored; the walker never enters an ignored
folder. Matching takes linear time for any rules (RE2). The answers equal git's, quirks included.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import re2

from ctxd.indexer.decode import Unreadable
from ctxd.indexer.project_file import WORDS, read_small

if TYPE_CHECKING:
    from collections.abc import Iterator

IGNORE_FILE_BYTES_MAX = 4 << 20  # git has no limit; nobody keeps a list larger than this
RULES_MAX = 10_000
"""Of one file: 10,000 cost 0.1 ms a path, 100,000 cost 7 ms. The largest lists that people keep have a thousand."""
EXPRESSION_CHARS_MAX = 32 << 10  # of one pattern as RE2 text: a path of 4,096 bytes takes 16,000
EXPRESSIONS_CHARS_MAX = 1 << 20  # of one file: a set such as [!a] takes 0.1 ms
_BLOCK_RULES = 100  # matched at once; RE2 gives up on thousands, and logs a line for each
_BLOCK_CHARS = 16 << 10

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1  # one character a byte: names are bytes
_OPTIONS.dot_nl = True
_OPTIONS.log_errors = False

_WILDCARD = re.compile(rb"[*?\[\\]")
_CLASSES = {
    b"alnum": rb"[A-Za-z0-9]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x00-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[\x21-\x7e]",
    b"lower": rb"[a-z]",
    b"print": rb"[\x20-\x7e]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t-\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[0-9A-Fa-f]",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of an ignore file. `pattern` is as written, `line` 1-based."""

    line: int
    pattern: bytes
    includes: bool
    """True if the line starts with "!" and takes paths back in."""
    folders_only: bool
    expression: str
    """RE2 text that the whole path must match; plain ASCII, other bytes are escaped."""


class IgnoreFile:
    """The rules of one file, for paths relative to its folder."""

    def __init__(self, data: bytes, problem: str | None = None) -> None:
        self.rules, left_out = _parse(data)
        self.problem = problem or left_out
        """The part of the file that does not count, and why; None if all of it counts."""
        self._blocks = list(_blocks(self.rules))

    def match(self, path: bytes, *, is_folder: bool) -> Rule | None:
        """The rule that decides about a path: the last one that matches; None if none does."""
        for block in reversed(self._blocks):
            rule = block.match(path, is_folder=is_folder)
            if rule is not None:
                return rule
        return None


class _Block:
    """Consecutive rules. Most paths match none of them: a single match against all of them together shows that."""

    def __init__(self, rules: list[Rule]) -> None:
        self._rules = rules
        self._matchers: list[Any] = []
        self._any = None
        with contextlib.suppress(re2.error):  # too large for one automaton
            self._any = _compile("|".join(f"(?:{rule.expression})" for rule in rules))

    def match(self, path: bytes, *, is_folder: bool) -> Rule | None:
        if self._any is not None and self._any.fullmatch(path) is None:
            return None
        if not self._matchers:
            self._matchers = [_compile_one(rule.expression) for rule in self._rules]
        for rule, matcher in zip(reversed(self._rules), reversed(self._matchers), strict=True):
            if (is_folder or not rule.folders_only) and matcher is not None and matcher.fullmatch(path) is not None:
                return rule
        return None


def _blocks(rules: list[Rule]) -> Iterator[_Block]:
    block: list[Rule] = []
    chars = 0
    for rule in rules:
        if block and (len(block) == _BLOCK_RULES or chars + len(rule.expression) > _BLOCK_CHARS):
            yield _Block(block)
            block, chars = [], 0
        block.append(rule)
        chars += len(rule.expression)
    if block:
        yield _Block(block)


def read_ignore_file(folder: bytes, name: bytes) -> IgnoreFile | None:
    """The rules of a file in a folder; None if the file is missing. Follows no link, as git does."""
    try:
        return IgnoreFile(read_small(folder, name, IGNORE_FILE_BYTES_MAX))
    except Unreadable as error:
        return (
            None if error.reason == "missing" else IgnoreFile(b"", f"{WORDS[error.reason]}; its patterns do not count")
        )


def _compile(expression: str) -> Any:
    return re2.compile(expression.encode("ascii"), _OPTIONS)


def _compile_one(expression: str) -> Any:
    """None if it is too large for RE2: such a rule matches nothing."""
    try:
        return _compile(expression)
    except re2.error:
        return None


def _parse(data: bytes) -> tuple[list[Rule], str | None]:
    """The rules of a file, and the part of it that does not count."""
    rules: list[Rule] = []
    chars = too_long = 0
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = raw.removesuffix(b"\r")
        if not line or line.startswith(b"#"):
            continue
        if len(rules) == RULES_MAX or chars > EXPRESSIONS_CHARS_MAX:
            return rules, f"only its patterns above line {number} count: more are too many"
        line = _without_trailing_spaces(line)
        pattern = line
        includes = pattern.startswith(b"!")
        if includes:
            pattern = pattern[1:]
        folders_only = pattern.endswith(b"/")
        if folders_only:
            pattern = pattern[:-1]
        expression = _path_expression(pattern) if b"/" in pattern else _name_expression(pattern)
        if expression is None:
            continue
        if len(expression) > EXPRESSION_CHARS_MAX:
            too_long = too_long or number
            continue
        chars += len(expression)
        rules.append(Rule(number, line, includes, folders_only, expression))
    return rules, f"line {too_long}: the pattern is too long, and does not count" if too_long else None


def _without_trailing_spaces(line: bytes) -> bytes:
    """Cut spaces at the end. One after a backslash stays; after a lone backslash at the end nothing is cut."""
    end, i = None, 0
    while i < len(line):
        if line[i] == 0x20:
            end = i if end is None else end
        else:
            end = None
            if line[i] == 0x5C:
                i += 1
                if i == len(line):
                    return line
        i += 1
    return line if end is None else line[:end]


def _name_expression(pattern: bytes) -> str | None:
    if not pattern:
        return None
    body = _glob_expression(pattern, 0)
    return None if body is None else "(?:.*/)?" + body


def _path_expression(pattern: bytes) -> str | None:
    pattern = pattern.removeprefix(b"/")
    wildcard = _WILDCARD.search(pattern)
    # git compares the literal beginning by itself. A `**` right after it counts as the start of a pattern.
    return _glob_expression(pattern, wildcard.start() if wildcard else 0)


def _glob_expression(glob: bytes, start: int) -> str | None:
    """A glob of git's `wildmatch` as RE2 text; None if it can match nothing."""
    out: list[str] = []
    i, end = 0, len(glob)
    while i < end:
        byte = glob[i]
        if byte == 0x2A:  # *
            first = i
            while i < end and glob[i] == 0x2A:
                i += 1
            opens = first <= start or glob[first - 1] == 0x2F
            closes = i == end or glob[i] == 0x2F or glob[i : i + 2] == b"\\/"
            if i - first < 2 or not (opens and closes):
                out.append("[^/]*")
            elif i < end and glob[i] == 0x2F:
                out.append("(?:.*/)?")
                i += 1
                start = i  # git matches the rest as a separate pattern
            else:
                out.append(".*")
            continue
        if byte == 0x3F:  # ?
            out.append("[^/]")
        elif byte == 0x5B:  # [
            found = _bracket(glob, i)
            if found is None:
                return None
            members, i = found
            members.discard(0x2F)
            if not members:
                return None
            out.append(_set_expression(members))
            continue
        else:
            if byte == 0x5C:  # \
                i += 1
                if i == end:
                    return None
                byte = glob[i]
            out.append(f"\\x{byte:02x}")
        i += 1
    return "".join(out)


def _set_expression(members: set[int]) -> str:
    others = set(range(256)) - members
    inverted = 0 < len(others) < len(members)
    written = "".join(f"\\x{member:02x}" for member in sorted(others if inverted else members))
    return f"[^{written}]" if inverted else f"[{written}]"


def _bracket(glob: bytes, i: int) -> tuple[set[int], int] | None:
    """The bytes that the set at `glob[i]` stands for, and its end; None if it is not closed or a class is unknown."""
    members: set[int] = set()
    i += 1
    end = len(glob)
    negated = i < end and glob[i] in b"!^"
    if negated:
        i += 1
    previous = 0
    first = True
    while True:
        if i >= end:
            return None
        byte = glob[i]
        if byte == 0x5D and not first:  # ]
            break
        first = False
        if byte == 0x5C:  # \
            i += 1
            if i >= end:
                return None
            previous = glob[i]
            members.add(previous)
        elif byte == 0x2D and previous and i + 1 < end and glob[i + 1] != 0x5D:  # -
            i += 1
            last = glob[i]
            if last == 0x5C:
                i += 1
                if i >= end:
                    return None
                last = glob[i]
            members.update(range(previous, last + 1))
            previous = 0
        elif byte == 0x5B and i + 1 < end and glob[i + 1] == 0x3A:  # [:
            close = glob.find(b"]", i + 2)
            if close < 0:
                return None
            if close - 1 < i + 2 or glob[close - 1] != 0x3A:  # no ":]": the bracket is an ordinary member
                previous = byte
                members.add(byte)
            else:
                name = _CLASSES.get(glob[i + 2 : close - 1])
                if name is None:
                    return None
                members.update(b for b in range(256) if re.match(name, bytes((b,))))
                previous = 0
                i = close
        else:
            previous = byte
            members.add(byte)
        i += 1
    return (set(range(256)) - members if negated else members), i + 1
