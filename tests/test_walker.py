"""Which files count is what git says, then `.ignore` and `.ctxdignore`, then the list of secrets."""

import os
import random
import shutil
import subprocess
import time

import pytest

from ctxd.indexer.files import git as git_module
from ctxd.indexer.files import walker as walker_module
from ctxd.indexer.files.git import Git, GitError, git_folder_of, make_empty_repository
from ctxd.indexer.files.ignore import IgnoreFile, read_ignore_file
from ctxd.indexer.files.walker import Walker, stamp_of
from projects import needs_git


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


@pytest.fixture
def walker(root, tmp_path):
    one = Walker(root, scratch=str(tmp_path / "scratch"))
    yield one
    one.close()


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
    rules = read_ignore_file(root, b".gitignore")
    assert rules is not None
    assert (rules.rules, rules.problem) == ([], "is a symbolic link, which is not followed; its patterns do not count")


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


def endless(root, name):
    """What a hostile project may put in place of a file: name -> made at `root/name`."""
    path = os.path.join(root, os.fsencode(name))

    def sparse():
        with open(path, "wb") as file:
            file.truncate(10 << 30)

    return {
        "link": lambda: os.symlink("/dev/zero", path),
        "fifo": lambda: os.mkfifo(path),
        "sparse": sparse,
        "folder": lambda: os.mkdir(path),
    }


ENDLESS = ["link", "fifo", "sparse", "folder"]


@pytest.mark.parametrize("kind", ENDLESS)
@pytest.mark.parametrize("with_git", [True, False])
@pytest.mark.parametrize("name", [".gitignore", ".ignore", ".ctxdignore"])
def test_an_ignore_file_without_an_end_is_a_problem_and_no_hang(root, walker, name, kind, with_git, monkeypatch):
    if with_git and not shutil.which("git"):
        pytest.skip("git is not installed")
    monkeypatch.setattr(git_module, "ANSWER_SECONDS_MAX", 1)
    make(root, ["a.c"])
    endless(root, name)[kind]()
    if not with_git:
        walker._binary = None
    assert b"a.c" in walker.list().files  # without a deadline it would take for ever
    assert kind == "folder" or walker.rule_problems or walker.problems
    (os.rmdir if kind == "folder" else os.unlink)(root + b"/" + os.fsencode(name))
    walker.list()
    assert walker.rule_problems == {}


@pytest.mark.parametrize("kind", ENDLESS)
def test_a_git_link_without_an_end_is_no_repository(root, kind):
    endless(root, ".git")[kind]()
    assert git_folder_of(root) is None


@pytest.mark.parametrize("link", [b"gitdir: a\0b", b"gitdir: " + b"a" * 10_000, b"\xff\xfe", b"gitdir: ."])
def test_a_git_link_that_leads_nowhere_is_no_repository(root, link):
    with open(root + b"/.git", "wb") as file:
        file.write(link)
    assert git_folder_of(root) is None


@pytest.mark.parametrize("pattern", ["name{}", "*a{}*b*", "**/x{}/**/*y", "[!a]{}*?", "*" * 20 + "{}"])
def test_a_hundred_thousand_patterns_take_seconds_and_are_named(root, walker, pattern):
    with open(root + b"/.ignore", "w") as file:
        file.writelines(pattern.format(number) + "\n" for number in range(100_000))
    make(root, [f"{number}.c" for number in range(300)])
    began = time.process_time()
    walker.list()
    assert time.process_time() - began < 30  # 200 s for the least of them before there was a limit
    assert "more are too many" in walker.rule_problems[b".ignore"]


def test_patterns_of_many_files_have_one_limit(root, walker, monkeypatch):
    monkeypatch.setattr(walker_module, "RULES_OF_PROJECT_MAX", 100)
    for number in range(12):
        put(root, f"{number}/.ignore", "".join(f"n{number}\n" for number in range(10)))
        put(root, f"{number}/a.c")
    assert len(walker.list().files) == 24
    assert len(walker.rule_problems) == 2
    counted = next(b"%d" % n for n in range(12) if b"%d/.ignore" % n not in walker.rule_problems)  # in the disk's order
    shutil.rmtree(root + b"/" + counted)
    walker.forget_folder(counted)
    assert walker._rules_held == 90


def test_a_pattern_too_long_for_any_path_is_left_out_alone(root):
    rules = IgnoreFile(b"*.o\n" + b"*a" * 100_000 + b"\n*.d\n")
    assert [rule.line for rule in rules.rules] == [1, 3]
    assert rules.problem == "line 2: the pattern is too long, and does not count"
    assert rules.match(b"x.d", is_folder=False) is rules.rules[1]


@needs_git
@pytest.mark.parametrize("where", ["excludesFile", "include", "index"])
def test_a_git_that_hangs_is_given_up_and_ended(root, walker, tmp_path, monkeypatch, where):
    monkeypatch.setattr(git_module, "ANSWER_SECONDS_MAX", 1)
    monkeypatch.setattr(git_module, "RUN_SECONDS_MAX", 1)
    git(root, "init", "-q")
    make(root, ["a.c", "a.o"])
    put(root, ".gitignore", "*.o\n")
    fifo = root + b"/.git/index" if where == "index" else os.fsencode(tmp_path / "fifo")
    os.mkfifo(fifo)
    setting = {"excludesFile": "[core]\nexcludesFile = ", "include": "[include]\npath = ", "index": "[a]\nb = "}[where]
    with open(root + b"/.git/config", "ab") as file:
        file.write(os.fsencode(setting) + fifo + b"\n")
    assert set(walker.list().files) == {b".gitignore", b"a.c"}
    assert any("does not answer" in problem for problem in walker.problems), walker.problems
    assert where == "index" or walker._repositories[b""].git is None
    walker.close()
    # A process that still waits for the FIFO would make this open succeed.
    with pytest.raises(OSError, match="No such device or address"):
        os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)


@needs_git
def test_a_repository_cannot_have_a_program_run_to_fetch_what_it_lacks(root, walker, tmp_path):
    git(root, "init", "-q")
    make(root, ["in/a", "out/b"])
    git(root, "add", ".")
    git(root, "commit", "-qm", "x")
    git(root, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(root, "sparse-checkout", "set", "in")
    tree = git(root, "rev-parse", "HEAD:out").decode().strip()
    os.unlink(root + os.fsencode(f"/.git/objects/{tree[:2]}/{tree[2:]}"))
    ran = tmp_path / "ran"
    for name, value in {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::touch {ran}",
        "protocol.ext.allow": "always",
    }.items():
        git(root, "config", name, value)
    assert b"in/a" in walker.list().files
    assert not ran.exists()
