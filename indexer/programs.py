"""Programs of the machine that narrow: ripgrep and grep say which files may match, fd and find which names may.

Invariant: none of them decides an answer. What one names is looked at again by us, what it fails at is left to the next one,
and it is killed as soon as nobody waits for it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

TEXT_BACKENDS = ("index", "rg", "grep", "python")
"""In the order in which one that cannot answer is passed over for the next; the last one always can."""
FILES_BACKENDS = ("index", "fd", "find", "python")

_ARGUMENT_BYTES_MAX = 1_500_000  # Linux takes 2 MiB of arguments and environment (getconf ARG_MAX), macOS 1 MiB
_POLL_SECONDS = 0.05


class ProgramFailed(Exception):  # noqa: N818  # the caller passes it over
    """It is missing, was ended, or does not take what it was asked."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Where each program is; None where it is not installed."""

    rg: str | None = None
    grep: str | None = None
    fd: str | None = None
    find: str | None = None

    def answering(self, backend: str, backends: tuple[str, ...]) -> str:
        """Which of `backends` answers where `backend` is asked for: itself, or the first one after it that is there."""
        asked = backends[backends.index(backend) :]
        return next(name for name in asked if name in {"index", "python"} or getattr(self, name) is not None)


def find_programs() -> Programs:
    which = shutil.which
    return Programs(which("rg"), which("grep"), which("fd") or which("fdfind"), which("find"))  # fdfind: Debian's name


def names_from(
    command: Sequence[str | bytes], folder: bytes, stop: Callable[[], bool], *, found_nothing: int = 0
) -> set[bytes]:
    """The names, each ended by a NUL, that a program prints; `found_nothing` is its exit status where there are none.

    `stop` is asked now and then; once true the process is killed. Raises ProgramFailed.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            # In this locale a byte is a character to all of them, whatever the names and the texts are.
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        raise ProgramFailed(str(error)) from error
    with process:
        while True:
            try:
                output, _ = process.communicate(timeout=_POLL_SECONDS)
                break
            except subprocess.TimeoutExpired:
                if stop():
                    process.kill()
                    raise ProgramFailed("stopped") from None
    # Any other status comes with an error about some file too (one vanished): what was found then may be less than all.
    if process.returncode not in {0, found_nothing}:
        raise ProgramFailed(f"exit status {process.returncode}")
    return {name.removeprefix(b"./") for name in output.split(b"\0") if name}


def files_from(
    command: Sequence[str | bytes], folder: bytes, paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """Those of `paths`, given to a grep as arguments, that it prints; raises ProgramFailed."""
    found: set[bytes] = set()
    for batch in _batches(paths):
        if b"-" in batch:  # a bare dash is their standard input
            batch[batch.index(b"-")] = b"./-"
        found |= names_from([*command, "--", *batch], folder, stop, found_nothing=1)
    return found


def _batches(paths: list[bytes]) -> Iterator[list[bytes]]:
    first, size = 0, 0
    for at, length in enumerate(map(len, paths)):
        size += length + 9  # its NUL and its pointer
        if size > _ARGUMENT_BYTES_MAX and at > first:
            yield paths[first:at]
            first, size = at, length + 9
    if first < len(paths):
        yield paths[first:]
