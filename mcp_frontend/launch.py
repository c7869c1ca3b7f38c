"""Find the daemon, or start it.

Invariant: only a front-end that holds `start.lock` and has seen that `daemon.lock` is free starts a daemon. So any number of
front-ends started at once end up with one daemon. Standard library only; modules that only a start needs are imported then.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from _socket import AF_UNIX, SOCK_STREAM, socket  # the module `socket` takes 3 ms and 0.7 MB more

from ctxd.daemon import protocol

TYPE_CHECKING = False  # importing `typing` costs 2 ms
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from typing import Any

START_DEADLINE_S = 30.0  # enough for a cold disk and a slow machine; 0.6 is usual
STOP_DEADLINE_S = 15.0  # the daemon finishes its transaction and ends its workers
TERMINATE_DEADLINE_S = 5.0  # after a signal to a daemon that did not answer
POLL_S = 0.02
STARTS_MAX = 3  # in a row, without an answered call in between
LOG_TAIL_LINES = 4
HELLO_BYTES_MAX = 16 << 20

# These belong to one connection and travel in its hello. The daemon serves everybody and must not inherit them.
PER_CONNECTION_VARIABLES = ("CTXD_PROJECT", "CTXD_TOOLSETS", "CTXD_TEXT_BACKEND", "CTXD_FILES_BACKEND")


class DaemonError(Exception):
    """There is no daemon, or it does not answer; `hint` says what the person can do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if not self.hint:
            return self.message
        # A daemon's messages have no full stop at their end, the front-end's own have.
        return f"{self.message}{'' if self.message.endswith(('.', '!', '?')) else '.'} {self.hint}"


class Connection:
    """A connection whose hello is answered. `rest` holds the bytes that came after the answer line."""

    __slots__ = ("answer", "rest", "sock")

    def __init__(self, sock: socket, answer: dict[str, Any], rest: bytes) -> None:
        self.sock = sock  # non-blocking
        self.answer = answer
        self.rest = rest

    def close(self) -> None:
        self.sock.close()


def wait(seconds: float, sock: socket | None = None) -> None:
    """Sleep until `sock` is readable, at most `seconds`. The relay passes its own function, which also watches its host."""
    poll = select.poll()
    if sock is not None:
        poll.register(sock, select.POLLIN)
    poll.poll(seconds * 1000)


class Launcher:
    """One front-end's way to the daemon."""

    def __init__(self, wait: Callable[[float, socket | None], None] = wait) -> None:
        self.places = protocol.places()
        self.child: subprocess.Popen[bytes] | None = None
        """The daemon if we started it; kept to be reaped."""
        self._wait = wait
        self._starts = 0
        self._older_one_replaced = False

    def open(self, hello: dict[str, Any], *, start: bool = True) -> Connection | None:
        """Connect to the daemon and say hello. Start one if none answers; replace one with older code, once.

        Without `start` a daemon is neither started nor replaced, and None means that none runs.
        Raises DaemonError.
        """
        deadline = time.monotonic() + START_DEADLINE_S
        connection = self._greet(hello, deadline)
        if not start or self._fits(connection, hello):
            return connection
        self._close(connection)
        try:
            return self._open_under_lock(hello, deadline)
        except OSError as error:
            raise DaemonError(
                f"The daemon cannot be started: {error}.",
                f"It needs a folder of your own at {self.places.state}; CTXD_HOME names another.",
            ) from error

    def answered(self) -> None:
        """Note that the daemon has answered a call: it works, and may be started again if it dies."""
        self._starts = 0

    def reap(self) -> None:
        """Take the exit status of a daemon that we started, if it has ended."""
        if self.child is not None and self.child.poll() is not None:
            self.child = None

    def stop(self, hello: dict[str, Any]) -> bool:
        """Ask the daemon to end and wait for that. False if none runs. Raises DaemonError if it does not end."""
        if not self.is_lock_held():
            return False
        deadline = time.monotonic() + STOP_DEADLINE_S
        connection = None
        try:
            connection = self._greet({**hello, "want": "stop"}, deadline)
        except DaemonError:
            deadline = time.monotonic()  # it hangs: do not wait for a clean end
        self._close(connection)
        if self._ends_until(deadline):
            return True
        pid = self._pid_of_lock()
        for name in ("SIGTERM", "SIGKILL"):
            if pid and self.is_lock_held():
                self._kill(pid, name)
                if self._ends_until(time.monotonic() + TERMINATE_DEADLINE_S):
                    return True
        raise DaemonError(
            f"The daemon (pid {pid or 'unknown'}) does not end.", f"See {self.places.log_file}, then kill that process."
        )

    def is_lock_held(self) -> bool:
        """True if a daemon lives, even one that does not answer."""
        import fcntl

        try:
            lock = os.open(self.places.daemon_lock, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            # Shared: two front-ends that check at the same time must not take each other for a daemon.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(lock)

    def _open_under_lock(self, hello: dict[str, Any], deadline: float) -> Connection | None:
        lock = self._start_lock(deadline)
        try:
            # The previous holder of the lock may have started a daemon.
            connection = self._greet(hello, deadline)
            if self._fits(connection, hello):
                return connection
            if connection is not None:
                connection.close()
                self._older_one_replaced = True
                self.stop(hello)
            return self._start(hello, deadline)
        finally:
            os.close(lock)

    def _fits(self, connection: Connection | None, hello: dict[str, Any]) -> bool:
        if connection is None:
            return False
        return self._older_one_replaced or not protocol.is_newer(
            hello["build"], str(connection.answer.get("build", ""))
        )

    def _greet(self, hello: dict[str, Any], deadline: float) -> Connection | None:
        """Connect and say hello. None if nobody listens, or the listener goes away without an answer."""
        sock = socket(AF_UNIX, SOCK_STREAM)
        try:
            sock.connect(self.places.socket)
            sock.setblocking(False)
            connection = self._exchange(sock, hello, deadline)
        except OSError:
            connection = None
        except BaseException:
            sock.close()
            raise
        if connection is None:
            sock.close()
        return connection

    def _exchange(self, sock: socket, hello: dict[str, Any], deadline: float) -> Connection | None:
        sock.send(json.dumps(hello).encode() + b"\n")  # far below any socket buffer
        received = bytearray()
        while b"\n" not in received:
            try:
                data = sock.recv(1 << 16)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise DaemonError(
                        "The daemon does not answer.", f"Run `ctxd restart`; its log is {self.places.log_file}."
                    ) from None
                self._wait(1.0, sock)
                continue
            received += data
            if not data or len(received) > HELLO_BYTES_MAX:
                return None
        line, _, rest = bytes(received).partition(b"\n")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict) or answer.get("ctxd") != protocol.PROTOCOL:
            raise DaemonError(
                f"The program that listens on {self.places.socket} is not a daemon of this version of ctxd.",
                "Stop it, then run `ctxd start`.",
            )
        return Connection(sock, answer, rest)

    def _start_lock(self, deadline: float) -> int:
        import fcntl

        protocol.make_private_folder(self.places.state)
        lock = os.open(self.places.start_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return lock
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(lock)
                    raise DaemonError(
                        "Another front-end is starting the daemon, which does not answer.",
                        f"The daemon's log is {self.places.log_file}.",
                    ) from None
                self._pause_or_close(lock)

    def _pause_or_close(self, lock: int) -> None:
        try:
            self._wait(POLL_S, None)
        except BaseException:
            os.close(lock)
            raise

    def _start(self, hello: dict[str, Any], deadline: float) -> Connection:
        """Start a daemon and greet it. Called with the start lock."""
        while self.is_lock_held():  # another daemon is starting or ending
            connection = self._greet(hello, deadline)
            if connection is not None:
                return connection
            if time.monotonic() > deadline:
                raise DaemonError("The daemon runs but does not listen.", "Run `ctxd restart`.")
            self._wait(POLL_S, None)
        if self._starts >= STARTS_MAX:
            raise DaemonError(
                f"The daemon was started {STARTS_MAX} times and ended each time before it had answered a call.",
                f"Its log says why: {self.places.log_file}; then run `ctxd start`.",
            )
        self._starts += 1
        log_bytes_before = self._spawn()
        while True:
            connection = self._greet(hello, deadline)
            if connection is not None:
                return connection
            if self.child is not None and self.child.poll() is not None and not self.is_lock_held():
                status = self.child.returncode
                self.child = None
                raise DaemonError(
                    f"The daemon ended at its start (status {status}). Its last words: {self._log_since(log_bytes_before)}",
                    f"The whole log is {self.places.log_file}.",
                )
            if time.monotonic() > deadline:
                raise DaemonError(
                    f"The daemon did not answer within {START_DEADLINE_S:.0f} s.", f"Its log is {self.places.log_file}."
                )
            self._wait(POLL_S, None)

    def _spawn(self) -> int:
        """Start a daemon in a session of its own. Returns the number of bytes that the log had before."""
        import subprocess
        from contextlib import suppress

        if self.child is not None:
            with suppress(subprocess.TimeoutExpired):
                self.child.wait(TERMINATE_DEADLINE_S)  # it has released its lock and is about to end
        environment = {name: value for name, value in os.environ.items() if name not in PER_CONNECTION_VARIABLES}
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        with os.fdopen(os.open(self.places.log_file, flags, 0o600), "ab") as log:
            log_bytes = os.fstat(log.fileno()).st_size
            self.child = subprocess.Popen(
                daemon_command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.places.state,  # a daemon must not keep a project's folder busy
                env=environment,
                start_new_session=True,
                close_fds=True,
            )
        return log_bytes

    def _log_since(self, start: int) -> str:
        try:
            with open(self.places.log_file, "rb") as log:
                log.seek(start)
                lines = log.read().decode(errors="replace").splitlines()
        except OSError as error:
            return f"(unreadable: {error})"
        return " | ".join(lines[-LOG_TAIL_LINES:]) or "(none)"

    def _ends_until(self, deadline: float) -> bool:
        while self.is_lock_held():
            if time.monotonic() > deadline:
                return False
            self.reap()
            self._wait(POLL_S, None)
        return True

    def _pid_of_lock(self) -> int | None:
        """The daemon writes its pid into the lock file that it holds."""
        try:
            with open(self.places.daemon_lock, "rb") as lock:
                return int(lock.read(32))
        except (OSError, ValueError):
            return None

    @staticmethod
    def _kill(pid: int, name: str) -> None:
        import signal
        from contextlib import suppress

        with suppress(ProcessLookupError):
            os.kill(pid, signal.Signals[name])

    @staticmethod
    def _close(connection: Connection | None) -> None:
        if connection is not None:
            connection.close()


def daemon_command() -> list[str]:
    # -P: nothing must be imported from the working folder, which is the state folder.
    return [sys.executable, "-P", "-m", "ctxd.daemon.main"]


def hello(want: str, **more: Any) -> dict[str, Any]:
    """The hello line's object. `more`: root, refused, toolsets, read_only."""
    return {
        "ctxd": protocol.PROTOCOL,
        "version": protocol.VERSION,
        "build": protocol.build(),
        "want": want,
        "cwd": working_folder(),
        "root": None,
        "toolsets": None,
        "read_only": False,
        "text_backend": os.environ.get("CTXD_TEXT_BACKEND") or None,
        "files_backend": os.environ.get("CTXD_FILES_BACKEND") or None,
        **more,
    }


def project_of(option: str | None = None) -> dict[str, str | None]:
    """Root of the project: `option`, else CTXD_PROJECT, else the git top level of the working folder, else that folder.

    Returns the hello's fields `root` and `refused`: `/` and the home folder are never a project, and are refused.
    """
    folder = working_folder()
    named = option or os.environ.get("CTXD_PROJECT")
    root = os.path.normpath(os.path.join(folder, os.path.expanduser(named))) if named else _git_top(folder)
    if _is_refused(root):
        return {"root": None, "refused": root}
    return {"root": root, "refused": None}


def working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # deleted under us
        return "/"


def _git_top(folder: str) -> str:
    """The nearest folder at or above `folder` with a `.git` entry, else `folder`. Does not run git.

    A home folder under git does not count: some people keep their settings so, and not everything in it is one project.
    """
    top = folder
    while not _is_refused(top):
        if os.path.lexists(os.path.join(top, ".git")):
            return top
        top = os.path.dirname(top)
    return folder


def _is_refused(root: str) -> bool:
    real = os.path.realpath(root)
    return real == "/" or real == os.path.realpath(os.path.expanduser("~"))
