"""You wrote it, you find it: random changes to a project, each followed at once by queries, checked against a scan of the files.

CTXD_FUZZ_OPERATIONS=2000 makes it longer than the run that every test run does; CTXD_FUZZ_SEED chooses another course.
"""

import os
import random
import re
import shutil
import threading
from pathlib import Path

import pytest
from saves import Saves

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.files.file_table import Content
from projects import WATCHES_MAX, git, opened, ready

OPERATIONS = int(os.environ.get("CTXD_FUZZ_OPERATIONS", "400"))
SEED = int(os.environ.get("CTXD_FUZZ_SEED", "1"))
WORDS = [f"word{n:02d}" for n in range(30)]


class Fuzz:
    def __init__(self, folder, seed):
        self.folder = folder
        self.random = random.Random(seed)
        self.branches = ["main"]

    def files(self):
        return [p for p in self.folder.rglob("*.py") if ".git" not in p.parts and p.is_file() and not p.is_symlink()]

    def folders(self):
        return [p for p in self.folder.rglob("d*") if ".git" not in p.parts and p.is_dir() and not p.is_symlink()]

    def text(self):
        chosen = self.random.sample(WORDS, 3)
        return f"def {chosen[0]}():\n    return {chosen[1]}({chosen[2]})\n" * self.random.randint(1, 3)

    def somewhere(self):
        parent = self.random.choice([self.folder, *self.folders()])
        return parent / f"f{self.random.randint(0, 30)}.py"

    def write(self):
        path = self.somewhere()
        if not path.is_dir() and not path.is_symlink():
            path.write_text(self.text())

    def rewrite_twice(self):
        """Two writes of one length within a tick of the clock: the stamp may not tell them apart."""
        path = self.somewhere()
        if not path.is_dir() and not path.is_symlink():
            first, second = self.random.sample(WORDS, 2)
            path.write_text(f"def {first}(): pass\n")
            path.write_text(f"def {second}(): pass\n")

    def append(self):
        if files := self.files():
            with self.random.choice(files).open("a") as file:
                file.write(self.text())

    def atomic_save(self):
        path = self.somewhere()
        if not path.is_dir():
            temporary = path.with_suffix(".tmp~")
            temporary.write_text(self.text())
            temporary.replace(path)

    def delete(self):
        if files := self.files():
            self.random.choice(files).unlink()

    def rename(self):
        target = self.somewhere()
        if (files := self.files()) and not target.is_dir():
            self.random.choice(files).rename(target)

    def make_folder(self):
        (self.random.choice([self.folder, *self.folders()]) / f"d{self.random.randint(0, 6)}").mkdir(exist_ok=True)

    def move_folder(self):
        if folders := self.folders():
            source = self.random.choice(folders)
            target = self.random.choice([self.folder, *self.folders()]) / f"d{self.random.randint(0, 6)}"
            if not target.exists() and source not in [target, *target.parents]:
                source.rename(target)

    def delete_folder(self):
        if folders := self.folders():
            shutil.rmtree(self.random.choice(folders))

    def link(self):
        path = self.somewhere()
        if files := self.files():
            path.unlink(missing_ok=True) if not path.is_dir() else None
            if not path.exists() and not path.is_symlink():
                path.symlink_to(self.random.choice(files))

    def branch(self):
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "x", "--allow-empty")
        if len(self.branches) < 5 and self.random.random() < 0.5:
            self.branches.append(f"b{len(self.branches)}")
            git(self.folder, "checkout", "-q", "-b", self.branches[-1])
        else:
            git(self.folder, "checkout", "-q", self.random.choice(self.branches))

    def step(self):
        common = [self.write, self.append, self.atomic_save, self.delete, self.rename, self.rewrite_twice, self.link]
        rare = [self.make_folder, self.move_folder, self.delete_folder, *([self.branch] if shutil.which("git") else [])]
        operation = self.random.choice(common * 4 + rare)
        operation()
        return operation.__name__


@pytest.mark.parametrize("seed", [SEED])
def test_every_query_sees_every_write(folder, home, workers, seed):
    if shutil.which("git"):
        git(folder, "init", "-q")
    fuzz = Fuzz(folder, seed)
    for _ in range(20):
        fuzz.write()
    with opened(folder, home, workers) as project:
        ready(project)
        view = View(project)
        for number in range(OPERATIONS):
            operation = fuzz.step()
            word = fuzz.random.choice(WORDS)
            truth = {str(path.relative_to(folder)): path.read_text() for path in fuzz.files()}
            where = f"operation {number} ({operation}), seed {seed}"

            found = TOOLS["search_text_pattern"].call(Call(view), {"query": word, "context_lines": 0})
            assert "stale" not in found, where
            lines = sorted((m["file_path"], m["line_number"]) for m in found["matches"])
            assert lines == sorted(
                (p, n) for p, t in truth.items() for n, line in enumerate(t.split("\n"), 1) if word in line
            ), where

            found = TOOLS["find_files_by_name"].call(Call(view), {"name_pattern": "*.py"})
            assert found["files"] == sorted(truth), where

            if number % 4 == 0:
                found = TOOLS["find_symbol_occurrences"].call(Call(view), {"symbol_name": word})
                assert "stale" not in found, where
                places = {(o["file_path"], o["line_number"], o["type"] == "definition") for o in found["occurrences"]}
                assert places == {
                    (path, n, line.startswith("def"))
                    for path, text in truth.items()
                    for n, line in enumerate(text.split("\n"), 1)
                    if re.search(rf"\b{word}\b", line)
                }, where


def test_a_file_written_while_it_is_read_is_not_taken_for_indexed(project, folder):
    """The indexing thread may read a file between two writes that leave one stamp: its result must not count."""
    view = View(ready(project))
    path = Path(folder, "a.py")
    for n in range(100):
        path.write_text(f"def a{n:03d}(): pass\n")
        path.write_text(f"def b{n:03d}(): pass\n")
        found = TOOLS["search_text_pattern"].call(Call(view), {"query": f"b{n:03d}"})
        assert found["match_count"] == 1, n
        found = TOOLS["find_symbol_occurrences"].call(Call(view), {"symbol_name": f"b{n:03d}"})
        assert found["occurrence_count"] == 1, n


def test_a_file_that_gets_other_bytes_before_the_lookup_is_not_overlooked(folder, home, workers, monkeypatch):
    """Between the wait for symbols and their lookup there is no moment in which a file can change unnoticed."""
    path = Path(folder, "a.py")
    path.write_text("def known(): pass\n")
    with opened(folder, home, workers, symbols_wait_ms=200) as project:
        ready(project)
        begin, threads = project.table.noting_changes, []

        def change():
            """As the indexing thread: the file has a content that is not parsed yet."""
            with project.lock:
                content = Content(-1, b"other bytes", "plain", "pending")
                project.table.set_content(project.table.files[b"a.py"], content)
                project.indexing.derivation.symbols.pending[content.id] = content

        def changed_before(lock):
            if not threads:
                threads.append(threading.Thread(target=change))
                threads[0].start()
                threads[0].join(0.5)  # it ends only where nobody holds the lock
            return begin(lock)

        monkeypatch.setattr(project.table, "noting_changes", changed_before)
        found = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": "known"})
        threads[0].join()
        assert found["occurrence_count"] == 1 or "stale" in found


@pytest.mark.parametrize("watches_max", [WATCHES_MAX, 0])
def test_every_save_is_found_also_through_another_name_and_while_a_file_grows(folder, home, workers, watches_max):
    """A short run; `python benchmarks/freshness.py` is the long one."""
    saves = Saves(folder, folder.parent / "outside", SEED)
    with opened(folder, home, workers, watches_max=watches_max) as project:
        view = View(ready(project))

        def ask(tool, **arguments):
            return TOOLS[tool].call(Call(view), arguments)

        for _ in range(60):
            saves.step(ask)
        saves.growing(ask, 20, pause=0.05)
    assert saves.wrong == []
    stale = {kind: count for kind, count in saves.counted.items() if "stale" in kind and "growing" not in kind}
    assert stale == {}
