"""Tables and keys of TOML 1.1, read by hand. TOML parsers give no places or take a second for a lock file, and all of
them stop at the first error.
"""

from __future__ import annotations

import itertools
import re

from ctxd.indexer.structure import Sections, Structure
from ctxd.indexer.structure.flow import scan_flow, unquoted


def scan(text: bytes, _language: str = "toml") -> Structure:
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self.text = text
        self.sections = Sections(text)
        self.unclosed = False
        """True once a value ran to the end of the text. From then on each value ends with its line: otherwise broken text
        would take quadratic time.
        """

    def scan(self) -> Structure:
        text, sections = self.text, self.sections
        tables: dict[tuple[str, ...], int] = {}  # the last table of each path
        arrays: set[tuple[str, ...]] = set()
        table, in_list = -1, False
        at = 0
        while (at := _BETWEEN.match(text, at).end()) < len(text):  # pyright: ignore[reportOptionalMemberAccess]  # matches anything
            if header := _HEADER.match(text, at):
                names = key_parts(header["key"])
                if table >= 0:
                    sections.end(table, at)
                above = [names[:length] for length in range(1, len(names))]
                in_list = any(path in arrays for path in above)
                parent = next((tables[path] for path in reversed(above) if path in tables), -1)
                line_start = text.rfind(b"\n", 0, at) + 1
                body_start = min(_end_of_line(text, header.end()) + 1, len(text))
                level = sections.level(parent) + 1 if parent >= 0 else 1
                table = sections.add(
                    "section", names, level, line_start, header.span("key"), body_start, parent, in_list=in_list
                )
                tables[names] = table
                if text.startswith(b"[[", at):
                    arrays.add(names)
                    in_list = True
                at = header.end()
            elif key := _KEY.match(text, at):
                level = sections.level(table) + 1 if table >= 0 else 1
                index = sections.add(
                    "key", key_parts(key["key"]), level, at, _inside(key), key.end(), table, in_list=in_list
                )
                at = self._value(key.end(), index, in_list=in_list)
                sections.end(index, at)
            at = _end_of_line(text, at)
        return Structure(sections.found())

    def _value(self, at: int, key: int, *, in_list: bool) -> int:
        """End of the value that begins at `at`."""
        text = self.text
        line_end = _end_of_line(text, at)
        if not self.unclosed and (long := _LONG.get(text[at : at + 3])):
            string = long.match(text, at)
            assert string is not None
            if string["end"]:
                return string.end()
            self.unclosed = True
        if text[at : at + 1] in (b"[", b"{"):
            limit = line_end if self.unclosed else len(text)
            end = scan_flow(text, at, limit, _TOKENS, key_parts, self.sections, key, in_list=in_list)
            if end >= 0:
                return end
            self.unclosed = True
        elif string := _STRING_VALUE.match(text, at, line_end):
            return string.end()
        comment = text.find(b"#", at, line_end)
        return at + len(text[at : comment if comment >= 0 else line_end].rstrip())


def key_parts(written: bytes) -> tuple[str, ...]:
    """`a."b.c".d` -> ("a", "b.c", "d"). At most the first _PARTS_MAX parts."""
    parts = (part[0] for part in itertools.islice(_PART.finditer(written), _PARTS_MAX))
    return tuple(map(unquoted, parts)) or (unquoted(written),)


def _inside(key: re.Match[bytes]) -> tuple[int, int]:
    """The span of a key; if it is one quoted word, without the quotes."""
    start, end = key.span("key")
    word = key["key"]
    return (start + 1, end - 1) if word[:1] in (b'"', b"'") and _PART.fullmatch(word) else (start, end)


def _end_of_line(text: bytes, at: int) -> int:
    end = text.find(b"\n", at)
    return end if end >= 0 else len(text)


_PARTS_MAX = 64  # more than anybody nests; every table is compared with all tables above it
_QUOTED = rb"\"(?>[^\"\\\n]++|\\.)*+\"|'[^'\n]*+'"
_WORD = rb"(?:%b|[A-Za-z0-9_\-\x80-\xff]++)" % _QUOTED
_DOTTED = rb"%b(?>[ \t]*+\.[ \t]*+%b)*+" % (_WORD, _WORD)
_PART = re.compile(_WORD)
_BETWEEN = re.compile(rb"(?>[ \t\r\n]++|#[^\n]*+)*+")
_HEADER = re.compile(rb"\[\[?[ \t]*+(?P<key>%b)[ \t]*+\]\]?[ \t\r]*+(?=#|\n|\Z)" % _DOTTED)
_KEY = re.compile(rb"(?P<key>%b)[ \t]*+=[ \t]*+" % _DOTTED)
_STRING_VALUE = re.compile(_QUOTED)
_LONG = {
    # One or two quotes may stand before the three that end the string.
    quote: re.compile(rb"%b(?>%b|%b{1,2}+(?!%b))*+(?P<end>%b{3,5}+)?" % (quote, other, quote[:1], quote[:1], quote[:1]))
    for quote, other in ((b'"""', rb"[^\"\\]++|\\(?s:.)"), (b"'''", rb"[^']++"))
}
_TOKENS = re.compile(
    rb"(?P<word>\"\"\"(?>[^\"\\]++|\\(?s:.)|\"{1,2}+(?!\"))*+\"{3,5}+|'''(?>[^']++|'{1,2}+(?!'))*+'{3,5}+|%b|[^\s{}\[\],=#\"']++)"
    rb"|(?P<pair>=)|(?P<comma>,)|(?P<open>[{\[])|(?P<close>[}\]])|#[^\n]*+" % _DOTTED
)
