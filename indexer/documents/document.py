"""One text and the parts that a caller can name to edit it: lines, headings, sections, keys, anchors.

Invariant: everything here describes the canonical text that was given; no file is read. Lines are 1-based; bytes are
offsets into the text, ends exclusive. A language without headings or sections gives empty lists, not errors.
"""

from __future__ import annotations

import bisect
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer import languages, structure
from ctxd.indexer.decode import line_count
from ctxd.indexer.structure.heading_ids import slugs_of
from ctxd.indexer.structure.toml import key_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxd.indexer.structure import Anchor, Section, Structure

PROSE = frozenset({"markdown", "restructuredtext"})
"""Languages whose sections have headings."""
_MARKDOWN_EXTENSIONS = (b".mdx", b".mdc", b".mdown", b".mkd", b".mkdn", b".qmd", b".rmd")
"""Markdown mixed with another format. Other tools count these files as that other format, or as none."""
_NESTED = frozenset({"json", "toml", "yaml"})
"""Languages in which a key can act as a section because it holds other keys."""
_TEXT = "text"
"""Files without a known format. Lines such as `[database]` are still found in them."""
_BLOCK_BYTES = 1 << 16


def format_of(path: bytes) -> str:
    """The language whose scanner reads a file's structure; "" if there is none."""
    if path.lower().endswith(_MARKDOWN_EXTENSIONS):
        return "markdown"
    language = languages.language_of(path)
    if language is None or language.name == "config":
        return _TEXT
    return language.name if language.has_sections or language.name == _TEXT else ""


class Marked(NamedTuple):
    """A section of configuration. `marker` is its header as written or, for a key that acts as a section, its name."""

    marker: str
    section: int
    """Index of its Section; -1 is the text before the first section."""
    line: int
    start: int
    end: int
    body_start: int


class Document:
    """`scan` is called when the structure is first needed: for a large text it takes a while."""

    def __init__(self, text: bytes, language: str, scan: Callable[[], Structure] | None = None) -> None:
        self.text = text
        self.language = language
        self._scan = scan or (lambda: structure.scan(language, text))

    @cached_property
    def structure(self) -> Structure:
        return self._scan()

    # Lines

    @cached_property
    def line_count(self) -> int:
        return line_count(self.text)

    def line_of(self, offset: int) -> int:
        return self.text.count(b"\n", 0, offset) + 1

    def start_of_line(self, line: int) -> int:
        """Offset at which a line starts; the end of the text for any line after the last."""
        text = self.text
        at, left = 0, line - 1
        # Counts block by block: a table of all lines would take 36 bytes for each.
        while left > 0 and at < len(text):
            end = min(at + _BLOCK_BYTES, len(text))
            count = text.count(b"\n", at, end)
            if count >= left:
                for _ in range(left):
                    at = text.find(b"\n", at) + 1
                return at
            left -= count
            at = end
        return len(text) if left > 0 else at

    def lines_around(self, start: int, end: int) -> tuple[int, int]:
        """The bytes of the whole lines that a span touches, including the last newline."""
        first = self.text.rfind(b"\n", 0, start) + 1
        after = self.text.find(b"\n", max(start, end - 1))
        return first, after + 1 if after >= 0 else len(self.text)

    # Prose

    @cached_property
    def headings(self) -> list[Section]:
        return self.structure.sections if self.language in PROSE else []

    @cached_property
    def _heading_starts(self) -> list[int]:
        return [heading.start for heading in self.headings]

    def heading_above(self, offset: int) -> Section | None:
        """The last heading that starts at or before an offset."""
        at = bisect.bisect_right(self._heading_starts, offset) - 1
        return self.headings[at] if at >= 0 else None

    def next_heading(self, offset: int) -> int:
        """Where the first heading after an offset starts, or the end of the text."""
        at = bisect.bisect_right(self._heading_starts, offset)
        return self._heading_starts[at] if at < len(self._heading_starts) else len(self.text)

    @cached_property
    def slugs(self) -> list[str]:
        """For each heading the anchor that code hosts give it."""
        return slugs_of(heading.names[0] for heading in self.headings)

    def heading_at(self, anchor: Anchor) -> Section | None:
        """The heading that an explicit anchor belongs to: it stands in it, or on a line of its own right above it."""
        start, end = self.lines_around(at := self.start_of_line(anchor.line), at)
        above = self.heading_above(start)
        if above is not None and start < above.body_start:
            return above
        if _TAG.sub(b"", self.text[start:end]).strip():
            return None
        following = self.next_heading(start)
        if following < len(self.text) and not self.text[end:following].strip():
            return self.heading_above(following)
        return None

    # Configuration

    @property
    def has_sections(self) -> bool:
        return self.language not in PROSE and self.language != ""

    @cached_property
    def markers(self) -> list[Marked]:
        """The sections that an outline shows: tables and INI sections; in JSON and YAML the top-level keys."""
        kind = "key" if self.language in {"json", "yaml"} else "section"
        return [
            self._marked(index)
            for index, section in enumerate(self.structure.sections)
            if section.kind == kind and (kind == "section" or (section.level == 1 and not section.in_list))
        ]

    def sections_named(self, name: str) -> list[Marked]:
        """Sections with a name, which may have its brackets; "" is the text before the first section."""
        wanted = self._bare(name)
        sections = self.structure.sections
        if not wanted:
            end = next((one.start for one in sections if one.kind == "section"), len(self.text))
            return [Marked("", -1, 1, 0, end, end)]
        return [
            self._marked(index)
            for index, one in enumerate(sections)
            if (one.kind == "section" or (self.language in _NESTED and not one.in_list))
            and self._is_called(index, wanted, frozenset({-1}))
        ]

    def keys_of(self, marked: list[Marked]) -> Iterator[Section]:
        """The keys that lie directly in some sections."""
        parents = {one.section for one in marked}
        return (one for one in self.structure.sections if one.kind == "key" and one.parent in parents)

    def keys_named(self, marked: list[Marked], key: str) -> list[Section]:
        """Keys with a name in some sections. A dotted name may mean a key inside a key."""
        above = frozenset(one.section for one in marked)
        sections = self.structure.sections
        return [one for i, one in enumerate(sections) if one.kind == "key" and self._is_called(i, key, above)]

    def _is_called(self, index: int, name: str, above: frozenset[int]) -> bool:
        """True if the names from one of `above` (-1 is the top) down to a section, joined by dots, are `name`."""
        sections = self.structure.sections
        while True:
            section = sections[index]
            own = ".".join(section.names)
            # The name of a TOML table is its whole path.
            parent = -1 if section.kind == "section" else section.parent
            if own == name:
                return parent in above
            if parent < 0 or not name.endswith("." + own):
                return False
            name = name[: -len(own) - 1]
            index = parent

    def _marked(self, index: int) -> Marked:
        section = self.structure.sections[index]
        if section.kind == "key":
            start, end = self.lines_around(section.start, section.end)
            _, body_start = self.lines_around(section.name_start, section.name_end)
            return Marked(".".join(section.names), index, section.line, start, end, body_start)
        written = self.text[section.name_start : section.name_end].decode("utf-8", "replace")
        brackets = self.text.count(b"[", section.start, section.name_start)
        marker = "[" * brackets + written + "]" * brackets
        return Marked(marker, index, section.line, section.start, section.end, section.body_start)

    def _bare(self, name: str) -> str:
        name = name.strip()
        for brackets in ("[[", "[") if self.language == "toml" else ("[",):
            if name.startswith(brackets) and name.endswith("]" * len(brackets)):
                name = name[len(brackets) : -len(brackets)].strip()
                break
        return ".".join(key_parts(name.encode("utf-8", "replace"))) if self.language == "toml" and name else name


_TAG = re.compile(rb"<[^<>]*+>")
