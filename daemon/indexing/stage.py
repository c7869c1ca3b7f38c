"""One kind of derived data that worker processes make: the contents that lack it, the jobs in flight, the results.

Invariant: a content is pending until its rows are written. The indexing thread calls everything except `_finished`; some
methods need the project's lock and say so.
"""

from __future__ import annotations

import contextlib
import itertools
import queue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from concurrent.futures import Future

    from ctxd.daemon.indexing.workers import WorkerPool
    from ctxd.indexer.files.file_table import Content
    from ctxd.indexer.worker import Job

JOBS_IN_FLIGHT_PER_WORKER = 4  # enough that no worker waits for the next job


class Stage:
    def __init__(
        self,
        pool: WorkerPool,
        job_of: Callable[[Content], Job[Any] | None],
        wake: Callable[[], None],
    ) -> None:
        self.pending: dict[int, Content] = {}
        self._pool = pool
        self._job_of = job_of
        """Returns None if there is no job for a content now. It then stays pending, unless `job_of` took it out."""
        self._wake = wake
        self._in_flight: set[int] = set()
        self._results: queue.SimpleQueue[tuple[int, Future[Any]]] = queue.SimpleQueue()

    def anew(self) -> Stage:
        """A stage of the same kind with nothing pending. Results of the old one's jobs are ignored."""
        return Stage(self._pool, self._job_of, self._wake)

    def require(self, contents: Iterable[Content]) -> None:
        """Send these contents to the workers ahead of all others. Call under the project's lock."""
        for content in contents:
            if content.id not in self._in_flight:
                self._send(content, urgent=True)

    def send_some(self, workers: int) -> None:
        """Keep `workers` workers busy. Call under the project's lock."""
        room = workers * JOBS_IN_FLIGHT_PER_WORKER - len(self._in_flight)
        if room <= 0:
            return
        waiting = (content for id_, content in self.pending.items() if id_ not in self._in_flight)
        for content in list(itertools.islice(waiting, room)):
            self._send(content, urgent=False)

    def _send(self, content: Content, *, urgent: bool) -> None:
        job = self._job_of(content)
        if job is None:
            return
        self._in_flight.add(content.id)
        future = self._pool.submit(job, urgent=urgent)
        future.add_done_callback(lambda done, id_=content.id: self._finished(id_, done))

    def _finished(self, content_id: int, future: Future[Any]) -> None:
        self._results.put((content_id, future))
        self._wake()

    def results(self, count: int) -> list[tuple[int, Any]]:
        """Up to `count` results. Pass each to `done` after writing it, or to `give_back` if it was not written."""
        finished: list[tuple[int, Any]] = []
        with contextlib.suppress(queue.Empty):
            while len(finished) < count:
                content_id, future = self._results.get_nowait()
                if future.cancelled() or future.exception() is not None:
                    self._in_flight.discard(content_id)
                else:
                    finished.append((content_id, future.result()))
        return finished

    def give_back(self, finished: Iterable[tuple[int, Any]]) -> None:
        self._in_flight.difference_update(content_id for content_id, _ in finished)

    def done(self, content_id: int) -> Content | None:
        """Take a content out; None if it is no longer pending. Call under the project's lock."""
        self._in_flight.discard(content_id)
        return self.pending.pop(content_id, None)
