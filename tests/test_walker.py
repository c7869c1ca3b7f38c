"""Which files count is what git says, then `.ignore` and `.ctxdignore`, then the list of secrets."""

import os
import random
import shutil
import subprocess

import pytest

from ctxd.indexer.files.git import Git, GitError, git_folder_of, make_empty_repository
from ctxd.indexer.files.ignore import IgnoreFile, read_ignore_file
from ctxd.indexer.files.walker import Walker, stamp_of

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path):
    path = os.fsencode(tmp_path / "project")
    os.mkdir(path)
    return path


@pytest.fixture
def walk(tmp_path):
    """List the files of a folder with a new walker; `with_git=False` as on a machine without git."""

    def listed(root, *, with_git=True, allow_secrets=False):
        walker = Walker(root, scratch=str(tmp_path / "scratch"), allow_secrets=allow_secrets)
        if not with_git:
            walker._binary = None
        try:
            return set(walker.list().files)
        finally:
            walker.close()

    return listed


def git(folder, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True).stdout


def write(root, **files):
    for name, text in files.items():
        put(root, name, text)


def put(root, name, text="text"):
    path = os.path.join(root, os.fsencode(name))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def make(root, names):
    for name in names:
        put(root, name)


TOKENS = (
    *(
        "a",
        "b",
        "ab",
        "c",
        "*",
        "**",
        "?",
        "/",
        "/",
        "[ab]",
        "[!a]",
        "[a-c]",
        "[]a]",
        "[^",
        "]",
        "\\\\",
        "\\\\*",
        "!",
        "#",
    ),
    *(
        " ",
        ".",
        "-",
        "[a-",
        "[[:alpha:]]",
        "[[:x:]]",
        "[:a]",
        "\\\\ ",
        "\t",
        "é",
        "***",
        "[\\\\]a]",
        "{a,b}",
        "+",
        "(",
        "|",
    ),
)
NAMES = (
    "a",
    "b",
    "ab",
    "abc",
    "c",
    " ",
    "a ",
    "#a",
    "!b",
    "]",
    "-",
    "é",
    "a.b",
    "*",
    "\\\\",
    "[ab]",
    "{a,b}",
    "+",
    "A",
)


@needs_git
def test_our_reading_of_ignore_files_is_gits(root, tmp_path):
    chance = random.Random(1)
    paths = []

    def build(folder, depth):
        for name in chance.sample(NAMES, 9 if depth < 2 else 4):
            path = os.path.join(folder, name.encode())
            is_folder = depth < 3 and chance.random() < 0.45
            paths.append((path, is_folder))
            if is_folder:
                os.mkdir(os.path.join(root, path))
                build(path, depth + 1)
            else:
                put(root, path)

    build(b"", 0)
    asked = Git("git", make_empty_repository("git", str(tmp_path / "empty")), root, root)
    for _ in range(150):
        lines = ["".join(chance.choices(TOKENS, k=chance.randint(1, 6))) for _ in range(chance.randint(1, 5))]
        data = chance.choice(("\n", "\r\n")).join(lines).encode()
        with open(root + b"/.gitignore", "wb") as file:
            file.write(data)
        asked.close()
        ours, ignored = IgnoreFile(data), {b"": False}
        for (path, is_folder), verdict in zip(paths, asked.ignored([path for path, _ in paths]), strict=True):
            rule = ours.match(path, is_folder=is_folder)
            above = ignored[path.rpartition(b"/")[0]]
            ignored[path] = above or (rule is not None and not rule.includes)
            assert ignored[path] == verdict, (data, path)
    asked.close()


def test_a_link_is_no_ignore_file(root):
    put(root, "rules", "*")
    os.symlink(b"rules", root + b"/.gitignore")
    assert read_ignore_file(root + b"/.gitignore") is None


@pytest.mark.parametrize("with_git", [True, False])
def test_ignored_files_are_left_out_with_and_without_git(root, walk, with_git):
    if with_git and not shutil.which("git"):
        pytest.skip("git is not installed")
    put(root, ".gitignore", "*.o\n/build/\n!keep.o\n")
    put(root, "sub/.gitignore", "!*.o\nlocal\n")
    make(root, ["a.c", "a.o", "keep.o", "build/x", "build/deep/x", "sub/b.o", "sub/local", "sub/build/x", ".hidden/y"])
    os.symlink(b"a.c", root + b"/link")
    os.symlink(b"sub", root + b"/linked")
    os.mkfifo(root + b"/fifo")
    assert walk(root, with_git=with_git) == {
        *(b".gitignore", b"a.c", b"keep.o", b"sub/.gitignore", b"sub/b.o", b"sub/build/x", b".hidden/y"),
    }


@pytest.mark.parametrize("with_git", [True, False])
def test_own_rules_stand_above_gits(root, walk, with_git):
    if with_git and not shutil.which("git"):
        pytest.skip("git is not installed")
    put(root, ".gitignore", "*.log\nbuild/\n*.o\n")
    put(root, ".ignore", "!build/\n*.md\n!x.log\n")
    put(root, ".ctxdignore", "!README.md\nbuild/cache\n")
    make(root, ["a.log", "x.log", "a.md", "README.md", "build/a.c", "build/a.o", "build/deep/b.c", "build/cache/c"])
    assert walk(root, with_git=with_git) == {
        *(b".gitignore", b".ignore", b".ctxdignore", b"x.log", b"README.md", b"build/a.c", b"build/deep/b.c"),
    }


@needs_git
def test_tracked_files_count_although_a_rule_ignores_them(root, walk):
    git(root, "init", "-q")
    put(root, ".gitignore", "out/\n*.o\n")
    make(root, ["out/kept", "out/not", "kept.o", "not.o"])
    git(root, "add", "-f", "out/kept", "kept.o")
    assert walk(root) == {b".gitignore", b"out/kept", b"kept.o"}


@needs_git
def test_exclude_file_and_rules_above_hold_for_a_subfolder(root, walk):
    git(root, "init", "-q")
    put(root, ".gitignore", "*.o\n/sub/top\n")
    put(root, ".git/info/exclude", "*.x\n")
    make(root, ["sub/a.c", "sub/a.o", "sub/a.x", "sub/top", "sub/deep/top"])
    assert walk(root + b"/sub") == {b"a.c", b"deep/top"}


@needs_git
def test_a_project_that_the_repository_around_it_ignores_stands_alone(root, walk):
    git(root, "init", "-q")
    put(root, ".gitignore", "build/\n")
    put(root, "build/.gitignore", "*.o\n")
    make(root, ["build/a.c", "build/a.o"])
    assert walk(root + b"/build") == {b".gitignore", b"a.c"}


@needs_git
def test_nested_repositories_submodules_and_worktrees_have_their_own_rules(root, walk, tmp_path):
    other = os.fsencode(tmp_path / "other")
    os.mkdir(other)
    for folder in (root, other):
        git(folder, "init", "-q")
    put(other, ".gitignore", "*.x\n")
    make(other, ["b.c", "b.o"])
    git(other, "add", "-Af")
    git(other, "commit", "-qm", "one")
    put(root, ".gitignore", "*.o\n")
    git(root, "submodule", "-q", "add", os.fsdecode(other), "sub")
    git(other, "worktree", "add", "-q", os.fsdecode(root + b"/tree"))
    git(root, "clone", "-q", os.fsdecode(other), "clone")
    make(
        root,
        [
            "sub/c.o",
            "sub/c.x",
            "tree/c.o",
            "tree/c.x",
            "clone/c.x",
            "a.o",
            "broken/.git/HEAD",
            "broken/a.o",
            "broken/a",
        ],
    )
    inside = {b"b.c", b"b.o", b".gitignore"}
    assert walk(root) == {
        *(b".gitignore", b".gitmodules", b"broken/a", b"sub/c.o", b"tree/c.o"),
        *(folder + name for folder in (b"sub/", b"tree/", b"clone/") for name in inside),
    }


@needs_git
def test_odd_names_are_no_trouble(root, walk):
    names = [b":(top)a", b":!a", b"a\nb", b"\xff\xfe", b"*", b"[a]", b" ", b"-z", b'"', b"\\\\", b"sub\n/x"]
    make(root, names)
    put(root, ".gitignore", "none\n")
    assert walk(root) == {*names, b".gitignore"}


@needs_git
def test_a_repository_cannot_run_programs(root, walk, tmp_path):
    git(root, "init", "-q")
    proof = tmp_path / "proof"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {proof}\n")
    program.chmod(0o755)
    git(root, "config", "core.fsmonitor", str(program))
    git(root, "config", "core.hooksPath", str(tmp_path))
    git(root, "config", "core.pager", str(program))
    make(root, ["a"])
    assert walk(root) == {b"a"}
    assert not proof.exists()


@needs_git
def test_git_variables_of_the_environment_change_nothing(root, walk, tmp_path, monkeypatch):
    git(root, "init", "-q")
    make(root, ["a", "b"])
    put(root, ".gitignore", "b")
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path))
    assert walk(root) == {b"a", b".gitignore"}


def test_secrets_are_not_listed_unless_allowed(root, walk):
    secrets = [b".env", b"sub/.env.local", b"id_rsa", b"deploy/server.PEM", b".aws/credentials", b".npmrc", b"a.key"]
    shared = [b".env.example", b"sub/.env.sample", b"id_rsa.pub", b"env", b"key", b"a.keys"]
    make(root, secrets + shared)
    assert walk(root) == set(shared)
    assert walk(root, allow_secrets=True) == {*secrets, *shared}


def test_directories_are_all_that_may_hold_files(root, tmp_path):
    put(root, ".gitignore", "out/\n")
    make(root, ["a/b/c", "out/deep/x"])
    os.makedirs(root + b"/empty/deep")
    os.makedirs(root + b"/.git")
    walker = Walker(root, scratch=str(tmp_path / "scratch"))
    assert walker.list().directories == {b"", b"a", b"a/b", b"empty", b"empty/deep"}
    walker.close()


def test_accepts_judges_new_paths_as_the_listing_does(root, tmp_path):
    put(root, ".gitignore", "*.o\nout\n")
    make(root, ["a/b", "out/x"])
    walker = Walker(root, scratch=str(tmp_path / "scratch"))
    walker.list()
    make(root, ["a/new.c", "a/new.o", "a/.env", "out/y", "fresh/z"])
    os.mkdir(root + b"/a/out")
    files = [b"a/new.c", b"a/new.o", b"a/.env", b"out/y", b"fresh/z", b".git"]
    assert walker.accepts(files, [b"a/out", b"fresh", b"a/.git"]) == {b"a/new.c", b"fresh"}
    walker.close()


def test_a_stamp_tells_states_of_a_file_apart(root):
    put(root, "a")
    first = os.stat(root + b"/a")
    assert stamp_of(first) == stamp_of(os.stat(root + b"/a"))
    assert -(2**63) <= stamp_of(first) < 2**63
    os.utime(root + b"/a", ns=(1, 1))
    assert stamp_of(first) != stamp_of(os.stat(root + b"/a"))


@needs_git
def test_a_git_folder_must_hold_a_repository(root):
    assert git_folder_of(root) is None
    os.mkdir(root + b"/.git")
    assert git_folder_of(root) is None
    git(root, "init", "-q")
    assert git_folder_of(root) == root + b"/.git"


@needs_git
def test_a_broken_repository_is_read_by_us_and_named(root, tmp_path):
    git(root, "init", "-q")
    put(root, ".gitignore", "*.o\n")
    make(root, ["a.c", "a.o"])
    put(root, ".git/config", "[broken")
    walker = Walker(root, scratch=str(tmp_path / "scratch"))
    assert set(walker.list().files) == {b".gitignore", b"a.c"}
    assert walker.problems
    walker.close()


@needs_git
def test_git_is_asked_again_after_it_died(root, tmp_path):
    put(root, ".gitignore", "*.o\n")
    asked = Git("git", make_empty_repository("git", str(tmp_path / "empty")), root, root)
    assert asked.ignored([b"a.o", b"a.c"]) == [True, False]
    asked._process.kill()
    asked._process.wait()
    assert asked.ignored([b"a.o", b"a.c"]) == [True, False]
    asked.close()
    with pytest.raises(GitError):
        Git("git", root + b"/nowhere", root, root).ignored([b"a"])


@needs_git
def test_a_path_below_a_link_does_not_spoil_the_others(root, tmp_path):
    make(root, ["real/x"])
    put(root, ".gitignore", "*.o\n")
    os.symlink(b"real", root + b"/link")
    asked = Git("git", make_empty_repository("git", str(tmp_path / "empty")), root, root)
    assert asked.ignored([b"a.o", b"link/x", b"a.c", b"link/x", b"b.o"]) == [True, True, False, True, True]
    asked.close()


@needs_git
def test_deep_folders_do_not_confuse_git(root, walk):
    """git itself answers wrongly, or crashes, from the 25th folder on."""
    git(root, "init", "-q")
    put(root, ".gitignore", "*.o\n**/q\n")
    deep = "/".join(["d"] * 40)
    names = ["/".join(["d"] * depth) + "/a.c" for depth in range(1, 41)]
    make(root, [*names, deep + "/a.o", deep + "/q/x", "d/a.o", "z/a.o", "z/q/x", "z/a.c"])
    assert walk(root) == {*map(os.fsencode, names), b".gitignore", b"z/a.c"}
    assert walk(root + b"/d/d/d") == {b"a.c", *(os.fsencode(name[6:]) for name in names[3:])}
