"""Turns an operation at a place of a text into a change of its bytes. docs/text-targets.md has the table.

Invariant: content for whole lines becomes whole lines, with or without a newline at its end. A file whose last line has
no newline keeps it so. Content for a part of a line is taken as it is, except that its further lines may be indented.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.documents.unified_diff import Change

if TYPE_CHECKING:
    from ctxd.indexer.documents.text_targets import Place

_BLANKS = " \t"
_INLINE_BLANKS = b" \t"


class Patched(NamedTuple):
    """The effect of one change on lines. Lines are 1-based and inclusive."""

    start_line: int
    end_line: int
    """Lines of the old text. For an insertion of whole lines, lines of the new text."""
    lines_changed: int
    """Lines of the old text that are changed or gone."""
    before: str
    after: str
    """The affected lines before and after the change, without the last newline."""


def replacement(text: bytes, place: Place, content: str, *, indent: bytes | None) -> Change:
    """Replace the place with `content`. `indent` is that of the lines around; None leaves the content as it is."""
    if not place.whole_lines:
        return Change(place.start, place.end, _continued(text, place.start, place.end, content, indent).encode())
    if place.start == place.end:  # the inside of an empty code block
        return insertion(text, place, place.start, content, indent=indent)
    body = _indented(_bare(content), indent)
    newline = b"\n" if text.endswith(b"\n", 0, place.end) else b""
    return Change(place.start, place.end, body.encode() + newline)


def insertion(text: bytes, place: Place, at: int, content: str, *, indent: bytes | None) -> Change:
    """Insert `content` at an offset, as whole lines if the place is whole lines."""
    if not place.whole_lines:
        return Change(at, at, _continued(text, at, at, content, indent).encode())
    body = _indented(_bare(content), indent).encode()
    if at and not text.endswith(b"\n", 0, at):
        return Change(at, at, b"\n" + body)
    return Change(at, at, body + b"\n")


def member_removal(text: bytes, place: Place) -> Change:
    """Remove the lines of a section or key; with the last member of a JSON object or list, also the comma before it."""
    before = text[: place.start].rstrip()
    if before.endswith(b",") and text[place.end :].lstrip().startswith((b"}", b"]")):
        comma = len(before) - 1
        return Change(comma, place.end, text[comma + 1 : place.start])
    return Change(place.start, place.end, b"")


def indent_at(text: bytes, offset: int) -> bytes:
    """The blanks at the start of the line that holds an offset."""
    start = text.rfind(b"\n", 0, offset) + 1
    end = text.find(b"\n", start)
    line = text[start : end if end >= 0 else len(text)]
    return line[: len(line) - len(line.lstrip(_INLINE_BLANKS))]


def patched(text: bytes, change: Change, place: Place) -> Patched:
    """The effect of a change of `text` at `place` on its lines."""
    start, end, new = change
    line_start = text.rfind(b"\n", 0, start) + 1
    line = text.count(b"\n", 0, start) + 1
    if start == end and place.whole_lines:
        added = new.removesuffix(b"\n") if start == line_start else new.removeprefix(b"\n")
        line += start != line_start
        return Patched(line, line + added.count(b"\n"), 0, "", added.decode())
    is_whole = start == line_start and text.endswith(b"\n", 0, end) and (not new or new.endswith(b"\n"))
    newline = text.find(b"\n", end)
    line_end = end if is_whole else newline if newline >= 0 else len(text)
    before = text[line_start:line_end].removesuffix(b"\n").decode()
    after = (text[line_start:start] + new + text[end:line_end]).removesuffix(b"\n").decode()
    if start == end:
        return Patched(line, line, 1, before, after)
    return Patched(place.start_line, place.end_line, place.end_line - place.start_line + 1, before, after)


def _bare(content: str) -> str:
    content = content.replace("\r\n", "\n")
    return content.removesuffix("\n")


def _indented(content: str, indent: bytes | None) -> str:
    """Move all lines right together until the first has the indent of the lines around. Never move lines left."""
    if not indent:
        return content
    wanted = indent.decode()
    lines = content.split("\n")
    own = next((_indent_of(line) for line in lines if line.strip()), "")
    if own.startswith(wanted):
        return content
    return "\n".join(wanted + line.removeprefix(_shared(own, line)) if line.strip() else line for line in lines)


def _continued(text: bytes, start: int, end: int, content: str, indent: bytes | None) -> str:
    """Content for a part of a line. Its further lines get the indent of that line, unless all of them have it."""
    first, newline, rest = content.replace("\r\n", "\n").partition("\n")
    is_line_start = start == 0 or text.endswith(b"\n", 0, start)
    if not newline or not indent or is_line_start or b"\n" in text[start:end]:
        return content
    wanted = indent.decode()
    lines = rest.split("\n")
    if all(line.startswith(wanted) for line in lines if line.strip()):
        return content
    return "\n".join([first, *(wanted + line if line.strip() else line for line in lines)])


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def _shared(first: str, second: str) -> str:
    """The common prefix."""
    count = 0
    while count < min(len(first), len(second)) and first[count] == second[count]:
        count += 1
    return first[:count]
