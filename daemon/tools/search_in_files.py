"""The tool `search_in_files`. Two specifications use this name: for lines (001), and for files with all matches (003).

The argument names select one of them. Invariant: both answers come from the same search; they differ in what counts as a match
and in how matches are grouped.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.match_groups import matches_by_file
from ctxd.daemon.answers.page import Page
from ctxd.daemon.answers.text_query import Line, TextQuery, pattern_of
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import Params
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, CamelListed, Completeness
from ctxd.indexer.patterns.glob import GlobError, names_hidden, path_filter

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
    """True if the argument names ask for the grouped answer. If they ask for both, the first contract's error says so."""
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
    params.contract = "grouped" if grouped else "flat"  # each contract refuses cursors of the other
    if not grouped:
        return _flat(call, params)
    if "camel_max_tokens" in params.model_fields_set:
        params.max_tokens, params.camel_max_tokens = params.camel_max_tokens, 20_000
    return matches_by_file(call, params)


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
    hidden = names_hidden(params.file_pattern)
    scope = call.view.scope((call.view.resolve(params.path),), include=include, hidden=hidden)
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
