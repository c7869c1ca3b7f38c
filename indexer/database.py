"""One SQLite database: opened, migrated, checked after an unclean stop, moved aside where it is damaged.

Invariant: sqlean is the only SQLite library in this process, and only `indexer` and `migrations` speak SQL.
One writer (indexer/writer.py) and many readers; WAL, short transactions.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import threading
import time
from typing import TYPE_CHECKING, Any

import sqlean
import sqlite_vec

from ctxd.migrations import LATEST

if TYPE_CHECKING:
    from collections.abc import Iterator

_sqlite: Any = sqlean  # a compiled module without type information
DatabaseError: type[Exception] = _sqlite.DatabaseError

_BUSY_MS = 5_000  # a reader waits at most for a checkpoint
_WRITER_CACHE_KIB = 32 * 1024
_READER_CACHE_KIB = 4 * 1024
_WAL_PAGES = 4_000  # 16 MiB between checkpoints
_CLEAN = "clean_stop"
# Primary result codes of SQLite (https://sqlite.org/rescode.html) that say what is in the file is wrong. All others (FULL,
# BUSY, IOERR, READONLY, CANTOPEN, ...) are about the moment, and no reason to throw an index away.
_CORRUPT, _NOT_A_DATABASE, _NOT_OUR_TABLES = 11, 26, 1


class Database:
    """The file at `path`: one writing connection, and a pool of reading ones."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: str | None = None
        """What happened to an earlier, damaged file; shown by `ctxd status`."""
        self.damaged = False
        """Whether damage was met while running: the file is moved aside on closing, and the next start builds it anew."""
        self.models_wanted: set[str] = set()
        """Identities of the embedding models that its projects want: worktrees may be set up differently."""
        self.lock = threading.RLock()
        """Held by whoever uses `writer`: the worktrees of one repository share it. Taken after a project's lock, never before."""
        self._readers: queue.LifoQueue[Any] = queue.LifoQueue()
        self._all_readers: list[Any] = []
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            self.writer = self._open_checked()
        except DatabaseError as error:
            if _code_of(error) not in {None, _CORRUPT, _NOT_A_DATABASE, _NOT_OUR_TABLES}:
                raise
            self.problem = self._move_aside(error)
            self.writer = self._open_checked()

    def _open_checked(self) -> Any:
        connection = self._connect(_WRITER_CACHE_KIB)
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] != LATEST:
                _migrate(connection)
            if connection.execute("SELECT count(*) FROM content").fetchone()[0] and not self._was_closed(connection):
                result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if result != "ok":
                    raise DatabaseError(result)
            connection.execute("DELETE FROM note WHERE key = ?", (_CLEAN,))
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _was_closed(connection: Any) -> bool:
        return connection.execute("SELECT 1 FROM note WHERE key = ?", (_CLEAN,)).fetchone() is not None

    def _move_aside(self, error: Exception) -> str:
        aside = f"{self.path}.damaged-{time.strftime('%Y%m%d-%H%M%S')}"
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path + suffix, aside + suffix)
        return f"the index was damaged ({error}); it was moved to {aside} and is being rebuilt"

    def _connect(self, cache_kib: int) -> Any:
        # isolation_level None: transactions are opened where they are meant, with BEGIN IMMEDIATE.
        connection = _sqlite.connect(self.path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000)
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        connection.enable_load_extension(False)
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # takes effect in a new file only
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    @contextlib.contextmanager
    def reader(self) -> Iterator[Any]:
        """A connection for short reads. Never keep one across calls: a long reader lets the WAL grow without bound."""
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._connect(_READER_CACHE_KIB)
            connection.execute("PRAGMA query_only = ON")
            self._all_readers.append(connection)
        try:
            yield connection
        except DatabaseError as error:
            self._note_damage(error)
            raise
        finally:
            self._readers.put(connection)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Any]:
        """The writer inside BEGIN IMMEDIATE ... COMMIT; rolled back on any exception."""
        with self.lock:
            self.writer.execute("BEGIN IMMEDIATE")
            try:
                yield self.writer
                self.writer.execute("COMMIT")
            except BaseException as error:
                self._note_damage(error)
                with contextlib.suppress(DatabaseError):
                    self.writer.execute("ROLLBACK")
                raise

    def stream(self, statement: str, parameters: tuple[Any, ...] = ()) -> Iterator[Any]:
        """Rows one by one, for results too large to hold."""
        with self.reader() as connection:
            yield from connection.execute(statement, parameters)

    def _note_damage(self, error: BaseException) -> None:
        if _code_of(error) in {_CORRUPT, _NOT_A_DATABASE}:
            self.damaged = True
            self.problem = f"the index is damaged ({error}); answers come from the files. `ctxd restart` builds it anew"

    def writer_rows(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        with self.lock:
            return self.writer.execute(statement, parameters).fetchall()

    def shrink(self) -> None:
        """Give memory back after a lot of writing: 35 MB of page cache, and what the allocator kept of it."""
        with self.lock:
            self.writer.execute("PRAGMA shrink_memory")
        with contextlib.suppress(OSError, AttributeError):  # glibc only
            ctypes.CDLL(None).malloc_trim(0)

    def bytes_on_disk(self) -> int:
        total = 0
        for suffix in ("", "-wal"):
            with contextlib.suppress(OSError):
                total += os.stat(self.path + suffix).st_size
        return total

    def close(self) -> None:
        """Mark a clean stop and close. Readers still in use are interrupted."""
        with self.lock:
            for reader in self._all_readers:
                with contextlib.suppress(DatabaseError):
                    reader.interrupt()
        with contextlib.suppress(DatabaseError):
            self.writer.execute("INSERT OR REPLACE INTO note VALUES (?, 'yes')", (_CLEAN,))
            self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        while True:
            try:
                self._readers.get_nowait().close()
            except queue.Empty:
                break
        self.writer.close()
        if self.damaged:
            self._move_aside(DatabaseError("found while running"))


def roots_of(path: str) -> set[bytes] | None:
    """The folders that a database which is not open serves; None where it cannot tell."""
    try:
        with contextlib.closing(_sqlite.connect(path, timeout=_BUSY_MS / 1000)) as connection:
            connection.execute("PRAGMA query_only = ON")
            return {root for (root,) in connection.execute("SELECT path FROM root")}
    except DatabaseError:
        return None


def delete_database(path: str) -> None:
    """Delete a database that is not open."""
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _migrate(connection: Any) -> None:
    import sqlite_utils

    from ctxd.migrations.steps import MIGRATIONS

    MIGRATIONS.apply(sqlite_utils.Database(connection))
    connection.execute(f"PRAGMA user_version = {LATEST}")


def _code_of(error: BaseException) -> int | None:
    """The primary result code; None for an error that is not SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
