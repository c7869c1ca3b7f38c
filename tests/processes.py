"""Real processes for tests: a home of ctxd's own (`Site`) and an MCP host in few lines (`Host`)."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

COMMAND = [sys.executable, "-m", "ctxd.mcp_frontend"]


class Site:
    """One CTXD_HOME and what is run in it."""

    def __init__(self, base: Path):
        self.home = base / "home"
        self.home.mkdir(mode=0o700)
        self.folder = base / "project"
        self.folder.mkdir()
        (self.folder / ".ctxd.toml").touch()  # a project, without `ctxd add`
        kept = ("CTXD_WATCHES_MAX",)  # a run of all tests without inotify sets it
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("CTXD_") or k in kept}
        self.environment |= {"CTXD_HOME": str(self.home), "HOME": str(base), "CTXD_IDLE_EXIT_SECONDS": "600"}

    def run(self, *arguments, **options):
        options = {
            "cwd": self.folder,
            "env": self.environment,
            "capture_output": True,
            "text": True,
            "timeout": 60,
        } | options
        return subprocess.run([*COMMAND, *arguments], **options)

    def begin(self, *arguments):
        """As `run`, without waiting; what it prints is thrown away."""
        return subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def status(self):
        return json.loads(self.run("status", "--json").stdout)

    def host(self, *arguments, folder=None):
        return Host(self, arguments, folder or self.folder)

    def daemon_pid(self):
        """The pid of the process that holds the lock, None without one."""
        try:
            pid = int((self.home / "daemon.lock").read_text() or 0)
        except FileNotFoundError:
            return None
        return pid if pid and Path(f"/proc/{pid}").exists() else None

    def close(self):
        self.run("stop")


class Host:
    """An MCP host in few lines: `ctxd mcp` as a child, one JSON-RPC message a line."""

    def __init__(self, site, arguments, folder):
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", *arguments],
            cwd=folder,
            env=site.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.reader = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        self.last_id = 0
        self.notifications = []

    def __enter__(self):
        client = {"name": "test", "version": "0"}
        parameters = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        self.hello = self.request("initialize", parameters)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(10)
        self.reader.close()
        self.process.stdout.close()

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def request(self, method, params):
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.answer(self.last_id)

    def answer(self, id_):
        while True:
            line = self.reader.readline()
            if not line:
                raise EOFError("ctxd mcp ended")
            message = json.loads(line)
            if message.get("id") == id_ and "method" not in message:
                return message.get("result", message)
            self.notifications.append(message)

    def call(self, tool, **arguments):
        """The tool's own object; asserts that both forms of it agree."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "content" in result, result
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
        self.is_error = result.get("isError", False)
        return result["structuredContent"]


def until(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)
    return value
