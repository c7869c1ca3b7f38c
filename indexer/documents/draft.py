"""Applies changes of a file's canonical text to its bytes.

Invariant: bytes outside a change stay as they are. The result reads exactly as asked, or DraftError is raised. New
lines get the endings of the lines they replace, or of their neighbours; new text gets the encoding of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.decode import Source, as_utf8, canonical
from ctxd.indexer.documents.unified_diff import Change, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ENCODING_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "latin-1": "Latin-1"}


class DraftError(Exception):
    """The file cannot hold a change; the message says why."""


class Draft:
    """The text of a file while it is changed, and its bytes at the end."""

    def __init__(self, data: bytes) -> None:
        """Raises DraftError for a binary file."""
        source = as_utf8(data)
        if source is None:
            raise DraftError("the file is binary: it has no lines")
        self.data = data
        self.source = source
        self.text = canonical(source.text)
        """Canonical, with all changes so far."""
        self.note: str | None = None
        """Another effect that the changes have on the file; set by `to_bytes`."""
        self._current = source.text
        """The same text with the line endings of the file."""
        self._changes: list[Change] = []
        """The changes that turn `source.text` into `_current`."""

    def change(self, changes: Sequence[Change]) -> None:
        """Change `text`. Changes come in order and do not overlap. If it raises DraftError, nothing has changed."""
        changes = [Change(start, end, canonical(text)) for start, end, text in changes]
        if any(b"\0" in text for _, _, text in changes):
            raise DraftError("the new text holds a NUL character, which would make the file binary")
        expected = spliced(self.text, changes)
        own = list(_with_endings(self._current, changes))
        current = spliced(self._current, own)
        if canonical(current) != expected:
            raise DraftError(
                r"a lone carriage return (\r) would become part of a line's end; change that line as a whole"
            )
        self._changes = _composed(self._changes, own, len(self.source.text))
        self._current, self.text = current, expected

    def to_bytes(self) -> bytes:
        """The bytes of the changed file. Raises DraftError if its encoding cannot hold the text."""
        data, source = self.data, self.source
        parts = []
        kept_until = 0
        offset, raw = 0, len(source.bom)
        for start, end, text in self._changes:
            raw_start = _raw_offset(data, source, offset, raw, start)
            parts += [data[kept_until:raw_start], self._encoded(text)]
            offset, raw = end, _raw_offset(data, source, start, raw_start, end)
            kept_until = raw
        parts.append(data[kept_until:])
        result = b"".join(parts)
        self._check(result)
        return result

    def diff(self, name: str) -> str:
        """The unified diff of all changes, with the line endings of the file; empty if nothing changed."""
        return unified_diff(self.source.text, self._changes, name)

    def _encoded(self, text: bytes) -> bytes:
        if self.source.encoding == "utf-8":
            return text
        try:
            return text.decode().encode(self.source.encoding)
        except UnicodeEncodeError as error:
            char = error.object[error.start]
            name = _ENCODING_NAMES[self.source.encoding]
            raise DraftError(
                f"the file is {name} (it is not valid UTF-8) and cannot hold {char!r} (U+{ord(char):04X})"
            ) from None

    def _check(self, result: bytes) -> None:
        """Read the result as every reader will. Raises DraftError if it reads as another text."""
        again, source = as_utf8(result), self.source
        if again is not None and again.text == self._current:
            if (again.encoding, again.bom) == source[1:] or again.text.isascii():
                return
        elif again is not None and (source.encoding, again.encoding) == ("latin-1", "utf-8"):
            # The change removed the last bytes that were not UTF-8: mostly that was its purpose.
            self.note = "the file was not valid UTF-8 and now is: it reads differently from here on"
            return
        raise DraftError(
            "the file would read as something else: its first bytes, or half a character, would change meaning"
        )


def spliced(text: bytes, changes: Iterable[Change]) -> bytes:
    """`text` with the changes applied. They come in order of place and do not overlap."""
    parts = []
    position = 0
    for start, end, new in changes:
        parts += [text[position:start], new]
        position = end
    return b"".join([*parts, text[position:]])


def _with_endings(text: bytes, changes: Iterable[Change]) -> Iterator[Change]:
    r"""Translate changes of the canonical form of `text` to changes of `text` itself, which may hold "\r\n"."""
    if b"\r\n" not in text:
        yield from changes
        return
    canonical_at = own_at = 0
    last = text.rfind(b"\n")
    following = (
        -1
    )  # first newline at or after a change, else the last newline. Kept: in one long line all changes share it

    def own_offset(of: int) -> int:
        nonlocal canonical_at, own_at
        while canonical_at < of:
            end = own_at + of - canonical_at
            end += text[end - 1 : end + 1] == b"\r\n"
            canonical_at += end - own_at - text.count(b"\r\n", own_at, end)
            own_at = end
        return own_at

    for change in changes:
        start, end, new = own_offset(change.start), own_offset(change.end), change.text
        if b"\n" in new:
            if following < end:
                following = text.find(b"\n", end) if last >= end else last
            new = _as_lines_there(text, start, end, new, _ending_at(text, following))
        yield Change(start, end, new)


def _as_lines_there(text: bytes, start: int, end: int, new: bytes, near: bytes) -> bytes:
    """Give the lines of canonical `new` the endings that they replace between `start` and `end`, in order.

    Further lines get the last of these endings, or `near` if there is none.
    """
    first, *rest = new.split(b"\n")
    parts = [first]
    at, ending = start, near
    for line in rest:
        newline = text.find(b"\n", at, end)
        at = newline + 1 if newline >= 0 else end
        ending = _ending_at(text, newline) if newline >= 0 else ending
        parts += [ending, line]
    return b"".join(parts)


def _ending_at(text: bytes, newline: int) -> bytes:
    return b"\r\n" if newline > 0 and text[newline - 1 : newline] == b"\r" else b"\n"


def _raw_offset(data: bytes, source: Source, offset: int, raw: int, to: int) -> int:
    """Offset in `data` for offset `to` of the source's text, counted on from an earlier `offset` that lies at `raw`."""
    if source.encoding == "utf-8":
        return raw + to - offset
    if to == len(source.text):
        return len(data)  # UTF-16 may end in half a character
    # A lone surrogate was decoded as U+FFFD, which takes two bytes as well.
    return raw + len(source.text[offset:to].decode().encode(source.encoding))


def _composed(first: list[Change], then: list[Change], size: int) -> list[Change]:
    """Merge two lists of changes: `first` changes a text of `size` bytes, `then` changes the result."""
    if not first:
        return then
    pieces = list(_pieces(first, size))[::-1]
    made: list[Change] = []
    kept_until = 0
    fresh = b""

    def take(count: int, *, keep: bool) -> None:
        """Keep or drop the next `count` bytes of the intermediate text. `pieces` is in reverse order."""
        nonlocal kept_until, fresh
        while count:
            start, end, text = pieces.pop()
            length = len(text) or end - start
            if length > count:
                pieces.append(Change(start, end, text[count:]) if text else Change(start + count, end, b""))
                text, end, length = text[:count], end if text else start + count, count
            count -= length
            if not keep:
                continue
            if text:
                fresh += text
                continue
            if fresh or start > kept_until:
                made.append(Change(kept_until, start, fresh))
                fresh = b""
            kept_until = end

    position = 0
    for start, end, text in then:
        take(start - position, keep=True)
        take(end - start, keep=False)
        fresh += text
        position = end
    while pieces:
        take(len(pieces[-1].text) or pieces[-1].end - pieces[-1].start, keep=True)
    if fresh or kept_until < size:
        made.append(Change(kept_until, size, fresh))
    return made


def _pieces(changes: list[Change], size: int) -> Iterator[Change]:
    """The changed text in pieces. A piece with `text` is that text; one without is `start:end` of the old text."""
    position = 0
    for start, end, text in changes:
        if start > position:
            yield Change(position, start, b"")
        if text:
            yield Change(start, start, text)
        position = end
    if size > position:
        yield Change(position, size, b"")
