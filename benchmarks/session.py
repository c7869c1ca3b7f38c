"""A daemon of its own in a temporary home, and a raw MCP client: what the benchmarks share."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

COMMAND = [sys.executable, "-m", "ctxd.mcp_frontend"]


class Daemon:
    """For `with`: starts with an empty home, ends and leaves nothing. `settings` are environment variables.

    A `home` that is given stays as it is left, so that a large project need not be indexed anew for every run.
    """

    def __init__(self, home=None, **settings):
        self.home = home
        self.settings = settings

    def __enter__(self):
        self.base = tempfile.TemporaryDirectory(prefix="ctxd-benchmark-")
        home = self.home or os.path.join(self.base.name, "home")
        self.environment = os.environ | self.settings | {"CTXD_HOME": home}
        return self

    def __exit__(self, *_):
        self.run("stop")
        self.base.cleanup()

    def run(self, *arguments, **options):
        return subprocess.run(
            [*COMMAND, *arguments], env=self.environment, capture_output=True, text=True, check=False, **options
        )

    def add_listed(self, folder):
        """Add a project and wait until its files are listed, not until they are indexed."""
        self.run("add", "--no-wait", folder)
        while any(one["root"] == folder and one["state"] == "scanning" for one in self.status()["projects"]):
            time.sleep(0.1)

    def add_ready(self, folder):
        """Add a project and wait until all of it is indexed."""
        self.run("add", "--no-wait", folder)
        while any(one["root"] == folder and one["state"] != "ready" for one in self.status()["projects"]):
            time.sleep(0.5)

    def status(self):
        return json.loads(self.run("status", "--json").stdout)

    def memory(self):
        """Peak resident bytes of the daemon and of its largest worker."""
        daemon = self.status()["daemon"]
        with open(f"/proc/{daemon['pid']}/status") as file:
            peak = next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
        return peak, daemon["workers"]["peak_rss_bytes"]

    def client(self, folder, **settings):
        return Client(self, folder, settings)


@contextlib.contextmanager
def part_of(corpus, names, count):
    """A folder with the first `count` of a project's files."""
    with tempfile.TemporaryDirectory(prefix="ctxd-benchmark-") as base:
        folder = os.path.realpath(base)
        for name in names[:count]:
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            shutil.copyfile(os.path.join(corpus, name), os.path.join(folder, name))
        yield folder


def timed(command, folder):
    """Milliseconds and output of a command."""
    started = time.perf_counter()
    output = subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
    return (time.perf_counter() - started) * 1000, output


class Client:
    """`ctxd mcp` with one JSON-RPC message a line; `call` returns milliseconds and the tool's object."""

    def __init__(self, daemon, folder, settings):
        started = time.perf_counter()
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", "--project", folder],
            env=daemon.environment | settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        self.reader = os.fdopen(os.dup(self.process.stdout.fileno()), "rb")
        self.last_id = 0
        information = {"name": "benchmark", "version": "0"}
        self._request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": information})
        self.initialize_ms = (time.perf_counter() - started) * 1000
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def _request(self, method, params):
        self.last_id += 1
        message = {"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        while (answer := json.loads(self.reader.readline())).get("id") != self.last_id:
            pass
        return answer["result"]

    def call(self, tool, **arguments):
        started = time.perf_counter()
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        return (time.perf_counter() - started) * 1000, result["structuredContent"]

    def rss_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
