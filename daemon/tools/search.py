"""The toolset `search`: tools for exact text and symbols."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.page import RESULTS_MAX, Page
from ctxd.daemon.answers.text_query import Line, TextQuery, pattern_of
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import Params
from ctxd.daemon.tool import Call, tool
from ctxd.indexer import languages
from ctxd.indexer.files.scope import Scope
from ctxd.indexer.patterns.pattern import Pattern
from ctxd.indexer.symbols.asked_name import split_name
from ctxd.indexer.symbols.file_occurrences import Occurrence
from ctxd.indexer.symbols.snippets import Snippets

LOOKUPS_MAX = 3  # of symbols while files are written; without a limit, constant writing would never let us finish

MAX_TOKENS = Annotated[int, Field(ge=200, le=100_000, description="Answer size limit")]
CURSOR = Annotated[str | None, Field(description="From the last answer")]
TARGET_PATHS = Annotated[
    list[str] | None, Field(max_length=1_000, description="Files or folders to search; default all")
]


class Stale(TypedDict):
    pending_files: int
    reason: str


class Coverage(TypedDict):
    files_searched: int
    skipped: dict[str, int]


# No docstrings in these: pydantic would put them into every tool's schema.


class Completeness(TypedDict):
    total_is_exact: NotRequired[bool]
    truncated: NotRequired[bool]
    coverage: NotRequired[Coverage]
    stale: NotRequired[Stale]


class Listed(Completeness):
    timed_out: NotRequired[bool]
    next_cursor: NotRequired[str]


class CamelListed(Completeness):
    timed_out: NotRequired[bool]
    nextCursor: NotRequired[str]


class Progress(TypedDict):
    done: int
    total: int
    eta_seconds: int | None


class MatchDetails(TypedDict):
    groups: list[str | None]
    named_groups: dict[str, str | None]


class TextMatch(TypedDict):
    file_path: str
    line_number: int
    matched_line: str
    context: list[str]
    context_start_line: NotRequired[int]
    match_details: NotRequired[MatchDetails]
    line_truncated: NotRequired[bool]


class TextResult(Listed):
    status: Literal["success", "no_matches_found", "error"]
    matches: list[TextMatch]
    match_count: int
    error_message: NotRequired[str]


class TextParams(Params):
    query: Annotated[
        str, Field(min_length=1, max_length=1_000_000, description="Literal text, or a regular expression")
    ]
    is_regex: bool = False
    target_paths: TARGET_PATHS = None
    case_sensitive: bool = False
    context_lines: Annotated[int, Field(ge=0, le=10, description="Lines before and after each match")] = 2
    file_extensions: Annotated[
        list[str] | None,
        Field(max_length=200, description='Such as [".py"]; ["*"] for all; default: code, config and docs'),
    ] = None
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "search_text_pattern",
    toolset="search",
    title="Search text",
    description="Find every line that holds a text or matches a regular expression. Exact and current; like ripgrep, faster.",
    params=TextParams,
    result=TextResult,
    error=lambda error: {"status": "error", "matches": [], "match_count": 0, "error_message": str(error)},
)
def search_text_pattern(call: Call, params: TextParams) -> dict[str, Any]:
    pattern = pattern_of(call, params.query, is_regex=params.is_regex, case_sensitive=params.case_sensitive)
    page = Page(params, str, int)
    query = TextQuery(call, pattern, _scope(call, params.target_paths, params.file_extensions))
    query.fill(page, lambda line: _text_match(call, params, pattern, line))
    return {
        "status": "success" if page.results else "no_matches_found",
        "matches": page.results,
        "match_count": page.total,
        **query.tail(page),
    }


def _text_match(call: Call, params: TextParams, pattern: Pattern, line: Line) -> dict[str, Any]:
    shown = line.content()
    match: dict[str, Any] = {
        "file_path": call.view.shown(line.found.path),
        "line_number": line.number,
        "matched_line": shown[0],
        "context": [],
    }
    block = [shown]
    if params.context_lines:
        before = line.before(params.context_lines)
        block = [*before, shown, *line.after(params.context_lines)]
        match["context"] = [text for text, _ in block]
        match["context_start_line"] = line.number - len(before)
    if params.is_regex:
        groups, named = pattern.groups(line.raw)
        if groups:
            match["match_details"] = {"groups": groups, "named_groups": named}
    if any(truncated for _, truncated in block):
        match["line_truncated"] = True
    return match


def _scope(call: Call, paths: list[str] | None, extensions: list[str] | None) -> Scope:
    view = call.view
    asked = tuple(dict.fromkeys(view.resolve(path) for path in paths)) if paths else (view.folder,)
    if not extensions:
        return view.scope(asked, languages.COMMON_EXTENSIONS, languages.COMMON_NAMES)
    wanted = set()
    for extension in extensions:
        text = extension.strip().lower().removeprefix("*")
        if text in {"", "."} and extension.strip() in {"*", "*.*"}:
            return view.scope(asked)
        if not text or "/" in text:
            raise ToolError(
                f"file_extensions: {extension!r} is not an extension", 'Give them as [".py", ".md"], or ["*"] for all'
            )
        wanted.add((text if text.startswith(".") else f".{text}").encode("utf-8", "replace"))
    return view.scope(asked, frozenset(wanted))


class SymbolOccurrence(TypedDict):
    file_path: str
    line_number: int
    column_number: int
    type: Literal["definition", "reference", "import"]
    kind: NotRequired[str]
    grade: Literal["definition", "import-resolved", "same-module", "name-only"]
    symbol_fqn: NotRequired[str]
    snippet: str


class SymbolResult(Listed):
    status: Literal["success", "no_occurrences_found", "indexing_required", "error"]
    occurrences: list[SymbolOccurrence]
    occurrence_count: int
    progress: NotRequired[Progress]
    error_message: NotRequired[str]


class SymbolParams(Params):
    symbol_name: Annotated[
        str, Field(min_length=1, max_length=1_000, description="Bare (get) or qualified (Client.get, httpx.Client.get)")
    ]
    target_paths: TARGET_PATHS = None
    find_definitions: bool = True
    find_references: Annotated[bool, Field(description="Uses and imports")] = True
    language: Annotated[str | None, Field(description="Such as python")] = None
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "find_symbol_occurrences",
    toolset="search",
    title="Find a symbol",
    description="Where a function, class, method, variable, heading or config key is defined, used and imported.",
    params=SymbolParams,
    result=SymbolResult,
    error=lambda error: {"status": "error", "occurrences": [], "occurrence_count": 0, "error_message": str(error)},
)
def find_symbol_occurrences(call: Call, params: SymbolParams) -> dict[str, Any]:
    if not (params.find_definitions or params.find_references):
        raise ToolError("find_definitions and find_references are both false", "Set at least one of them to true")
    bare = split_name(params.symbol_name)[1]
    if not bare or not bare.isprintable():
        raise ToolError(
            f"symbol_name {params.symbol_name!r} holds no name", "Give a name such as get, Client.get or std::sort"
        )
    language = _language(params.language)
    project = call.view.project
    scope = call.view.scope(tuple(map(call.view.resolve, params.target_paths or ())))
    stale = project.files_now()
    lookups = 0
    while True:
        lookups += 1
        page = Page(params, int, str, int, int)
        with project.readiness.symbols_noted(scope, call.stop) as (lacking, noted):
            if lacking.files and not lacking.is_ready:
                return _indexing_required(call, lacking.files)
            stopped = _fill(call, params, page, scope, language)
            with project.lock:
                changed = project.readiness.waiting_for_symbols(noted, scope)
        if lacking.files or stopped or not changed or lookups == LOOKUPS_MAX:
            break
    if incomplete := lacking.stale("parsed"):
        stale = incomplete
    elif changed and not stale:
        stale = {"pending_files": changed, "reason": "files were written each time their symbols were looked up"}
    result: dict[str, Any] = {
        "status": "success" if page.results else "no_occurrences_found",
        "occurrences": page.results,
        "occurrence_count": page.total,
        **page.tail(stopped=stopped, timed_out=call.timed_out()),
    }
    left_out = project.readiness.without_outline(scope)
    if not page.results or left_out:
        coverage = project.symbols.coverage(scope, language, left_out)
        coverage["skipped"] |= project.left_out_of(scope.paths)
        result["coverage"] = coverage
    if stale:
        result["stale"] = stale
    return result


def _indexing_required(call: Call, missing: int) -> dict[str, Any]:
    project = call.view.project
    progress = project.readiness.progress("symbols")
    return {
        "status": "indexing_required",
        "occurrences": [],
        "occurrence_count": 0,
        "progress": progress,
        "error_message": f"{missing} files of this scope are not parsed yet ({progress['done']} of {progress['total']} files are"
        " indexed). Ask again soon, or narrow target_paths to folders already done; text search answers now.",
    }


def _fill(call: Call, params: SymbolParams, page: Page, scope: Scope, language: str | None) -> bool:
    """Put the occurrences on `page`, from its place on. True if the call had to stop."""
    symbols = call.view.project.symbols
    kinds = {"definitions": params.find_definitions, "references": params.find_references}
    rank, place, line, column = page.place or (0, "", 0, 0)
    path = place.encode("latin-1")
    snippets = Snippets(call.view.project.root)
    were_counted = False
    for found in symbols.occurrences(
        params.symbol_name, scope, call.stop, **kinds, language=language, after=(rank, path)
    ):
        if (found.rank, found.path, found.line, found.column) > (rank, path, line, column) and not page.add(
            lambda one=found: _shown(call, one, snippets),
            [found.rank, found.path.decode("latin-1"), found.line, found.column],
        ):
            return False
        if page.is_full and not were_counted:
            were_counted = True
            most = RESULTS_MAX + page.earlier
            if symbols.are_more(params.symbol_name, most, scope, call.stop, **kinds, language=language):
                page.count_no_more()
                return False
    return call.stop()


def _shown(call: Call, found: Occurrence, snippets: Snippets) -> dict[str, Any]:
    occurrence: dict[str, Any] = {
        "file_path": call.view.shown(found.path),
        "line_number": found.line,
        "column_number": found.column,
        "type": found.type,
        "grade": found.grade,
        "snippet": snippets.of(found.path, found.line, found.column),
    }
    if found.kind is not None:
        occurrence["kind"] = found.kind
    if found.fqn is not None:
        occurrence["symbol_fqn"] = found.fqn
    return occurrence


def _language(name: str | None) -> str | None:
    if name is None:
        return None
    known = [language.name for language in languages.LANGUAGES if language.has_symbols]
    if name.lower() in known:
        return name.lower()
    hint = f"Did you mean {near}? " if (near := languages.nearest_name(name, known)) else ""
    raise ToolError(f"there are no symbols for the language {name!r}", f"{hint}Languages: {', '.join(known)}")
