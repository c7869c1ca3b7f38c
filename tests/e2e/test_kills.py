"""Daemons that are killed: what they knew is there for the next one."""

import json
import os
import signal

from processes import until


def test_a_daemon_killed_while_it_opens_its_projects_forgets_none(fresh):
    roots = [str(fresh.folder / str(number)) for number in range(40)]
    for root in roots:
        os.mkdir(root)
    (fresh.home / "projects.json").write_text(json.dumps(roots))
    for opened in (1, 15):
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
