"""The toolset `files`: file names."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.tool import Call, Page, Params, ToolError, read_cursor, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, Coverage, Stale
from ctxd.indexer.glob import GlobError
from ctxd.indexer.text_search import Search


class NamesResult(TypedDict):
    files: list[str]
    total_found: int
    total_is_exact: NotRequired[bool]
    truncated: NotRequired[bool]
    timed_out: NotRequired[bool]
    next_cursor: NotRequired[str]
    coverage: NotRequired[Coverage]
    stale: NotRequired[Stale]


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
    description="List the files whose name matches a glob. Case-sensitive. Left out are ignored files, and hidden ones unless path names a hidden folder.",
    params=NamesParams,
    result=NamesResult,
    error=lambda error: {"error": f"{error.name}: {error}"},
)
def find_files_by_name(call: Call, params: NamesParams) -> dict[str, Any]:
    view = call.view
    stale = view.project.files_now()
    scope = view.scope((view.resolve(params.path),))
    after = read_cursor(params, params.cursor, str)[0].encode("latin-1") if params.cursor is not None else None
    search = Search(stop=call.stop, backend=view.files_backend)
    page = Page(params)
    try:
        for path in view.project.names.search(params.name_pattern, scope, search, after=after):
            if not page.add(lambda one=path: view.shown(one), [path.decode("latin-1")]):
                break
    except GlobError as error:
        raise ToolError(f"Invalid name_pattern {params.name_pattern!r}: {error}") from None
    result: dict[str, Any] = {"files": page.results, "total_found": page.count}
    result |= page.tail(stopped=search.stopped_at is not None, timed_out=call.timed_out())
    if not page.results:
        with view.project.lock:
            listed = view.project.counter.files(scope)
        result["coverage"] = {"files_searched": listed, "skipped": {}}
    if stale:
        result["stale"] = stale
    return result
