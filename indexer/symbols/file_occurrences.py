"""The occurrences of a name in one file, from its packed outline: definitions, and uses with their grades.

Invariant: occurrences of one file come sorted.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxd.indexer.symbols.module_names import module_of
from ctxd.indexer.symbols.outline import (
    MEMBER,
    ROLES,
    TYPES,
    definitions_named,
    reference_positions,
    unpack_imports,
)
from ctxd.indexer.symbols.resolution import DEFINITION, GRADES, NAME_ONLY, Resolver
from ctxd.indexer.symbols.snippets import lines_of
from ctxd.indexer.symbols.visibility import FileScopes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxd.indexer.symbols.asked_name import AskedName
    from ctxd.indexer.symbols.name_index import PackedOutline
    from ctxd.indexer.symbols.outline import Named

GRADED_USES_MAX = 50_000  # of one name in one file, beyond which it is generated and they are told by name only
_MANY_USES = 1_000

DEFINITION_RANK = 0
SECTION_RANK = 1
"""Of headings and keys: they often share a name with what they are about."""
FAR_RANK = len(GRADES) + SECTION_RANK
"""Of uses by name only, in files that do not even name what the name was asked to be in."""


def use_rank(grade: str) -> int:
    """The rank of a use by its grade."""
    return GRADES.index(grade) + SECTION_RANK


@dataclass(frozen=True, slots=True, order=True)
class Occurrence:
    """Sorted as answers list them: by rank, path, line and column (1-based, in characters)."""

    rank: int
    """Definitions in code come first, then headings and keys, then uses by grade."""
    path: bytes
    line: int
    column: int
    type: str
    kind: str | None
    fqn: str | None
    grade: str


def qualified(path: bytes, one: Named, bare: str) -> str:
    """The qualified name of a definition of `bare`: its module, the elements around it, and the name."""
    return ".".join([*module_of(path), *one.chain, bare])


def definitions_in(found: PackedOutline, asked: AskedName, rank: int) -> list[Occurrence]:
    """The definitions in one file that the asked name means."""
    path, bare = found.path, asked.bare
    return sorted(
        Occurrence(rank, path, one.line, one.column, "definition", one.kind, qualified(path, one, bare), DEFINITION)
        for one in definitions_named(found.definitions, bare)
        if asked.means(path, one)
    )


class Uses:
    """The uses of one name, file by file."""

    def __init__(self, root: bytes, asked: AskedName, resolver: Resolver) -> None:
        self.root = root
        self.bare = asked.bare
        self.resolver = resolver
        self._kept: dict[tuple[bytes, bytes], list[Occurrence]] = {}
        self.with_keys = not asked.may_mean_keys and any(target.inside in TYPES for target in resolver.targets)
        """Whether keys of objects, `{name: () => 1}`, may be for the member that is meant. They are definitions of their own, too."""

    def graded(self, found: PackedOutline) -> list[Occurrence]:
        """All uses in one file with their grades. Each grade of the answer asks anew: many uses are kept."""
        key = found.path, found.references
        if key in self._kept:
            return self._kept[key]
        positions = reference_positions(found.references, self.bare)
        if len(positions) > GRADED_USES_MAX:
            return self.by_name(found, use_rank(NAME_ONLY))
        imports = unpack_imports(found.imports)
        lines = functools.cache(functools.partial(lines_of, self.root, found.path))

        def scopes_of(name: str, uses: list[tuple[int, int, int]]) -> FileScopes:
            return FileScopes(found.path, name, found.definitions, uses, lines)

        grades = self.resolver.grades(found.path, positions, imports, found.references, scopes_of)
        uses = [_use(use_rank(grade), found.path, use, grade, fqn) for grade, fqn, use in grades]
        uses += self._keys(found, use_rank(NAME_ONLY))
        uses.sort()
        if len(uses) > _MANY_USES:
            self._kept[key] = uses
        return uses

    def by_name_of_graded(self, found: PackedOutline, rank: int) -> Iterator[Occurrence]:
        """The uses by name only in a file that may have better ones."""
        return (replace(one, rank=rank) for one in self.graded(found) if one.grade == NAME_ONLY)

    def by_name(self, found: PackedOutline, rank: int) -> list[Occurrence]:
        """The uses in a file that neither imports the name nor lies where it is defined."""
        fqn = self.resolver.only_fqn
        positions = reference_positions(found.references, self.bare)
        uses = [_use(rank, found.path, use, NAME_ONLY, fqn) for use in positions]
        return sorted([*uses, *self._keys(found, rank)]) if self.with_keys else uses

    def _keys(self, found: PackedOutline, rank: int) -> list[Occurrence]:
        if not self.with_keys:
            return []
        path, fqn = found.path, self.resolver.only_fqn
        return [
            Occurrence(rank, path, one.line, one.column, "reference", None, fqn, NAME_ONLY)
            for one in definitions_named(found.definitions, self.bare)
            if one.inside == "object"
        ]


def _use(rank: int, path: bytes, use: tuple[int, int, int], grade: str, fqn: str | None) -> Occurrence:
    line, column, role = use
    type_ = "import" if ROLES[role & ~MEMBER] == "import" else "reference"
    return Occurrence(rank, path, line, column, type_, None, fqn, grade)
