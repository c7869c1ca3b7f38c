"""grep as a narrower, like ripgrep: it says which of many plain files may match. The caller reads the files it names.

Invariant: grep runs in the C locale. There it reads bytes, and its extended expressions take linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.programs import files_from

if TYPE_CHECKING:
    from collections.abc import Callable

_COMMAND = ("--text", "--no-messages", "--files-with-matches", "--null", "--devices=skip", "--directories=skip")
_NOT_PLAIN = r"[\x80-\xff\r\x00]"


def files_matching(
    program: str, root: bytes, arguments: list[bytes], paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """The ones of `paths` in which grep finds the pattern of `arguments`. Raises ProgramFailed."""
    return files_from([program, *_COMMAND, *arguments], root, paths, stop)


def files_not_plain(program: str, root: bytes, paths: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """As ripgrep.files_not_plain. Needs Perl's dialect to name a NUL; not every grep has it. Raises ProgramFailed."""
    return files_from([program, *_COMMAND, "--perl-regexp", f"--regexp={_NOT_PLAIN}"], root, paths, stop)
