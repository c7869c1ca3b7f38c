"""The end of the daemon's socket for people's verbs: hello questions, and tool calls over plain MCP lines.

Invariant: every call either returns the daemon's answer or raises an error.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Self

from ctxd.daemon import protocol
from ctxd.mcp_frontend import launch
from ctxd.mcp_frontend.launch import Connection, DaemonError, Launcher, hello

if TYPE_CHECKING:
    from collections.abc import Iterator

PROTOCOL_VERSION = "2025-11-25"  # one handshake, then calls; `ctxd call` needs nothing from later versions
METHOD_NOT_FOUND = -32601
READ_BYTES = 1 << 16


class CallError(Exception):
    """The daemon answered a call with a JSON-RPC error: no such tool, or no such method."""


def ask(want: str, *, start: bool = True, **fields: Any) -> dict[str, Any] | None:
    """One hello question. None if no daemon runs and `start` is false. Raises DaemonError, also for `ok: false`."""
    connection = Launcher().open(hello(want, **fields), start=start)
    if connection is None:
        return None
    connection.close()
    return _accepted(connection.answer)


def ask_without_starting(want: str, **fields: Any) -> dict[str, Any]:
    """One hello question that needs no daemon: a running daemon answers it, else a process started for this question.

    Raises DaemonError.
    """
    answer = ask(want, start=False, **fields)
    if answer is not None:
        return answer
    import subprocess

    command = [*launch.daemon_command(), "answer", json.dumps(hello(want, **fields))]
    done = subprocess.run(command, check=False, capture_output=True, cwd="/")
    try:
        return _accepted(json.loads(done.stdout))
    except ValueError:
        raise DaemonError(
            f"There is no answer to {want}.", done.stderr.decode(errors="replace").strip()[-500:]
        ) from None


class ClientSession:
    """An MCP session with the daemon, for `with`. Paths in answers are relative to `root`."""

    def __init__(self, **fields: Any) -> None:
        connection = Launcher().open(hello("mcp", **fields))
        if connection is None:
            raise DaemonError("No daemon runs.", "Run `ctxd start`.")
        self._connection: Connection = connection
        self._received = bytearray(connection.rest)
        self._last_id = 0
        try:
            answer = _accepted(connection.answer)
        except DaemonError:
            connection.close()
            raise
        self.root: str | None = answer.get("root") or fields.get("root")
        connection.sock.setblocking(True)

    def __enter__(self) -> Self:
        client = {"name": "ctxd", "version": protocol.VERSION}
        self._request("initialize", {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The `tools/call` result. Raises CallError, DaemonError."""
        return self._request("tools/call", {"name": tool, "arguments": arguments})

    def pages(self, tool: str, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The answers of a tool, following `next_cursor` to the end."""
        while True:
            result = self.call(tool, arguments)
            answer = answer_of(result)
            yield answer
            cursor = answer.get("next_cursor")
            if result.get("isError") or not cursor:
                return
            arguments = {**arguments, "cursor": cursor}

    def _request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        id_ = self._last_id
        self._send({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})
        while True:
            message = json.loads(self._line())
            if "method" in message:
                if "id" in message:  # an answer: we declared no capability, so the daemon sends no requests
                    error = {"code": METHOD_NOT_FOUND, "message": "Method not found"}
                    self._send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            elif message.get("id") == id_:
                if "error" in message:
                    raise CallError(str(message["error"].get("message")))
                return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._connection.sock.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise _ended() from error

    def _line(self) -> bytes:
        searched = 0
        while (end := self._received.find(b"\n", searched)) < 0:
            searched = len(self._received)
            try:
                data = self._connection.sock.recv(READ_BYTES)
            except OSError as error:
                raise _ended() from error
            if not data:
                raise _ended()
            self._received += data
        line = bytes(self._received[:end])
        del self._received[: end + 1]
        return line


def answer_of(result: dict[str, Any]) -> dict[str, Any]:
    """The tool's own JSON object in a `tools/call` result."""
    structured = result.get("structuredContent")
    if isinstance(structured, dict):
        return structured
    text = "".join(block.get("text", "") for block in result.get("content", ()))
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    return answer if isinstance(answer, dict) else {"text": text}


def error_of(answer: dict[str, Any]) -> str:
    """The message of a failed answer in any of the specifications' error shapes, without the name of an exception."""
    for key in ("error_message", "error", "message", "text"):
        if answer.get(key):
            return re.sub(r"^[A-Z]\w+Error: ", "", str(answer[key]))
    return json.dumps(answer)


def _accepted(answer: dict[str, Any]) -> dict[str, Any]:
    if not answer.get("ok"):
        raise DaemonError(str(answer.get("error") or "The daemon refused."), str(answer.get("hint") or ""))
    return answer


def _ended() -> DaemonError:
    return DaemonError("The daemon ended during the call.", "Call again; `ctxd logs` says why it ended.")
