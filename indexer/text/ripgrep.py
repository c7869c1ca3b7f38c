"""ripgrep as a narrower: it says which of many files may match. The caller reads the files it names and decides.

Invariant: ripgrep gets only files known to be plain (decode.PLAIN), from our own list, with its own configuration off.
So neither its ignore rules nor its idea of a binary file can change an answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.programs import files_from

if TYPE_CHECKING:
    from collections.abc import Callable

# ripgrep searches a file named as an argument even if ignored. --no-ignore saves reading the rules of its folders.
_COMMAND = ("--no-config", "--no-ignore", "--no-mmap", "--text", "--no-messages", "--files-with-matches", "--null")
_NOT_PLAIN = r"(?-u:[\x80-\xff\r\x00])"


def files_matching(
    program: str, root: bytes, arguments: list[str], paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """The ones of `paths` in which ripgrep finds the pattern of `arguments` (Pattern.rg_narrowing_arguments).

    Raises ProgramFailed.
    """
    return files_from([program, *_COMMAND, *arguments], root, paths, stop)


def files_not_plain(program: str, root: bytes, paths: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """The ones of `paths` that hold a non-ASCII byte, a carriage return or a NUL. Raises ProgramFailed."""
    return files_matching(program, root, ["-e", _NOT_PLAIN], paths, stop)
