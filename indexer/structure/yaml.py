"""Keys of YAML: nested block mappings and the flow collections in them. Read line by line: templates and half-written
files are not valid YAML, and a parser stops at their first error.

Invariant: lines that continue a value (block scalar, quoted text, plain text of several lines) are never read for keys.
"""

from __future__ import annotations

import re

from ctxd.indexer.structure import Sections, Structure
from ctxd.indexer.structure.flow import scan_flow, unquoted


def scan(text: bytes, _language: str = "yaml") -> Structure:
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.sections = Sections(text)
        self.open: list[tuple[int, int, int, bool]] = []
        """Keys and lists that the next line may lie in, outermost first: column; index of a key, or -1 for a list;
        innermost key; True if in a list."""
        self.awaiting = -1
        """The key whose value has not begun, or -1."""
        self.last = 0
        """End of the last text that is not a comment."""
        self.limits: dict[int, int] = {}
        self.unclosed = False
        """True once a value ran to the end of the text. No other may: broken text would take quadratic time."""

    def scan(self) -> Structure:
        at = 0
        while at < len(self.text):
            at = self._line(at)
        self._close(-1)
        return Structure(self.sections.found())

    def _line(self, line: int) -> int:
        """Read the entry that begins on a line, and return the start of the line after it."""
        text = self.text
        line_end = self._end_of_line(line)
        at = _after_blanks(text, line, line_end)
        if text.startswith((b"---", b"..."), line) and _MARK.match(text, line, line_end):
            self._close(-1)
            self.last = line + 3
            at = _after_blanks(text, line + 3, line_end)
        if at == line_end or text[at] == _HASH or (text[line] == _PERCENT and not self.open):
            return line_end + 1
        mark, column = b"", 0
        while found := _INDICATOR.match(text, at, line_end):
            column, mark = at - line, found[1]
            if mark == b"-":
                self._close(column, keep_key=True)
                self._begin(at)
                if not self.open or self.open[-1][:2] != (column, -1):
                    self._push(column, -1)
                self.last = at + 1
            elif mark == b":":
                self._close(column, keep_key=True)
                self.last = at + 1
            else:
                self._close(column)
                self._begin(at)
            at = found.end()
            if at == line_end or text[at] == _HASH:
                return line_end + 1
        if mark != b"?":  # an explicit key has the column of its "?"; its ":" will stand there, too
            column = at - line
        elif header := _BLOCK_SCALAR.match(text, at, line_end):
            end, after = self._deeper(line_end, column, comments_end=False)
            end = max(end, header.end(1))
            name = " ".join(text[header.end(1) : end].decode("utf-8", "replace").split())
            self._add(name, column, at, (at, end), end)
            return after
        if key := self._key(at, line_end, is_marked=mark == b"?"):
            name_start, name_end, word, end = key
            self._add(unquoted(word), column, at, (name_start, name_end), end)
            at = _after_blanks(text, end, line_end)
            if at == line_end or text[at] == _HASH:
                return line_end + 1
            self._begin(at)
        else:
            if not mark:
                self._close(column)
            self._begin(at)
        properties = _PROPERTIES.match(text, at, line_end)
        assert properties is not None  # it matches anything
        at, written = properties.end(), properties[0].rstrip()
        if written:
            self.last = properties.start() + len(written)
        if at == line_end or text[at] == _HASH:
            if self.open and self.open[-1][1] >= 0:
                self.awaiting = -1
            return line_end + 1
        indent = self.open[-1][0] if self.open else -1
        self.last, after = self._value(at, line_end, indent)
        return after

    def _key(self, at: int, line_end: int, *, is_marked: bool) -> tuple[int, int, bytes, int] | None:
        """Span and text of the key that begins at `at`, and the end of its colon. A key after "?" needs no colon."""
        text = self.text
        properties = _PROPERTIES.match(text, at, line_end)
        assert properties is not None
        at = properties.end()
        if quoted := _QUOTED_KEY.match(text, at, line_end):
            return quoted.start(1) + 1, quoted.end(1) - 1, quoted[1], quoted.end()
        if not _PLAIN_START.match(text, at, line_end):
            return None
        colon = _COLON.search(text, at, min(line_end, at + _KEY_BYTES_MAX))
        comment = _COMMENT.search(text, at, colon.start() if colon else line_end)
        if (colon is None or comment) and not is_marked:
            return None
        word = text[at : comment.start() if comment else colon.start() if colon else line_end].rstrip()
        return at, at + len(word), word, colon.end() if colon and not comment else at + len(word)

    def _value(self, at: int, line_end: int, indent: int) -> tuple[int, int]:
        """End of the value that begins at `at`, and start of the next line after it."""
        text = self.text
        first = text[at]
        if header := _BLOCK_SCALAR.match(text, at, line_end):
            end, after = self._deeper(line_end, indent, comments_end=False)
            return max(end, header.end(1)), after
        if first in b"\"'":
            string = _STRINGS[first].match(text, at, line_end)
            if string is None and not self.unclosed:
                limit = self._limit(line_end, indent)
                string = _STRINGS[first].match(text, at, limit)
                self.unclosed = string is None and limit >= len(text)
            if string is not None:
                return string.end(), self._end_of_line(string.end()) + 1
        elif first in b"[{":
            end = self._flow(at, line_end)
            if end < 0 and not self.unclosed:
                limit = self._limit(line_end, indent)
                end = self._flow(at, limit)
                self.unclosed = end < 0 and limit >= len(text)
            if end >= 0:
                return end, self._end_of_line(end) + 1
        comment = _COMMENT.search(text, at, line_end)
        end = at + len(text[at : comment.start() if comment else line_end].rstrip())
        if comment or not self.open or first in b"\"'[{":
            return end, line_end + 1
        more, after = self._deeper(line_end, indent, comments_end=True)
        return max(end, more), after

    def _flow(self, at: int, end: int) -> int:
        parent, in_list = self.open[-1][2:] if self.open else (-1, False)
        return scan_flow(self.text, at, end, _TOKENS, _names_of, self.sections, parent, in_list=in_list)

    def _limit(self, line_end: int, indent: int) -> int:
        """How far a quoted text or a bracketed collection may reach. Remembered: a search for each line would take
        quadratic time.
        """
        limit = self.limits.get(indent, -1)
        if limit <= line_end:
            limit = self.limits[indent] = self._deeper(line_end, indent, comments_end=False, closes=True)[1]
        return limit

    def _deeper(self, line_end: int, indent: int, *, comments_end: bool, closes: bool = False) -> tuple[int, int]:
        """End of the text in the deeper indented lines below, and start of the first line that is not deeper.

        With `closes`, a closing bracket may begin a line at any depth. With `comments_end`, a comment ends the text.
        """
        text = self.text
        end = -1
        line = line_end + 1
        while line < len(text):
            line_end = self._end_of_line(line)
            at = _after_blanks(text, line, line_end)
            if at < line_end:
                if (at - line <= indent and not (closes and text[at] in b"]}")) or (
                    text.startswith((b"---", b"..."), line) and _MARK.match(text, line, line_end)
                ):
                    break
                if comments_end and text[at] == _HASH:
                    break
                end = line + len(text[line:line_end].rstrip())
            line = line_end + 1
        return end, min(line, len(text))

    def _add(self, name: str, column: int, start: int, span: tuple[int, int], end: int) -> None:
        """Add a key whose colon ends at `end`."""
        self._close(column)
        self._begin(start)
        parent, in_list = self.open[-1][2:] if self.open else (-1, False)
        level = self.sections.level(parent) + 1 if parent >= 0 else 1
        self.awaiting = self.sections.add("key", (name,), level, start, span, end, parent, in_list=in_list)
        self.last = end
        self._push(column, self.awaiting)

    def _push(self, column: int, index: int) -> None:
        key, in_list = self.open[-1][2:] if self.open else (-1, False)
        self.open.append((column, index, index, in_list) if index >= 0 else (column, -1, key, True))

    def _begin(self, at: int) -> None:
        """Text begins at `at`. It is the value of the key that awaits one, if any."""
        if self.awaiting >= 0:
            self.sections.body(self.awaiting, at)
            self.awaiting = -1

    def _close(self, column: int, *, keep_key: bool = False) -> None:
        """End keys and lists at a column or right of it. `keep_key` keeps the key at that column, for its list or value."""
        while self.open and (self.open[-1][0] > column or (self.open[-1][0] == column and not keep_key)):
            index = self.open.pop()[1]
            if index >= 0:
                self.sections.end(index, self.last)
                if index == self.awaiting:
                    self.awaiting = -1

    def _end_of_line(self, at: int) -> int:
        end = self.text.find(b"\n", at)
        return end if end >= 0 else len(self.text)


def _after_blanks(text: bytes, at: int, end: int) -> int:
    return _BLANKS.match(text, at, end).end()  # pyright: ignore[reportOptionalMemberAccess]  # matches anything


def _names_of(word: bytes) -> tuple[str, ...]:
    return (unquoted(word),)


_HASH, _PERCENT = b"#%"
_KEY_BYTES_MAX = 1024  # YAML's own limit for a key without a mark
_BLANKS = re.compile(rb"[ \t\r]*+")
_MARK = re.compile(rb"(?:---|\.\.\.)(?=[ \t\r]|\Z)")
_INDICATOR = re.compile(rb"([-?:])(?:[ \t\r]++|\Z)")
_PROPERTIES = re.compile(rb"(?>[&!][^\s,\[\]{}]*+(?:[ \t\r]++|\Z))*+")
_QUOTED_KEY = re.compile(rb"(\"(?>[^\"\\\n]++|\\.)*+\"|'(?>[^'\n]++|'')*+')[ \t]*+:(?=[ \t\r]|\Z)")
_PLAIN_START = re.compile(rb"[^\s,\[\]{}#&!|>@`\"'%]")
_COLON = re.compile(rb":(?=[ \t\r]|\Z)")
_COMMENT = re.compile(rb"(?<=[ \t\r])#")
_BLOCK_SCALAR = re.compile(rb"([|>][-+0-9]{0,2})[ \t\r]*+(?:#.*)?\Z")
_STRINGS = {ord('"'): re.compile(rb"\"(?>[^\"\\]++|\\(?s:.))*+\""), ord("'"): re.compile(rb"'(?>[^']++|'')*+'")}
# A plain word may hold blanks, colons and hashes.
_TOKENS = re.compile(
    rb"(?P<word>\"(?>[^\"\\]++|\\(?s:.))*+\"|'(?>[^']++|'')*+'"
    rb"|[^\s,\[\]{}#:\"'](?>[^\s,\[\]{}:]++|:(?![\s,\[\]{}]|\Z)|[ \t]++(?![#\s,\[\]{}]))*+)"
    rb"|(?P<pair>:)|(?P<comma>,)|(?P<open>[{\[])|(?P<close>[}\]])|#[^\n]*+"
)
