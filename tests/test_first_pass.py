"""While a project is first indexed: text and names are complete, symbols say so, and answer for what is done."""

import os
from concurrent.futures import Future

import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.revisions import CHUNKS_REVISION, SYMBOLS_REVISION, TEXT_REVISION
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


NOT_READY = ("indexing_required", "embeddings_not_ready")


def statuses(project):
    """What the tools that stand on derived data say of `total`."""
    answers = [
        call(project, "find_symbol_occurrences", symbol_name="total"),
        call(project, "search_semantic_concept", concept_description="total"),
        call(project, "search_code", query="total", minSimilarity=0),
        call(project, "find_similar_code", codeSnippet="def total(): pass", minSimilarity=0),
        call(project, "explore_codebase"),
    ]
    assert [one.get("status") for one in answers if one.get("status") in NOT_READY] == []
    return answers


def test_a_restarted_project_is_ready_and_indexes_what_has_changed_before_it_answers(folder, home, workers):
    write(folder, {"a.py": "def total(): pass\n", "b.py": "total()\n"})
    with opened(folder, home, workers) as project:
        ready(project)
    write(folder, {"b.py": "total()\ntotal()\n"})
    with opened(folder, home, workers) as project:
        found, concepts, *_ = statuses(project)
        assert found["occurrence_count"] == 3
        assert "stale" not in found
        assert {one["file_path"] for one in concepts["results"]} == {"a.py", "b.py"}


def test_files_changed_while_no_daemon_ran_make_an_answer_stale_and_never_not_ready(folder, home, pool):
    pool.held = None
    write(folder, {"a.py": "def total(): pass\n"} | {f"slow/{n}.py": f"total({n})\n" for n in range(250)})
    with opened(folder, home, pool) as project:
        ready(project)
    pool.held = []
    write(folder, {f"slow/{n}.py": f"total(-{n})\n" for n in range(250)})
    with opened(folder, home, pool, symbols_wait_ms=50) as project:
        found, concepts, *others = statuses(project)
        assert [one["file_path"] for one in found["occurrences"]] == ["a.py"]
        assert [one["file_path"] for one in concepts["results"]] == ["a.py"]
        assert {one["stale"]["pending_files"] for one in (found, concepts, *others)} == {250}
        assert project.status()["state"] == "ready"
        pool.let_go()
        ready(project)
        assert call(project, "find_symbol_occurrences", symbol_name="total")["occurrence_count"] == 251


def outdate(project):
    """As if every index revision had been raised since the rows were written."""
    with project.database.transaction() as connection:
        connection.execute("UPDATE content SET text_revision = 1, symbols_revision = 1, chunks_revision = 99")


def test_rows_of_an_older_revision_answer_until_new_ones_stand(folder, home, pool):
    pool.held = None
    write(folder, {f"slow/{n}.py": f"def total{n}(): total()\n" for n in range(20)} | {"slow/t.py": "def total(): 1\n"})
    with opened(folder, home, pool) as project:
        ready(project)
        outdate(project)
    pool.held = []
    with opened(folder, home, pool, symbols_wait_ms=100) as project:
        answers = statuses(project)
        assert answers[0]["occurrence_count"] == 21
        assert len(answers[1]["results"]) == 5
        assert {one["stale"]["pending_files"] for one in answers} == {21}
        assert "upgrade" in answers[0]["stale"]["reason"]
        assert call(project, "search_text_pattern", query="total()")["match_count"] == 21
        pool.let_go()
        ready(project)
        with project.database.reader() as connection:
            revisions = connection.execute(
                "SELECT DISTINCT text_revision, symbols_revision, chunks_revision FROM content"
            ).fetchall()
        assert revisions == [(TEXT_REVISION, SYMBOLS_REVISION, CHUNKS_REVISION)]
        assert [one for one in statuses(project) if "stale" in one] == []
        assert call(project, "search_text_pattern", query="total()")["match_count"] == 21


def test_a_lost_index_says_that_it_is_made_anew(folder, home, pool):
    pool.held = None
    write(folder, {"slow/a.py": "def total(): pass\n"})
    with opened(folder, home, pool) as project:
        ready(project)
        path = project.database.path
    os.unlink(path)
    pool.held = []
    with opened(folder, home, pool) as project:
        assert call(project, "find_symbol_occurrences", symbol_name="total")["status"] == "indexing_required"
        assert call(project, "search_code", query="total")["status"] == "embeddings_not_ready"


def test_an_index_that_never_noted_its_first_pass_is_ready_by_its_rows(folder, home, pool):
    pool.held = None
    write(folder, {"slow/a.py": "def total(): pass\n"})
    with opened(folder, home, pool) as project:
        ready(project)
        with project.database.transaction() as connection:
            connection.execute("DELETE FROM note")
    pool.held = []
    with opened(folder, home, pool, symbols_wait_ms=50) as project:
        assert statuses(project)[0]["occurrence_count"] == 1


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
