"""The one writer: it reads files and writes rows.

Invariant: one transaction writes the rows derived from a content and records that they exist. A file points to a content
only while its bytes are that content. Called from one thread (daemon/indexing/thread.py); transactions stay short.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages
from ctxd.indexer.database import Database, DatabaseError
from ctxd.indexer.decode import BINARY, Unreadable, content_hash, decode, line_count, read_inside, text_pieces
from ctxd.indexer.files.file_table import Content, File, FileTable
from ctxd.indexer.files.walker import stamp_of
from ctxd.indexer.meaning.chunk_rows import forget_chunks
from ctxd.indexer.revisions import CHUNKS_REVISION, SYMBOLS_REVISION, TEXT_REVISION
from ctxd.indexer.symbols import element_ranking
from ctxd.indexer.symbols.name_tokens import name_tokens
from ctxd.indexer.symbols.outline import definition_count, reference_count
from ctxd.indexer.worker import FILE_BYTES_MAX

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.symbols.outline import Packed

TEXT_ROW_BYTES = 64 * 1024  # 16-KiB rows cost 28 % more space, whole files narrow less
BATCH_FILES_MAX = 200  # longer transactions make readers wait: p99 3.5 ms at 200 rows, 11.7 at 5,000
BATCH_BYTES_MAX = 4_000_000
KEEP_UNUSED_SECONDS = 7 * 24 * 3600  # people often return to a branch they left
KEEP_UNUSED_SHARE = 0.05  # of the text rows in use; above it the longest unused are collected at once
KEEP_UNUSED_ROWS = 200  # kept in any case
KEEP_UNUSED_CHUNKS = 50  # the same for chunks; fewer, because unused chunks distort how rare a word seems
FREE_SHARE = 0.05  # of the pages of the database may be free
COMMON_PART = 20  # a trigram in more than 1 of 20 rows is common
_INDEXES = ("text_index", "symbol_name", "chunk_text")
_MERGE_PAGES = 64  # pages of an index merged in one idle step: a few ms
_VACUUM_PAGES = 256  # pages of the database given back in one step


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """The result for one file of a batch: a content, or the reason it has none."""

    file: File
    version: int
    content: Content | None
    reason: str = ""


class Writer:
    """Writes one database for one root. Raises database.DatabaseError; nothing of the batch is then written."""

    def __init__(self, database: Database, root: bytes, built_in: str = "", other: str = "") -> None:
        """`built_in` and `other`: identities of the built-in model and of the one wanted beside it; "" for none."""
        self.database = database
        self.root = root
        self.built_in = built_in
        self.other = other
        try:
            self.generation = self.register()
            """The generation of the file it writes. A replaced file has another one: ids known before are then void."""
        except DatabaseError:
            if not database.is_lost():
                raise
            database.renew()
            self.generation = self.register()

    def register(self) -> int:
        """Make sure that the root has a row. Return the generation of the file that has it."""
        with self.database.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO root (path) VALUES (?)", (self.root,))
            self.root_id: int = connection.execute("SELECT id FROM root WHERE path = ?", (self.root,)).fetchone()[0]
            return self.database.generation

    def load(self, table: FileTable) -> None:
        """Fill an empty table with the files as the last daemon knew them; the walker then compares stamps."""
        rows = self.database.stream(
            f"""SELECT path, size, stamp, content_id, text_revision, {_CONTENT_COLUMNS}
               FROM file JOIN content ON content.id = content_id WHERE root_id = ?""",
            (self.root_id,),
        )
        embedded, by_other = self._embedded(self.built_in), self._embedded(self.other)
        for path, size, stamp, content_id, text_revision, *columns in rows:
            file = table.put(path, size, stamp)
            content = table.contents.get(content_id)
            if content is None:
                content = _content(content_id, *columns)
                content.chunks = self._chunks(path, size, content, columns[-1], content_id in embedded)
                content.embedded = columns[-1] == CHUNKS_REVISION and content_id in by_other
            symbols_revision = columns[3]
            if content.symbols == "none" and symbols_revision == 0 and languages.parsed_language_of(path):
                content.symbols = "pending"  # written by a ctxd that did not parse this language
            table.set_content(file, content)
            if text_revision != TEXT_REVISION:
                table.outdated(file)

    def first_pass(self) -> str:
        """The last stage that a first pass over the root has ever completed: "chunks", "symbols" or "".

        An older ctxd did not note it; then the rows tell.
        """
        try:
            with self.database.reader() as connection:
                noted = connection.execute("SELECT value FROM note WHERE key = ?", (self._first_pass_key,)).fetchone()
                if noted is not None:
                    return noted[0]
                return connection.execute(
                    """SELECT CASE WHEN count(*) = 0 OR sum(symbols = 'pending') THEN ''
                                   WHEN sum(chunks_revision) THEN 'chunks' ELSE 'symbols' END
                       FROM file JOIN content ON content.id = content_id WHERE root_id = ?""",
                    (self.root_id,),
                ).fetchone()[0]
        except DatabaseError:
            if not self.database.is_lost():
                raise
            return ""

    def note_first_pass(self, stage: str) -> None:
        """Remember that a first pass has completed a stage: from now on rows answer, even while many are made again."""
        with self.database.transaction(self.generation) as connection:
            connection.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (self._first_pass_key, stage))

    @property
    def _first_pass_key(self) -> str:
        return f"first_pass:{self.root_id}"

    def index_files(self, files: Iterable[File]) -> list[IndexedFile]:
        """Read files and write their contents, text rows and paths, in one transaction.

        A file that changed while being read is returned without content. The caller looks at it again.
        """
        results: list[IndexedFile] = []
        now = int(time.time())
        with self.database.transaction(self.generation) as connection:
            for file in files:
                version, stamp = file.version, file.stamp
                try:
                    data, status = read_inside(self.root, file.path)
                except Unreadable as error:
                    results.append(IndexedFile(file, version, None, error.reason))
                    self._forget(connection, file.path, now)
                    continue
                if stamp_of(status) != stamp:
                    results.append(IndexedFile(file, version, None, "changed"))
                    continue
                self._forget(connection, file.path, now)
                content = self._content_of(connection, file.path, data, now)
                connection.execute(
                    "INSERT INTO file VALUES (?, ?, ?, ?, ?)",
                    (self.root_id, file.path, file.size, stamp, content.id),
                )
                results.append(IndexedFile(file, version, content))
        return results

    def _content_of(self, connection: Any, path: bytes, data: bytes, now: int) -> Content:
        key = content_hash(data)
        row = connection.execute(
            f"SELECT id, text_revision, {_CONTENT_COLUMNS} FROM content WHERE hash = ?", (key,)
        ).fetchone()
        if row is not None:
            id_, text_revision, *columns = row
            content = _content(id_, *columns)
            embedded = self._is_embedded(connection, id_, self.built_in)
            content.chunks = self._chunks(path, len(data), content, columns[-1], embedded)
            content.embedded = columns[-1] == CHUNKS_REVISION and self._is_embedded(connection, id_, self.other)
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
            content.chunks = self._chunks(path, len(data), content, 0, embedded=False)
        if text is not None:
            content.lines = line_count(text)
            for piece in text_pieces(text, TEXT_ROW_BYTES):
                cursor = connection.execute("INSERT INTO text_row (content_id) VALUES (?)", (content.id,))
                # A repeated line adds no trigrams. Leaving it out saves a tenth of the time.
                lines = b"\n".join(dict.fromkeys(piece.split(b"\n")))
                connection.execute(
                    "INSERT INTO text_index (rowid, text) VALUES (?, ?)", (cursor.lastrowid, lines.decode("latin-1"))
                )
        connection.execute(
            "UPDATE content SET text_revision = ?, line_count = ? WHERE id = ?",
            (TEXT_REVISION, content.lines, content.id),
        )
        return content

    def _chunks(self, path: bytes, size: int, content: Content, revision: int, embedded: bool) -> str:
        """The state of a content's chunks: see `Content.chunks`."""
        if content.form == BINARY or languages.chunked_language_of(path) is None:
            return "none"
        if size > FILE_BYTES_MAX:
            return "too_large"
        if revision == CHUNKS_REVISION and (embedded or not self.built_in):
            return "chunked"
        return "outdated" if revision else "pending"

    def _embedded(self, model: str) -> set[int]:
        """Ids of the contents that have vectors of a model."""
        with self.database.reader() as connection:
            rows = connection.execute(
                "SELECT content_id FROM embedded JOIN model ON model.id = model_id WHERE identity = ?", (model,)
            ).fetchall()
        return {id_ for (id_,) in rows}

    @staticmethod
    def _is_embedded(connection: Any, content_id: int, model: str) -> bool:
        row = connection.execute(
            "SELECT 1 FROM embedded JOIN model ON model.id = model_id WHERE content_id = ? AND identity = ?",
            (content_id, model),
        ).fetchone()
        return row is not None

    def forget_files(self, paths: Iterable[bytes]) -> None:
        now = int(time.time())
        with self.database.transaction(self.generation) as connection:
            for path in paths:
                self._forget(connection, path, now)

    def _forget(self, connection: Any, path: bytes, now: int) -> None:
        """Delete a file's row. Note the time at its content, which may be unused from now on."""
        gone = connection.execute(
            "DELETE FROM file WHERE root_id = ? AND path = ? RETURNING content_id", (self.root_id, path)
        ).fetchall()
        for (content_id,) in gone:
            connection.execute("UPDATE content SET last_used = ? WHERE id = ?", (now, content_id))

    def write_symbols(self, content_id: int, outcome: str, reason: str | None, packed: Packed | None) -> None:
        """Replace the symbols of one content. Call inside `database.transaction()`."""
        connection = self.database.writer
        connection.execute("DELETE FROM symbol WHERE content_id = ?", (content_id,))
        connection.execute("DELETE FROM symbol_name WHERE rowid = ?", (content_id,))
        element_ranking.forget_links(connection, content_id)
        counts = (0, 0)
        if packed is not None:
            counts = definition_count(packed.definitions), reference_count(packed.references)
            connection.execute(
                "INSERT INTO symbol VALUES (?, ?, ?, ?)",
                (content_id, packed.definitions, packed.imports, packed.references),
            )
            connection.execute(
                "INSERT INTO symbol_name (rowid, defined, referenced, imported) VALUES (?, ?, ?, ?)",
                (
                    content_id,
                    name_tokens(packed.defined_names),
                    name_tokens(packed.referenced_names),
                    name_tokens(packed.imported_names),
                ),
            )
            element_ranking.write_links(connection, content_id, packed)
        connection.execute(
            """UPDATE content SET symbols = ?, symbols_error = ?, symbols_revision = ?,
               definition_count = ?, reference_count = ? WHERE id = ?""",
            (outcome, reason, SYMBOLS_REVISION, *counts, content_id),
        )

    def optimize_text(self) -> None:
        """Merge the text index into one segment, its smallest and fastest form. Call after the first pass."""
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO text_index (text_index) VALUES ('optimize')")
        with self.database.transaction() as connection:
            connection.execute("DELETE FROM common_trigram")
            connection.execute(
                """INSERT INTO common_trigram SELECT term, doc FROM text_vocabulary
                   WHERE doc > (SELECT max(id) FROM text_row) / ?""",
                (COMMON_PART,),
            )
        self._empty_log()

    def _empty_log(self) -> None:
        """Empty the log: after the first pass over the Linux kernel it has half a gigabyte."""
        with self.database.lock:
            self.database.writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def optimize_names(self) -> None:
        """Merge the name index into one segment. Call after the first pass over symbols."""
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO symbol_name (symbol_name) VALUES ('optimize')")

    def optimize_chunks(self) -> None:
        """Merge the index of the words of chunks into one segment."""
        with self.database.transaction() as connection:
            connection.execute("INSERT INTO chunk_text (chunk_text) VALUES ('optimize')")
        self._empty_log()

    def begin_merging(self) -> None:
        """Begin to merge the text, name and word indexes into one segment each. The steps of `tidy` do it."""
        with self.database.lock:
            for index in _INDEXES:
                self.database.writer.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', -{_MERGE_PAGES})")

    def tidy(self) -> bool:
        """Do one small step: merge segments, or give free pages back. Return whether there may be more to do."""
        with self.database.lock:
            writer = self.database.writer
            for index in _INDEXES:
                before = writer.total_changes
                writer.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', {_MERGE_PAGES})")
                if writer.total_changes - before > 1:
                    return True
            pages, free = (writer.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count"))
            if free <= FREE_SHARE * pages:
                return False
            writer.execute(f"PRAGMA incremental_vacuum({_VACUUM_PAGES})").fetchall()
            return writer.execute("PRAGMA freelist_count").fetchone()[0] < free

    def collect(self) -> int:
        """Delete unused contents that are old or too many, at most one batch. Returns how many it deleted."""
        now = int(time.time())
        with self.database.reader() as connection:
            rows = connection.execute("SELECT count(*) FROM text_row").fetchone()[0]
            unused = connection.execute(
                """SELECT id, last_used, (SELECT count(*) FROM text_row WHERE content_id = content.id), chunk_count FROM content
                   WHERE NOT EXISTS (SELECT 1 FROM file WHERE content_id = content.id) ORDER BY last_used"""
            ).fetchall()
            chunks = connection.execute("SELECT count(*) FROM chunk").fetchone()[0]
        kept = sum(count for _, _, count, _ in unused)
        kept_chunks = sum(count for *_, count in unused)
        room = max(int((rows - kept) * KEEP_UNUSED_SHARE), KEEP_UNUSED_ROWS)
        chunks_room = max(int((chunks - kept_chunks) * KEEP_UNUSED_SHARE), KEEP_UNUSED_CHUNKS)
        doomed = []
        for id_, last_used, count, its_chunks in unused:
            if kept <= room and kept_chunks <= chunks_room and now - last_used <= KEEP_UNUSED_SECONDS:
                break
            kept -= count
            kept_chunks -= its_chunks
            doomed.append(id_)
        deleted = 0
        with self.database.transaction() as connection:
            for id_ in doomed[:BATCH_FILES_MAX]:
                # A worktree of the same repository may use it by now.
                if connection.execute("SELECT 1 FROM file WHERE content_id = ?", (id_,)).fetchone() is None:
                    self._delete_text_rows(connection, id_)
                    connection.execute("DELETE FROM symbol WHERE content_id = ?", (id_,))
                    connection.execute("DELETE FROM symbol_name WHERE rowid = ?", (id_,))
                    element_ranking.forget_links(connection, id_)
                    forget_chunks(connection, id_)
                    connection.execute("DELETE FROM content WHERE id = ?", (id_,))
                    deleted += 1
        return deleted

    @staticmethod
    def _delete_text_rows(connection: Any, content_id: int) -> None:
        connection.execute(
            "DELETE FROM text_index WHERE rowid IN (SELECT id FROM text_row WHERE content_id = ?)", (content_id,)
        )
        connection.execute("DELETE FROM text_row WHERE content_id = ?", (content_id,))


_CONTENT_COLUMNS = "hash, form, symbols, symbols_revision, line_count, chunks_revision"


def _content(
    id_: int, key: bytes, form: str, symbols: str, symbols_revision: int, lines: int, _chunks_revision: int
) -> Content:
    if symbols in {"parsed", "failed"} and symbols_revision != SYMBOLS_REVISION:
        symbols = "outdated" if symbols == "parsed" else "pending"
    return Content(id_, key, form, symbols, lines)
