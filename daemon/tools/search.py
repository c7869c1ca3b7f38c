"""The toolset `search`: exact text and symbols."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.tool import Call, Page, Params, ToolError, cut, read_cursor, tool
from ctxd.indexer import languages
from ctxd.indexer.pattern import Pattern, PatternError, compile_pattern
from ctxd.indexer.scope import Scope
from ctxd.indexer.symbol_search import Occurrence, Snippets, split_name
from ctxd.indexer.text_search import FileMatches, Search

MAX_TOKENS = Annotated[int, Field(ge=200, le=100_000, description="Size limit of the answer")]
CURSOR = Annotated[str | None, Field(description="next_cursor of the last answer, to go on")]
TARGET_PATHS = Annotated[
    list[str] | None, Field(max_length=1_000, description="Files or folders to search; default all")
]


class Stale(TypedDict):
    pending_files: int
    reason: str


class Coverage(TypedDict):
    files_searched: int
    skipped: dict[str, int]


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


class TextResult(TypedDict):
    status: Literal["success", "no_matches_found", "error"]
    matches: list[TextMatch]
    match_count: int
    total_is_exact: NotRequired[bool]
    truncated: NotRequired[bool]
    timed_out: NotRequired[bool]
    next_cursor: NotRequired[str]
    coverage: NotRequired[Coverage]
    stale: NotRequired[Stale]
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
    try:
        pattern = compile_pattern(params.query, is_regex=params.is_regex, case_sensitive=params.case_sensitive)
    except PatternError as error:
        raise ToolError(f"Invalid pattern: {error}") from None
    scope, skipped = _scope(call, params.target_paths, params.file_extensions)
    after_path, after_line = _text_place(params)
    stale = call.view.project.files_now()
    search = Search(stop=call.stop, progress=call.progress, backend=call.view.text_backend)
    page = Page(params)
    for found in call.view.project.text.search(pattern, scope, search, after=after_path):
        if not _add_lines(call, params, pattern, found, after_line if found.path == after_path else 0, page):
            break
    stopped = search.stopped_at is not None
    stopped_at = [search.stopped_at.decode("latin-1"), search.stopped_line] if search.stopped_at is not None else None
    result: dict[str, Any] = {
        "status": "success" if page.results else "no_matches_found",
        "matches": page.results,
        "match_count": page.count,
        **page.tail(stopped=stopped, timed_out=call.timed_out(), stopped_at=stopped_at),
    }
    if not page.results or search.skipped or skipped or stopped:
        coverage = call.view.project.text.coverage(scope, search)
        # What is left out by name is not among the files that were to be searched.
        coverage["skipped"] |= skipped
        result["coverage"] = coverage
    if stale:
        result["stale"] = stale
    return result


def _add_lines(
    call: Call, params: TextParams, pattern: Pattern, found: FileMatches, after_line: int, page: Page
) -> bool:
    lines = found.text.split(b"\n") if params.context_lines else None
    place = found.path.decode("latin-1")
    for number, *span in found.lines:
        if number > after_line and not page.add(
            lambda n=number, s=span: _text_match(call, params, pattern, found, n, s, lines), [place, number]
        ):
            return False
    return True


def _text_place(params: TextParams) -> tuple[bytes | None, int]:
    if params.cursor is None:
        return None, 0
    path, line = read_cursor(params, params.cursor, str, int)
    return path.encode("latin-1"), line


def _text_match(
    call: Call,
    params: TextParams,
    pattern: Pattern,
    found: FileMatches,
    number: int,
    span: list[int],
    lines: list[bytes] | None,
) -> dict[str, Any]:
    start, end, match_start, match_end = span
    raw = found.text[start:end]
    before = len(found.text[start:match_start].decode())
    line, truncated = cut(raw.decode(), before, before + len(found.text[match_start:match_end].decode()))
    match: dict[str, Any] = {
        "file_path": call.view.shown(found.path),
        "line_number": number,
        "matched_line": line,
        "context": [],
    }
    if lines is not None:
        first = max(1, number - params.context_lines)
        # A text that ends in a newline has no line after it.
        total = len(lines) - (not lines[-1])
        for at in range(first, min(total, number + params.context_lines) + 1):
            shown, shortened = (line, truncated) if at == number else cut(lines[at - 1].decode(), 0, 0)
            match["context"].append(shown)
            truncated = truncated or shortened
        match["context_start_line"] = first
    if params.is_regex:
        groups, named = pattern.groups(raw)
        if groups:
            match["match_details"] = {"groups": groups, "named_groups": named}
    if truncated:
        match["line_truncated"] = True
    return match


def _scope(call: Call, paths: list[str] | None, extensions: list[str] | None) -> tuple[Scope, dict[str, int]]:
    """The scope of the arguments, and the files they name that ctxd leaves out, counted by reason."""
    view = call.view
    asked = tuple(dict.fromkeys(view.resolve(path) for path in paths)) if paths else (view.folder,)
    skipped: dict[str, int] = {}
    for path in asked:
        reason = view.project.left_out(path)
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
    if extensions is None:
        return view.scope(asked, languages.COMMON_EXTENSIONS, languages.COMMON_NAMES), skipped
    wanted = set()
    for extension in extensions:
        text = extension.strip().lower().removeprefix("*")
        if text in {"", "."} and extension.strip() in {"*", "*.*"}:
            return view.scope(asked), skipped
        if not text or "/" in text:
            raise ToolError(
                f"file_extensions: {extension!r} is not an extension", 'Give them as [".py", ".md"], or ["*"] for all'
            )
        wanted.add((text if text.startswith(".") else f".{text}").encode("utf-8", "replace"))
    return view.scope(asked, frozenset(wanted)), skipped


class SymbolOccurrence(TypedDict):
    file_path: str
    line_number: int
    column_number: int
    type: Literal["definition", "reference", "import"]
    kind: NotRequired[str]
    symbol_fqn: NotRequired[str]
    snippet: str


class SymbolResult(TypedDict):
    status: Literal["success", "no_occurrences_found", "indexing_required", "error"]
    occurrences: list[SymbolOccurrence]
    occurrence_count: int
    total_is_exact: NotRequired[bool]
    truncated: NotRequired[bool]
    timed_out: NotRequired[bool]
    next_cursor: NotRequired[str]
    coverage: NotRequired[Coverage]
    stale: NotRequired[Stale]
    progress: NotRequired[Progress]
    error_message: NotRequired[str]


class SymbolParams(Params):
    symbol_name: Annotated[
        str, Field(min_length=1, max_length=1_000, description="Bare (get) or qualified (Client.get, httpx.Client.get)")
    ]
    target_paths: TARGET_PATHS = None
    find_definitions: bool = True
    find_references: Annotated[bool, Field(description="Uses and imports")] = True
    language: Annotated[str | None, Field(description="Such as python; see `ctxd languages`")] = None
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "find_symbol_occurrences",
    toolset="search",
    title="Find a symbol",
    description="Where a function, class, method or variable is defined, and every place that uses or imports it.",
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
    missing = project.symbols_now(scope, call.stop)
    if missing and not project.queue.first_pass_done:
        progress = project.progress()
        return {
            "status": "indexing_required",
            "occurrences": [],
            "occurrence_count": 0,
            "progress": progress,
            "error_message": f"{missing} files of this scope are not parsed yet ({progress['done']} of {progress['total']} files are"
            " indexed). Ask again soon, or narrow target_paths to folders already done; text search answers now.",
        }
    if missing:
        stale = {"pending_files": missing, "reason": "changed files are still being parsed"}
    rank, path, line, column = _symbol_place(params)
    page = Page(params)
    snippets = Snippets(project.root)
    stopped = False
    with project.table.noting_changes(project.lock) as noted:
        for found in project.symbols.occurrences(
            params.symbol_name,
            scope,
            call.stop,
            definitions=params.find_definitions,
            references=params.find_references,
            language=language,
            after=(rank, path),
        ):
            if (found.rank, found.path, found.line, found.column) > (rank, path, line, column) and not page.add(
                lambda one=found: _shown(call, one, snippets),
                [found.rank, found.path.decode("latin-1"), found.line, found.column],
            ):
                break
        else:
            stopped = call.stop()
        with project.lock:
            changed = project.waiting_for_symbols(noted, scope)
    if changed and not stale:
        stale = {"pending_files": changed, "reason": "files were written while their symbols were looked up"}
    result: dict[str, Any] = {
        "status": "success" if page.results else "no_occurrences_found",
        "occurrences": page.results,
        "occurrence_count": page.count,
        **page.tail(stopped=stopped, timed_out=call.timed_out()),
    }
    left_out = project.without_outline(scope)
    if not page.results or left_out:
        result["coverage"] = project.symbols.coverage(scope, language, left_out)
    if stale:
        result["stale"] = stale
    return result


def _shown(call: Call, found: Occurrence, snippets: Snippets) -> dict[str, Any]:
    occurrence: dict[str, Any] = {
        "file_path": call.view.shown(found.path),
        "line_number": found.line,
        "column_number": found.column,
        "type": found.type,
        "snippet": snippets.of(found),
    }
    if found.kind is not None:
        occurrence["kind"] = found.kind
    if found.fqn is not None:
        occurrence["symbol_fqn"] = found.fqn
    return occurrence


def _symbol_place(params: SymbolParams) -> tuple[int, bytes, int, int]:
    if params.cursor is None:
        return 0, b"", 0, 0
    rank, path, line, column = read_cursor(params, params.cursor, int, str, int, int)
    return rank, path.encode("latin-1"), line, column


def _language(name: str | None) -> str | None:
    if name is None:
        return None
    known = [language.name for language in languages.LANGUAGES if language.has_symbols]
    if name.lower() in known:
        return name.lower()
    near = difflib.get_close_matches(name.lower(), known, 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise ToolError(f"there are no symbols for the language {name!r}", f"{hint}Languages: {', '.join(known)}")
