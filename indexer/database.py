"""One SQLite database: opened, migrated and checked. A damaged or missing file is replaced while the daemon runs.

Invariant: sqlean is the only SQLite library in this process, and only `indexer` and `migrations` speak SQL.
One writer (indexer/writer.py) and many readers; WAL, short transactions.

A database is *lost* when SQLite finds it damaged (page_checksums.py finds every flipped bit that is read), or when its
file or its log was deleted, replaced or cut. Nothing is read from a lost database. An indexing thread then calls
`renew`: it moves the file aside, puts an empty one in its place and increases `generation`. The new generation tells
everybody that the rows they know are void. Ids of contents and chunks are never used twice, so an old id finds nothing
in the new file.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import logging
import os
import queue
import shutil
import threading
import time
from typing import TYPE_CHECKING, Any

import sqlean
import sqlite_vec

from ctxd.indexer import page_checksums
from ctxd.migrations import LATEST

if TYPE_CHECKING:
    from collections.abc import Iterator

_sqlite: Any = sqlean  # a compiled module without type information
DatabaseError: type[Exception] = _sqlite.DatabaseError
logger = logging.getLogger(__name__)

_BUSY_MS = 5_000  # a reader waits at most for a checkpoint
_WRITER_CACHE_KIB = 32 * 1024
_READER_CACHE_KIB = 4 * 1024
_WAL_PAGES = 4_000  # 16 MiB between checkpoints
_CLEAN = "clean_stop"
# Primary result codes of SQLite (https://sqlite.org/rescode.html). The first two mean that the file is damaged. The
# next four may mean it; a check of all pages decides. The others (FULL, BUSY, LOCKED, ...) pass: the index is kept.
_CORRUPT, _NOT_A_DATABASE = 11, 26
_ERROR, _READ_ONLY, _IO_ERROR, _CANNOT_OPEN = 1, 8, 10, 14
_ASIDE = ("damaged", "newer")  # why a file was moved aside: a part of its new name
_ROOM_BYTES = 1 << 20  # with less free on the disk, an I/O error means that the disk is full
_ID_BITS = 40
"""SQLite counts in these low bits of an id. The bits above them number the file, see `_give_ids_of_its_own`."""


class Database:
    """The file at `path`: one writing connection, and a pool of reading ones."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.problem: str | None = None
        """What happened to the file that was here; shown by `ctxd status` until a project is indexed anew."""
        self.lost = False
        """True once somebody noticed that the file is damaged or gone; `is_lost` looks at the file."""
        self._lost_because = ""
        self.generation = 0
        """Grows when a new file replaces the old one: rows and ids known before are void."""
        self.models_wanted: set[str] = set()
        """Identities of the embedding models that its projects want: worktrees may have different settings."""
        self.lock = threading.RLock()
        """Guards `writer`, which the worktrees of a repository share. Take it after a project's lock, never before."""
        self._readers: queue.LifoQueue[Any] = queue.LifoQueue()
        self._all_readers: list[Any] = []
        self._files_epoch = 0
        self._identity: tuple[tuple[int, int], ...] = ()
        self._bytes = 0
        page_checksums.load()
        self._open()

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        try:
            self.writer = self._open_checked()
        except _NewerError as error:
            self.problem = self._move_aside("newer", str(error))
            self.writer = self._open_checked()
        except DatabaseError as error:
            # _ERROR is "no such table": the file is a database, but not one of ours.
            if _code_of(error) not in {None, _ERROR} and not self._is_damage(error):
                raise
            self.problem = self._move_aside("damaged", f"it was damaged: {error}")
            self.writer = self._open_checked()
        self._readers, self._all_readers = queue.LifoQueue(), []
        identity = self._identity_now()
        self._identity, self._bytes = identity if identity is not None else ((), 0)

    def _open_checked(self) -> Any:
        if page_checksums.load():
            header = page_checksums.header_of(self.path)
            if header is None:
                page_checksums.create(self.path)
            elif header.is_ours and not header.is_checked:
                raise DatabaseError("its first page has lost its mark")
            elif not header.is_ours:
                page_checksums.add_checksums(self.path)
        has_log = os.path.exists(self.path + "-wal")
        connection = self._connect(_WRITER_CACHE_KIB)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > LATEST:
                raise _NewerError(f"it was made by a newer ctxd (tables of step {version}, this one knows {LATEST})")
            if version != LATEST:
                _migrate(connection)
            if connection.execute("SELECT count(*) FROM content").fetchone()[0] and not self._was_closed(connection):
                if not has_log:
                    raise DatabaseError("its log is gone, and it was not closed")
                result = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                if result != "ok":
                    raise DatabaseError(result)
            self._give_ids_of_its_own(connection)
            connection.execute("DELETE FROM note WHERE key = ?", (_CLEAN,))
            # Write it to the file itself now. A file whose log is deleted later must not say that it was closed.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _was_closed(connection: Any) -> bool:
        return connection.execute("SELECT 1 FROM note WHERE key = ?", (_CLEAN,)).fetchone() is not None

    def _give_ids_of_its_own(self, connection: Any) -> None:
        """Make the ids of this file begin above all ids that this process ever knew."""
        highest = connection.execute("SELECT ifnull(max(seq), 0) FROM sqlite_sequence").fetchone()[0] >> _ID_BITS
        if highest < self._files_epoch:
            names = ("content", "chunk", "embedded")
            rows = [(name, self._files_epoch << _ID_BITS) for name in names]
            connection.executemany("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", rows)
        self._files_epoch = max(self._files_epoch, highest)

    def _move_aside(self, kind: str, why: str) -> str:
        for older in glob.glob(f"{glob.escape(self.path)}.{kind}-*"):  # one is enough to find out what happened
            os.unlink(older)
        aside = f"{self.path}.{kind}-{time.strftime('%Y%m%d-%H%M%S')}"
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path + suffix, aside + suffix)
        logger.warning("the index %s was moved to %s: %s", self.path, aside, why)
        return f"the index was lost ({why}); it was moved to {aside} and is being made anew"

    def is_lost(self) -> bool:
        """True if the file is damaged, or was deleted, replaced or cut. Looks at the file: 3 microseconds."""
        if not self.lost and self._harm() is not None:
            with self.lock:  # a second look, while nobody can replace the file
                if not self.lost and (harm := self._harm()) is not None:
                    self._lose(harm)
        return self.lost

    def renew(self) -> None:
        """Replace a lost database by an empty one. Raises DatabaseError if that fails; the database then stays lost."""
        with self.lock:
            if not self.is_lost():
                return
            self._close_connections()
            problem = self._move_aside("damaged", self._lost_because)
            self._files_epoch += 1
            try:
                self._open()
            except OSError as error:
                raise DatabaseError(str(error)) from error
            self.problem = problem
            self.generation += 1
            self.lost = False

    def _harm(self) -> str | None:
        """The harm done to the file from outside, judged by its name and size; None if there is none."""
        now = self._identity_now()
        if now is None or now[0] != self._identity:
            return "its file or its log was deleted or replaced"
        if now[1] < self._bytes and self._was_cut():
            return "its file was cut"
        self._bytes = now[1]
        return None

    def _identity_now(self) -> tuple[tuple[tuple[int, int], ...], int] | None:
        """Device and inode of the file and its log, and the size of the file; None if one of them is missing."""
        try:
            file, log = os.stat(self.path), os.stat(self.path + "-wal")
        except (FileNotFoundError, NotADirectoryError):
            return None
        return ((file.st_dev, file.st_ino), (log.st_dev, log.st_ino)), file.st_size

    def _was_cut(self) -> bool:
        """True if the file is smaller than its pages. A file that only gave free pages back was not cut."""
        with self.lock:
            try:
                _, in_log, copied = self.writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                pages, page_bytes = (
                    self.writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size")
                )
                self._bytes = os.stat(self.path).st_size
            except (DatabaseError, OSError):
                return True
            return in_log == copied and self._bytes < pages * page_bytes

    def _lose(self, why: str) -> None:
        self.lost, self._lost_because = True, why
        self.problem = f"the index was lost ({why}); answers come from the files while it is made anew"
        logger.warning("the index %s is lost: %s", self.path, why)

    def _is_damage(self, error: BaseException) -> bool:
        code = _code_of(error)
        if code not in {_ERROR, _READ_ONLY, _IO_ERROR, _CANNOT_OPEN}:
            return code in {_CORRUPT, _NOT_A_DATABASE}
        try:
            if shutil.disk_usage(os.path.dirname(self.path)).free < _ROOM_BYTES:
                return False
            return page_checksums.has_bad_page(self.path)
        except UnicodeDecodeError:
            return True  # SQLite's message quotes the damaged bytes, which are not UTF-8
        except (DatabaseError, OSError):
            return code == _IO_ERROR  # the disk itself cannot read it

    def _connect(self, cache_kib: int) -> Any:
        # isolation_level None: only an explicit BEGIN IMMEDIATE opens a transaction.
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
        """A connection for short reads. Never keep it across calls: a long read lets the WAL grow without bound."""
        self._refuse_if_lost()
        readers, generation = self._readers, self.generation
        try:
            connection = readers.get_nowait()
        except queue.Empty:
            connection = self._connect(_READER_CACHE_KIB)
            connection.execute("PRAGMA query_only = ON")
            self._all_readers.append(connection)
        try:
            yield connection
        except DatabaseError as error:
            if generation == self.generation:
                self._note_damage(error)
            raise
        finally:
            readers.put(connection)  # if `renew` has replaced this pool, the connection goes with the pool

    @contextlib.contextmanager
    def transaction(self, generation: int | None = None) -> Iterator[Any]:
        """The writer inside BEGIN IMMEDIATE ... COMMIT; rolled back on any exception.

        Raises DatabaseError if the file was replaced since `generation`: the new file does not have the caller's ids.
        """
        with self.lock:
            self._refuse_if_lost()
            if generation not in {None, self.generation}:
                raise DatabaseError("the index was made anew meanwhile")
            try:
                self.writer.execute("BEGIN IMMEDIATE")
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

    def _refuse_if_lost(self) -> None:
        if self.is_lost():
            raise DatabaseError(self.problem)

    def _note_damage(self, error: BaseException) -> None:
        if not self.lost and self._is_damage(error):
            is_page = _code_of(error) == _IO_ERROR
            self._lose("a page is not as it was written" if is_page else f"it is damaged: {error}")

    def shrink(self) -> None:
        """Give memory back after a lot of writing: 35 MB of page cache, and the memory that the allocator kept."""
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
            if not self.is_lost():
                with contextlib.suppress(DatabaseError):
                    self.writer.execute("INSERT OR REPLACE INTO note VALUES (?, 'yes')", (_CLEAN,))
                    self.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            self._close_connections()
            if self.lost:
                self._move_aside("damaged", self._lost_because)

    def _close_connections(self) -> None:
        for reader in self._all_readers:
            with contextlib.suppress(DatabaseError):
                reader.interrupt()
        with contextlib.suppress(queue.Empty):
            while True:
                self._readers.get_nowait().close()
        self.writer.close()


class _NewerError(Exception):
    """A newer ctxd made the tables."""


def roots_of(path: str) -> set[bytes] | None:
    """The folders that a database serves, read while it is not open; None if it cannot be read."""
    page_checksums.load()
    try:
        with contextlib.closing(_sqlite.connect(path, timeout=_BUSY_MS / 1000)) as connection:
            connection.execute("PRAGMA query_only = ON")
            return {root for (root,) in connection.execute("SELECT path FROM root")}
    except DatabaseError:
        return None


def delete_database(path: str) -> None:
    """Delete a database that is not open, and the files that were moved aside."""
    aside = [name for kind in _ASIDE for name in glob.glob(f"{glob.escape(path)}.{kind}-*")]
    for name in (path, path + "-wal", path + "-shm", *aside):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)


def _migrate(connection: Any) -> None:
    import sqlite_utils

    from ctxd.migrations.steps import MIGRATIONS

    MIGRATIONS.apply(sqlite_utils.Database(connection))
    connection.execute(f"PRAGMA user_version = {LATEST}")


def _code_of(error: BaseException) -> int | None:
    """The primary result code; None if the error does not come from SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
