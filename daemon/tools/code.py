"""The toolset `code`: tools that show the element around a line and the elements around matches."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from ctxd.daemon.answers.live_elements import ElementLookup, elements_of, readable
from ctxd.daemon.answers.match_groups import LineMatch, Teller, matches_by_file
from ctxd.daemon.answers.page import RESULTS_MAX, TOKEN_BYTES, end_that_fits, make_cursor, read_cursor, size_of
from ctxd.daemon.answers.text_query import pattern_of
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.search import CURSOR, MAX_TOKENS, CamelListed, Progress, Stale
from ctxd.daemon.tools.search_in_files import PATTERNS, FileOfMatches, GroupedMatch
from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable
from ctxd.indexer.symbols.enclosing import FileElements, language_name, type_of

if TYPE_CHECKING:
    from ctxd.indexer.symbols.outline import Definition
    from ctxd.indexer.text.text_search import FileMatches

_SIDE_SHARE = (
    8  # at most an eighth of the tokens each for related elements, imports and highlights; the rest is for the content
)
_FIXED_BYTES = 500  # names and numbers
_CONTENT_BYTES_MIN = 100


class ElementPlace(TypedDict):
    type: str
    name: str
    startLine: int
    endLine: int


class Element(ElementPlace):
    content: str
    contentStartLine: NotRequired[int]
    language: str
    parameters: list[str]
    modifiers: list[str]
    complexity: int


class RelatedElement(TypedDict):
    type: Literal["parent", "child"]
    element: ElementPlace


class ImportLine(TypedDict):
    type: Literal["import"]
    content: str
    line: int


class Highlight(TypedDict):
    line: int
    start: int
    end: int


class Context(TypedDict):
    startLine: int
    endLine: int
    content: str


class NotReady(TypedDict):
    status: NotRequired[Literal["indexing_required"]]
    progress: NotRequired[Progress]
    error: NotRequired[str]


class ElementResult(NotReady):
    success: bool
    filePath: str
    lineNumber: int
    searchQuery: NotRequired[str]
    element: Element | None
    context: NotRequired[Context]
    relatedElements: list[RelatedElement]
    imports: list[ImportLine]
    highlightPositions: list[Highlight]
    totalLines: int
    hash: str
    note: NotRequired[str]
    truncated: NotRequired[bool]
    nextCursor: NotRequired[str]
    stale: NotRequired[Stale]


class ElementParams(CamelParams):
    file_path: Annotated[str, Field(min_length=1, max_length=10_000)]
    line_number: Annotated[int, Field(ge=1, le=1_000_000_000)]
    search_query: Annotated[
        str | None, Field(min_length=1, max_length=10_000, description="Text to highlight, any case")
    ] = None
    context_lines: Annotated[int, Field(ge=0, le=1_000, description="Around the line where no element is")] = 5
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "read_code_element",
    toolset="code",
    title="Read a code element",
    description="Read only the function, class or method that contains a line, with its parent, children and the file's imports.",
    params=ElementParams,
    result=ElementResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def read_code_element(call: Call, params: ElementParams) -> dict[str, Any]:
    path = readable(call.view, params.file_path)
    lookup = ElementLookup(call)
    elements = elements_of(lookup, path, params.file_path)
    line = params.line_number
    if line > elements.line_count:
        count = elements.line_count
        have = f"has {count} line{'s' * (count != 1)}" if count else "is empty"
        raise ToolError(f"there is no line {line} in {params.file_path!r}: it {have}", "Lines count from 1")
    index = elements.around_line(line)
    if index is None:
        first, last = max(1, line - params.context_lines), min(elements.line_count, line + params.context_lines)
    else:
        first, last = elements.definitions[index].start_line, elements.definitions[index].end_line
    related = _related(elements, index) if index is not None else []
    imports = [
        {"type": "import", "content": elements.lines(start, end).strip(), "line": start}
        for start, end in elements.statements
    ]
    room = params.max_tokens * TOKEN_BYTES - _FIXED_BYTES
    some_related, some_imports = _fitting(related, room // _SIDE_SHARE), _fitting(imports, room // _SIDE_SHARE)
    beside = size_of(some_related) + size_of(some_imports)
    if params.search_query is not None:
        beside += room // _SIDE_SHARE
    shown = _Excerpt(elements, first, last, params, room - beside)
    highlights = _highlights(call, params, elements, shown)
    some_highlights = _fitting(highlights, room // _SIDE_SHARE)
    answer: dict[str, Any] = {"success": True, "filePath": call.view.shown(path), "lineNumber": line}
    if params.search_query is not None:
        answer["searchQuery"] = params.search_query
    if index is None:
        answer["element"] = None
        answer["context"] = {"startLine": shown.first, "endLine": shown.last, "content": shown.text}
    else:
        answer["element"] = _element(elements, elements.definitions[index], shown)
    answer["relatedElements"] = some_related
    answer["imports"] = some_imports
    answer["highlightPositions"] = some_highlights
    answer["totalLines"] = last - first + 1 if index is not None else 0
    answer["hash"] = "sha256:" + hashlib.sha256(elements.data).hexdigest()
    if (note := _note(elements)) is not None:
        answer["note"] = note
    if shown.is_part or len(some_related + some_imports + some_highlights) < len(related + imports + highlights):
        answer["truncated"] = True
    if shown.goes_on_at is not None:
        answer["nextCursor"] = make_cursor(params, [shown.goes_on_at])
    return answer | lookup.state()


class _Excerpt:
    """Lines from a cursor on, as many as fit in a number of bytes. They are cut between lines where possible."""

    def __init__(self, elements: FileElements, first: int, last: int, params: ElementParams, room: int) -> None:
        text, starts = elements.text or b"", elements.line_starts
        start, end = starts[first - 1], starts[last] - 1
        if params.cursor is not None:
            (at,) = read_cursor(params, params.cursor, int)
            if not start <= at < end:
                raise ToolError(
                    "the file has changed since the cursor was given", "Read the element from its beginning"
                )
            start = at
        end_of_all = end
        end = end_that_fits(text, start, end, max(room, _CONTENT_BYTES_MIN))
        self.goes_on_at = end + text.startswith(b"\n", end) if end < end_of_all else None
        self.is_part = params.cursor is not None or self.goes_on_at is not None
        self.text = text[start:end].decode()
        self.first = first + text.count(b"\n", starts[first - 1], start)
        self.last = self.first + text.count(b"\n", start, end)


def _element(elements: FileElements, one: Definition, shown: _Excerpt) -> dict[str, Any]:
    element: dict[str, Any] = {
        "type": type_of(one),
        "name": one.name,
        "content": shown.text,
        "startLine": one.start_line,
        "endLine": one.end_line,
        "language": language_name(elements.language or ""),
        "parameters": list(one.parameters),
        "modifiers": list(one.modifiers),
        "complexity": one.complexity,
    }
    if shown.first != one.start_line:
        element["contentStartLine"] = shown.first
    return element


def place_of(one: Definition) -> dict[str, Any]:
    return {"type": type_of(one), "name": one.name, "startLine": one.start_line, "endLine": one.end_line}


def _related(elements: FileElements, index: int) -> list[dict[str, Any]]:
    parent = elements.parent(index)
    related = [{"type": "parent", "element": place_of(parent)}] if parent is not None else []
    return related + [{"type": "child", "element": place_of(child)} for child in elements.children(index)]


def _highlights(call: Call, params: ElementParams, elements: FileElements, shown: _Excerpt) -> list[dict[str, Any]]:
    if params.search_query is None:
        return []
    pattern = pattern_of(call, params.search_query, is_regex=False, case_sensitive=False)
    found: list[dict[str, Any]] = []
    for number in range(shown.first, shown.last + 1):
        text = elements.lines(number, number)
        line = text.encode()
        for start, end in pattern.matches_in_line(line):
            if len(found) == RESULTS_MAX:
                return found
            first = len(line[:start].decode())
            found.append({"line": number, "start": first, "end": first + len(line[start:end].decode())})
    return found


def _fitting(items: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The first items, as many as fit in `room` bytes."""
    for index, item in enumerate(items):
        room -= size_of(item) + 1
        if room < 0:
            return items[:index]
    return items


def _note(elements: FileElements) -> str | None:
    match elements.symbols:
        case "none":
            return f"no elements: {'files of this kind have no symbols' if elements.language is None else f'{elements.language} has no symbols'}"
    return _WITHOUT_ELEMENTS.get(elements.symbols)


_WITHOUT_ELEMENTS = {
    "too_large": "no elements: the file is too large to be parsed",
    "failed": "no elements: the file could not be parsed",
}


class ContextMatch(GroupedMatch):
    codeElement: NotRequired[ElementPlace | None]


class ContextGroup(TypedDict):
    file: FileOfMatches
    matches: list[ContextMatch]
    note: NotRequired[str]
    totalMatches: NotRequired[int]


class ContextResult(CamelListed, NotReady):
    success: bool
    query: str
    totalFiles: int
    totalMatches: int
    codeElementTypes: NotRequired[dict[str, int]]
    filesSearched: int
    results: list[ContextGroup]


class ContextParams(CamelParams):
    query: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    case_sensitive: bool = False
    is_regex: Annotated[bool, Field(alias="useRegex")] = False
    limit: Annotated[int, Field(ge=1, le=200, description="Files")] = 50
    matches_max: Annotated[int, Field(alias="maxMatchesPerFile", ge=1, le=20)] = 5
    include_code_context: bool = True
    include: Annotated[PATTERNS, Field(alias="includePatterns", description="Such as src/, *.ts, word, a/**/b")] = ""
    exclude: Annotated[PATTERNS, Field(alias="excludePatterns")] = ""
    cursor: CURSOR = None
    max_tokens: MAX_TOKENS = 20_000


@tool(
    "search_with_context",
    toolset="code",
    title="Search with code context",
    description="Find text in files, ignoring case, and tell which function, class or method each match is in.",
    params=ContextParams,
    result=ContextResult,
    error=lambda error: {"success": False, "error": str(error)},
)
def search_with_context(call: Call, params: ContextParams) -> dict[str, Any]:
    if not params.include_code_context:
        return matches_by_file(call, params)
    around = _Around(ElementLookup(call))
    answer = matches_by_file(call, params, around)
    if around.left_out:
        coverage = answer.setdefault("coverage", {"files_searched": answer["filesSearched"], "skipped": {}})
        coverage["skipped"] = dict(Counter(coverage["skipped"]) + around.left_out)
    return {**answer, "codeElementTypes": dict(around.types.most_common()), **around.lookup.state()}


class _Around(Teller):
    """Adds the element around each match, and counts the types of all these elements."""

    def __init__(self, lookup: ElementLookup) -> None:
        self.lookup = lookup
        self.types: Counter[str] = Counter()
        self.left_out: Counter[str] = Counter()
        """Files without elements, by reason."""
        self._symbols = ""

    def of(self, found: FileMatches, occurrences: list[LineMatch]) -> list[dict[str, Any]]:
        elements = _elements_around(self.lookup, found)
        self._symbols = elements.symbols if elements is not None else ""
        if self._symbols in {"too_large", "failed"}:
            self.left_out[self._symbols] += 1
        places: list[dict[str, Any]] = []
        for line_start, _, first, last in occurrences:
            index = elements.around_span(line_start + first, line_start + last) if elements is not None else None
            place = place_of(elements.definitions[index]) if elements is not None and index is not None else None
            if place is not None:
                self.types[place["type"]] += 1
            places.append({"codeElement": place})
        return places

    def note(self) -> str | None:
        return _WITHOUT_ELEMENTS.get(self._symbols)

    def total(self) -> str:
        return json.dumps(self.types)

    def go_on(self, total: str) -> None:
        """Begin with the counts of earlier pages. Raises ToolError if the cursor was tampered with."""
        try:
            counts = json.loads(total or "{}")
            self.types = Counter({str(name): int(count) for name, count in counts.items()})
        except (ValueError, TypeError, AttributeError):
            raise ToolError("the cursor cannot be read", "Pass it as it was given, or leave it out to begin") from None


def _elements_around(lookup: ElementLookup, found: FileMatches) -> FileElements | None:
    """The elements of exactly the text that was searched; None if there are none."""
    if languages.parsed_language_of(found.path) is None:
        return None
    try:
        elements = lookup.of(found.path)
    except Unreadable:  # gone since it was searched
        return None
    if elements.text != found.text:
        lookup.pending += 1
        return None
    return elements
