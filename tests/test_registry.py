"""Projects that come and go while others, or they themselves, are in use."""

import os
import threading

import pytest

from ctxd.daemon import config, protocol
from ctxd.daemon.registry import Registry
from projects import until, write


@pytest.fixture
def registry(home):
    one = Registry(protocol.places(), config.Settings())
    yield one
    one.close()


def test_a_project_opened_again_while_it_is_removed_keeps_its_index(registry, folder, monkeypatch):
    write(folder, {"a.py": "def f(): pass\n"})
    first = registry.add(str(folder))
    until(first.scanned.is_set)
    closing, opened_again = threading.Event(), threading.Event()
    close = first.close

    def slow_close():
        close()
        closing.set()
        assert opened_again.wait(30)

    monkeypatch.setattr(first, "close", slow_close)
    removing = threading.Thread(target=registry.remove, args=(str(folder),))
    removing.start()
    assert closing.wait(30)
    second = registry.add(str(folder))  # as a call of a session that goes on does
    opened_again.set()
    removing.join()
    assert second is not first
    until(lambda: second.queue.first_pass_done)
    assert second.queue.problem is None
    assert os.path.exists(second.database.path)


def test_a_removed_project_leaves_no_index_even_where_git_init_came_between(registry, folder):
    project = registry.add(str(folder))
    until(project.scanned.is_set)
    (folder / ".git").mkdir()
    assert registry.remove(str(folder))
    assert not os.path.exists(project.database.path)
