"""Edits killed before each of their system calls, by strace: `python tests/killed.py` tries all calls of all cases.

Afterwards each file must be wholly old or wholly new, and, once the daemon has started again, all of them the same.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ctxd.daemon.edits.editor import Editor, backup_of
from ctxd.daemon.edits.replacement import FileChange, Replacement, temporary_name

NOT_POSSIBLE = 77
CHANGING = frozenset(
    [
        "openat",
        "open",
        "write",
        "pwrite64",
        "fsync",
        "fchmod",
        "fchown",
        "rename",
        "renameat",
        "renameat2",
        "unlink",
        "unlinkat",
        "mkdir",
        "setxattr",
        "fsetxattr",
    ]
)
"""Between calls that change nothing a crash leaves the same."""
NAMES = ("a.txt", "src/b.txt", "src/c.txt")
SECONDS = 30


class Site:
    """Files, a journal, and what is done to them."""

    def __init__(self, base):
        shutil.rmtree(base, ignore_errors=True)
        self.folder, self.journal = base / "project", str(base / "edits")
        (self.folder / "src").mkdir(parents=True)
        for name in NAMES:
            (self.folder / name).write_text(f"old {name}\n")
            (self.folder / name).chmod(0o640)
        self.root = os.fsencode(self.folder)
        self.old, self.new = ({name: f"{age} {name}\n".encode() for name in NAMES} for age in ("old", "new"))

    def changes(self, count):
        return [FileChange(name.encode(), self.old[name], self.new[name]) for name in NAMES[:count]]

    def held(self):
        return {name: (self.folder / name).read_bytes() for name in NAMES}

    def settled(self, count):
        """Raises AssertionError where a file is torn, or the edit is half made after a start."""
        before = self.held()
        assert all(before[name] in (self.old[name], self.new[name]) for name in NAMES), before
        editor = Editor(self.journal)
        after = self.held()
        changed = {name for name in NAMES if after[name] == self.new[name]}
        assert changed in (set(), set(NAMES[:count])), after
        entries = editor.entries()
        assert [entry.state for entry in entries] == ["done"] * bool(changed) or (
            not changed and [entry.state for entry in entries] == ["undone"]
        ), entries
        names = {path.name for path in self.folder.rglob("*") if path.is_file()}
        assert names <= {*(Path(name).name for name in NAMES), "a.txt.bak"}, names
        assert all((self.folder / name).stat().st_mode & 0o777 == 0o640 for name in NAMES)
        if changed:
            editor.undo(entries[0].number)
            assert self.held() == self.old


def one_file(site):
    editor = Editor(site.journal)
    return 1, lambda: editor.commit("t", site.root, site.changes(1))


def three_files(site):
    editor = Editor(site.journal)
    return 3, lambda: editor.commit("t", site.root, site.changes(3))


def with_backup(site):
    (site.folder / "a.txt.bak").write_text("older\n")
    editor = Editor(site.journal)
    changes = [backup_of(site.root, site.changes(1)[0]), *site.changes(3)]
    return 3, lambda: editor.commit("t", site.root, changes)


def undo(site):
    editor = Editor(site.journal)
    number = editor.commit("t", site.root, site.changes(3)).number
    return 3, lambda: editor.undo(number)


def failing(site):
    """Two of three files are replaced when something goes wrong, and are put back."""
    editor = Editor(site.journal)
    first = Replacement.replace

    def replace(self):
        if self.change.path == NAMES[2].encode():
            raise self._refused(OSError(5, "it is broken"))
        first(self)

    def run():
        Replacement.replace = replace
        try:
            editor.commit("t", site.root, site.changes(3))
        except Exception:
            return

    return 3, run


def recovery(site):
    files = [Replacement(site.root, change, temporary_name()) for change in site.changes(3)]
    Editor(site.journal)._begin("t", site.root, files, None)
    for file in files:
        file.prepare()
    for file in files[:2]:
        file.replace()
    return 3, lambda: Editor(site.journal)


CASES = {case.__name__: case for case in (one_file, three_files, with_backup, undo, failing, recovery)}


def traced(action, *options):
    """Run `action` in a child under strace. Returns the child's status; None where strace may not attach."""
    child = os.fork()
    if child == 0:
        try:
            os.kill(os.getpid(), signal.SIGSTOP)
            action()
        finally:
            os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    strace = subprocess.Popen(["strace", "-qq", "-p", str(child), *options], stderr=subprocess.PIPE)
    end = time.monotonic() + SECONDS
    while re.search(r"^TracerPid:\t0$", Path(f"/proc/{child}/status").read_text(), re.MULTILINE):
        if strace.poll() is not None or time.monotonic() > end:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.001)
    os.kill(child, signal.SIGCONT)
    # Not waitpid first: strace must see the end of its child, or it would wait for ever.
    strace.communicate(timeout=SECONDS)
    return os.waitpid(child, 0)[1]


def calls_of(case, base):
    """The system calls of a case, in order; None where strace may not attach."""
    site = Site(base / "site")
    _, action = case(site)
    output = base / "calls"
    if traced(action, "-o", str(output)) is None:
        return None
    return [match[1] for match in re.finditer(r"^(\w+)\(", output.read_text(), re.MULTILINE)]


def kill_at_each(case, base, *, only=None):
    """How many times it was killed; None where strace may not attach."""
    calls = calls_of(case, base)
    if calls is None:
        return None
    killed = 0
    for number, name in enumerate(calls):
        if name == "exit_group" or (only is not None and name not in only):
            continue
        site = Site(base / "site")
        count, action = case(site)
        occurrence = calls[: number + 1].count(name)
        status = traced(action, "-o", "/dev/null", "-e", f"inject={name}:signal=SIGKILL:when={occurrence}")
        assert status is not None
        assert os.WIFSIGNALED(status), f"{case.__name__} was not killed at {name} number {occurrence}"
        killed += 1
        try:
            site.settled(count)
        except AssertionError as error:
            raise AssertionError(f"{case.__name__}, killed at {name} number {occurrence}: {error}") from error
    return killed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--some", action="store_true", help="only calls that change something")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    options = parser.parse_args()
    # In memory where that is possible: flushing files is most of the time.
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as base:
        for name in options.cases or CASES:
            count = kill_at_each(CASES[name], Path(base), only=CHANGING if options.some else None)
            if count is None:
                print("strace may not attach to processes here")
                return NOT_POSSIBLE
            print(f"{name}: killed at {count} system calls, each time all or nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
