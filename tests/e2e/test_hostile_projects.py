"""A real daemon and two projects: whatever one of them holds, the other is served as if it were alone."""

import json
import os
import tempfile
import time
from pathlib import Path

import pytest

from processes import Site, until
from projects import git, write


@pytest.fixture
def hostile():
    with tempfile.TemporaryDirectory(prefix="ctxd-") as base:
        site = Site(Path(base).resolve())
        write(site.folder, {"pyproject.toml": "", "a.py": "def here(): pass\n"})
        (site.home.parent / "evil").mkdir()
        yield site
        site.close()


def evil_of(site):
    return site.home.parent / "evil"


def entry_of(site, folder):
    return next(one for one in site.status()["projects"] if one["root"] == str(folder))


def test_one_project_of_every_evil_leaves_the_other_alone(hostile):
    evil = evil_of(hostile)
    git(evil, "init", "-q")
    (evil / ".ctxd.toml").symlink_to("/dev/zero")
    (evil / "pyproject.toml").write_bytes(b"[tool.ctxd]\nallow_secrets = '\xe9'\n")
    (evil / "Cargo.toml").write_text("[package]\nname = 'x'\nx = " + "[" * 200_000)
    (evil / ".ignore").write_text("".join(f"*a{number}*b*\n" for number in range(100_000)))
    (evil / "sub").mkdir()
    os.mkfifo(evil / "sub" / ".git")
    (evil / ".gitignore").touch()
    os.truncate(evil / ".gitignore", 10 << 30)
    write(evil, {"src/lib.rs": "fn there() {}\n"})
    assert hostile.run("add", str(evil), "--no-wait").returncode == 0
    with hostile.host() as host:
        assert host.call("search_text_pattern", query="here")["matches"]
    entry = until(lambda: (one := entry_of(hostile, evil))["state"] == "degraded" and one, 60)
    told = "\n".join(entry["problems"])
    for word in (
        ".ctxd.toml is a symbolic link",
        "pyproject.toml is not UTF-8",
        ".ignore: only its patterns above line",
    ):
        assert word in told
    found = json.loads(hostile.run("search", "there", "--project", str(evil), "--json").stdout)
    assert [one["file_path"] for one in found["matches"]] == ["src/lib.rs"]
    assert entry_of(hostile, hostile.folder)["problems"] == []
    pid = hostile.daemon_pid()
    hostile.run("restart")
    assert hostile.daemon_pid() not in {None, pid}
    assert hostile.run("search", "here").stdout == "a.py:1:def here(): pass\n"


def test_a_project_whose_git_hangs_holds_nobody_else(hostile):
    """git waits for a FIFO, as it would for a disk that does not answer."""
    evil = evil_of(hostile)
    git(evil, "init", "-q")
    os.mkfifo(evil / ".git" / "index")
    write(evil, {"b.py": "def there(): pass\n"})
    assert hostile.run("add", str(evil), "--no-wait").returncode == 0
    began = time.monotonic()
    assert hostile.run("search", "here").stdout == "a.py:1:def here(): pass\n"
    assert entry_of(hostile, evil)["state"] == "scanning"
    assert json.loads(hostile.run("list", "--json").stdout)["projects"]
    assert time.monotonic() - began < 50  # git is given up after 60
    pid, began = hostile.daemon_pid(), time.monotonic()
    assert hostile.run("stop").returncode == 0
    assert time.monotonic() - began < 14  # by itself: after 15 it would be killed
    assert pid is not None
    assert "ctxd ends" in (hostile.home / "ctxd.log").read_text()


def test_a_folder_that_is_no_project_is_registered_by_add_only(hostile):
    evil = evil_of(hostile)
    write(evil, {"b.txt": "there\n", "sub/c.txt": "there\n"})
    done = hostile.run("search", "there", cwd=evil)
    assert done.returncode == 2
    assert f"ctxd add {evil}" in done.stderr
    assert str(evil) not in hostile.run("list").stdout
    assert hostile.run("add", str(evil)).returncode == 0
    assert hostile.run("search", "there", cwd=evil).returncode == 0
    assert hostile.run("search", "there", cwd=evil / "sub").stdout == "c.txt:1:there\n"
    assert hostile.run("restart").returncode == 0
    assert hostile.run("search", "there", cwd=evil / "sub").stdout == "c.txt:1:there\n"
    assert hostile.run("list").stdout.count(str(evil)) == 1


@pytest.mark.parametrize(
    "verb", [("config",), ("languages",), ("model", "status"), ("status",), ("list",), ("version",)]
)
def test_verbs_that_ask_nothing_of_a_project_start_no_daemon(hostile, verb):
    done = hostile.run(*verb)
    assert hostile.daemon_pid() is None
    if verb[0] in {"config", "languages"}:
        assert done.returncode == 0
        assert {"config": "settle_ms", "languages": "python"}[verb[0]] in done.stdout
