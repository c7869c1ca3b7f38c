"""Section titles of reStructuredText, as docutils finds them. Adornments get their levels in order of first use.

Invariant: only an unindented line that begins a block can be a title, so literal blocks and directives hold none.
"""

from __future__ import annotations

import re
import unicodedata

from ctxd.indexer.structure import Sections, Structure


def scan(text: bytes, _language: str = "restructuredtext") -> Structure:
    return Structure(_Scanner(text).sections.found())


class _Scanner:
    def __init__(self, text: bytes) -> None:
        self.lines = text.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(min(self.starts[-1] + len(line) + 1, len(text)))
        self.sections = Sections(text)
        self.levels: dict[bytes, int] = {}
        """Level by adornment: its character, doubled if there is also a line above the title."""
        self.level = 0
        at = 0
        while at < len(self.lines):
            at = self._block(at)

    def _block(self, at: int) -> int:
        """Read the block that begins at a line, and return the line after it."""
        line = self.lines[at]
        if not line.strip() or line[:1] in (b" ", b"\t"):
            return at + 1
        if _TABLE.match(line):
            return self._after_table(at)
        if _MARKED.match(line) and not self._is_numbered_title(at):
            return self._after_blank(at) if line.startswith((b">>>", b"+-")) else at + 1
        if _ADORNMENT.fullmatch(line) and (after := self._after_overline(at)):
            return after
        below = self._line(at + 1)
        if _ADORNMENT.fullmatch(below) and self._is_long_enough(below, line):
            self._title(below[:1], at, at, at + 2)
            return at + 2
        if below[:1] in (b" ", b"\t"):  # a term and its definition
            return at + 1
        return self._after_block(at)

    def _after_overline(self, at: int) -> int:
        """The line after a title with an overline, or after a transition; 0 if it is neither."""
        over, title, under = self.lines[at].rstrip(), self._line(at + 1), self._line(at + 2).rstrip()
        if not title.strip():
            return at + 1 if len(over) >= _SURE_CHARACTERS else 0
        if _ADORNMENT.fullmatch(title):
            return at + 2 if len(over) >= _SURE_CHARACTERS else 0
        if over == under and self._is_long_enough(over, title.rstrip()):
            self._title(over[:1] * 2, at, at + 1, at + 3)
            return at + 3
        # Overline and underline differ, which is an error in the text. The title cannot begin a block of its own.
        return at + 3 if len(over) >= _SURE_CHARACTERS and at + 2 < len(self.lines) else 0

    def _title(self, style: bytes, start: int, at: int, after: int) -> None:
        # docutils allows a new adornment only below the deepest level. Here it is a title anywhere.
        self.level = self.levels.setdefault(style, self.level + 1)
        written = self.lines[at]
        name = self.starts[at] + len(written) - len(written.lstrip())
        title = written.strip()
        self.sections.heading(
            self.level,
            " ".join(title.decode("utf-8", "replace").split()),
            self.starts[start],
            (name, name + len(title)),
            self.starts[min(after, len(self.lines))],
        )

    def _after_table(self, at: int) -> int:
        """The line after a simple table. It ends at its second border if nothing follows, else at its third.

        A border of another length also ends it.
        """
        borders: list[int] = []
        for below in range(at + 1, len(self.lines)):
            line = self.lines[below]
            if _BORDER.match(line):
                borders.append(below)
                is_other = len(line.rstrip()) != len(self.lines[at].rstrip())
                if is_other or len(borders) == _BORDERS_MAX or not self._line(below + 1).strip():
                    return below + 1
        return borders[-1] + 1 if borders else self._after_block(at)

    def _after_block(self, at: int) -> int:
        """The line after the unindented lines that begin here."""
        while at < len(self.lines) and self.lines[at].strip() and self.lines[at][:1] not in (b" ", b"\t"):
            at += 1
        return at

    def _after_blank(self, at: int) -> int:
        while at < len(self.lines) and self.lines[at].strip():
            at += 1
        return at

    def _is_numbered_title(self, at: int) -> bool:
        """True if `1. Introduction` is a title: the next line is neither indented nor the next list item."""
        below = self._line(at + 1)
        return bool(
            _NUMBERED.match(self.lines[at])
            and below.strip()
            and below[:1] not in (b" ", b"\t")
            and not _NUMBERED.match(below)
        )

    def _is_long_enough(self, adornment: bytes, title: bytes) -> bool:
        """True if an adornment fits its title. One of four characters or more may be shorter than the title."""
        length = len(adornment.rstrip())
        return length >= _SURE_CHARACTERS or length >= _columns(title.rstrip())

    def _line(self, at: int) -> bytes:
        return self.lines[at] if at < len(self.lines) else b""


def _columns(text: bytes) -> int:
    """The width of a text in a terminal. Ideographs take two columns, combining marks take none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(character) else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text.decode("utf-8", "replace")
    )


_SURE_CHARACTERS = 4
_BORDERS_MAX = 2
_ADORNMENT = re.compile(rb"([!-/:-@\[-`{-~])\1*+[ \t\r]*+")
_BORDER = re.compile(rb"=++[ =]*+\Z")
_TABLE = re.compile(rb"=++(?> ++=++)++ *+\Z")
_NUMBER = rb"\(?(?:[0-9]++|#|[a-zA-Z]|[ivxlcdmIVXLCDM]++)[.)](?: |\Z)"
_NUMBERED = re.compile(_NUMBER)
_MARKED = re.compile(
    rb"(?:[-+*]|\xe2\x80\xa2|\xe2\x80\xa3|\xe2\x81\x83|\.\.|__|\||>>>)(?: |\Z)|:(?![: ])(?>[^:\\]++|\\.|:(?! |\Z|`))*+(?<! ):(?: |\Z)|\+-[-+]++-\+ *\Z|"
    + _NUMBER
)
