"""A database that is damaged, deleted or cut: no answer is wrong without a word, and the index comes back by itself."""

import os
import random
import re
import shutil

import damage
import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer import page_checksums
from ctxd.indexer.database import Database
from ctxd.indexer.writer import Writer
from projects import opened, ready, until, write

needs_checksums = pytest.mark.skipif(not page_checksums.load(), reason="apsw has no checksum extension here")
FILES = {
    f"part{n}/module{n}.py": f"import os\n\n\ndef function_of_{n}(argument):\n    '''Counts {n} horses.'''\n"
    f"    return os.stat(argument) + function_of_{(n + 1) % 8}(argument)\n\n\nclass Class{n}:\n    member{n} = 'word_of_{n}'\n"
    for n in range(8)
}


def call(project, tool, **arguments):
    return TOOLS[tool].call(Call(View(project)), arguments)


def lines_of(project, name):
    found = call(project, "find_symbol_occurrences", symbol_name=name)
    return found["status"], [(one["file_path"], one["line_number"]) for one in found["occurrences"]]


FOUND = ("success", [("part3/module3.py", 4), ("part2/module2.py", 6)])


@needs_checksums
@pytest.mark.parametrize("running", [False, True])
def test_flipped_bits_make_no_answer_wrong_without_a_word(folder, home, workers, tmp_path, running):
    write(folder, FILES)
    asked, truth = damage.undamaged(folder, home, workers, 16)
    kept = tmp_path / "kept"
    shutil.copytree(home, kept)
    dice = random.Random(1)
    for bits in (1, 8, 60, 200):
        at_once, repaired = damage.round_of_flips(
            folder, home, kept, workers, asked, truth, dice, running=running, bits=bits
        )
        assert not at_once[damage.WRONG], at_once
        assert not at_once[damage.FAILED], at_once
        assert repaired == {damage.RIGHT: len(asked)}


@needs_checksums
@pytest.mark.parametrize("stored", [b"\0function_of_3\0", b"function_of_"], ids=["outline", "name index"])
def test_a_name_damaged_on_disk_is_found_all_the_same(folder, home, workers, stored):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        path = project.database.path
    with open(path, "r+b") as file:
        data = file.read()
        assert stored in data
        for at in (at for at in range(len(data)) if data.startswith(stored, at)):
            file.seek(at + 5)
            file.write(bytes([data[at + 5] ^ 1]))
    with opened(folder, home, workers) as project:
        status, found = lines_of(project, "function_of_3")
        assert (status, found) == FOUND or status == "indexing_required"
        until(lambda: lines_of(project, "function_of_3") == FOUND)


@needs_checksums
def test_a_database_opens_whichever_page_is_damaged(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        path = project.database.path
    with open(path, "rb") as file:
        whole = file.read()
    # Every page, and every statement that made a table: SQLite's message quotes it, and is no text any more.
    places = [*range(2000, len(whole), damage.PAGE_BYTES), *(one.start() + 2 for one in re.finditer(b"CREATE ", whole))]
    for place in places:
        data = bytearray(whole)
        data[place] ^= 128
        with open(path, "wb") as file:
            file.write(data)
        database = Database(path)
        writer = Writer(database, b"/project")
        assert writer.generation == database.generation
        database.close()


def _delete(path):
    os.unlink(path)


def _delete_log(path):
    os.unlink(path + "-wal")


def _delete_all(path):
    for suffix in ("", "-wal", "-shm"):
        os.unlink(path + suffix)


def _delete_folder(path):
    shutil.rmtree(os.path.dirname(path))


def _empty(path):
    os.truncate(path, 0)


def _cut(path):
    os.truncate(path, os.path.getsize(path) // 8192 * 4096)


def _replace(path):
    with open(path + ".other", "wb") as file:
        file.write(b"this is no database\n" * 1000)
    os.replace(path + ".other", path)


def _overwrite(path):
    with open(path, "r+b") as file:
        file.write(random.Random(1).randbytes(os.path.getsize(path)))


HARMS = [_delete, _delete_log, _delete_all, _delete_folder, _empty, _cut, _replace]


@pytest.mark.parametrize("harm", HARMS, ids=lambda harm: harm.__name__.strip("_"))
def test_an_index_lost_under_a_running_daemon_comes_back(folder, home, workers, harm):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        with project.lock:  # the indexing thread does not come back before we have looked
            harm(project.database.path)
            assert lines_of(project, "function_of_3")[0] == "indexing_required"
            meant = call(project, "search_semantic_concept", concept_description="counts horses")
            assert meant["status"] == "embeddings_not_ready"
            assert meant["progress"]["total"] == len(FILES)
            assert call(project, "search_text_pattern", query="word_of_3")["match_count"] == 1
            assert len(call(project, "find_files_by_name", name_pattern="*3.py")["files"]) == 1
            element = call(project, "read_code_element", filePath="part3/module3.py", lineNumber=6)
            assert element["element"]["name"] == "function_of_3"
            status = project.status()
            assert status["state"] == "degraded"
            assert "the index was lost" in " ".join(status["problems"])
        ready(project)
        assert lines_of(project, "function_of_3") == FOUND
        assert call(project, "search_semantic_concept", concept_description="counts horses")["results"]
        write(folder, {"new.py": "def newest(): pass\n"})
        assert lines_of(project, "newest") == ("success", [("new.py", 1)])
        until(lambda: project.status()["state"] == "ready")
        assert project.status()["problems"] == []
    with opened(folder, home, workers) as project:  # the new file is whole
        assert not project.table.without_content
        assert lines_of(project, "function_of_3") == FOUND


@needs_checksums
def test_a_file_overwritten_under_a_running_daemon_is_moved_aside(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        _overwrite(project.database.path)
        found = [lines_of(project, f"function_of_{n}") for n in range(8)]
        assert all(status == "indexing_required" or len(lines) == 2 for status, lines in found)
        # What it holds in memory is whole. A write, or the next start, reads what is not.
        write(folder, {f"{n}.py": f"def newest_{n}(): pass\n" for n in range(50)})
        until(lambda: lines_of(project, "newest_49") == ("success", [("49.py", 1)]))
    with opened(folder, home, workers) as project:
        ready(project)
        assert lines_of(project, "function_of_3") == FOUND
    assert [name for name in os.listdir(home / "databases") if ".damaged-" in name]


def test_projects_that_share_a_database_come_back_together(tmp_path, home, workers):
    database = Database(str(home / "databases" / "shared.db"))
    one, other = tmp_path / "one", tmp_path / "other"
    write(one, FILES)
    write(other, {**FILES, "own.py": "def own(): pass\n"})
    with (
        opened(one, home, workers, database=database) as first,
        opened(other, home, workers, database=database) as second,
    ):
        ready(first)
        ready(second)
        _delete_all(database.path)
        until(lambda: lines_of(first, "function_of_3") == FOUND)
        until(lambda: lines_of(second, "own") == ("success", [("own.py", 1)]))
        assert lines_of(first, "own")[1] == []
        ready(first)
        ready(second)
        assert database.generation == 1
    with opened(other, home, workers, database=Database(database.path)) as project:
        assert not project.table.without_content


def test_while_no_new_index_can_be_made_the_files_answer(folder, home, workers):
    write(folder, FILES)
    databases = home / "databases"
    with opened(folder, home, workers) as project:
        ready(project)
        shutil.rmtree(databases)
        databases.write_text("in the way, like a full disk")
        until(lambda: project.indexing.problem)
        assert project.status()["state"] == "degraded"
        assert call(project, "search_text_pattern", query="word_of_3")["match_count"] == 1
        assert lines_of(project, "function_of_3")[0] == "indexing_required"
        databases.unlink()
        until(lambda: lines_of(project, "function_of_3") == FOUND)
        ready(project)
        until(lambda: project.status()["problems"] == [])


def test_a_database_of_a_newer_ctxd_is_kept_and_another_one_made(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        project.database.writer.execute("PRAGMA user_version = 999")
    with opened(folder, home, workers) as project:
        assert "newer ctxd" in str(project.database.problem)
        ready(project)
        assert lines_of(project, "function_of_3") == FOUND
    assert [name for name in os.listdir(home / "databases") if ".newer-" in name]


@needs_checksums
def test_a_database_without_checksums_gets_them_and_keeps_its_rows(folder, home, workers, monkeypatch):
    write(folder, FILES)
    with monkeypatch.context() as before:
        before.setattr(page_checksums, "load", lambda: False)
        with opened(folder, home, workers) as project:
            ready(project)
            path = project.database.path
            contents = sorted(project.table.contents)
        assert not page_checksums.header_of(path).is_checked
    with opened(folder, home, workers) as project:
        assert sorted(project.table.contents) == contents
        assert not project.table.without_content
        assert lines_of(project, "function_of_3") == FOUND
        assert call(project, "search_text_pattern", query="word_of_3")["match_count"] == 1
        assert project.database.problem is None
    assert page_checksums.header_of(path).is_checked


@needs_checksums
def test_a_database_that_lost_its_mark_is_not_taken_for_an_older_one(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        path = project.database.path
    with open(path, "r+b") as file:
        file.seek(20)
        file.write(b"\0")
    with opened(folder, home, workers) as project:
        assert "lost its mark" in project.database.problem
        ready(project)
        assert lines_of(project, "function_of_3") == FOUND


def test_a_log_deleted_after_a_crash_is_noticed(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        copy = home / "databases" / "copy.db"
        shutil.copy(project.database.path, copy)
    database = Database(str(copy))
    assert "its log is gone" in str(database.problem)
    database.close()


def test_of_damaged_files_the_last_one_is_kept(home):
    path = str(home / "databases" / "x.db")
    for _ in range(3):
        database = Database(path)
        os.unlink(path)
        database.renew()
        database.close()
        with open(path, "wb") as file:
            file.write(b"this is no database\n" * 1000)
    assert len([name for name in os.listdir(home / "databases") if name.count(".damaged-") and "-wal" not in name]) <= 1
