"""Runs the machine's search programs: ripgrep and grep say which files may match, fd and find which names may match.

Invariant: none of them decides an answer. ctxd checks what a program names, asks the next program if one fails, and
kills a program as soon as nobody waits for it.
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
"""If one cannot answer, the next one is asked. The last one always can."""
FILES_BACKENDS = ("index", "fd", "find", "python")

_ARGUMENT_BYTES_MAX = 1_500_000  # Linux takes 2 MiB of arguments and environment (getconf ARG_MAX), macOS 1 MiB
_POLL_SECONDS = 0.05


class ProgramFailed(Exception):  # noqa: N818  # the caller passes it over
    """The program is missing, was ended, or does not accept the question."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The path of each program; None if it is not installed."""

    rg: str | None = None
    grep: str | None = None
    fd: str | None = None
    find: str | None = None

    def answering(self, backend: str, backends: tuple[str, ...]) -> str:
        """The one of `backends` that answers for `backend`: itself, or the first available one after it."""
        asked = backends[backends.index(backend) :]
        return next(name for name in asked if name in {"index", "python"} or getattr(self, name) is not None)


def find_programs() -> Programs:
    which = shutil.which
    return Programs(which("rg"), which("grep"), which("fd") or which("fdfind"), which("find"))  # fdfind: Debian's name


def names_from(
    command: Sequence[str | bytes], folder: bytes, stop: Callable[[], bool], *, found_nothing: int = 0
) -> set[bytes]:
    """The names that a program prints, each ended by a NUL. `found_nothing` is its exit status if there are none.

    Calls `stop` now and then, and kills the process once it returns True. Raises ProgramFailed.
    """
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            # In this locale every program takes each byte for a character, in any name and any text.
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
    # Other statuses also report an error about a single file, such as one that vanished: the names may be incomplete.
    if process.returncode not in {0, found_nothing}:
        raise ProgramFailed(f"exit status {process.returncode}")
    return {name.removeprefix(b"./") for name in output.split(b"\0") if name}


def files_from(
    command: Sequence[str | bytes], folder: bytes, paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """The ones of `paths` that a grep prints when it gets them as arguments. Raises ProgramFailed."""
    found: set[bytes] = set()
    for batch in _batches(paths):
        if b"-" in batch:  # a grep takes a bare dash for its standard input
            batch[batch.index(b"-")] = b"./-"
        found |= names_from([*command, "--", *batch], folder, stop, found_nothing=1)
    return found


def _batches(paths: list[bytes]) -> Iterator[list[bytes]]:
    first, size = 0, 0
    for at, length in enumerate(map(len, paths)):
        size += length + 9  # plus a NUL and a pointer
        if size > _ARGUMENT_BYTES_MAX and at > first:
            yield paths[first:at]
            first, size = at, length + 9
    if first < len(paths):
        yield paths[first:]
