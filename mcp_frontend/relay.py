"""`ctxd mcp`: copies MCP lines between a host's stdin and stdout and the daemon's socket, and survives the daemon's end.

Invariant: each request of the host gets at most one answer, in whole lines, even if a daemon ends in between. Bytes are
copied, never re-encoded, and only MCP lines go to stdout. An `initialize` is answered within 30 ms and 15 MB, so imports
here are few and measured.

After a daemon ends, the next one gets the host's `initialize` (its second answer is dropped) and `notifications/initialized`,
then the requests that were in flight. Requests to tools that write files are not sent again: they are answered "state unknown".
A stateless session (protocol 2026-07-28) has no `initialize`, and nothing is replayed.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections import deque

from ctxd.daemon import protocol
from ctxd.mcp_frontend.launch import Connection, DaemonError, Launcher, hello, project_of

TYPE_CHECKING = False  # importing `typing` costs 2 ms
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any

STDIN, STDOUT = 0, 1
LAST_ANSWERS_S = 1.0  # to wait for answers in flight once stdin has ended
QUEUED_BYTES_MAX = 4 << 20  # one side is not read while this much waits for the other
READ_BYTES = 1 << 16
REAP_POLL_MS = 50
NO_DAEMON = -32000  # JSON-RPC's first code for a server's own errors
HUNG_UP = select.POLLERR | select.POLLHUP | select.POLLNVAL
MODERN_KEY = b'"io.modelcontextprotocol/protocolVersion"'  # in the _meta of each stateless request
RESULT_HEAD = b'{"jsonrpc":"2.0","id":'

STATE_UNKNOWN = (
    "State unknown: the daemon ended while this edit was under way, so it may have been made or not. "
    "Read the file, then call again."
)


class HostGoneError(Exception):
    """The host is gone: nobody waits for answers."""


class Request:
    """A request of the host without an answer yet."""

    __slots__ = ("id", "line", "method", "resent", "sent", "tool")

    def __init__(self, id_: str | float, line: bytes, method: str, tool: str | None) -> None:
        self.id = id_
        self.line = line
        self.method = method
        self.tool = tool
        self.sent = False
        """True if the present daemon may have got any part of it."""
        self.resent = False


class LineBuffer:
    """Cuts a stream into lines without their newlines. An unfinished line is kept in pieces, so joining is linear."""

    __slots__ = ("_bytes", "_bytes_max", "_head", "_pieces", "_refused")

    def __init__(self, bytes_max: int = sys.maxsize) -> None:
        """A line longer than `bytes_max` is dropped as it comes in; `refused` then has the answer to it."""
        self._bytes_max = bytes_max
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._head: bytes | None = None
        """The head of a line that is too long; `_pieces` then holds only its tail."""
        self._refused: list[bytes] = []

    def feed(self, data: bytes) -> list[bytes]:
        first, newline, rest = data.partition(b"\n")
        self._keep(first)
        if not newline:
            return []
        lines = rest.split(b"\n")
        last = lines.pop()
        whole = self._whole()
        self._keep(last)
        return lines if whole is None else [whole, *lines]

    def rest(self) -> bytes:
        """Take out the bytes of an unfinished line."""
        return self._whole() or b""

    def refused(self) -> list[bytes]:
        """The answers to lines that were too long, since the last call."""
        refused, self._refused = self._refused, []
        return refused

    def _keep(self, piece: bytes) -> None:
        self._bytes += len(piece)
        self._pieces.append(piece)
        if self._bytes > self._bytes_max:
            joined = b"".join(self._pieces)
            if self._head is None:
                self._head = joined[: protocol.LINE_END_BYTES]
            self._pieces = [joined[-protocol.LINE_END_BYTES :]]

    def _whole(self) -> bytes | None:
        """The line that ends here; None if it was too long."""
        line: bytes | None = b"".join(self._pieces)
        if self._head is not None:
            self._refused.append(protocol.refusal(self._head, line, self._bytes))
            line = None
        self._pieces, self._bytes, self._head = [], 0, None
        return line


class Relay:
    """One MCP session of one host."""

    def __init__(self, hello: dict[str, Any]) -> None:
        self._hello = hello
        self._launcher = Launcher(self._wait_for_daemon)
        self._connection: Connection | None = None
        self._failure: tuple[float, DaemonError] | None = None
        self._host_lines = LineBuffer(protocol.LINE_BYTES_MAX)
        self._daemon_lines = LineBuffer()
        self._to_host = bytearray()
        self._to_daemon: deque[tuple[bytes, Request | None]] = deque()
        self._to_daemon_bytes = 0
        self._sent_of_first = 0
        self._in_flight: dict[str | float, Request] = {}
        self._writing_tools: frozenset[str] = frozenset()
        self._initialize: Request | None = None
        self._initialized: bytes | None = None
        self._swallow: Request | None = None
        """The `initialize` that is replayed. The host's lines wait in `_held` until it is answered."""
        self._held: list[bytes] = []
        self._asked_by_daemon: set[str | float] = set()
        self._asked_by_dead: set[str | float] = set()
        """Ids of requests from a daemon that is gone: the next daemon has no use for the host's answers to them."""
        self._leave_at: float | None = None
        """Set once stdin has ended."""
        self._ends_seen_while_waiting = False

    def run(self) -> None:
        """Copy lines until stdin ends or stdout is closed."""
        try:
            self._connect()
            while self._leave_at is None or self._is_worth_staying(self._leave_at):
                self._turn()
        except (HostGoneError, BrokenPipeError):
            pass
        finally:
            self._close()

    # One turn of the loop

    def _is_worth_staying(self, leave_at: float) -> bool:
        return bool(self._to_host or self._in_flight) and time.monotonic() < leave_at

    def _turn(self) -> None:
        poll = select.poll()
        poll.register(STDOUT, select.POLLOUT if self._to_host else 0)
        if self._leave_at is None and self._to_daemon_bytes < QUEUED_BYTES_MAX:
            poll.register(STDIN, select.POLLIN)
        sock = self._connection.sock if self._connection else None
        daemon_fd = sock.fileno() if sock else -1
        if sock:
            reads = select.POLLIN if len(self._to_host) < QUEUED_BYTES_MAX else 0
            poll.register(daemon_fd, reads | (select.POLLOUT if self._to_daemon else 0))
        for fd, event in poll.poll(self._timeout_ms()):
            if fd == STDOUT:
                self._write_to_host(event)
            elif fd == STDIN:
                self._read_host()
            elif sock and self._connection and self._connection.sock is sock:
                if event & select.POLLOUT:
                    self._write_to_daemon()
                if event & ~select.POLLOUT:
                    self._read_daemon(sock)
        self._launcher.reap()

    def _timeout_ms(self) -> float | None:
        if self._leave_at is not None:
            return max(0.0, self._leave_at - time.monotonic()) * 1000
        child = self._launcher.child
        if child is not None and (self._connection is None or self._connection.answer.get("pid") != child.pid):
            return REAP_POLL_MS  # our daemon has closed the connection: take its exit status when it ends
        return None

    def _wait_for_daemon(self, seconds: float, sock: socket | None = None) -> None:
        """As `launch.wait`, but it ends early if the host hangs up."""
        poll = select.poll()
        if sock is not None:
            poll.register(sock, select.POLLIN)
        poll.register(STDOUT, 0)
        if not self._ends_seen_while_waiting:
            poll.register(STDIN, 0)
        for fd, event in poll.poll(seconds * 1000):
            if fd == STDOUT and event & HUNG_UP:
                raise HostGoneError
            if fd == STDIN:
                # Lines that the host wrote before it left still need answers.
                readable = select.poll()
                readable.register(STDIN, select.POLLIN)
                unread = any(event & select.POLLIN for _, event in readable.poll(0))
                if not (unread or self._in_flight):
                    raise HostGoneError
                self._ends_seen_while_waiting = True

    # The host's side

    def _read_host(self) -> None:
        try:
            data = os.read(STDIN, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:  # stdin is a terminal that was closed
            data = b""
        if data:
            lines = self._host_lines.feed(data)
        else:
            lines = [self._host_lines.rest()]
            self._leave_at = time.monotonic() + LAST_ANSWERS_S
        for refusal in self._host_lines.refused():
            self._to_host += refusal
        for line in lines:
            if line.strip():
                self._from_host(line)

    def _from_host(self, line: bytes) -> None:
        message = _parsed(line)
        method, id_ = message.get("method"), message.get("id")
        if not isinstance(method, str):
            self._answer_of_host(line, id_)
            return
        if isinstance(id_, str | int | float):
            params = message.get("params")
            tool = params.get("name") if method == "tools/call" and isinstance(params, dict) else None
            request = Request(id_, line, method, tool if isinstance(tool, str) else None)
            self._in_flight[id_] = request
            if self._connection is None:
                self._connect()
            elif self._swallow is None:
                self._queue(line, request)
            return
        if method == "notifications/initialized":
            self._initialized = line
        elif method == "notifications/cancelled":
            params = message.get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            if isinstance(cancelled, str | int | float):
                self._in_flight.pop(cancelled, None)
        self._forward(line)

    def _answer_of_host(self, line: bytes, id_: object) -> None:
        if isinstance(id_, str | int | float):
            if id_ in self._asked_by_dead:
                self._asked_by_dead.discard(id_)
                return
            self._asked_by_daemon.discard(id_)
        self._forward(line)

    def _forward(self, line: bytes) -> None:
        """Send a line to the daemon. Only a request starts one: a new daemon has no use for notifications and answers."""
        if self._swallow is not None:
            self._held.append(line)
        elif self._connection is not None:
            self._queue(line, None)

    def _write_to_host(self, event: int) -> None:
        if event & HUNG_UP:
            raise HostGoneError
        # A pipe that is ready takes PIPE_BUF bytes without blocking; more may block.
        try:
            written = os.write(STDOUT, self._to_host[: select.PIPE_BUF])
        except BlockingIOError:
            return
        del self._to_host[:written]

    def _send_to_host(self, line: bytes) -> None:
        self._to_host += line
        self._to_host += b"\n"

    # The daemon's side

    def _connect(self) -> None:
        """Reach a daemon and replay the session. If there is none, every waiting request is answered with the reason."""
        if self._failure is not None and time.monotonic() - self._failure[0] < LAST_ANSWERS_S:
            # An early start, before the first request, has just failed: the request does not try again.
            self._refuse_all(self._failure[1])
            self._failure = None
            return
        try:
            connection = self._launcher.open(self._hello)
            if connection is None:
                raise DaemonError("No daemon.")
            if not connection.answer.get("ok"):
                connection.close()
                raise DaemonError(
                    str(connection.answer.get("error") or "The daemon refused the session."),
                    str(connection.answer.get("hint") or ""),
                )
        except DaemonError as error:
            self._failure = None if self._in_flight else (time.monotonic(), error)
            self._refuse_all(error)
            return
        self._failure = None
        self._connection = connection
        self._writing_tools = frozenset(connection.answer.get("writes") or ())
        if self._leave_at is not None:
            self._leave_at = time.monotonic() + LAST_ANSWERS_S
        if self._initialize is not None:
            self._swallow = self._initialize
            self._queue(self._initialize.line, None)
        else:
            self._queue_in_flight()
        for line in self._daemon_lines.feed(connection.rest):
            self._from_daemon(line)

    def _queue_in_flight(self) -> None:
        for request in self._in_flight.values():
            if not request.sent:
                self._queue(request.line, request)

    def _queue(self, line: bytes, request: Request | None) -> None:
        self._to_daemon.append((line + b"\n", request))
        self._to_daemon_bytes += len(line) + 1
        if len(self._to_daemon) == 1:
            self._write_to_daemon()

    def _write_to_daemon(self) -> None:
        connection = self._connection
        while self._to_daemon and connection is not None:
            line, request = self._to_daemon[0]
            try:
                count = connection.sock.send(memoryview(line)[self._sent_of_first :])
            except BlockingIOError:
                return
            except OSError:
                # The daemon is gone. Its last answers are still to be read, then its stream ends.
                self._drop_queue()
                return
            if request is not None:
                request.sent = True
            self._sent_of_first += count
            if self._sent_of_first == len(line):
                self._to_daemon.popleft()
                self._to_daemon_bytes -= len(line)
                self._sent_of_first = 0

    def _drop_queue(self) -> None:
        self._to_daemon.clear()
        self._to_daemon_bytes = self._sent_of_first = 0

    def _read_daemon(self, sock: socket) -> None:
        try:
            data = sock.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost_daemon()
            return
        for line in self._daemon_lines.feed(data):
            self._from_daemon(line)

    def _from_daemon(self, line: bytes) -> None:
        kind, id_ = _kind_of(line)
        if kind in ("result", "error"):
            if self._swallow is not None and id_ == self._swallow.id:
                self._handshake_replayed(ok=kind == "result")
                return
            request = self._in_flight.pop(id_, None) if id_ is not None else None
            if request is not None:
                self._launcher.answered()
                if request.method == "initialize" and kind == "result":
                    self._initialize = request
        elif kind == "request" and id_ is not None:
            self._asked_by_daemon.add(id_)
        self._send_to_host(line)

    def _handshake_replayed(self, *, ok: bool) -> None:
        self._swallow = None
        held, self._held = self._held, []
        if not ok:
            self._close()
            self._refuse_all(DaemonError("The daemon restarted and refused this session.", "Reconnect the MCP server."))
            return
        if self._initialized is not None:
            self._queue(self._initialized, None)
        self._queue_in_flight()
        for line in held:
            if line != self._initialized:
                self._queue(line, None)

    def _lost_daemon(self) -> None:
        self._close()
        self._asked_by_dead |= self._asked_by_daemon
        self._asked_by_daemon.clear()
        for request in list(self._in_flight.values()):
            if request.sent and request.tool in self._writing_tools:
                self._answer(request, {"result": _tool_error(STATE_UNKNOWN, request)})
            elif request.resent:
                self._refuse(
                    request, DaemonError("The daemon ended twice while working on this call.", "See `ctxd logs`.")
                )
            else:
                request.sent = False
                request.resent = True
        # If nothing is in flight, the next request reconnects: after `ctxd stop` the daemon should stay stopped.
        if self._in_flight:
            self._connect()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        self._swallow = None
        self._held.clear()
        self._daemon_lines.rest()  # drops half an answer: the request will be sent again
        self._drop_queue()

    # Answers of our own

    def _refuse_all(self, error: DaemonError) -> None:
        for request in list(self._in_flight.values()):
            self._refuse(request, error)

    def _refuse(self, request: Request, error: DaemonError) -> None:
        data = {"hint": error.hint} if error.hint else {}
        self._answer(request, {"error": {"code": NO_DAEMON, "message": str(error), "data": data}})

    def _answer(self, request: Request, content: dict[str, Any]) -> None:
        self._in_flight.pop(request.id, None)
        self._send_to_host(json.dumps({"jsonrpc": "2.0", "id": request.id, **content}).encode())


def _parsed(line: bytes) -> dict[str, Any]:
    """The message, or `{}` for a line that is none: the daemon will say what is wrong with it."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _kind_of(line: bytes) -> tuple[str, str | float | None]:
    """("result" | "error" | "request" | "notification", id) of a daemon's line. Does not parse a long result."""
    if line.startswith(RESULT_HEAD):
        end = line.find(b",", len(RESULT_HEAD), len(RESULT_HEAD) + 24)
        number = line[len(RESULT_HEAD) : end]
        if end > 0 and number.isdigit():
            if line.startswith(b'"result":', end + 1):
                return "result", int(number)
            if line.startswith(b'"error":', end + 1):
                return "error", int(number)
    message = _parsed(line)
    id_ = message.get("id")
    if not isinstance(id_, str | int | float):
        return "notification", None
    if "method" in message:
        return "request", id_
    return ("error" if "error" in message else "result"), id_


def _tool_error(text: str, request: Request) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    if MODERN_KEY in request.line:
        result["resultType"] = "complete"
    return result


def options(arguments: list[str]) -> dict[str, Any] | None:
    """The hello's fields for the flags of `ctxd mcp`; None if argparse (15 ms to import) must read them."""
    project = None
    toolsets = os.environ.get("CTXD_TOOLSETS")
    read_only = False
    rest = deque(arguments)
    while rest:
        name, equals, value = rest.popleft().partition("=")
        if name == "--read-only" and not equals:
            read_only = True
        elif name in ("--project", "--toolsets"):
            if not equals:
                if not rest or rest[0].startswith("-"):
                    return None
                value = rest.popleft()
            if name == "--project":
                project = value
            else:
                toolsets = value
        else:
            return None
    names = [name.strip() for name in toolsets.split(",") if name.strip()] if toolsets else None
    return {**project_of(project), "toolsets": names, "read_only": read_only}


def main(fields: dict[str, Any]) -> int:
    """Serve the host on stdin and stdout."""
    try:
        Relay(hello("mcp", **fields)).run()
    except KeyboardInterrupt:
        return 130
    return 0
