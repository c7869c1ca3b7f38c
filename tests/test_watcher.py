"""What is on disk is in the table, whatever was done to the disk, as soon as `settle` has returned."""

import array
import contextlib
import fcntl
import inspect
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import termios
import threading
import time

import pytest

from ctxd.daemon.indexing.watcher import LINKED_FILES_MAX, Watcher, shared_inotify
from ctxd.indexer.files.file_table import Content, FileTable
from ctxd.indexer.files.ignore import IgnoreFile
from ctxd.indexer.files.secret_names import is_secret
from ctxd.indexer.files.walker import Walker, stamp_of
from projects import WATCHES_MAX, needs_git

if sys.platform == "linux":
    from ctxd.daemon.indexing import inotify

needs_inotify = pytest.mark.skipif(sys.platform != "linux" or not WATCHES_MAX, reason="a run without inotify")
SETTLED_SECONDS_MAX = 30


def git(root, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "HOME": os.fsdecode(os.path.dirname(root)), "LC_ALL": "C"}
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True).stdout


@pytest.fixture
def root(tmp_path):
    path = os.fsencode(tmp_path / "project")
    os.mkdir(path)
    return path


@pytest.fixture
def watch(tmp_path):
    """Start a watcher of a folder; all are closed at the end."""
    started = []

    inotify = shared_inotify()

    def start(root, on_dirty=lambda: None, table=None, watches_max=WATCHES_MAX):
        walker = Walker(root, scratch=str(tmp_path / "scratch"))
        table = FileTable() if table is None else table
        watcher = Watcher(table, walker, on_dirty=on_dirty, shared=inotify, watches_max=watches_max)
        started.append(watcher)
        watcher.start()
        return watcher

    yield start
    for watcher in started:
        watcher.close()


def write(path, text="text"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def settled(watcher):
    """The paths in the table once everything that was written before is in it."""
    assert watcher.settle(None) is None
    for file in watcher.table.files.values():
        assert file.stamp == stamp_of(os.lstat(watcher.walker.root + b"/" + file.path)), file.path
    return set(watcher.table.files)


def listed_by_git(root):
    """Regular files that git lists, and that hold no secrets."""
    paths = set(git(root, "ls-files", "-co", "--exclude-standard", "-z").split(b"\0")[:-1])
    return {path for path in paths if is_regular(root + b"/" + path) and not is_secret(path)}


def is_regular(path):
    return os.path.isfile(path) and not os.path.islink(path) and os.path.realpath(path) == path


def truth(root, tracked):
    """A plain walk that reads every ignore file each time it comes by."""
    tracked_folders = set()
    for path in tracked:
        while path := path.rpartition(b"/")[0]:
            tracked_folders.add(path)
    found = set()

    def verdict(rules, path, is_folder):
        for name in (b".ctxdignore", b".ignore", b".gitignore"):
            for folder, files in reversed(rules):
                rule = files[name].match(path[len(folder) :], is_folder=is_folder) if name in files else None
                if rule is not None:
                    return name, rule.includes
        return None, True

    def walk(folder, rules, only_tracked):
        absolute = root + b"/" + folder
        entries = list(os.scandir(absolute))
        files = {}
        for entry in entries:
            if entry.name in {b".gitignore", b".ignore", b".ctxdignore"} and entry.is_file(follow_symlinks=False):
                with open(entry.path, "rb") as file:
                    files[entry.name] = IgnoreFile(file.read())
        rules = [*rules, (folder, files)]
        for entry in entries:
            path = folder + entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name == b".git" or not (is_folder or entry.is_file(follow_symlinks=False)):
                continue
            by, included = verdict(rules, path, is_folder)
            if only_tracked and by not in {b".ignore", b".ctxdignore"}:
                by, included = b".gitignore", False
            forced = path in (tracked_folders if is_folder else tracked) and by == b".gitignore" and not included
            if not included and not forced:
                continue
            if is_folder:
                walk(path + b"/", rules, forced)
            elif not is_secret(path):
                found.add(path)

    walk(b"", [], False)
    return found


class Fuzz:
    """Random changes of a project, hostile ones among them."""

    def __init__(self, root, seed, *, with_own_rules):
        self.root = root
        self.random = random.Random(seed)
        self.outside = os.path.join(os.path.dirname(root), b"outside")
        self.with_own_rules = with_own_rules
        self.tracked = set()
        write(self.outside + b"/deep/secret.txt")
        git(root, "init", "-q")
        for i in range(12):
            write(root + b"/src/m%d/f%d.c" % (i % 3, i))
        git(root, "add", "-A")
        git(root, "commit", "-qm", "one")
        git(root, "branch", "other")
        self.changed_index()

    def changed_index(self):
        self.tracked = set(git(self.root, "ls-files", "-z").split(b"\0")[:-1])

    def folders(self):
        found = [b""]
        for at, folders, _ in os.walk(self.root):
            if b".git" in folders:
                folders.remove(b".git")
            found += [os.path.join(at, folder)[len(self.root) + 1 :] for folder in folders]
        return found

    def any_folder(self):
        return os.path.join(self.root, self.random.choice(self.folders()))

    def folder_below(self):
        return os.path.join(self.root, self.random.choice(self.folders()[1:] or [b"nothing"]))

    def any_path(self):
        names = (b"a", b"b", b"c.c", b"d.o", b"build", b"sub", b".hidden", b"x.txt", b"\xff\n", b":(top)z")
        return os.path.join(self.any_folder(), self.random.choice(names))

    def any_entry(self):
        folder = self.any_folder()
        names = [name for name in os.listdir(folder) if name != b".git"]
        return os.path.join(folder, self.random.choice(names)) if names else self.any_path()

    def step(self):
        operation = self.random.choices(
            (
                *(self.write, self.append, self.delete, self.rename, self.atomic_save, self.make_folder),
                *(self.remove_tree, self.move_folder, self.swap_folders, self.tree_at_once, self.link, self.ignore),
                *(self.git_step, self.chmod, self.move_out_and_in),
            ),
            (20, 10, 8, 10, 10, 10, 4, 8, 3, 4, 6, 4, 2, 3, 2),
        )[0]
        with contextlib.suppress(OSError, shutil.Error):
            operation()
        return operation.__name__

    def write(self):
        write(self.any_path(), "x" * self.random.randint(0, 50))

    def append(self):
        with open(self.any_entry(), "a") as file:
            file.write("more")

    def delete(self):
        os.unlink(self.any_entry())

    def rename(self):
        os.rename(self.any_entry(), self.any_path())

    def atomic_save(self):
        path = self.any_entry()
        write(path + b".tmp", "saved")
        os.replace(path + b".tmp", path)

    def make_folder(self):
        os.mkdir(self.any_path())

    def remove_tree(self):
        shutil.rmtree(self.folder_below())

    def move_folder(self):
        source, target = self.folder_below(), self.any_path()
        os.rename(source, target)
        if self.random.random() < 0.5:
            write(target + b"/moved.txt")
        if self.random.random() < 0.3:
            os.rename(target, source)

    def swap_folders(self):
        one, two, spare = self.folder_below(), self.folder_below(), self.root + b"/spare"
        os.rename(one, spare)
        try:
            os.rename(two, one)
        finally:
            os.rename(spare, two if not os.path.lexists(two) else one)

    def tree_at_once(self):
        at = self.any_path()
        for part in (b"", b"/p", b"/p/q"):
            os.mkdir(at + part)
            write(at + part + b"/new.c")

    def link(self):
        path = self.any_entry()
        if self.random.random() < 0.5 and os.path.isdir(path):
            os.rename(path, path + b"-was")
        elif not os.path.isdir(path):
            os.unlink(path)
        os.symlink(self.random.choice((self.outside, b".", b"nowhere", b"../src")), path)

    def ignore(self):
        lines = (
            "*.o",
            "build/",
            "!build/",
            "/a",
            "b",
            "sub/*",
            "!x.txt",
            "**/q",
            ".hidden",
            "src/m1",
            "#",
            "*.c",
            "!*.c",
        )
        name = b".gitignore"
        if self.with_own_rules:
            name = self.random.choice((b".gitignore", b".ignore", b".ctxdignore"))
        path = os.path.join(self.any_folder(), name)
        if self.random.random() < 0.4 and os.path.exists(path):
            os.unlink(path)
        else:
            write(path, "\n".join(self.random.sample(lines, self.random.randint(0, 3))))

    def git_step(self):
        try:
            self.random.choice((self.git_switch, self.git_add, self.git_commit, self.git_reset))()
        except subprocess.CalledProcessError:
            pass
        finally:
            self.changed_index()

    def git_switch(self):
        git(self.root, "checkout", "-qf", self.random.choice(("main", "other")))

    def git_add(self):
        git(self.root, "add", "-f", "--", self.any_entry()[len(self.root) + 1 :])

    def git_commit(self):
        git(self.root, "add", "-A")
        git(self.root, "commit", "-qm", "more")

    def git_reset(self):
        git(self.root, "rm", "-rq", "--cached", "--ignore-unmatch", "--", self.any_entry()[len(self.root) + 1 :])

    def chmod(self):
        path = self.any_entry()
        if not os.path.islink(path):
            os.chmod(path, self.random.choice((0o755, 0o700)))

    def move_out_and_in(self):
        away = self.outside + b"/away"
        os.rename(self.folder_below(), away)
        write(away + b"/while-away.txt")
        if self.random.random() < 0.5:
            os.rename(away, self.any_path())
        shutil.rmtree(away, ignore_errors=True)


def check_structure(watcher):
    """No folder is deaf: each is watched, under its own path."""
    for path, folder in watcher._folders.items():
        assert watcher._path_of.get(folder.watch) == path, path
    assert len(watcher._path_of) == len(watcher._folders)


@needs_git
@needs_inotify
@pytest.mark.parametrize(("seed", "with_own_rules"), [(1, False), (2, True)])
def test_every_change_is_in_the_table_at_once(root, watch, seed, with_own_rules):
    fuzz = Fuzz(root, seed, with_own_rules=with_own_rules)
    watcher = watch(root)
    log = []
    for number in range(1000):
        log.append(fuzz.step())
        assert settled(watcher) == truth(root, fuzz.tracked), log[-5:]
        if number % 100 == 0:
            check_structure(watcher)
            if not with_own_rules:
                assert settled(watcher) == listed_by_git(root)
    check_structure(watcher)
    assert watcher.health()["healthy"]
    # An ignore file may have become a link: that is told, and nothing else is wrong.
    assert [one for one in watcher.health()["problems"] if "is a symbolic link" not in one] == []


def test_polling_misses_no_save_that_a_question_follows(root, watch):
    for number in range(200):
        write(root + b"/%d/a.txt" % number)
    watcher = watch(root, watches_max=0)
    for number in range(50):
        write(root + b"/%d/a.txt" % number, "other text")
        index(watcher, b"%d/a.txt" % number)
        assert watcher.settle(SETTLED_SECONDS_MAX) is None
        assert watcher.table.files[b"%d/a.txt" % number].content is None


def test_polling_says_why_and_that_it_is_too_slow(root, watch):
    write(root + b"/a.txt")
    watcher = watch(root, watches_max=0)
    assert watcher.health()["problems"] == ["it polls for changes: watches_max is 0 in the settings"]
    write(root + b"/b.txt")
    stale = watcher.settle(0)
    assert "polls for changes (watches_max is 0 in the settings)" in stale.reason
    assert "longer than settle_ms allows" in stale.reason
    assert settled(watcher) == {b"a.txt", b"b.txt"}


def test_polling_looks_again_at_what_it_saw_before_the_question(root, watch):
    for number in range(200):
        write(root + b"/%03d/a.txt" % number)
        write(root + b"-other/%03d/a.txt" % number)
    watcher = watch(root, watches_max=0)
    os.rename(root, root + b"-away")
    os.rename(root + b"-other", root)
    known = b""
    while not known:
        assert watcher.settle(0) is not None
        known = next((path for path in watcher._folders if path and path not in watcher._visits), b"")
    write(root + b"/" + known + b"/b.txt")
    assert watcher.settle(SETTLED_SECONDS_MAX) is None
    assert known + b"/b.txt" in watcher.table.files


def test_polling_goes_on_in_the_background(root, watch):
    watcher = watch(root, watches_max=0)
    write(root + b"/a.txt")
    until(lambda: watcher.follow(0.01) and b"a.txt" in watcher.table.files)


@needs_git
def test_polling_sees_the_same(root, watch):
    fuzz = Fuzz(root, 3, with_own_rules=False)
    watcher = watch(root, watches_max=0)
    assert watcher.health()["backend"] == "polling"
    for _ in range(100):
        fuzz.step()
        assert watcher.settle(None) is None
        assert set(watcher.table.files) == truth(root, fuzz.tracked)


def test_polling_reads_a_fresh_file_twice(root, watch):
    watcher = watch(root, watches_max=0)
    while not watcher._racy:  # on a busy machine it is no longer fresh by the time it was looked at
        write(root + b"/a.txt")
        settled(watcher)
    index(watcher, b"a.txt")
    until(lambda: watcher.settle(None) is None and not watcher._racy)
    assert watcher.table.files[b"a.txt"].content is None
    index(watcher, b"a.txt")
    settled(watcher)
    assert watcher.table.files[b"a.txt"].content is not None


def index(watcher, path):
    """Do as an indexer does: give a file its content."""
    watcher.table.set_content(watcher.table.files[path], Content(hash(path), path, "plain", "none"))


def until(condition):
    deadline = time.monotonic() + SETTLED_SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


@needs_inotify
def test_what_we_use_of_watchdog_is_there():
    from watchdog.observers import inotify_c

    queue = inotify_c.InotifyFD()
    assert issubclass(inotify_c.InotifyFD, threading.Thread)
    assert isinstance(queue._inotify_fd, int)
    assert isinstance(queue._kill_r, int)
    assert isinstance(queue._kill_w, int)
    assert queue._closed is False
    with queue._lock:
        pass
    assert list(inspect.signature(queue._close_resources).parameters) == []
    buffer = array.array("i", [7, 2, 0, 8]).tobytes() + b"name\0\0\0\0" + array.array("i", [-1, 0x4000, 0, 0]).tobytes()
    assert list(inotify_c.InotifyFD._parse_event_buffer(buffer)) == [(7, 2, 0, b"name"), (-1, 0x4000, 0, b"")]
    assert inotify_c.inotify_add_watch(queue._inotify_fd, b"/nowhere", 2) == -1
    queue._close_resources()
    with pytest.raises(OSError, match="Bad file descriptor"):
        fcntl.ioctl(queue._inotify_fd, termios.FIONREAD, array.array("i", [0]))


def test_a_change_is_announced(root, watch):
    announced = threading.Event()
    watcher = watch(root, on_dirty=announced.set)
    if watcher.backend == "polling":
        pytest.skip("polling announces nothing")
    for name in (b"/one", b"/two"):
        announced.clear()
        write(root + name)
        assert announced.wait(SETTLED_SECONDS_MAX)
        settled(watcher)


def test_known_files_keep_their_content_over_a_restart(root, watch):
    write(root + b"/same.txt")
    write(root + b"/changed.txt")
    first = watch(root)
    settled(first)
    table = FileTable()
    for file in first.table.files.values():
        table.put(file.path, file.size, file.stamp)
    table.put(b"gone/deep.txt", 1, 1)
    for id_, file in enumerate(table.files.values()):
        table.set_content(file, Content(id_, file.path, "plain", "none"))
    write(root + b"/changed.txt", "other text")
    second = watch(root, table=table)
    assert settled(second) == {b"same.txt", b"changed.txt"}
    assert {file.path for file in table.without_content} == {b"changed.txt"}


@needs_inotify
def test_a_write_within_one_tick_is_not_missed(root, watch):
    path = root + b"/a.txt"
    watcher = watch(root)
    write(path)
    settled(watcher)
    index(watcher, b"a.txt")
    with open(path, "r+b"):  # the events of a write, but the stamp stays
        pass
    settled(watcher)
    assert watcher.table.files[b"a.txt"].content is None
    index(watcher, b"a.txt")
    until(lambda: watcher.settle(None) is None and not watcher._racy)
    assert watcher.table.files[b"a.txt"].content is not None


@needs_inotify
def test_overflow_is_noticed_and_made_good(root, watch):
    os.mkdir(root + b"-other")
    watcher, other = watch(root), watch(root + b"-other")
    for folder in (b"/a", b"/b"):
        os.mkdir(root + folder)
    settled(watcher)
    with open("/proc/sys/fs/inotify/max_queued_events") as file:
        limit = int(file.read())
    if limit > 100_000:
        pytest.skip("the event queue is too long to fill")
    with watcher._queue.reading:
        for number in range(limit // 2 + 10):
            path = root + (b"/a/%d" % (number % 500))
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
            os.unlink(path)
        os.rename(root + b"/a", root + b"/b/a")
        write(root + b"/b/a/deep/last.txt")
        write(root + b"-other/unseen.txt")
    watcher._queue.drain()
    assert settled(watcher) == {b"b/a/deep/last.txt"}
    assert watcher.overflows == watcher.health()["overflows"] == 1
    assert watcher.health()["healthy"]
    write(root + b"/b/a/deep/after.txt")
    assert settled(watcher) == {b"b/a/deep/last.txt", b"b/a/deep/after.txt"}
    check_structure(watcher)
    assert settled(other) == {b"unseen.txt"}
    assert other.overflows == 1


@needs_inotify
def test_a_dead_reader_is_replaced(root, watch):
    roots = [root, root + b"-other"]
    write(roots[1] + b"/b.txt")
    watchers = list(map(watch, roots))
    thread = watchers[0]._queue._queue
    os.write(thread._kill_w, b"!")
    thread.join(SETTLED_SECONDS_MAX)
    for name in (b"/deep/a.txt", b"/deep/b.txt"):
        write(roots[0] + name)
        write(roots[1] + name)
        assert name[1:] in settled(watchers[0])
        assert name[1:] in settled(watchers[1])
    for watcher in watchers:
        assert watcher._queue.is_alive()
        assert watcher.health()["healthy"]
        check_structure(watcher)


@needs_inotify
def test_many_projects_share_one_inotify_instance(tmp_path, watch):
    """A user has 128 instances, and less where other programs watch files."""
    before = inotify_instances()
    watchers = []
    for number in range(150):
        write(os.fsencode(tmp_path / f"{number}" / "deep" / "a.txt"))
        watchers.append(watch(os.fsencode(tmp_path / f"{number}")))
    assert inotify_instances() == before + 1
    for number, watcher in enumerate(watchers):
        write(os.fsencode(tmp_path / f"{number}" / "deep" / f"{number}.txt"))
        assert settled(watcher) == {b"deep/a.txt", b"deep/%d.txt" % number}
        assert watcher.backend == "inotify"


def inotify_instances():
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the one that lists them
            count += os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify"
    return count


@needs_inotify
def test_a_project_inside_another_is_watched_for_both(root, watch):
    write(root + b"/inner/deep/a.txt")
    outer, inner = watch(root), watch(root + b"/inner")
    again = watch(root + b"/inner")
    write(root + b"/inner/deep/b.txt")
    assert settled(outer) == {b"inner/deep/a.txt", b"inner/deep/b.txt"}
    assert settled(inner) == settled(again) == {b"deep/a.txt", b"deep/b.txt"}
    outer.close()
    again.close()
    write(root + b"/inner/deep/c.txt")
    assert settled(inner) == {b"deep/a.txt", b"deep/b.txt", b"deep/c.txt"}
    outer = watch(root)
    os.rename(root + b"/inner", root + b"/moved")
    write(root + b"/moved/deep/d.txt")
    assert b"moved/deep/d.txt" in settled(outer)
    assert inner.settle(None) is not None
    assert inner.missing


@needs_inotify
def test_what_one_project_reads_for_another_is_announced_there(root, watch):
    announced = threading.Event()
    write(root + b"-other/a.txt")
    one, other = watch(root), watch(root + b"-other", on_dirty=announced.set)
    with one._queue.reading:  # the thread waits, and finds nothing once it is let
        write(root + b"-other/b.txt")
        announced.clear()
    one.settle(None)
    assert announced.wait(SETTLED_SECONDS_MAX)
    assert settled(other) == {b"a.txt", b"b.txt"}


@needs_inotify
def test_a_folder_that_is_slow_to_be_watched_holds_up_no_other_project(root, watch, monkeypatch):
    add, is_waiting, may_go_on = inotify.inotify_add_watch, threading.Event(), threading.Event()

    def slow_add(descriptor, path, mask):
        if path.endswith(b"/slow"):
            is_waiting.set()
            assert may_go_on.wait(SETTLED_SECONDS_MAX)
        return add(descriptor, path, mask)

    monkeypatch.setattr(inotify, "inotify_add_watch", slow_add)
    write(root + b"-other/a.txt")
    one, other = watch(root), watch(root + b"-other")
    write(root + b"/slow/b.txt")
    waiting = threading.Thread(target=settled, args=(one,))
    waiting.start()
    assert is_waiting.wait(SETTLED_SECONDS_MAX)
    write(root + b"-other/c.txt")
    assert settled(other) == {b"a.txt", b"c.txt"}
    assert waiting.is_alive()
    may_go_on.set()
    waiting.join()
    write(root + b"/slow/d.txt")
    assert settled(one) == {b"slow/b.txt", b"slow/d.txt"}


@pytest.fixture
def link(root):
    """Make a file outside the project, and another name of it in the project; returns the one outside."""

    def make(path, text="text"):
        outside = os.path.join(os.path.dirname(root), b"outside", path)
        write(outside, text)
        os.makedirs(os.path.dirname(root + b"/" + path), exist_ok=True)
        os.link(outside, root + b"/" + path)
        return outside

    return make


def test_a_file_with_several_names_is_looked_at_before_each_answer(root, watch, link):
    before = link(b"deep/a.txt")
    watcher = watch(root)
    after = link(b"deep/b.txt")
    settled(watcher)
    for text in ("other text", "more text", "last text"):
        for path, outside in ((b"deep/a.txt", before), (b"deep/b.txt", after)):
            index(watcher, path)
            write(outside, text)
            settled(watcher)
            assert watcher.table.files[path].content is None, (path, text)
    os.unlink(before)
    settled(watcher)
    assert watcher.table.linked == {b"deep/b.txt"}


def test_the_other_name_of_a_file_may_be_in_the_project_too(root, watch):
    write(root + b"/one/a.txt")
    os.mkdir(root + b"/two")
    watcher = watch(root)
    os.link(root + b"/one/a.txt", root + b"/two/b.txt")
    settled(watcher)
    index(watcher, b"one/a.txt")
    write(root + b"/two/b.txt", "other text")
    settled(watcher)
    assert watcher.table.files[b"one/a.txt"].content is None


@needs_inotify
def test_more_files_with_several_names_than_can_be_looked_at_are_said(root, watch, link):
    for number in range(LINKED_FILES_MAX + 1):
        outside = link(b"%d.txt" % number)
    watcher = watch(root)
    stale = watcher.settle(SETTLED_SECONDS_MAX)
    assert stale.pending_files == LINKED_FILES_MAX + 1
    assert "hard link" in stale.reason
    os.unlink(outside)
    os.unlink(root + b"/0.txt")
    until(lambda: watcher.sweep(None))
    settled(watcher)


@pytest.mark.parametrize("watches_max", [100_000, 0])
def test_a_root_that_goes_and_comes_back(root, watch, watches_max):
    write(root + b"/deep/a.txt")
    watcher = watch(root, watches_max=watches_max)
    index(watcher, b"deep/a.txt")
    os.rename(root, root + b"-away")
    assert watcher.settle(None) is not None
    assert watcher.missing
    assert not watcher.health()["healthy"]
    assert set(watcher.table.files) == {b"deep/a.txt"}
    write(root + b"-away/deep/b.txt")
    os.rename(root + b"-away", root)
    assert settled(watcher) == {b"deep/a.txt", b"deep/b.txt"}
    assert not watcher.missing
    assert watcher.health()["healthy"]
    write(root + b"/deep/c.txt")
    assert settled(watcher) == {b"deep/a.txt", b"deep/b.txt", b"deep/c.txt"}


def test_a_root_that_is_replaced(root, watch):
    write(root + b"/a.txt")
    write(root + b"-other/deep/b.txt")
    watcher = watch(root)
    os.rename(root, root + b"-away")
    os.rename(root + b"-other", root)
    assert settled(watcher) == {b"deep/b.txt"}
    write(root + b"/deep/c.txt")
    write(root + b"-away/no.txt")
    assert settled(watcher) == {b"deep/b.txt", b"deep/c.txt"}


def test_a_root_that_appears_after_the_start(root, watch):
    os.rmdir(root)
    watcher = watch(root)
    assert watcher.missing
    write(root + b"/deep/a.txt")
    assert settled(watcher) == {b"deep/a.txt"}


@needs_git
def test_a_repository_made_later_brings_its_rules(root, watch):
    write(root + b"/lib/a.o")
    write(root + b"/lib/a.c")
    watcher = watch(root)
    git(root, "init", "-q")
    write(root + b"/.git/info/exclude", "*.o")
    assert settled(watcher) == {b"lib/a.c"}
    write(root + b"/.git/info/exclude", "*.c")
    assert settled(watcher) == {b"lib/a.o"}
    git(root, "add", "-f", "lib/a.c")
    assert settled(watcher) == {b"lib/a.c", b"lib/a.o"}
    git(root, "rm", "-q", "--cached", "lib/a.c")
    assert settled(watcher) == {b"lib/a.o"}
    shutil.rmtree(root + b"/.git")
    assert settled(watcher) == {b"lib/a.c", b"lib/a.o"}


@needs_git
def test_a_nested_repository_has_its_own_rules(root, watch):
    git(root, "init", "-q")
    write(root + b"/.gitignore", "*.o")
    write(root + b"/nested/a.o")
    watcher = watch(root)
    assert settled(watcher) == {b".gitignore"}
    git(root + b"/nested", "init", "-q")
    assert settled(watcher) == {b".gitignore", b"nested/a.o"}
    write(root + b"/nested/.gitignore", "/b")
    write(root + b"/nested/b")
    assert settled(watcher) == {b".gitignore", b"nested/.gitignore", b"nested/a.o"}
    os.rename(root + b"/nested", root + b"/moved")
    assert settled(watcher) == {b".gitignore", b"moved/.gitignore", b"moved/a.o"}
    shutil.rmtree(root + b"/moved/.git")
    assert settled(watcher) == {b".gitignore", b"moved/.gitignore"}


@needs_git
def test_rules_above_the_root_hold(root, watch):
    above = os.path.dirname(root)
    git(above, "init", "-q")
    write(root + b"/a.o")
    write(root + b"/a.c")
    watcher = watch(root)
    assert settled(watcher) == {b"a.c", b"a.o"}
    write(above + b"/.gitignore", "*.o")
    assert settled(watcher) == {b"a.c"}


@needs_inotify
def test_a_write_after_a_deadline_is_pending_not_lost(root, watch):
    watcher = watch(root)
    for number in range(1000):
        write(root + b"/f%d" % number)
    pending = watcher.settle(0)
    until(lambda: watcher.settle(0) is None)
    assert pending.pending_files > 0
    assert len(settled(watcher)) == 1000


def test_a_sweep_finds_what_no_event_tells(root, watch):
    write(root + b"/deep/a.txt")
    watcher = watch(root)
    watcher.table.remove(b"deep/a.txt")
    watcher._folders[b"deep"].files.clear()
    until(lambda: watcher.sweep(0))
    assert settled(watcher) == {b"deep/a.txt"}


def test_closing_leaves_nothing_behind(root, watch):
    watch(root).close()  # whatever is loaded once is loaded now
    threads, descriptors = threading.active_count(), open_descriptors()
    watcher = watch(root)
    write(root + b"/.gitignore", "*.o")
    write(root + b"/sub/a.c")
    settled(watcher)
    watcher.close()
    assert threading.active_count() == threads
    assert open_descriptors() == descriptors
    watcher.close()


def open_descriptors():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


CHILD = """
import os, sys
import ctxd.daemon.indexing.inotify
from ctxd.daemon.indexing.watcher import Watcher, shared_inotify
from ctxd.indexer.files.file_table import FileTable
from ctxd.indexer.files.walker import Walker
root = os.fsencode(sys.argv[1])
if len(sys.argv) > 3:  # root may read anything: become who may not, now that all modules are loaded
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.makedirs(root, exist_ok=True)
watcher = Watcher(FileTable(), Walker(root, scratch=sys.argv[2]), on_dirty=lambda: None, shared=shared_inotify())
def settled():
    assert watcher.settle(30) is None
    return sorted(watcher.table.files)
"""


@needs_inotify
def test_an_unreadable_folder_is_a_problem_until_it_is_readable():
    script = (
        CHILD
        + """
os.makedirs(root + b"/shut/deep")
open(root + b"/shut/deep/a", "w").close()
open(root + b"/b", "w").close()
os.chmod(root + b"/shut", 0)
try:
    os.listdir(root + b"/shut")
except PermissionError:
    pass
else:
    sys.exit(77)
watcher.start()
assert settled() == [b"b"], settled()
assert watcher.health()["problems"] == ["shut: folder cannot be read: Permission denied"], watcher.health()
os.chmod(root + b"/shut", 0o755)
assert settled() == [b"b", b"shut/deep/a"], settled()
assert watcher.health()["problems"] == []
open(root + b"/shut/deep/c", "w").close()
assert len(settled()) == 3
os.chmod(root + b"/shut", 0)
assert settled() == [b"b"], settled()
os.chmod(root + b"/shut", 0o755)
watcher.close()
"""
    )
    with tempfile.TemporaryDirectory() as folder:  # pytest's own lie below one that only its user may enter
        run_child(script, pathlib.Path(folder), as_nobody=os.getuid() == 0)


@needs_inotify
def test_at_the_limit_of_watches_it_polls(tmp_path):
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("unshare is not installed")
    script = (
        CHILD
        + """
try:
    with open("/proc/sys/user/max_inotify_watches", "w") as file:
        file.write("3")
except OSError:
    sys.exit(77)
for number in range(3):
    os.makedirs(root + b"/%d" % number)
watcher.start()
if watcher.backend != "polling":
    sys.exit(77)
open(root + b"/1/a", "w").close()
assert watcher.settle(None) is None
assert sorted(watcher.table.files) == [b"1/a"]
assert "max_user_watches" in watcher.health()["problems"][0], watcher.health()
watcher.close()
"""
    )
    run_child(script, tmp_path, prefix=[unshare, "--user", "--map-root-user"])


def run_child(script, folder, prefix=(), *, as_nobody=False):
    """Run a script in a process of its own, as another user where we are root, who may do anything."""
    arguments = [str(folder / "project"), str(folder / "scratch")]
    if as_nobody:
        arguments.append("as nobody")
        os.chown(folder, 65534, 65534)
    environment = {**os.environ, "HOME": str(folder)}
    command = [*prefix, sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)
    if done.returncode == 77 or done.stderr.startswith("unshare:"):
        pytest.skip("this machine does not let us: " + done.stderr)
    assert done.returncode == 0, done.stderr
