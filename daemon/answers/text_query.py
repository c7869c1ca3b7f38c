"""The shared part of tools that search text: compile the query, run it, page through matching lines, report coverage.

Invariant: tools differ only in names, shapes and defaults. This module alone decides which lines match, their order and number.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.daemon.answers.page import Page, cut
from ctxd.daemon.errors import ToolError
from ctxd.daemon.tool import Call
from ctxd.indexer.patterns.glob import GlobError, PathFilter, hidden_filter, hidden_words_filter, path_list_filter
from ctxd.indexer.patterns.pattern import Pattern, PatternError, Worker, compile_pattern
from ctxd.indexer.text.text_search import FileMatches, Search

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxd.daemon.projects.view import View
    from ctxd.indexer.files.scope import Scope


@dataclass(frozen=True, slots=True)
class Line:
    """One matching line. Offsets are in the file's canonical text, which also gives the lines around it."""

    found: FileMatches
    start: int
    end: int
    match_start: int
    match_end: int

    @property
    def number(self) -> int:
        return self.found.number_of(self.start)

    @property
    def raw(self) -> bytes:
        return self.found.text[self.start : self.end]

    def content(self) -> tuple[str, bool]:
        """The line, cut around its match if it is very long, and whether it was cut."""
        before = len(self.found.text[self.start : self.match_start].decode())
        return cut(self.raw.decode(), before, before + len(self._match()))

    def match(self) -> tuple[str, bool]:
        """The text of its first match, and whether that was cut."""
        return cut(self._match(), 0, 0)

    def before(self, lines: int) -> list[tuple[str, bool]]:
        """Up to `lines` lines before it, each in the form of `cut`."""
        text = self.found.text
        shown: list[tuple[str, bool]] = []
        end = self.start - 1
        while end >= 0 and len(shown) < lines:
            start = text.rfind(b"\n", 0, end) + 1
            shown.append(cut(text[start:end].decode(), 0, 0))
            end = start - 1
        return shown[::-1]

    def after(self, lines: int) -> list[tuple[str, bool]]:
        """Up to `lines` lines after it. There is no line after a final newline."""
        text = self.found.text
        shown: list[tuple[str, bool]] = []
        start = self.end + 1
        while start < len(text) and len(shown) < lines:
            end = text.find(b"\n", start)
            end = len(text) if end < 0 else end
            shown.append(cut(text[start:end].decode(), 0, 0))
            start = end + 1
        return shown

    def _match(self) -> str:
        return self.found.text[self.match_start : self.match_end].decode()


def pattern_of(call: Call, query: str, *, is_regex: bool, case_sensitive: bool) -> Pattern:
    """Compile a query. Raises ToolError."""
    matchers = call.view.project.matchers
    worker = Worker(lambda job: matchers.result(job, call.stop), call.seconds_left)
    try:
        return compile_pattern(query, is_regex=is_regex, case_sensitive=case_sensitive, worker=worker)
    except PatternError as error:
        raise ToolError(f"Invalid pattern {shortened(query)}: {error}") from None


def path_patterns(argument: str, patterns: str, view: View) -> PathFilter | None:
    """A filter of comma-separated patterns. Raises ToolError."""
    try:
        return path_list_filter(patterns, view.folder)
    except GlobError as error:
        raise ToolError(f"Invalid {argument} {shortened(patterns)}: {error}") from None


def scope_of_patterns(view: View, include: str, exclude: str, *, words: str = "") -> Scope:
    """The scope of `includePatterns` and `excludePatterns`, and of the words of a query for names. Raises ToolError."""
    return view.scope(
        include=path_patterns("includePatterns", include, view),
        exclude=path_patterns("excludePatterns", exclude, view),
        named_hidden=(hidden_filter(include, view.folder), hidden_words_filter(words, view.folder)),
    )


def listed_coverage(view: View, scope: Scope) -> dict[str, Any]:
    """The coverage of an answer about names, in the form of `TextQuery.coverage`."""
    return {
        "files_searched": view.project.counter.files(scope),
        "skipped": dict(view.project.left_out_of(scope.paths)),
    }


class TextQuery:
    """One running query. Make it after the arguments are checked: it brings the file table up to date."""

    def __init__(self, call: Call, pattern: Pattern, scope: Scope, *, exclude: Pattern | None = None) -> None:
        """Lines that also match `exclude` are left out."""
        self.call = call
        self.project = call.view.project
        self.pattern = pattern
        self.exclude = exclude
        self.scope = scope
        self.search = Search(stop=call.stop, progress=call.progress, backend=call.view.text_backend)
        self.stale = self.project.files_now()
        self._left_out = self.project.left_out_of(scope.paths)

    def files(self, after: bytes | None, offset: int = 0) -> Iterator[FileMatches]:
        """Files with matches, lazily, beginning with the path `after` at an offset of its text."""
        return self.project.text.search(self.pattern, self.scope, self.search, after=after, offset=offset)

    def fill(self, page: Page, make: Callable[[Line], dict[str, Any]]) -> None:
        """Put every matching line on `page`, from the offset of its place on. `make` is called only for lines that are shown."""
        path, looked_at = page.place or ("", 0)
        for found in self.files(path.encode("latin-1"), looked_at):
            place = found.path.decode("latin-1")
            for spans in found.lines:
                start, end = spans[:2]
                if self._is_excluded(found.text[start:end]):
                    continue
                if not page.add(lambda one=found, at=spans: make(Line(one, *at)), [place, end + 1]):
                    return

    def _is_excluded(self, line: bytes) -> bool:
        if self.exclude is None:
            return False
        before = self.exclude.undecided
        return next(self.exclude.matches_in_line(line), None) is not None or self.exclude.undecided > before

    def coverage(self) -> dict[str, Any]:
        """The coverage of the answer: `{files_searched, skipped: {reason: count}}`."""
        covered = self.project.text.coverage(self.scope, self.search)
        skipped = self._left_out + Counter(covered["skipped"])
        return {"files_searched": covered["files_searched"], "skipped": dict(skipped)}

    def tail(self, page: Page, *, cursor: str = "next_cursor", goes_on: bool = True) -> dict[str, Any]:
        """The fields that say how complete and current the answer is; with `goes_on` also a cursor for a stopped search."""
        at = self.search.stopped_at
        place = [at.decode("latin-1"), self.search.stopped_offset] if goes_on and at is not None else None
        undecided = self.pattern.undecided + (self.exclude.undecided if self.exclude is not None else 0)
        fields = page.tail(
            stopped=at is not None or undecided > 0,
            timed_out=self.call.timed_out() or undecided > 0,
            stopped_at=place,
            cursor=cursor,
        )
        if not page.results or self.search.skipped or self._left_out or at is not None:
            fields["coverage"] = self.coverage()
        if self.stale:
            fields["stale"] = self.stale
        return fields


def shortened(query: str) -> str:
    return repr(query if len(query) <= 80 else query[:77] + "...")
