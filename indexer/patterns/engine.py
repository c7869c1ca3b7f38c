"""The one place that runs RE2: linear time, and the GIL is released while it searches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from re2 import Options, _re2  # pyright: ignore[reportAttributeAccessIssue]

if TYPE_CHECKING:
    from collections.abc import Callable

Spans = list[tuple[int, int]]
"""Byte offsets of a match and of its groups; (-1, -1) for none."""

# Enough for the largest pattern that syntax.py accepts; with its default of 8 MB RE2 would refuse it.
RE2_BYTES_MAX = 1 << 26


def compiled(pattern: bytes, *, latin1: bool = False, anchored: bool = False) -> Callable[[bytes, int], Spans] | None:
    """A function that finds the first match in a text from an offset on; None if `pattern` does not compile.

    The text is UTF-8; with `latin1` each byte is a character. An `anchored` match starts at the offset.
    """
    options = Options()
    options.log_errors = False
    options.max_mem = RE2_BYTES_MAX
    if latin1:
        options.encoding = Options.Encoding.LATIN1
    # Not re2.compile: its cache keeps the automata of 128 patterns alive, and its match objects take twice the time.
    regexp = _re2.RE2(pattern, options)
    if not regexp.ok():
        return None
    match = regexp.Match
    anchor = _re2.RE2.Anchor.ANCHOR_START if anchored else _re2.RE2.Anchor.UNANCHORED

    def spans(text: bytes, position: int) -> Spans:
        return match(anchor, text, position, len(text))

    return spans
