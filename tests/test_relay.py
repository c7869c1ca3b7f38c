"""The relay against a fake daemon: real processes, a real socket, real pipes. What misbehaves is the fake, on demand."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
DEADLINE_S = 20
MODERN = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


class Host:
    """An MCP host with one relay as its server."""

    def __init__(self, home, *flags, cwd, **environment):
        command = [sys.executable, os.path.join(HERE, "front_end.py"), "mcp", *flags]
        env = {**os.environ, "CTXD_HOME": str(home), **environment}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd=cwd, bufsize=0
        )
        self.received = b""
        self.last_id = 0

    def send(self, **message):
        data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode() + b"\n"
        while data:
            data = data[self.process.stdin.write(data) :]

    def request(self, method, params=None):
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params or {})
        return self.last_id

    def tool(self, name, *, modern=False, **arguments):
        return self.request("tools/call", {"name": name, "arguments": arguments, **(MODERN if modern else {})})

    def line(self):
        end = time.monotonic() + DEADLINE_S
        pieces = [self.received]
        while b"\n" not in pieces[-1]:
            assert select.select([self.process.stdout], [], [], end - time.monotonic())[0], "no answer in time"
            data = self.process.stdout.read(1 << 20)
            assert data, self.process.stderr.read().decode()
            pieces.append(data)
        line, _, self.received = b"".join(pieces).partition(b"\n")
        return line

    def answer(self, id_=None):
        message = json.loads(self.line())
        assert message.get("id") == (self.last_id if id_ is None else id_), message
        return message

    def call(self, name, **arguments):
        self.tool(name, **arguments)
        return self.answer()["result"]["structuredContent"]

    def handshake(self):
        self.request("initialize", {"protocolVersion": "2025-11-25"})
        answer = self.answer()
        self.send(method="notifications/initialized")
        return answer["result"]

    def is_silent(self):
        return not self.received and not select.select([self.process.stdout], [], [], 0.05)[0]

    def end(self):
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def home(tmp_path):
    """A CTXD_HOME; the daemon it ends up with is ended."""
    yield tmp_path / "home"
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((tmp_path / "home" / "daemon.lock").read_text()), signal.SIGKILL)


@pytest.fixture
def host(home, tmp_path):
    host = Host(home, cwd=tmp_path)
    yield host
    host.end()


def kill_daemon(pid):
    os.kill(pid, signal.SIGKILL)


def until(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        select.select([], [], [], 0.01)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_first_request_starts_a_daemon_and_is_answered(host):
    first = host.handshake()
    assert host.call("x", a=1) == {"pid": first["pid"], "arguments": {"a": 1}, "pad": ""}


def test_hello_says_who_asks_for_what(home, tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    folder = tmp_path / "project" / "sub"
    folder.mkdir()
    host = Host(home, "--toolsets=search, text", "--read-only", cwd=folder, CTXD_TEXT_BACKEND="rg")
    hello = host.handshake()["hello"]
    host.end()
    assert (hello["root"], hello["cwd"]) == (str(tmp_path / "project"), str(folder))
    assert (hello["toolsets"], hello["read_only"], hello["text_backend"]) == (["search", "text"], True, "rg")
    assert hello["files_backend"] is None


def test_daemon_inherits_no_settings_of_one_connection(home, tmp_path):
    host = Host(home, cwd=tmp_path, CTXD_TEXT_BACKEND="rg", CTXD_PROJECT=str(tmp_path))
    host.handshake()
    host.end()
    assert (home / "starts").read_text().split(maxsplit=1)[1] == f"{home} ['CTXD_HOME']\n"


def test_long_lines_and_every_character_pass_whole(host):
    host.handshake()
    text = "é\u2028\U0001f600\\u0000" * 200_000
    answer = host.call("x", text=text, answer_bytes=3_000_000)
    assert answer["arguments"]["text"] == text
    assert len(answer["pad"]) == 1_500_000


def test_lines_that_come_in_pieces_are_joined(host):
    host.handshake()
    for byte in b'{"jsonrpc":"2.0","id":"a b","method":"tools/call","params":{"name":"x"}}\n':
        host.process.stdin.write(bytes([byte]))
    assert host.answer("a b")["result"]


def test_many_requests_at_once_are_all_answered(host):
    host.handshake()
    ids = [host.tool("x", n=n) for n in range(500)]
    assert [host.answer(id_)["id"] for id_ in ids] == ids


def test_killed_daemon_is_replaced_between_two_calls(host):
    pid = host.handshake()["pid"]
    kill_daemon(pid)
    assert host.call("x")["pid"] != pid
    assert host.is_silent()


def test_call_in_flight_is_sent_again_once(host):
    pid = host.handshake()["pid"]
    assert host.call("die_once")["pid"] != pid


def test_half_an_answer_never_reaches_the_host(host):
    host.handshake()
    assert host.call("half")["arguments"] == {}


def test_call_that_ends_two_daemons_is_answered_with_an_error(host):
    host.handshake()
    host.tool("die")
    assert "twice" in host.answer()["error"]["message"]
    assert host.call("x")["arguments"] == {}


def test_edit_in_flight_is_not_sent_again(host):
    host.handshake()
    host.tool("edit", die=True)
    result = host.answer()["result"]
    assert result["isError"]
    assert result["content"][0]["text"].startswith("State unknown")
    assert host.call("edit")["arguments"] == {}


def test_stateless_session_survives_a_killed_daemon(host):
    host.tool("x", modern=True)
    pid = host.answer()["result"]["structuredContent"]["pid"]
    kill_daemon(pid)
    host.tool("x", modern=True)
    assert host.answer()["result"]["structuredContent"]["pid"] != pid
    host.tool("edit", modern=True, die=True)
    assert host.answer()["result"]["resultType"] == "complete"


def test_answer_to_a_dead_daemons_question_is_not_passed_on(host):
    pid = host.handshake()["pid"]
    asking = host.tool("ask")
    assert host.answer(1)["method"] == "roots/list"
    kill_daemon(pid)
    assert host.answer(1)["method"] == "roots/list"
    host.send(id=1, result="for the dead one")
    host.send(id=1, result="for the living one")
    assert host.answer(asking)["result"]["structuredContent"]["roots"] == "for the living one"


def test_cancelled_call_is_not_sent_to_the_next_daemon(host):
    pid = host.handshake()["pid"]
    cancelled = host.tool("silent")
    host.send(method="notifications/cancelled", params={"requestId": cancelled})
    assert host.call("x")["pid"] == pid
    kill_daemon(pid)
    host.process.stdin.close()
    began = time.monotonic()
    assert host.process.wait(DEADLINE_S) == 0
    assert time.monotonic() - began < 0.9


def test_stopped_daemon_stays_stopped_until_the_next_call(host, home):
    pid = host.handshake()["pid"]
    kill_daemon(pid)
    until(lambda: not is_alive(pid))  # reaped by the relay, which was its parent
    assert len((home / "starts").read_text().splitlines()) == 1
    host.call("x")
    assert len((home / "starts").read_text().splitlines()) == 2


def test_ends_with_stdin(host):
    host.handshake()
    host.process.stdin.close()
    assert host.process.wait(DEADLINE_S) == 0


def test_answers_in_flight_arrive_after_stdin_has_ended(home, tmp_path):
    host = Host(home, cwd=tmp_path)
    host.tool("x", modern=True, answer_bytes=2_000_000)
    host.process.stdin.close()
    assert len(host.answer()["result"]["structuredContent"]["pad"]) == 1_000_000
    assert host.process.wait(DEADLINE_S) == 0
    host.end()


def test_waits_a_second_at_most_for_answers_after_stdin_has_ended(host):
    host.handshake()
    host.tool("silent")
    host.process.stdin.close()
    began = time.monotonic()
    assert host.process.wait(DEADLINE_S) == 0
    assert time.monotonic() - began < 1.6


def test_ends_with_stdout(host):
    host.handshake()
    host.process.stdout.close()
    assert host.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_ends_on_signal(host, name):
    host.handshake()
    host.process.send_signal(signal.Signals[name])
    host.process.wait(DEADLINE_S)
    assert host.process.stderr.read() == b""


def test_without_a_daemon_each_request_is_told_why(home, tmp_path):
    host = Host(home, cwd=tmp_path, FAKE_FAIL="1")
    for _ in range(3):
        host.request("initialize")
        error = host.answer()["error"]
        assert error["code"] == -32000
        assert "no memory" in error["message"]
        assert str(home / "ctxd.log") in error["data"]["hint"]
    # No fourth start: three in a row have failed.
    host.request("initialize")
    assert "3 times" in host.answer()["error"]["message"]
    assert (home / "ctxd.log").read_text().count("no memory") == 3
    host.end()


@pytest.mark.parametrize("is_id_first", [True, False])
def test_a_message_too_long_is_refused_by_its_id_and_the_session_lives_on(host, home, tmp_path, is_id_first):
    host.handshake()
    params = {"name": "x", "arguments": {"text": "id" * 35_000_000, "id": 7}}
    request = {"id": 70, "method": "tools/call"}
    host.send(**request, params=params) if is_id_first else host.send(params=params, **dict(reversed(request.items())))
    error = host.answer(70)["error"]
    assert (error["code"], "67,108,864" in error["message"]) == (-32600, True)
    assert error["data"]["hint"]
    host.send(method="notifications/x", params=params)
    assert json.loads(host.line())["id"] is None
    assert host.call("x", a=1)["arguments"] == {"a": 1}
    with open(f"/proc/{host.process.pid}/status") as status:
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    assert peak < 180_000  # kilobytes: a message of 64 MiB once in pieces and once as a whole


def test_home_folder_is_refused_with_a_hint(home, tmp_path):
    host = Host(home, cwd=tmp_path, HOME=str(tmp_path))
    host.request("initialize")
    assert host.answer()["error"]["data"]["hint"] == "Name one with --project."
    host.end()


def test_wrong_flag_is_a_usage_error(home, tmp_path):
    host = Host(home, "--nonsense", cwd=tmp_path)
    assert host.process.wait(DEADLINE_S) == 1
    assert b"--nonsense" in host.process.stderr.read()
    assert host.process.stdout.read() == b""
    host.end()


def test_relay_holds_little_memory(host, home, tmp_path):
    host.handshake()  # this one has started the daemon, which takes memory of its own
    second = Host(home, cwd=tmp_path)
    second.handshake()
    with open(f"/proc/{second.process.pid}/status") as status:
        resident = next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))
    second.end()
    assert resident < 15_000  # kilobytes
