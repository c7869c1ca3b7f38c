import os
import random
import shutil

import pytest
import sqlean

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer import database as database_module
from ctxd.indexer.database import Database, DatabaseError
from ctxd.migrations import LATEST
from ctxd.migrations.steps import MIGRATIONS
from projects import opened, ready, until, write


def count(project, word):
    return TOOLS["search_text_pattern"].call(Call(View(project)), {"query": word})["match_count"]


def content_ids(project):
    return {path: file.content.id for path, file in project.table.files.items() if file.content}


def test_a_restart_reads_no_file_again(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): pass\n" for n in range(50)})
    with opened(folder, home, workers) as project:
        ready(project)
        before = content_ids(project)
    with opened(folder, home, workers) as project:
        assert content_ids(project) == before
        assert not project.indexing.derivation.symbols.pending


def test_files_indexed_before_their_language_was_known_get_symbols(folder, home, workers):
    write(folder, {"a.py": "def f(): pass\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        with project.database.transaction():
            project.writer.write_symbols(content_ids(project)[b"a.py"], "none", None, None)
            project.database.writer.execute("UPDATE content SET symbols_revision = 0")
    with opened(folder, home, workers) as project:
        ready(project)
        found = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": "f"})
        assert found["occurrence_count"] == 1


def test_rows_of_an_older_revision_are_not_read(folder, home, workers):
    write(folder, {"a.py": "def total(): pass\n", "b.py": "def total(): return 0\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        until(lambda: not project.indexing.derivation.chunks.pending)
        outdated = (content_ids(project)[b"b.py"],)
        with project.database.transaction() as connection:
            connection.execute("UPDATE symbol SET definitions = x'01' WHERE content_id = ?", outdated)
            connection.execute("UPDATE content SET symbols_revision = 0 WHERE id = ?", outdated)
        call = Call(View(project))
        found = TOOLS["find_symbol_occurrences"].call(call, {"symbol_name": "total", "target_paths": ["a.py"]})
        assert [one["file_path"] for one in found["occurrences"]] == ["a.py"]
        meant = TOOLS["search_semantic_concept"].call(call, {"concept_description": "total"})
        assert {one["file_path"] for one in meant["results"]} == {"a.py", "b.py"}


def test_what_changed_while_nobody_watched_is_found_after_a_restart(folder, home, workers):
    write(folder, {"a.py": "def old(): pass\n", "b.py": "b\n", "c.py": "c\n"})
    with opened(folder, home, workers) as project:
        ready(project)
    write(folder, {"a.py": "def new(): pass\n", "d.py": "d = 1\n"})
    (folder / "b.py").unlink()
    (folder / "c.py").rename(folder / "e.py")
    with opened(folder, home, workers) as project:
        assert (count(project, "old"), count(project, "new")) == (0, 1)
        assert sorted(project.table.files) == [b"a.py", b"d.py", b"e.py"]


def test_a_renamed_file_keeps_its_content_and_loses_its_old_name(project, folder):
    write(folder, {"a.py": "def f(): pass\n"})
    ready(project)
    project.files_now()
    count(project, "f")
    TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": "f"})
    until(lambda: not project.indexing.derivation.chunks.pending)
    before = content_ids(project)[b"a.py"]
    done = project.workers.stats().jobs_done
    (folder / "a.py").rename(folder / "b.py")
    found = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": "f"})
    assert [one["file_path"] for one in found["occurrences"]] == ["b.py"]
    assert content_ids(project) == {b"b.py": before}
    assert project.workers.stats().jobs_done == done


def test_a_damaged_database_is_moved_aside_and_rebuilt(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): return {n}\n" * 50 for n in range(200)})
    with opened(folder, home, workers) as project:
        ready(project)
        path = project.database.path
    chance = random.Random(1)
    with open(path, "r+b") as file:  # unclean, and with trash in it
        size = os.path.getsize(path)
        for _ in range(40):
            file.seek(chance.randrange(100, size - 512))
            file.write(chance.randbytes(512))
    with opened(folder, home, workers) as project:
        ready(project)
        if project.database.problem:
            assert "moved" in project.database.problem
            assert [name for name in os.listdir(home / "databases") if "damaged" in name]
        assert count(project, "return 7") == 50 * 11


def test_the_latest_migration_is_the_last_step():
    assert len(MIGRATIONS._migrations) == LATEST


def test_a_file_that_is_no_database_is_moved_aside(home):
    path = home / "databases" / "x.db"
    path.parent.mkdir()
    path.write_bytes(b"this is no database\n" * 1000)
    database = Database(str(path))
    assert "moved" in str(database.problem)
    assert list(database.stream("SELECT count(*) FROM content")) == [(0,)]
    database.close()


def test_a_stop_without_goodbye_is_noticed_and_loses_nothing(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): pass\n" for n in range(50)})
    with opened(folder, home, workers) as project:
        ready(project)
        with project.database.transaction() as connection:
            connection.execute("DELETE FROM note")
        copy = home / "databases" / "copy.db"
        for suffix in ("", "-wal"):
            if os.path.exists(project.database.path + suffix):
                shutil.copy(project.database.path + suffix, copy.with_name(copy.name + suffix))
    database = Database(str(copy))
    assert database.problem is None
    assert list(database.stream("SELECT count(*) FROM file")) == [(50,)]
    database.close()


def test_contents_nobody_holds_are_collected(project, folder):
    ready(project)
    for n in range(10):
        write(folder, {"a.py": f"def f{n}(): pass\n"})
        assert count(project, f"f{n}") == 1
        TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": f"f{n}"})
    [(stored,)] = project.database.stream("SELECT count(*) FROM content")
    assert stored >= 10  # one more where a file was met between being emptied and being written
    assert project.writer.collect() == 0
    with project.database.transaction() as connection:
        connection.execute("UPDATE content SET last_used = 0")
    assert project.writer.collect() == stored - 1
    for table in ("content", "text_row", "symbol"):
        assert list(project.database.stream(f"SELECT count(*) FROM {table}")) == [(1,)]
    assert count(project, "f9") == 1
    assert count(project, "f3") == 0


def test_a_database_that_cannot_be_opened_just_now_is_not_thrown_away(home, monkeypatch):
    monkeypatch.setattr(database_module, "_BUSY_MS", 50)
    path = str(home / "databases" / "x.db")
    Database(path).close()
    other = sqlean.connect(path, isolation_level=None)
    other.execute("PRAGMA locking_mode = EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(DatabaseError, match="locked"):
        Database(path)
    other.execute("ROLLBACK")
    other.close()
    assert os.listdir(home / "databases") == ["x.db"]
    Database(path).close()


def test_damage_met_while_running_is_told_and_repaired_at_once(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): return {n}\n" * 50 for n in range(200)})
    with opened(folder, home, workers) as project:
        ready(project)
        path = project.database.path
        [(page,)] = project.database.stream("SELECT rootpage FROM sqlite_master WHERE name = 'text_index_data'")
    with open(path, "r+b") as file:  # closed in good order, so that the next start looks at no page but the first
        file.seek(4096 * (page - 1))
        file.write(b"\xff" * 4096)
    with opened(folder, home, workers) as project:
        write(folder, {f"{n}.py": f"def g{n}(): return {n}\n" for n in range(200)})
        until(lambda: project.database.problem)
        assert "the index was lost" in project.database.problem
        assert count(project, "def g7(") == 1
        ready(project)
        assert count(project, "def g7(") == 1
    with opened(folder, home, workers) as project:
        ready(project)
        assert project.database.problem is None
        assert count(project, "def g7(") == 1
