"""Questions about the symbols of a project: occurrences of a name, key elements, outlines, totals.

Invariant: the lock of the file table is not held while blobs and files are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ctxd.indexer.database import DatabaseError
from ctxd.indexer.revisions import SYMBOLS_REVISION
from ctxd.indexer.symbols import element_ranking
from ctxd.indexer.symbols.asked_name import split_name
from ctxd.indexer.symbols.candidates import Candidates
from ctxd.indexer.symbols.name_index import NameIndex, has_language, inside, quoted
from ctxd.indexer.symbols.occurrence_search import OccurrenceQuestion, OccurrenceSearch
from ctxd.indexer.symbols.outline import (
    VARIABLES,
    Definition,
    count_named,
    is_offered,
    mark_of,
    reference_positions,
    unpack_definitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import RLock

    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.files.scope import Scope, ScopeCounter
    from ctxd.indexer.symbols.file_occurrences import Occurrence

_SAME_NAME = 4  # ranked elements are asked for so many times over, as several may share a name


class KeyElement(NamedTuple):
    definition: Definition
    path: bytes
    files: int
    """How many files refer to its name, divided among the definitions of that name."""


class SymbolSearch:
    """Answers over one project. Thread-safe."""

    def __init__(self, root: bytes, database: Database, table: FileTable, lock: RLock, counter: ScopeCounter) -> None:
        self.root = root
        self.counter = counter
        self.database = database
        self.table = table
        self.lock = lock
        self.names = NameIndex(database, table, lock)

    def occurrences(
        self,
        name: str,
        scope: Scope,
        stop: Callable[[], bool],
        *,
        definitions: bool = True,
        references: bool = True,
        language: str | None = None,
        after: tuple[int, bytes] = (0, b""),
    ) -> Iterator[Occurrence]:
        """Occurrences in order, starting with the file `after` names (rank, path); lazy. `stop` ends it early."""
        candidates = Candidates(self.root, self.names, name)
        if not candidates.bare:
            return iter(())
        question = OccurrenceQuestion(name, scope, language, definitions, references, *after)
        return OccurrenceSearch(question, candidates).in_order(stop)

    def are_more(
        self,
        name: str,
        count: int,
        scope: Scope,
        stop: Callable[[], bool],
        *,
        definitions: bool,
        references: bool,
        language: str | None,
    ) -> bool:
        """Whether there are more than `count` occurrences. This takes much less time than going through them, as it needs neither
        grades nor snippets. Only the uses of a qualified name are counted: all of them are among its occurrences.
        """
        qualifiers, bare = split_name(name)
        kinds = [
            kind
            for kind, is_asked in (("defined", definitions and not qualifiers), ("referenced", references))
            if is_asked
        ]
        if not kinds:
            return False
        files = self.names.files_naming(" OR ".join(f"{kind} : {quoted(bare)}" for kind in kinds))
        found = 0
        for outline in self.names.outlines(inside(files.in_order(), scope, language), files):
            if "defined" in kinds:
                found += count_named(outline.definitions, bare)
            if references:
                found += len(reference_positions(outline.references, bare))
            if found > count or stop():
                break
        return found > count

    def counts(self) -> dict[str, int]:
        """Totals over the contents that files of this database hold: symbols, occurrences, failed contents."""
        with self.database.reader() as connection:
            symbols, references, failed = connection.execute(
                """SELECT ifnull(sum(definition_count), 0), ifnull(sum(reference_count), 0), ifnull(sum(symbols = 'failed'), 0)
                   FROM content WHERE id IN (SELECT content_id FROM file)"""
            ).fetchone()
        return {"symbols": symbols, "occurrences": symbols + references, "failed": failed}

    def outline_of(self, key: bytes) -> tuple[str, bytes, bytes] | None:
        """How parsing a content ended ("parsed", "failed"), and its packed definitions and imports, by its hash; None where it was
        not parsed yet, or the index is lost.
        """
        try:
            with self.database.reader() as connection:
                row = connection.execute(
                    """SELECT symbols, definitions, imports FROM content LEFT JOIN symbol ON content_id = id
                       WHERE hash = ? AND symbols IN ('parsed', 'failed') AND symbols_revision = ?""",
                    (key, SYMBOLS_REVISION),
                ).fetchone()
        except DatabaseError:
            return None
        return None if row is None else (row[0], row[1] or b"", row[2] or b"")

    def packed_definitions(self, content_id: int) -> bytes:
        """Empty where there are none."""
        with self.database.reader() as connection:
            row = connection.execute("SELECT definitions FROM symbol WHERE content_id = ?", (content_id,)).fetchone()
        return row[0] if row is not None else b""

    def key_elements(self, scope: Scope, limit: int) -> list[KeyElement]:
        """The elements of a scope that the rest of the project refers to most, best first; see element_ranking.py.

        Each name once: of several definitions, the one fewest folders deep.
        """
        with self.lock:
            paths: dict[int, bytes] = {}
            for file in scope.files(self.table):
                if file.content is not None:
                    paths.setdefault(file.content.id, file.path)
        by_name: dict[int, list[tuple[int, bytes, int, float]]] = {}
        for content_id, mark, share in element_ranking.key_elements(self.database, paths, limit * _SAME_NAME):
            path = paths[content_id]
            by_name.setdefault(mark, []).append((path.count(b"/"), path, content_id, share))
        best = {mark: min(places) for mark, places in by_name.items()}
        contents = {path: content_id for _, path, content_id, _ in best.values()}
        found: list[KeyElement] = []
        for mark, (_, path, _, share) in best.items():
            if len(found) == limit:
                break
            for outline in self.names.outlines((path,), contents):
                definitions = unpack_definitions(outline.definitions)
                named = [one for one in definitions if mark_of(one.name) == mark and is_offered(one, definitions)]
                named.sort(key=lambda one: one.kind in VARIABLES)
                if named:
                    found.append(KeyElement(named[0], path, max(1, round(share))))
        return found

    def error_of(self, content_id: int) -> str | None:
        """Why a content has no symbols, where reading it failed."""
        with self.database.reader() as connection:
            row = connection.execute("SELECT symbols_error FROM content WHERE id = ?", (content_id,)).fetchone()
        return row[0] if row else None

    def coverage(self, scope: Scope, language: str | None, left_out: dict[str, int]) -> dict[str, Any]:
        """What an answer vouches for: files of the scope with symbols, and those without by reason."""
        _, files = self.counter.count(scope, f"in {language}", lambda file: has_language(file.path, language))
        return {"files_searched": files - sum(left_out.values()), "skipped": left_out}
