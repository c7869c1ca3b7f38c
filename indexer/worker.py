"""A child process for work that must not run in the daemon: `python -P -m ctxd.indexer.worker MEMORY_BYTES`.

It parses files, finds the structure of large texts, and matches lines with an engine that backtracks (matching.py).

Pickled jobs arrive on stdin, results go to stdout, each after its length as a little-endian u32. Invariant: a worker
ends when its stdin closes, and no job outlives its deadline by more than GRACE_SECONDS, even if a grammar or an engine
hangs in C.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
import struct
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, ClassVar, Protocol, TypeVar

if TYPE_CHECKING:
    from ctxd.indexer.structure import Structure
    from ctxd.indexer.symbols.outline import Packed

FILE_BYTES_MAX = 1_000_000
"""Larger files have no symbols: programs write most of them, and one of 5 MB took 540 MB to parse."""

GRACE_SECONDS = 2.0
"""A worker is killed this long after the deadline."""

LENGTH = struct.Struct("<I")
_NICENESS = 10


ResultT_co = TypeVar("ResultT_co", covariant=True)


class Job(Protocol[ResultT_co]):
    """A dataclass. It can be pickled, and so can its result."""

    tries: ClassVar[int]
    """How many processes may try the job, if one ends without a result."""

    @property
    def deadline_seconds(self) -> float: ...

    def run(self, seconds: float) -> ResultT_co:
        """Do the job within `seconds`, which are the deadline or less. Never raises."""
        ...

    def failed(self, reason: str, /) -> ResultT_co:
        """The result if no process survived to give one."""
        ...


@dataclass(frozen=True, slots=True)
class ParseJob:
    path: bytes
    """Absolute."""
    language: str
    content_hash: bytes
    """The hash of the expected bytes; other bytes are not parsed."""
    deadline_seconds: float = 10.0
    tries: ClassVar[int] = 2

    def run(self, seconds: float) -> ParseResult:
        return parse_file(self, seconds)

    def failed(self, reason: str) -> ParseResult:
        return ParseResult("failed", reason)


@dataclass(frozen=True, slots=True)
class ParseResult:
    outcome: str
    """"parsed"; "changed" (other bytes, or no regular file any more); "too_large"; "none" (binary); or "failed"."""
    reason: str = ""
    language: str = ""
    """The language that was parsed: C++ for a C++ header that is called `.h`."""
    packed: Packed | None = None


@dataclass(frozen=True, slots=True)
class ScanJob:
    """Finds the structure of a text that a caller asks about; the result is a short reason if there is none."""

    language: str
    text: bytes
    """Canonical."""
    deadline_seconds: float
    tries: ClassVar[int] = 1

    def run(self, seconds: float) -> Structure | str:  # noqa: ARG002  # the process is ended when its time is up
        from ctxd.indexer.structure import scan

        try:
            return scan(self.language, self.text)
        except MemoryError:
            return "out of memory"

    def failed(self, reason: str) -> Structure | str:
        return reason


def parse_file(job: ParseJob, seconds: float) -> ParseResult:
    from ctxd.indexer.decode import Unreadable, text_of_content
    from ctxd.indexer.languages import LANGUAGE_BY_NAME, language_of
    from ctxd.indexer.symbols.headings import outline_of
    from ctxd.indexer.symbols.outline import pack
    from ctxd.indexer.symbols.parser import DeadlineError, UnparsableError, parse

    try:
        if os.lstat(job.path).st_size > FILE_BYTES_MAX:
            return ParseResult("too_large", f"over {FILE_BYTES_MAX} bytes")
        text = text_of_content(job.path, job.content_hash)
    except (OSError, Unreadable) as error:
        return ParseResult("changed", str(error))
    if text is None:
        return ParseResult("none", "binary")
    # The text of a header tells its language.
    language = language_of(job.path, text) or LANGUAGE_BY_NAME[job.language]
    try:
        outline = outline_of(language.name, text) if language.has_sections else parse(language, text, seconds)
        return ParseResult("parsed", "", language.name, pack(outline))
    except DeadlineError as error:
        return ParseResult("failed", f"{error} of {seconds:g} s", language.name)
    except UnparsableError as error:
        return ParseResult("failed", f"the text {error}", language.name)
    except MemoryError:
        return ParseResult("failed", "out of memory", language.name)
    except Exception as error:
        return ParseResult("failed", f"{type(error).__name__}: {error}", language.name)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C in a terminal is for the daemon, which then closes our stdin
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICENESS)
    memory_bytes = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # a parse makes many objects and no cycles: collecting would cost a quarter of its time
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # code that prints must not write between the answers
    jobs = sys.stdin.buffer
    while (received := _receive(jobs)) is not None:
        seconds, job = received
        # The alarm ends this process even in an endless loop in C, and even if the daemon is dead.
        signal.setitimer(signal.ITIMER_REAL, seconds + 2 * GRACE_SECONDS)
        result = pickle.dumps(job.run(seconds), pickle.HIGHEST_PROTOCOL)
        signal.setitimer(signal.ITIMER_REAL, 0)
        answers.write(LENGTH.pack(len(result)))
        answers.write(result)
        answers.flush()
        gc.collect(1)


def _receive(jobs: BinaryIO) -> tuple[float, Job[object]] | None:
    header = jobs.read(LENGTH.size)
    if len(header) < LENGTH.size:
        return None
    body = jobs.read(LENGTH.unpack(header)[0])
    return pickle.loads(body)


if __name__ == "__main__":
    # Import the module under its own name: the daemon can then unpickle classes defined here.
    from ctxd.indexer import worker

    worker.main()
