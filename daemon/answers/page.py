"""Limits the size of answers: pages of results with cursors, and lines and texts cut to size.

Invariant: results that do not fit are counted and reported, never left out silently.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

from ctxd.daemon.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.daemon.params import Params

TOKEN_BYTES = 4
RESULTS_MAX = 1_000
LINE_CHARS_MAX = 500  # a longer line is cut around its match
_COMPACT_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def end_that_fits(text: bytes, start: int, end: int, room: int) -> int:
    """The end for `text[start:end]` so that it fits into `room` bytes: between lines if possible, never within a character."""

    def between_lines(end: int) -> int:
        newline = text.rfind(b"\n", start, end)
        return newline if newline > start else end

    last = end
    if end - start > room:  # each byte takes at least one byte in JSON
        end = between_lines(start + room)
    while (size := size_of(text[start:end].decode("utf-8", "replace"))) > room:
        # Quotes and newlines take two bytes in JSON: shorten the text in proportion.
        end = between_lines(start + min((end - start) * room // size, end - start - 1))
    while end < last and text[end] & 0xC0 == 0x80:
        end -= 1
    return end


def cut(line: str, start: int, end: int) -> tuple[str, bool]:
    """A line cut to LINE_CHARS_MAX around `start:end`, and whether it was cut."""
    if len(line) <= LINE_CHARS_MAX:
        return line, False
    begin = max(0, min(start - (LINE_CHARS_MAX - min(end - start, LINE_CHARS_MAX)) // 2, len(line) - LINE_CHARS_MAX))
    return line[begin : begin + LINE_CHARS_MAX], True


class Page:
    """The results of one answer: at most `results_max`, and at most `max_tokens` of TOKEN_BYTES bytes of compact JSON.

    Results that no longer fit are still counted, up to `count_max`; beyond that the total is a lower bound. Each result has a
    place, for the cursor. `place` is the place of the last result of the page before, None on a first page.
    """

    _AROUND_BYTES = 400  # of the answer around the results

    def __init__(self, params: Any, *place: type, results_max: int = RESULTS_MAX, count_max: int = RESULTS_MAX) -> None:
        """`place`: the types of the values in a place, so that a tampered cursor is refused."""
        self.params = params
        self.results: list[Any] = []
        self.count = 0
        self.truncated = False
        self.place: list[Any] | None = None
        self.earlier = 0
        """Number of results on earlier pages."""
        if params.cursor is not None:
            self.earlier, *self.place = read_cursor(params, params.cursor, int, *place)
        self._results_max = results_max
        self._count_max = count_max
        self._left = params.max_tokens * TOKEN_BYTES - self._AROUND_BYTES
        self._last: list[Any] = []

    @property
    def total(self) -> int:
        """Number of results, with those on earlier pages."""
        return self.earlier + self.count

    @property
    def is_full(self) -> bool:
        return self.truncated or len(self.results) >= self._results_max

    @property
    def bytes_left(self) -> int:
        return self._left

    def add(self, make: Callable[[], Any], place: list[Any]) -> bool:
        """Count one result; make and keep it if there is room. False means enough: stop searching."""
        self.count += 1
        if self.count > self._count_max:
            return False
        if not self.is_full:
            result = make()
            size = size_of(result) + 1
            if size <= self._left or not self.results:
                self._left -= size
                self.results.append(result)
                self._last = place
            else:
                self.truncated = True
        return True

    def count_no_more(self) -> None:
        """Note that there are more results than are counted."""
        self.count = self._count_max + 1

    def tail(
        self,
        *,
        stopped: bool = False,
        timed_out: bool = False,
        stopped_at: list[Any] | None = None,
        cursor: str = "next_cursor",
    ) -> dict[str, Any]:
        """The fields that say how complete the list is. `stopped_at` is the place where a search had to stop."""
        fields: dict[str, Any] = {}
        if self.count > self._count_max or stopped:
            fields["total_is_exact"] = False
        if stopped and timed_out:
            fields["timed_out"] = True
        if self.truncated:
            fields["truncated"] = True
        if self.count > len(self.results):
            fields[cursor] = make_cursor(self.params, [self.earlier + len(self.results), *self._last])
        elif stopped and stopped_at is not None:
            fields[cursor] = make_cursor(self.params, [self.earlier + self.count, *stopped_at])
        return fields


def size_of(result: Any) -> int:
    """Bytes of a result in compact JSON."""
    return len(_COMPACT_JSON.encode(result).encode("utf-8", "replace"))


def make_cursor(params: Params, place: list[Any]) -> str:
    """A cursor: the place where a list goes on, bound to the arguments of the call."""
    return base64.urlsafe_b64encode(json.dumps([_fingerprint(params), *place]).encode()).decode().rstrip("=")


def read_cursor(params: Params, cursor: str, *kinds: type) -> list[Any]:
    """The place of a cursor made by `make_cursor` for the same arguments: values of `kinds`. Raises ToolError."""
    unreadable = ToolError("the cursor cannot be read", "Pass it as it was given, or leave it out to begin")
    try:
        fingerprint, *place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise unreadable from None
    if fingerprint != _fingerprint(params):
        raise ToolError(
            "the cursor belongs to a query with other arguments", "Repeat the arguments of that query, or leave it out"
        )
    if list(map(type, place)) != list(kinds):
        raise unreadable
    try:
        for text in place:
            if isinstance(text, str):
                text.encode("latin-1")  # a path: one character per byte
    except UnicodeEncodeError:
        raise unreadable from None
    return place


def _fingerprint(params: Params) -> str:
    rest = params.model_dump(exclude={"cursor", "max_tokens"})
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:8]
