"""Progress of a first pass in files, and an estimate of the time left from the recent speed.

Invariant: `done` never falls, and equals `total` only once the stage has ended.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

TEXT_SHARE, SYMBOLS_SHARE, CHUNKS_SHARE = 0.2, 0.5, 0.3
"""Shares of the whole time that a file takes. These are estimates, not measurements."""
RECENT_SECONDS = 15.0  # long enough for some batches and some large files
SPEED_SECONDS_MIN = 1.0  # shorter measurements say nothing
_SAMPLE_SECONDS = 0.25


class Left(NamedTuple):
    """Files that wait for each stage; unread files wait for all stages."""

    unread: int
    symbols: int
    chunks: int

    def up_to(self, stage: str) -> float:
        """The work left until a stage ends; 1 is a whole file."""
        work = TEXT_SHARE * self.unread + SYMBOLS_SHARE * (self.unread + self.symbols)
        return work if stage == "symbols" else work + CHUNKS_SHARE * (self.unread + self.chunks)


class Progress:
    """Written by the indexing thread, read by any thread."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()
        self._shown = {"symbols": 0, "chunks": 0}

    def note(self, left: Left, now: float) -> None:
        """Record the work left at the time `now` (monotonic seconds)."""
        work = left.up_to("chunks")
        if (
            self._samples and work > self._samples[-1][1]
        ):  # new files came: the earlier records say nothing about the speed
            self._samples.clear()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_SECONDS:
            self._samples.append((now, work))
        while len(self._samples) > 2 and self._samples[1][0] <= now - RECENT_SECONDS:
            self._samples.popleft()

    def of(self, stage: str, total: int, left: Left, now: float) -> dict[str, int | None]:
        """`{done, total, eta_seconds}` of a running stage, "symbols" or "chunks"; `eta_seconds` is None if nothing is known."""
        whole = TEXT_SHARE + SYMBOLS_SHARE + (CHUNKS_SHARE if stage == "chunks" else 0)
        done = min(max(0, int(total - left.up_to(stage) / whole)), max(0, total - 1))
        self._shown[stage] = done = min(total, max(done, self._shown[stage]))
        speed = self._speed(left, now)
        eta = None if speed is None else max(1, round(left.up_to(stage) / speed))
        return {"done": done, "total": total, "eta_seconds": eta}

    def _speed(self, left: Left, now: float) -> float | None:
        """Files per second."""
        samples = self._samples.copy()
        if not samples or now - samples[0][0] < SPEED_SECONDS_MIN:
            return None
        made = samples[0][1] - left.up_to("chunks")
        return made / (now - samples[0][0]) if made > 0 else None
