"""The toolset `edit`: replaces matches in a file, and patches named places in one or several files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired, Self

from pydantic import Field, WithJsonSchema, model_validator
from typing_extensions import TypedDict

from ctxd.daemon.answers.page import LINE_CHARS_MAX
from ctxd.daemon.answers.text_file import document_of
from ctxd.daemon.answers.text_query import pattern_of
from ctxd.daemon.answers.working_files import WorkingFiles, worked_out
from ctxd.daemon.edits.editor import hash_of
from ctxd.daemon.edits.replacement import EDIT_BYTES_MAX, too_large
from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import CamelParams
from ctxd.daemon.tool import Call, tool
from ctxd.daemon.tools.text import FILE_PATH, BlockIndex, LineRange, absolute, failure
from ctxd.indexer.decode import line_count
from ctxd.indexer.documents import patch, substitution, text_targets
from ctxd.indexer.documents.patch import Patched
from ctxd.indexer.documents.substitution import Template
from ctxd.indexer.documents.text_targets import OTHERS_MAX, TargetError
from ctxd.indexer.documents.unified_diff import Change
from ctxd.indexer.patterns.pattern import OutOfTime, PatternError, literal_search

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxd.daemon.answers.working_files import WorkingFile
    from ctxd.indexer.documents.document import Document
    from ctxd.indexer.documents.substitution import FoundMatch
    from ctxd.indexer.documents.text_targets import Place

MATCHES_MAX = 500_000  # each replacement takes a few hundred bytes of memory
PATCHES_MAX = 100
CONTENT_CHARS_MAX = 10_000_000
SHOWN_CHARS_MAX = 2_000  # of texts that the caller sent
SHOWN_CHARS_TOTAL = 20_000  # of each kind of text in the answer to many patches
DELETED_LINES_WARNED = 50
_LOOK_EVERY = 1_000  # matches between two checks of the clock

EXPECTED_HASH = Annotated[str | None, Field(max_length=100, description="hash as read, else refused")]


class Outcome(TypedDict):
    """What both tools tell of what was written."""

    hash: NotRequired[str]
    dryRun: NotRequired[bool]
    diff: NotRequired[str]
    diffTruncated: NotRequired[bool]
    backup: NotRequired[list[str]]
    note: NotRequired[str]
    matchCount: NotRequired[int]
    otherLines: NotRequired[list[int]]
    total_is_exact: NotRequired[bool]


# replace_in_file


class ReplaceResult(Outcome):
    success: bool
    filePath: str
    searchText: str
    replaceText: str
    replacementCount: int
    caseSensitive: bool
    useRegex: bool
    replaceAll: bool
    fileSize: int
    modified: bool
    textsTruncated: NotRequired[bool]


class ReplaceParams(CamelParams):
    file_path: FILE_PATH
    search_text: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    replace_text: Annotated[str, Field(max_length=CONTENT_CHARS_MAX, description="$1, ${name}, $$ with useRegex")] = ""
    case_sensitive: bool = False
    use_regex: bool = False
    replace_all: bool = True
    dry_run: Annotated[bool, Field(description="Diff only")] = False
    expected_hash: EXPECTED_HASH = None
    backup: Annotated[bool, Field(description="Keep .bak")] = False


@tool(
    "replace_in_file",
    toolset="edit",
    title="Replace in a file",
    description="Replace a text or regex in a file: every occurrence, in any case, by default.",
    params=ReplaceParams,
    result=ReplaceResult,
    error=lambda error: {"success": False, "error": str(error)},
    writes=True,
)
def replace_in_file(call: Call, params: ReplaceParams) -> dict[str, Any]:
    return worked_out(lambda: _replace(call, params), knows_hash=params.expected_hash is not None)


def _replace(call: Call, params: ReplaceParams) -> dict[str, Any]:
    files = WorkingFiles(call)
    file = files.open(params.file_path, params.expected_hash)
    text = file.draft.text
    changes: list[Change] = []
    others: list[int] = []
    count, size = 0, len(text)
    for found, new in _replacements(call, params, text):
        count += 1
        if params.replace_all or count == 1:
            changes.append(Change(found.start, found.end, new))
            size += len(new) - (found.end - found.start)
            if size > EDIT_BYTES_MAX:
                raise too_large(f"the file would have {size:,} bytes and more")
        elif len(others) < OTHERS_MAX:
            others.append(text.count(b"\n", 0, found.start) + 1)
        if count > MATCHES_MAX:
            if params.replace_all:
                raise ToolError(
                    f"there are more than {MATCHES_MAX:,} matches",
                    "Nothing was changed; search for a more specific text",
                )
            break
    file.change(changes)
    outcome = files.write("replace_in_file", dry_run=params.dry_run, backup=params.backup)
    now = file.data if params.dry_run else file.new
    answer: dict[str, Any] = {
        "success": True,
        "filePath": call.view.shown(file.path),
        "searchText": params.search_text[:SHOWN_CHARS_MAX],
        "replaceText": params.replace_text[:SHOWN_CHARS_MAX],
        "replacementCount": len(changes),
        "caseSensitive": params.case_sensitive,
        "useRegex": params.use_regex,
        "replaceAll": params.replace_all,
        "fileSize": len(now),
        "modified": now != file.data,
    }
    if max(len(params.search_text), len(params.replace_text)) > SHOWN_CHARS_MAX:
        answer["textsTruncated"] = True
    if others:
        answer |= {"matchCount": count, "otherLines": others}
    if count > MATCHES_MAX:
        answer["total_is_exact"] = False
    if changes and (notes := file.notes()):
        answer["note"] = "; ".join(notes)
    return {**answer, **outcome, "hash": hash_of(now)}


def _replacements(call: Call, params: ReplaceParams, text: bytes) -> Iterator[tuple[FoundMatch, bytes]]:
    """Each match with its replacement. Raises ToolError, PatternError."""
    if params.use_regex:
        pattern = pattern_of(call, params.search_text, is_regex=True, case_sensitive=params.case_sensitive)
        try:
            template = Template(params.replace_text, pattern.group_names)
        except PatternError as error:
            raise ToolError(f"Invalid replaceText: {error}") from None
        try:
            for found in _in_time(call, substitution.of_pattern(pattern, text, call.stop)):
                yield found, template.filled(text, found)
        except OutOfTime:
            raise _took_too_long() from None
        if pattern.undecided:
            raise _took_too_long()
    else:
        search = literal_search(params.search_text.replace("\r\n", "\n"), case_sensitive=params.case_sensitive)
        new = params.replace_text.encode()
        for found in _in_time(call, substitution.of_literal(search, text)):
            yield found, new


def _in_time(call: Call, occurrences: Iterator[FoundMatch]) -> Iterator[FoundMatch]:
    for number, found in enumerate(occurrences):
        if number % _LOOK_EVERY == 0 and call.stop():
            raise _took_too_long()
        yield found


def _took_too_long() -> ToolError:
    return ToolError(
        "finding all matches took too long",
        "Nothing was changed; write the pattern without look-around and back-references, or with more literal text",
        name="TimeoutError",
    )


# TextPatch


class PatchTarget(CamelParams):
    lines: LineRange | None = None
    text: Annotated[str | None, Field(min_length=1, max_length=1_000_000)] = None
    pattern: Annotated[str | None, Field(min_length=1, max_length=100_000)] = None
    flags: Annotated[str, Field(pattern="^[ims]*$")] = ""
    heading: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    after_heading: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    before_heading: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    code_block: BlockIndex | None = None
    anchor: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    section: Annotated[str | None, Field(max_length=10_000)] = None
    key: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        names = {name: field.alias or name for name, field in type(self).model_fields.items()}
        kinds = [name for name in names if name not in ("flags", "key")]
        if sum(getattr(self, name) is not None for name in kinds) != 1:
            raise ValueError(f"give exactly one of {', '.join(names[name] for name in kinds)}")
        if self.flags and self.pattern is None:
            raise ValueError("flags belong to a pattern")
        if self.key is not None and self.section is None:
            raise ValueError('a key belongs to a section; "" is what stands before the first one')
        return self


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}
_TARGET_SCHEMA = {
    "type": "object",
    "description": "One of; headings with #",
    "properties": {
        "lines": {"type": "object", "properties": {"start": _INTEGER, "end": _INTEGER}},
        "text": _STRING,
        "pattern": _STRING,
        "flags": _STRING,
        "heading": _STRING,
        "afterHeading": _STRING,
        "beforeHeading": _STRING,
        "codeBlock": {"type": "object", "properties": {"index": _INTEGER}},
        "anchor": _STRING,
        "section": _STRING,
        "key": _STRING,
    },
}
"""The schema that callers see, without references, limits and `null`: a third of the tokens."""

Operation = Literal["replace", "insert", "delete", "replaceLines"]
CONTENT = Annotated[str | None, Field(max_length=CONTENT_CHARS_MAX)]
INDENT = Annotated[bool, Field(description="Indent as target")]


class Patch(CamelParams):
    file_path: FILE_PATH
    operation: Operation
    target: PatchTarget
    content: CONTENT = None
    preserve_indent: INDENT = True
    expected_hash: EXPECTED_HASH = None


_EDITS_SCHEMA = {
    "type": "array",
    "items": {"type": "object"},
    "description": "Instead: several {filePath, operation, target, content}, all or none",
}


class PatchParams(CamelParams):
    file_path: Annotated[str | None, Field(max_length=10_000)] = None
    operation: Operation | None = None
    target: Annotated[PatchTarget | None, WithJsonSchema(_TARGET_SCHEMA)] = None
    content: CONTENT = None
    preserve_indent: INDENT = True
    edits: Annotated[
        Annotated[list[Patch], Field(min_length=1, max_length=PATCHES_MAX)] | None, WithJsonSchema(_EDITS_SCHEMA)
    ] = None
    dry_run: Annotated[bool, Field(description="Diff only")] = False
    expected_hash: EXPECTED_HASH = None
    backup: Annotated[bool, Field(description="Keep .bak")] = False


class AffectedLines(TypedDict):
    start: int
    end: int


class Preview(TypedDict):
    before: str
    after: str
    truncated: NotRequired[bool]


class PatchStatus(Outcome):
    status: Literal["success", "error"]
    message: NotRequired[str]
    suggestions: NotRequired[list[str]]


class PatchResult(PatchStatus):
    operation: Operation
    filePath: str
    target: dict[str, Any]
    affectedLines: AffectedLines
    linesChanged: int
    linesDelta: int
    preview: Preview
    warning: NotRequired[str]


class PatchesResult(PatchStatus):
    results: list[dict[str, Any]]
    filesChanged: int


@tool(
    "TextPatch",
    toolset="edit",
    title="Patch text files",
    description="Change text files at lines, a text, heading, code block, anchor, section or key.",
    params=PatchParams,
    result=PatchResult | PatchesResult,
    error=failure,
    writes=True,
)
def text_patch(call: Call, params: PatchParams) -> dict[str, Any]:
    patches = _patches(params)
    return worked_out(
        lambda: _patch(call, params, patches), knows_hash=any(one.expected_hash is not None for one in patches)
    )


def _patches(params: PatchParams) -> list[Patch]:
    single = {name: getattr(params, name) for name in Patch.model_fields if name in params.model_fields_set}
    if params.edits is not None:
        if single:
            names = ", ".join(PatchParams.model_fields[name].alias or name for name in single)
            raise ToolError(f"edits cannot be combined with {names}", "Put these into each of the edits")
        return params.edits
    for name in ("file_path", "operation", "target"):
        if single.get(name) is None:
            raise ToolError(
                f"the argument {PatchParams.model_fields[name].alias or name!r} is required", "Or give edits"
            )
    return [Patch.model_construct(**single)]


class _Made:
    """One patch, made in memory."""

    def __init__(self, file: WorkingFile, asked: Patch, place: Place, lines: Patched, counts: tuple[int, int]) -> None:
        self.file = file
        self.asked = asked
        self.place = place
        self.lines = lines
        self.lines_before, self.lines_after = counts

    def answer(self, call: Call, notes: list[str], hash_: str, chars_max: int) -> dict[str, Any]:
        """The answer for this patch; each text in it has at most `chars_max` characters."""
        lines = self.lines
        preview: dict[str, Any] = {"before": lines.before[:chars_max], "after": lines.after[:chars_max]}
        if max(len(lines.before), len(lines.after)) > chars_max:
            preview["truncated"] = True
        target = self.asked.target.model_dump(by_alias=True, exclude_unset=True, exclude_none=True)
        delta = self.lines_after - self.lines_before
        if delta:
            notes = [f"File now has {self.lines_after} lines (was {self.lines_before})", *notes]
        answer: dict[str, Any] = {
            "status": "success",
            "operation": self.asked.operation,
            "filePath": absolute(call, self.file.path),
            "target": {key: one[:chars_max] if isinstance(one, str) else one for key, one in target.items()},
            "affectedLines": {"start": lines.start_line, "end": lines.end_line},
            "linesChanged": lines.lines_changed,
            "linesDelta": delta,
            "preview": preview,
        }
        if notes:
            answer["note"] = "; ".join(notes)
        if -delta >= DELETED_LINES_WARNED:
            answer["warning"] = f"{-delta} lines are gone; `ctxd undo` takes the edit back"
        if self.place.match_count > 1:
            answer |= {"matchCount": self.place.match_count, "otherLines": list(self.place.other_lines)}
            if not self.place.count_is_exact:
                answer["total_is_exact"] = False
        return {**answer, "hash": hash_}


def _patch(call: Call, params: PatchParams, patches: list[Patch]) -> dict[str, Any]:
    files = WorkingFiles(call)
    made: list[_Made] = []
    for number, asked in enumerate(patches):
        try:
            made.append(_made(call, files, asked))
        except (ToolError, TargetError) as error:
            if params.edits is None:
                raise
            message = f"edits[{number}]: {error.message}"
            raise ToolError(message, suggestions=[*error.suggestions, "None of the edits was made"]) from None
    outcome = files.write("TextPatch", dry_run=params.dry_run, backup=params.backup)
    chars_max = min(LINE_CHARS_MAX, SHOWN_CHARS_TOTAL // len(made))
    last_of = {one.file.path: one for one in made}
    results = [
        one.answer(
            call,
            one.file.notes() if last_of[one.file.path] is one else [],
            hash_of(one.file.data if params.dry_run else one.file.new),
            chars_max,
        )
        for one in made
    ]
    if params.edits is None:
        return {**results[0], **outcome}
    changed = 0 if params.dry_run else sum(file.is_changed for file in files)
    return {"status": "success", "results": results, "filesChanged": changed, **outcome}


def _made(call: Call, files: WorkingFiles, asked: Patch) -> _Made:
    """Raises ToolError, TargetError."""
    _check(asked)
    file = files.open(asked.file_path, asked.expected_hash)
    document = document_of(call, file.path, file.draft.text)
    place = _place(call, document, asked)
    change = _change(document.text, place, asked)
    lines = patch.patched(document.text, change, place)
    file.change([change])
    return _Made(file, asked, place, lines, (document.line_count, line_count(file.draft.text)))


def _check(asked: Patch) -> None:
    """Raise ToolError unless operation, target and content fit together."""
    operation, target, content = asked.operation, asked.target, asked.content
    for name, heading in (("afterHeading", target.after_heading), ("beforeHeading", target.before_heading)):
        if heading is not None and operation != "insert":
            raise ToolError(
                f"{name} is a place to insert at: there is nothing to {operation}",
                f'To change the heading itself, use the target {{"heading": "{heading}"}}',
            )
    if operation == "replaceLines" and target.lines is None:
        raise ToolError('replaceLines needs the target "lines"', 'Use "replace" with other targets')
    if operation in ("replace", "insert") and not content:
        hint = 'Use the operation "delete" to remove what is there' if operation == "replace" else "Say what to insert"
        raise ToolError(f"{operation} needs content that is not empty", hint)
    if operation == "delete" and content:
        raise ToolError("delete takes no content", 'Use the operation "replace" to put something else there')


def _place(call: Call, document: Document, asked: Patch) -> Place:
    """The place of a patch. Raises TargetError, and ToolError if the structure or the matches cannot be found."""
    target = asked.target
    heading = target.heading or target.after_heading or target.before_heading
    if target.lines is not None:
        to_insert = asked.operation == "insert"
        return text_targets.by_lines(document, target.lines.start, target.lines.end, to_insert=to_insert)
    if target.text is not None:
        return text_targets.by_text(document, target.text)
    if target.pattern is not None:
        pattern = pattern_of(call, target.pattern, is_regex=True, case_sensitive="i" not in target.flags)
        return text_targets.by_pattern(document, pattern, target.pattern, call.stop)
    if heading is not None:
        return text_targets.by_heading(document, heading)
    if target.code_block is not None:
        return text_targets.by_code_block(document, target.code_block.index)
    if target.anchor is not None:
        return text_targets.by_anchor(document, target.anchor)
    assert target.section is not None
    if target.key is not None:
        return text_targets.by_key(document, target.section, target.key)
    return text_targets.by_section(document, target.section)


def _change(text: bytes, place: Place, asked: Patch) -> Change:
    """Raises ToolError."""
    content = asked.content or ""
    indent = _indent(text, place, asked) if asked.preserve_indent else None
    if asked.operation == "insert":
        at = place.start if asked.target.before_heading is not None else place.insert_at
        return patch.insertion(text, place, at, content, indent=indent)
    if content:
        return patch.replacement(text, place, content, indent=indent)
    if asked.target.key is not None and not place.whole_lines:
        raise ToolError(
            f"the key {asked.target.key!r} shares its line with others: which comma goes with it is not clear",
            "Replace the line, or the text of it that should go",
        )
    if asked.target.section is not None:
        return patch.member_removal(text, place)
    return Change(place.start, place.end, b"")


def _indent(text: bytes, place: Place, asked: Patch) -> bytes:
    """The indentation for new content: that of the target.

    For a code block it is that of the fence, because the code may have its own. For content inserted into a section it is that
    of the section's text.
    """
    if asked.target.code_block is not None:
        return patch.indent_at(text, place.end if place.end < len(text) else place.start - 1)
    if asked.target.lines is not None and place.start == len(text):  # the line after the last
        return b""
    if asked.operation == "insert" and asked.target.section is not None and asked.target.key is None:
        inside = place.insert_at < place.end and not text.startswith(b"\n", place.insert_at)
        return patch.indent_at(text, place.insert_at if inside else place.start)
    return patch.indent_at(text, place.start)
