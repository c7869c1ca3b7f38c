"""The toolset `text`: reads one file, as an outline, matches, lines, or one part."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Self

from pydantic import Field, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from ctxd.daemon.answers.page import TOKEN_BYTES, Page, cut, end_that_fits
from ctxd.daemon.answers.text_file import TextFile, read_text_file
from ctxd.daemon.answers.text_query import Line, pattern_of
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.search import CamelListed
from ctxd.indexer import languages
from ctxd.indexer.documents import text_targets
from ctxd.indexer.documents.comments import blank_runs, comment_blocks
from ctxd.indexer.documents.document import PROSE, Document
from ctxd.indexer.text.text_search import FileMatches, Search, matching_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxd.indexer.documents.text_targets import Place
    from ctxd.indexer.structure import Section

READ_LINES_MAX = 200
"""A longer part is cut to its first lines, as specification 002 shows."""
READ_BYTES_MAX = 20_000 * TOKEN_BYTES
_COUNTED_MAX = 100_000  # matches in one file
_KEYS_MAX = 100  # in frontmatter

FILE_PATH = Annotated[str, Field(max_length=10_000)]


class Failure(TypedDict):
    status: NotRequired[Literal["error"]]
    message: NotRequired[str]
    suggestions: NotRequired[list[str]]


def failure(error: ToolError) -> dict[str, Any]:
    return {"status": "error", "message": error.message, "suggestions": error.suggestions}


class Heading(TypedDict):
    level: int
    text: str
    line: int


class HeadingTree(Heading):
    children: NotRequired[list[HeadingTree]]


class Frontmatter(TypedDict):
    startLine: int
    endLine: int
    keys: list[str]


class Block(TypedDict):
    language: str | None
    startLine: int
    endLine: int


class AnchorPlace(TypedDict):
    id: str
    line: int


class Marker(TypedDict):
    marker: str
    line: int


class Comment(TypedDict):
    startLine: int
    endLine: int
    prefix: str


class Parts(TypedDict):
    frontmatter: NotRequired[Frontmatter]
    headings: NotRequired[list[HeadingTree]]
    codeBlocks: NotRequired[list[Block]]
    anchors: NotRequired[list[AnchorPlace]]
    sections: NotRequired[list[Marker]]
    blankLineGroups: NotRequired[list[int]]
    commentBlocks: NotRequired[list[Comment]]


class StructureResult(CamelListed, Failure):
    filePath: str
    totalLines: int
    fileSize: str
    format: Literal["markdown", "restructuredtext", "text"]
    structure: Parts
    totals: NotRequired[dict[str, int]]
    hash: str


class Around(TypedDict):
    before: list[str]
    after: list[str]


class Match(TypedDict):
    line: int
    column: int
    text: str
    context: NotRequired[Around]
    nearestHeading: NotRequired[Heading]
    lineTruncated: NotRequired[bool]


class SearchResult(CamelListed, Failure):
    filePath: str
    query: str
    matches: list[Match]
    totalMatches: int
    note: NotRequired[str]
    hash: str


class NumberedLine(TypedDict):
    number: int
    text: str
    lineTruncated: NotRequired[bool]


class LinesResult(CamelListed, Failure):
    filePath: str
    query: str
    lines: list[NumberedLine]
    totalLines: int
    hash: str


class InspectParams(CamelParams):
    file_path: FILE_PATH
    mode: Literal["structure", "search", "lines"] = "structure"
    query: Annotated[str | None, Field(max_length=100_000, description='Text, or lines: "1-10,50"')] = None
    regex: bool = False
    context: Annotated[int, Field(ge=0, le=100, description="Lines around matches")] = 0
    cursor: Annotated[str | None, Field(description="nextCursor")] = None
    max_tokens: Annotated[int, Field(ge=200, le=100_000)] = 20_000


@tool(
    "TextInspect",
    toolset="text",
    title="Inspect a text file",
    description="Outline a text or Markdown file, search in it, or show lines of it.",
    params=InspectParams,
    result=StructureResult | SearchResult | LinesResult,
    error=failure,
)
def text_inspect(call: Call, params: InspectParams) -> dict[str, Any]:
    if params.mode != "structure" and not params.query:
        raise ToolError(f'the mode "{params.mode}" needs a query', 'A text to search, or lines such as "1-10,50"')
    if params.mode == "structure" and params.query:
        raise ToolError("a query belongs to another mode", 'Set mode to "search" or "lines"')
    file = read_text_file(call, params.file_path)
    answer = {"filePath": absolute(call, file.path)}
    match params.mode:
        case "structure":
            answer |= _structure(params, file)
        case "search":
            answer |= _search(call, params, file)
        case "lines":
            answer |= _lines(params, file)
    return {**answer, "hash": file.hash}


def absolute(call: Call, path: bytes) -> str:
    return os.path.join(call.view.project.root, path).decode("utf-8", "backslashreplace")


def _page(params: InspectParams, file: TextFile, *place: type, **limits: int) -> Page:
    """A page whose places end with `_mark(file)`, so that a cursor is refused after the file has changed."""
    page = Page(params, *place, str, **limits)
    if page.place is not None and page.place[-1] != _mark(file):
        raise ToolError("the file has changed since the cursor was given", "Leave the cursor out to begin again")
    return page


def _mark(file: TextFile) -> str:
    return file.hash[-16:]


# structure


def _structure(params: InspectParams, file: TextFile) -> dict[str, Any]:
    document = file.document
    items = list(_parts(document, file.path))
    items.sort(key=lambda item: item[1])
    page = _page(params, file, count_max=len(items))
    for item in items[page.total :]:
        page.add(lambda one=item: one, [_mark(file)])
    names = {
        "markdown": ("headings", "codeBlocks", "anchors"),
        "restructuredtext": ("headings",),
    }.get(document.language, ("sections", "blankLineGroups", "commentBlocks"))
    structure: dict[str, Any] = {name: [] for name in names}
    for name, _, value in page.results:
        if name == "frontmatter":
            structure = {name: value, **structure}
        else:
            structure[name].append(value)
    if "headings" in structure:
        structure["headings"] = _nested(structure["headings"])
    answer: dict[str, Any] = {
        "totalLines": document.line_count,
        "fileSize": _size(len(file.data)),
        "format": document.language if document.language in PROSE else "text",
        "structure": structure,
        **page.tail(cursor="nextCursor"),
    }
    if len(page.results) < len(items):
        answer["truncated"] = True
        answer["totals"] = {name: sum(item[0] == name for item in items) for name in names}
    return answer


def _parts(document: Document, path: bytes) -> Iterator[tuple[str, int, Any]]:
    """For each part of an outline: the list it belongs to, its line, and the fields to show."""
    if document.language not in PROSE:
        for marked in document.markers:
            yield "sections", marked.line, {"marker": cut(marked.marker, 0, 0)[0], "line": marked.line}
        for line in blank_runs(document.text):
            yield "blankLineGroups", line, line
        language = languages.language_of(path)
        for first, last, prefix in comment_blocks(document.text, language.name if language is not None else "text"):
            yield "commentBlocks", first, {"startLine": first, "endLine": last, "prefix": prefix}
        return
    structure = document.structure
    if (front := structure.frontmatter) is not None:
        keys = [cut(key, 0, 0)[0] for key in front.keys[:_KEYS_MAX]]
        yield "frontmatter", 0, {"startLine": front.start_line, "endLine": front.end_line, "keys": keys}
    for heading in document.headings:
        yield "headings", heading.line, _heading(heading)
    for block in structure.code_blocks:
        shown = {
            "language": cut(block.language, 0, 0)[0] or None,
            "startLine": block.start_line,
            "endLine": block.end_line,
        }
        yield "codeBlocks", block.start_line, shown
    for anchor in structure.anchors:
        yield "anchors", anchor.line, {"id": cut(anchor.id, 0, 0)[0], "line": anchor.line}


def _heading(heading: Section) -> dict[str, Any]:
    return {"level": heading.level, "text": cut(heading.names[0], 0, 0)[0], "line": heading.line}


def _nested(headings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nest each heading below the nearest one of a lower level, except level 1: else the document would be one heading."""
    top: list[dict[str, Any]] = []
    above: list[dict[str, Any]] = []
    for shown in headings:
        heading = dict(shown)
        while above and above[-1]["level"] >= heading["level"]:
            above.pop()
        (above[-1].setdefault("children", []) if above else top).append(heading)
        if heading["level"] > 1:
            above.append(heading)
    return top


def _size(count: int) -> str:
    if count < 1024:
        return f"{count}B"
    if count < 1024 * 1024:
        return f"{count / 1024:.0f}KB"
    return f"{count / 1024 / 1024:.1f}MB"


# search


def _search(call: Call, params: InspectParams, file: TextFile) -> dict[str, Any]:
    query = params.query or ""
    pattern = pattern_of(call, query, is_regex=params.regex, case_sensitive=True)
    page = _page(params, file, int, int, count_max=_COUNTED_MAX)
    text = file.document.text
    from_line, from_byte = page.place[:2] if page.place is not None else (0, 0)
    search = Search(call.stop, call.progress)
    found = FileMatches(file.path, text, matching_lines(pattern, file.path, text, search, from_line))
    nearest = _NearestHeading(file.document)
    for start, end, _, _ in found.lines:
        shown = _LineOfMatches(Line(found, start, end, start, start), params.context)
        for first, last in pattern.matches_in_line(text[start:end]):
            if start + first < from_byte:
                continue
            place = [start, start + last + (first == last), _mark(file)]
            if not page.add(
                lambda one=shown, at=first, to=last: one.match(at, to) | nearest.above(one.line.start), place
            ):
                break
        if page.count > _COUNTED_MAX:
            break
    at = search.stopped_offset
    undecided = pattern.undecided > 0
    answer: dict[str, Any] = {
        "query": query,
        "matches": page.results,
        "totalMatches": page.total,
        **page.tail(
            stopped=search.stopped_at is not None or undecided,
            timed_out=call.timed_out() or undecided,
            stopped_at=[at, at, _mark(file)] if search.stopped_at is not None else None,
            cursor="nextCursor",
        ),
    }
    if nearest.problem:
        answer["note"] = f"nearestHeading is left out: {nearest.problem}"
    if not page.results:
        answer["coverage"] = {"files_searched": 1, "skipped": dict(search.skipped)}
    return answer


class _LineOfMatches:
    """A line with matches, shown once for each match. Columns are counted on from the match before."""

    def __init__(self, line: Line, context: int) -> None:
        self.line = line
        self._context = context
        self._counted = (0, 0)  # bytes, characters

    def match(self, first: int, last: int) -> dict[str, Any]:
        raw = self.line.raw
        counted, column = self._counted
        column += len(raw[counted:first].decode())
        self._counted = (first, column)
        text, truncated = cut(raw.decode(), column, column + len(raw[first:last].decode()))
        match: dict[str, Any] = {"line": self.line.number, "column": column + 1, "text": text}
        if truncated:
            match["lineTruncated"] = True
        if self._context:
            before, after = self.line.before(self._context), self.line.after(self._context)
            match["context"] = {"before": [one for one, _ in before], "after": [one for one, _ in after]}
        return match


class _NearestHeading:
    """The heading above a match, if headings can be found in time."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.problem = ""

    def above(self, offset: int) -> dict[str, Any]:
        if self.problem:
            return {}
        try:
            heading = self._document.heading_above(offset)
        except ToolError as error:
            self.problem = error.message
            return {}
        return {"nearestHeading": _heading(heading)} if heading is not None else {}


# lines


def _lines(params: InspectParams, file: TextFile) -> dict[str, Any]:
    document = file.document
    ranges = _ranges(params.query or "", document.line_count)
    page = _page(params, file, int)
    shown_to = page.place[0] if page.place is not None else 0
    for number, raw in _lines_of(document, ranges, shown_to):
        page.add(lambda n=number, line=raw: _numbered(n, line), [number, _mark(file)])
        if page.count > len(page.results):
            break
    return {
        "query": params.query,
        "lines": page.results,
        "totalLines": document.line_count,
        **page.tail(cursor="nextCursor"),
    }


def _lines_of(document: Document, ranges: list[tuple[int, int]], after: int) -> Iterator[tuple[int, bytes]]:
    text = document.text
    for first, last in ranges:
        begin = max(first, after + 1)
        at = document.start_of_line(begin)
        for number in range(begin, last + 1):
            end = text.find(b"\n", at)
            end = end if end >= 0 else len(text)
            yield number, text[at:end]
            at = end + 1


def _numbered(number: int, raw: bytes) -> dict[str, Any]:
    text, truncated = cut(raw.decode(), 0, 0)
    return {"number": number, "text": text} | ({"lineTruncated": True} if truncated else {})


def _ranges(query: str, count: int) -> list[tuple[int, int]]:
    """`50-60,100-110` as rising ranges without overlaps. Lines after the end of the file are left out."""
    ranges = []
    for part in query.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            raise ToolError(f"{part.strip()!r} is no range of lines", 'Write lines as "1-10", "50-60,100-110" or "7"')
        first = int(found[1])
        last = int(found[2] or first)
        if not 1 <= first <= last:
            raise ToolError(
                f"{part.strip()!r} is no range of lines", "Lines count from 1; a range begins with the smaller number"
            )
        if first > count:
            have = f"the file has {count} line{'s' * (count != 1)}" if count else "the file is empty"
            raise ToolError(f"Line {first} is out of bounds: {have}", "Name lines within it")
        ranges.append((first, min(last, count)))
    ranges.sort()
    merged = ranges[:1]
    for first, last in ranges[1:]:
        if first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return merged


_RANGE = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", re.ASCII)


# TextRead


class LineRange(CamelParams):
    start: Annotated[int, Field(ge=1, le=1_000_000_000)]
    end: Annotated[int, Field(ge=1, le=1_000_000_000)]


class HeadingText(CamelParams):
    text: Annotated[str, Field(min_length=1, max_length=10_000)]
    include_children: bool = True


class BlockIndex(CamelParams):
    index: Annotated[int, Field(ge=0, le=1_000_000_000)]


class SearchText(CamelParams):
    query: Annotated[str, Field(min_length=1, max_length=100_000)]
    context_lines: Annotated[int, Field(ge=0, le=(READ_LINES_MAX - 1) // 2)] = 10  # so that the match is not cut off


class ReadTarget(CamelParams):
    lines: LineRange | None = None
    heading: HeadingText | None = None
    code_block: BlockIndex | None = None
    anchor: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    section: Annotated[str | None, Field(max_length=10_000)] = None
    search: SearchText | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError("give exactly one of lines, heading, codeBlock, anchor, section, search")
        return self


_TARGET_SCHEMA = {
    "type": "object",
    "maxProperties": 1,
    "properties": {
        "lines": {"type": "object", "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}}},
        "heading": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "includeChildren": {"type": "boolean"}},
        },
        "codeBlock": {"type": "object", "properties": {"index": {"type": "integer"}}},
        "anchor": {"type": "string"},
        "section": {"type": "string"},
        "search": {"type": "object", "properties": {"query": {"type": "string"}, "contextLines": {"type": "integer"}}},
    },
}
"""The schema that callers see, without references, limits and `null`: a third of the tokens."""


class ReadParams(CamelParams):
    file_path: FILE_PATH
    target: Annotated[ReadTarget, WithJsonSchema(_TARGET_SCHEMA)]


class Range(TypedDict):
    startLine: int
    endLine: int


class ReadResult(Failure):
    filePath: str
    target: dict[str, Any]
    range: Range
    content: str
    truncated: bool
    totalLines: NotRequired[int]
    suggestion: NotRequired[str]
    matchCount: NotRequired[int]
    otherLines: NotRequired[list[int]]
    hash: str


@tool(
    "TextRead",
    toolset="text",
    title="Read a part of a text file",
    description="Read one part of a text file, named by one target.",
    params=ReadParams,
    result=ReadResult,
    error=failure,
)
def text_read(call: Call, params: ReadParams) -> dict[str, Any]:
    file = read_text_file(call, params.file_path)
    text = file.document.text
    place = _place(file.document, params.target)
    start = _start(file.document, params.target, place)
    end = file.document.start_of_line(min(place.end_line, place.start_line + READ_LINES_MAX - 1) + 1)
    end = max(start, min(end, place.end))
    if end > start and text.endswith(b"\n", 0, end):
        end -= 1
    shown_to = end_that_fits(text, start, end, READ_BYTES_MAX)
    shown = place.start_line + text.count(b"\n", place.start, shown_to)
    truncated = start > place.start or shown_to < end or shown < place.end_line
    answer: dict[str, Any] = {
        "filePath": absolute(call, file.path),
        "target": params.target.model_dump(by_alias=True, exclude_unset=True, exclude_none=True),
        "range": {"startLine": place.start_line, "endLine": place.end_line},
        "content": text[start:shown_to].decode(),
        "truncated": truncated,
    }
    if truncated:
        is_cut = start > place.start or (shown_to < end and not text.startswith(b"\n", shown_to))
        rest = f"line {shown} is cut, as it is very long" if is_cut else f"content ends with line {shown}"
        answer["totalLines"] = place.end_line - place.start_line + 1
        answer["suggestion"] = f"Use TextInspect to find specific subsections, or target by line range: {rest}"
    if place.match_count > 1:
        answer["matchCount"] = place.match_count
        answer["otherLines"] = list(place.other_lines)
    return {**answer, "hash": file.hash}


def _start(document: Document, target: ReadTarget, place: Place) -> int:
    """The start of the content: that of the place, but in very long lines only a little before the match."""
    if target.search is None or place.end - place.start <= READ_BYTES_MAX:
        return place.start
    start = max(place.start, text_targets.by_text(document, target.search.query).start - READ_BYTES_MAX // 4)
    while document.text[start] & 0xC0 == 0x80:  # within a character
        start += 1
    return start


def _place(document: Document, target: ReadTarget) -> Place:
    """The place of a target. Raises TargetError, and ToolError if the structure cannot be found."""
    if target.lines is not None:
        return text_targets.by_lines(document, target.lines.start, target.lines.end)
    if (heading := target.heading) is not None:
        return text_targets.heading_to_read(document, heading.text, children=heading.include_children)
    if target.code_block is not None:
        return text_targets.by_code_block(document, target.code_block.index)
    if target.anchor is not None:
        return text_targets.anchor_to_read(document, target.anchor)
    if target.section is not None:
        return text_targets.section_to_read(document, target.section)
    assert target.search is not None
    return text_targets.lines_around_text(document, target.search.query, target.search.context_lines)
