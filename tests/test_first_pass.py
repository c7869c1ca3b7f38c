"""While a project is first indexed: text and names are complete, symbols say so, and answer for what is done."""

from concurrent.futures import Future

import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from projects import opened, ready, until, write


class HoldingPool(WorkerPool):
    """Keeps the jobs of some files back until they are let go."""

    def __init__(self):
        super().__init__(1)
        self.held = []

    def submit(self, job, *, urgent=False):
        if b"/slow/" in job.path and self.held is not None:
            future = Future()
            self.held.append((job, future))
            return future
        return super().submit(job, urgent=urgent)

    def let_go(self):
        held, self.held = self.held, None
        for job, future in held:
            super().submit(job).add_done_callback(lambda done, future=future: future.set_result(done.result()))


@pytest.fixture
def pool():
    one = HoldingPool()
    yield one
    one.close()


def call(project, tool, **arguments):
    return TOOLS[tool].call(Call(View(project)), arguments)


def test_symbols_answer_for_what_is_done_and_say_what_is_not(folder, home, pool):
    write(folder, {"fast/a.py": "def f(): pass\n", "slow/b.py": "f()\n", "slow/c.py": "def g(): f()\n"})
    with opened(folder, home, pool) as project:
        until(
            lambda: (
                call(project, "find_symbol_occurrences", symbol_name="f", target_paths=["fast"])["occurrence_count"]
                == 1
            )
        )
        early = call(project, "find_symbol_occurrences", symbol_name="f")
        assert early["status"] == "indexing_required"
        assert early["progress"]["total"] == 3
        assert 0 <= early["progress"]["done"] < 3
        assert "target_paths" in early["error_message"]
        assert early["occurrences"] == []
        assert call(project, "search_text_pattern", query="f(")["match_count"] == 3
        assert call(project, "find_files_by_name", name_pattern="*.py")["total_found"] == 3
        assert project.status()["state"] == "indexing"
        pool.let_go()
        ready(project)
        assert call(project, "find_symbol_occurrences", symbol_name="f")["occurrence_count"] == 3
        assert project.status()["state"] == "ready"


def test_indexing_required_never_comes_back(folder, home, pool):
    pool.held = None
    write(folder, {"slow/b.py": "f()\n"})
    with opened(folder, home, pool, symbols_wait_ms=50) as project:
        ready(project)
        pool.held = []
        write(folder, {"slow/b.py": "g()\n"})
        found = call(project, "find_symbol_occurrences", symbol_name="g")
        assert found["status"] != "indexing_required"
        assert found["stale"]["pending_files"] == 1
        pool.let_go()
        until(lambda: call(project, "find_symbol_occurrences", symbol_name="g").get("occurrence_count") == 1)


def test_a_project_too_large_to_index_unasked_still_answers_text(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): pass\n" for n in range(20)})
    with opened(folder, home, workers, index_files_max=10) as project:
        assert call(project, "search_text_pattern", query="def f")["match_count"] == 20
        status = project.status()
        assert status["state"] == "degraded"
        assert any("index_files_max" in problem for problem in status["problems"])
        assert call(project, "find_symbol_occurrences", symbol_name="f1")["status"] == "indexing_required"


def test_more_folders_than_may_be_watched_are_polled(folder, home, workers):
    write(folder, {f"d{n}/a.py": "x = 1\n" for n in range(10)})
    with opened(folder, home, workers, watches_max=5) as project:
        ready(project)
        status = project.status()
        assert status["watch"]["backend"] == "polling"
        assert any("watches_max" in problem for problem in status["problems"])
        write(folder, {"d3/b.py": "unheard = 1\n"})
        until(lambda: call(project, "search_text_pattern", query="unheard")["match_count"] == 1)
