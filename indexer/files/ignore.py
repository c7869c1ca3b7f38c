"""Ignore files in git's syntax, read by us: `.ignore`, `.ctxdignore`, and `.gitignore` where git itself cannot be asked.

Invariant: a verdict is about one path whose parents are not ignored, as git's own is; whoever walks never enters an
ignored folder. Matching takes linear time whatever the file says (RE2). Equal to git's answers, quirks included.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

import re2

IGNORE_FILE_BYTES_MAX = 4 * 1024 * 1024  # git has no limit; a file above this is no list that a person keeps

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
    """Whether the line starts with "!" and takes paths back in."""
    folders_only: bool
    expression: str
    """RE2 text that the whole path must match; plain ASCII, other bytes are escapes."""


class IgnoreFile:
    """The rules of one file, for paths relative to its folder."""

    def __init__(self, data: bytes) -> None:
        self.rules = list(_parse(data))
        self._matchers = [_compile(rule.expression) for rule in self.rules]
        # Most paths match nothing: one look at all rules together settles them.
        self._any = None
        if len(self.rules) > 3:
            try:
                self._any = _compile("|".join(f"(?:{rule.expression})" for rule in self.rules))
            except re2.error:  # too many rules for one automaton
                self._any = None

    def match(self, path: bytes, *, is_folder: bool) -> Rule | None:
        """The rule that decides about a path, the last one that matches; None where no rule speaks of it."""
        if self._any is not None and self._any.fullmatch(path) is None:
            return None
        for rule, matcher in zip(reversed(self.rules), reversed(self._matchers), strict=True):
            if (is_folder or not rule.folders_only) and matcher.fullmatch(path) is not None:
                return rule
        return None


def read_ignore_file(path: bytes) -> IgnoreFile | None:
    """The rules of a regular file; None where there is none. A link is not followed, as git has it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(IGNORE_FILE_BYTES_MAX + 1)
    except OSError:
        return None
    return IgnoreFile(data) if len(data) <= IGNORE_FILE_BYTES_MAX else None


def _compile(expression: str) -> Any:
    return re2.compile(expression.encode("ascii"), _OPTIONS)


def _parse(data: bytes) -> list[Rule]:
    rules = []
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        line = raw.removesuffix(b"\r")
        if not line or line.startswith(b"#"):
            continue
        line = _without_trailing_spaces(line)
        pattern = line
        includes = pattern.startswith(b"!")
        if includes:
            pattern = pattern[1:]
        folders_only = pattern.endswith(b"/")
        if folders_only:
            pattern = pattern[:-1]
        expression = _path_expression(pattern) if b"/" in pattern else _name_expression(pattern)
        if expression is not None:
            rules.append(Rule(number, line, includes, folders_only, expression))
    return rules


def _without_trailing_spaces(line: bytes) -> bytes:
    """Cut spaces at the end; one after a backslash stays, and a lone backslash at the end keeps all."""
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
    # git compares the literal beginning by itself, and `**` right after it counts as the start of a pattern.
    return _glob_expression(pattern, wildcard.start() if wildcard else 0)


def _glob_expression(glob: bytes, start: int) -> str | None:
    """A glob of git's `wildmatch` as RE2 text; None where it can match nothing."""
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
                start = i  # git matches the rest as a pattern of its own
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
            out.append("[" + "".join(f"\\x{member:02x}" for member in sorted(members)) + "]")
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


def _bracket(glob: bytes, i: int) -> tuple[set[int], int] | None:
    """The bytes that the set at `glob[i]` stands for and where it ends; None where it is not closed or names no class."""
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
