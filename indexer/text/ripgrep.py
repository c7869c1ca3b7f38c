"""ripgrep as a narrower: which of many files may match. It never decides a match; the caller reads the files it names.

Invariant: only files known to be plain (decode.PLAIN) are handed to it, always by our own list and with its own
configuration off, so that neither its ignore rules nor its idea of a binary file can change an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.programs import files_from

if TYPE_CHECKING:
    from collections.abc import Callable

# Files named one by one are searched whatever is ignored; without --no-ignore it reads the rules of their folders all the same.
_COMMAND = ("--no-config", "--no-ignore", "--no-mmap", "--text", "--no-messages", "--files-with-matches", "--null")
_NOT_PLAIN = r"(?-u:[\x80-\xff\r\x00])"


def files_matching(
    program: str, root: bytes, arguments: list[str], paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """Those of `paths` in which ripgrep finds the pattern of `arguments` (Pattern.rg_narrowing_arguments). Raises ProgramFailed."""
    return files_from([program, *_COMMAND, *arguments], root, paths, stop)


def files_not_plain(program: str, root: bytes, paths: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """Those of `paths` whose bytes are not ASCII throughout, or hold a carriage return or a NUL. Raises ProgramFailed."""
    return files_matching(program, root, ["-e", _NOT_PLAIN], paths, stop)
