"""Symbol occurrences: the name index names contents, their packed outlines give places, the file on disk gives the snippet.

A qualified name is compared with the definition's own chain (its enclosing elements, then its module) at query time, so that
renaming a folder re-parses nothing. Invariant: an occurrence comes from the outline of the very bytes its file holds.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import itertools
import json
import os
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxd.indexer import languages
from ctxd.indexer.database import DatabaseError
from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.files.scope import Scope
from ctxd.indexer.languages import scoping_of
from ctxd.indexer.revisions import SYMBOLS_REVISION
from ctxd.indexer.symbols import element_ranking
from ctxd.indexer.symbols.import_targets import Target
from ctxd.indexer.symbols.manifests import Packages
from ctxd.indexer.symbols.module_names import module_of, path_names
from ctxd.indexer.symbols.name_tokens import name_tokens
from ctxd.indexer.symbols.outline import (
    MEMBER,
    ROLES,
    TYPES,
    VARIABLES,
    Definition,
    Named,
    count_named,
    definitions_named,
    is_offered,
    is_readable,
    mark_of,
    reference_positions,
    unpack_definitions,
    unpack_imports,
)
from ctxd.indexer.symbols.resolution import (
    DEFINITION,
    GRADES,
    IMPORT_RESOLVED,
    NAME_ONLY,
    SAME_MODULE,
    Resolver,
)
from ctxd.indexer.symbols.visibility import FileScopes
from ctxd.indexer.text.text_search import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from threading import RLock

    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.files.scope import ScopeCounter

_SEPARATORS = re.compile(r"\.|::|/|#|->|\\")
_OUTLINES_AT_ONCE = 64
_FEW_CONTENTS = 2_000  # are sorted in a millisecond
_ALL_COLUMNS = "definitions, imports, reference_blob"
_DEFINITIONS_ONLY = "definitions, x'', x''"  # references are twice as long, on pages of their own
_SECTIONS = 1  # the rank of headings and keys
_FAR = len(GRADES) + _SECTIONS  # of uses by name only, in files that do not even name what the name was asked to be in
RESOLVED_FILES_MAX = 100  # files that define a name, beyond which its uses are told by name only
GRADED_USES_MAX = 50_000  # of one name in one file, beyond which it is generated and they are told by name only
_MANY_USES = 1_000
SNIPPET_CHARS_MAX = 300
_SAME_NAME = 4  # ranked elements are asked for so many times over, as several may share a name


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """Sorted as answers list them: definitions first, then by grade, path, line and column (1-based, in characters).

    Headings and keys come after the definitions in code: they often share a name with what they are about.
    """

    rank: int
    path: bytes
    line: int
    column: int
    type: str
    kind: str | None
    fqn: str | None
    grade: str


class KeyElement(NamedTuple):
    definition: Definition
    path: bytes
    files: int
    """How many files refer to its name, divided among the definitions of that name."""


class SymbolSearch:
    """Answers over one project. Thread-safe; the lock is not held while blobs and files are read."""

    def __init__(self, root: bytes, database: Database, table: FileTable, lock: RLock, counter: ScopeCounter) -> None:
        self.root = root
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
        rank, path = after
        asked = _Asked(qualifiers, bare, Packages(self.root))

        def ordered(files: _Naming | dict[bytes, int], at: int) -> Iterator[bytes]:
            """The files of the scope, those of rank `at` from where the cursor stands on. Lazy: 30,000 looks at a scope take 30 ms."""
            after = path if at == rank else b""
            paths = files.in_order(after) if isinstance(files, _Naming) else in_order(files, after)
            return _inside(paths, scope, language)

        named = self._files_naming(f"defined : {_quoted(bare)}")
        naming_qualifier = self._files_naming(_quoted(qualifiers[-1])) if qualifiers else None

        def is_near(one: bytes) -> bool:
            if naming_qualifier is None:
                return True
            return naming_qualifier.get(one) is not None or qualifiers[-1] in path_names(one)

        code = [(one, id_) for one, id_ in named.items() if not _has_sections(one)]
        if len(code) > RESOLVED_FILES_MAX:  # without the rivals that do not even name what the name was asked to be in
            code = ((one, id_) for one, id_ in code if is_near(one))
        defined = dict(itertools.islice(code, RESOLVED_FILES_MAX + 1))  # more than these resolve nothing
        resolver = functools.cache(lambda: self._resolver(asked, defined))
        if qualifiers:
            resolver()  # tells what is meant
        if definitions and rank == 0:
            in_code = (one for one in ordered(named, 0) if not _has_sections(one))
            for found in self._outlines(in_code, named, _DEFINITIONS_ONLY):
                if stop():
                    return
                yield from sorted(self._definitions(found, asked))
        if definitions and rank <= _SECTIONS:
            # Their names may hold what parts qualified names (`server.port`, "Read / write"): the whole is a name, too.
            whole = name.strip()
            titled = self._files_naming(f"defined : {_quoted(bare)} OR defined : {_quoted(whole)}")
            for found in self._outlines(filter(_has_sections, ordered(titled, _SECTIONS)), titled, _DEFINITIONS_ONLY):
                if stop():
                    return
                meant = set(self._definitions(found, asked))
                if whole != bare:
                    meant.update(self._definitions(found, _Asked([], whole, asked.packages)))
                yield from sorted(replace(one, rank=_SECTIONS) for one in meant)
        if not references:
            return
        naming = functools.cache(lambda: self._files_naming(f"referenced : {_quoted(bare)}"))
        graded = self._graded_files(resolver(), bare, defined, naming)
        uses = _Uses(resolver(), asked, functools.partial(_lines_of, self.root))
        not_in_module: set[bytes] = set()  # seen on the way to what imports resolve
        for grade in (IMPORT_RESOLVED, SAME_MODULE):
            at = _rank(grade)
            if rank > at:
                continue
            paths = ordered(graded, at)
            if grade == SAME_MODULE:
                paths = (one for one in paths if one not in not_in_module)
            for found in self._outlines(paths, graded):
                if stop():
                    return
                occurrences = uses.of(found)
                if not any(one.rank == _rank(SAME_MODULE) for one in occurrences):
                    not_in_module.add(found.path)
                yield from (one for one in occurrences if one.rank == at)
        others = naming()
        if uses.with_keys:
            others = self._files_naming(f"defined : {_quoted(bare)} OR referenced : {_quoted(bare)}")
        for at in (_rank(NAME_ONLY), _FAR) if qualifiers else (_rank(NAME_ONLY),):
            if rank > at:
                continue
            paths = (one for one in ordered(others, at) if is_near(one) == (at != _FAR))
            for found in self._outlines(paths, others):
                if stop():
                    return
                if found.path in graded:
                    yield from (replace(one, rank=at) for one in uses.of(found) if one.grade == NAME_ONLY)
                else:
                    yield from uses.name_only(found, at)

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
        """Whether there are more than `count` occurrences; told much sooner than by going through them, as it needs neither grades nor
        snippets. Of a qualified name only the uses are counted, which are all among its occurrences.
        """
        qualifiers, bare = split_name(name)
        kinds = [
            kind
            for kind, is_asked in (("defined", definitions and not qualifiers), ("referenced", references))
            if is_asked
        ]
        if not kinds:
            return False
        files = self._files_naming(" OR ".join(f"{kind} : {_quoted(bare)}" for kind in kinds))
        found = 0
        for outline in self._outlines(_inside(files.in_order(), scope, language), files):
            if "defined" in kinds:
                found += count_named(outline.definitions, bare)
            if references:
                found += len(reference_positions(outline.references, bare))
            if found > count or stop():
                break
        return found > count

    def _resolver(self, asked: _Asked, defined: dict[bytes, int]) -> Resolver:
        """For the definitions that are meant and their rivals; where they are very many, no import tells which."""
        if len(defined) > RESOLVED_FILES_MAX:
            return Resolver(asked.bare, (), asked.packages)
        found = [
            (outline.path, one)
            for outline in self._outlines(iter(sorted(defined)), defined, _DEFINITIONS_ONLY)
            for one in definitions_named(outline.definitions, asked.bare)
        ]
        asked.choose(found)
        targets = []
        for path, one in found:
            fqn = ".".join([*module_of(path), *one.chain, asked.bare])
            package = asked.packages.of(path)
            targets.append(Target(path, tuple(one.chain), fqn, one.inside, asked.means(path, one), package))
        named = targets if asked.objects else [target for target in targets if target.inside != "object"]
        return Resolver(asked.bare, named, asked.packages)

    def _graded_files(
        self,
        resolver: Resolver,
        bare: str,
        defined: dict[bytes, int],
        naming: Callable[[], _Naming],
    ) -> dict[bytes, int]:
        """Files some of whose uses of the name may be more than its name: they import it, or lie where it is defined."""
        if not resolver.targets:
            return {}
        asked = [f"imported : {_quoted(name)}" for name in sorted(resolver.asked_imports())]
        asked += [f"referenced : {_quoted(name)}" for name in sorted(resolver.asked_paths())]
        imported = " OR ".join(asked)
        graded = dict(self._files_naming(f"(referenced : {_quoted(bare)}) AND ({imported})").items())
        graded.update(defined)
        if resolver.folders:
            graded.update((path, id_) for path, id_ in naming().items() if os.path.dirname(path) in resolver.folders)
        return graded

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
            for outline in self._outlines(iter((path,)), contents):
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
        _, files = self.counter.count(scope, f"in {language}", lambda file: _has_language(file.path, language))
        return {"files_searched": files - sum(left_out.values()), "skipped": left_out}

    def _files_naming(self, expression: str) -> _Naming:
        """The files, of any scope, whose names satisfy an FTS5 expression."""
        with self.database.reader() as connection:
            # One row with all ids: fetching 30,000 rows takes three times as long.
            (ids,) = connection.execute(
                "SELECT json_group_array(rowid) FROM symbol_name WHERE symbol_name MATCH ?", (expression,)
            ).fetchone()
        return _Naming(json.loads(ids), self.table, self.lock)

    def _outlines(
        self, paths: Iterator[bytes], contents: _Naming | dict[bytes, int], columns: str = _ALL_COLUMNS
    ) -> Iterator[_Outline]:
        """The packed outlines of files, in the order of `paths`; read some at a time."""
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
                    yield _Outline(path, *blobs[id_])

    @staticmethod
    def _definitions(found: _Outline, asked: _Asked) -> Iterator[Occurrence]:
        """The definitions in one file that the asked name means."""
        for one in definitions_named(found.definitions, asked.bare):
            if asked.means(found.path, one):
                fqn = ".".join([*module_of(found.path), *one.chain, asked.bare])
                yield Occurrence(0, found.path, one.line, one.column, "definition", one.kind, fqn, DEFINITION)


class _Naming:
    """The files whose contents hold a name. As of now: one that is written meanwhile is none of them any more."""

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
        """Their paths from `after` on. Where they are many a page is full soon: the paths of all files are gone through."""
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


class _Outline(NamedTuple):
    """A file's packed outline."""

    path: bytes
    definitions: bytes
    imports: bytes
    references: bytes


class _Uses:
    """The uses of one name, file by file."""

    def __init__(self, resolver: Resolver, asked: _Asked, lines_of: Callable[[bytes], Sequence[bytes]]) -> None:
        self.resolver = resolver
        self.bare = asked.bare
        self.lines_of = lines_of
        self._kept: dict[tuple[bytes, bytes], list[Occurrence]] = {}
        self.with_keys = not asked.objects and any(target.inside in TYPES for target in resolver.targets)
        """Whether keys of objects, `{name: () => 1}`, may be for the member that is meant: they are definitions of their own, too."""

    def of(self, found: _Outline) -> list[Occurrence]:
        """All uses in one file with their grades, in order. Each grade of the answer asks anew: many uses are kept."""
        key = found.path, found.references
        if key in self._kept:
            return self._kept[key]
        positions = reference_positions(found.references, self.bare)
        if len(positions) > GRADED_USES_MAX:
            return self.name_only(found, _rank(NAME_ONLY))
        imports = unpack_imports(found.imports)
        lines = functools.cache(functools.partial(self.lines_of, found.path))

        def scopes_of(name: str, uses: list[tuple[int, int, int]]) -> FileScopes:
            return FileScopes(found.path, name, found.definitions, uses, lines)

        occurrences = sorted(
            [
                *(
                    _use(found.path, use, grade, fqn)
                    for grade, fqn, use in self.resolver.grades(
                        found.path, positions, imports, found.references, scopes_of
                    )
                ),
                *self._keys(found, _rank(NAME_ONLY)),
            ]
        )
        if len(occurrences) > _MANY_USES:
            self._kept[key] = occurrences
        return occurrences

    def name_only(self, found: _Outline, rank: int) -> list[Occurrence]:
        """The uses in a file that neither imports the name nor lies where it is defined."""
        uses = [
            replace(_use(found.path, use, NAME_ONLY, self.resolver.only_fqn), rank=rank)
            for use in reference_positions(found.references, self.bare)
        ]
        return sorted([*uses, *self._keys(found, rank)]) if self.with_keys else uses

    def _keys(self, found: _Outline, rank: int) -> Iterator[Occurrence]:
        for one in definitions_named(found.definitions, self.bare) if self.with_keys else ():
            if one.inside == "object":
                yield Occurrence(
                    rank, found.path, one.line, one.column, "reference", None, self.resolver.only_fqn, NAME_ONLY
                )


def _use(path: bytes, use: tuple[int, int, int], grade: str, fqn: str | None) -> Occurrence:
    line, column, role = use
    type_ = "import" if ROLES[role & ~MEMBER] == "import" else "reference"
    return Occurrence(_rank(grade), path, line, column, type_, None, fqn, grade)


def _rank(grade: str) -> int:
    """Of uses; those of definitions are 0 and _SECTIONS."""
    return GRADES.index(grade) + _SECTIONS


def _quoted(name: str) -> str:
    return '"' + name_tokens([name]).replace('"', '""') + '"'


def split_name(name: str) -> tuple[list[str], str]:
    """`a.b::c/d` -> (["a", "b", "c"], "d")."""
    parts = [part for part in _SEPARATORS.split(name.strip().removesuffix("()")) if part]
    return (parts[:-1], parts[-1]) if parts else ([], "")


class _Asked:
    """A name as it was asked for: which of the definitions of its last part it means."""

    def __init__(self, qualifiers: list[str], bare: str, packages: Packages) -> None:
        self.qualifiers = qualifiers
        self.bare = bare
        self.packages = packages
        self.objects = True
        """Whether it may mean a key of an object, which goes by the name of its file only where nothing else is of the asked name."""
        self._exactly = False

    def choose(self, found: Iterable[tuple[bytes, Named]]) -> None:
        """See which of all definitions fit best: where one is of the asked name without a gap, no other is meant."""
        fits = [(gaps, one.inside) for path, one in found if (gaps := self._gaps(path, one)) is not None]
        if self.qualifiers and fits:
            self.objects = all(inside == "object" for _, inside in fits)
            self._exactly = any(not gaps for gaps, inside in fits if self.objects or inside != "object")

    def means(self, path: bytes, one: Named) -> bool:
        gaps = self._gaps(path, one) if self.objects or one.inside != "object" else None
        return gaps is not None and not (gaps and self._exactly)

    def _gaps(self, path: bytes, one: Named) -> int | None:
        """How many names the asked qualifiers leave out, None where they are of something else: its enclosing elements are named from
        the inside out, without a gap, then names of its file in order, gaps allowed (`http.HttpResponse` is `http/response.py`'s).
        """
        asked = list(self.qualifiers)
        for element in reversed(one.chain):
            if not asked:
                return 0
            if asked.pop() != element:
                return None
        if not asked:
            return 0
        names = self.packages.names(path)
        scoping = scoping_of(path)
        # A file that is only a part of its folder, or stands for it, need not be named: `org.Cart` of `org/Cart.java`.
        if asked[-1] != names[-1] and (scoping.is_folder_module or module_of(path) != path_names(path)):
            names.pop()
        if (
            scoping.clause is not None and len(names) > 1 and names[-1] == names[-2]
        ):  # its package is called as its folder
            names.pop()
        gaps = 0
        while asked and names:
            if asked[-1] == names.pop():
                asked.pop()
            else:
                gaps += 1
        return None if asked else gaps


def _inside(paths: Iterable[bytes], scope: Scope, language: str | None) -> Iterator[bytes]:
    """Those of a scope and language, lazily."""
    return (one for one in paths if scope.contains(one) and (language is None or _has_language(one, language)))


def _has_sections(path: bytes) -> bool:
    found = languages.parsed_language_of(path)
    return found is not None and found.has_sections


def _has_language(path: bytes, language: str | None) -> bool:
    found = languages.parsed_language_of(path)
    if found is None or language is None:
        return found is not None
    return languages.is_meant(found, language, path)


class Snippets:
    """The lines of occurrences, from the files as they are now; the last file read is kept, as occurrences come file by file."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._path = b""
        self._lines: list[bytes] = []
        """Of its text; the last may be all that follows, as most files are read for one line."""

    def of(self, found: Occurrence) -> str:
        """The line of an occurrence, cut around it where it is long; empty where the file has changed this instant."""
        if found.path != self._path:
            self._path, self._lines = found.path, []
            with contextlib.suppress(Unreadable):
                text = decode(read_inside(self.root, found.path)[0])[1] or b""
                self._lines = text.split(b"\n", found.line)
        if found.line >= len(self._lines):
            self._lines[-1:] = self._lines[-1].split(b"\n") if self._lines else []
            if found.line > len(self._lines):
                return ""
        text = self._lines[found.line - 1].decode()
        start = max(0, found.column - 1 - SNIPPET_CHARS_MAX // 3) if len(text) > SNIPPET_CHARS_MAX else 0
        return text[start : start + SNIPPET_CHARS_MAX].strip()


def _lines_of(root: bytes, path: bytes) -> list[bytes]:
    """The lines of a file as it is now; none where it cannot be read."""
    with contextlib.suppress(Unreadable):
        return (decode(read_inside(root, path)[0])[1] or b"").split(b"\n")
    return []
