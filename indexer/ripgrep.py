"""ripgrep as a narrower: which of many files may match. It never decides a match; the caller reads the files it names.

Invariant: only files known to be plain (decode.PLAIN) are handed to it, always by our own list and with its own
configuration off, so that neither its ignore rules nor its idea of a binary file can change an answer.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ARGUMENT_BYTES_MAX = 1_500_000  # Linux takes 2 MiB of arguments and environment (getconf ARG_MAX), macOS 1 MiB
_POLL_SECONDS = 0.05
_NOT_PLAIN = r"(?-u:[\x80-\xff\r\x00])"


class RipgrepFailed(Exception):  # noqa: N818  # the caller passes it over and reads the files itself
    """It is missing, was ended, or does not take the pattern."""


def find_ripgrep() -> str | None:
    return shutil.which("rg")


def files_matching(
    program: str, root: bytes, arguments: list[str], paths: list[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """Those of `paths` in which ripgrep finds the pattern of `arguments`.

    `stop` is asked now and then; once true the process is killed and RipgrepFailed raised.
    """
    command = [program, "--no-config", "--no-mmap", "--text", "--no-messages", "--files-with-matches", "--null"]
    found: set[bytes] = set()
    for batch in _batches(paths):
        process = subprocess.Popen(
            [*command, *arguments, "--", *batch],
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        with process:
            while True:
                try:
                    output, _ = process.communicate(timeout=_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    if stop():
                        process.kill()
                        raise RipgrepFailed("stopped") from None
        # 1: nothing found. 2 comes with an error about some file as well (one vanished): what was found still counts only
        # where every file was read, so the caller reads this batch itself.
        if process.returncode not in {0, 1}:
            raise RipgrepFailed(f"exit status {process.returncode}")
        found.update(output.split(b"\0"))
    found.discard(b"")
    return found


def files_not_plain(program: str, root: bytes, paths: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """Those of `paths` whose bytes are not ASCII throughout, or hold a carriage return or a NUL."""
    return files_matching(program, root, ["-e", _NOT_PLAIN], paths, stop)


def _batches(paths: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for path in paths:
        cost = len(path) + 9  # its NUL and its pointer
        if batch and size + cost > _ARGUMENT_BYTES_MAX:
            yield batch
            batch, size = [], 0
        batch.append(path)
        size += cost
    if batch:
        yield batch
