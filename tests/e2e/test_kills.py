"""Daemons that are killed: what they knew is there for the next one."""

import json
import os
import signal

from ctxd.indexer.database import Database
from processes import until


def test_a_daemon_killed_while_it_opens_its_projects_forgets_none(fresh):
    roots = [str(fresh.folder / str(number)) for number in range(20)]
    for root in roots:
        os.mkdir(root)
    (fresh.home / "projects.json").write_text(json.dumps(roots))
    for opened in (1, 8):
        fresh.run("start")
        databases = fresh.home / "databases"
        until(lambda: sum(path.suffix == ".db" for path in databases.iterdir()) >= opened)  # noqa: B023
        os.kill(fresh.daemon_pid(), signal.SIGKILL)
        until(lambda: fresh.daemon_pid() is None)
        assert json.loads((fresh.home / "projects.json").read_text()) == roots


def test_front_ends_that_add_at_once_are_all_remembered_over_a_kill(fresh):
    roots = [str(fresh.folder / str(number)) for number in range(4)]
    for root in roots:
        os.mkdir(root)
    adding = [fresh.begin("add", "--no-wait", root) for root in roots]
    assert [process.wait(60) for process in adding] == [0] * len(roots)
    os.kill(fresh.daemon_pid(), signal.SIGKILL)
    until(lambda: fresh.daemon_pid() is None)
    assert json.loads((fresh.home / "projects.json").read_text()) == roots


def test_a_restarted_daemon_has_what_changed_while_none_ran(fresh):
    """Killed too, while it derives everything anew, it says of no project that it is not ready."""

    def asked(tool, **arguments):
        return json.loads(fresh.run("call", tool, "--args", json.dumps(arguments)).stdout)

    for number in range(40):
        (fresh.folder / f"{number}.py").write_text(f"def f{number}(): f()\n")
    assert fresh.run("add").returncode == 0
    fresh.run("stop")
    with (fresh.folder / "7.py").open("a") as file:
        file.write("# f\nf()\n")
    found = asked("find_symbol_occurrences", symbol_name="f", target_paths=["7.py", "a.py"])
    assert (found["status"], found["occurrence_count"]) == ("success", 3)
    fresh.run("stop")
    [database] = (fresh.home / "databases").glob("*.db")
    opened = Database(str(database))
    with opened.transaction() as connection:
        connection.execute("UPDATE content SET text_revision = 1, symbols_revision = 1, chunks_revision = 99")
    opened.close()
    for _ in range(2):
        assert asked("find_symbol_occurrences", symbol_name="f")["occurrence_count"] == 42
        assert asked("search_semantic_concept", concept_description="f")["status"] == "success"
        os.kill(fresh.daemon_pid(), signal.SIGKILL)
        until(lambda: fresh.daemon_pid() is None)
