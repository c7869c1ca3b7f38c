"""The unified diff for known changes of a text. It takes linear time; comparing all lines could take far longer.

Invariant: `patch` turns the old text into the new one, byte for byte. Lines keep their endings, also "\r\n".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

CONTEXT_LINES = 3
_NO_NEWLINE = b"\n\\ No newline at end of file\n"


class Change(NamedTuple):
    """`text` replaces the bytes from `start` to `end` (exclusive)."""

    start: int
    end: int
    text: bytes


class _Group:
    """Whole lines of the old text, from `start` to `end`, and the lines that replace them."""

    def __init__(self, start: int) -> None:
        self.start = self.end = start
        self.old_lines: list[bytes] = []
        self.new_lines: list[bytes] = []
        self._new: list[bytes] = []
        self._taken_to = start

    def add(self, old: bytes, start: int, end: int, text: bytes) -> None:
        """Add a change that starts in the last line of the group or right after it."""
        self._new += [part for part in (old[self._taken_to : start], text) if part]
        self._taken_to = end
        if end < self.end:  # still in the last line
            return
        is_whole = _is_line_start(old, end) and (not self._new or self._new[-1].endswith(b"\n"))
        newline = old.find(b"\n", end)
        self.end = end if is_whole else newline + 1 if newline >= 0 else len(old)

    def finish(self, old: bytes) -> None:
        """Set the old and new lines, without equal lines at both ends."""
        before = _lines(old[self.start : self.end])
        after = _lines(b"".join([*self._new, old[self._taken_to : self.end]]))
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            self.start += len(before[same])
            same += 1
        before, after = before[same:], after[same:]
        while before and after and before[-1] == after[-1]:
            self.end -= len(before.pop())
            after.pop()
        self.old_lines, self.new_lines = before, after


def unified_diff(old: bytes, changes: Iterable[Change], name: str) -> str:
    """The diff between UTF-8 `old` and its changed text; empty if they are equal. Changes come in order of place."""
    groups = [group for group in _groups(old, changes) if group.old_lines or group.new_lines]
    if not groups:
        return ""
    parts = [f"--- a/{name}\n+++ b/{name}\n".encode("utf-8", "backslashreplace")]
    hunk: list[_Group] = []
    counted = lines = added = 0
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        hunk.append(group)
        if following is not None and old.count(b"\n", group.end, following.start) <= 2 * CONTEXT_LINES:
            continue
        lines += old.count(b"\n", counted, hunk[0].start)
        counted = hunk[0].start
        parts += _hunk(old, hunk, lines, added)
        added += sum(len(one.new_lines) - len(one.old_lines) for one in hunk)
        hunk = []
    return b"".join(parts).decode()


def _groups(old: bytes, changes: Iterable[Change]) -> list[_Group]:
    groups: list[_Group] = []
    for start, end, text in changes:
        known = groups[-1].end if groups else 0
        if not groups or start > known or (start == known and _is_line_start(old, start)):
            # Search from `known`, not from the start: in one long line every change would search all text before it.
            newline = old.rfind(b"\n", known, start)
            groups.append(_Group(newline + 1 if newline >= 0 else known))
        groups[-1].add(old, start, end, text)
    for group in groups:
        group.finish(old)
    return groups


def _is_line_start(text: bytes, at: int) -> bool:
    return at == 0 or text.endswith(b"\n", 0, at)


def _hunk(old: bytes, groups: list[_Group], lines: int, added: int) -> list[bytes]:
    """One hunk. `lines` of the old text stand before the first group; the new text has `added` more lines there."""
    start, end = groups[0].start, groups[-1].end
    for _ in range(CONTEXT_LINES):
        start = old.rfind(b"\n", 0, max(0, start - 1)) + 1
    for _ in range(CONTEXT_LINES):
        newline = old.find(b"\n", end)
        end = newline + 1 if newline >= 0 else len(old)
    head = _lines(old[start : groups[0].start])
    body = [_marked(b" ", line) for line in head]
    old_count = new_count = len(head)
    for group, after in zip(groups, [*(one.start for one in groups[1:]), end], strict=True):
        between = _lines(old[group.end : after])
        body += [_marked(b"-", line) for line in group.old_lines]
        body += [_marked(b"+", line) for line in group.new_lines]
        body += [_marked(b" ", line) for line in between]
        old_count += len(group.old_lines) + len(between)
        new_count += len(group.new_lines) + len(between)
    first = lines - len(head)
    ranges = f"@@ -{_range(first, old_count)} +{_range(first + added, new_count)} @@\n"
    return [ranges.encode(), *body]


def _range(before: int, count: int) -> str:
    """A range as diff writes it: an empty one names the line before it."""
    first = before + (count > 0)
    return f"{first}" if count == 1 else f"{first},{count}"


def _marked(mark: bytes, line: bytes) -> bytes:
    return mark + (line if line.endswith(b"\n") else line + _NO_NEWLINE)


def _lines(text: bytes) -> list[bytes]:
    r"""Lines with their "\n"; the last one may have none."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
