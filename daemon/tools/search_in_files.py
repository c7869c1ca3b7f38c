"""The tool `search_in_files`: two specifications gave this name to two tools, one of lines (001) and one of files with all
their matches (003). The names of the arguments say which is asked.

Invariant: both answers come from one search; they differ in what they call a match and in how they group it.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.text_query import Line, TextQuery, path_patterns, pattern_of
from ctxd.daemon.tool import RESULTS_MAX, Call, Page, Params, ToolError, cut, size_of, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, CamelListed, Completeness
from ctxd.indexer.glob import GlobError, path_filter
from ctxd.indexer.pattern import Pattern
from ctxd.indexer.text_search import FileMatches

if TYPE_CHECKING:
    from collections.abc import Iterator

FLAT_NAMES = ("file_pattern", "path", "use_regex", "exclude_query", "timeout")
GROUPED_NAMES = (
    "caseSensitive",
    "useRegex",
    "limit",
    "maxMatchesPerFile",
    "includePatterns",
    "excludePatterns",
    "maxTokens",
)
PATTERNS = Annotated[str, Field(max_length=10_000)]
Occurrence = tuple[int, bytes, int, int]
"""Line number, line, and where in it the match starts and ends."""


class FlatMatch(TypedDict):
    file_path: str
    line_number: int
    line_content: str
    line_truncated: NotRequired[bool]


class FlatResult(Completeness):
    matches: list[FlatMatch]
    total_matches: int
    files_searched: int
    timed_out: bool
    next_cursor: NotRequired[str]


class FileOfMatches(TypedDict):
    name: str
    path: str
    type: Literal["file"]


class GroupedMatch(TypedDict):
    lineNumber: int
    lineContent: str
    matchStart: int
    matchEnd: int
    matchText: str
    line_truncated: NotRequired[bool]


class Group(TypedDict):
    file: FileOfMatches
    matches: list[GroupedMatch]
    totalMatches: NotRequired[int]


class GroupedResult(CamelListed):
    success: bool
    query: str
    totalFiles: int
    totalMatches: int
    filesSearched: int
    results: list[Group]


class InFilesParams(Params):
    query: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    file_pattern: Annotated[
        str, Field(min_length=1, max_length=10_000, description="Glob on the name; with / on the path")
    ] = "*"
    path: str = "."
    use_regex: bool = False
    exclude_query: Annotated[str, Field(max_length=1_000_000, description="Leave out lines that match this")] = ""
    timeout: Annotated[int, Field(ge=1, le=600)] = 60
    case_sensitive: Annotated[bool, Field(alias="caseSensitive")] = False
    is_regex: Annotated[bool, Field(alias="useRegex")] = False
    limit: Annotated[int, Field(ge=1, le=500, description="Files")] = 100
    matches_max: Annotated[int, Field(alias="maxMatchesPerFile", ge=1, le=50)] = 10
    include: Annotated[PATTERNS, Field(alias="includePatterns", description="Such as src/, *.ts, word, a/**/b")] = ""
    exclude: Annotated[PATTERNS, Field(alias="excludePatterns")] = ""
    contract: Annotated[Literal["flat", "grouped"] | None, Field(description="Which answer")] = None
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000
    camel_max_tokens: Annotated[int, Field(alias="maxTokens", ge=200, le=100_000)] = 20_000


def is_grouped(arguments: dict[str, Any]) -> bool:
    """Which answer the names of the arguments ask for. Where they ask for both, the first contract's error tells so."""
    contract = arguments.get("contract")
    if contract == "flat" or contract == "grouped":  # noqa: PLR1714 - it may be any JSON, unhashable too
        return contract == "grouped"
    return not arguments.keys() & set(FLAT_NAMES) and bool(arguments.keys() & set(GROUPED_NAMES))


@tool(
    "search_in_files",
    toolset="files",
    title="Search in files",
    description="Find text in files. snake_case arguments: a flat list of lines, case-sensitive."
    " camelCase ones: every match by file, ignoring case. Not both.",
    params=InFilesParams,
    result=FlatResult | GroupedResult,
    error=lambda error: {"error": f"{error.name}: {error}"},
    other_error=lambda error, arguments: {"success": False, "error": str(error)} if is_grouped(arguments) else None,
)
def search_in_files(call: Call, params: InFilesParams) -> dict[str, Any]:
    given = params.model_dump(by_alias=True, exclude_unset=True)
    grouped = is_grouped(given)
    flat_names = [name for name in FLAT_NAMES if name in given]
    grouped_names = [name for name in GROUPED_NAMES if name in given]
    if (flat_names and grouped_names) or (flat_names if grouped else grouped_names):
        raise ToolError(
            f"two contracts are mixed: {_listed(flat_names, params)} of the flat one (001)"
            f" and {_listed(grouped_names, params)} of the grouped one (003)",
            f"Use either {', '.join(FLAT_NAMES)}, or {', '.join(GROUPED_NAMES)}",
        )
    if "max_tokens" in given and "maxTokens" in given:
        raise ToolError("max_tokens and maxTokens are one argument", "Give one of them")
    params.contract = "grouped" if grouped else "flat"  # so that a cursor of one is refused by the other
    return _grouped(call, params) if grouped else _flat(call, params)


def _listed(names: list[str], params: InFilesParams) -> str:
    return ", ".join(names) or f'contract "{params.contract}"'


def _flat(call: Call, params: InFilesParams) -> dict[str, Any]:
    call.end_within(params.timeout)
    pattern = pattern_of(call, params.query, is_regex=params.use_regex, case_sensitive=True)
    exclude = None
    if params.exclude_query:
        exclude = pattern_of(call, params.exclude_query, is_regex=params.use_regex, case_sensitive=True)
    try:
        include = path_filter(params.file_pattern, call.view.folder)
    except GlobError as error:
        raise ToolError(f"Invalid file_pattern {params.file_pattern!r}: {error}") from None
    page = Page(params, str, int)
    scope = call.view.scope((call.view.resolve(params.path),), include=include)
    query = TextQuery(call, pattern, scope, exclude=exclude)

    def shown(line: Line) -> dict[str, Any]:
        content, truncated = line.content()
        match: dict[str, Any] = {
            "file_path": call.view.shown(line.found.path),
            "line_number": line.number,
            "line_content": content,
        }
        return {**match, "line_truncated": True} if truncated else match

    query.fill(page, shown)
    return {
        "matches": page.results,
        "total_matches": page.total,
        "files_searched": query.coverage()["files_searched"],
        "timed_out": False,
        **query.tail(page),
    }


def _grouped(call: Call, params: InFilesParams) -> dict[str, Any]:
    pattern = pattern_of(call, params.query, is_regex=params.is_regex, case_sensitive=params.case_sensitive)
    scope = call.view.scope(
        include=path_patterns("includePatterns", params.include, call.view),
        exclude=path_patterns("excludePatterns", params.exclude, call.view),
    )
    if "camel_max_tokens" in params.model_fields_set:
        params.max_tokens, params.camel_max_tokens = params.camel_max_tokens, 20_000
    page = Page(params, str, int, bool, results_max=params.limit)
    path, matches, is_exact = page.place or ("", 0, True)
    after = path.encode("latin-1")
    enough = matches + RESULTS_MAX
    query = TextQuery(call, pattern, scope)
    for found in query.files(after):
        if found.path == after:
            continue
        occurrences = _occurrences(pattern, found)
        first = list(islice(occurrences, params.matches_max))
        count = len(first) + sum(1 for _ in islice(occurrences, RESULTS_MAX + 1 - len(first)))
        matches += count
        is_exact = is_exact and count <= RESULTS_MAX
        place = [found.path.decode("latin-1"), matches, is_exact]
        more = page.add(lambda one=found, shown=first, total=count: _group(call, one, shown, total, page), place)
        if not more or (page.count > len(page.results) and matches > enough):
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


def _occurrences(pattern: Pattern, found: FileMatches) -> Iterator[Occurrence]:
    for start, end, _, _ in found.lines:
        line = found.text[start:end]
        for first, last in pattern.matches_in_line(line):
            yield start, line, first, last


def _group(call: Call, found: FileMatches, occurrences: list[Occurrence], total: int, page: Page) -> dict[str, Any]:
    path = call.view.shown(found.path)
    matches = [_match(found.number_of(start), line, first, last) for start, line, first, last in occurrences]
    group: dict[str, Any] = {
        "file": {"name": path.rpartition("/")[2], "path": path, "type": "file"},
        "matches": matches,
    }
    # The first file of a page is shown whatever its size: with as many matches as there is room for.
    while not page.results and len(matches) > 1 and size_of(group) > page.bytes_left:
        matches.pop()
        page.truncated = True
    return group if total == len(matches) else {**group, "totalMatches": total}


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
