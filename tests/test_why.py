"""`ctxd why`: the verdict of the walker, with the rule that made it."""

import os
import random
import shutil

import pytest

from ctxd.daemon.projects.why import why
from ctxd.indexer.files.walker import Walker
from projects import git, make_repository, needs_git, opened, ready, write

FILES = {
    ".gitignore": "*.o\nbuild/\n!keep.o\n",
    ".ctxdignore": "!back.tmp\n",
    "src/.ignore": "# ours\n*.log\n",
    "src/a.py": "def f(): pass\n",
    "src/same": "def f(): pass\n",
    "src/a.o": "x",
    "src/keep.o": "x",
    "src/b.log": "x",
    "build/deep/c.py": "x",
    "back.tmp": "x",
    "gone.tmp": "x",
    "forced.o": "x",
    ".env": "x",
    ".github/w.yml": "x",
    "data.bin": b"a\0b",
    "big.c": "int x;\n" * 200_000,
    "broken.py": "class A: pass\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory, workers):
    base = tmp_path_factory.mktemp("why")
    (base / "project").mkdir()
    folder = base / "project"
    make_repository(folder)
    write(folder, FILES)
    (folder / ".git/info/exclude").write_text("*.tmp\n")
    if shutil.which("git"):
        git(folder, "add", "-f", "forced.o")
    (folder / "link").symlink_to("src")
    os.mkfifo(folder / "pipe")
    with opened(folder, base, workers) as one:
        yield ready(one)


@pytest.mark.parametrize(
    ("path", "reason", "words"),
    [
        ("src/a.py", None, ["symbols are indexed"]),
        ("src/same", None, ["no symbols"]),
        ("src/a.o", "ignored", [".gitignore, line 1 (*.o) leaves out src/a.o"]),
        ("src/keep.o", None, ["included by .gitignore, line 3 (!keep.o)"]),
        ("src/b.log", "ignored", ["src/.ignore, line 2 (*.log)"]),
        ("build/deep/c.py", "ignored", ["line 2 (build/) leaves out build"]),
        ("build", "ignored", ["leaves out build"]),
        ("back.tmp", None, ["included by .ctxdignore, line 1 (!back.tmp)"]),
        ("gone.tmp", "ignored", [".git/info/exclude, line 1 (*.tmp)"]),
        pytest.param("forced.o", None, ["tracked by git, although .gitignore, line 1 (*.o)"], marks=needs_git),
        (".env", "secret", ["allow_secrets"]),
        (".github/w.yml", "hidden", ["in the index"]),
        ("data.bin", "binary", ["NUL"]),
        ("big.c", None, ["too large for symbols"]),
        ("link", "symlink", ["link to src"]),
        ("link/a.py", "symlink", ["link to src"]),
        ("pipe", "special", []),
        ("nothing", "missing", []),
        ("src/a.py/b", "missing", []),
        (".git/config", "git", []),
        ("../other", "outside", []),
        ("/etc/passwd", "outside", []),
        (".", None, ["files in the index"]),
        ("src", None, ["4 files in the index"]),
    ],
)
def test_the_reason_is_named(project, path, reason, words):
    answer = why(project, os.path.join(os.fsdecode(project.root), path))
    assert answer["reason"] == reason
    assert answer["searched"] is (reason is None)
    told = " ".join([answer["because"] or "", *answer["notes"]])
    assert all(word in told for word in words), told
    if words and "line" in words[0]:
        assert answer["rule"]["line"] > 0


def test_a_failure_is_told_with_its_reason(project):
    content = project.table.files[b"broken.py"].content
    with project.database.transaction():
        project.writer.write_symbols(content.id, "failed", "the parser ran out of patience", None)
    content.symbols = "failed"
    answer = why(project, os.path.join(os.fsdecode(project.root), "broken.py"))
    assert answer["searched"]
    assert answer["notes"] == ["its symbols could not be read: the parser ran out of patience"]


def test_a_file_written_just_now_is_searched(project):
    path = os.path.join(os.fsdecode(project.root), "new.py")
    with open(path, "w") as file:
        file.write("x = 1\n")
    answer = why(project, path)
    assert answer["searched"]
    assert answer["language"] == "python"


@pytest.mark.parametrize("with_git", [pytest.param(True, marks=needs_git), False])
def test_the_explanation_is_the_verdict(tmp_path, with_git):
    """Over random trees and rules: a path counts exactly where its explanation says so, and who is ignored has a rule."""
    for seed in range(12):
        chance = random.Random(seed)
        folder = tmp_path / str(seed)
        folder.mkdir()
        if chance.random() < 0.7:
            make_repository(folder)
        parts = ["a", "b", "c.o", "d.tmp"]
        paths = {
            "/".join([*chance.choices(parts[:2], k=chance.randint(0, 3)), chance.choice(parts[2:])]) for _ in range(12)
        }
        write(folder, dict.fromkeys(paths, "x"))
        rules = ["*.o", "!c.o", "/a", "b/", "a/b", "!b", "*.tmp", "**/a/*.o", "!d.tmp"]
        for name in (".gitignore", "a/.gitignore", ".ignore", "b/.ctxdignore"):
            if chance.random() < 0.6:
                write(folder, {name: "\n".join(chance.sample(rules, 3))})
        walker = Walker(os.fsencode(folder), scratch=str(tmp_path / "scratch"))
        if not with_git:
            walker._binary = None
        listed = set(walker.list().files)
        for path in map(os.fsencode, paths):
            judgement = walker.explain(path)
            assert judgement.accepted is (path in listed), (seed, path, judgement)
            assert judgement.accepted or judgement.rule is not None, (seed, path)
        walker.close()
