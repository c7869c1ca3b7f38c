"""The `ctxd` command for people: output, exit codes and help, against the fake daemon."""

import contextlib
import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from ctxd.mcp_frontend import render

HERE = os.path.dirname(os.path.abspath(__file__))
FRONT_END = [sys.executable, os.path.join(HERE, "front_end.py")]
DEADLINE_S = 30
VERBS = ["start", "stop", "restart", "status", "add", "remove", "list", "search", "symbol", "ask", "files"]
VERBS += ["why", "outline", "explore", "undo", "edits", "call", "mcp", "model"]
VERBS += ["languages", "config", "logs", "version"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A CTXD_HOME with a daemon that all questions here go to."""
    home = tmp_path_factory.mktemp("cli")
    run("start", home=home)
    yield home
    stop_daemon(home)


@pytest.fixture
def empty_home(tmp_path):
    """A CTXD_HOME where no daemon has run."""
    yield tmp_path / "home"
    stop_daemon(tmp_path / "home")


def stop_daemon(home):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        os.kill(int((home / "daemon.lock").read_text()), signal.SIGKILL)


def until(condition):
    end = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end


def run(*arguments, home, stdin="", cwd=None, **environment):
    env = {**os.environ, "CTXD_HOME": str(home), **environment}
    return subprocess.run(
        [*FRONT_END, *arguments], input=stdin, capture_output=True, text=True, timeout=DEADLINE_S, env=env, cwd=cwd
    )


def on_terminal(*arguments, home, cwd=None, **environment):
    """What the command writes where stdout and stderr are a terminal."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "CTXD_HOME": str(home), "TERM": "xterm", **environment}
    process = subprocess.Popen([*FRONT_END, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, env=env, cwd=cwd)
    os.close(theirs)
    written = b""
    try:
        while data := os.read(ours, 1 << 16):
            written += data
    except OSError:  # how a terminal says that nobody holds its other end
        pass
    process.wait(DEADLINE_S)
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def test_every_verb_has_help_with_an_example(home):
    listed = run("--help", home=home).stdout
    assert re.findall(r"^    (\w+)  ", listed, re.MULTILINE) == VERBS
    for verb in VERBS:
        done = run(verb, "--help", home=home)
        assert done.returncode == 0
        assert f"example:\n  ctxd {verb}" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 1),
        (["nonsense"], 1),
        (["status", "--nonsense"], 1),
        (["status", "--wait", "nonsense"], 1),
        (["search"], 2),
        (["symbol", "a", "-d", "-r"], 2),
        (["files", "a", "--nonsense"], 2),
        (["call", "x", "--args", "{"], 1),
        (["call", "x", "--args", "[]"], 1),
        (["search", "x", "--project", "/"], 2),
        (["add", "/"], 1),
    ],
)
def test_wrong_usage_is_told_on_stderr(home, arguments, status):
    done = run(*arguments, home=home)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr


def test_search_in_a_pipe_prints_path_line_text(home, tmp_path):
    done = run("search", "hit", home=home, cwd=tmp_path)
    assert done.stdout == "src/a.py:2:two \x1b[31mhit\nsrc/b.py:2:two \x1b[31mhit\n"
    assert done.returncode == 0


def test_search_prints_contexts_as_ripgrep_does(home, tmp_path):
    done = run("search", "hit", "-C1", home=home, cwd=tmp_path)
    assert done.stdout.splitlines()[:3] == ["src/a.py-1-one", "src/a.py:2:two \x1b[31mhit", "src/a.py-3-three"]


def test_paths_are_shown_relative_to_the_working_folder(home, tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    assert run("search", "hit", home=home, cwd=tmp_path / "src").stdout.startswith("a.py:2:")


def test_search_on_a_terminal_groups_and_colours(home, tmp_path):
    written = on_terminal("search", "hit", home=home, cwd=tmp_path)
    assert "\x1b[35msrc/a.py\x1b[m\n\x1b[32m2\x1b[m:two \\x1b[31m\x1b[1;31mhit\x1b[m\n" in written


def test_no_color_is_honoured(home, tmp_path):
    assert "\x1b" not in on_terminal("search", "hit", home=home, cwd=tmp_path, NO_COLOR="1")


def test_search_json_is_one_object_of_all_pages(home, tmp_path):
    answer = json.loads(run("search", "hit", "--json", home=home, cwd=tmp_path).stdout)
    assert [match["file_path"] for match in answer["matches"]] == ["src/a.py", "src/b.py"]
    assert "next_cursor" not in answer


def test_search_status_is_ripgreps(home, tmp_path):
    assert run("search", "nothing", home=home, cwd=tmp_path).returncode == 1
    done = run("search", "(", home=home, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "ctxd: missing )\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nothing"], ""),
        (
            ["nothing", "--ext", "none"],
            "ctxd: no file was searched; --hidden searches hidden ones too, `ctxd why PATH` says why one is not\n",
        ),
        (["long"], "ctxd: long lines shown shortened, around their match: 2\n"),
        (["long", "-l"], ""),
        (["stale"], "ctxd: the answer may miss the latest changes: still listing (2 pending)\n"),
    ],
)
def test_an_answer_that_is_not_whole_says_so_on_stderr(home, tmp_path, arguments, said):
    assert run("search", *arguments, home=home, cwd=tmp_path).stderr == said


def test_search_passes_on_the_kinds_of_file(home, tmp_path):
    answer = json.loads(run("search", "hit", "--ext", "po", "--ext", ".mo", "--json", home=home, cwd=tmp_path).stdout)
    assert answer["asked"]["file_extensions"] == ["po", ".mo"]


def test_only_what_is_required_is_said_to_be_missing(home):
    assert "required: PATTERN; see" in run("search", home=home).stderr


def test_an_error_is_told_without_the_name_of_an_exception(home, tmp_path):
    done = run("files", "[", home=home, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "ctxd: no ]\n")


def test_a_working_folder_that_is_gone_is_named(home, tmp_path):
    def in_gone_folder(*arguments):
        gone = tmp_path / "gone"
        gone.mkdir()
        command = ["sh", "-c", 'rmdir ../gone; exec "$@"', "sh", *FRONT_END, *arguments]
        return subprocess.run(
            command, cwd=gone, env={**os.environ, "CTXD_HOME": str(home)}, capture_output=True, text=True
        )

    for arguments in (["search", "hit"], ["add"], ["remove"]):
        assert "working folder does not exist any more. Go to" in in_gone_folder(*arguments).stderr
    assert in_gone_folder("status").returncode == 0


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_output_is_no_bug(home, tmp_path, closed):
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *FRONT_END, "search", "hit"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "CTXD_HOME": str(home)}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_symbol_before_the_index_is_ready_says_how_to_wait(home, tmp_path):
    done = run("symbol", "early", home=home, cwd=tmp_path)
    assert done.returncode == 2
    assert "1 of 4 files" in done.stderr
    assert "ctxd status --wait ready" in done.stderr


def test_symbol_prints_place_and_grade_of_each_occurrence(home, tmp_path):
    assert (
        run("symbol", "get", home=home, cwd=tmp_path).stdout == "src/a.py:7:5:definition function a.get: def get():\n"
    )


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        (["Main"], "*Main*"),
        (["ab1"], "*[Aa][Bb]1*"),
        (["ab", "-s"], "*ab*"),
        (["A!", "-i"], "*[Aa]\\!*"),
        ([], "*"),
        (["*.py"], "*.py"),
        (["x[ab].*", "-i"], "[Xx][ab].*"),
        (["-g", "main"], "main"),
        (["Src/ma"], "**/*Src/*ma*"),
        (["-t", "f", "{a,b}"], "{a,b}"),
    ],
)
def test_bare_word_is_part_of_a_file_name(home, tmp_path, typed, asked):
    assert run("files", *typed, home=home, cwd=tmp_path).stdout == f"asked/{asked}\n"


def test_what_narrows_a_query_travels_in_the_hello(home, tmp_path):
    flags = ["-g", "*.c", "-g", "!x", "-t", "c", "--hidden"]
    asked = json.loads(run("search", "hit", *flags, "--json", home=home, cwd=tmp_path).stdout)["hello"]["only"]
    assert asked == {"globs": ["*.c", "!x"], "languages": ["c"], "hidden": True}
    asked = json.loads(run("files", "-e", "py", "-H", "--json", home=home, cwd=tmp_path).stdout)["hello"]["only"]
    assert asked == {"extensions": ["py"], "hidden": True}
    for word, hidden in ((".gitignore", True), ("src/.env", True), ("./src", False), ("a.py", False)):
        asked = json.loads(run("files", word, "--json", home=home, cwd=tmp_path).stdout)["hello"]["only"]
        assert asked["hidden"] is hidden


def test_search_prints_files_or_counts(home, tmp_path):
    assert run("search", "-l", "hit", home=home, cwd=tmp_path).stdout == "src/a.py\nsrc/b.py\n"
    assert run("search", "-c", "hit", home=home, cwd=tmp_path).stdout == "src/a.py:1\nsrc/b.py:1\n"
    assert run("search", "-c", "nothing", home=home, cwd=tmp_path).returncode == 1


@pytest.mark.parametrize(
    ("flags", "query", "is_regex"),
    [
        (["a+"], "a+", True),
        (["a+", "-F"], "a+", False),
        (["a|b", "-w"], r"(?:^|\W)(?:a|b)(?:\W|$)", True),
        (["a+ é", "-w", "-F"], r"(?:^|\W)(?:a\+ é)(?:\W|$)", True),
    ],
)
def test_whole_words_are_a_pattern_around_the_pattern(home, tmp_path, flags, query, is_regex):
    asked = json.loads(run("search", *flags, "--json", home=home, cwd=tmp_path).stdout)["asked"]
    assert (asked["query"], asked["is_regex"]) == (query, is_regex)


def test_the_last_edit_that_is_not_taken_back_is_taken_back(home, tmp_path):
    path = str(tmp_path / "known")
    listed = run("edits", path, home=home, cwd="/")
    assert listed.stdout == (
        "    7  2026-11-21 12:00:00  TextPatch  p/a.md  taken back\n    6  2026-11-21 12:00:00  TextPatch  p/a.md\n"
    )
    assert [one["id"] for one in json.loads(run("edits", path, "--json", home=home).stdout)["edits"]] == [7, 6]
    done = run("undo", path, home=home, cwd="/")
    assert (done.returncode, done.stdout) == (0, "p/a.md: as it was before edit 6 (TextPatch)\n")
    assert json.loads(run("undo", path, "--json", home=home).stdout)["undone"]["id"] == 6
    none = run("undo", "other", home=home, cwd=tmp_path)
    assert (none.returncode, none.stdout) == (1, "")
    assert "no edit of other" in none.stderr
    assert run("edits", "other", home=home, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(("path", "status"), [("a.py", 0), ("build/a.o", 1)])
def test_why_tells_the_reason_and_its_status(home, tmp_path, path, status):
    done = run("why", path, home=home, cwd=tmp_path)
    assert done.returncode == status
    words = ["searched", "python", "a note"] if status == 0 else ["not searched: a reason"]
    assert all(word in done.stdout for word in words)
    assert json.loads(run("why", path, "--json", home=home, cwd=tmp_path).stdout)["path"] == str(tmp_path / path)


def test_an_outline_is_printed_indented_and_its_status_says_whether_there_is_one(home, tmp_path):
    done = run("outline", "a.py", home=home, cwd=tmp_path)
    assert (done.stdout, done.returncode) == (" 1-12    function f(a, b)\n", 0)
    assert "\x1b[1mf\x1b[m(a, b)" in on_terminal("outline", "a.py", home=home, cwd=tmp_path)
    assert run("outline", "a.txt", home=home, cwd=tmp_path).returncode == 1
    assert json.loads(run("outline", "a.py", "--json", home=home, cwd=tmp_path).stdout)["path"] == str(
        tmp_path / "a.py"
    )


def test_files_below_a_folder(home, tmp_path):
    answer = json.loads(run("files", "*.yml", ".github", "--json", home=home, cwd=tmp_path).stdout)
    assert answer["asked"] == {"name_pattern": "*.yml", "path": str(tmp_path / ".github"), "max_tokens": 100_000}


def test_call_prints_the_tools_answer(home, tmp_path):
    done = run("call", "x", "--args", '{"a": "é"}', home=home, cwd=tmp_path)
    assert json.loads(done.stdout)["arguments"] == {"a": "é"}
    assert json.loads(run("call", "x", "--args", "-", stdin='{"b": 1}', home=home, cwd=tmp_path).stdout)[
        "arguments"
    ] == {"b": 1}


def test_call_fails_where_the_tool_does(home, tmp_path):
    failing = '{"query": "(", "context_lines": 0}'
    done = run("call", "search_text_pattern", "--args", failing, home=home, cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["status"]) == (1, "error")


def test_daemon_that_dies_in_a_call_is_an_error(empty_home, tmp_path):
    done = run("call", "die", home=empty_home, cwd=tmp_path)
    assert (done.returncode, "ended during the call" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("states", "code"), [("ready", 0), ("ready,indexing", 2), ("scanning", 2), ("indexing,degraded", 3), ("missing", 3)]
)
def test_status_code_is_that_of_the_worst_project(empty_home, states, code):
    run("start", home=empty_home, FAKE_STATES=states)
    done = run("status", home=empty_home)
    assert done.returncode == code
    assert states.split(",")[0] in done.stdout
    assert len(json.loads(run("status", "--json", home=empty_home).stdout)["projects"]) == len(states.split(","))


def test_without_a_daemon_nothing_is_started_by_who_only_looks(empty_home):
    assert run("status", home=empty_home).returncode == 4
    assert run("status", "--wait", "ready", home=empty_home).returncode == 4
    assert json.loads(run("status", "--json", home=empty_home).stdout)["daemon"]["running"] is False
    for arguments in (["stop"], ["list"], ["version"]):
        assert run(*arguments, home=empty_home).returncode == 0
    assert run("logs", home=empty_home).returncode == 1
    assert not empty_home.exists()


def test_list_reads_the_registry_where_no_daemon_runs(empty_home):
    empty_home.mkdir()
    (empty_home / "projects.json").write_text('["/a", "/b"]')
    assert run("list", home=empty_home).stdout == "/a\n/b\n"


def test_status_of_an_unknown_folder_is_an_error(home, tmp_path):
    done = run("status", str(tmp_path), home=home)
    assert (done.returncode, "is in no project" in done.stderr) == (1, True)


def test_add_waits_until_ready(home, tmp_path):
    done = run("add", str(tmp_path), home=home)
    assert done.stdout.startswith(f"{tmp_path}: ready (4 files, 9 symbols)")
    assert run("add", str(tmp_path), "--no-wait", home=home).stdout == f"{tmp_path}: indexing\n"


def test_add_shows_progress_on_a_terminal(home, tmp_path):
    written = on_terminal("add", str(tmp_path), home=home)
    assert "indexing [######..................]  25%  1/4 files, 2 s left" in written


def test_remove_says_what_it_removed(home, tmp_path):
    assert run("remove", home=home, cwd=tmp_path).stdout == f"{tmp_path}: removed\n"


def test_languages_and_config_are_tables_or_json(home):
    assert run("languages", home=home).stdout.splitlines()[1].split() == ["python", "yes", ".py", ".pyi"]
    assert json.loads(run("languages", "--json", home=home).stdout)["languages"][0]["name"] == "python"
    assert run("config", home=home).stdout.splitlines()[1].split()[:3] == ["idle_exit_hours", "3", "default"]
    assert json.loads(run("config", "--json", home=home).stdout)["settings"][0]["value"] == 3


def test_logs_end_with_the_last_lines(empty_home):
    empty_home.mkdir()
    (empty_home / "ctxd.log").write_text("".join(f"line {n}\n" for n in range(20_000)))
    assert run("logs", "-n", "2", home=empty_home).stdout == "line 19998\nline 19999\n"
    assert len(run("logs", "-n", "10000", home=empty_home).stdout.splitlines()) == 10_000


def test_logs_follow_through_a_rotation(empty_home):
    empty_home.mkdir()
    log = empty_home / "ctxd.log"
    log.write_text("old\n")
    env = {**os.environ, "CTXD_HOME": str(empty_home)}
    process = subprocess.Popen([*FRONT_END, "logs", "-f"], stdout=subprocess.PIPE, text=True, env=env)
    assert process.stdout.readline() == "old\n"
    log.rename(empty_home / "ctxd.log.1")
    log.write_text("new\n")
    assert process.stdout.readline() == "new\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(DEADLINE_S) == 130
    process.stdout.close()


def test_closed_pipe_ends_quietly(home, tmp_path):
    read_end, write_end = os.pipe()
    os.close(read_end)
    env = {**os.environ, "CTXD_HOME": str(home)}
    process = subprocess.Popen(
        [*FRONT_END, "search", "hit"], stdout=write_end, stderr=subprocess.PIPE, env=env, cwd=tmp_path
    )
    os.close(write_end)
    assert process.communicate(timeout=DEADLINE_S)[1] == b""
    assert process.returncode == 141


def test_foreground_is_the_daemon_itself(empty_home):
    env = {**os.environ, "CTXD_HOME": str(empty_home)}
    process = subprocess.Popen([*FRONT_END, "start", "--foreground"], env=env)
    until(lambda: run("status", home=empty_home).returncode == 0)
    assert json.loads(run("version", "--json", home=empty_home).stdout)["daemon"]["pid"] == process.pid
    assert run("start", "--foreground", home=empty_home).returncode == 1
    assert run("stop", home=empty_home).returncode == 0
    assert process.wait(DEADLINE_S) == 0


def test_version_names_both_builds(home):
    answer = json.loads(run("version", "--json", home=home).stdout)
    assert answer["build"] == answer["daemon"]["build"]
    assert "the same build" in run("version", home=home).stdout


@pytest.mark.parametrize(("flags", "sensitive"), [([], True), (["-i"], False), (["-S"], False), (["-S", "-F"], True)])
def test_case_matters_as_in_ripgrep(home, tmp_path, flags, sensitive):
    done = run("search", r"\Shit", *flags, "--json", home=home, cwd=tmp_path)
    assert json.loads(done.stdout)["asked"]["case_sensitive"] is sensitive


def test_a_pattern_that_runs_away_in_the_terminal_only_costs_the_colour():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    lines = ["a" * 60 + "b", "ba"]
    found = [{"file_path": "x", "line_number": n, "matched_line": line, "context": []} for n, line in enumerate(lines)]
    stream = Terminal()
    assert render.matches(render.Screen("/", stream), found, re.compile("(a+)+$")) == 2
    for line in lines:
        assert line in stream.getvalue()
