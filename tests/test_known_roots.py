"""The list of registered projects: nothing that was said is lost, whatever ends the daemon."""

import json
import os
import subprocess
import sys

import pytest

from ctxd.daemon import protocol
from ctxd.daemon.projects import config
from ctxd.daemon.projects.known_roots import KnownRoots
from ctxd.daemon.projects.project import database_name
from ctxd.daemon.projects.registry import Registry
from projects import write

ADDER = """
import sys
from ctxd.daemon.projects.known_roots import KnownRoots
known = KnownRoots(sys.argv[1])
for number in range(10_000):
    known.add(b"/srv/%d" % number)
    known.save()
    print(number, flush=True)
"""


@pytest.fixture
def file(tmp_path):
    return tmp_path / "projects.json"


def registry():
    return Registry(protocol.places(), config.Settings(workers=1))


def test_a_kill_leaves_a_whole_list_of_all_that_was_saved(file):
    file.write_text('["/srv/before"]')
    for saves in (1, 3, 17):
        process = subprocess.Popen([sys.executable, "-c", ADDER, str(file)], stdout=subprocess.PIPE, text=True)
        saved = [int(process.stdout.readline()) for _ in range(saves)]
        process.kill()
        saved += map(int, process.stdout.read().split())
        process.wait()
        process.stdout.close()
        roots = json.loads(file.read_text())
        assert {f"/srv/{number}" for number in saved} | {"/srv/before"} <= set(roots)


def test_opening_some_of_the_projects_forgets_none_of_the_others(folder, file, home):
    roots = [str(folder / name) for name in ("a", "b", "gone")]
    for root in roots[:2]:
        os.mkdir(root)
    (home / "projects.json").write_text(json.dumps(roots))
    one = registry()
    try:
        one.add(roots[0])  # before any other was opened, as the first call does while the daemon starts
        assert json.loads((home / "projects.json").read_text()) == roots
        other = str(folder / "new")
        os.mkdir(other)
        one.add(other)
        assert json.loads((home / "projects.json").read_text()) == sorted([*roots, other])
        assert one.remove(roots[1])
        assert json.loads((home / "projects.json").read_text()) == sorted([roots[0], roots[2], other])
    finally:
        one.close()


@pytest.mark.parametrize("text", ["", '["/srv/a', "{}", "[1]", "\xff"])
def test_a_list_that_cannot_be_read_is_kept_aside_and_shown(home, text):
    written = text.encode("latin-1")
    (home / "projects.json").write_bytes(written)
    one = registry()
    try:
        one.known.add(b"/srv/b")
        one.known.save()
        [aside] = one.known.aside
        assert aside in one.problems()[0]
    finally:
        one.close()
    with open(aside, "rb") as kept:
        assert kept.read() == written
    assert KnownRoots(str(home / "projects.json")).all() == {b"/srv/b"}


def test_a_list_that_cannot_be_written_is_shown_and_written_once_it_can(file):
    file.write_text('["/srv/a"]')
    known = KnownRoots(str(file))
    (file.parent / "projects.json.new").mkdir()
    known.add(b"/srv/b")
    known.save()
    assert "cannot be written" in known.problem
    assert json.loads(file.read_text()) == ["/srv/a"]
    (file.parent / "projects.json.new").rmdir()
    known.save()
    assert known.problem is None
    assert json.loads(file.read_text()) == ["/srv/a", "/srv/b"]


def test_databases_that_no_project_uses_are_deleted(folder, home):
    write(folder, {"mine/a.py": "x = 1\n", "away/a.py": "x = 1\n", "forgotten/a.py": "x = 1\n"})
    databases = {name: home / "databases" / database_name(str(folder / name)) for name in ("mine", "away", "forgotten")}
    one = registry()
    for name in databases:
        assert one.add(str(folder / name)).scanned.wait(30)
    one.close()
    assert all(path.exists() for path in databases.values())
    # As a crash in the moment of a removal leaves it.
    (home / "projects.json").write_text(json.dumps([str(folder / "away"), str(folder / "mine")]))
    (folder / "away").rename(folder / "moved")
    one = registry()
    one.open_all()
    one.close()
    assert [name for name, path in databases.items() if path.exists()] == ["mine", "away"]


def test_no_database_is_deleted_while_a_list_of_projects_waits_to_be_looked_at(folder, home):
    one = registry()
    assert one.add(str(folder)).scanned.wait(30)
    one.close()
    (home / "projects.json").write_text("[")
    one = registry()
    one.open_all()
    one.close()
    assert (home / "databases" / database_name(os.path.realpath(folder))).exists()
