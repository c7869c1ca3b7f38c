"""A project's own settings only tighten, and nothing that is wrong with its files keeps it from being served."""

import os

import pytest

from ctxd.daemon import protocol
from ctxd.daemon.projects import project_settings
from ctxd.daemon.projects.config import Settings
from projects import write


def load(folder, **environment):
    return project_settings.load(protocol.places(), str(folder), environment)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("allow_secrets = true", "cannot allow secrets"),
        ("parse_seconds = 600.0", "can only lower it"),
        ("settle_ms = 151", "can only lower it"),
        ("symbols_wait_ms = 9000", "can only lower it"),
        ("watches_max = 1000000", "can only lower it"),
        ("index_files_max = 500001", "can only lower it"),
        ("index_mib_max = 10000000", "can only lower it"),
        ("workers = 1", "one for all projects"),
        ('model = "openai:x"', "only a model that is on this machine"),
        ('model = "path:/etc"', "only a model that is on this machine"),
        ("nothing = 1", "there is no setting 'nothing'"),
        ("settle_ms = 1", "greater than or equal to 10"),
        ('settle_ms = "fast"', "valid integer"),
    ],
)
def test_what_goes_further_stays_as_the_user_has_it_and_is_told(folder, line, why):
    write(folder, {".ctxd.toml": f"sweep_seconds = 30\n{line}\n"})
    loaded = load(folder)
    assert loaded.settings == Settings(sweep_seconds=30)
    [problem] = loaded.problems
    assert problem.startswith(f"{folder / '.ctxd.toml'}, line 2: ")
    assert why in problem


def test_limits_go_down_from_what_the_user_has_set(home, folder):
    write(home, {"ctxd.toml": "parse_seconds = 5.0\nallow_secrets = true\n"})
    write(folder, {".ctxd.toml": "parse_seconds = 6.0\nallow_secrets = false\nindex_files_max = 10\n"})
    loaded = load(folder)
    assert (loaded.settings.parse_seconds, loaded.settings.allow_secrets, loaded.settings.index_files_max) == (
        5,
        False,
        10,
    )
    assert "it stays 5.0" in loaded.problems[0]
    write(folder, {".ctxd.toml": "parse_seconds = 4.0\n", "pyproject.toml": "[tool.ctxd]\nparse_seconds = 3.0\n"})
    assert load(folder).settings.parse_seconds == 4  # the later file wins
    assert load(folder, CTXD_PARSE_SECONDS="4.5").settings.parse_seconds == 4.5  # a variable wins over files
    write(folder, {".ctxd.toml": "allow_secrets = true\n"})
    assert load(folder).problems == []  # what the user allows anyway goes no further


def endless(path, kind):
    if kind == "link to a device":
        path.symlink_to("/dev/zero")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "10 GB":
        path.touch()
        os.truncate(path, 10 << 30)
    elif kind == "folder":
        path.mkdir()
    elif kind == "not UTF-8":
        path.write_bytes(b"[tool.ctxd]\nsettle_ms = 100 # \xe9\n")
    elif kind == "brackets":
        path.write_bytes(b"[tool.ctxd]\nx = " + b"[" * 200_000)
    elif kind == "dots":
        path.write_bytes(b"[tool.ctxd]\n" + b"a." * 200_000 + b"a = 1\n")
    elif kind == "numbers":
        path.write_bytes(b"".join(b"k%d = 1\n" % number for number in range(30_000)))
    elif kind == "no TOML":
        path.write_bytes(b"[tool.ctxd]\nsettle_ms 100\n")
    elif kind == "no table":
        path.write_bytes(b"[tool]\nctxd = 3\n")


KINDS = (
    "link to a device",
    "fifo",
    "10 GB",
    "folder",
    "not UTF-8",
    "brackets",
    "dots",
    "numbers",
    "no TOML",
    "no table",
)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_no_parser_survives_is_a_problem_and_no_more(folder, kind):
    name = ".ctxd.toml" if kind == "numbers" else "pyproject.toml"
    endless(folder / name, kind)
    loaded = load(folder)
    assert loaded.settings == Settings()
    assert loaded.problems
    assert all(name in problem and len(problem) < 600 for problem in loaded.problems)
    assert len(loaded.problems) <= project_settings.PROBLEMS_MAX + 1


@pytest.mark.parametrize("data", [b"name = '\xe9'\n", b"x = " + b"[" * 200_000, b"[broken\n"])
def test_a_broken_pyproject_that_says_nothing_about_ctxd_is_the_projects_affair(folder, data):
    write(folder, {"pyproject.toml": data})
    assert load(folder).problems == []
