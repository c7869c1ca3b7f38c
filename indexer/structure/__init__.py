"""The parts of texts that are not programs: headings of prose, tables and keys of configuration, with their bytes.

Invariants: a scanner reads canonical text, gives spans of it, never raises on malformed text, and takes linear time.
Nothing here runs tree-sitter, because the daemon itself scans a file that is read or edited.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_SCANNERS = {
    "dotenv": "ini",
    "git-config": "ini",
    "ini": "ini",
    "json": "json_keys",
    "markdown": "markdown",
    "properties": "ini",
    "restructuredtext": "restructuredtext",
    "systemd": "ini",
    "text": "ini",
    "toml": "toml",
    "yaml": "yaml",
}
"""Name of a language -> module of this folder that scans it."""


class Section(NamedTuple):
    """One heading, table or key. Bytes are offsets into the canonical text, ends exclusive; lines are 1-based."""

    kind: str
    """"section" (a heading, a table, an INI section) or "key"."""
    names: tuple[str, ...]
    """Its title or key, without marks, quotes and escapes. In TOML the parts of a dotted key or of a table's path."""
    level: int
    """A heading's level as its format counts (1 to 6 in Markdown); the depth of a table or key, 1 at the top."""
    line: int
    """Line of its name."""
    start: int
    """First byte of a heading's or table's line; a key's own first byte, including its quote."""
    name_start: int
    name_end: int
    """Span of the title or key as written, without marks and quotes; a dotted key is one span."""
    body_start: int
    """Start of the text after the heading's or table's line, or of a key's value."""
    end: int
    """For a heading: start of the next one of its level or above. For a table or INI section: start of the next one.
    For a key: the end of its value. A key without a value has `body_start == end`."""
    parent: int
    """Index of the heading, table or key that holds it; -1 at the top."""
    in_list: bool
    """True if a list lies between it and the top: it is a field of one of many records."""


class CodeBlock(NamedTuple):
    """A fenced block of Markdown. The lines are those of the fences; the body lies between them."""

    language: str
    start_line: int
    end_line: int
    body_start: int
    body_end: int


class Anchor(NamedTuple):
    """An explicit id that a link can lead to."""

    id: str
    line: int


class Frontmatter(NamedTuple):
    """Metadata at the head of a Markdown file. Lines and bytes include its marks."""

    format: str
    """"yaml" or "toml"."""
    start_line: int
    end_line: int
    end: int
    keys: tuple[str, ...]
    """The top-level keys."""


@dataclass(frozen=True, slots=True)
class Structure:
    sections: list[Section]
    """In the order of their start; a parent stands before its children."""
    code_blocks: Sequence[CodeBlock] = ()
    anchors: Sequence[Anchor] = ()
    frontmatter: Frontmatter | None = None


def scan(language: str, text: bytes) -> Structure:
    """The structure of canonical text; empty for a language without a scanner. Broken text gives what is legible."""
    module = _SCANNERS.get(language)
    if module is None:
        return Structure([])
    return importlib.import_module(f"{__name__}.{module}").scan(text, language)


class Sections:
    """Collects the sections that a scanner finds, in text order. Ends and bodies may be set later."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self._rows: list[list] = []
        self._headings: list[int] = []  # the open ones, outermost first

    def __len__(self) -> int:
        return len(self._rows)

    def heading(self, level: int, title: str, start: int, name: tuple[int, int], body_start: int) -> None:
        """Add a heading of prose. It ends the open headings of its level and below."""
        while self._headings and self._rows[self._headings[-1]][1] >= level:
            self.end(self._headings.pop(), start)
        parent = self._headings[-1] if self._headings else -1
        self._headings.append(self.add("section", (title,), level, start, name, body_start, parent))

    def add(
        self,
        kind: str,
        names: tuple[str, ...],
        level: int,
        start: int,
        name: tuple[int, int],
        body_start: int,
        parent: int = -1,
        *,
        in_list: bool = False,
    ) -> int:
        """Add a section and return its index. It reaches to the end of the text until `end` is called."""
        self._rows.append([kind, level, start, *name, body_start, len(self.text), parent, in_list, names])
        return len(self._rows) - 1

    def end(self, index: int, end: int) -> None:
        row = self._rows[index]
        row[6] = max(end, row[5])

    def body(self, index: int, start: int) -> None:
        self._rows[index][5] = start

    def level(self, index: int) -> int:
        return self._rows[index][1]

    def names(self, index: int) -> tuple[str, ...]:
        return self._rows[index][9]

    def forget(self, count: int) -> None:
        """Drop all sections except the first `count`."""
        del self._rows[count:]

    def found(self) -> list[Section]:
        sections = []
        line, counted = 1, 0
        for kind, level, start, name_start, name_end, body_start, end, parent, in_list, names in self._rows:
            line += self.text.count(b"\n", counted, name_start)
            counted = name_start
            sections.append(
                Section(kind, names, level, line, start, name_start, name_end, body_start, end, parent, in_list)
            )
        return sections
