"""The daemon's end of the socket: hello, then one MCP session per connection. No other module knows MCP.

Invariant: the answer to every call is the tool's own JSON object, for success and for error. A bug in a handler is logged with
an id that the answer names, and the session goes on.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import struct
import sys
import time
import traceback
import uuid
import warnings
from typing import TYPE_CHECKING, Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from anyio.abc import ByteStream, SocketAttribute
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from ctxd.daemon import protocol
from ctxd.daemon import tools as _tools  # noqa: F401  # registers every tool
from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import Hello, read_hello
from ctxd.daemon.instructions import instructions
from ctxd.daemon.projects.view import View, backend_of, seen_as
from ctxd.daemon.requests import REQUESTS, HelloRequest
from ctxd.daemon.tool import TOOLS, Call, Tool
from ctxd.indexer.programs import FILES_BACKENDS, TEXT_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server.context import ServerRequestContext

    from ctxd.daemon.projects.registry import Registry
    from ctxd.daemon.requests import Process

logger = logging.getLogger(__name__)

HELLO_BYTES_MAX = 1024 * 1024
HELLO_SECONDS = 10.0
SCAN_SECONDS = 8.0  # a call made while a project is first listed waits this long for the list
HARD_SECONDS = 9.8  # a call that does not look at its clock (CALL_SECONDS) is given up
CALLS_AT_ONCE = 8  # of one session; the others' calls, and questions such as status, have threads of their own
PROGRESS_SECONDS = 0.25  # between two progress notifications of a call
_READ_BYTES = 1 << 18


class Connections:
    """All open connections: who is connected decides whether the daemon may end."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.sessions = 0
        self.idle_since = time.monotonic()
        self.build = protocol.build()

    async def serve(self, stream: ByteStream) -> None:
        """One connection, from its hello line to its end. Never raises."""
        async with stream:
            try:
                await self._serve(stream)
            except* (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
                pass
            except* Exception:
                logger.exception("a connection ended")

    async def _serve(self, stream: ByteStream) -> None:
        uid = _peer_uid(stream.extra(SocketAttribute.raw_socket))  # noqa: S610 - anyio's, not Django's
        if uid is not None and uid != os.getuid():
            logger.warning("refused a connection of user %d", uid)
            return
        lines = Lines(stream)
        hello = await self._hello(stream, lines)
        if hello is None:
            return
        if isinstance(hello, HelloRequest):
            await self._settle(stream, hello)
            return
        session = Session(self.process.registry, hello)
        try:
            with anyio.fail_after(SCAN_SECONDS):
                await anyio.to_thread.run_sync(
                    session.find_project, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
                )
        except TimeoutError:
            error = f"{hello.folder} does not answer within {SCAN_SECONDS:g} s"
            await self._say(stream, ok=False, error=error, hint="Look at its disk, then connect again")
            return
        except ToolError as error:
            await self._say(stream, ok=False, error=error.message, hint=error.hint)
            return
        self.sessions += 1
        try:
            root = os.fsdecode(session.view.root) if session.view else None
            await self._say(stream, ok=True, writes=[tool.name for tool in TOOLS.values() if tool.writes], root=root)
            await session.run(stream, lines)
        finally:
            self.sessions -= 1
            self.idle_since = time.monotonic()

    async def _hello(self, stream: ByteStream, lines: Lines) -> Hello | None:
        hello = None
        with anyio.move_on_after(HELLO_SECONDS):
            try:
                hello = _read_hello(json.loads(await lines.next(HELLO_BYTES_MAX)))
            except (ValueError, RecursionError) as error:
                await self._say(stream, ok=False, error=f"this is not a ctxd front-end: {error}", hint="Use `ctxd mcp`")
                return None
            except ToolError as error:
                await self._say(stream, ok=False, error=error.message, hint=error.hint)
                return None
        return hello

    async def _settle(self, stream: ByteStream, request: HelloRequest) -> None:
        try:
            # A thread of its own: no question waits for another one that hangs on a project's disk.
            fields = await anyio.to_thread.run_sync(request.answer, self.process, limiter=anyio.CapacityLimiter(1))
        except ToolError as error:
            await self._say(stream, ok=False, error=error.message, hint=error.hint)
        except Exception:
            logger.exception("answering %s", request.want)
            await self._say(stream, ok=False, error="ctxd met a bug", hint="See `ctxd logs`")
        else:
            await self._say(stream, ok=True, **fields)

    async def _say(self, stream: ByteStream, **fields: Any) -> None:
        line = {
            "ctxd": protocol.PROTOCOL,
            "version": protocol.VERSION,
            "build": self.build,
            "pid": os.getpid(),
            **fields,
        }
        await stream.send(json.dumps(line).encode() + b"\n")


class LongLineError(ValueError):
    """A line is longer than the limit."""


class Lines:
    """The lines of a byte stream."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._held = bytearray()

    async def next(self, bytes_max: int = protocol.LINE_BYTES_MAX) -> bytes:
        """The next line without its newline. Raises anyio.EndOfStream, and LongLineError: then call `drop`."""
        searched = 0
        while (end := self._held.find(b"\n", searched)) < 0:
            searched = len(self._held)
            if searched > bytes_max:
                raise LongLineError(f"a message is longer than {bytes_max} bytes")
            self._held += await self._stream.receive(_READ_BYTES)
        line = bytes(self._held[:end])
        del self._held[: end + 1]
        return line

    async def drop(self) -> bytes:
        """Skip the rest of a line that is too long. Returns the error line that answers it."""
        kept = protocol.LINE_END_BYTES
        head, line_bytes = bytes(self._held[:kept]), len(self._held)
        while (end := self._held.find(b"\n")) < 0:
            self._held = self._held[-kept:]
            data = await self._stream.receive(_READ_BYTES)
            self._held += data
            line_bytes += len(data)
        line_bytes -= len(self._held) - end
        tail = bytes(self._held[max(0, end - kept) : end])
        del self._held[: end + 1]
        return protocol.refusal(head, tail, line_bytes)


class Session:
    """One MCP session: its project, its toolsets and its running calls."""

    def __init__(self, registry: Registry, hello: Hello) -> None:
        self.registry = registry
        self.hello = hello
        self.view: View | None = None
        self._threads = anyio.CapacityLimiter(CALLS_AT_ONCE)
        toolsets = hello.toolsets
        self.tools = {
            tool.name: tool
            for tool in TOOLS.values()
            if (toolsets is None or tool.toolset in toolsets) and not (tool.writes and hello.read_only)
        }

    def find_project(self) -> None:
        """Open the project that the host named. If it named none, the first call asks for it. Raises ToolError."""
        known = {tool.toolset for tool in TOOLS.values()}
        if unknown := [one for one in self.hello.toolsets or () if one not in known]:
            raise ToolError(f"there is no toolset {', '.join(unknown)}", f"The toolsets are {', '.join(sorted(known))}")
        if self.hello.root is not None:
            self.view = self._view(self.hello.root)
        else:
            for field, backends in (("text_backend", TEXT_BACKENDS), ("files_backend", FILES_BACKENDS)):
                backend_of(self.hello, field, backends)

    def _view(self, root: str) -> View:
        return seen_as(self.registry.view(root), self.hello)

    async def run(self, stream: ByteStream, lines: Lines) -> None:
        server: Server[Any] = Server(
            "ctxd",
            version=protocol.VERSION,
            title="ctxd",
            instructions=instructions(self.tools),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )
        to_server, from_host = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        to_host, from_server = anyio.create_memory_object_stream[SessionMessage](16)
        sending = anyio.Lock()  # two tasks that send at once would break the connection in the middle of a line

        async def read() -> None:
            async with to_server:
                while True:
                    try:
                        line = await lines.next()
                    except LongLineError:
                        refusal = await lines.drop()
                        async with sending:
                            await stream.send(refusal)
                        continue
                    except (anyio.EndOfStream, anyio.BrokenResourceError, ConnectionError):
                        return
                    if not line.strip():
                        continue
                    try:
                        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                    except ValidationError:
                        async with sending:
                            await stream.send(_malformed(line))
                        continue
                    await to_server.send(SessionMessage(message))

        async def write() -> None:
            async with from_server:
                async for message in from_server:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    async with sending:
                        await stream.send(text.encode("utf-8", "backslashreplace") + b"\n")

        async with anyio.create_task_group() as group:
            group.start_soon(write)
            group.start_soon(read)
            await server.run(from_host, to_host, server.create_initialization_options())
            group.cancel_scope.cancel()

    async def _list_tools(self, _context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(tool) for tool in self.tools.values()])

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {params.name!r}; there are {', '.join(self.tools)}")
        try:
            view = self.view or await self._ask_roots(context)
            # Open it again if it was closed meanwhile (`ctxd remove`), and wait until it is listed.
            view = await self._listed_view(view)
            call = Call(view, report=_progress_reporter(context))
            result = await self._run(tool, call, params.arguments or {})
        except ToolError as error:
            return _result(tool.failure(error, params.arguments or {}), is_error=True)
        except Exception as error:
            bug = uuid.uuid4().hex[:8]
            logger.error("bug %s in %s\n%s", bug, params.name, "".join(traceback.format_exception(error)))  # noqa: TRY400
            bad = ToolError(
                f"ctxd met a bug ({type(error).__name__}, id {bug})", "`ctxd logs` has it", name="RuntimeError"
            )
            return _result(tool.failure(bad, params.arguments or {}), is_error=True)
        return _result(result, is_error=False)

    async def _run(self, tool: Tool, call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
        try:
            with anyio.fail_after(HARD_SECONDS):
                return await anyio.to_thread.run_sync(
                    tool.call, call, arguments, abandon_on_cancel=True, limiter=self._threads
                )
        except TimeoutError:
            hint = "Narrow it: fewer target paths, or a pattern with a longer literal part"
            if tool.writes:
                hint = "State unknown: read the file, then call again"
            raise ToolError(
                f"{tool.name} found no answer within {HARD_SECONDS:g} s", hint, name="TimeoutError"
            ) from None
        finally:
            call.cancelled.set()  # a thread that still runs ends when it next checks

    async def _listed_view(self, view: View) -> View:
        project = view.project
        if self.registry.projects.get(project.root) is not project:
            view = await anyio.to_thread.run_sync(self._view, os.fsdecode(view.root))
            project = view.project
            self.view = view
        if not project.scanned.is_set():
            await anyio.to_thread.run_sync(
                project.scanned.wait, SCAN_SECONDS, abandon_on_cancel=True, limiter=self._threads
            )
            if not project.scanned.is_set():
                raise ToolError(
                    project.indexing.problem or "the project's files are still being listed",
                    "Ask again in a few seconds; `ctxd status` shows how far it is",
                    name="RuntimeError",
                )
        return view

    async def _ask_roots(self, context: ServerRequestContext[Any]) -> View:
        """The project of a host that was started in `/` or the home folder: its first root. Raises ToolError."""
        refused = self.hello.refused or self.hello.cwd
        hint = "Start the host in a project's folder, or set --project DIR or CTXD_PROJECT"
        capabilities = context.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            raise ToolError(f"{refused} is too wide to be a project", hint)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MCPDeprecationWarning)
            answer = await context.session.list_roots()
        for root in answer.roots:
            path = str(root.uri).removeprefix("file://")
            if path.startswith("/"):
                from urllib.parse import unquote

                self.view = await anyio.to_thread.run_sync(self._view, unquote(path))
                return self.view
        raise ToolError(f"{refused} is too wide to be a project, and the host names no root", hint)


def _read_hello(line: Any) -> Hello:
    """The hello of a session, or the request that `want` names. Raises ValueError, and ToolError for an unknown `want`."""
    hello = read_hello(line)
    if hello.want == "mcp":
        return hello
    kind = REQUESTS.get(hello.want)
    if kind is None:
        raise ToolError(f"ctxd knows no want {hello.want!r}", "The front-end is of another version: run `ctxd restart`")
    return read_hello(line, kind)


def _listed(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.writes,
            idempotent_hint=not tool.writes,
            open_world_hint=False,
        ),
    )


def _result(answer: dict[str, Any], *, is_error: bool) -> types.CallToolResult:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=answer, is_error=is_error
    )


def _progress_reporter(context: ServerRequestContext[Any]) -> Callable[[int, int], None]:
    """The function by which a handler's thread reports progress.

    It sends at most one notification per PROGRESS_SECONDS, and none if the host gave no progress token.
    """
    if not (context.meta and context.meta.get("progress_token") is not None):
        return lambda _done, _total: None
    last = 0.0
    sent = -1

    def report(done: int, total: int) -> None:
        nonlocal last, sent
        now = time.monotonic()
        if now - last >= PROGRESS_SECONDS and done > sent:
            last, sent = now, done
            send: Callable[[float, float], Awaitable[None]] = context.session.report_progress
            anyio.from_thread.run(send, float(done), float(total))

    return report


def _malformed(line: bytes) -> bytes:
    """A JSON-RPC error for a line that is no valid message, with the line's id if one can be found."""
    id_ = None
    code, message = types.PARSE_ERROR, "Parse error: a message is one line of JSON"
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError):
        pass
    else:
        code, message = types.INVALID_REQUEST, "Invalid request: not a JSON-RPC 2.0 message"
        if isinstance(parsed, dict) and isinstance(parsed.get("id"), int | str):
            id_ = parsed["id"]
    return json.dumps({"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}).encode() + b"\n"


def _peer_uid(connection: socket.socket) -> int | None:
    """The user at the other end; None where the platform does not tell (there the folder's mode protects the socket)."""
    if sys.platform == "linux":
        _, uid, _ = struct.unpack(
            "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        )
        return uid
    return None
