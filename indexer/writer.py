"""The one writer: files in, rows out.

Invariant: a row derived from a content is written in the same transaction that says it is there, and a file points to a
content only while its bytes are that content. Called from one thread (daemon/queue.py); transactions stay short.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable, content_hash, decode, read_inside, text_pieces
from ctxd.indexer.file_table import Content, File, FileTable
from ctxd.indexer.outline import definition_count, reference_count
from ctxd.indexer.walker import stamp_of
from ctxd.indexer.worker import FILE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.database import Database
    from ctxd.indexer.outline import Packed

TEXT_REVISION = 1
"""What the rows of the trigram index are: raise it when they change, and every content is indexed again."""
SYMBOLS_REVISION = 1
"""What the rows of the symbol tables are: raise it when a query or the packed form changes."""

TEXT_ROW_BYTES = 64 * 1024  # 16-KiB rows cost 28 % more space, whole files narrow less
BATCH_FILES_MAX = 200  # longer transactions make readers wait: p99 3.5 ms at 200 rows, 11.7 at 5,000
BATCH_BYTES_MAX = 4_000_000
KEEP_UNUSED_SECONDS = 7 * 24 * 3600  # a branch left is often a branch returned to
KEEP_UNUSED_SHARE = 0.25  # of the contents in use; the oldest beyond it are collected at once
COMMON_PART = 20  # a trigram in more than one row of so many is common
_MERGE_PAGES = 64  # of the text index in one idle step: a few ms


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """What became of one file of a batch: a content, or the reason it has none."""

    file: File
    version: int
    content: Content | None
    reason: str = ""


class Writer:
    """Writes one database for one root. Raises database.DatabaseError; the batch is then not written at all."""

    def __init__(self, database: Database, root: bytes) -> None:
        self.database = database
        self.root = root
        with database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO root (path) VALUES (?)", (root,))
            self.root_id: int = connection.execute("SELECT id FROM root WHERE path = ?", (root,)).fetchone()[0]

    def load(self, table: FileTable) -> None:
        """Fill an empty table with the files as the last daemon left them; the walker then compares stamps."""
        rows = self.database.stream(
            """SELECT path, size, stamp, content_id, hash, form, text_revision, symbols, symbols_revision
               FROM file JOIN content ON content.id = content_id WHERE root_id = ?""",
            (self.root_id,),
        )
        for path, size, stamp, content_id, key, form, text_revision, symbols, symbols_revision in rows:
            file = table.put(path, size, stamp)
            if text_revision == TEXT_REVISION:
                content = table.contents.get(content_id) or _content(content_id, key, form, symbols, symbols_revision)
                table.set_content(file, content)

    def index_files(self, files: Iterable[File]) -> list[IndexedFile]:
        """Read files and write their contents, text rows and paths, in one transaction.

        Files that changed while being read come back without content and are looked at again.
        """
        results: list[IndexedFile] = []
        now = int(time.time())
        with self.database.transaction() as connection:
            for file in files:
                version, stamp = file.version, file.stamp
                try:
                    data, status = read_inside(self.root, file.path)
                except Unreadable as error:
                    results.append(IndexedFile(file, version, None, error.reason))
                    connection.execute("DELETE FROM file WHERE root_id = ? AND path = ?", (self.root_id, file.path))
                    continue
                if stamp_of(status) != stamp:
                    results.append(IndexedFile(file, version, None, "changed"))
                    continue
                content = self._content_of(connection, file.path, data, now)
                connection.execute(
                    "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)",
                    (self.root_id, file.path, file.size, stamp, content.id),
                )
                results.append(IndexedFile(file, version, content))
        return results

    def _content_of(self, connection: Any, path: bytes, data: bytes, now: int) -> Content:
        key = content_hash(data)
        row = connection.execute(
            "SELECT id, form, text_revision, symbols, symbols_revision FROM content WHERE hash = ?", (key,)
        ).fetchone()
        if row is not None:
            id_, form, text_revision, symbols, symbols_revision = row
            content = _content(id_, key, form, symbols, symbols_revision)
            connection.execute("UPDATE content SET last_used = ? WHERE id = ?", (now, content.id))
            if content.symbols == "none" and languages.parsed_language_of(path) is not None:
                content.symbols = "pending"  # the same bytes under a name that has a language
            if text_revision == TEXT_REVISION:
                return content
            _, text = decode(data)
            self._delete_text_rows(connection, content.id)
        else:
            form, text = decode(data)
            symbols = "pending"
            if text is None or languages.parsed_language_of(path) is None:
                symbols = "none"
            elif len(data) > FILE_BYTES_MAX:
                symbols = "too_large"
            cursor = connection.execute(
                "INSERT INTO content (hash, form, symbols, last_used) VALUES (?, ?, ?, ?)", (key, form, symbols, now)
            )
            content = Content(cursor.lastrowid, key, form, symbols)
        if text is not None:
            for piece in text_pieces(text, TEXT_ROW_BYTES):
                cursor = connection.execute("INSERT INTO text_row (content_id) VALUES (?)", (content.id,))
                connection.execute(
                    "INSERT INTO text_index (rowid, text) VALUES (?, ?)", (cursor.lastrowid, piece.decode("latin-1"))
                )
        connection.execute("UPDATE content SET text_revision = ? WHERE id = ?", (TEXT_REVISION, content.id))
        return content

    def forget_files(self, paths: Iterable[bytes]) -> None:
        with self.database.transaction() as connection:
            connection.executemany(
                "DELETE FROM file WHERE root_id = ? AND path = ?", ((self.root_id, path) for path in paths)
            )

    def write_symbols(self, content_id: int, outcome: str, reason: str | None, packed: Packed | None) -> None:
        """Replace what is known of the symbols of one content. Call inside `database.transaction()`."""
        connection = self.database.writer
        connection.execute("DELETE FROM symbol WHERE content_id = ?", (content_id,))
        connection.execute("DELETE FROM symbol_name WHERE rowid = ?", (content_id,))
        counts = (0, 0)
        if packed is not None:
            counts = definition_count(packed.definitions), reference_count(packed.references)
            connection.execute(
                "INSERT INTO symbol VALUES (?, ?, ?)", (content_id, packed.definitions, packed.references)
            )
            connection.execute(
                "INSERT INTO symbol_name (rowid, defined, referenced) VALUES (?, ?, ?)",
                (content_id, name_tokens(packed.defined_names), name_tokens(packed.referenced_names)),
            )
        connection.execute(
            """UPDATE content SET symbols = ?, symbols_error = ?, symbols_revision = ?,
               definition_count = ?, reference_count = ? WHERE id = ?""",
            (outcome, reason, SYMBOLS_REVISION, *counts, content_id),
        )

    def optimize_text(self) -> None:
        """One segment after the first pass: the smallest and fastest form of the text index."""
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO text_index (text_index) VALUES ('optimize')")
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM common_trigram")
            connection.execute(
                """INSERT INTO common_trigram SELECT term, doc FROM text_vocabulary
                   WHERE doc > (SELECT max(id) FROM text_row) / ?""",
                (COMMON_PART,),
            )
        with self.database.lock:
            self.database.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def optimize_names(self) -> None:
        """Likewise for the name index, after the first pass over symbols."""
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO symbol_name (symbol_name) VALUES ('optimize')")

    def merge_text(self) -> bool:
        """One small step of merging segments; whether it did anything."""
        with self.database.lock:
            writer = self.database.writer
            before = writer.total_changes
            writer.execute(f"INSERT INTO text_index (text_index, rank) VALUES ('merge', {_MERGE_PAGES})")
            return writer.total_changes - before > 1

    def collect(self) -> int:
        """Delete contents that no file holds any more and that are old or too many; at most one batch. Returns how many."""
        now = int(time.time())
        with self.database.transaction() as connection:
            used = connection.execute("SELECT count(DISTINCT content_id) FROM file").fetchone()[0]
            unused = connection.execute(
                """SELECT id, last_used FROM content WHERE NOT EXISTS
                   (SELECT 1 FROM file WHERE content_id = content.id) ORDER BY last_used"""
            ).fetchall()
            surplus = len(unused) - max(int(used * KEEP_UNUSED_SHARE), BATCH_FILES_MAX)
            doomed = [
                id_
                for position, (id_, last_used) in enumerate(unused)
                if position < surplus or now - last_used > KEEP_UNUSED_SECONDS
            ][:BATCH_FILES_MAX]
            for id_ in doomed:
                self._delete_text_rows(connection, id_)
                connection.execute("DELETE FROM symbol WHERE content_id = ?", (id_,))
                connection.execute("DELETE FROM symbol_name WHERE rowid = ?", (id_,))
                connection.execute("DELETE FROM content WHERE id = ?", (id_,))
        return len(doomed)

    @staticmethod
    def _delete_text_rows(connection: Any, content_id: int) -> None:
        connection.execute(
            "DELETE FROM text_index WHERE rowid IN (SELECT id FROM text_row WHERE content_id = ?)", (content_id,)
        )
        connection.execute("DELETE FROM text_row WHERE content_id = ?", (content_id,))


def name_tokens(names: Iterable[str]) -> str:
    """Names as one FTS5 text; a space inside a name (`operator new`) must not split it."""
    return " ".join(name.replace(" ", "␣") for name in names)


def _content(id_: int, key: bytes, form: str, symbols: str, symbols_revision: int) -> Content:
    if symbols in {"parsed", "failed"} and symbols_revision != SYMBOLS_REVISION:
        symbols = "pending"
    return Content(id_, key, form, symbols)
