"""A compiled query. It finds matching lines of canonical text, and knows what to ask the trigram index and ripgrep.

Invariant: the matching lines depend on the syntax tree alone, not on the engine. Python's `re` never runs in this
process: it can hang on a user's pattern and hold the GIL, while RE2 takes linear time and releases it. A
BacktrackingPattern sends the work that RE2 cannot do to another process.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ctxd.indexer.patterns import grep_spelling, trigrams
from ctxd.indexer.patterns.dialect import parse_literal, parse_regex
from ctxd.indexer.patterns.engine import Spans, compiled
from ctxd.indexer.patterns.matching import JOB_SECONDS, MatchJob, MatchResult
from ctxd.indexer.patterns.spelling import NO_BOUNDARIES, one_of_ascii, one_of_utf8, spelled, spelled_for_re
from ctxd.indexer.patterns.syntax import (
    TOO_LARGE,
    Assertion,
    Chars,
    Choice,
    Group,
    Node,
    PatternError,
    Repeat,
    Sequence,
    Syntax,
    Text,
    cost,
    regular,
)
from ctxd.indexer.patterns.word_boundaries import BoundarySearch, has_boundaries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["BacktrackingPattern", "OutOfTime", "Pattern", "PatternError", "Worker", "compile_pattern"]

RG_PATTERN_BYTES_MAX = 100_000  # Linux takes 131,071 bytes in one argument
UTF8_COST_MAX = 16_000  # RE2 compiles it in 50 ms and holds the GIL: everything else waits
LINE_SHARE = 1 / 8  # of the time left, for one line: some runaway lines leave time for the others
JOB_SHARE = 1 / 2  # of the time left, for one job: a job that returns too late counts for nothing
MATCHES_AT_ONCE = 1_000  # of one line: about as many as an answer shows
ANY_CASE_CHARS_MAX = 20_000  # of a literal: RE2 compiles it in 0.1 s


class OutOfTime(Exception):  # noqa: N818  # a state of the search
    """Nobody waits any longer. The line that starts at offset `line_start` and all later ones were not looked at."""

    def __init__(self, line_start: int) -> None:
        super().__init__(line_start)
        self.line_start = line_start


@dataclass(frozen=True, slots=True)
class Worker:
    """Another process that matches lines for one query."""

    run: Callable[[MatchJob], MatchResult | None]
    """Returns None if nobody waits for the result any longer."""
    seconds_left: Callable[[], float]


def compile_pattern(query: str, *, is_regex: bool, case_sensitive: bool, worker: Worker | None = None) -> Pattern:
    """The pattern of a user's query; a literal if not `is_regex`. Raises PatternError.

    Without a `worker`, look-around, back-references and atomic groups are errors.
    """
    parse = parse_regex if is_regex else parse_literal
    syntax = parse(query, ignore_case=not case_sensitive)
    if not syntax.backtracks:
        return Pattern(syntax)
    if worker is None:
        raise PatternError("look-around, back-references and atomic groups are not possible here: write it without")
    return BacktrackingPattern(syntax, worker)


def literal_search(text: str, *, case_sensitive: bool) -> Callable[[bytes, int], Spans]:
    """A function that finds a literal in canonical text from an offset on. The literal may have several lines.

    Raises PatternError.
    """
    if case_sensitive:
        return _finder(text.encode())
    if len(text) > ANY_CASE_CHARS_MAX:
        raise PatternError(f"more than {ANY_CASE_CHARS_MAX:,} characters can be found only as they are, case included")
    lines = [parse_literal(line, ignore_case=True).tree if line else Text("") for line in text.split("\n")]
    return _compiled(r"\n".join(spelled(line, one_of_utf8) for line in lines))


class Pattern:
    """Safe to share between threads. All offsets are in bytes."""

    undecided = 0
    """The number of lines that took too long, so that matches may be missing. Only a BacktrackingPattern has some."""

    def __init__(self, syntax: Syntax) -> None:
        self._tree = syntax.tree
        self.group_names = syntax.group_names
        """The name of each group, None for one without."""
        self._has_boundaries = has_boundaries(syntax.tree)
        self._is_costly = cost(syntax.tree) > UTF8_COST_MAX
        r"""True if it costs too much over UTF-8, as `\w{20}` does. Then a BoundarySearch, which is cheap, searches the
        lines that are not ASCII."""
        self.trigrams = trigrams.plan(syntax.tree)
        self._required = _required_text(syntax.tree).encode()
        """Text that every match holds. Most files that the index names for a regular expression lack it."""

    def line_matches(self, text: bytes, start: int = 0) -> Iterator[tuple[int, int, int, int]]:
        """Each matching line of canonical `text` from `start` (a line start) on, and its first match. Lazy.

        Yields (line_start, line_end, match_start, match_end); the line excludes its newline.
        """
        first_required = text.find(self._required, start)
        if first_required < 0:
            return
        spans, is_exact = self._search_lines_of(text)
        end = len(text)
        position = max(start, text.rfind(b"\n", start, first_required) + 1)
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
        """True if any line of canonical `text` matches."""
        return next(self.line_matches(text), None) is not None

    def matches_in_line(self, line: bytes) -> Iterator[tuple[int, int]]:
        """Every non-overlapping match in one line; as in ripgrep, no empty one where another match just ended."""
        return (spans[0] for spans in self._spans_in_line(line))

    def occurrences(self, text: bytes) -> Iterator[tuple[int, Spans]]:
        """Every match in canonical `text`: the offset of its line, its span in the line, its groups' spans. Lazy."""
        for line_start, line_end, _, _ in self.line_matches(text):
            for spans in self._spans_in_line(text[line_start:line_end], captures=bool(self.group_names)):
                yield line_start, spans

    def _spans_in_line(self, line: bytes, *, captures: bool = False) -> Iterator[Spans]:
        search = self._search_line(line, captures=captures)
        position, previous_end = 0, -1
        while position <= len(line):
            spans = search(line, position)
            first, last = spans[0]
            if first < 0:
                return
            if first == last == previous_end:
                position = _next_char(line, last)
                continue
            yield spans
            previous_end = last
            position = last if first < last else _next_char(line, last)

    def groups(self, line: bytes) -> tuple[list[str | None], dict[str, str | None]]:
        """Texts of the groups and named groups of the first match in `line`; None for a group that took no part."""
        if not self.group_names:
            return [], {}
        spans = self._search_line(line, captures=True)(line, 0)
        return _group_texts(line, spans if spans[0][0] >= 0 else [], self.group_names)

    @cached_property
    def rg_narrowing_arguments(self) -> list[str] | None:
        r"""Arguments with which ripgrep names every plain file that matches, and maybe others; None if it cannot.

        Leaves word boundaries out: ripgrep may have another Unicode version, and its version 13 finds no `\b^` after an
        empty line.
        """
        # rg --crlf refuses a `\r` in a pattern, and no argument can hold a NUL. Every empty line matches `$^`, but
        # version 13 does not find it.
        if _names_any_of(self._tree, "\r\0") or self._is_costly or _asks_for_start_after_end(self._tree):
            return None
        if isinstance(self._tree, Text):
            arguments = ["--fixed-strings", "--case-sensitive", f"--regexp={self._tree.text}"]
        else:
            # By default rg refuses a program above 10 MB, which a pattern within our own bounds may need.
            regexp = spelled(self._tree, one_of_utf8, boundaries=NO_BOUNDARIES)
            arguments = ["--case-sensitive", "--regex-size-limit=1G", f"--regexp={regexp}"]
        return arguments if len(arguments[-1].encode()) <= RG_PATTERN_BYTES_MAX else None

    @cached_property
    def grep_arguments(self) -> list[bytes] | None:
        """Arguments with which grep names every plain file that matches, and maybe others; None if it cannot."""
        return grep_spelling.arguments_of(self._tree)

    def _search_lines_of(self, text: bytes) -> tuple[Callable[[bytes, int], Spans], bool]:
        """A function that finds the next match, and True if it is exact. If not, search each line found by itself."""
        if isinstance(self._tree, Text):
            return self._literal, True
        if text.isascii():
            return self._ascii, True
        if self._is_costly:
            return _every_line, False
        return (self._without_boundaries, False) if self._has_boundaries else (self._utf8, True)

    def _search_line(self, line: bytes, *, captures: bool = False) -> Callable[[bytes, int], Spans]:
        if isinstance(self._tree, Text):
            return self._literal
        if line.isascii():
            return self._ascii_with_groups if captures else self._ascii
        if self._has_boundaries or self._is_costly:
            return self._boundary_search.spans
        return self._utf8_with_groups if captures else self._utf8

    @cached_property
    def _literal(self) -> Callable[[bytes, int], Spans]:
        assert isinstance(self._tree, Text)
        return _finder(self._tree.text.encode())

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
        return _compiled(spelled(self._tree, one_of_utf8, boundaries=NO_BOUNDARIES))

    @cached_property
    def _boundary_search(self) -> BoundarySearch:
        return BoundarySearch(self._tree)


class BacktrackingPattern(Pattern):
    """A pattern with look-around, back-references or atomic groups.

    Its Pattern part leaves these out and finds every line that may match; a worker decides about these lines. For one
    query in one thread: `undecided` counts the lines that took too long.
    """

    def __init__(self, syntax: Syntax, worker: Worker) -> None:
        super().__init__(Syntax(regular(syntax.tree)))
        self.group_names = syntax.group_names
        self.trigrams = trigrams.plan(syntax.tree)
        self._whole_tree = syntax.tree
        self._worker = worker
        self._first_matches: dict[bytes, Spans] = {}
        """First matches of the lines decided last."""

    def line_matches(self, text: bytes, start: int = 0) -> Iterator[tuple[int, int, int, int]]:
        """As in Pattern; raises OutOfTime."""
        lines = [(line_start, line_end) for line_start, line_end, _, _ in super().line_matches(text, start)]
        while lines:
            raw = [text[line_start:line_end] for line_start, line_end in lines]
            result = self._run(raw)
            if result is None:
                raise OutOfTime(lines[0][0])
            self._first_matches = {raw[at]: matches[0] for at, matches in result.found}
            for at, ((first, last), *_) in [(at, matches[0]) for at, matches in result.found]:
                line_start, line_end = lines[at]
                yield line_start, line_end, line_start + first, line_start + last
            del lines[: result.looked_at]

    def matches_in_line(self, line: bytes) -> Iterator[tuple[int, int]]:
        """As in Pattern; fewer if it takes too long."""
        return (spans[0] for spans in self._spans_after(line, None))

    def occurrences(self, text: bytes) -> Iterator[tuple[int, Spans]]:
        """As in Pattern; fewer if it takes too long. Raises OutOfTime."""
        lines = [(line_start, line_end) for line_start, line_end, _, _ in super().line_matches(text)]
        while lines:
            raw = [text[line_start:line_end] for line_start, line_end in lines]
            result = self._run(raw, matches_max=MATCHES_AT_ONCE)
            if result is None:
                raise OutOfTime(lines[0][0])
            for at, matches in result.found:
                yield from ((lines[at][0], spans) for spans in matches)
                if len(matches) == MATCHES_AT_ONCE:
                    yield from ((lines[at][0], spans) for spans in self._spans_after(raw[at], matches[-1][0]))
            del lines[: result.looked_at]

    def _spans_after(self, line: bytes, after: tuple[int, int] | None) -> Iterator[Spans]:
        while True:
            result = self._run([line], matches_max=MATCHES_AT_ONCE, after=after)
            self.undecided += result is None
            found = result.found[0][1] if result is not None and result.found else []
            yield from found
            if len(found) < MATCHES_AT_ONCE or self.undecided:
                return
            after = found[-1][0]

    def groups(self, line: bytes) -> tuple[list[str | None], dict[str, str | None]]:
        """As in Pattern."""
        if not self.group_names:
            return [], {}
        if line not in self._first_matches:
            result = self._run([line])
            self._first_matches = {line: result.found[0][1][0]} if result is not None and result.found else {}
        return _group_texts(line, self._first_matches.get(line, []), self.group_names)

    def _run(
        self, lines: list[bytes], *, matches_max: int = 1, after: tuple[int, int] | None = None
    ) -> MatchResult | None:
        left = self._worker.seconds_left()
        if left <= 0:
            return None
        is_ascii = all(line.isascii() for line in lines)
        spelling = self._re_ascii if is_ascii else self._re
        result = self._worker.run(
            MatchJob(spelling, lines, left * LINE_SHARE, min(JOB_SECONDS, left * JOB_SHARE), matches_max, after)
        )
        if result is None:
            return None
        if result.looked_at == 0:
            raise PatternError(TOO_LARGE)
        self.undecided += len(result.undecided)
        return result

    @cached_property
    def _re_ascii(self) -> str:
        return spelled_for_re(self._whole_tree, is_ascii=True)

    @cached_property
    def _re(self) -> str:
        return spelled_for_re(self._whole_tree, is_ascii=False)


def _finder(needle: bytes) -> Callable[[bytes, int], Spans]:
    def spans(text: bytes, position: int) -> Spans:
        at = text.find(needle, position)
        return [(at, at + len(needle) if at >= 0 else -1)]

    return spans


def _every_line(_text: bytes, position: int) -> Spans:
    return [(position, position)]


def _group_texts(
    line: bytes, spans: Spans, names: tuple[str | None, ...]
) -> tuple[list[str | None], dict[str, str | None]]:
    """The result of Pattern.groups for the spans of a match; empty without a match."""
    if not spans:
        return [], {}
    texts = [None if first < 0 else line[first:last].decode() for first, last in spans[1:]]
    return texts, {name: text for name, text in zip(names, texts, strict=True) if name}


def _compiled(pattern: str) -> Callable[[bytes, int], Spans]:
    spans = compiled(f"(?m){pattern}".encode())
    if spans is None:  # the limits of syntax.py are meant to prevent it
        raise PatternError(TOO_LARGE)
    return spans


def _required_text(node: Node) -> str:
    """The longest text known to be in every match; may be empty."""
    match node:
        case Text(text):
            return text
        case Group(inner, _):
            return _required_text(inner)
        case Repeat(inner, least, _, _) if least > 0:
            return _required_text(inner)
        case Sequence(parts):
            return max(map(_required_text, parts), key=len, default="")
    return ""


def _next_char(line: bytes, at: int) -> int:
    at += 1
    while at < len(line) and line[at] & 0xC0 == 0x80:
        at += 1
    return at


def _names_any_of(node: Node, chars: str) -> bool:
    """True if some part of `node` can only match `chars`."""
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


def _asks_for_start_after_end(node: Node) -> bool:
    """True if a `^` may stand after a `$` in one match."""
    return _anchors_of(node, after_end=False)[1]


def _anchors_of(node: Node, *, after_end: bool) -> tuple[bool, bool]:
    """(a `$` stands in or before `node`, a `^` in `node` stands after a `$`)."""
    match node:
        case Assertion(kind):
            return after_end or kind == "$", after_end and kind == "^"
        case Sequence(parts):
            found = False
            for part in parts:
                after_end, one = _anchors_of(part, after_end=after_end)
                found |= one
            return after_end, found
        case Choice(options):
            each = [_anchors_of(option, after_end=after_end) for option in options]
            return any(one for one, _ in each), any(one for _, one in each)
        case Repeat(inner, _, most, _) if most != 1:
            # The second repetition stands after the first.
            once, _ = _anchors_of(inner, after_end=after_end)
            return _anchors_of(inner, after_end=once)
        case Group(inner, _) | Repeat(inner, _, _, _):
            return _anchors_of(inner, after_end=after_end)
    return after_end, False
