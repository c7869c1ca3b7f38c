"""Every match, grouped by file: the answer of two tools of specification 003. They differ in the fields of a match.

Invariant: a text that occurs twice in a line is two matches, and files, not matches, fill a page.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from ctxd.daemon.answers.page import RESULTS_MAX, Page, cut, size_of
from ctxd.daemon.answers.text_query import TextQuery, pattern_of, scope_of_patterns
from ctxd.daemon.tool import Call

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxd.indexer.patterns.pattern import Pattern
    from ctxd.indexer.text.text_search import FileMatches

LineMatch = tuple[int, bytes, int, int]
"""Offset of the line in its text, the line, and where in it the match starts and ends, in bytes."""


class GroupedParams(Protocol):
    """The parameters of both tools, under one set of names."""

    query: str
    is_regex: bool
    case_sensitive: bool
    limit: int
    matches_max: int
    include: str
    exclude: str
    max_tokens: int
    cursor: str | None


class Teller:
    """Adds fields to matches beyond their places. It is called once for each file, shown or only counted."""

    def of(self, found: FileMatches, occurrences: list[LineMatch]) -> list[dict[str, Any]]:
        """Fields for each match."""
        del found
        return [{} for _ in occurrences]

    def note(self) -> str | None:
        """A remark about the file of the last call."""
        return None

    def total(self) -> str:
        """Totals of all files until now, for a cursor to carry."""
        return ""

    def go_on(self, total: str) -> None:
        """Begin with the total of the pages before."""


def matches_by_file(
    call: Call,
    params: GroupedParams,
    teller: Teller | None = None,
) -> dict[str, Any]:
    """The answer. `teller` adds fields to the matches."""
    teller = teller or Teller()
    pattern = pattern_of(call, params.query, is_regex=params.is_regex, case_sensitive=params.case_sensitive)
    scope = scope_of_patterns(call.view, params.include, params.exclude)
    page = Page(params, str, int, bool, str, results_max=params.limit)
    path, matches, is_exact, told = page.place or ("", 0, True, "")
    teller.go_on(told)
    after = path.encode("latin-1")
    enough = matches + RESULTS_MAX
    query = TextQuery(call, pattern, scope)
    for found in query.files(after):
        if found.path == after:
            continue
        occurrences = list(islice(_occurrences(pattern, found), RESULTS_MAX + 1))
        fields = teller.of(found, occurrences)
        matches += len(occurrences)
        is_exact = is_exact and len(occurrences) <= RESULTS_MAX
        place = [found.path.decode("latin-1"), matches, is_exact, teller.total()]
        goes_on = page.add(
            lambda one=found, every=occurrences, more=fields: _group(
                call, one, every, more, params.matches_max, teller.note(), page
            ),
            place,
        )
        if not goes_on or (page.count > len(page.results) and matches > enough):
            is_exact = False
            break
    result: dict[str, Any] = {
        "success": True,
        "query": params.query,
        "totalFiles": page.total,
        "totalMatches": matches,
        "filesSearched": query.coverage()["files_searched"],
        "results": page.results,
        **query.tail(page, cursor="nextCursor", goes_on=False),
    }
    return result if is_exact else {**result, "total_is_exact": False}


def _occurrences(pattern: Pattern, found: FileMatches) -> Iterator[LineMatch]:
    for start, end, _, _ in found.lines:
        line = found.text[start:end]
        for first, last in pattern.matches_in_line(line):
            yield start, line, first, last


def _group(
    call: Call,
    found: FileMatches,
    occurrences: list[LineMatch],
    fields: list[dict[str, Any]],
    matches_max: int,
    note: str | None,
    page: Page,
) -> dict[str, Any]:
    path = call.view.shown(found.path)
    matches = [
        _match(found.number_of(start), line, first, last) | more
        for (start, line, first, last), more in zip(occurrences[:matches_max], fields, strict=False)
    ]
    group: dict[str, Any] = {
        "file": {"name": path.rpartition("/")[2], "path": path, "type": "file"},
        "matches": matches,
    }
    if note is not None:
        group["note"] = note
    # The first file of a page is always shown, with as many matches as fit.
    while not page.results and len(matches) > 1 and size_of(group) > page.bytes_left:
        matches.pop()
        page.truncated = True
    return group if len(occurrences) == len(matches) else {**group, "totalMatches": len(occurrences)}


def _match(number: int, line: bytes, first: int, last: int) -> dict[str, Any]:
    text = line.decode()
    start = first if len(text) == len(line) else len(line[:first].decode())
    found = line[first:last].decode()
    end = start + len(found)
    content, truncated = cut(text, start, end)
    shown, shortened = cut(found, 0, 0)
    match: dict[str, Any] = {
        "lineNumber": number,
        "lineContent": content,
        "matchStart": start,
        "matchEnd": end,
        "matchText": shown,
    }
    return {**match, "line_truncated": True} if truncated or shortened else match
