"""Makes an outline from the headings and keys of a file that are worth finding by name.

It leaves out fields of records (keys inside lists), because their names mean nothing without the record. In large files
it leaves out the deeper levels: a lock file of 50,000 keys keeps its top level.
"""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING

from ctxd.indexer.structure import scan
from ctxd.indexer.symbols.outline import Definition, Outline

if TYPE_CHECKING:
    from ctxd.indexer.structure import Section

DEFINITIONS_MAX = 2_000
"""Definitions of one file. Levels are taken from the top while they fit."""
_NAME_CHARACTERS_MAX = 200


def outline_of(language: str, text: bytes) -> Outline:
    """The outline of canonical text in a language with headings or keys."""
    sections = scan(language, text).sections
    deepest = _deepest_level(sections)
    line_starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    definitions: list[Definition] = []
    index_of = [-1] * len(sections)  # index of the innermost definition that a section is, or lies in
    column, counted = 1, 0
    for index, section in enumerate(sections):
        parent = index_of[section.parent] if section.parent >= 0 else -1
        name = section.names[-1][:_NAME_CHARACTERS_MAX].strip()
        if section.in_list or section.level > deepest or not name:
            index_of[index] = parent
            continue
        index_of[index] = len(definitions)
        line_start = line_starts[section.line - 1]
        if line_start > counted:
            column, counted = 1, line_start
        column += len(text[counted : section.name_start].decode("utf-8", "replace"))
        counted = section.name_start
        definitions.append(
            Definition(
                name=name,
                kind=section.kind,
                line=section.line,
                column=column,
                start_line=bisect.bisect_right(line_starts, section.start),
                end_line=bisect.bisect_right(line_starts, max(section.start, section.end - 1)),
                start_byte=section.start,
                end_byte=section.end,
                parent=parent,
                owner=".".join(_own_path(section, sections)[:-1]),
                parameters=(),
                modifiers=(),
                doc="",
                complexity=0,
            )
        )
    return Outline(definitions, [], {})


def _deepest_level(sections: list[Section]) -> int:
    counts: dict[int, int] = {}
    for section in sections:
        if not section.in_list:
            counts[section.level] = counts.get(section.level, 0) + 1
    deepest = total = 0
    for level, count in sorted(counts.items()):
        total += count
        if total > DEFINITIONS_MAX:
            break
        deepest = level
    return deepest


def _own_path(section: Section, sections: list[Section]) -> tuple[str, ...]:
    """The parts of a dotted name, without those that a table shares with the table above."""
    names = section.names
    if section.kind == "section" and section.parent >= 0:
        above = sections[section.parent].names
        if len(names) > len(above) and names[: len(above)] == above:
            return names[len(above) :]
    return names


_NEWLINE = re.compile(rb"\n")
