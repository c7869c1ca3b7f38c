"""The toolset `files`: tools for file names, and one for lines. Its `search_in_files` has its own module."""

from __future__ import annotations

import datetime as dt
import heapq
import os
import time
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.page import RESULTS_MAX, Page
from ctxd.daemon.answers.text_query import Line, TextQuery, listed_coverage, pattern_of, scope_of_patterns
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams, Params
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, CamelListed, Listed
from ctxd.indexer.files.file_table import extension_of
from ctxd.indexer.names.file_ranking import rank_files
from ctxd.indexer.patterns.glob import GlobError, names_hidden
from ctxd.indexer.text.text_search import Search


class NamesResult(Listed):
    files: list[str]
    total_found: int


class NamesParams(Params):
    name_pattern: Annotated[
        str,
        Field(
            min_length=1, max_length=10_000, description="Glob on the file name, such as test_*.py; with / on the path"
        ),
    ]
    path: Annotated[str, Field(description="Folder to start from")] = "."
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "find_files_by_name",
    toolset="files",
    title="Find files by name",
    description="List files whose name matches a glob, case-sensitive. Leaves out ignored files, and hidden ones unless they are named.",
    params=NamesParams,
    result=NamesResult,
    error=lambda error: {"error": f"{error.name}: {error}"},
)
def find_files_by_name(call: Call, params: NamesParams) -> dict[str, Any]:
    view = call.view
    stale = view.project.files_now()
    scope = view.scope((view.resolve(params.path),), hidden=names_hidden(params.name_pattern))
    search = Search(stop=call.stop, backend=view.files_backend)
    page = Page(params, str)
    after = page.place[0].encode("latin-1") if page.place else None
    try:
        for path in view.project.names.search(params.name_pattern, scope, search, base=view.folder, after=after):
            if not page.add(lambda one=path: view.shown(one), [path.decode("latin-1")]):
                break
    except GlobError as error:
        raise ToolError(f"Invalid name_pattern {params.name_pattern!r}: {error}") from None
    result: dict[str, Any] = {"files": page.results, "total_found": page.total}
    result |= page.tail(stopped=search.stopped_at is not None, timed_out=call.timed_out())
    if not page.results:
        result["coverage"] = listed_coverage(view, scope)
    if stale:
        result["stale"] = stale
    return result


class FoundFile(TypedDict):
    name: str
    path: str
    fullPath: str
    type: Literal["file"]
    size: str
    lastModified: str
    extension: str


class FinderResult(CamelListed):
    success: bool
    query: str
    totalResults: int
    totalMatched: int
    results: list[FoundFile]


class FinderParams(CamelParams):
    query: Annotated[str, Field(min_length=1, max_length=1_000, description="Words of the name or path; or a glob")]
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    include_patterns: Annotated[str, Field(max_length=10_000, description="Such as src/, *.ts, word, a/**/b")] = ""
    exclude_patterns: Annotated[str, Field(max_length=10_000)] = ""
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "search_files",
    toolset="files",
    title="Find files",
    description="Find files when you know roughly what they are called: the best match first, ignoring case.",
    params=FinderParams,
    result=FinderResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def search_files(call: Call, params: FinderParams) -> dict[str, Any]:
    view = call.view
    if not params.query.strip():
        raise ToolError("query: it is blank", "Give a part of a file's name or path, or a glob such as *.ts")
    is_glob = any(character in params.query for character in "*?")
    words = "" if is_glob else params.query
    scope = scope_of_patterns(view, params.include_patterns, params.exclude_patterns, words=words)
    if is_glob and names_hidden(params.query.strip()):
        scope = replace(scope, hidden=True)
    page = Page(params, int, int, int, int, str, results_max=params.limit)
    last = (*page.place[:-1], page.place[-1].encode("latin-1")) if page.place else ()
    stale = view.project.files_now()
    search = Search(stop=call.stop, backend=view.files_backend)
    try:
        ranks = rank_files(params.query, scope, view.project.names, search, base=view.folder)
    except GlobError as error:
        raise ToolError(f"Invalid query {params.query!r}: {error}") from None
    later = (rank for rank in ranks if rank > last)
    for rank in heapq.nsmallest(params.limit + 1, later):  # one more than the limit shows that there are more
        page.add(lambda one=rank[-1]: _found_file(call, one), [*rank[:-1], rank[-1].decode("latin-1")])
    result: dict[str, Any] = {
        "success": True,
        "query": params.query,
        "totalResults": len(page.results),
        "totalMatched": len(ranks),
        "results": page.results,
        **page.tail(stopped=search.stopped_at is not None, timed_out=call.timed_out(), cursor="nextCursor"),
    }
    if not page.results:
        result["coverage"] = listed_coverage(view, scope)
    if stale:
        result["stale"] = stale
    return result


def _found_file(call: Call, path: bytes) -> dict[str, Any]:
    view = call.view
    full = view.project.root + b"/" + path
    file = view.project.table.files.get(path)
    try:
        status = os.lstat(full)
        size, modified = status.st_size, status.st_mtime
    except OSError:  # gone since it was listed
        size, modified = file.size if file is not None else 0, 0.0
    shown = view.shown(path)
    return {
        "name": shown.rpartition("/")[2],
        "path": shown,
        "fullPath": full.decode("utf-8", "backslashreplace"),
        "type": "file",
        "size": _size(size),
        "lastModified": dt.datetime.fromtimestamp(int(modified), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "extension": extension_of(path).decode("utf-8", "backslashreplace").removeprefix("."),
    }


def _size(size: float) -> str:
    if size < 1024:
        return f"{size} B"
    for unit in ("KB", "MB", "GB"):
        size /= 1024
        if size < 1024:
            return f"{size:.2f} {unit}"
    return f"{size / 1024:.2f} TB"


class ProjectMatch(TypedDict):
    file: str
    line_number: int
    line_content: str
    match: str
    context_before: list[str]
    context_after: list[str]
    line_truncated: NotRequired[bool]


class ProjectStats(TypedDict):
    files_searched: int
    total_matches: int
    elapsed_ms: float


class ProjectResult(Listed):
    results: list[ProjectMatch]
    stats: ProjectStats
    error: str | None


class ProjectParams(Params):
    pattern: Annotated[str, Field(min_length=1, max_length=1_000_000, description="Regular expression")]
    path: str = "."
    file_type: Annotated[str | None, Field(max_length=100, description="Extension, such as py")] = None
    include_hidden: bool = False
    context_lines: Annotated[int, Field(ge=0, le=20)] = 2
    max_results: Annotated[int, Field(ge=1, le=RESULTS_MAX)] = RESULTS_MAX
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


def _project_error(error: ToolError) -> dict[str, Any]:
    """The tool's specification has two exceptions: a wrong pattern or argument, and a failed search."""
    name = "ValueError" if error.name == "ValueError" else "RuntimeError"
    stats = {"files_searched": 0, "total_matches": 0, "elapsed_ms": 0.0}
    return {"results": [], "stats": stats, "error": f"{name}: {error}"}


@tool(
    "search_project_code",
    toolset="files",
    title="Search code by regular expression",
    description="Lines that match a regular expression, case-sensitive, with the lines around; hidden files on request.",
    params=ProjectParams,
    result=ProjectResult,
    error=_project_error,
)
def search_project_code(call: Call, params: ProjectParams) -> dict[str, Any]:
    began = time.perf_counter()
    if not params.pattern.strip():
        raise ToolError("pattern: it is blank", "Give a regular expression; \\s matches spaces")
    pattern = pattern_of(call, params.pattern, is_regex=True, case_sensitive=True)
    asked = (call.view.resolve(params.path),)
    scope = call.view.scope(asked, _extensions(params.file_type), hidden=params.include_hidden)
    # A caller who wants few results should not wait for more, so the count ends there too.
    page = Page(params, str, int, results_max=params.max_results, count_max=params.max_results)
    query = TextQuery(call, pattern, scope)
    query.fill(page, lambda line: _project_match(call, params, line))
    stats = {"files_searched": query.coverage()["files_searched"], "total_matches": page.total}
    elapsed = round((time.perf_counter() - began) * 1000, 3)
    return {"results": page.results, "stats": {**stats, "elapsed_ms": elapsed}, "error": None, **query.tail(page)}


def _project_match(call: Call, params: ProjectParams, line: Line) -> dict[str, Any]:
    content, match = line.content(), line.match()
    before, after = line.before(params.context_lines), line.after(params.context_lines)
    result: dict[str, Any] = {
        "file": call.view.shown(line.found.path),
        "line_number": line.number,
        "line_content": content[0],
        "match": match[0],
        "context_before": [text for text, _ in before],
        "context_after": [text for text, _ in after],
    }
    if any(truncated for _, truncated in (content, match, *before, *after)):
        result["line_truncated"] = True
    return result


def _extensions(file_type: str | None) -> frozenset[bytes] | None:
    if file_type is None:
        return None
    extension = file_type.strip().lower().removeprefix("*").removeprefix(".")
    if not extension or any(character in extension for character in "/*?"):
        raise ToolError(f"file_type: {file_type!r} is not an extension", 'Give it as "py"; leave it out for all files')
    return frozenset({b"." + extension.encode("utf-8", "replace")})
