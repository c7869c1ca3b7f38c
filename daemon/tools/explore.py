"""The tool `explore_codebase`: a summary, the tree with its most important entries, and the most referenced elements."""

from __future__ import annotations

import os
from typing import Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.live_elements import indexing_required
from ctxd.daemon.answers.page import TOKEN_BYTES, size_of
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.code import NotReady
from ctxd.daemon.tools.search import Coverage, Stale
from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.symbols.enclosing import type_of
from ctxd.indexer.symbols.overview import Overview
from ctxd.indexer.symbols.symbol_search import KeyElement

LANGUAGES_MAX = 10
KEY_ELEMENTS_MAX = 30
README_CHARS_MAX = 500
_SUMMARY_SHARE = 3  # a third of the tokens
_KEY_SHARE = 2  # half of the tokens left beside the summary
_TREE_BYTES_MIN = 200
_FIXED_BYTES = 200


class LanguageCount(TypedDict):
    name: str
    files: int
    lines: int


class Readme(TypedDict):
    path: str
    text: str


class Summary(TypedDict):
    files: int
    lines: int
    filesNotCounted: NotRequired[int]
    languages: list[LanguageCount]
    readme: Readme | None


class TreeEntry(TypedDict):
    name: str
    type: Literal["folder", "file"]
    files: NotRequired[int]
    lines: int
    children: NotRequired[list[TreeEntry]]


class KeyElementShown(TypedDict):
    type: str
    name: str
    file: str
    line: int
    referringFiles: int
    doc: NotRequired[str]


class ExploreResult(NotReady):
    success: bool
    path: str
    summary: Summary
    tree: list[TreeEntry]
    keyElements: list[KeyElementShown]
    truncated: NotRequired[bool]
    coverage: NotRequired[Coverage]
    stale: NotRequired[Stale]


class ExploreParams(CamelParams):
    path: str = "."
    depth: Annotated[int, Field(ge=1, le=8)] = 2
    limit: Annotated[int, Field(ge=1, le=1_000, description="Entries of the tree")] = 200
    max_tokens: Annotated[int, Field(ge=200, le=100_000, description="Size limit of the answer")] = 4_000


@tool(
    "explore_codebase",
    toolset="code",
    title="Explore the codebase",
    description="Overview of a project or folder: size, languages, readme, the tree with counts, and the definitions used most.",
    params=ExploreParams,
    result=ExploreResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def explore_codebase(call: Call, params: ExploreParams) -> dict[str, Any]:
    view, project = call.view, call.view.project
    folder = view.resolve(params.path)
    if not os.path.isdir(os.path.join(project.root, folder)):
        raise ToolError(f"{params.path!r} is a file", "Name a folder; read_code_element reads files")
    stale = project.files_now()
    scope = view.scope((folder,))
    lacking = project.readiness.symbols_now(scope, call.stop)
    with project.lock:
        files = list(scope.files(project.table))
    overview = Overview(project.root, folder, files, params.depth)
    room = params.max_tokens * TOKEN_BYTES - _FIXED_BYTES
    summary = _summary(call, folder, overview, room // _SUMMARY_SHARE)
    room -= size_of(summary)
    keys: list[dict[str, Any]] = []
    used = 0
    if lacking.is_ready:
        project.readiness.ranked_now(call.stop)
        for one in project.symbols.key_elements(scope, KEY_ELEMENTS_MAX):
            shown = _key_element(view.shown(one.path), one)
            if used + size_of(shown) > room // _KEY_SHARE:
                break
            keys.append(shown)
            used += size_of(shown) + 1
    tree, truncated = _tree(overview, params.limit, max(room - used, _TREE_BYTES_MIN))
    answer: dict[str, Any] = {
        "success": True,
        "path": view.shown(folder) or ".",
        "summary": summary,
        "tree": tree,
        "keyElements": keys,
    }
    if not overview.files:
        answer["coverage"] = {"files_searched": 0, "skipped": dict(project.left_out_of((folder,)))}
    if truncated:
        answer["truncated"] = True
    if not lacking.is_ready:
        what = "keyElements come when all files are parsed, and lines are counted as files are indexed"
        return answer | indexing_required(project, what)
    if stale := stale or lacking.stale("parsed"):
        answer["stale"] = stale
    return answer


def _summary(call: Call, folder: bytes, overview: Overview, room: int) -> dict[str, Any]:
    most = sorted(overview.languages.items(), key=lambda item: (item[0] == "other", -item[1][1], -item[1][0], item[0]))
    summary: dict[str, Any] = {"files": overview.files, "lines": overview.lines}
    if overview.uncounted:
        summary["filesNotCounted"] = overview.uncounted
    summary["languages"] = [
        {"name": name, "files": files, "lines": lines} for name, (files, lines) in most[:LANGUAGES_MAX]
    ]
    while size_of(summary) > room and len(summary["languages"]) > 1:
        summary["languages"].pop()
    chars = max(0, min(README_CHARS_MAX, (room - size_of(summary)) // 2))
    summary["readme"] = _readme(call, os.path.join(folder, overview.readme), chars) if overview.readme else None
    return summary


def _readme(call: Call, path: bytes, chars: int) -> dict[str, str] | None:
    """The beginning of a readme, up to the end of a line."""
    try:
        text = decode(read_inside(call.view.project.root, path)[0])[1] or b""
    except Unreadable:
        return None
    start = text.decode().strip()
    if len(start) > chars:
        start = start[:chars].rpartition("\n")[0] or start[:chars]
    return {"path": call.view.shown(path), "text": start.rstrip()}


def _key_element(path: str, one: KeyElement) -> dict[str, Any]:
    definition = one.definition
    shown: dict[str, Any] = {
        "type": type_of(definition),
        "name": definition.name,
        "file": path,
        "line": definition.line,
        "referringFiles": one.files,
    }
    return {**shown, "doc": definition.doc} if definition.doc else shown


def _tree(overview: Overview, limit: int, room: int) -> tuple[list[dict[str, Any]], bool]:
    """The most important entries that fit the limit and `room` bytes, and whether some are left out."""
    shown: dict[int, dict[str, Any]] = {id(overview.tree): {"children": []}}
    truncated = False
    for parent, entry in overview.by_importance():
        above = shown.get(id(parent))
        if above is None:
            truncated = True
            continue
        one: dict[str, Any] = {"name": entry.name.decode("utf-8", "backslashreplace")}
        one |= {"type": "file"} if entry.is_file else {"type": "folder", "files": entry.files}
        one["lines"] = entry.lines
        size = size_of(one) + len(',"children":[]')
        if limit == 0 or size > room:
            truncated = True
            break
        limit -= 1
        room -= size
        shown[id(entry)] = one
        above.setdefault("children", []).append(one)
    for entry in shown.values():
        entry.get("children", []).sort(key=lambda one: (one["type"] == "file", one["name"]))
    return shown[id(overview.tree)]["children"], truncated
