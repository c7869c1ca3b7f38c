"""Starting, finding, replacing and stopping the daemon: real processes. CTXD_TEST_DAEMON=real takes the real daemon where it can serve."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxd.daemon import protocol
from ctxd.mcp_frontend import launch

HERE = os.path.dirname(os.path.abspath(__file__))
FRONT_END = [sys.executable, os.path.join(HERE, "front_end.py")]
FAKE = [sys.executable, os.path.join(HERE, "fake_daemon.py")]
IS_REAL = os.environ.get("CTXD_TEST_DAEMON") == "real"
DEADLINE_S = 30
needs_fake = pytest.mark.skipif(IS_REAL, reason="the fake daemon misbehaves on demand")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A CTXD_HOME; the daemon it ends up with is ended."""
    home = tmp_path / "home"
    monkeypatch.setenv("CTXD_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    yield home
    if launch.Launcher().is_lock_held():
        os.kill(int((home / "daemon.lock").read_text()), signal.SIGKILL)
        until(lambda: not launch.Launcher().is_lock_held())


def until(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def ctxd(*arguments, **environment):
    env = {**os.environ, **environment}
    return subprocess.run([*FRONT_END, *arguments], capture_output=True, text=True, timeout=DEADLINE_S, env=env)


def daemon_pid():
    return json.loads(ctxd("version", "--json").stdout)["daemon"]["pid"]


def fake_daemon(**environment):
    process = subprocess.Popen(FAKE, env={**os.environ, **environment})
    until(lambda: launch.Launcher().is_lock_held() and os.path.exists(protocol.places().socket))
    return process


def test_ten_front_ends_at_once_start_one_daemon(home):
    crowd = [subprocess.Popen([*FRONT_END, "start"], stdout=subprocess.PIPE, text=True) for _ in range(10)]
    said = {process.communicate(timeout=DEADLINE_S)[0] for process in crowd}
    assert said == {f"daemon running, pid {daemon_pid()}\n"}
    assert [process.returncode for process in crowd] == [0] * 10


def test_start_stop_restart_are_idempotent(home):
    assert ctxd("stop").stdout == "no daemon runs\n"
    first = ctxd("start").stdout
    assert ctxd("start").stdout == first
    assert ctxd("restart").stdout not in ("", first)
    assert ctxd("stop").stdout == "daemon stopped\n"
    assert not launch.Launcher().is_lock_held()


def test_killed_daemons_socket_does_not_hinder_the_next_start(home):
    ctxd("start")
    pid = daemon_pid()
    os.kill(pid, signal.SIGKILL)
    until(lambda: not launch.Launcher().is_lock_held())
    assert os.path.exists(protocol.places().socket)
    assert ctxd("start").returncode == 0
    assert daemon_pid() != pid


def test_daemon_outlives_who_started_it_and_holds_none_of_its_files(home):
    read_end, write_end = os.pipe()
    subprocess.run([*FRONT_END, "start"], pass_fds=[write_end], stdout=subprocess.DEVNULL, timeout=DEADLINE_S)
    os.close(write_end)
    assert os.read(read_end, 1) == b""  # a daemon that had inherited the pipe would keep it open
    os.close(read_end)
    assert os.getsid(daemon_pid()) == daemon_pid()


@needs_fake
def test_older_daemon_is_replaced_once(home):
    older = fake_daemon(FAKE_BUILD="1-old")
    assert ctxd("start").stdout != f"daemon running, pid {older.pid}\n"
    assert older.wait(DEADLINE_S) == 0
    assert len((home / "starts").read_text().splitlines()) == 2


@needs_fake
def test_newer_daemon_is_used_as_it_is(home):
    newer = fake_daemon(FAKE_BUILD="f" * 20 + "-new")
    assert ctxd("start").stdout == f"daemon running, pid {newer.pid}\n"
    newer.kill()
    newer.wait()


@needs_fake
def test_status_never_replaces_a_daemon(home):
    older = fake_daemon(FAKE_BUILD="1-old")
    assert ctxd("status").returncode == 0
    assert older.poll() is None
    older.kill()
    older.wait()


@needs_fake
def test_daemon_that_ends_at_its_start_is_quoted(home):
    done = ctxd("start", FAKE_FAIL="1")
    assert done.returncode == 1
    assert "status 3" in done.stderr
    assert "no memory" in done.stderr
    assert str(home / "ctxd.log") in done.stderr


@needs_fake
def test_daemon_that_hangs_is_stopped_by_its_pid(home, monkeypatch):
    hung = fake_daemon(FAKE_HANG="1")
    monkeypatch.setattr(launch, "STOP_DEADLINE_S", 0.2)
    launcher = launch.Launcher(lambda seconds, sock=None: launch.wait(min(seconds, 0.05), sock))
    assert launcher.stop(launch.hello("stop"))
    assert hung.wait(DEADLINE_S) == -signal.SIGTERM


def test_listener_that_is_no_daemon_is_named(home):
    protocol.make_private_folder(str(home))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(protocol.places().socket)
    listener.listen()
    process = subprocess.Popen([*FRONT_END, "status"], stderr=subprocess.PIPE, text=True)
    peer, _ = listener.accept()
    peer.sendall(b"220 mail\n")
    assert protocol.places().socket in process.communicate(timeout=DEADLINE_S)[1]
    assert process.returncode == 1
    peer.close()
    listener.close()


def test_state_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("CTXD_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(launch.DaemonError) as caught:
        launch.Launcher().open(launch.hello("status"))
    assert str(tmp_path / "file" / "home") in caught.value.hint


@pytest.mark.parametrize(
    ("message", "said"), [("It ended.", "It ended. Call again."), ("x is no folder", "x is no folder. Call again.")]
)
def test_a_message_and_its_hint_are_two_sentences(message, said):
    assert str(launch.DaemonError(message, "Call again.")) == said


def test_project_is_flag_then_variable_then_git_top_then_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("CTXD_PROJECT", raising=False)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "a" / "b").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    assert launch.project_of()["root"] == str(tmp_path / "plain")
    monkeypatch.chdir(tmp_path / "repo" / "a" / "b")
    assert launch.project_of()["root"] == str(tmp_path / "repo")
    monkeypatch.setenv("CTXD_PROJECT", "../x")
    assert launch.project_of()["root"] == str(tmp_path / "repo" / "a" / "x")
    assert launch.project_of("/opt")["root"] == "/opt"


def test_root_and_home_folder_are_no_projects(tmp_path, monkeypatch):
    monkeypatch.delenv("CTXD_PROJECT", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    (tmp_path / "work").mkdir()
    (tmp_path / "link").symlink_to("/")
    monkeypatch.chdir(tmp_path)
    assert launch.project_of() == {"root": None, "refused": str(tmp_path)}
    assert launch.project_of("/")["refused"] == "/"
    assert launch.project_of(str(tmp_path / "link"))["root"] is None
    # Settings kept under git in the home folder make no project of all that is below.
    monkeypatch.chdir(tmp_path / "work")
    assert launch.project_of()["root"] == str(tmp_path / "work")


@pytest.mark.parametrize("variables", [{}, {"XDG_STATE_HOME": "/x/state", "XDG_CONFIG_HOME": "relative"}])
@pytest.mark.skipif(sys.platform != "linux", reason="the short way is Linux's")
def test_places_are_those_of_platformdirs(monkeypatch, variables):
    import platformdirs

    for name in ("CTXD_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    places = protocol.places()
    assert places.state == platformdirs.user_state_dir("ctxd", appauthor=False)
    assert places.config == platformdirs.user_config_dir("ctxd", appauthor=False)


def test_the_build_is_of_every_folder_with_code():
    """A daemon of yesterday's code must not answer, wherever the code was changed."""
    package = Path(protocol.__file__).parent.parent
    tops = ("daemon", "indexer", "mcp_frontend", "migrations")
    folders = {path.parent.relative_to(package).as_posix() for top in tops for path in package.glob(f"{top}/**/*.py")}
    assert folders <= set(protocol._CODE_FOLDERS)
