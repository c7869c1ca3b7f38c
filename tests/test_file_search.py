"""File names: one answer, whichever backend looks for them."""

import itertools
import os
import re

import pytest

from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import Hello
from ctxd.daemon.server import Session
from ctxd.indexer.files.scope import Scope
from ctxd.indexer.names import finders
from ctxd.indexer.patterns import glob
from ctxd.indexer.patterns.glob import GlobError
from ctxd.indexer.programs import FILES_BACKENDS, TEXT_BACKENDS, Programs
from ctxd.indexer.text.text_search import Search
from projects import opened, write

NAMES = [
    "a.py",
    "b.PY",
    "ab.py",
    "[x].py",
    "*.py",
    "é.py",
    "-dash.py",
    "new\nline.py",
    os.fsdecode(b"inv\xff.py"),
    "a b.c",
]
NAMES += [
    "src/a.py",
    "src/deep/er/ab.c",
    "src/.hidden/a.py",
    ".github/a.py",
    "src/a-b/x.py",
    "build/a.py",
    "x{y}.py",
    "back\\slash",
]
GLOBS = [
    "*",
    "*.py",
    "?.py",
    "a*",
    "[!a]*.py",
    "\\[x\\].py",
    "\\*.py",
    "é.*",
    "*.{py,c}",
    "{src,build}/*.py",
    "src/**",
    "src/**/*.c",
]
GLOBS += [
    "**/a.py",
    "s**/ab.c",
    "a**b.c",
    "sr[a-c]/*",
    "src/*/*/a?.c",
    "inv*",
    "./a.py",
    "x\\{y\\}.py",
    "back\\\\*",
    "*\n*",
    "[.-0]*",
    "nothing",
    "**",
    "**/*.py",
    "*/**/*.c",
    "s*/d*/**",
    "src/de{ep/er,}/a?.c",
    "src/[dx]eep/**/*.c",
    "/a.py",
]
SCOPES = [
    Scope(),
    Scope((b"src",)),
    Scope((b"src/.hidden",)),
    Scope((b"a.py",)),
    Scope((b"src", b"b.PY")),
    Scope(hidden=True),
]


@pytest.fixture
def project(folder, home, workers):
    write(folder, {".gitignore": "build/\n", ".git/a.py": ""} | dict.fromkeys(NAMES, "text"))
    (folder / "link.py").symlink_to("a.py")
    os.mkfifo(folder / "pipe.py")
    with opened(folder, home, workers) as one:
        yield one


def names(project, pattern, scope, backend, **more):
    return list(project.names.search(pattern, scope, Search(stop=lambda: False, backend=backend), **more))


def test_every_backend_gives_the_same_names_in_the_same_order(project):
    for pattern, scope in itertools.product(GLOBS, SCOPES):
        expected = names(project, pattern, scope, "index")
        assert expected == sorted(expected)
        for backend in FILES_BACKENDS:
            assert names(project, pattern, scope, backend) == expected, (pattern, backend, scope)
        if expected:
            assert names(project, pattern, scope, "find", after=expected[0]) == expected[1:]


def test_names_are_found_on_every_shelf(folder, home, workers):
    write(folder, {f"d{n % 40:02}/e{n % 7}/f{n}.{'ch'[n % 2]}": "" for n in range(1_500)})
    with opened(folder, home, workers) as project:
        for pattern, scope in itertools.product(
            ["*", "*.c", "f77*", "**/e3/**/*.h", "d1*/e?/*.c", "d07/**"],
            [Scope(), Scope((b"d07",)), Scope((b"d38/e3", b"d02", b"d11/e4/f11.h"))],
        ):
            expected = names(project, pattern, scope, "python")
            assert names(project, pattern, scope, "index") == expected, (pattern, scope)
            for after in expected[::100]:
                found = names(project, pattern, scope, "index", after=after)
                assert found == expected[expected.index(after) + 1 :]


def test_a_name_between_two_that_are_there_is_found_at_once(project, folder):
    assert names(project, "a*.py", Scope(), "index", after=b"a.py")[:1] == [b"ab.py"]
    write(folder, {"aa.py": ""})
    (folder / "ab.py").unlink()
    assert project.files_now() is None
    assert names(project, "a*.py", Scope(), "index", after=b"a.py")[:1] == [b"aa.py"]
    assert b"ab.py" not in names(project, "*", Scope(), "index", after=b"a.py")


def test_a_finder_that_is_missing_or_fails_is_passed_over(project):
    expected = names(project, "*.py", Scope(), "index")
    assert len(expected) > 8
    for program in (None, "/nonexistent", "/bin/false"):
        project.names.programs = Programs(fd=program, find=program)
        for backend in FILES_BACKENDS:
            assert names(project, "*.py", Scope(), backend) == expected


@pytest.mark.parametrize("pattern", [pattern for pattern in GLOBS if "*.py" in pattern or "[" in pattern])
def test_a_weaker_glob_has_no_set_and_no_braces(pattern):
    assert not re.search(r"(?<!\\)[\[{?/]", finders.weaker(pattern))


@pytest.mark.parametrize(
    ("globs", "taken"),
    [
        ((), {"a.c", "a.h", "src/a.c", "src/vendor/a.c", "doc/a.md"}),
        (("*.c",), {"a.c", "src/a.c", "src/vendor/a.c"}),
        (("*.{c,h}", "!vendor"), {"a.c", "a.h", "src/a.c"}),
        (("!vendor/",), {"a.c", "a.h", "src/a.c", "doc/a.md"}),
        (("!a.c",), {"a.h", "doc/a.md"}),
        (("!*.c", "src/*.c"), {"src/a.c"}),
        (("/a.*",), {"a.c", "a.h"}),
        (("src/**",), {"src/a.c", "src/vendor/a.c"}),
        (("src",), set()),
    ],
)
def test_globs_of_a_connection_choose_as_ripgreps_do(globs, taken):
    paths = ["a.c", "a.h", "src/a.c", "src/vendor/a.c", "doc/a.md"]
    assert {path for path in paths if glob.Chosen(globs, b"").takes(path.encode())} == taken


def test_globs_with_a_slash_are_relative_to_the_working_folder():
    chosen = glob.Chosen(("lib/*.c", "!x.c"), b"src")
    assert chosen.takes(b"src/lib/a.c")
    assert not chosen.takes(b"lib/a.c")
    assert not chosen.takes(b"src/lib/x.c")


@pytest.mark.parametrize("pattern", ["[a", "a\0b", "x/[a"])
def test_a_broken_glob_is_an_error_for_every_backend(project, pattern):
    for backend in FILES_BACKENDS:
        with pytest.raises(GlobError):
            names(project, pattern, Scope(), backend)


@pytest.mark.parametrize(("field", "backends"), [("text_backend", TEXT_BACKENDS), ("files_backend", FILES_BACKENDS)])
def test_an_unknown_backend_is_refused_with_those_there_are(field, backends):
    with pytest.raises(ToolError) as caught:
        Session(None, Hello(ctxd=1, want="mcp", **{field: "ag"})).find_project()
    for name in ("'ag'", f"CTXD_{field.upper()}", *backends):
        assert name in str(caught.value)


def test_status_names_the_backend_that_answers():
    assert Programs().answering("index", TEXT_BACKENDS) == "index"
    assert Programs(grep="grep").answering("rg", TEXT_BACKENDS) == "grep"
    assert Programs().answering("fd", FILES_BACKENDS) == "python"
