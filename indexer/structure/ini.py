"""Sections and keys, a line each: INI files and their kin. The dialects differ in what continues a value and what parts it from its key.

    ini           Python's configparser, setup.cfg, .editorconfig, desktop entries: lines indented deeper than their key go on with its value
    systemd,      units, .gitconfig, .gitmodules: a backslash at the end of a line does; keys may be indented, and may come again
    git-config
    properties    Java's: no sections; a backslash goes on; "=", ":" or a blank parts key and value; "!" starts a comment, too
    dotenv        no sections; `export` may stand before a key, and a quoted value may have several lines
    text          of no known language: as ini, if sections begin their line and hold no brackets, as drawings and footnotes do

A comment at the end of a line belongs to the value: half of the dialects say so, and cutting it off would lose what is no comment.
"""

from __future__ import annotations

import re

from ctxd.indexer.structure import Sections, Structure


def scan(text: bytes, language: str = "ini") -> Structure:
    sections = Sections(text)
    if _MARKUP.match(text):
        return Structure([])  # many a `.conf` is XML
    is_properties, is_dotenv = language == "properties", language == "dotenv"
    is_unit = language in {"systemd", "git-config"}
    pattern = _PROPERTY if is_properties else _VARIABLE if is_dotenv else _KEY
    section = -1
    unclosed = False  # whether a quote ran on to the end: from then on each value ends with its line
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
    """A span less the blanks around it."""
    written = text[start:end]
    return start + len(written) - len(written.lstrip()), start + len(written.rstrip()) if written.strip() else start


def _after_backslashes(text: bytes, end: int, line_end: int, *, has_comments: bool) -> tuple[int, int]:
    """Where a value ends whose lines may end with a backslash, and where the next line begins."""
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
    """Likewise where deeper indented lines go on with a value; blank ones and comments may stand between."""
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
# A colon parts only where a blank follows or none stands before: `bind *:80` and `https://...` are no keys. Neither is code.
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
