"""Look-around, back-references, atomic groups: what they match, and that no pattern holds more than its time."""

import os
import random
import signal
import threading
import time

import pytest
from differential import random_looking_pattern, random_pattern, random_text, satisfies

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.patterns import matching, trigrams
from ctxd.indexer.patterns.pattern import OutOfTime, PatternError, Worker, compile_pattern
from projects import ready, until, write

RUNS_AWAY = "(?=(a+)+$)a"
HOSTILE = "a" * 60 + "b"


@pytest.fixture
def regex(workers):
    def compiled(query, *, ignore_case=False, seconds=9.0, stop=lambda: False):
        worker = Worker(lambda job: workers.result(job, stop), lambda: seconds)
        return compile_pattern(query, is_regex=True, case_sensitive=not ignore_case, worker=worker)

    return compiled


def matches(pattern, text):
    """(line number, first match) of each line with one."""
    data = text.encode()
    return [
        (data.count(b"\n", 0, start) + 1, data[first:last].decode())
        for start, _, first, last in pattern.line_matches(data)
    ]


@pytest.mark.parametrize(
    ("query", "text", "found"),
    [
        (r"foo(?=bar)", "foobar\nfoo\néfoobar", [(1, "foo"), (3, "foo")]),
        (r"foo(?!bar)", "foobar\nfoo\nfoobaz", [(2, "foo"), (3, "foo")]),
        (r"(?<=a|bc)x", "ax\nbcx\ncx\nx\néax", [(1, "x"), (2, "x"), (5, "x")]),
        (r"(?<!a|bc)x", "ax\nbcx\ncx\nx\néx", [(3, "x"), (4, "x"), (5, "x")]),
        (r"(?<!.)x", "x\nxx\n\nax", [(1, "x"), (2, "x")]),
        (r"(?<=^|,)\d+(?=,|$)", "1,22\na,3\nb4", [(1, "1"), (2, "3")]),
        (r"x(?!.)", "xx\nxy", [(1, "x")]),
        (r"(?=$)", "a\n\nb", [(1, ""), (2, ""), (3, "")]),
        (r"\b(\w+) \1\b", "the the\nthe them\nété été\nétéx été", [(1, "the the"), (3, "été été")]),
        (r"\B(?=)", "\na\nab", [(1, ""), (3, "")]),
        (r"(?P<q>[\"'])[^\"']*(?P=q)", "\"a'\n'é' \"b\"", [(2, "'é'")]),
        (r"(?<q>.)x\k<q>", "axb\nbxb", [(2, "bxb")]),
        (r"(a)?\1b", "b\naab", [(2, "aab")]),
        (r"(?:(a)|b)*\1c", "abac\nbc\nabaac", [(1, "abac"), (3, "abaac")]),
        (r"(?i)(ab)\1", "abAB\nabac", [(1, "abAB")]),
        (r"(a)(?i:\1)b", "aAb\nAAb", [(1, "aAb")]),
        (r"(ß)\1", "ßß\nßẞ", [(1, "ßß")]),
        (r"(?>a+)ab|c", "aaab\nc", [(2, "c")]),
        (r"(?<=[é-ü])(?>x)", "ex\néx", [(2, "x")]),
        (r"(?x) a (?= b ) # a before b", "ab\nac", [(1, "a")]),
        (r"(a)(?:\1)0", "aa0", [(1, "aa0")]),
    ],
)
def test_what_they_match(regex, query, text, found):
    pattern = regex(query)
    assert matches(pattern, text) == found
    assert matches(pattern, text + "\n") == found
    assert pattern.undecided == 0


def test_all_matches_of_a_line_are_found_whatever_their_number(regex):
    for line in ("é" + "ab" * 1500, "ab" * 2000):
        data = line.encode()
        spans = list(regex("a(?=b)").matches_in_line(data))
        assert [data[first:last] for first, last in spans] == [b"a"] * line.count("a")
        assert len(set(spans)) == len(spans)
    assert list(regex("(?=b)|").matches_in_line("éb".encode())) == [(0, 0), (2, 2), (3, 3)]
    assert list(regex("x*(?!y)").matches_in_line("éxx".encode())) == [(0, 0), (2, 4)]


def test_groups_are_those_of_the_first_match(regex):
    pattern = regex(r"(?P<key>\w+)(?==)=(?:(\d+)|(\w))(?<last>(?=!))?")
    assert pattern.groups("x é1=20 z=3".encode()) == (["é1", "20", None, None], {"key": "é1", "last": None})
    assert pattern.groups(b"nothing") == ([], {})
    assert regex("a(?=b)").groups(b"ab") == ([], {})


def test_they_mean_the_same_as_without():
    """The engine that backtracks has the classes, the case and the boundaries of the other one."""
    dice = random.Random(6)
    pool = WorkerPool(1)
    found = 0
    for _ in range(200):
        query, case_sensitive = random_pattern(dice), dice.random() < 0.6
        text = random_text(dice, 20)
        plain = compile_pattern(query, is_regex=True, case_sensitive=case_sensitive)
        worker = Worker(lambda job: pool.result(job, lambda: False), lambda: 9.0)
        other = compile_pattern(f"(?:{query})(?=)", is_regex=True, case_sensitive=case_sensitive, worker=worker)
        expected = [(start, first) for start, _, first, _ in plain.line_matches(text.encode())]
        assert [(start, first) for start, _, first, _ in other.line_matches(text.encode())] == expected, query
        found += len(expected)
    pool.close()
    assert found > 500


def test_what_narrows_asks_for_no_more_than_what_matches(regex):
    dice = random.Random(5)
    found = narrowed = 0
    for _ in range(200):
        query, ignore_case = random_looking_pattern(dice), dice.random() < 0.4
        try:
            pattern = regex(query, ignore_case=ignore_case)
        except PatternError:
            continue
        narrowed += pattern.trigrams != trigrams.EVERYTHING
        text = random_text(dice, 20)
        for number, _ in matches(pattern, text):
            found += 1
            line = text.split("\n")[number - 1]
            assert satisfies(pattern.trigrams, trigrams.fold(line.encode())), (query, line)
    assert found > 300
    assert narrowed > 20


def test_what_must_follow_narrows(regex):
    both = regex("^(?=.*alpha)(?=.*beta)").trigrams
    assert satisfies(both, b"beta alpha")
    assert not satisfies(both, b"alpha")
    assert satisfies(regex("alpha(?!beta)").trigrams, b"alpha")
    assert not satisfies(regex(r"(alpha)\\1").trigrams, b"beta")


# Time


def test_a_line_that_runs_away_is_noted_and_the_next_ones_are_matched(regex):
    pattern = regex(RUNS_AWAY, seconds=1.0)
    assert matches(pattern, f"a\n{HOSTILE}\né aa\n{HOSTILE}é\nba") == [(1, "a"), (3, "a"), (5, "a")]
    assert pattern.undecided == 2


def test_what_was_found_in_a_line_before_it_ran_away_counts(regex):
    pattern = regex(f"x(?=y)|{RUNS_AWAY}", seconds=1.0)
    assert list(pattern.matches_in_line(f"xy xy {HOSTILE}".encode())) == [(0, 1), (3, 4)]
    assert pattern.undecided == 1


def test_who_has_no_time_left_is_told_where_it_ended(regex):
    with pytest.raises(OutOfTime) as caught:
        matches(regex("a(?=b)", seconds=0.0), "b\nab\nab")
    assert caught.value.line_start == 2
    began = time.monotonic()
    with pytest.raises(OutOfTime):
        matches(regex(RUNS_AWAY, stop=lambda: time.monotonic() > began + 0.1), HOSTILE)
    assert time.monotonic() - began < 5


def test_a_process_that_is_killed_leaves_its_lines_undecided_and_the_next_query_an_answer():
    pool = WorkerPool(1)
    worker = Worker(lambda job: pool.result(job, lambda: False), lambda: 60.0)
    pattern = compile_pattern(RUNS_AWAY, is_regex=True, case_sensitive=True, worker=worker)
    assert matches(pattern, "ba") == [(1, "a")]
    (pid,) = pool.stats().pids
    thread = threading.Thread(target=matches, args=(pattern, HOSTILE))
    thread.start()
    until(lambda: _state(pid) == "R")
    os.kill(pid, signal.SIGKILL)
    thread.join()
    assert pattern.undecided == 1
    assert matches(pattern, "ba") == [(1, "a")]
    (pid,) = pool.stats().pids
    os.kill(pid, signal.SIGKILL)  # while it has nothing to do
    until(lambda: _state(pid) == "Z")
    assert matches(pattern, "ba") == [(1, "a")]
    assert pattern.undecided == 1
    pool.close()


def _state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


def test_a_line_larger_than_a_pipe_is_matched(regex):
    line = "é" * 1_500_000 + "needle!"
    assert matches(regex(r"(?<=é)needle(?!\?)"), f"x\n{line}\n") == [(2, "needle")]


def test_without_a_worker_they_are_refused():
    with pytest.raises(PatternError, match="not possible here"):
        compile_pattern("a(?=b)", is_regex=True, case_sensitive=True)


# Tools


def call(project, tool, seconds=9.0, **arguments):
    return TOOLS[tool].call(Call(View(project), ends_at=time.monotonic() + seconds), arguments)


def test_every_text_tool_knows_them(project, folder):
    write(folder, {"a.py": "foobar foobaz\nfoobar\nthe the\n", "b.py": "foobaz\n"})
    ready(project)
    found = call(project, "search_text_pattern", query=r"(?P<stem>foo)(?!bar)", is_regex=True)
    assert [(m["file_path"], m["line_number"], m["match_details"]) for m in found["matches"]] == [
        (path, 1, {"groups": ["foo"], "named_groups": {"stem": "foo"}}) for path in ("a.py", "b.py")
    ]
    found = call(project, "search_in_files", query=r"foo(?=bar)", use_regex=True, exclude_query=r"(?<!^)foo(?=baz)")
    assert [(m["file_path"], m["line_number"]) for m in found["matches"]] == [("a.py", 2)]
    found = call(project, "search_in_files", query=r"foo(?=ba)", useRegex=True, contract="grouped")
    assert [(r["file"]["path"], len(r["matches"])) for r in found["results"]] == [("a.py", 3), ("b.py", 1)]
    found = call(project, "search_project_code", pattern=r"\b(\w+) \1\b")
    assert [(m["file"], m["line_number"], m["match"]) for m in found["results"]] == [("a.py", 3, "the the")]
    assert "timed_out" not in found


def test_an_answer_says_which_files_took_too_long_and_has_all_others(project, folder):
    write(folder, {"a.py": f"{HOSTILE}\na\n", "b.py": "a\n", "c.py": "c\n"})
    ready(project)
    arguments = {"query": RUNS_AWAY, "is_regex": True, "case_sensitive": True}
    found = call(project, "search_text_pattern", seconds=2.0, **arguments)
    assert [(m["file_path"], m["line_number"]) for m in found["matches"]] == [("a.py", 2), ("b.py", 1)]
    assert (found["timed_out"], found["total_is_exact"]) == (True, False)
    assert found["coverage"] == {"files_searched": 2, "skipped": {"failed": 1}}
    assert "next_cursor" not in found
    found = call(project, "search_in_files", seconds=2.0, query="[ac]", use_regex=True, exclude_query=RUNS_AWAY)
    assert [(m["file_path"], m["line_number"]) for m in found["matches"]] == [("c.py", 1)]
    assert found["timed_out"]
    found = call(project, "search_in_files", seconds=2.0, query=RUNS_AWAY, useRegex=True, caseSensitive=True)
    assert [r["file"]["path"] for r in found["results"]] == ["a.py", "b.py"]
    assert (found["timed_out"], found["total_is_exact"]) == (True, False)


def test_a_call_that_runs_out_of_time_goes_on_with_its_cursor(project, folder):
    write(folder, {"a.py": f"{HOSTILE}\n" * 12 + "a 1\n", "b.py": f"a 2\n{HOSTILE}\n" * 12})
    ready(project)
    found, cursor, calls = [], {}, 0
    while calls == 0 or cursor:
        arguments = {"query": "(?=(a+)+( |$))a", "is_regex": True, "case_sensitive": True, "context_lines": 0}
        answer = call(project, "search_text_pattern", seconds=0.4, **arguments, **cursor)
        assert answer["timed_out"]
        found += [(m["file_path"], m["line_number"]) for m in answer["matches"]]
        cursor = {"cursor": answer["next_cursor"]} if "next_cursor" in answer else {}
        calls += 1
        assert calls < 100
    assert found == [("a.py", 13), *(("b.py", number) for number in range(1, 25, 2))]
    assert calls > 1


# The clock's tick may fall into a destructor, which swallows the exception; the next tick raises it again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_pattern_that_takes_too_long_to_compile_is_an_error(project, folder, monkeypatch):
    write(folder, {"a.py": "x\n"})
    ready(project)
    monkeypatch.setattr(matching, "COMPILE_SECONDS", 0.0)
    monkeypatch.setattr(project.matchers, "result", lambda job, _stop: job.run(9.0))
    with pytest.raises(ToolError, match="too large"):
        call(project, "search_text_pattern", query="(?=" + "[^a]" * 20_000 + "|x)", is_regex=True)
