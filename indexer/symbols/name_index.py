"""The name index: the files whose contents define, import or use a name, and the packed outlines of these files.

Invariant: a file is found only by the content that it has now. The lock of the file table is not held while outlines are read.
"""

from __future__ import annotations

import bisect
import itertools
import json
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer import languages
from ctxd.indexer.symbols.name_tokens import name_tokens
from ctxd.indexer.symbols.outline import is_readable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from threading import RLock

    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.files.scope import Scope

_OUTLINES_AT_ONCE = 64
_FEW_CONTENTS = 2_000  # are sorted in a millisecond
_ALL_COLUMNS = "definitions, imports, reference_blob"
_DEFINITIONS_ONLY = "definitions, x'', x''"  # references are twice as long, on pages of their own


class PackedOutline(NamedTuple):
    """Of one file."""

    path: bytes
    definitions: bytes
    imports: bytes
    references: bytes


class NameIndex:
    """Of one project. Thread-safe."""

    def __init__(self, database: Database, table: FileTable, lock: RLock) -> None:
        self.database = database
        self.table = table
        self.lock = lock

    def files_naming(self, expression: str) -> FilesNaming:
        """The files, of any scope, whose names satisfy an FTS5 expression."""
        with self.database.reader() as connection:
            # One row with all ids: fetching 30,000 rows takes three times as long.
            (ids,) = connection.execute(
                "SELECT json_group_array(rowid) FROM symbol_name WHERE symbol_name MATCH ?", (expression,)
            ).fetchone()
        return FilesNaming(json.loads(ids), self.table, self.lock)

    def outlines(
        self, paths: Iterable[bytes], contents: FilesNaming | dict[bytes, int], *, definitions_only: bool = False
    ) -> Iterator[PackedOutline]:
        """The packed outlines of files, in the order of `paths`; read some at a time."""
        columns = _DEFINITIONS_ONLY if definitions_only else _ALL_COLUMNS
        paths = iter(paths)
        while some := list(itertools.islice(paths, _OUTLINES_AT_ONCE)):
            ids_of = {path: id_ for path in some if (id_ := contents.get(path)) is not None}
            with self.database.reader() as connection:
                rows = connection.execute(
                    f"""SELECT content_id, {columns} FROM symbol
                        WHERE content_id IN ({",".join(map(str, set(ids_of.values())))})"""
                )
                # After an upgrade some are not derived anew yet.
                blobs = {id_: rest for id_, *rest in rows if is_readable(rest[0])}
            for path, id_ in ids_of.items():
                if id_ in blobs:
                    yield PackedOutline(path, *blobs[id_])


class FilesNaming:
    """The files whose contents hold a name, as of now: a file that is written meanwhile is none of them any more."""

    def __init__(self, ids: list[int], table: FileTable, lock: RLock) -> None:
        self._ids = ids
        self._among = frozenset(ids)
        self._table = table
        self._lock = lock

    def get(self, path: bytes) -> int | None:
        """The content of a file; None where it holds no name."""
        file = self._table.files.get(path)
        content = None if file is None else file.content
        return content.id if content is not None and content.id in self._among else None

    def items(self) -> list[tuple[bytes, int]]:
        """Their paths and contents, in no order."""
        with self._lock:
            contents = self._table.contents
            return [(file.path, id_) for id_ in self._ids if id_ in contents for file in contents[id_].files]

    def in_order(self, after: bytes = b"") -> Iterator[bytes]:
        """Their paths from `after` on. Where they are many, a page is full soon: the paths of all files are gone through."""
        if len(self._ids) <= _FEW_CONTENTS:
            yield from sorted(path for path, _ in self.items() if path >= after)
            return
        with self._lock:
            paths = self._table.sorted_paths()
        file_of, among = self._table.files.get, self._among
        for path in itertools.islice(paths, bisect.bisect_left(paths, after), None):
            file = file_of(path)
            if file is not None and (content := file.content) is not None and content.id in among:
                yield path


def quoted(name: str) -> str:
    """A name as a phrase of an FTS5 expression."""
    return '"' + name_tokens([name]).replace('"', '""') + '"'


def inside(paths: Iterable[bytes], scope: Scope, language: str | None) -> Iterator[bytes]:
    """The paths that are of a scope and language, lazily: 30,000 looks at a scope take 30 ms."""
    return (one for one in paths if scope.contains(one) and (language is None or has_language(one, language)))


def has_language(path: bytes, language: str | None) -> bool:
    """Whether a file is of a language that has symbols, of the one that `language` names unless that is None."""
    found = languages.parsed_language_of(path)
    if found is None or language is None:
        return found is not None
    return languages.is_meant(found, language, path)
