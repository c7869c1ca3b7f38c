"""The daemon's entry point, and the only place where its objects are put together.

The process that holds the lock is the daemon. Only the daemon unlinks a socket: its lock proves that the old daemon is dead.
It listens before the heavy imports, so that a client waits in the backlog instead of being refused.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import logging
import logging.handlers
import os
import resource
import signal
import socket
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ctxd.daemon import protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.daemon.protocol import Places
    from ctxd.daemon.server import Connections

logger = logging.getLogger("ctxd")

LOG_BYTES_MAX = 2_000_000
BACKLOG = 128
LOCK_SECONDS = 0.5
HOUSEKEEPING_SECONDS = 1.0
SWITCH_SECONDS = 0.001  # a thread that indexes gives an answer its turn five times sooner than by default
OPEN_FILES = 8192


def main() -> int:
    os.umask(0o077)
    places = protocol.places()
    if sys.argv[1:2] == ["answer"]:
        from ctxd.daemon.requests import answer_alone

        print(json.dumps(answer_alone(sys.argv[2], places)))
        return 0
    for folder in (places.state, places.config, places.databases, os.path.dirname(places.socket)):
        protocol.make_private_folder(folder)
    lock = _become_daemon(places)
    if lock is None:
        print("another ctxd daemon is running", file=sys.stderr)
        return 0
    listener = _listen(places)
    own_socket = _identity(places.socket)
    _log_to(places.log_file)
    _raise_open_files()
    sys.setswitchinterval(SWITCH_SECONDS)
    # numpy's threads wait for each other in a busy loop: on a loaded machine that costs more than it saves, and memory too.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    logger.info("ctxd %s starts, pid %d, build %s", protocol.VERSION, os.getpid(), protocol.build())
    import anyio

    try:
        return anyio.run(_run, places, listener, own_socket)
    finally:
        # Unlinked while the lock is still held: the next daemon makes its own socket. If the whole folder was deleted and
        # another daemon made it again with a new lock, the socket belongs to that daemon.
        if _identity(places.socket) == own_socket:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(places.socket)
        logger.info("ctxd ends")
        os.close(lock)


async def _run(places: Places, listener: socket.socket, own_socket: tuple[int, int] | None) -> int:
    import anyio
    import anyio.from_thread
    import anyio.to_thread
    from anyio.abc import SocketListener

    from ctxd.daemon.projects import config
    from ctxd.daemon.projects.registry import Registry
    from ctxd.daemon.requests import Process
    from ctxd.daemon.server import Connections

    try:
        settings = config.load(places.settings_file, dict(os.environ)).settings
    except config.SettingsError as error:
        logger.error("%s", error)  # noqa: TRY400  # the user's mistake, not ours
        print(f"ctxd: {error}", file=sys.stderr)
        return 1
    # Imported objects are never freed. A full collection would walk them and stop all calls for 0.1 to 0.25 s, and one large
    # pattern is enough to start a collection.
    gc.freeze()
    registry = Registry(places, settings)
    stop = anyio.Event()
    process = Process(places, registry, stop=lambda: anyio.from_thread.run_sync(stop.set))
    connections = Connections(process)
    async with anyio.create_task_group() as group:
        group.start_soon(_on_signals, stop)
        is_reachable = lambda: _identity(places.socket) == own_socket  # noqa: E731
        group.start_soon(_housekeeping, connections, is_reachable, settings.idle_exit_seconds, stop)
        # In a thread: opening lists and watches every project, and the first client must not wait for the last project.
        threading.Thread(target=registry.open_all, name="open all", daemon=True).start()
        server = await SocketListener.from_socket(listener)
        group.start_soon(server.serve, connections.serve)
        await stop.wait()
        group.cancel_scope.cancel()
    registry.close()
    return 0


async def _on_signals(stop: Any) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT, signal.SIGHUP) as signals:
        async for number in signals:
            logger.info("signal %s", signal.Signals(number).name)
            stop.set()


async def _housekeeping(
    connections: Connections, is_reachable: Callable[[], bool], idle_exit_seconds: int, stop: Any
) -> None:
    import anyio
    import anyio.to_thread

    while True:
        await anyio.sleep(HOUSEKEEPING_SECONDS)
        await anyio.to_thread.run_sync(connections.process.registry.known.save)  # where the disk was full
        if not connections.process.registry.nothing_to_retry():
            # Nobody waits for this thread: a disk that does not answer may hang it.
            threading.Thread(target=connections.process.registry.retry, name="retry", daemon=True).start()
        if not is_reachable():
            logger.info("the socket is gone: nobody can reach this daemon any more")
            stop.set()
        idle = time.monotonic() - connections.idle_since
        if idle_exit_seconds and not connections.sessions and idle > idle_exit_seconds:
            logger.info("idle for %d s", idle)
            stop.set()


def _become_daemon(places: Places) -> int | None:
    """The descriptor that holds the daemon's lock, with our pid in the file; None if another process holds the lock."""
    lock = os.open(places.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    # A front-end that checks whether a daemon lives holds the lock for microseconds.
    end = time.monotonic() + LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                os.close(lock)
                return None
            time.sleep(0.01)
    os.truncate(lock, 0)
    os.write(lock, b"%d\n" % os.getpid())
    return lock


def _listen(places: Places) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(places.socket)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(places.socket)
    os.chmod(places.socket, 0o600)
    listener.listen(BACKLOG)
    return listener


def _identity(path: str) -> tuple[int, int] | None:
    """Device and inode of the file that a path names now."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _log_to(path: str) -> None:
    handler = logging.handlers.RotatingFileHandler(
        path, maxBytes=LOG_BYTES_MAX, backupCount=1, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_LogFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.getLogger().addHandler(handler)
    logging.getLogger("ctxd").setLevel(os.environ.get("CTXD_LOG_LEVEL", "INFO").upper())
    if sys.stderr is not None and sys.stderr.isatty():  # `ctxd start --foreground` in a terminal
        terminal = logging.StreamHandler()
        terminal.setFormatter(_LogFormatter())
        logging.getLogger("ctxd").addHandler(terminal)


class _LogFormatter(logging.Formatter):
    """Makes control characters visible: the log has file names, and they may hold terminal codes."""

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        return text if text.isascii() and text.isprintable() else "".join(map(_printable, text))


def _printable(character: str) -> str:
    return character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1]


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < wanted:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


if __name__ == "__main__":
    sys.exit(main())
