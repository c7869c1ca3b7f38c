"""The registered projects: what a caller hears of one that cannot be opened or has gone, and how the daemon ends."""

import logging
import os
import shutil
import threading

import pytest

from ctxd.daemon import protocol
from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.watcher import Watcher
from ctxd.daemon.projects import config
from ctxd.daemon.projects.registry import Registry
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from projects import opened, ready, until, write


@pytest.fixture
def registry(home):
    one = Registry(protocol.places(), config.Settings(workers=1))
    yield one
    one.close()


def test_a_project_with_a_wrong_setting_is_degraded_and_says_why(registry, folder):
    write(folder, {".ctxd.toml": "sweep_second = 5\n"})
    registry.known.add(os.fsencode(folder))
    registry.open_all()
    project = registry.projects[os.fsencode(folder)]
    [entry] = until(lambda: [one for one in registry.status(str(folder)) if one["state"] == "degraded"])
    assert "did you mean sweep_seconds" in entry["problems"][0]
    assert project.settings.sweep_seconds == config.Settings().sweep_seconds
    registry.retry()
    assert registry.projects[os.fsencode(folder)] is project  # it is not opened anew before the file changes
    write(folder, {".ctxd.toml": "sweep_seconds = 5\n"})
    registry.retry()
    [entry] = registry.status(str(folder))
    assert entry["state"] not in ("degraded", "missing")
    assert entry["problems"] == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_text_pattern", {"query": "here"}),
        ("find_symbol_occurrences", {"symbol_name": "here"}),
        ("find_files_by_name", {"name_pattern": "*"}),
        ("search_in_files", {"query": "here"}),
        ("search_in_files", {"query": "here", "limit": 5}),
        ("search_files", {"query": "a"}),
        ("search_project_code", {"pattern": "here"}),
    ],
)
def test_a_folder_that_is_gone_is_an_error_and_no_empty_answer(project, folder, tool, arguments):
    write(folder, {"a.py": "def here(): pass\n"})
    view = View(ready(project))
    assert TOOLS[tool].call(Call(view), arguments)
    shutil.move(folder, f"{folder}-away")
    with pytest.raises(ToolError, match="is not there"):
        TOOLS[tool].call(Call(view), arguments)
    shutil.move(f"{folder}-away", folder)
    assert TOOLS[tool].call(Call(view), arguments)


def test_ending_while_a_project_is_indexed_logs_no_bug(registry, folder, caplog):
    write(folder, {f"d/{number}.py": f"def f{number}(): pass\n" for number in range(600)})
    project = registry.add(str(folder))
    until(lambda: project.indexing.derivation.symbols.pending)
    registry.close()
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []


def test_ctxd_never_indexes_its_own_state(tmp_path, folder, workers):
    """Its database would change with every look at it."""
    home = folder / "state"
    home.mkdir()
    write(folder, {"a.txt": "needle\n", "state/b.txt": "needle\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        assert sorted(project.table.files) == [b"a.txt"]


def test_the_state_folder_is_no_project(registry, home):
    with pytest.raises(ToolError, match="own state"):
        registry.add(str(home))


@pytest.fixture
def slow_listing(monkeypatch):
    """Every listing waits for the event that this is."""
    goes_on = threading.Event()
    start = Watcher.start

    def wait_and_start(watcher):
        assert goes_on.wait(30)
        start(watcher)

    monkeypatch.setattr(Watcher, "start", wait_and_start)
    return goes_on


def test_removing_answers_while_the_project_is_listed(registry, folder, slow_listing):
    write(folder, {"a.py": "def f(): pass\n"})
    project = registry.add(str(folder))
    assert registry.remove(str(folder))
    assert registry.status(None) == []
    assert not project.scanned.is_set()
    slow_listing.set()
    until(lambda: not os.path.exists(project.database.path))
    assert not project.scanned.is_set()


def test_a_project_opened_again_while_it_is_removed_keeps_its_index(registry, folder, slow_listing):
    write(folder, {"a.py": "def f(): pass\n"})
    first = registry.add(str(folder))
    assert registry.remove(str(folder))
    second = registry.add(str(folder))  # as a call of a session that goes on does
    assert second is not first
    slow_listing.set()
    until(lambda: second.indexing.symbols_ready)
    assert second.indexing.problem is None
    assert os.path.exists(second.database.path)


def test_a_removed_project_leaves_no_index_even_where_git_init_came_between(registry, folder):
    project = registry.add(str(folder))
    until(project.scanned.is_set)
    (folder / ".git").mkdir()
    assert registry.remove(str(folder))
    until(lambda: not os.path.exists(project.database.path))


def test_adding_a_folder_takes_over_the_projects_inside_it_that_are_no_repositories(registry, folder):
    write(
        folder,
        {
            "plain/package.json": "{}",
            "own/a.py": "",
            "own/.git/HEAD": "",
            "own/.git/objects/x": "",
            "own/.git/refs/x": "",
        },
    )
    plain, own = registry.view(str(folder / "plain")), registry.view(str(folder / "own"))
    outer = registry.add(str(folder))
    assert registry.view(str(folder / "plain")) == View(outer, b"plain")
    assert registry.view(str(folder / "own")).project is own.project
    assert registry.known.all() == {outer.root, own.project.root}
    until(lambda: not os.path.exists(plain.project.database.path))


def test_a_folder_inside_a_project_is_no_project_of_its_own(registry, folder):
    write(folder, {"package.json": "{}", "sub/package.json": "{}"})
    outer = registry.view(str(folder)).project
    assert registry.add(str(folder / "sub")) is outer
    assert registry.view(str(folder / "sub")) == View(outer, b"sub")
    assert registry.known.all() == {outer.root}


def test_a_folder_of_an_unregistered_work_tree_is_served_by_the_work_tree(registry, folder):
    write(folder, {".git/HEAD": "", ".git/objects/x": "", ".git/refs/x": "", "sub/a.py": ""})
    view = registry.view(str(folder / "sub"))
    assert (view.project.root, view.folder) == (os.fsencode(folder), b"sub")


def test_a_root_that_is_away_is_missing_and_opens_when_it_is_back(registry, folder):
    write(folder, {"package.json": "{}"})
    shutil.move(folder, f"{folder}-away")
    registry.known.add(os.fsencode(folder))
    registry.open_all()
    [entry] = registry.status(str(folder))
    assert entry["state"] == "missing"
    with pytest.raises(ToolError, match="not a folder"):
        registry.view(str(folder))
    shutil.move(f"{folder}-away", folder)
    registry.retry()
    assert os.fsencode(folder) in registry.projects


def test_a_git_link_to_another_repository_shares_no_index_with_it(registry, tmp_path):
    """Anybody can write such a file; removing his project would delete the other's index."""
    mine, his = tmp_path / "mine", tmp_path / "his"
    repository = {f".git/{name}": "" for name in ("HEAD", "objects/x", "refs/x", "worktrees/w/HEAD")}
    write(
        mine, repository | {".git/worktrees/w/commondir": "../..", ".git/worktrees/w/gitdir": f"{tmp_path}/true/.git"}
    )
    write(his, {".git": f"gitdir: {mine}/.git/worktrees/w\n"})
    assert registry.view(str(his)).project.database is not registry.view(str(mine)).project.database
    write(tmp_path / "true", {".git": f"gitdir: {mine}/.git/worktrees/w\n"})
    assert registry.view(str(tmp_path / "true")).project.database is registry.view(str(mine)).project.database
