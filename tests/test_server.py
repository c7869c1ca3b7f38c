"""Sessions that meet in one daemon, over real sockets in this process."""

import dataclasses
import json
import threading

import anyio

from ctxd.daemon import protocol
from ctxd.daemon.projects import config
from ctxd.daemon.projects.registry import Registry
from ctxd.daemon.requests import Process
from ctxd.daemon.server import Connections, Lines
from ctxd.daemon.tool import TOOLS
from projects import write


class Client:
    """One MCP session, by hand."""

    def __init__(self, stream, root):
        self.stream = stream
        self.lines = Lines(stream)
        self.root = str(root)

    async def send(self, **message):
        await self.stream.send(json.dumps(message).encode() + b"\n")

    async def begin(self):
        await self.send(ctxd=1, want="mcp", cwd=self.root, root=self.root)
        assert json.loads(await self.lines.next())["ok"]
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
        await self.send(jsonrpc="2.0", id=0, method="initialize", params=client)
        await self.lines.next()
        await self.send(jsonrpc="2.0", method="notifications/initialized")

    async def call(self, id_, tool, **arguments):
        await self.send(jsonrpc="2.0", id=id_, method="tools/call", params={"name": tool, "arguments": arguments})

    async def answer(self):
        return json.loads(await self.lines.next())


def test_slow_calls_of_one_host_keep_no_other_waiting(home, folder, monkeypatch):
    write(folder, {"a.txt": "needle\n", ".ctxd.toml": ""})
    go_on = threading.Event()

    def slow(_call, _params):
        assert go_on.wait(60)
        return {"files": [], "total_found": 0}

    monkeypatch.setitem(TOOLS, "find_files_by_name", dataclasses.replace(TOOLS["find_files_by_name"], handler=slow))
    registry = Registry(protocol.places(), config.Settings())
    path = home / "test.sock"

    async def run():
        connections = Connections(Process(protocol.places(), registry, stop=lambda: None))
        listener = await anyio.create_unix_listener(path)
        async with listener, anyio.create_task_group() as group, await anyio.connect_unix(path) as one:
            group.start_soon(listener.serve, connections.serve)
            try:
                busy = Client(one, folder)
                await busy.begin()
                for id_ in range(1, 101):
                    await busy.call(id_, "find_files_by_name", name_pattern="*")
                with anyio.fail_after(20):
                    async with await anyio.connect_unix(path) as two:
                        other = Client(two, folder)
                        await other.begin()
                        await other.call(1, "search_text_pattern", query="needle")
                        assert (await other.answer())["result"]["structuredContent"]["match_count"] == 1
            finally:
                go_on.set()
            assert sorted([(await busy.answer())["id"] for _ in range(100)]) == list(range(1, 101))
            group.cancel_scope.cancel()

    try:
        anyio.run(run)
    finally:
        registry.close()
