"""An MCP session with the real daemon, through the real relay."""

import array
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import termios
import time
from pathlib import Path

import jsonschema
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

from processes import COMMAND, Site, until

SOURCE = {
    "pkg/__init__.py": "",
    "pkg/shop.py": "from pkg.money import Price\n\n\nclass Cart:\n    def total(self, items):\n        return sum(Price(i) for i in items)\n",
    "pkg/money.py": "class Price:\n    def __init__(self, amount):\n        self.amount = amount\n",
    "notes.md": "# Cart\n\nThe cart sums prices.\n",
    "web/app.ts": "export function render(cart: Cart): string {\n  return cart.total();\n}\n",
    "data.bin": b"\0\1\2",
    ".gitignore": "ignored/\n",
    "ignored/secret.py": "class Cart: pass\n",
}

EXAMPLES = [
    ("search_text_pattern", {"query": "cart"}),
    ("search_text_pattern", {"query": r"def (?P<name>\w+)", "is_regex": True, "context_lines": 0}),
    ("search_text_pattern", {"query": "nowhere to be found"}),
    ("find_symbol_occurrences", {"symbol_name": "Price"}),
    ("find_symbol_occurrences", {"symbol_name": "Nowhere"}),
    ("search_semantic_concept", {"concept_description": "what is in the cart and what it costs"}),
    ("search_semantic_concept", {"concept_description": "zzyzx", "language": "python"}),
    ("search_code", {"query": "cart", "type": "class", "minSimilarity": 0}),
    ("find_similar_code", {"codeSnippet": "class Cart:\n    items = []", "minSimilarity": 0}),
    ("code_vectorization_status", {}),
    ("search_in_files", {"query": "cart", "file_pattern": "*.md"}),
    ("search_in_files", {"query": "cart", "includePatterns": "pkg/, *.ts"}),
    ("search_in_files", {"query": "nowhere to be found"}),
    ("find_files_by_name", {"name_pattern": "*.py"}),
    ("find_files_by_name", {"name_pattern": "*.nothing"}),
    ("search_files", {"query": "shop"}),
    ("search_files", {"query": "no such file"}),
    ("search_project_code", {"pattern": "def .*", "file_type": "py"}),
    ("search_project_code", {"pattern": "nowhere to be found"}),
    ("read_code_element", {"filePath": "pkg/shop.py", "lineNumber": 4, "searchQuery": "cart"}),
    ("read_code_element", {"filePath": "notes.md", "lineNumber": 1}),
    ("search_with_context", {"query": "cart"}),
    ("search_with_context", {"query": "nowhere to be found"}),
    ("explore_codebase", {}),
    ("search_semantic_concept", {"concept_description": "sum of the prices in a cart"}),
    ("search_code", {"query": "class Cart", "type": "class", "minSimilarity": 0}),
    ("search_code", {"query": "quantum chromodynamics"}),
    ("find_similar_code", {"codeSnippet": "def __init__(self, amount):\n    self.amount = amount"}),
    ("code_vectorization_status", {}),
    ("TextInspect", {"filePath": "notes.md"}),
    ("TextInspect", {"filePath": "notes.md", "mode": "search", "query": "cart", "context": 1}),
    ("TextInspect", {"filePath": "pkg/shop.py", "mode": "lines", "query": "1-2,4"}),
    ("TextRead", {"filePath": "notes.md", "target": {"heading": {"text": "Cart"}}}),
    ("TextRead", {"filePath": "pkg/shop.py", "target": {"search": {"query": "class Cart", "contextLines": 1}}}),
    ("replace_in_file", {"filePath": "notes.md", "searchText": "cart", "replaceText": "cart", "dryRun": True}),
    (
        "TextPatch",
        {"filePath": "notes.md", "operation": "replace", "target": {"text": "prices"}, "content": "x", "dryRun": True},
    ),
]


@pytest.fixture(scope="module")
def project(site):
    for name, data in SOURCE.items():
        path = site.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    assert site.run("add").returncode == 0
    return site


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_sdk_client_lists_and_calls_every_tool_in_both_eras(project, mode):
    server = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], "mcp"], env=project.environment, cwd=project.folder
    )
    async with Client(server, mode=mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {name for name, _ in EXAMPLES} == set(tools)
        for name, arguments in EXAMPLES:
            result = await client.call_tool(name, arguments)
            assert not result.is_error, result
            jsonschema.validate(result.structured_content, tools[name].output_schema)
            assert json.loads(result.content[0].text) == result.structured_content


def test_answers_are_right(project):
    with project.host() as host:
        found = host.call("search_text_pattern", query="cart", context_lines=0)
        assert [(m["file_path"], m["line_number"]) for m in found["matches"]] == [
            ("notes.md", 1),
            ("notes.md", 3),
            ("pkg/shop.py", 4),
            ("web/app.ts", 1),
            ("web/app.ts", 2),
        ]
        assert found["match_count"] == 5
        found = host.call(
            "search_text_pattern", query=r"def (?P<name>\w+)\((\w+)", is_regex=True, target_paths=["pkg/shop.py"]
        )
        (match,) = found["matches"]
        assert match["match_details"] == {"groups": ["total", "self"], "named_groups": {"name": "total"}}
        assert match["context_start_line"] == 3
        assert match["context"] == SOURCE["pkg/shop.py"].split("\n")[2:6]
        found = host.call("find_symbol_occurrences", symbol_name="pkg.money.Price")
        assert [(o["type"], o["file_path"], o["line_number"], o["column_number"]) for o in found["occurrences"]] == [
            ("definition", "pkg/money.py", 1, 7),
            ("import", "pkg/shop.py", 1, 23),
            ("reference", "pkg/shop.py", 6, 20),
        ]
        assert {o["symbol_fqn"] for o in found["occurrences"]} == {"pkg.money.Price"}
        found = host.call("find_symbol_occurrences", symbol_name="Cart", find_references=False)
        assert [o["file_path"] for o in found["occurrences"]] == ["pkg/shop.py", "notes.md"]
        found = host.call("find_files_by_name", name_pattern="*.py", path="pkg")
        assert found == {"files": ["pkg/__init__.py", "pkg/money.py", "pkg/shop.py"], "total_found": 3}
        empty = host.call("search_text_pattern", query="nowhere to be found")
        assert empty["status"] == "no_matches_found"
        assert empty["coverage"] == {"files_searched": 5, "skipped": {}}


def test_pages_together_are_the_whole_answer(project):
    (project.folder / "long.txt").write_text("".join(f"row {n} of many\n" for n in range(2_500)))
    with project.host() as host:
        lines, cursor = [], {}
        while True:
            page = host.call("search_text_pattern", query="of many", context_lines=0, max_tokens=5_000, **cursor)
            lines += [match["line_number"] for match in page["matches"]]
            if "next_cursor" not in page:
                break
            assert len(json.dumps(page, separators=(",", ":"))) <= 20_000
            cursor = {"cursor": page["next_cursor"]}
        assert lines == list(range(1, 2_501))
        first = host.call("search_text_pattern", query="of many", context_lines=0)
        assert first["match_count"] > 1_000
        assert first["total_is_exact"] is False
    (project.folder / "long.txt").unlink()


def test_a_killed_daemon_does_not_end_the_session(project):
    with project.host() as host:
        before = host.call("find_files_by_name", name_pattern="*.ts")
        pid = project.daemon_pid()
        os.kill(pid, signal.SIGKILL)
        assert host.call("find_files_by_name", name_pattern="*.ts") == before
        assert project.daemon_pid() not in {None, pid}


def test_ten_front_ends_at_once_start_one_daemon(project):
    assert project.run("stop").returncode == 0
    until(lambda: project.daemon_pid() is None)
    hosts = [project.host() for _ in range(10)]
    try:
        for host in hosts:
            host.__enter__()
        pids = {json.loads(project.run("status", "--json").stdout)["daemon"]["pid"]}
        assert pids == {project.daemon_pid()}
        assert (project.home / "ctxd.log").read_text().count(f"starts, pid {project.daemon_pid()}") == 1
    finally:
        for host in hosts:
            host.__exit__()


def test_a_closed_client_leaves_no_process_behind(project):
    with project.host() as host:
        host.call("find_files_by_name", name_pattern="*.ts")
        relay = host.process.pid
    until(lambda: not Path(f"/proc/{relay}").exists(), 5)
    assert project.run("stop").returncode == 0
    ours = f"CTXD_HOME={project.home}".encode()

    def left():
        found = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and ours in (process / "environ").read_bytes():
                    found.append(process.name)
            except OSError:
                continue
        return found

    until(lambda: not left(), 5)


def test_a_client_that_leaves_before_its_answers_is_no_bug(project):
    assert project.run("start").returncode == 0
    calls = [{"jsonrpc": "2.0", "id": n, "method": "tools/list", "params": {}} for n in range(2, 40)]
    first = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    lines = [
        {"ctxd": 1, "want": "mcp", "cwd": str(project.folder), "root": str(project.folder)},
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": first},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        *calls,
    ]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(project.home / "ctxd.sock"))
        client.sendall("".join(json.dumps(line) + "\n" for line in lines).encode())
    assert project.run("search", "Cart").returncode == 0
    assert project.run("stop").returncode == 0
    assert "a connection ended" not in (project.home / "ctxd.log").read_text()


def test_projects_survive_a_restart(project):
    assert project.run("restart").returncode == 0
    assert project.run("status", "--wait", "ready").returncode == 0
    assert [one["root"] for one in project.status()["projects"]] == [str(project.folder)]


def test_progress_is_reported_to_who_asks(project):
    with project.host() as host:
        host.last_id += 1
        params = {"name": "search_text_pattern", "arguments": {"query": "cart"}, "_meta": {"progressToken": "t"}}
        host.send({"jsonrpc": "2.0", "id": host.last_id, "method": "tools/call", "params": params})
        host.answer(host.last_id)
        tokens = {note["params"]["progressToken"] for note in host.notifications}
        assert tokens <= {"t"}


def test_a_line_that_is_no_message_is_answered_and_the_session_lives(project):
    with project.host() as host:
        host.process.stdin.write(b"{ not json\n")
        host.process.stdin.write(b'{"jsonrpc": "2.0", "id": 77}\n')
        found = host.call("find_files_by_name", name_pattern="*.ts")
        assert found["total_found"] == 1
        assert {note["error"]["code"] for note in host.notifications} == {-32700, -32600}


def test_a_folder_inside_a_project_is_served_by_it(project):
    with project.host("--project", str(project.folder / "pkg")) as host:
        found = host.call("find_files_by_name", name_pattern="*")
        assert found["files"] == ["__init__.py", "money.py", "shop.py"]
        found = host.call("search_text_pattern", query="class ", target_paths=["shop.py"], context_lines=0)
        assert [match["file_path"] for match in found["matches"]] == ["shop.py"]
        host.call("search_text_pattern", query="x", target_paths=["../notes.md"])
        assert host.is_error
    assert len(project.status()["projects"]) == 1


def test_a_command_line_chooses_backends_and_files(project):
    def run(*arguments, **variables):
        done = project.run(*arguments, env=project.environment | variables)
        return done.returncode, done.stdout

    whole = run("search", "-i", "cart")
    assert whole[0] == 0
    for backend in ("index", "rg", "grep", "python"):
        assert run("search", "-i", "cart", CTXD_TEXT_BACKEND=backend) == whole
    names = run("files", "-e", "py")
    assert names == (0, "pkg/__init__.py\npkg/money.py\npkg/shop.py\n")
    for backend in ("index", "fd", "find", "python"):
        assert run("files", "-e", "py", CTXD_FILES_BACKEND=backend) == names
    assert project.run("search", "x", env=project.environment | {"CTXD_TEXT_BACKEND": "ag"}).returncode == 2
    assert run("search", "-l", "-i", "cart", "-t", "python", "-t", "typescript", "-g", "!web") == (0, "pkg/shop.py\n")
    assert run("search", "-c", "ignored", "--hidden") == (0, ".gitignore:1\n")
    assert project.status()["daemon"]["text_backend"] == "index"
    status = run("status", "--json", CTXD_TEXT_BACKEND="python", CTXD_FILES_BACKEND="python")[1]
    assert [json.loads(status)["daemon"][key] for key in ("text_backend", "files_backend")] == ["python", "python"]
    assert run("why", "ignored/secret.py") == (
        1,
        "ignored/secret.py  not searched: .gitignore, line 1 (ignored/) leaves out ignored\n",
    )
    assert run("why", "pkg/shop.py")[0] == 0


def test_root_and_home_are_refused_with_a_hint(project):
    with project.host(folder="/") as host:
        answer = host.call("find_files_by_name", name_pattern="*")
        assert host.is_error
        assert "--project" in answer["error"]


def test_exit_codes_of_status(site, project):
    assert project.run("status").returncode == 0
    assert project.run("status", "/nonexistent").returncode == 1
    assert project.run("status", "--no-such-flag").returncode == 1
    project.run("stop")
    assert project.run("status").returncode == 4
    started = time.monotonic()
    assert subprocess.run([*COMMAND, "start"], env=project.environment, check=False).returncode == 0
    assert time.monotonic() - started < 30


def connected(site):
    """A session by hand: its socket, what sends a message, and the lines that come."""
    host = socket.socket(socket.AF_UNIX)
    host.connect(str(site.home / "ctxd.sock"))
    host.settimeout(60)
    lines = host.makefile("rb")

    def send(**message):
        host.sendall(json.dumps(message).encode() + b"\n")

    send(ctxd=1, want="mcp", cwd=str(site.folder), root=str(site.folder))
    assert json.loads(lines.readline())["ok"]
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    send(jsonrpc="2.0", id=0, method="initialize", params=client)
    assert json.loads(lines.readline())["id"] == 0
    send(jsonrpc="2.0", method="notifications/initialized")
    return host, send, lines


def test_a_message_too_long_is_refused_by_its_id_and_the_daemon_keeps_none_of_it(project):
    project.run("start")
    host, send, lines = connected(project)
    with host, lines:
        before = peak_kilobytes(project.daemon_pid())
        for id_ in (5, "six"):
            params = {"name": "find_files_by_name", "arguments": {"name_pattern": "x" * 70_000_000}}
            send(jsonrpc="2.0", method="tools/call", params=params, id=id_)
            answer = json.loads(lines.readline())
            assert (answer["id"], answer["error"]["code"]) == (id_, -32600)
            assert "67,108,864" in answer["error"]["message"]
        params = {"name": "find_files_by_name", "arguments": {"name_pattern": "*.ts"}}
        send(jsonrpc="2.0", id=7, method="tools/call", params=params)
        assert json.loads(lines.readline())["result"]["structuredContent"]["total_found"] == 1
        assert peak_kilobytes(project.daemon_pid()) - before < 180_000


def peak_kilobytes(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))


def test_a_line_that_is_no_message_never_breaks_into_an_answer(project):
    (project.folder / "long.txt").write_text("needle in a long line of a large answer\n" * 20_000)
    project.run("start")
    host, send, lines = connected(project)
    with host, lines:
        arguments = {"query": "needle", "max_tokens": 100_000, "context_lines": 10}
        for id_ in range(1, 5):
            params = {"name": "search_text_pattern", "arguments": arguments}
            send(jsonrpc="2.0", id=id_, method="tools/call", params=params)
        waiting = array.array("i", [0])

        def is_held_up():
            fcntl.ioctl(host.fileno(), termios.FIONREAD, waiting)
            return waiting[0] > 100_000  # of answers of 500,000 that nobody reads

        until(is_held_up)
        host.sendall(b"{ not json\n" + b"[" * 100_000 + b"\n")
        answers = [json.loads(lines.readline()) for _ in range(6)]
        assert sorted(answer["id"] for answer in answers if answer["id"]) == [1, 2, 3, 4]
        assert [answer["error"]["code"] for answer in answers if answer["id"] is None] == [-32700, -32700]


def test_a_daemon_whose_folder_was_deleted_leaves_the_next_one_its_socket(tmp_path):
    base = tmp_path / "site"
    base.mkdir()
    site = Site(base)
    site.run("start")
    old = site.daemon_pid()
    shutil.rmtree(site.home)
    site.run("start")
    new = site.daemon_pid()
    try:
        assert old != new
        until(lambda: not Path(f"/proc/{old}").exists())
        assert site.status()["daemon"]["pid"] == new
    finally:
        site.close()
