"""Headings, fenced blocks, anchors and frontmatter of Markdown, exactly as CommonMark defines them.

Invariant: markdown-it decides where blocks are and which lines they take; only places within lines are found here. It
does not parse inline text, because links and emphasis add no structure.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll

from ctxd.indexer.structure import Anchor, CodeBlock, Frontmatter, Sections, Structure, toml, yaml
from ctxd.indexer.structure.heading_ids import without_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from markdown_it.token import Token


def scan(text: bytes, _language: str = "markdown") -> Structure:
    sections = Sections(text)
    code_blocks: list[CodeBlock] = []
    anchors: list[Anchor] = []
    starts = _line_starts(text)
    frontmatter = _frontmatter(text)
    body = text
    if frontmatter is not None:  # blanked out, so that lines keep their numbers
        body = b"\n" * frontmatter.end_line + text[frontmatter.end :]
    heading: Token | None = None
    # markdown-it counts a last line of blanks only if a newline ends it.
    for token in _parser().parse(body.decode() + "\n" * (not body.endswith(b"\n"))):
        if token.map is None:
            continue
        first, after = token.map
        match token.type:
            case "heading_open":
                heading = token
            case "inline":
                if heading is not None:
                    start, end = starts[first], starts[heading.map[1] if heading.map else after]
                    title, id_ = without_id(token.content)
                    name = _place(text, start, end, title, heading)
                    sections.heading(int(heading.tag[1]), " ".join(title.split()), start, name, end)
                    if id_:
                        anchors.append(Anchor(id_, first + 1))
                    heading = None
                anchors += _anchors(token.content, first + 1)
            case "html_block":
                anchors += _anchors(token.content, first + 1, is_html=True)
            case "fence":
                is_closed = _is_closed(token, after - first, text[starts[after - 1] : starts[after]])
                body_end = after - 1 if is_closed else after
                language = next(iter(unescapeAll(token.info).split()), "")
                code_blocks.append(CodeBlock(language, first + 1, after, starts[first + 1], starts[body_end]))
    return Structure(sections.found(), code_blocks, anchors, frontmatter)


@functools.cache
def _parser() -> MarkdownIt:
    # "normalize" would end lines at a lone "\r"; ctxd's lines do not end there.
    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING_MAX})
    return parser.disable(["normalize", "inline", "text_join"])


def _line_starts(text: bytes) -> list[int]:
    """Where each line starts, then the end of the text twice: a token may end with the last line or after it."""
    return [0, *(match.end() for match in _NEWLINE.finditer(text)), len(text), len(text)]


def _place(text: bytes, start: int, end: int, title: str, heading: Token) -> tuple[int, int]:
    """The bytes of a heading's title. In a setext heading of several lines they include quote marks between lines."""
    if heading.markup.startswith("#"):
        # No mark that may stand before a heading holds a "#".
        start = text.index(b"#", start) + len(heading.markup)
        written = title.encode()
        name = max(text.find(written, start, end), start)
        return name, name + len(written)
    # List and quote marks may stand before a title, only blanks after it: its last occurrence on the line is the title.
    titles = [line.strip().encode() for line in title.split("\n")]
    lines = text[start:end].split(b"\n")
    last = len(titles) - 1
    name_start = start + max(lines[0].rfind(titles[0]), 0)
    last_start = start + sum(len(line) + 1 for line in lines[:last])
    return name_start, last_start + max(lines[last].rfind(titles[last]), 0) + len(titles[last])


def _is_closed(fence: Token, lines: int, last: bytes) -> bool:
    """True if a block's last line is its closing fence. An indented line that looks like one may be code."""
    return fence.content.count("\n") <= lines - 2 and last.rstrip().endswith(fence.markup.encode())


def _anchors(content: str, line: int, *, is_html: bool = False) -> Iterator[Anchor]:
    """Ids of HTML elements outside of comments; in Markdown also outside of code spans and escapes."""
    if "<" not in content:
        return
    span_ends = {} if is_html else _code_span_ends(content)
    comment_end = content.rfind("-->")
    at, counted = 0, 0
    for found in (_HTML if is_html else _MARKUP).finditer(content):
        if found.start() < at:
            continue
        if ticks := found["ticks"]:
            # A code span ends with a run of as many backticks. If none follows, these are text.
            ends = span_ends[len(ticks)]
            while ends and ends[-1] <= found.end():
                ends.pop()
            at = ends[-1] if ends else found.end()
        elif found["comment"]:
            if found.end() <= comment_end:
                at = content.find("-->", found.end()) + 3
            elif is_html:
                return
        elif found["tag"]:
            for attribute in _ATTRIBUTE.finditer(found["attributes"]):
                name = attribute[1].lower()
                if name == "id" or (name == "name" and found["tag"].lower() == "a"):
                    line += content.count("\n", counted, found.start())
                    counted = found.start()
                    yield Anchor(attribute[2] or attribute[3] or attribute[4] or "", line)
                    break


def _code_span_ends(content: str) -> dict[int, list[int]]:
    """Ends of the runs of backticks, last first, by the length of the run."""
    ends: dict[int, list[int]] = {}
    for run in _TICKS.finditer(content):
        ends.setdefault(run.end() - run.start(), []).append(run.end())
    for of_length in ends.values():
        of_length.reverse()
    return ends


def _frontmatter(text: bytes) -> Frontmatter | None:
    """The frontmatter, if any. After `---` a YAML key must follow; otherwise the line is a thematic break."""
    opened = _FRONTMATTER.match(text)
    if opened is None:
        return None
    format_ = "toml" if text.startswith(b"+++") else "yaml"
    closed = _FRONTMATTER_END[format_].search(text, opened.end())
    if closed is None:
        return None
    keys = (toml if format_ == "toml" else yaml).scan(text[opened.end() : closed.start()]).sections
    end = closed.end()
    end_line = text.count(b"\n", 0, end) + (not text[:end].endswith(b"\n"))
    return Frontmatter(format_, 1, end_line, end, tuple(".".join(key.names) for key in keys if key.level == 1))


_NESTING_MAX = 100
"""Depth of quotes and lists. markdown-it's time grows with it; its default of 20 hides headings that CommonMark has."""
_NEWLINE = re.compile(rb"\n")
_TICKS = re.compile(r"`+")
_ATTRIBUTE = re.compile(r"\s+([A-Za-z_:][\w.:-]*)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'=<>`]+)))?")
_ELEMENT = (
    r"(?P<comment><!--)|<(?P<tag>[A-Za-z][A-Za-z0-9-]*)"
    r"(?P<attributes>(?>\s+[A-Za-z_:][\w.:-]*(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*+)\s*/?>"
)
_MARKUP = re.compile(rf"\\[!-/:-@\[-`{{-~]|(?P<ticks>`+)|{_ELEMENT}")
_HTML = re.compile(rf"(?P<ticks>(?!))|{_ELEMENT}")
_FRONTMATTER = re.compile(
    rb"\+\+\+[ \t]*+\n|---[ \t]*+\n(?=(?>[ \t]*+(?:#[^\n]*+)?\n)*+[\w\"'][^\n:]*+:(?:[ \t\n]|\Z))"
)
_FRONTMATTER_END = {
    "toml": re.compile(rb"^\+\+\+[ \t]*+(?:\n|\Z)", re.MULTILINE),
    "yaml": re.compile(rb"^(?:---|\.\.\.)[ \t]*+(?:\n|\Z)", re.MULTILINE),
}
