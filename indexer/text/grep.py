"""grep as a narrower, as ripgrep is: which of many plain files may match.

Invariant: in the C locale grep reads bytes, and its extended expressions take linear time. The caller reads the files that
grep names.
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
    """Those of `paths` in which grep finds the pattern of `arguments`. Raises ProgramFailed."""
    return files_from([program, *_COMMAND, *arguments], root, paths, stop)


def files_not_plain(program: str, root: bytes, paths: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """As ripgrep.files_not_plain; only Perl's dialect can name a NUL, and not every grep has it. Raises ProgramFailed."""
    return files_from([program, *_COMMAND, "--perl-regexp", f"--regexp={_NOT_PLAIN}"], root, paths, stop)
