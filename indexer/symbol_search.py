"""Symbol occurrences: the name index names contents, their packed outlines give places, the file on disk gives the snippet.

A qualified name is compared with the definition's own chain (its enclosing elements, then its module) at query time, so that
renaming a folder re-parses nothing. Invariant: an occurrence comes from the outline of the very bytes its file holds.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.outline import definitions_named, reference_positions, unpack_imports
from ctxd.indexer.writer import name_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import RLock

    from ctxd.indexer.database import Database
    from ctxd.indexer.file_table import FileTable
    from ctxd.indexer.scope import Scope, ScopeCounter

_SEPARATORS = re.compile(r"\.|::|/|#|->|\\")
_FILE_MODULES = frozenset({"__init__", "index", "mod"})  # files that stand for their folder
SNIPPET_CHARS_MAX = 300


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """Sorted as answers list them: definitions first, then by path, line and column (1-based, in characters)."""

    rank: int
    path: bytes
    line: int
    column: int
    type: str
    kind: str | None
    fqn: str | None


class SymbolSearch:
    """Answers over one project. Thread-safe; the lock is not held while blobs and files are read."""

    def __init__(self, database: Database, table: FileTable, lock: RLock, counter: ScopeCounter) -> None:
        self.counter = counter
        self.database = database
        self.table = table
        self.lock = lock

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
        qualifiers, bare = split_name(name)
        if not bare:
            return
        defined = self._files_naming("defined", bare, scope, language)
        found_names: set[str] = set()
        if definitions and after[0] == 0:
            for path, content_id in defined:
                if path < after[1]:
                    continue
                if stop():
                    return
                yield from self._definitions(path, content_id, qualifiers, bare, found_names)
        if not references:
            return
        if not found_names:
            for path, content_id in defined[:2]:
                found_names.update(fqn for *_, fqn in self._matching(path, content_id, qualifiers, bare))
        fqn = found_names.pop() if len(found_names) == 1 else None
        start = after[1] if after[0] == 1 else b""
        for path, content_id in self._files_naming("referenced", bare, scope, language):
            if path < start:
                continue
            if stop():
                return
            yield from self._references(path, content_id, qualifiers, bare, fqn)

    def counts(self) -> dict[str, int]:
        """Totals over the contents that files of this database hold: symbols, occurrences, failed contents."""
        with self.database.reader() as connection:
            symbols, references, failed = connection.execute(
                """SELECT ifnull(sum(definition_count), 0), ifnull(sum(reference_count), 0), ifnull(sum(symbols = 'failed'), 0)
                   FROM content WHERE id IN (SELECT content_id FROM file)"""
            ).fetchone()
        return {"symbols": symbols, "occurrences": symbols + references, "failed": failed}

    def error_of(self, content_id: int) -> str | None:
        """Why a content has no symbols, where reading it failed."""
        with self.database.reader() as connection:
            row = connection.execute("SELECT symbols_error FROM content WHERE id = ?", (content_id,)).fetchone()
        return row[0] if row else None

    def coverage(self, scope: Scope, language: str | None, left_out: dict[str, int]) -> dict[str, Any]:
        """What an answer vouches for: files of the scope with symbols, and those without by reason."""
        _, files = self.counter.count(scope, f"in {language}", lambda file: _has_language(file.path, language))
        return {"files_searched": files - sum(left_out.values()), "skipped": left_out}

    def _files_naming(self, column: str, name: str, scope: Scope, language: str | None) -> list[tuple[bytes, int]]:
        token = name_tokens([name]).replace('"', '""')
        with self.database.reader() as connection:
            rows = connection.execute(
                "SELECT rowid FROM symbol_name WHERE symbol_name MATCH ?", (f'{column} : "{token}"',)
            ).fetchall()
        with self.lock:
            contents = self.table.contents
            found = [
                (file.path, id_)
                for (id_,) in rows
                if id_ in contents
                for file in contents[id_].files
                if scope.contains(file.path) and (language is None or _has_language(file.path, language))
            ]
        return sorted(found)

    def _blobs(self, content_id: int) -> tuple[bytes, bytes]:
        with self.database.reader() as connection:
            row = connection.execute(
                "SELECT definitions, reference_blob FROM symbol WHERE content_id = ?", (content_id,)
            ).fetchone()
        return row if row is not None else (b"", b"")

    def _matching(
        self, path: bytes, content_id: int, qualifiers: list[str], bare: str
    ) -> Iterator[tuple[int, int, str, str]]:
        """Line, column, kind and fully qualified name of the definitions in one file that the asked name means."""
        blob, _ = self._blobs(content_id)
        if not blob:
            return
        module = module_of(path)
        for line, column, kind, chain in definitions_named(blob, bare):
            if _qualifies(qualifiers, chain, module):
                yield line, column, kind, ".".join([*module, *chain, bare])

    def _definitions(
        self, path: bytes, content_id: int, qualifiers: list[str], bare: str, found_names: set[str]
    ) -> Iterator[Occurrence]:
        for line, column, kind, fqn in sorted(self._matching(path, content_id, qualifiers, bare)):
            found_names.add(fqn)
            yield Occurrence(0, path, line, column, "definition", kind, fqn)

    def _references(
        self, path: bytes, content_id: int, qualifiers: list[str], bare: str, fqn: str | None
    ) -> Iterator[Occurrence]:
        definitions_blob, blob = self._blobs(content_id)
        positions = reference_positions(blob, bare) if blob else []
        if not positions or (qualifiers and not _mentions(definitions_blob, blob, qualifiers[-1], bare, path)):
            return
        for line, column, role in positions:
            yield Occurrence(1, path, line, column, "import" if role == "import" else "reference", None, fqn)


def split_name(name: str) -> tuple[list[str], str]:
    """`a.b::c/d` -> (["a", "b", "c"], "d")."""
    parts = [part for part in _SEPARATORS.split(name.strip().removesuffix("()")) if part]
    return (parts[:-1], parts[-1]) if parts else ([], "")


def module_of(path: bytes) -> list[str]:
    """The components of a file's module: its path without extension, a folder's own file standing for the folder."""
    parts = path.decode("utf-8", "backslashreplace").split("/")
    stem = parts[-1].split(".", 1)[0] or parts[-1]
    parts[-1:] = [] if stem in _FILE_MODULES and len(parts) > 1 else [stem]
    return parts


def _qualifies(qualifiers: list[str], chain: list[str], module: list[str]) -> bool:
    """Whether the asked qualifiers name this definition: its enclosing elements from the inside out, without a gap, then
    components of its module in order, gaps allowed (`http.HttpResponse` is `http/response.py`'s).
    """
    asked = list(qualifiers)
    for element in reversed(chain):
        if not asked:
            return True
        if asked.pop() != element:
            return False
    remaining = iter(reversed(module))
    return all(part in remaining for part in reversed(asked))


def _mentions(definitions_blob: bytes, blob: bytes, qualifier: str, bare: str, path: bytes) -> bool:
    """Whether a file that refers to `bare` also names its qualifier, imports it from there, or is that module."""
    if qualifier in module_of(path) or reference_positions(blob, qualifier):
        return True
    if not definitions_blob:
        return False
    if definitions_named(definitions_blob, qualifier):
        return True
    return any(
        bare in (found.name, found.alias) and qualifier in _SEPARATORS.split(found.module)
        for found in unpack_imports(definitions_blob)
    )


def _has_language(path: bytes, language: str | None) -> bool:
    found = languages.parsed_language_of(path)
    if found is None or language is None:
        return found is not None
    # A header is C or C++ by its text, and TSX is TypeScript to whoever asks for TypeScript.
    if (language, found.name) == ("cpp", "c"):
        return path.endswith(b".h")
    return found.name == language or (language, found.name) == ("typescript", "tsx")


class Snippets:
    """The lines of occurrences, from the files as they are now; the last file read is kept, as occurrences come file by file."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._path = b""
        self._lines: list[bytes] = []

    def of(self, found: Occurrence) -> str:
        """The line of an occurrence, cut around it where it is long; empty where the file has changed this instant."""
        if found.path != self._path:
            self._path, self._lines = found.path, []
            with contextlib.suppress(Unreadable):
                self._lines = (decode(read_inside(self.root, found.path)[0])[1] or b"").split(b"\n")
        if found.line > len(self._lines):
            return ""
        text = self._lines[found.line - 1].decode()
        start = max(0, found.column - 1 - SNIPPET_CHARS_MAX // 3) if len(text) > SNIPPET_CHARS_MAX else 0
        return text[start : start + SNIPPET_CHARS_MAX].strip()
