"""Matches lines with Python's `re`, which backtracks: the only engine at hand for look-around and back-references.

Invariant: a worker process (worker.py) runs a job, never the daemon. `re` looks for signals while it matches, so a job
can give up a line that takes too long and go on with the next one. If that fails, the daemon kills the process.
"""

from __future__ import annotations

import math
import re
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from typing import Self

    Spans = list[tuple[int, int]]

COMPILE_SECONDS = 2.0
JOB_SECONDS = 1.0  # at most, so that a cancelled call does not keep a process busy for long
_AGAIN_SECONDS = 0.1
_TICK_SECONDS = 0.02  # processor time between two looks at the clock


@dataclass(frozen=True, slots=True)
class MatchResult:
    found: list[tuple[int, list[Spans]]]
    """For each matching line its number in the job, and its matches: byte offsets of each match and of its groups,
    (-1, -1) for none."""
    undecided: list[int]
    """Numbers of the lines that took too long: the matches found in them are true, but there may be more."""
    looked_at: int
    """How many lines were begun. 0 if the pattern takes too long to compile."""


@dataclass(frozen=True, slots=True)
class MatchJob:
    pattern: str
    """Spelled for `re`, to match in a text of one line."""
    lines: list[bytes]
    """UTF-8."""
    line_seconds: float
    """After this time a line is given up."""
    job_seconds: float
    """After this time no other line is begun."""
    matches_max: int = 1
    """The limit for one line."""
    after: tuple[int, int] | None = None
    """The match (in bytes) after which to go on; only for a job of one line."""
    tries: ClassVar[int] = 1

    @property
    def deadline_seconds(self) -> float:
        return COMPILE_SECONDS + self.job_seconds + self.line_seconds

    def run(self, seconds: float) -> MatchResult:
        found: list[tuple[int, list[Spans]]] = []
        undecided: list[int] = []
        with _Clock() as clock:
            try:
                clock.ends_at = time.monotonic() + COMPILE_SECONDS
                pattern = re.compile(self.pattern)
                clock.ends_at = math.inf
            except (_TooLongError, MemoryError, RecursionError):
                return MatchResult([], [], 0)
            job_ends_at = time.monotonic() + min(self.job_seconds, seconds)
            for number, line in enumerate(self.lines):
                now = time.monotonic()
                if number and now > job_ends_at:
                    return MatchResult(found, undecided, number)
                matches: list[Spans] = []
                try:
                    clock.ends_at = now + self.line_seconds
                    self._find(pattern, line, matches)
                    clock.ends_at = math.inf
                except (_TooLongError, MemoryError):
                    clock.ends_at = math.inf
                    undecided.append(number)
                if matches:
                    found.append((number, matches))
        return MatchResult(found, undecided, len(self.lines))

    def failed(self, _reason: str) -> MatchResult:
        """The result if the process ended: any of the lines may be the cause, so all are undecided."""
        return MatchResult([], list(range(len(self.lines))), len(self.lines))

    def _find(self, pattern: re.Pattern[str], line: bytes, matches: list[Spans]) -> None:
        """Append each match to `matches` once found. None overlap; as in ripgrep, none is empty where another ended."""
        text = line.decode()
        offsets = _ByteOffsets(text)
        position, previous_end = 0, -1
        if self.after is not None:
            first, previous_end = (len(line[:offset].decode()) for offset in self.after)
            position = previous_end + (first == previous_end)
        while position <= len(text) and len(matches) < self.matches_max:
            match = pattern.search(text, position)
            if match is None:
                return
            first, last = match.span()
            if first == last == previous_end:
                position = last + 1
                continue
            spans = [match.span(group) for group in range(pattern.groups + 1)]
            matches.append([(offsets.of(start), offsets.of(end)) for start, end in spans])
            position, previous_end = last + (first == last), last


class _ByteOffsets:
    """Turns offsets in characters into offsets in bytes; cheap if an offset is near the one before."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_ascii = text.isascii()
        self._char = self._byte = 0

    def of(self, char: int) -> int:
        if self._is_ascii or char < 0:
            return char
        if char >= self._char:
            self._byte += len(self._text[self._char : char].encode())
        else:
            self._byte -= len(self._text[char : self._char].encode())
        self._char = char
        return self._byte


class _TooLongError(Exception):
    pass


class _Clock:
    """In a `with` block: raises _TooLongError in code that still runs soon after `ends_at`."""

    def __init__(self) -> None:
        self.ends_at = math.inf

    def __enter__(self) -> Self:
        # Not the real-time alarm: the worker needs it as its last resort. A runaway match takes processor time.
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, _TICK_SECONDS, _TICK_SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, _number: int, _frame: object) -> None:
        if (now := time.monotonic()) > self.ends_at:
            self.ends_at = now + _AGAIN_SECONDS  # raise again: a destructor swallows an exception raised in it
            raise _TooLongError
