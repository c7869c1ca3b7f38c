"""A small real daemon for the tests of the front-end: a process that holds the lock, listens, and speaks hello and MCP lines.

It is strict where the real one is: no call before a handshake. Its tools misbehave on demand. Run as a script.
"""

import contextlib
import fcntl
import json
import os
import socket
import sys
import threading
import time

from ctxd.daemon import protocol

PLACES = protocol.places()
BUILD = os.environ.get("FAKE_BUILD") or protocol.build()
STARTED = time.time()


def main():
    if sys.argv[1:2] == ["answer"]:
        hello = json.loads(sys.argv[2])
        print(json.dumps({"ok": True, **settle(hello)}))
        return
    if os.environ.get("FAKE_FAIL"):
        print("the fake cannot start: no memory", flush=True)
        sys.exit(3)
    protocol.make_private_folder(PLACES.state)
    lock = os.open(PLACES.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not is_locked(lock):
        sys.exit("the fake runs already")
    os.truncate(lock, 0)
    os.write(lock, str(os.getpid()).encode())
    with open(os.path.join(PLACES.state, "starts"), "a") as starts:
        starts.write(f"{os.getpid()} {os.getcwd()} {sorted(name for name in os.environ if name.startswith('CTXD_'))}\n")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(PLACES.socket)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(PLACES.socket)
    listener.listen(64)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def is_locked(lock):
    """A front-end that looks whether a daemon lives has the lock for a moment."""
    for _ in range(50):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(0.01)
    return False


def serve(connection):
    reader = connection.makefile("rb")
    line = reader.readline()
    if not line:
        return
    hello = json.loads(line)
    if os.environ.get("FAKE_HANG"):
        time.sleep(3600)
    answer = {"ctxd": 1, "version": protocol.VERSION, "build": BUILD, "pid": os.getpid(), "ok": True, **settle(hello)}
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(json.dumps(answer).encode() + b"\n")
        if hello["want"] == "stop":
            os._exit(0)
        if hello["want"] == "mcp" and answer["ok"]:
            Session(connection, reader, hello).serve()
    connection.close()


def settle(hello):
    want, root = hello["want"], hello["root"]
    if want == "mcp":
        if hello.get("refused"):
            return {"ok": False, "error": f"{hello['refused']} is not a project.", "hint": "Name one with --project."}
        return {"writes": ["edit"], "root": root}
    if want == "status":
        if root and not os.path.exists(os.path.join(root, "known")):
            return {"ok": False, "error": f"{root} is in no project.", "hint": "Run `ctxd add`."}
        return {"status": status(root)}
    if want == "add":
        open(os.path.join(root, "known"), "w").close()
        return {"project": project(root, "indexing")}
    if want == "remove":
        return {"removed": root}
    if want == "list":
        return {"projects": [{"root": "/a", "state": "ready"}]}
    if want == "why":
        searched = hello["path"].endswith(".py")
        answer = {"path": hello["path"], "searched": searched, "because": None if searched else "a reason"}
        return {"why": {**answer, "language": "python" if searched else None, "notes": ["a note"] if searched else []}}
    if want == "outline":
        fields = {
            "type": "function",
            "line": 2,
            "startLine": 1,
            "endLine": 12,
            "modifiers": [],
            "doc": "",
            "complexity": 1,
        }
        elements = (
            [{**fields, "name": "f", "depth": 1, "parameters": ["a", "b"]}] if hello["path"].endswith(".py") else []
        )
        return {"outline": {"path": hello["path"], "language": None, "symbols": "parsed", "elements": elements}}
    if want == "edits":
        file = {"path": "a.md", "backup": False, "bytesBefore": 1, "bytesAfter": 2}
        one = {"id": 7, "time": "2026-11-21T12:00:00+00:00", "tool": "TextPatch", "root": "/p", "files": [file]}
        return {
            "edits": [one | {"state": "undone"}, one | {"id": 6, "state": "done"}] if "known" in hello["path"] else []
        }
    if want == "undo":
        return {} if hello["edit"] == 6 else {"ok": False, "error": "wrong edit"}
    if want == "languages":
        return {"languages": [{"name": "python", "extensions": [".py", ".pyi"], "symbols": True}]}
    if want == "config":
        setting = {"key": "idle_exit_hours", "value": 3, "source": "default", "default": 3, "meaning": "0 is never"}
        return {"settings": [setting]}
    return {}


def status(root):
    daemon = {"running": True, "pid": os.getpid(), "version": protocol.VERSION, "uptime_seconds": time.time() - STARTED}
    daemon |= {"socket": PLACES.socket, "rss_bytes": 1, "text_backend": "index", "files_backend": "index"}
    states = os.environ.get("FAKE_STATES", "ready").split(",")
    if root:
        return {"daemon": daemon, "projects": [project(root, "ready")]}
    return {"daemon": daemon, "projects": [project(f"/p{n}", state) for n, state in enumerate(states)]}


def project(root, state):
    progress = {"done": 1, "total": 4, "eta_seconds": 2.0}
    return {"root": root, "state": state, "files": 4, "symbols": 9, "progress": progress, "problems": ["a reason"]}


class Session:
    def __init__(self, connection, reader, hello):
        self.connection, self.reader, self.hello = connection, reader, hello
        self.initialized = False
        self.waiting = None

    def serve(self):
        for line in self.reader:
            message = json.loads(line)
            if message.get("method") == "notifications/initialized":
                self.initialized = True
            elif message.get("method") == "initialize":
                self.send(id=message["id"], result={"pid": os.getpid(), "hello": self.hello})
            elif "method" in message and "id" in message:
                params = message.get("params") or {}
                if not self.initialized and "_meta" not in params:
                    self.send(id=message["id"], error={"code": -32600, "message": "no handshake"})
                else:
                    self.call(message["id"], params)
            elif "result" in message and self.waiting is not None:
                waiting, self.waiting = self.waiting, None
                self.send(id=waiting, result={"structuredContent": {"roots": message["result"], "pid": os.getpid()}})

    def send(self, **message):
        self.connection.sendall(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n")

    def call(self, id_, params):
        arguments = params.get("arguments") or {}
        tool = params.get("name")
        if tool == "die" or (tool == "die_once" and first_time("died")):
            os._exit(9)
        if tool == "half" and first_time("half"):
            self.connection.sendall(b'{"jsonrpc":"2.0","id":' + json.dumps(id_).encode() + b',"result":{"te')
            os._exit(9)
        if tool == "edit" and arguments.get("die"):
            os._exit(9)
        if tool == "ask":
            self.waiting = id_
            self.send(id=1, method="roots/list")
            return
        if tool == "silent":
            return
        if tool in SHAPES:
            answer = {**SHAPES[tool](arguments), "hello": self.hello}
            self.send(id=id_, result={"structuredContent": answer, "isError": "error" in str(answer.get("status"))})
            return
        size = arguments.pop("answer_bytes", 0)
        self.send(
            id=id_, result={"structuredContent": {"pid": os.getpid(), "arguments": arguments, "pad": "é" * (size // 2)}}
        )


def first_time(name):
    try:
        os.close(os.open(os.path.join(PLACES.state, name), os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def text(arguments):
    if arguments["query"] == "(":
        return {"status": "error", "error_message": "missing )"}
    if arguments["query"] == "nothing":
        searched = 0 if arguments.get("file_extensions") == ["none"] else 4
        coverage = {"files_searched": searched, "skipped": {}}
        return {"status": "no_matches_found", "matches": [], "match_count": 0, "coverage": coverage}
    lines = ["one", "two \x1b[31mhit", "three", "four hit"]
    start, stop = max(0, 1 - arguments["context_lines"]), 2 + arguments["context_lines"]
    match = {
        "file_path": "src/a.py",
        "line_number": 2,
        "matched_line": lines[1],
        "context": [],
        "context_start_line": 2,
    }
    if arguments["context_lines"]:
        match |= {"context": lines[start:stop], "context_start_line": start + 1}
    if arguments["query"] == "long":
        match["line_truncated"] = True
    if arguments["query"] == "stale":
        return {"status": "no_matches_found", "matches": [], "stale": {"pending_files": 2, "reason": "still listing"}}
    if arguments.get("cursor"):
        return {"status": "success", "matches": [match | {"file_path": "src/b.py"}], "match_count": 2}
    return {"status": "success", "matches": [match], "match_count": 2, "next_cursor": "c", "asked": arguments}


def symbols(arguments):
    if arguments["symbol_name"] == "early":
        return {
            "status": "indexing_required",
            "progress": {"done": 1, "total": 4, "eta_seconds": 1},
            "error_message": "later",
        }
    occurrence = {
        "file_path": "src/a.py",
        "line_number": 7,
        "column_number": 5,
        "type": "definition",
        "kind": "function",
    }
    occurrence |= {"symbol_fqn": "a.get", "snippet": "def get():\n    pass"}
    return {"status": "success", "occurrences": [occurrence], "occurrence_count": 1}


def names(arguments):
    if arguments["name_pattern"] == "[":
        return {"status": "error", "error": "ValueError: no ]"}
    return {"files": [f"asked/{arguments['name_pattern']}"], "total_found": 1, "asked": arguments}


SHAPES = {"search_text_pattern": text, "find_symbol_occurrences": symbols, "find_files_by_name": names}

if __name__ == "__main__":
    main()
