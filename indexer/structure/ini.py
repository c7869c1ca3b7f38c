"""Sections and keys of INI files and similar formats, one on each line. The dialects differ in how a value continues
and what separates it from its key.

    ini           configparser, setup.cfg, .editorconfig, desktop entries: lines indented deeper than the key continue
                  its value
    systemd,      units, .gitconfig, .gitmodules: a backslash at a line's end continues the value; keys may be indented
    git-config    and may occur more than once
    properties    Java: no sections; a backslash continues the value; "=", ":" or a blank separates it; "!" also starts
                  a comment
    dotenv        no sections; `export` may stand before a key; a quoted value may have several lines
    text          no known language: as ini, but a section must begin its line and hold no brackets (drawings and
                  footnotes do)

A comment at the end of a line counts as part of the value. Half of the dialects say so, and cutting could lose text.
"""

from __future__ import annotations

import re

from ctxd.indexer.structure import Sections, Structure


def scan(text: bytes, language: str = "ini") -> Structure:
    sections = Sections(text)
    if _MARKUP.match(text):
        return Structure([])  # some `.conf` files are XML
    is_properties, is_dotenv = language == "properties", language == "dotenv"
    is_unit = language in {"systemd", "git-config"}
    pattern = _PROPERTY if is_properties else _VARIABLE if is_dotenv else _KEY
    section = -1
    unclosed = False  # True once a quote ran to the end of the text: from then on each value ends with its line
    at, size = 0, len(text)
    while at < size:
        line_start, line_end = at, _end_of_line(text, at)
        at = _BLANKS.match(text, at, line_end).end()  # pyright: ignore[reportOptionalMemberAccess]  # matches anything
        first = text[at : at + 1]
        at_next = line_end + 1
        if first in (b"#", b";") or (is_properties and first == b"!"):
            pass
        elif first == b"[" and not is_properties and not is_dotenv:
            header = _HEADER.match(text, at, line_end)
            if header and (language != "text" or (at == line_start and _SIMPLE_NAME.fullmatch(header["name"]))):
                if section >= 0:
                    sections.end(section, line_start)
                name = _bare(text, *header.span("name"))
                section = sections.add("section", (_decoded(text, name),), 1, line_start, name, min(at_next, size))
        elif (found := pattern.match(text, at, line_end)) and not (is_unit and found["mark"] == b":"):
            name, value = _bare(text, *found.span("name")), found.end()
            parent, level = (section, 2) if section >= 0 else (-1, 1)
            key = sections.add("key", (_decoded(text, name),), level, name[0], name, value, parent)
            end = value + len(text[value:line_end].rstrip())
            if is_properties or is_unit:
                end, at_next = _after_backslashes(text, end, line_end, has_comments=is_unit)
            elif not is_dotenv:
                end, at_next = _after_indented(text, end, line_end, at - line_start)
            elif not unclosed and (quoted := _QUOTED.get(text[value : value + 1])):
                string = quoted.match(text, value)
                unclosed = string is None
                if string is not None:
                    end, at_next = string.end(), _end_of_line(text, string.end()) + 1
            sections.end(key, end)
        at = at_next
    return Structure(sections.found())


def _bare(text: bytes, start: int, end: int) -> tuple[int, int]:
    """A span without the blanks around it."""
    written = text[start:end]
    return start + len(written) - len(written.lstrip()), start + len(written.rstrip()) if written.strip() else start


def _after_backslashes(text: bytes, end: int, line_end: int, *, has_comments: bool) -> tuple[int, int]:
    """End of a value that continues after backslashes at line ends, and start of the next line."""
    size = len(text)
    goes_on = _ends_with_backslash(text, line_end)
    while goes_on and line_end < size:
        line = line_end + 1
        line_end = _end_of_line(text, line)
        bare = text[line:line_end].rstrip()
        if not has_comments or not bare.lstrip().startswith((b"#", b";")):
            goes_on = _ends_with_backslash(text, line_end)
            end = line + len(bare) if bare else end
    return end, line_end + 1


def _ends_with_backslash(text: bytes, line_end: int) -> bool:
    end = line_end
    while end and text[end - 1] == ord("\\"):
        end -= 1
    return (line_end - end) % 2 == 1


def _after_indented(text: bytes, end: int, line_end: int, indent: int) -> tuple[int, int]:
    """End of a value that continues on deeper indented lines (with blanks and comments between), and start of the next
    line.
    """
    at_next, size = line_end + 1, len(text)
    line = at_next
    while line < size:
        line_end = _end_of_line(text, line)
        bare = text[line:line_end].strip()
        if bare and not bare.startswith((b"#", b";")):
            if text[line:line_end].find(bare) <= indent:
                break
            end, at_next = line + len(text[line:line_end].rstrip()), line_end + 1
        line = line_end + 1
    return end, at_next


def _decoded(text: bytes, span: tuple[int, int]) -> str:
    return text[span[0] : span[1]].decode("utf-8", "replace")


def _end_of_line(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)


_MARKUP = re.compile(rb"\s*+<")
_BLANKS = re.compile(rb"[ \t\f]*+")
_HEADER = re.compile(rb"\[(?P<name>.*?)\][ \t\r]*+(?:[#;].*)?\Z")
_SIMPLE_NAME = re.compile(rb"[^][]++")
# A colon ends a key only before a blank, or if the key has no blanks: `bind *:80`, `https://...` and code are not keys.
_KEY = re.compile(
    rb"(?P<name>(?:[^\s=:(){}<>\"]++(?=:(?!//))|[^\s=:(){}<>\"][^=:(){}<>\"]*+(?==|:(?:[ \t\r]|\Z))))(?P<mark>[=:])[ \t]*+"
)
_PROPERTY = re.compile(rb"(?P<name>(?>[^\s=:\\]++|\\.)++)(?>[ \t\f]*+(?P<mark>[=:]))?+[ \t\f]*+")
_VARIABLE = re.compile(rb"(?:export[ \t]++)?(?P<name>[\w.-]++)[ \t]*+(?P<mark>=)[ \t]*+")
_QUOTED = {
    b'"': re.compile(rb"\"(?>[^\"\\]++|\\(?s:.))*+\""),
    b"'": re.compile(rb"'[^']*+'"),
    b"`": re.compile(rb"`[^`]*+`"),
}
