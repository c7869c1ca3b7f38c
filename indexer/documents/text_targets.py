"""Finds the bytes to read or change for a target: lines, a heading, a text, a key. docs/text-targets.md has the table.

Invariant: a target gives one place or raises TargetError. Where it could mean several places, it means the first, and
the place lists the others.
"""

from __future__ import annotations

import difflib
import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.documents.document import PROSE, Document
from ctxd.indexer.structure.heading_ids import without_id
from ctxd.indexer.text.text_search import Search, matching_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctxd.indexer.documents.document import Marked
    from ctxd.indexer.patterns.pattern import Pattern
    from ctxd.indexer.structure import Section

LEVELS = 6
"""Heading levels of Markdown."""
COUNT_MAX = 1_000
"""Matches of a pattern are counted up to this number."""
OTHERS_MAX = 20
"""A place lists at most this many lines of other matches."""
_SIMILAR_MAX = 3
_SIMILAR_OF_MAX = 5_000  # lines that are compared: each costs 20 microseconds
_SIMILAR_BYTES_MAX = 1 << 20
_SIMILAR_CHARACTERS_MAX = 200


class TargetError(Exception):
    """`message` says what is missing and why; `suggestions` name similar targets and the next step."""

    def __init__(self, message: str, suggestions: Sequence[str]) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions)


class Place(NamedTuple):
    """The place that a target means. Bytes of the canonical text, ends exclusive; lines are 1-based and inclusive."""

    start: int
    end: int
    """`replace` and `delete` take the bytes from `start` to `end`."""
    insert_at: int
    """`insert` puts its content here. For whole lines this is the start of a line or the end of the text."""
    whole_lines: bool
    """False for a part of a line, and for a place that begins or ends within a line."""
    start_line: int
    end_line: int
    """One less than `start_line` if the place is empty: the inside of an empty code block."""
    match_count: int = 1
    """How many places the target could have meant."""
    other_lines: tuple[int, ...] = ()
    """Lines of the other places, at most OTHERS_MAX."""
    count_is_exact: bool = True
    """False if there may be more than `match_count`."""


# Targets that are the same for reading and for changing


def by_lines(document: Document, start: int, end: int, *, to_insert: bool = False) -> Place:
    """Lines from `start` to `end`. An insertion may name the line after the last one, to append."""
    count = document.line_count
    if start > end:
        raise TargetError(
            f"Lines {start} to {end} are no range: it ends before it starts", ["Give start <= end; both are part of it"]
        )
    last = count + to_insert
    if end > last:
        have = f"the file has {count} line{'s' * (count != 1)}" if count else "the file is empty"
        raise TargetError(f"Line {start if start > last else end} is out of bounds: {have}", [_look("line numbers")])
    first = document.start_of_line(start)
    return Place(first, document.start_of_line(end + 1), first, True, start, end)


def by_code_block(document: Document, index: int) -> Place:
    """The inside of a fenced block of Markdown, counted from 0. Insertions go to its end."""
    blocks = document.structure.code_blocks
    if document.language != "markdown":
        raise _only_in("a code block", "Markdown")
    if index >= len(blocks):
        have = f"it has {len(blocks)}: 0 to {len(blocks) - 1}" if blocks else "it has none"
        raise TargetError(f"Target not found: code block {index} of the document ({have})", [_look("all code blocks")])
    block = blocks[index]
    inside = document.text.count(b"\n", block.body_start, block.body_end)
    inside += block.body_end > block.body_start and not document.text.endswith(b"\n", 0, block.body_end)
    first = block.start_line + 1
    return Place(block.body_start, block.body_end, block.body_end, True, first, first + inside - 1)


# Targets of reading


def heading_to_read(document: Document, text: str, *, children: bool = True) -> Place:
    """From a heading to the next one of its level or above; without `children`, to the next one of any level.

    `text` is the title. Marks before it (`## Setup`) tell headings with the same title apart.
    """
    found = _headings(document, text)
    end = found[0].end if children else document.next_heading(found[0].start)
    return _first(document, _lines(found), found[0].start, end)


def anchor_to_read(document: Document, id_: str) -> Place:
    """From an anchor to the next heading. The anchor is an explicit id, or the slug that code hosts give a heading."""
    lines, start, heading = _anchor(document, id_)
    end = document.next_heading(heading.start if heading is not None else start)
    return _first(document, lines, start, end)


def section_to_read(document: Document, name: str) -> Place:
    """From a section's marker to the next one. For a key of JSON or YAML, all its lines."""
    found = _sections(document, name)
    return _first(document, _lines(found), found[0].start, found[0].end)


def lines_around_text(document: Document, query: str, lines: int) -> Place:
    """The lines that the first occurrence of a literal text touches, and `lines` more before and after."""
    at = by_text(document, query)
    first, last = max(1, at.start_line - lines), min(document.line_count, at.end_line + lines)
    start, end = document.start_of_line(first), document.start_of_line(last + 1)
    return at._replace(start=start, end=end, insert_at=start, whole_lines=True, start_line=first, end_line=last)


# Targets of changes


def by_heading(document: Document, heading: str) -> Place:
    """The lines of a heading, which must be named with its marks (`## Setup`). Insertions go after them."""
    if document.language in PROSE and not _level_and_title(heading)[0]:
        raise TargetError(
            f"A heading must be named with its # marks: {_short(heading)} has none",
            [*_similar("heading", heading, _marked(document)), _look("all headings")],
        )
    found = _headings(document, heading)
    return _first(document, _lines(found), found[0].start, found[0].body_start)


def by_anchor(document: Document, id_: str) -> Place:
    """The line of an explicit id, or the lines of the heading to which code hosts give that id.

    Insertions go after these lines. If an anchor stands right above a heading, they go after the heading.
    """
    lines, start, heading = _anchor(document, id_)
    start, end = document.lines_around(start, start)
    if heading is not None and heading.start <= start:
        start, end = heading.start, heading.body_start
    return _first(document, lines, start, end)._replace(insert_at=heading.body_start if heading is not None else end)


def by_section(document: Document, name: str) -> Place:
    """A section with its marker, without the blank lines at its end and the comments right above the next section.

    Insertions go after the marker. For the text before the first section they go to its end.
    """
    found = _sections(document, name)
    section = found[0]
    place = _first(document, _lines(found), section.start, _own_end(document, section))
    return place._replace(insert_at=section.body_start if section.section >= 0 else place.end)


def by_key(document: Document, name: str, key: str) -> Place:
    """All lines of a key and its value, or only its own bytes if other keys share its lines. Insertions go after it."""
    sections = _sections(document, name)
    found = document.keys_named(sections, key.strip())
    if not found:
        where = (
            f"section '{sections[0].marker}'" if sections[0].section >= 0 else "what stands before the first section"
        )
        keys = [(".".join(one.names), one.line) for one in document.keys_of(sections)]
        raise TargetError(
            f"Target not found: key {_short(key)} in {where}",
            [*_similar("key", key, keys), "Use TextRead with the section to see its keys"],
        )
    first = found[0]
    start, end = document.lines_around(first.start, first.end)
    before, after = document.text[start : first.start], document.text[first.end : end]
    is_alone = _BEFORE_KEY.fullmatch(before) is not None and _AFTER_VALUE.fullmatch(after) is not None
    if not is_alone:
        start, end = first.start, first.end
    return _first(document, _lines(found), start, end, whole_lines=is_alone)


def by_text(document: Document, text: str) -> Place:
    """The first occurrence of a literal text, of one or more lines. Insertions go right after it."""
    needle = text.replace("\r\n", "\n").encode("utf-8", "surrogatepass")
    start = document.text.find(needle)
    if start < 0:
        raise TargetError(f"Target not found: text {_short(text)}", _similar_text(document, text))
    line, at = document.line_of(start), start
    lines = [line]
    while len(lines) <= OTHERS_MAX and (found := document.text.find(needle, at + len(needle))) >= 0:
        line += document.text.count(b"\n", at, found)
        lines.append(line)
        at = found
    place = _first(document, lines, start, start + len(needle), whole_lines=False)
    return place._replace(match_count=document.text.count(needle))


def by_pattern(document: Document, pattern: Pattern, written: str, stop: Callable[[], bool]) -> Place:
    """The first match of `pattern`; `written` is its source. Insertions go right after it."""
    text = document.text
    search = Search(stop)
    first, lines, count = None, [], 0
    line, counted = 1, 0
    for line_start, line_end, _, _ in matching_lines(pattern, b"", text, search, 0):
        if first is None and pattern.undecided:
            break
        line += text.count(b"\n", counted, line_start)
        counted = line_start
        for start, end in pattern.matches_in_line(text[line_start:line_end]):
            count += 1
            first = first or (line_start + start, line_start + end)
            if len(lines) <= OTHERS_MAX:
                lines.append(line)
        if count >= COUNT_MAX:
            break
    is_exact = count < COUNT_MAX and search.stopped_at is None and not pattern.undecided
    if first is not None:
        place = _first(document, lines, *first, whole_lines=False)
        return place._replace(match_count=count, count_is_exact=is_exact)
    if not is_exact:
        raise TargetError(
            f"The pattern {_short(written)} takes too long: which match is the first is not known",
            ["Write it without look-around and back-references, or name lines"],
        )
    hint = 'Matching is case-sensitive; flags "i" ignores case'
    raise TargetError(f"Target not found: pattern {_short(written)}", [hint, _search()])


# Shared by all targets


def _first(document: Document, lines: Sequence[int], start: int, end: int, *, whole_lines: bool = True) -> Place:
    """The place `start:end`. `lines` are the lines of all matches, this one first. Insertions go after it."""
    first = document.line_of(start)
    last = first + document.text.count(b"\n", start, max(start, end - 1))
    return Place(start, end, end, whole_lines, first, last, len(lines), tuple(lines[1 : OTHERS_MAX + 1]))


def _lines(found: Iterable[Section | Marked]) -> list[int]:
    return [one.line for one in found]


def _headings(document: Document, asked: str) -> list[Section]:
    if document.language not in PROSE:
        raise _only_in("a heading", "Markdown and reStructuredText")
    level, title = _level_and_title(asked)
    found = [
        one
        for one in document.headings
        if level in (0, one.level) and (one.names[0] == title or _without_anchors(one.names[0]) == title)
    ]
    if not found:
        shown = _marked(document) if level else [(one.names[0], one.line) for one in document.headings]
        raise TargetError(
            f"Target not found: heading {_short(asked)}", [*_similar("heading", asked, shown), _look("all headings")]
        )
    return found


def _without_anchors(title: str) -> str:
    return _EMPTY_ANCHOR.sub("", title).strip() if "<" in title else title


def _marked(document: Document) -> list[tuple[str, int]]:
    return [(f"{'#' * one.level} {one.names[0]}", one.line) for one in document.headings]


def _level_and_title(heading: str) -> tuple[int, str]:
    """Level and title of a heading as written; level 0 without marks.

    Closing marks and a `{#id}` are not part of the title. Each run of blanks becomes one.
    """
    title = _flat(heading)
    bare = title.lstrip("#")
    level = len(title) - len(bare)
    if not 1 <= level <= LEVELS or (bare and bare[0] != " "):
        level = 0
    else:
        title = bare.strip()
        open_ = title.rstrip("#")
        title = open_.rstrip() if not open_ or open_.endswith(" ") else title
    return level, without_id(title)[0]


def _anchor(document: Document, id_: str) -> tuple[list[int], int, Section | None]:
    """The lines of all anchors with an id, where the first one starts, and the heading it leads to or comes from."""
    if document.language != "markdown":
        raise _only_in("an anchor", "Markdown")
    wanted = id_.removeprefix("#")
    explicit = [one for one in document.structure.anchors if one.id == wanted]
    if explicit:
        start = document.start_of_line(explicit[0].line)
        return [one.line for one in explicit], start, document.heading_at(explicit[0])
    if wanted in document.slugs:
        heading = document.headings[document.slugs.index(wanted)]
        return [heading.line], heading.start, heading
    ids = [(one.id, one.line) for one in document.structure.anchors]
    ids += [(slug, one.line) for slug, one in zip(document.slugs, document.headings, strict=True)]
    raise TargetError(
        f"Target not found: anchor {_short(id_)}", [*_similar("anchor", wanted, ids), _look("headings and anchors")]
    )


def _sections(document: Document, name: str) -> list[Marked]:
    if not document.has_sections:
        raise _only_in("a section", "configuration files (INI, TOML, YAML, JSON and the like)")
    found = document.sections_named(name)
    if not found:
        markers = [(one.marker, one.line) for one in document.markers[:_SIMILAR_OF_MAX]]
        raise TargetError(
            f"Target not found: section {_short(name)}",
            [*_similar("section", name, markers), _look("all sections")],
        )
    return found


def _own_end(document: Document, section: Marked) -> int:
    """End of a section without blank lines at its end and without comments right above the next section's marker."""
    text = document.text
    ends = [section.body_start if section.section >= 0 else 0]
    while ends[-1] < section.end:
        ends.append(document.lines_around(ends[-1], ends[-1])[1])
    lines = [text[start:end].strip() for start, end in itertools.pairwise(ends)]
    count = len(lines)
    if section.end < len(text):
        above = count
        while above and lines[above - 1].startswith((b"#", b";")):
            above -= 1
        if above and not lines[above - 1]:
            count = above
    while count and not lines[count - 1]:
        count -= 1
    return ends[count]


def _only_in(what: str, where: str) -> TargetError:
    return TargetError(
        f"Target not found: {what} is a target in {where} only, which this file is not",
        ["Use lines, or a text to search for", _look("its structure")],
    )


def _similar(kind: str, asked: str, names: Iterable[tuple[str, int]]) -> list[str]:
    """Sentences about the most similar names. Names that differ only in case, marks or blanks come first."""
    lines: dict[str, int] = {}
    for name, line in names:
        lines.setdefault(name, line)
        if len(lines) == _SIMILAR_OF_MAX:
            break
    return [f"Similar {kind} found: {_short(name)} at line {lines[name]}" for name in _nearest(asked, list(lines))]


def _nearest(asked: str, names: list[str]) -> list[str]:
    wanted = _plain(asked)
    plain: dict[str, list[str]] = {}
    for name in names:
        plain.setdefault(_plain(name), []).append(name)
    near = plain.pop(wanted, [])
    for one in difflib.get_close_matches(wanted, plain, _SIMILAR_MAX):
        near += plain[one]
    return near[:_SIMILAR_MAX]


def _similar_text(document: Document, text: str) -> list[str]:
    """Sentences about the lines most similar to the first line of a text."""
    wanted = next((line for line in text.split("\n") if line.strip()), "").strip()
    lines = []
    for number, line in enumerate(document.text[:_SIMILAR_BYTES_MAX].split(b"\n")[:_SIMILAR_OF_MAX], 1):
        if stripped := line[: _SIMILAR_CHARACTERS_MAX * 4].decode("utf-8", "replace").strip():
            lines.append((stripped, number))
    found = _similar("text", wanted, lines) if wanted else []
    if not found and (part := _plain(wanted)):
        found = [
            f"Similar text found: {_short(line)} at line {number}" for line, number in lines if part in _plain(line)
        ]
    return [*found[:_SIMILAR_MAX], "Text must match exactly, blanks and case included", _search()]


def _plain(text: str) -> str:
    """The form in which names are compared: lower case, no marks, no runs of blanks."""
    return _flat(text[:_SIMILAR_CHARACTERS_MAX]).strip("[]# ").casefold()


def _flat(text: str) -> str:
    return " ".join(text.split())


def _short(text: str) -> str:
    text = text if len(text) <= 80 else text[:77] + "..."
    return f"'{text}'"


def _look(what: str) -> str:
    return f"Use TextInspect to see {what} in the document"


def _search() -> str:
    return 'Use TextInspect with mode "search" to find it'


_EMPTY_ANCHOR = re.compile(r"<a\s[^<>]*+>\s*+</a>", re.IGNORECASE)
_BEFORE_KEY = re.compile(rb"[ \t]*+(?:export[ \t]++)?")
_AFTER_VALUE = re.compile(rb"[ \t\r]*+,?[ \t\r]*+(?:(?:#|//)[^\n]*+)?\n?")
