"""Each page of a database ends with a checksum. SQLite compares it whenever it reads the page from disk.

SQLite's checksum VFS does it (https://sqlite.org/cksumvfs.html). It is a loadable extension that comes with the wheels
of apsw. Nothing else of apsw is used; importing it would load a second SQLite. Invariant: a page that has changed since
it was written is an error of SQLite (SQLITE_IOERR), never an answer.

A page has room for its checksum if the header of the file says so (byte 20). SQLite fixes that before the first table is
made, so an older file has to be copied into a new one.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import struct
from typing import Any, NamedTuple

import sqlean

_sqlite: Any = sqlean  # a compiled module without type information
logger = logging.getLogger(__name__)

_HEADER_BYTES = 100  # https://sqlite.org/fileformat.html
_RESERVED_AT, _RESERVED_BYTES = 20, 8
_APPLICATION_ID_AT = 68
_CONTENT_START_AT = 105  # the first page says here where its cells begin
APPLICATION_ID = int.from_bytes(b"ctxd", "big")
"""In the header of every file made with checksums. A file that has it, but not byte 20, is damaged rather than old."""


class Header(NamedTuple):
    is_ours: bool
    """True if the file was made with checksums."""
    is_checked: bool
    """True if SQLite will compare them."""


@functools.cache
def load() -> bool:
    """Make all later connections of this process check pages. Return whether this platform can."""
    package = importlib.util.find_spec("apsw")
    if package is None or not package.submodule_search_locations:
        logger.warning("apsw is not installed: damage of an index is found late or never")
        return False
    extension = os.path.join(package.submodule_search_locations[0], "sqlite_extra_binaries", "cksumvfs")
    with contextlib.closing(_sqlite.connect(":memory:")) as connection:
        connection.enable_load_extension(True)
        try:
            connection.load_extension(extension)
        except _sqlite.DatabaseError as error:
            logger.warning("%s cannot be loaded (%s): damage of an index is found late or never", extension, error)
            return False
    return True


def header_of(path: str) -> Header | None:
    """The header; None if the file is missing, empty or too short.

    Call it while nobody has the file open: closing the file drops SQLite's locks.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        return None
    if len(header) < _HEADER_BYTES:
        return None
    number = int.from_bytes(header[_APPLICATION_ID_AT : _APPLICATION_ID_AT + 4], "big")
    return Header(number == APPLICATION_ID, header[_RESERVED_AT] == _RESERVED_BYTES)


def create(path: str) -> None:
    """Make an empty database whose pages have room for checksums."""
    with contextlib.closing(_sqlite.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("VACUUM")
    # No SQL statement reserves the room. In a file of one empty page, changing two numbers does.
    with open(path, "r+b") as file:
        size = os.path.getsize(path)
        file.seek(_RESERVED_AT)
        file.write(bytes([_RESERVED_BYTES]))
        file.seek(_CONTENT_START_AT)
        file.write(struct.pack(">H", size - _RESERVED_BYTES))
    with contextlib.closing(_sqlite.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA checksum_verification = OFF")  # this page has none yet
        connection.execute("VACUUM")


def add_checksums(path: str) -> None:
    """Replace a database of an older ctxd by a copy with checksums. Raises DatabaseError."""
    new = path + ".new"
    for suffix in ("", "-journal"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(new + suffix)
    create(new)
    with contextlib.closing(_sqlite.connect(new, isolation_level=None)) as connection:
        connection.execute("ATTACH ? AS old", (path,))
        connection.execute("BEGIN")
        _copy_tables(connection)
        connection.execute(f"PRAGMA user_version = {connection.execute('PRAGMA old.user_version').fetchone()[0]}")
        connection.execute("COMMIT")
        connection.execute("DETACH old")
    os.replace(new, path)
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def _copy_tables(connection: Any) -> None:
    rows = connection.execute("SELECT type, name, rootpage, sql FROM old.sqlite_schema ORDER BY rowid").fetchall()
    for kind, name, page, statement in rows:
        if kind == "table" and page and not name.startswith("sqlite_"):
            connection.execute(statement)
            connection.execute(f'INSERT INTO main."{name}" SELECT * FROM old."{name}"')
    connection.execute("DELETE FROM main.sqlite_sequence")
    connection.execute("INSERT INTO main.sqlite_sequence SELECT * FROM old.sqlite_sequence")
    for kind, name, _, statement in rows:
        if kind == "index" and statement and not name.startswith("sqlite_"):
            connection.execute(statement)
    # Copy only the schema rows of virtual tables. Their tables were copied above; CREATE would make them again.
    connection.execute("PRAGMA writable_schema = ON")
    connection.execute(
        "INSERT INTO main.sqlite_schema SELECT * FROM old.sqlite_schema WHERE type = 'table' AND rootpage = 0"
    )
    connection.execute("PRAGMA writable_schema = OFF")


def has_bad_page(path: str) -> bool:
    """True if any page has changed since it was written; 2 microseconds a page. Raises DatabaseError if unreadable."""
    if not load():
        return False
    with contextlib.closing(_sqlite.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA checksum_verification = OFF")  # otherwise the first bad page ends the statement
        statement = "SELECT EXISTS (SELECT 1 FROM sqlite_dbpage WHERE NOT verify_checksum(data))"
        return bool(connection.execute(statement).fetchone()[0])
