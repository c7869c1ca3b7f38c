"""A pool of worker processes. Invariant: every submitted job gets a result or is cancelled, whatever it does to its process.

One thread drives each process: it hands over a job and waits for the answer. After the deadline it kills the process and starts
another. If the process dies, the job is tried again, as often as the job says, and then fails with the reason: a poison file
costs at most two processes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ctxd.indexer.worker import GRACE_SECONDS, LENGTH, Job, ParseJob, ParseResult

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ParseJob", "ParseResult", "PoolClosedError", "PoolStats", "WorkerPool"]

ResultT = TypeVar("ResultT")

RENEW_RSS_BYTES = 256 << 20
_START_SECONDS = 20.0  # extra for the first job of a process, which first loads Python and the grammar
_READ_BYTES = 1 << 16
_POLL_SECONDS = 0.05  # between two checks whether anybody still waits


@dataclass(frozen=True, slots=True)
class PoolStats:
    pids: list[int]
    peak_rss_bytes: int
    """The most memory that one process ever held, when last checked."""
    jobs_done: int
    restarts: int
    """Processes that died or were killed while working."""


class PoolClosedError(Exception):
    """The daemon is ending and takes no more jobs."""


class WorkerPool:
    """Up to `count` processes, started when first needed and ended after `idle_seconds` without work."""

    def __init__(
        self,
        count: int,
        job_seconds: float = 10.0,
        memory_bytes: int = 2 << 30,
        idle_seconds: float = 60.0,
        renew_rss_bytes: int = RENEW_RSS_BYTES,
    ) -> None:
        self.count = count
        self.job_seconds = job_seconds
        """The longest time for a job, whatever deadline it names."""
        self.memory_bytes = memory_bytes
        self.idle_seconds = idle_seconds
        self.renew_rss_bytes = renew_rss_bytes
        """A process that holds more memory than this after a job is ended; the next job starts another."""
        self._changed = threading.Condition()
        # _changed guards everything below.
        self._urgent: deque[tuple[Job[Any], Future[Any]]] = deque()
        self._waiting: deque[tuple[Job[Any], Future[Any]]] = deque()
        self._closed = False
        self._drivers: list[_Driver] = []
        self._idle = 0
        self._jobs_done = 0
        self._restarts = 0
        self._peak_rss_bytes = 0

    def submit(self, job: Job[ResultT], *, urgent: bool = False) -> Future[ResultT]:
        """Queue a job; an urgent one overtakes all others. A job can be cancelled until a process takes it.

        Raises PoolClosedError.
        """
        future: Future[ResultT] = Future()
        with self._changed:
            if self._closed:
                raise PoolClosedError
            (self._urgent if urgent else self._waiting).append((job, future))
            if self._idle < len(self._urgent) + len(self._waiting) and len(self._drivers) < self.count:
                driver = _Driver(self)
                self._drivers.append(driver)
                driver.thread.start()
            self._changed.notify()
        return future

    def result(self, job: Job[ResultT], stop: Callable[[], bool], *, urgent: bool = False) -> ResultT | None:
        """Do a job and wait for it. None if `stop` becomes true first, or the pool is closed."""
        try:
            future = self.submit(job, urgent=urgent)
            while not stop():
                with contextlib.suppress(TimeoutError):
                    return future.result(_POLL_SECONDS)
            future.cancel()
        except (PoolClosedError, CancelledError):
            pass
        return None

    def close(self) -> None:
        """End all processes and return when they are gone. Waiting jobs are cancelled, running jobs fail."""
        with self._changed:
            self._closed = True
            waiting = [future for _, future in (*self._urgent, *self._waiting)]
            self._urgent.clear()
            self._waiting.clear()
            drivers = list(self._drivers)
            for driver in drivers:
                if driver.process is not None:
                    driver.process.kill()
            self._changed.notify_all()
        for future in waiting:
            future.cancel()
        for driver in drivers:
            driver.thread.join()

    def stats(self) -> PoolStats:
        with self._changed:
            processes = [driver.process for driver in self._drivers if driver.process is not None]
            for process in processes:
                self._peak_rss_bytes = max(self._peak_rss_bytes, _peak_rss_bytes(process.pid))
            return PoolStats(
                [process.pid for process in processes], self._peak_rss_bytes, self._jobs_done, self._restarts
            )

    # For the drivers

    def next_job(self, driver: _Driver) -> tuple[Job[Any], Future[Any]] | None:
        """Wait for the next job. None after `idle_seconds` without one or on close; the driver then has left the pool."""
        until = time.monotonic() + self.idle_seconds
        with self._changed:
            self._idle += 1
            try:
                while not self._closed:
                    jobs = self._urgent or self._waiting
                    if jobs:
                        return jobs.popleft()
                    left = until - time.monotonic()
                    if left <= 0:
                        break
                    self._changed.wait(left)
                self._drivers.remove(driver)
                return None
            finally:
                self._idle -= 1

    def adopt(self, driver: _Driver, process: subprocess.Popen[bytes] | None) -> bool:
        """Record the driver's process, so that `close` finds it. False if the pool is already closed."""
        with self._changed:
            driver.process = process
            return not self._closed

    def count_job(self) -> None:
        with self._changed:
            self._jobs_done += 1

    def count_restart(self) -> bool:
        """Count a process that died. False if the pool is closed: then start no other."""
        with self._changed:
            self._restarts += not self._closed
            return not self._closed

    def note_memory(self, process: subprocess.Popen[bytes]) -> None:
        with self._changed:
            self._peak_rss_bytes = max(self._peak_rss_bytes, _peak_rss_bytes(process.pid))


class _Driver:
    """A thread and the process it drives. Both end when there is no work."""

    def __init__(self, pool: WorkerPool) -> None:
        self.pool = pool
        self.process: subprocess.Popen[bytes] | None = None
        """Written under the pool's lock."""
        self.thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def _run(self) -> None:
        while (taken := self.pool.next_job(self)) is not None:
            job, future = taken
            if future.set_running_or_notify_cancel():
                result = self._result(job)
                self.pool.count_job()
                future.set_result(result)
        self._end_process()

    def _result(self, job: Job[ResultT]) -> ResultT:
        reason = ""
        for _ in range(job.tries):
            try:
                result = self._do(job)
                self._renew_if_large()
                return result
            except _ProcessGoneError as gone:
                reason = str(gone)
                self._end_process()
                if not self.pool.count_restart():
                    return job.failed("the daemon is stopping")
            except Exception as error:  # a bug, or no process can be started: the caller is told, the thread goes on
                self._end_process()
                return job.failed(f"{type(error).__name__}: {error}")
        return job.failed(reason)

    def _do(self, job: Job[ResultT]) -> ResultT:
        seconds = min(job.deadline_seconds, self.pool.job_seconds)
        until = time.monotonic() + seconds + GRACE_SECONDS
        if self.process is not None and self.process.poll() is not None:
            self._end_process()  # it ended while idle, so this does not count as a try
        if self.process is None:
            self._start_process()
            until += _START_SECONDS
        process = self.process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        data = pickle.dumps((seconds, job), pickle.HIGHEST_PROTOCOL)
        try:
            self._send(process.stdin.fileno(), LENGTH.pack(len(data)) + data, until)
        except OSError:
            raise _ProcessGoneError("the worker ended before it was asked") from None
        descriptor = process.stdout.fileno()
        length = LENGTH.unpack(self._receive(descriptor, LENGTH.size, until))[0]
        return pickle.loads(self._receive(descriptor, length, until))

    def _send(self, descriptor: int, data: bytes, until: float) -> None:
        """Send until a deadline. Data may be larger than a pipe holds, and a stuck process must not block the thread."""
        poll = select.poll()
        poll.register(descriptor, select.POLLOUT)
        rest = memoryview(data)
        while rest:
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                raise _ProcessGoneError("the worker took no job and was killed")
            with contextlib.suppress(BlockingIOError):
                rest = rest[os.write(descriptor, rest) :]

    def _receive(self, descriptor: int, size: int, until: float) -> bytes:
        data = bytearray()
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        while len(data) < size:
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                raise _ProcessGoneError("the worker did not answer in time and was killed")
            part = os.read(descriptor, min(size - len(data), _READ_BYTES))
            if not part:
                raise _ProcessGoneError(f"the worker {self._how_it_ended()}")
            data += part
        return bytes(data)

    def _renew_if_large(self) -> None:
        """End a process that has grown large. tree-sitter's Python binding (0.26.1) leaks about 20 KB per file.

        That is 450 MB after 25,000 files of the Linux kernel.
        """
        process = self.process
        if process is not None and _rss_bytes(process.pid) > self.pool.renew_rss_bytes:
            self._end_process()

    def _start_process(self) -> None:
        # -P and cwd: modules of a project must never be imported here. Own session: a terminal's signals go to the daemon only.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ctxd.indexer.worker", str(self.pool.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=True,
            cwd="/",
            start_new_session=True,
        )
        assert process.stdin is not None
        os.set_blocking(process.stdin.fileno(), False)
        if not self.pool.adopt(self, process):
            process.kill()

    def _end_process(self) -> None:
        """Kill the process and wait for it. A worker has nothing to save."""
        process = self.process
        if process is None:
            return
        self.pool.note_memory(process)
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # unsent data
                    pipe.close()
        self.pool.adopt(self, None)

    def _how_it_ended(self) -> str:
        assert self.process is not None
        code = self.process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            return f"was ended by {name}" + (" (out of memory?)" if name in ("SIGABRT", "SIGKILL") else "")
        return f"ended with status {code}"


class _ProcessGoneError(Exception):
    """The process died or was killed; the message says how."""


def _rss_bytes(pid: int) -> int:
    """Memory that a process holds now; 0 if the system does not tell."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as status:
            return int(status.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0


def _peak_rss_bytes(pid: int) -> int:
    """The most memory that a process ever held; 0 if the system does not tell."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0
