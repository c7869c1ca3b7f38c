"""The start of an element, with the comments, attributes and wrappers before it, and its documentation.

Invariant: only blanks and comments stand between an element and what is counted as part of it.
"""

from __future__ import annotations

import re

_DOC_CHARACTERS_MAX = 200
_BLANKS_MAX = 1000  # between a comment or an attribute and its element; keeps hostile files linear


class ElementStarts:
    """Remembers what may belong to the next element. Takes the captures of a file in text order."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._outer_start = self._outer_end = -1
        self._prefix_start = self._prefix_end = -1
        self._prefix_doc = ""
        self._comments_start = self._comments_end = -1
        """The last run of comments with nothing between them."""

    def add_comment(self, start: int, end: int) -> None:
        if (
            self._comments_start < 0
            or not self._is_close(self._comments_end, start)
            or not self._starts_line(self._comments_start)
        ):
            self._comments_start = start
        self._comments_end = end

    def add_outer(self, start: int, end: int) -> None:
        if end != self._outer_end:
            self._outer_start, self._outer_end = start, end

    def add_prefix(self, start: int, end: int) -> None:
        if self._prefix_end < 0 or not self._is_blank_between(self._prefix_end, start):
            self._prefix_start, self._prefix_doc = start, ""
        self._prefix_end = end

    def add_doc(self, start: int, end: int) -> bool:
        """Take a documentation string inside a prefix. False if it stands elsewhere."""
        if end > self._prefix_end:
            return False
        self._prefix_doc = first_line(self._text[start:end])
        return True

    def take(self, start: int, end: int) -> tuple[int, str]:
        """The whole start of the element `start` to `end`, and its documentation. No later element gets the same wrapper or prefix."""
        doc = ""
        if end == self._outer_end or (end + 1 == self._outer_end and self._text[end : end + 1] == b";"):
            start, self._outer_end = self._outer_start, -1
        if self._prefix_end >= 0:
            if self._is_blank_between(self._prefix_end, start):
                start, doc = self._prefix_start, self._prefix_doc
            self._prefix_end = -1
        return start, doc or self._doc_before(start)

    def _doc_before(self, element_start: int) -> str:
        if (
            self._comments_start >= 0
            and self._comments_end <= element_start
            and self._is_close(self._comments_end, element_start)
            and self._starts_line(self._comments_start)
        ):
            return first_line(self._text[self._comments_start : self._comments_end])
        return ""

    def _is_blank_between(self, start: int, end: int) -> bool:
        """True if only blanks and the last comments stand there."""
        comments_start, comments_end = self._comments_start, self._comments_end
        if end - start > _BLANKS_MAX + comments_end - comments_start:
            return False
        if start <= comments_start and comments_end <= end:
            return not self._text[start:comments_start].strip() and not self._text[comments_end:end].strip()
        return not self._text[start:end].strip()

    def _is_close(self, start: int, end: int) -> bool:
        if end - start > _BLANKS_MAX:
            return False
        between = self._text[start:end]
        return not between.strip() and between.count(b"\n") <= 1

    def _starts_line(self, byte: int) -> bool:
        line_start = self._text.rfind(b"\n", max(0, byte - _BLANKS_MAX), byte) + 1
        return (line_start > 0 or byte <= _BLANKS_MAX) and not self._text[line_start:byte].strip()


def first_line(comment: bytes) -> str:
    """The first line with words of a comment or documentation string, without its marks."""
    for line in comment.split(b"\n"):
        start = _DOC_START.match(line)
        bare = line[start.end() if start else 0 :].rstrip()
        for mark in _DOC_ENDS:
            if bare.endswith(mark):
                bare = bare[: -len(mark)].rstrip(mark[:1]).rstrip()
                break
        if bare.endswith(b">"):
            bare = _DOC_TAGS_END.sub(b"", bare)
        if _DOC_WORD.search(bare):
            return bare.decode("utf-8", "replace")[:_DOC_CHARACTERS_MAX]
    return ""


_DOC_START = re.compile(
    rb"^(?:\s*(?:/\*[*!]*<?|//[/!]*<?|\*+(?!/)|#+|(?:--+|\{-+)(?:\s*[|^])?|[rRuUbB]{0,2}(?:\"\"\"|'''|\"|')))?\s*(?:</?(?:summary|remarks|para)>\s*)*"
)
_DOC_ENDS = (b"*/", b"-}", b'"""', b"'''", b'"', b"'")
_DOC_TAGS_END = re.compile(rb"\s*(?:</(?:summary|remarks|para)>\s*)+$")
_DOC_WORD = re.compile(rb"[A-\xff]")
