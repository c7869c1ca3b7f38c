"""Text search: the index or a program narrows, the bytes on disk decide.

The candidates for a pattern are the files whose content the trigram index names, and the files that no index row
describes yet. Each is read now and verified. Invariant: no hit comes from the index alone, and a search sees every
write that the file table knows of, because a file loses its content the moment it changes.
"""

from __future__ import annotations

import bisect
import heapq
import itertools
import logging
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ctxd.indexer.database import DatabaseError
from ctxd.indexer.decode import PLAIN, Unreadable, decode, read_inside, text_pieces
from ctxd.indexer.patterns.pattern import OutOfTime
from ctxd.indexer.patterns.trigrams import EVERYTHING, NOTHING, AllOf, AnyOf, Trigram
from ctxd.indexer.programs import TEXT_BACKENDS, ProgramFailed, Programs
from ctxd.indexer.text import grep, ripgrep

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from threading import RLock
    from typing import Any

    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import File, FileTable
    from ctxd.indexer.files.scope import Scope, ScopeCounter
    from ctxd.indexer.patterns.pattern import Pattern
    from ctxd.indexer.patterns.trigrams import TrigramQuery

logger = logging.getLogger(__name__)

RAREST = 8  # trigrams per conjunction in a query to the index: one costs as much as reading 3 to 10 files (4 ns a row)
COMMON_SHARE = 0.6  # a trigram in a larger share of the rows is not worth reading its list
READ_FIRST = 400  # candidates read before a program narrows the rest: they often fill a page
NARROWED_FILES_MIN = 2_000  # for fewer files a process costs more than it saves
PIECE_BYTES = 256 * 1024  # between two looks at the clock; the worst linear pattern takes 7 s a MB
ROW_COUNTS_MAX = 50_000  # trigrams whose counts are remembered: a few MB
NARROWED_FILES = 20_000  # narrowed at once; a full page ends the search before the next ones
FORCED_FILES_FIRST = 1_000  # narrowed at first where the backend is a program: the first page must not wait for all

if TYPE_CHECKING:
    Narrower = Callable[[Pattern, list[bytes], Callable[[], bool]], set[bytes]]
    """(pattern, plain files, stop) -> the files that may match; raises ProgramFailed."""


@dataclass(slots=True)
class Search:
    """One running search: when to stop, and what it saw. `stop` returns True once the caller has gone or time is up."""

    stop: Callable[[], bool]
    progress: Callable[[int, int], None] = lambda _done, _total: None
    backend: str = "index"
    """One of programs.TEXT_BACKENDS (of FILES_BACKENDS for names). It narrows the files; the answer is the same."""
    files_read: int = 0
    stopped_at: bytes | None = None
    """The path at which it had to stop: only its first `stopped_offset` bytes of text were looked at."""
    stopped_offset: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    binary: list[bytes] = field(default_factory=list)
    """Files that reading showed to be binary: no row described them yet."""
    reached: bytes | None = b""
    """The last file looked at; None once all files were."""


@dataclass(slots=True)
class FileMatches:
    """The matching lines of one file: `(line start, line end, match start, match end)`, offsets in `text`, rising."""

    path: bytes
    text: bytes
    lines: Iterator[tuple[int, int, int, int]]
    _counted_to: int = 0
    _number: int = 1

    def number_of(self, line_start: int) -> int:
        """The number of a line, from 1. Counting costs as much as searching: ask only for lines that are shown."""
        if line_start < self._counted_to:
            self._counted_to, self._number = 0, 1
        self._number += self.text.count(b"\n", self._counted_to, line_start)
        self._counted_to = line_start
        return self._number


class TextSearch:
    """Answers over one project. Thread-safe: `lock` guards the file table, and is never held while files are read."""

    def __init__(
        self, root: bytes, database: Database, table: FileTable, lock: RLock, counter: ScopeCounter, programs: Programs
    ) -> None:
        self.root = root
        self.database = database
        self.table = table
        self.lock = lock
        self.programs = programs
        self.counter = counter
        self._generation = database.generation
        self._row_counts: dict[bytes, int] = {}
        """The number of rows that hold a trigram: an estimate, counted here or at the last optimize."""

    def search(
        self, pattern: Pattern, scope: Scope, search: Search, *, after: bytes | None = None, offset: int = 0
    ) -> Iterator[FileMatches]:
        """Files with matches in byte order of their paths, from the path `after` (its text from `offset`) on; lazy."""
        if search.backend == "index":
            reading = self._first_then_narrowed(pattern, self._candidates(pattern, scope, after or b""), search)
        else:
            with self.lock:
                paths = self._all(scope, self.table.sorted_paths(), after or b"")
            reading = self._narrowed_by_programs(pattern, paths, search, FORCED_FILES_FIRST)
        total = len(self.table)
        for number, path in enumerate(reading):
            if not number % 16:
                if search.stop():
                    search.stopped_at = path
                    return
                if not number % 512:
                    search.progress(number, total)
            search.reached = path
            text = self.read(path, search)
            start = offset if path == after else 0
            if (
                text is not None
                and (first := next(lines := matching_lines(pattern, path, text, search, start), None)) is not None
            ):
                yield FileMatches(path, text, itertools.chain((first,), lines))
            if search.stopped_at is not None:
                return
        if search.stopped_at is None:
            search.reached = None

    def read(self, path: bytes, search: Search) -> bytes | None:
        """The canonical text of a file as it is now; None if it is binary or cannot be read (counted as skipped)."""
        try:
            data, _ = read_inside(self.root, path)
        except Unreadable as error:
            if error.reason != "missing":
                search.skipped["failed"] += 1
            return None
        search.files_read += 1
        text = decode(data)[1]
        if text is None:
            search.binary.append(path)
        return text

    def coverage(self, scope: Scope, search: Search) -> dict[str, Any]:
        """The files that an answer covers, as far as its search came: `{files_searched, skipped: {reason: count}}`."""
        # The file table may or may not know by now that a file found here is binary: count it once.
        files, binary = self.counter.files_and_binary(scope, up_to=search.reached, read=search.binary)
        skipped = Counter(binary=binary) + search.skipped
        return {"files_searched": max(0, files - skipped.total()), "skipped": dict(skipped)}

    def note_plain_files(self, stop: Callable[[], bool]) -> None:
        """Find the plain files, so that a program may narrow them while there is no index (1.5 s for 78,000 files)."""
        rg, grep_ = self.programs.rg, self.programs.grep
        with self.lock:
            versions = {file.path: file.version for file in self.table.without_content}
        if len(versions) < NARROWED_FILES_MIN:
            return
        try:
            if rg is not None:
                odd = ripgrep.files_not_plain(rg, self.root, list(versions), stop)
            elif grep_ is not None:
                odd = grep.files_not_plain(grep_, self.root, list(versions), stop)
            else:
                return
        except ProgramFailed as error:
            logger.info("no program could look at the files of %s: %s", os.fsdecode(self.root), error)
            return
        with self.lock:
            for path, version in versions.items():
                file = self.table.files.get(path)
                if file is not None and path not in odd and file.version == version:
                    file.plain_version = version

    def _candidates(self, pattern: Pattern, scope: Scope, after: bytes) -> Iterator[bytes]:
        # The order matters: note files without content before asking the index. A file indexed in between is then in
        # the noted set; the other way round it could be in neither.
        with self.table.noting_changes(self.lock) as noted:
            contents = self._narrow(pattern.trigrams)
            with self.lock:
                if contents is None:
                    return self._all(scope, self.table.sorted_paths(), after)
                known, files = self.table.contents, self.table.files
                paths = {file.path for id_ in contents if id_ in known for file in known[id_].files}
                paths.update(file.path for file in noted if file.path in files)
        return filter(scope.contains, in_order(paths, after))

    def _all(self, scope: Scope, paths: list[bytes], after: bytes) -> Iterator[bytes]:
        """The paths of `scope` from `after` on; lazy, because a page is often full soon.

        Needs no lock: nobody modifies the list, and a look-up is atomic.
        """
        files = self.table.files
        size = READ_FIRST
        at = bisect.bisect_left(paths, after)
        while at < len(paths):
            for path in scope.among(paths[at : at + size]):
                file = files.get(path)
                if file is not None and not file.is_binary:
                    yield path
            at += size
            size = NARROWED_FILES

    def _first_then_narrowed(self, pattern: Pattern, paths: Iterator[bytes], search: Search) -> Iterator[bytes]:
        """All of `paths` that may match. The first ones come unchanged; a program narrows the rest if they are many."""
        yield from itertools.islice(paths, READ_FIRST)
        rest = list(itertools.islice(paths, NARROWED_FILES_MIN))
        if len(rest) < NARROWED_FILES_MIN:
            yield from rest
        else:
            paths = itertools.chain(rest, paths)
            yield from self._narrowed_by_programs(pattern, paths, search, NARROWED_FILES_MIN, asked=READ_FIRST)

    def _narrowed_by_programs(
        self, pattern: Pattern, paths: Iterator[bytes], search: Search, first: int, *, asked: int = 0
    ) -> Iterator[bytes]:
        """All of `paths` that may match, narrowed by the programs from the search's backend on.

        The first step narrows `first` paths; `asked` paths were looked at before.
        """
        narrowers = self._narrowers(search.backend)
        size, total = first, len(self.table)
        while narrowers and (batch := list(itertools.islice(paths, size))):
            search.progress(asked, total)
            asked += len(batch)
            yield from self._narrowed(pattern, batch, search, narrowers)
            if search.stopped_at is not None:
                return
            size = min(4 * size, NARROWED_FILES)
        yield from paths

    def _narrowers(self, backend: str) -> list[Narrower]:
        """The narrowers that are available, the better first."""
        known: dict[str, Narrower] = {"rg": self._narrowed_by_ripgrep, "grep": self._narrowed_by_grep}
        names = TEXT_BACKENDS[TEXT_BACKENDS.index(backend) :]
        return [known[name] for name in names if name in known and getattr(self.programs, name) is not None]

    def _narrowed_by_ripgrep(self, pattern: Pattern, plain: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
        if self.programs.rg is None or pattern.rg_narrowing_arguments is None:
            raise ProgramFailed("ripgrep cannot have this pattern")
        return ripgrep.files_matching(self.programs.rg, self.root, pattern.rg_narrowing_arguments, plain, stop)

    def _narrowed_by_grep(self, pattern: Pattern, plain: list[bytes], stop: Callable[[], bool]) -> set[bytes]:
        if self.programs.grep is None or pattern.grep_arguments is None:
            raise ProgramFailed("grep cannot have this pattern")
        return grep.files_matching(self.programs.grep, self.root, pattern.grep_arguments, plain, stop)

    def _narrow(self, query: TrigramQuery) -> list[int] | None:
        """Ids of the contents that may match; None if the index cannot narrow them."""
        if query in (EVERYTHING, NOTHING):
            return None if query == EVERYTHING else []
        try:
            with self.database.reader() as connection:
                rows = connection.execute("SELECT max(id) FROM text_row").fetchone()[0]
                if not rows:
                    return [] if self._generation == self.database.generation else None
                expression, estimate = self._expression(connection, query, rows)
                if expression is None or estimate > COMMON_SHARE * rows:
                    return None
                found = connection.execute(
                    """SELECT DISTINCT content_id FROM text_row WHERE id IN
                       (SELECT rowid FROM text_index WHERE text_index MATCH ?)""",
                    (expression,),
                )
                contents = [content_id for (content_id,) in found]
        except DatabaseError as error:
            logger.info("the text index cannot be read (%s); the files are", error)
            return None
        # An index that was replaced meanwhile knows nothing yet.
        return contents if self._generation == self.database.generation else None

    def index_renewed(self) -> None:
        """Call under the project's lock when the files of the table have lost their contents."""
        self._generation = self.database.generation
        self._row_counts.clear()

    def forget_counts(self) -> None:
        """Call after the index was optimized."""
        self._row_counts.clear()

    def _row_count(self, connection: Any, trigram: bytes) -> int:
        if not self._row_counts or len(self._row_counts) > ROW_COUNTS_MAX:
            rows = connection.execute("SELECT term, row_count FROM common_trigram")
            self._row_counts = {term.replace("\u03bc", "\xb5").encode("latin-1"): count for term, count in rows}
        known = self._row_counts.get(trigram)
        if known is None:
            row = connection.execute("SELECT doc FROM text_vocabulary WHERE term = ?", (_term(trigram),)).fetchone()
            known = self._row_counts[trigram] = row[0] if row else 0
        return known

    def _expression(self, connection: Any, query: TrigramQuery, rows: int) -> tuple[str | None, int]:
        """`query` as an FTS5 expression, and an upper bound of its rows; None if it narrows nothing."""
        match query:
            case Trigram(value):
                return _quoted(value), self._row_count(connection, value)
            case AllOf(parts):
                known = [(n, text) for text, n in (self._expression(connection, part, rows) for part in parts) if text]
                if not known:
                    return None, rows
                known.sort()
                useful = [pair for pair in known[:RAREST] if pair[0] <= COMMON_SHARE * rows] or known[:1]
                return "(" + " AND ".join(text for _, text in useful) + ")", known[0][0]
            case AnyOf(parts):
                every = [self._expression(connection, part, rows) for part in parts]
                if any(text is None for text, _ in every):
                    return None, rows
                return "(" + " OR ".join(str(text) for text, _ in every) + ")", min(sum(n for _, n in every), rows)
        return None, rows

    def _narrowed(self, pattern: Pattern, paths: list[bytes], search: Search, narrowers: list[Narrower]) -> list[bytes]:
        """The ones of `paths` that are not plain, and the plain ones that may match. Drops a narrower that fails."""
        with self.lock:
            files = self.table.files
            plain = [path for path in paths if _is_plain(files.get(path))]
        rest = set(paths)
        rest.difference_update(plain)
        while narrowers:
            try:
                return sorted(rest | narrowers[0](pattern, plain, search.stop))
            except ProgramFailed as error:
                if search.stop():
                    search.stopped_at = paths[0]
                    return []
                logger.info("a search goes on without it: %s", error)
                del narrowers[0]
        return paths


def in_order(paths: Collection[bytes], after: bytes = b"") -> Iterator[bytes]:
    """The paths from `after` on, sorted. Lazy: a page is often full soon, and sorting 30,000 paths takes 20 ms."""
    rest = [path for path in paths if path >= after] if after else paths
    if len(rest) > 2 * READ_FIRST:
        first = heapq.nsmallest(READ_FIRST, rest)
        yield from first
        rest = [path for path in rest if path > first[-1]]
    yield from sorted(rest)


def _is_plain(file: File | None) -> bool:
    if file is None:
        return False
    if file.content is not None:
        return file.content.form == PLAIN
    return file.plain_version == file.version


def _term(trigram: bytes) -> str:
    """A trigram as the vocabulary stores it: the tokenizer folds the micro sign to the Greek letter."""
    return trigram.decode("latin-1").replace("\xb5", "\u03bc")


def _quoted(value: bytes) -> str:
    return '"' + value.decode("latin-1").replace('"', '""') + '"'


def matching_lines(
    pattern: Pattern, path: bytes, text: bytes, search: Search, offset: int
) -> Iterator[tuple[int, int, int, int]]:
    """Matching lines that start at `offset` or later. Works piece by piece: a call of the engine cannot be interrupted.

    If it has to stop, it notes the line in `search`.
    """
    if 0 < offset < len(text) and text[offset - 1 : offset] != b"\n":
        offset = text.find(b"\n", offset) + 1 or len(text)  # the file has changed: no line starts there now
    base, undecided = 0, pattern.undecided
    try:
        for piece in text_pieces(text, PIECE_BYTES):
            start = max(0, offset - base)
            if start < len(piece):
                if base and search.stop():
                    search.stopped_at, search.stopped_offset = path, base + start
                    return
                for line_start, line_end, match_start, match_end in pattern.line_matches(piece, start):
                    yield base + line_start, base + line_end, base + match_start, base + match_end
            base += len(piece)
    except OutOfTime as out:
        search.stopped_at, search.stopped_offset = path, base + out.line_start
    finally:
        if pattern.undecided > undecided:
            search.skipped["failed"] += 1
