"""A compiled query: finds matching lines of canonical text, and knows what to ask the trigram index and ripgrep for.

Invariant: which lines match depends on the syntax tree alone, not on the engine that happens to look. Python's `re` is
not among them: it can hang on a user's pattern with the GIL held, where RE2 takes linear time without it.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ctxd.indexer import grep, trigrams
from ctxd.indexer.dialect import parse_literal, parse_regex
from ctxd.indexer.engine import Spans, compiled
from ctxd.indexer.spelling import one_of_ascii, one_of_utf8, spelled
from ctxd.indexer.syntax import (
    TOO_LARGE,
    Chars,
    Choice,
    Group,
    Node,
    PatternError,
    Repeat,
    Sequence,
    Syntax,
    Text,
)
from ctxd.indexer.word_boundaries import BoundarySearch, has_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Pattern", "PatternError", "compile_pattern"]

RG_PATTERN_BYTES_MAX = 100_000  # Linux takes 131,071 bytes in one argument


def compile_pattern(query: str, *, is_regex: bool, case_sensitive: bool) -> Pattern:
    """The pattern of a user's query; a literal where not `is_regex`. Raises PatternError."""
    parse = parse_regex if is_regex else parse_literal
    return Pattern(parse(query, ignore_case=not case_sensitive))


class Pattern:
    """Safe to share between threads. All offsets are in bytes."""

    def __init__(self, syntax: Syntax) -> None:
        self._tree = syntax.tree
        self._group_names = syntax.group_names
        self._has_boundaries = has_boundaries(syntax.tree)
        self.trigrams = trigrams.plan(syntax.tree)

    def line_matches(self, text: bytes, start: int = 0) -> Iterator[tuple[int, int, int, int]]:
        """Each matching line of canonical `text` from `start` (a line start) on, and its first match.

        Yields (line_start, line_end, match_start, match_end), the line without its newline. Lazy.
        """
        spans, is_exact = self._search_lines_of(text)
        end = len(text)
        position = start
        while position < end:
            match_start, match_end = spans(text, position)[0]
            if match_start < 0 or (match_start == end and text.endswith(b"\n")):
                return
            line_start = text.rfind(b"\n", position, match_start) + 1 or position
            line_end = text.find(b"\n", match_start)
            if line_end < 0:
                line_end = end
            if is_exact:
                yield line_start, line_end, match_start, match_end
            else:
                line = text[line_start:line_end]
                first, last = self._search_line(line)(line, 0)[0]
                if first >= 0:
                    yield line_start, line_end, line_start + first, line_start + last
            position = line_end + 1

    def search(self, text: bytes) -> bool:
        """Whether any line of canonical `text` matches."""
        return next(self.line_matches(text), None) is not None

    def matches_in_line(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Every non-overlapping match in one line; as in ripgrep, no empty one where another match just ended."""
        spans = self._search_line(line)
        position, previous_end = 0, -1
        while position <= len(line):
            first, last = spans(line, position)[0]
            if first < 0:
                return
            if first == last == previous_end:
                position = _next_char(line, last)
                continue
            yield first, last
            previous_end = last
            position = last if first < last else _next_char(line, last)

    def groups(self, line: bytes) -> tuple[list[str | None], dict[str, str | None]]:
        """Text of the groups and of the named groups of the first match in `line`; None for a group that took no part."""
        if not self._group_names:
            return [], {}
        spans = self._search_line(line, captures=True)(line, 0)
        if spans[0][0] < 0:
            return [], {}
        texts = [None if first < 0 else line[first:last].decode() for first, last in spans[1:]]
        return texts, {name: text for name, text in zip(self._group_names, texts, strict=True) if name}

    @property
    def rg_arguments(self) -> list[str] | None:
        r"""Arguments that give ripgrep 13 and later this very pattern; None where it cannot have it.

        For files of valid UTF-8 without `\r` and NUL; no file arguments, no output flags.
        """
        return self._rg_arguments(boundaries=True)

    @cached_property
    def rg_narrowing_arguments(self) -> list[str] | None:
        r"""Arguments with which ripgrep names every plain file that matches, and maybe others; None where it cannot.

        Without word boundaries: ripgrep's Unicode may be of another year, and version 13 finds no `\b^` after an empty line.
        """
        return self._rg_arguments(boundaries=False)

    def _rg_arguments(self, *, boundaries: bool) -> list[str] | None:
        # rg --crlf refuses a `\r` in a pattern, and no argument can hold a NUL.
        if _names_any_of(self._tree, "\r\0"):
            return None
        if isinstance(self._tree, Text):
            arguments = ["--fixed-strings", "--case-sensitive", f"--regexp={self._tree.text}"]
        else:
            # rg refuses above 10 MB what is within our own bounds.
            regexp = spelled(self._tree, one_of_utf8, boundaries=boundaries)
            arguments = ["--case-sensitive", "--regex-size-limit=1G", f"--regexp={regexp}"]
        return arguments if len(arguments[-1].encode()) <= RG_PATTERN_BYTES_MAX else None

    @cached_property
    def grep_arguments(self) -> list[bytes] | None:
        """Arguments with which grep names every plain file that matches, and maybe others; None where it cannot."""
        return grep.arguments_of(self._tree)

    def _search_lines_of(self, text: bytes) -> tuple[Callable[[bytes, int], Spans], bool]:
        """What finds the next match, and whether it is one: otherwise each line found must be searched by itself."""
        if isinstance(self._tree, Text):
            return self._literal, True
        if text.isascii():
            return self._ascii, True
        return (self._without_boundaries, False) if self._has_boundaries else (self._utf8, True)

    def _search_line(self, line: bytes, *, captures: bool = False) -> Callable[[bytes, int], Spans]:
        if isinstance(self._tree, Text):
            return self._literal
        if line.isascii():
            return self._ascii_with_groups if captures else self._ascii
        if self._has_boundaries:
            return self._boundary_search.spans
        return self._utf8_with_groups if captures else self._utf8

    @cached_property
    def _literal(self) -> Callable[[bytes, int], Spans]:
        assert isinstance(self._tree, Text)
        needle = self._tree.text.encode()

        def spans(text: bytes, position: int) -> Spans:
            at = text.find(needle, position)
            return [(at, at + len(needle) if at >= 0 else -1)]

        return spans

    @cached_property
    def _ascii(self) -> Callable[[bytes, int], Spans]:
        return _compiled(spelled(self._tree, one_of_ascii))

    @cached_property
    def _ascii_with_groups(self) -> Callable[[bytes, int], Spans]:
        return _compiled(spelled(self._tree, one_of_ascii, captures=True))

    @cached_property
    def _utf8(self) -> Callable[[bytes, int], Spans]:
        return _compiled(spelled(self._tree, one_of_utf8))

    @cached_property
    def _utf8_with_groups(self) -> Callable[[bytes, int], Spans]:
        return _compiled(spelled(self._tree, one_of_utf8, captures=True))

    @cached_property
    def _without_boundaries(self) -> Callable[[bytes, int], Spans]:
        return _compiled(spelled(self._tree, one_of_utf8, boundaries=False))

    @cached_property
    def _boundary_search(self) -> BoundarySearch:
        return BoundarySearch(self._tree)


def _compiled(pattern: str) -> Callable[[bytes, int], Spans]:
    spans = compiled(f"(?m){pattern}".encode())
    if spans is None:  # the limits of syntax.py are meant to prevent it
        raise PatternError(TOO_LARGE)
    return spans


def _next_char(line: bytes, at: int) -> int:
    at += 1
    while at < len(line) and line[at] & 0xC0 == 0x80:
        at += 1
    return at


def _names_any_of(node: Node, chars: str) -> bool:
    """Whether some part of `node` can match nothing but `chars`."""
    match node:
        case Text(text):
            return any(char in text for char in chars)
        case Chars(ranges):
            return all(first == last and chr(first) in chars for first, last in ranges)
        case Sequence(parts) | Choice(parts):
            return any(_names_any_of(part, chars) for part in parts)
        case Group(inner, _) | Repeat(inner, _, _, _):
            return _names_any_of(inner, chars)
    return False
