"""From changes of a file's canonical text back to its bytes.

Invariant: bytes outside a change stay as they are, whatever they are; what the result reads as is what was asked for, or there is
no result. New lines end as those they replace did, or as their neighbours do; new text is in the encoding of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.decode import Source, as_utf8, canonical
from ctxd.indexer.documents.unified_diff import Change, unified_diff

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_ENCODING_NAMES = {"utf-8": "UTF-8", "utf-16-le": "UTF-16", "utf-16-be": "UTF-16", "latin-1": "Latin-1"}


class DraftError(Exception):
    """A change that the file cannot hold; the message says why."""


class Draft:
    """The text of a file as changes are made, and at last its bytes."""

    def __init__(self, data: bytes) -> None:
        """Raises DraftError for a binary file."""
        source = as_utf8(data)
        if source is None:
            raise DraftError("the file is binary: it has no lines")
        self.data = data
        self.source = source
        self.text = canonical(source.text)
        """Canonical, as changed until now."""
        self.note: str | None = None
        """What else the changes do to the file; known after `to_bytes`."""
        self._current = source.text
        """The same with the line endings of the file."""
        self._changes: list[Change] = []
        """What makes `_current` of `source.text`."""

    def change(self, changes: Sequence[Change]) -> None:
        """Change `text`: in order of place, none overlaps another. Raises DraftError, and nothing is changed."""
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
        """The bytes of the changed file. Raises DraftError where its encoding cannot hold them."""
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
        """The unified diff of all changes, with the line endings of the file; empty where they change nothing."""
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
        """Read the result as every reader will."""
        again, source = as_utf8(result), self.source
        if again is not None and again.text == self._current:
            if (again.encoding, again.bom) == source[1:] or again.text.isascii():
                return
        elif again is not None and (source.encoding, again.encoding) == ("latin-1", "utf-8"):
            # The change took away the last bytes that are no UTF-8: mostly what it was for.
            self.note = "the file was not valid UTF-8 and now is: it reads differently from here on"
            return
        raise DraftError(
            "the file would read as something else: its first bytes, or half a character, would change meaning"
        )


def spliced(text: bytes, changes: Iterable[Change]) -> bytes:
    """`text` with the changes made: in order of place, none overlaps another."""
    parts = []
    position = 0
    for start, end, new in changes:
        parts += [text[position:start], new]
        position = end
    return b"".join([*parts, text[position:]])


def _with_endings(text: bytes, changes: Iterable[Change]) -> Iterator[Change]:
    r"""Changes of the canonical form of `text` as changes of `text` itself, which may hold "\r\n"."""
    if b"\r\n" not in text:
        yield from changes
        return
    canonical_at = own_at = 0
    last = text.rfind(b"\n")
    following = (
        -1
    )  # the first newline at or after a change, else the last: in one long line it is the same for all changes

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
    """Canonical `new` with the line endings that it replaces between `start` and `end`, then the last of them, or `near`."""
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
    """Where in `data` the offset `to` of the source's text lies, from an earlier `offset` on, which lies at `raw`."""
    if source.encoding == "utf-8":
        return raw + to - offset
    if to == len(source.text):
        return len(data)  # UTF-16 may end in half a character
    # A surrogate without its other half stands as U+FFFD, which takes two bytes as well.
    return raw + len(source.text[offset:to].decode().encode(source.encoding))


def _composed(first: list[Change], then: list[Change], size: int) -> list[Change]:
    """Changes of a text of `size` bytes that do what `first` does to it and `then` to the result."""
    if not first:
        return then
    pieces = list(_pieces(first, size))[::-1]
    made: list[Change] = []
    kept_until = 0
    fresh = b""

    def take(count: int, *, keep: bool) -> None:
        """The next `count` bytes of the text between; the last piece of `pieces` comes first."""
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
    """The changed text in pieces: with `text` that one, without it the bytes from `start` to `end` of the old one."""
    position = 0
    for start, end, text in changes:
        if start > position:
            yield Change(position, start, b"")
        if text:
            yield Change(start, start, text)
        position = end
    if size > position:
        yield Change(position, size, b"")
