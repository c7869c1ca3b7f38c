"""The edit engine on real files: all or nothing, alike in all but bytes, and to be taken back."""

import errno
import itertools
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading

import pytest

import killed
from ctxd.daemon.edits.editor import Editor, backup_of
from ctxd.daemon.edits.replacement import FileChange, FileChanged, Replacement, read_to_edit
from ctxd.daemon.errors import ToolError
from projects import write


@pytest.fixture
def editor(home):
    return Editor(str(home / "edits"))


@pytest.fixture
def root(folder):
    write(folder, {"a.txt": "old a\n", "src/b.txt": "old b\n", "c.txt": "old c\n"})
    return os.fsencode(folder)


def change(path, old, new):
    return FileChange(path.encode(), old.encode(), new.encode())


CHANGES = [change("a.txt", "old a\n", "new a\n"), change("src/b.txt", "old b\n", "new b\n")]


def held(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


OLD = {"a.txt": b"old a\n", "src/b.txt": b"old b\n", "c.txt": b"old c\n"}
NEW = OLD | {"a.txt": b"new a\n", "src/b.txt": b"new b\n"}


def states(editor):
    return [(entry.number, entry.state) for entry in editor.entries()]


def test_an_edit_is_made_listed_and_taken_back(editor, root, folder):
    made = editor.commit("t", root, CHANGES)
    assert held(folder) == NEW
    assert (made.state, [file.path for file in made.files]) == ("done", ["a.txt", "src/b.txt"])
    assert editor.entries() == [made]
    editor.undo(made.number)
    assert held(folder) == OLD
    assert states(editor) == [(1, "undone")]
    with pytest.raises(ToolError, match="already"):
        editor.undo(made.number)
    with pytest.raises(ToolError, match="no edit 7"):
        editor.undo(7)


def test_edits_are_taken_back_one_after_the_other(editor, root, folder):
    texts = ["old a\n", "one\n", "two\n", "three\n"]
    numbers = [editor.commit("t", root, [change("a.txt", *pair)]).number for pair in itertools.pairwise(texts)]
    with pytest.raises(ToolError, match="written to since"):
        editor.undo(numbers[0])
    for number, before in zip(reversed(numbers), reversed(texts[:-1]), strict=True):
        editor.undo(number)
        assert (folder / "a.txt").read_text() == before


def test_undo_loses_nothing_that_was_written_since(editor, root, folder):
    number = editor.commit("t", root, CHANGES).number
    (folder / "src/b.txt").write_text("mine\n")
    with pytest.raises(ToolError, match=r"src/b\.txt.*written to since"):
        editor.undo(number)
    assert held(folder) == NEW | {"src/b.txt": b"mine\n"}
    (folder / "src/b.txt").unlink()
    with pytest.raises(ToolError, match="no file"):
        editor.undo(number)
    assert states(editor) == [(number, "done")]


def test_a_file_that_changed_meanwhile_is_not_replaced(editor, root, folder):
    for path in ("a.txt", "src/b.txt"):
        kept = (folder / path).read_bytes()
        (folder / path).write_text("mine\n")
        with pytest.raises(FileChanged):
            editor.commit("t", root, CHANGES)
        assert held(folder) == OLD | {path: b"mine\n"}
        (folder / path).write_bytes(kept)
    assert states(editor) == []


@pytest.mark.parametrize("meanwhile", ["write", "rename", "chmod", "unlink", "link"])
def test_what_happens_to_a_file_while_it_is_edited_is_noticed(editor, root, folder, monkeypatch, meanwhile):
    path = folder / "src/b.txt"

    def prepare_and_be_disturbed(self, prepare=Replacement.prepare):
        prepare(self)
        if self.change.path != b"src/b.txt":
            return
        match meanwhile:
            case "write":
                path.write_text("mine \n")
            case "rename":
                (folder / "c.txt").write_bytes(OLD["src/b.txt"])
                (folder / "c.txt").rename(path)
            case "chmod":
                path.chmod(0o640)
            case "unlink":
                path.unlink()
            case "link":
                path.unlink()
                path.symlink_to("../c.txt")

    monkeypatch.setattr(Replacement, "prepare", prepare_and_be_disturbed)
    with pytest.raises((FileChanged, ToolError)):
        editor.commit("t", root, CHANGES)
    assert (folder / "a.txt").read_bytes() == OLD["a.txt"]
    assert [one.name for one in folder.rglob(".ctxd-*")] == []
    assert states(editor) == []


def test_what_fails_between_two_renames_is_rolled_back(editor, root, folder, monkeypatch):
    def replace_but_one(self, replace=Replacement.replace):
        if self.change.path == b"src/b.txt":
            raise self._refused(OSError(errno.EIO, "it is broken"))
        replace(self)

    monkeypatch.setattr(Replacement, "replace", replace_but_one)
    with pytest.raises(ToolError, match="it is broken"):
        editor.commit("t", root, CHANGES)
    assert held(folder) == OLD
    assert states(editor) == []


def test_what_cannot_be_rolled_back_is_settled_at_the_next_start(editor, root, folder, home, monkeypatch):
    def replace_once(self, replace=Replacement.replace):
        if (folder / "a.txt").read_bytes() != OLD["a.txt"]:
            raise self._refused(OSError(errno.EIO, "it is broken"))
        replace(self)

    with monkeypatch.context() as context:
        context.setattr(Replacement, "replace", replace_once)
        with pytest.raises(ToolError, match="cannot be put back"):
            editor.commit("t", root, CHANGES)
    assert (held(folder), states(editor)) == (OLD | {"a.txt": b"new a\n"}, [(1, "open")])
    again = Editor(str(home / "edits"))
    assert (held(folder), states(again)) == (OLD, [])


def test_a_file_is_alike_in_all_but_its_bytes(editor, root, folder):
    path = folder / "a.txt"
    path.chmod(0o751)
    if os.getuid() == 0:
        os.chown(path, 1234, 5678)
        path.chmod(0o6751)
    attributes = {}
    if hasattr(os, "setxattr"):
        try:
            os.setxattr(path, "user.ctxd", b"kept")
            attributes = {"user.ctxd": b"kept"}
        except OSError:
            pass
    before = path.stat()
    editor.commit("t", root, CHANGES)
    after = path.stat()
    assert [(s.st_mode, s.st_uid, s.st_gid) for s in (before, after)] == [
        (before.st_mode, before.st_uid, before.st_gid)
    ] * 2
    assert before.st_ino != after.st_ino
    if attributes:
        assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == attributes


ACL_OF_USER_1234 = bytes.fromhex(
    "0200000001000600ffffffff02000400d204000004000000ffffffff10000400ffffffff20000000ffffffff"
)


def test_an_acl_is_kept_and_the_folder_s_default_is_not_added(editor, root, folder):
    try:
        os.setxattr(folder / "a.txt", "system.posix_acl_access", ACL_OF_USER_1234)
        os.setxattr(folder / "src", "system.posix_acl_default", ACL_OF_USER_1234)
    except (OSError, AttributeError):
        pytest.skip("no ACLs here")
    modes = [(folder / path).stat().st_mode for path in ("a.txt", "src/b.txt")]
    editor.commit("t", root, CHANGES)
    assert os.getxattr(folder / "a.txt", "system.posix_acl_access") == ACL_OF_USER_1234
    assert "system.posix_acl_access" not in os.listxattr(folder / "src/b.txt")
    assert [(folder / path).stat().st_mode for path in ("a.txt", "src/b.txt")] == modes


def test_a_read_only_file_and_folder_are_left(editor, root, folder):
    (folder / "src/b.txt").chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        editor.commit("t", root, CHANGES)
    assert held(folder) == OLD


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="only Linux lets one thread be another user")
@pytest.mark.parametrize("keeps", ["folder", "owner"])
def test_without_the_right_to_it_nothing_is_changed(editor, root, folder, home, keeps):
    """In a child of another user than root, whom no mode keeps out."""
    if os.getuid() != 0:
        pytest.skip("needs root to become somebody else")
    for path in (home, folder, folder / "src", *(path for path in folder.rglob("*") if path.is_file())):
        os.chown(path, 65534, 65534)
    if keeps == "folder":
        (folder / "src").chmod(0o555)
    else:
        os.chown(folder / "src/b.txt", 0, 65534)
        (folder / "src/b.txt").chmod(0o664)
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and parent.is_relative_to("/tmp") and parent.name:
            parent.chmod(parent.stat().st_mode | 0o011)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            with pytest.raises(ToolError) as caught:
                Editor(str(home / "edits")).commit("t", root, CHANGES)
            assert {"folder": "folder writable", "owner": "owner"}[keeps] in str(caught.value)
            os._exit(0)
        except BaseException as caught:
            print(f"in the child: {caught!r}", file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert held(folder) == OLD


def test_a_full_disk_leaves_the_old_files(root, folder, home):
    """A limit on the size of files stands in for the disk: the child's writes fail in the same place."""
    child = os.fork()
    if child == 0:
        try:
            editor = Editor(str(home / "edits"))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            big = change("src/b.txt", "old b\n", "new\n" * 10_000)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
            with pytest.raises(ToolError, match="free some space"):
                editor.commit("t", root, [CHANGES[0], big])
            assert states(editor) == []
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 20_000))  # the journal has no room either
            with pytest.raises(ToolError, match="journal"):
                editor.commit("t", root, CHANGES)
            os._exit(0)
        except BaseException as caught:
            print(f"in the child: {caught!r}", file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert held(folder) == OLD
    assert [path.name for path in (home / "edits").iterdir()] == []


def test_what_is_no_regular_file_inside_the_project_is_refused(editor, root, folder, tmp_path):
    (tmp_path / "outside").mkdir()
    write(tmp_path, {"outside/b.txt": "old b\n"})
    (folder / "src/b.txt").unlink()
    (folder / "src").rmdir()
    (folder / "src").symlink_to(tmp_path / "outside")
    with pytest.raises(ToolError, match="no file"):
        editor.commit("t", root, CHANGES)
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("a.txt")
    with open(folder / "huge", "wb") as file:
        file.truncate(1 << 30)
    for path, words in [("fifo", "regular"), ("link", "cannot be read"), ("huge", "1,073,741,824"), ("src", "cannot")]:
        with pytest.raises(ToolError, match=words):
            read_to_edit(root, path.encode())
        with pytest.raises((ToolError, FileChanged)):
            editor.commit("t", root, [change(path, "old", "new")])
    assert (tmp_path / "outside/b.txt").read_bytes() == b"old b\n"


def test_a_backup_is_part_of_the_edit_and_stays_when_it_is_taken_back(editor, root, folder):
    (folder / "a.txt").chmod(0o640)
    number = editor.commit("t", root, [backup_of(root, CHANGES[0]), CHANGES[0]]).number
    assert held(folder) == OLD | {"a.txt": b"new a\n", "a.txt.bak": b"old a\n"}
    assert (folder / "a.txt.bak").stat().st_mode & 0o777 == 0o640
    second = change("a.txt", "new a\n", "third\n")
    editor.commit("t", root, [backup_of(root, second), second])
    assert (folder / "a.txt.bak").read_bytes() == b"new a\n"
    editor.undo(number + 1)
    editor.undo(number)
    assert held(folder) == OLD | {"a.txt.bak": b"new a\n"}
    assert backup_of(root, change("a.txt", "new a\n", "x")) is None
    (folder / "c.txt.bak").mkdir()
    with pytest.raises(ToolError, match="regular"):
        backup_of(root, change("c.txt", "old c\n", "x"))


def test_a_backup_that_was_made_is_taken_away_when_the_edit_fails(editor, root, folder, monkeypatch):
    backup = backup_of(root, CHANGES[0])

    def replace_backup_only(self, replace=Replacement.replace):
        if self.change is CHANGES[0]:
            raise self._refused(OSError(errno.EIO, "it is broken"))
        replace(self)

    monkeypatch.setattr(Replacement, "replace", replace_backup_only)
    with pytest.raises(ToolError, match="it is broken"):
        editor.commit("t", root, [backup, CHANGES[0]])
    assert held(folder) == OLD


def test_who_stops_in_time_changes_nothing(editor, root, folder):
    with pytest.raises(ToolError, match="cancelled"):
        editor.commit("t", root, CHANGES, stop=lambda: True)
    assert held(folder) == OLD
    editor.close()
    with pytest.raises(ToolError, match="ending"):
        editor.commit("t", root, CHANGES)


def test_edits_of_one_file_at_once_are_made_one_after_the_other(editor, root, folder):
    tries = []

    def add(name):
        for _ in range(200):
            old, _ = read_to_edit(root, b"a.txt")
            try:
                editor.commit("t", root, [FileChange(b"a.txt", old, old + name)])
                return
            except FileChanged:
                tries.append(name)
        raise AssertionError("never made")

    names = [b"%d\n" % number for number in range(20)]
    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted((folder / "a.txt").read_bytes().splitlines(keepends=True)) == sorted([b"old a\n", *names])


def test_the_journal_is_bounded_and_keeps_the_last(home, root, monkeypatch):
    monkeypatch.setattr("ctxd.daemon.edits.journal.EDITS_MAX", 3)
    editor = Editor(str(home / "edits"))
    texts = ["old a\n", *(f"{n}\n" for n in range(5))]
    for pair in itertools.pairwise(texts):
        editor.commit("t", root, [change("a.txt", *pair)])
    assert states(editor) == [(5, "done"), (4, "done"), (3, "done")]
    monkeypatch.setattr("ctxd.daemon.edits.journal.BYTES_MAX", 10)
    editor.commit("t", root, [change("a.txt", "4\n", "5\n")])
    assert states(editor) == [(6, "done")]
    monkeypatch.setattr("ctxd.daemon.edits.journal.DAYS_MAX", -1)
    editor.commit("t", root, [change("a.txt", "5\n", "6\n")])
    assert states(editor) == [(7, "done")]


def test_a_damaged_journal_is_told_of_and_in_nobody_s_way(home, root, folder):
    editor = Editor(str(home / "edits"))
    number = editor.commit("t", root, CHANGES).number
    path = home / "edits" / f"{number:08}.done"
    path.write_bytes(path.read_bytes().replace(b"old b", b"bad b"))
    with pytest.raises(ToolError, match="damaged"):
        editor.undo(number)
    assert held(folder) == NEW
    (home / "edits/00000009.open").write_bytes(b"{")
    (home / "edits/00000010.new").write_bytes(b"{")
    (home / "edits/readme").write_bytes(b"")
    assert states(Editor(str(home / "edits"))) == [(number, "done")]
    assert not (home / "edits/00000010.new").exists()


def interrupted(home, root, changes, replaced):
    """What a crash leaves after `replaced` renames."""
    files = [Replacement(root, one, b".ctxd-%016d.tmp" % n) for n, one in enumerate(changes)]
    editor = Editor(str(home / "edits"))
    editor._begin("t", root, files, None)
    for file in files:
        file.prepare()
    for file in files[:replaced]:
        file.replace()
    for file in files:
        os.close(file._folder)


@pytest.mark.parametrize(("replaced", "expected", "left"), [(0, OLD, []), (1, OLD, []), (2, NEW, [(1, "done")])])
def test_what_a_crash_interrupts_is_all_or_nothing(home, root, folder, replaced, expected, left):
    interrupted(home, root, CHANGES, replaced)
    editor = Editor(str(home / "edits"))
    assert (held(folder), states(editor)) == (expected, left)
    if left:
        editor.undo(1)
        assert held(folder) == OLD


def test_what_was_written_after_a_crash_is_left(home, root, folder):
    interrupted(home, root, CHANGES, 1)
    (folder / "a.txt").write_text("mine\n")
    assert states(Editor(str(home / "edits"))) == []
    assert held(folder) == OLD | {"a.txt": b"mine\n"}


def test_an_edit_in_a_folder_that_is_not_mounted_waits(home, root, folder):
    interrupted(home, root, CHANGES, 1)
    away = folder.rename(folder.parent / "away")
    assert states(Editor(str(home / "edits"))) == [(1, "open")]
    away.rename(folder)
    assert states(Editor(str(home / "edits"))) == []
    assert held(folder) == OLD


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("case", ["three_files", "undo", "failing", "recovery"])
def test_an_edit_killed_at_any_system_call_is_all_or_nothing(case):
    """In a process of its own: this one has threads, and must not fork."""
    command = [sys.executable, killed.__file__, "--some", case]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == killed.NOT_POSSIBLE:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
