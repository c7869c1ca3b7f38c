"""How the daemon begins and ends."""

import json
import os
import signal
import socket
import subprocess

import pytest

from processes import COMMAND, until


def test_sigterm_ends_it_cleanly(fresh):
    fresh.run("add")
    os.kill(fresh.daemon_pid(), signal.SIGTERM)
    until(lambda: fresh.daemon_pid() is None, 10)
    assert not (fresh.home / "ctxd.sock").exists()
    assert "Traceback" not in (fresh.home / "ctxd.log").read_text()
    assert fresh.run("status").returncode == 4
    assert fresh.run("list").stdout.split()[0] == str(fresh.folder)


def test_it_ends_when_idle_but_not_while_a_client_is_connected(fresh):
    fresh.environment["CTXD_IDLE_EXIT_SECONDS"] = "1"
    with fresh.host() as host:
        pid = fresh.daemon_pid()
        host.process.stdin.flush()
        with pytest.raises(AssertionError):
            until(lambda: fresh.daemon_pid() != pid, 3)
        assert host.call("find_files_by_name", name_pattern="*.py")["files"] == ["a.py"]
    until(lambda: fresh.daemon_pid() is None, 10)


def test_an_edited_installation_never_talks_to_yesterdays_daemon(fresh, tmp_path):
    """A daemon of older code is replaced once by a front-end of newer code."""
    fresh.run("start")
    pid = fresh.daemon_pid()
    script = (
        "import sys; from ctxd.daemon import protocol; build = protocol.build(); "
        "newest, rest = build.split('-'); protocol.build = lambda: f'{int(newest, 16) + 1:x}-{rest}'; "
        "from ctxd.mcp_frontend import cli; sys.argv = ['ctxd', 'files', '*']; sys.exit(cli.main())"
    )
    done = subprocess.run(
        [COMMAND[0], "-c", script], env=fresh.environment, cwd=fresh.folder, capture_output=True, text=True, check=False
    )
    assert done.stdout == "a.py\n", done.stderr
    assert fresh.daemon_pid() not in {None, pid}


def test_a_wrong_setting_is_refused_with_file_line_and_key(fresh):
    (fresh.home / "ctxd.toml").write_text("# mine\nsweep_seconds = 60\nworker = 3\n")
    done = fresh.run("start")
    assert done.returncode == 1
    for word in ("ctxd.toml", "line 3", "worker", "workers"):
        assert word in done.stderr
    (fresh.home / "ctxd.toml").unlink()
    (fresh.folder / ".ctxd.toml").write_text("settle_ms = 1\n")
    assert fresh.run("search", "f").returncode == 0  # served, with the user's value
    for word in (".ctxd.toml", "line 1", "settle_ms", "10"):
        assert word in fresh.run("config").stdout


def test_a_stranger_on_the_socket_is_told_so(fresh):
    fresh.run("start")
    for line in (b"GET / HTTP/1.1\n", b"[]\n", b'{"ctxd": 99}\n', b"\xff\n"):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(fresh.home / "ctxd.sock"))
            connection.sendall(line)
            answer = json.loads(connection.makefile().readline())
            assert answer["ok"] is False
            assert "hint" in answer
    assert fresh.run("status").returncode in {0, 2}


def test_the_socket_is_private(fresh):
    fresh.run("start")
    assert (fresh.home / "ctxd.sock").stat().st_mode & 0o777 == 0o600
    assert fresh.home.stat().st_mode & 0o777 == 0o700


def test_a_long_home_gets_a_short_socket(fresh):
    deep = fresh.home / ("x" * 60) / ("y" * 60)
    deep.mkdir(parents=True)
    fresh.environment |= {"CTXD_HOME": str(deep), "XDG_RUNTIME_DIR": str(fresh.home)}
    assert fresh.run("files", "*").stdout == "a.py\n"
    shown = json.loads(fresh.run("status", "--json").stdout)["daemon"]["socket"]
    assert len(shown) < 104
    assert os.path.exists(shown)
    fresh.run("stop")
