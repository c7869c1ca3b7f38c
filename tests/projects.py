"""Projects for tests, opened in this process with the real database, watcher and workers.

What a machine may lack is decided here: a test that needs it is skipped with the reason, and no other one is.
"""

import contextlib
import os
import shutil
import subprocess
import time

import pytest

from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.indexing.watcher import shared_inotify
from ctxd.daemon.projects.config import Settings
from ctxd.daemon.projects.project import Project
from ctxd.indexer.database import Database
from ctxd.indexer.programs import find_programs

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SETTLE_MS = 5_000  # the most there is: on a busy machine 150 ms are over before all changes were looked at
WATCHES_MAX = int(os.environ.get("CTXD_WATCHES_MAX", "100000"))  # 0: the whole run is without inotify
SETTLE_MS = 5_000  # an answer of a busy machine is late, not stale


def write(folder, files):
    """Make files of a `{name: text or bytes}`."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())


@contextlib.contextmanager
def opened(folder, home, workers, *, embedders=None, database=None, **settings):
    """A project opened in this process, listed but perhaps not indexed yet. `database` is one that others use, too."""
    own = database or Database(str(home / "databases" / "test.db"))
    project = Project(
        os.fsencode(os.path.realpath(folder)),
        own,
        workers,
        Settings(**{"watches_max": WATCHES_MAX, "settle_ms": SETTLE_MS} | settings),
        matchers=workers,
        embedders=embedders or workers,
        editor=Editor(str(home / "edits")),
        scratch=str(home / "git"),
        models=str(home / "models"),
        programs=find_programs(),
        inotify=shared_inotify(),
    )
    project.open()
    try:
        assert project.scanned.wait(30), project.indexing.problem
        yield project
    finally:
        project.close()
        if database is None:
            own.close()


def until(condition, seconds=30.0):
    """Wait for a condition with a deadline; returns its value."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {condition}")
        time.sleep(0.01)
    return value


def ready(project):
    until(lambda: project.indexing.caught_up)
    return project


def make_repository(folder):
    """An empty git repository, made without git."""
    for name in ("objects", "refs/heads", "info"):
        (folder / ".git" / name).mkdir(parents=True)
    write(folder / ".git", {"HEAD": "ref: refs/heads/main\n", "config": "[core]\n\trepositoryformatversion = 0\n"})


def git(folder, *arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
