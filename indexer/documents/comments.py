"""Finds blocks of comment lines by how the lines begin. Outlines show them; nothing is parsed here.

Invariant: a line counts only if it holds nothing but a comment. A line of a multi-line string may look like one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.languages import LANGUAGE_BY_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSERS = {b"/*": b"*/", b"<!--": b"-->", b"{-": b"-}", b"--[[": b"]]", b"(*": b"*)", b"<#": b"#>", b"=begin": b"=end"}
"""How a comment over several lines ends."""


class CommentBlock(NamedTuple):
    """Lines are 1-based and inclusive."""

    start_line: int
    end_line: int
    prefix: str


def comment_blocks(text: bytes, language: str) -> Iterator[CommentBlock]:
    """Runs of comment lines with one prefix. `language` is a name of the table; "text" has the usual prefixes."""
    prefixes = tuple(prefix.encode() for prefix in LANGUAGE_BY_NAME[language].comments)
    if not prefixes:
        return
    lines = text.removesuffix(b"\n").split(b"\n")
    first, kind = 0, b""  # of the block that is open
    closer = b""  # of the comment that is open
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if closer:
            closer = b"" if closer in bare else closer
            continue
        prefix = next((one for one in prefixes if bare.startswith(one)), b"")
        if end := _CLOSERS.get(prefix):
            inside = bare[len(prefix) :]
            if end not in inside:
                closer = end
            elif not inside.endswith(end):  # code follows
                prefix = b""
        if prefix != kind:
            if kind:
                yield CommentBlock(first, number - 1, kind.decode().strip())
            first, kind = number, prefix
    if kind:
        yield CommentBlock(first, len(lines), kind.decode().strip())


def blank_runs(text: bytes) -> Iterator[int]:
    """The first line of each run of blank lines."""
    was_blank = False
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
        is_blank = not line.strip()
        if is_blank and not was_blank and text:
            yield number
        was_blank = is_blank
