"""Grades the uses of a name: how surely imports show that a use means a certain definition.

No types are inferred: `x.get` is graded by the import of `x`, not by its value. Invariant: a grade above "name-only"
has one of two reasons. Either an import binds the name, or the name before it, to the definition's own module. Or the
file lies in that module, and the name, or the name before it, means the definition there (visibility.py).
import_targets.py finds the definition that an import means.
"""

from __future__ import annotations

import os
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ctxd.indexer.languages import scoping_of
from ctxd.indexer.symbols.import_targets import ImportTargets
from ctxd.indexer.symbols.module_names import module_of
from ctxd.indexer.symbols.outline import (
    MEMBER,
    ROLES,
    Import,
    last_part,
    module_parts,
    reference_positions,
    without_extension,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from ctxd.indexer.languages.language import PathWords
    from ctxd.indexer.symbols.import_targets import Target
    from ctxd.indexer.symbols.manifests import Packages
    from ctxd.indexer.symbols.visibility import FileScopes

DEFINITION, IMPORT_RESOLVED, SAME_MODULE, NAME_ONLY = "definition", "import-resolved", "same-module", "name-only"
GRADES = (DEFINITION, IMPORT_RESOLVED, SAME_MODULE, NAME_ONLY)
"""Surest first."""

_IMPORT = ROLES.index("import")
_VERSION = re.compile(r"[./]v\d+$")


_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class _Binding(NamedTuple):
    """A name that an import binds in its file, and the definition it means."""

    name: str
    """The name as the file writes it."""
    target: Target
    line: int


class Resolver:
    """Grades the uses of one name, for the definitions that a query means."""

    def __init__(self, name: str, definitions: Iterable[Target], packages: Packages) -> None:
        """`definitions` are all with this name: those that the query means and the others."""
        self.name = name
        self.packages = packages
        self.places = ImportTargets(definitions, packages)
        self.targets = [target for target in self.places.targets if target.is_meant]
        self.by_path: dict[bytes, list[Target]] = {}
        for target in self.targets:
            self.by_path.setdefault(target.path, []).append(target)
        self.elements = frozenset(target.chain[-1] for target in self.targets if target.chain)
        self.folders = frozenset(
            os.path.dirname(target.path) for target in self.targets if scoping_of(target.path).is_folder_module
        )
        """Folders in which all files see a target without an import."""
        self._headers: dict[str, bool] = {}
        self.only_fqn = self.targets[0].fqn if len({target.fqn for target in self.targets}) == 1 else None

    def in_folder(self, path: bytes) -> list[Target]:
        """The targets that a file sees without an import because they lie in its folder."""
        folder = os.path.dirname(path)
        if folder not in self.folders or not (scoping := scoping_of(path)).is_folder_module:
            return []
        near = [target for target in self.targets if os.path.dirname(target.path) == folder]
        tests_end = None if scoping.clause is None else scoping.clause.tests_end
        if tests_end and any(one.endswith(tests_end) for one in (path, *(target.path for target in near))):
            own = self.packages.declared(path)
            near = [target for target in near if self.packages.declared(target.path) == own]
        return near

    def asked_imports(self) -> set[str]:
        """Imports resolve in a file only if it imports one of these: the name, or a module or element with a target."""
        return {self.name, *self.places.last_parts()}

    def asked_paths(self) -> set[str]:
        """A file that names a target by its path, without an import, holds one of these names."""
        found = set()
        for target in self.targets:
            if scoping_of(target.path).paths is not None:
                found.update(target.chain[-1:] or module_of(target.path)[-1:])
                if target.package is not None:
                    found.add(target.package.name)
        return found

    def may_include(self, module: str) -> bool:
        """True if a header of this name may hold a target. Remembered: a project includes the same few many times."""
        known = self._headers.get(module)
        if known is None:
            known = self._headers[module] = self.places.may_hold(last_part(module))
        return known

    def grades(
        self,
        path: bytes,
        uses: list[tuple[int, int, int]],
        imports: list[Import],
        references: bytes,
        scopes_of: Callable[[str, list[tuple[int, int, int]]], FileScopes],
    ) -> Iterator[tuple[str, str | None, tuple[int, int, int]]]:
        """`(grade, fully qualified name, use)` for every use of the name, and of its aliases, in one file.

        `scopes_of` gives the FileScopes for a name and its uses.
        """
        file = _File(self, path, imports, references, scopes_of(self.name, uses))
        if file.sees_none and not any(role & ~MEMBER == _IMPORT for _, _, role in uses):
            for use in uses:
                yield NAME_ONLY, self.only_fqn, use
            return
        if any(role & MEMBER for _, _, role in uses):
            file.find_holders(scopes_of)
        for use in uses:
            grade, found = file.meaning(*use)
            yield (grade, _fqn(found), use) if found else (NAME_ONLY, self.only_fqn, use)
        for name, bindings in file.by_name(file.bound).items():
            for use, found in file.uses_of(name, bindings, scopes_of) if name != self.name else ():
                if use[2] < MEMBER and use[2] != _IMPORT:
                    yield IMPORT_RESOLVED, _fqn(found), use


class _File:
    """One file that uses the name, with the meaning that its imports give to it."""

    def __init__(
        self, resolver: Resolver, path: bytes, imports: list[Import], references: bytes, scopes: FileScopes
    ) -> None:
        self.name = resolver.name
        self.places = resolver.places
        self.path = path
        self.imports = imports
        self.references = references
        self.scopes = scopes
        self.here = resolver.by_path.get(path, [])
        self.module = self.here or resolver.in_folder(path)
        """Targets in the file's own module."""
        self.bound: list[_Binding] = []
        """Bindings of the name itself, or of an alias for it."""
        self.holders: list[_Binding] = []
        """Bindings of modules and types that may stand before the name."""
        self.wildcards: list[_Binding] = []
        self.types: dict[str, list[Target]] = {}
        """Targets by the type that holds them, as the file writes it."""
        self.scoping = scoping_of(path)
        including = self.scoping.includes
        for one in imports:
            if not including or resolver.may_include(one.module):
                self._bind(one, resolver.elements)
        # The bare name of a type inside a type works only in its own file.
        near_types = [one for one in self.module if one.is_held and (self.here or len(one.chain) == 1)]
        for target in near_types:
            self.types.setdefault(target.chain[-1], []).append(target)
        self._ends: dict[tuple[int, int], list[Target]] = {}
        self.sees_none = not (
            self.module or self.bound or self.holders or self.wildcards or self.types or self.scoping.paths is not None
        )
        """True if no use, except in an import, can get more than "name-only": so in most files with a common name."""

    # The rest is only for files that see a target. Most files see none and stop above.

    @cached_property
    def _imports_at(self) -> dict[int, list[Import]]:
        return _grouped((one.line, one) for one in self.imports)

    @cached_property
    def _bound_at(self) -> dict[int, list[Target]]:
        return _grouped((one.line, one.target) for one in self.bound)

    @cached_property
    def _named(self) -> dict[int, list[Target]]:
        return self._scoped(one for one in self.bound if one.name == self.name)

    @cached_property
    def _wild(self) -> dict[int, list[Target]]:
        return self._scoped(self.wildcards)

    @cached_property
    def _foreign(self) -> set[int]:
        """Elements (-1 for the file) in which the name is imported as something else."""
        return {
            self.scopes.bound_in(one.line)
            for one in self.imports
            if _local_name(one) == self.name and one.line not in self._bound_at
        }

    @cached_property
    def _distinct(self) -> Collection[Target]:
        """Targets in its module, only the first for each full name: a generated file has thousands of equal ones."""
        return {(one.chain, one.fqn): one for one in reversed(self.module)}.values()

    @cached_property
    def _by_chain(self) -> dict[tuple[str, ...], list[Target]]:
        return _grouped((one.chain, one) for one in self._distinct)

    @cached_property
    def _by_type(self) -> dict[str, list[Target]]:
        return _grouped((one.chain[-1], one) for one in self._distinct if one.chain)

    def find_holders(self, scopes_of: Callable[[str, list[tuple[int, int, int]]], FileScopes]) -> None:
        """Note where each holder's name ends. `Scoping.behind_dot` says whether a name after a dot may be a module."""
        parts = {last_part(one.module) for one in self.imports if not one.name and not one.alias}
        for name, holders in self.by_name(self.holders).items():
            behind = self.scoping.behind_dot
            is_part = behind == "module" or (behind == "imported" and name in parts)
            for (line, column, role), found in self.uses_of(name, holders, scopes_of):
                if is_part or not role & MEMBER:
                    self._ends[line, column + len(name)] = found

    def uses_of(
        self,
        name: str,
        bindings: list[_Binding],
        scopes_of: Callable[[str, list[tuple[int, int, int]]], FileScopes],
    ) -> Iterator[tuple[tuple[int, int, int], list[Target]]]:
        """The uses of a bound name that no definition or local of the file hides, and the targets that they mean."""
        uses = reference_positions(self.references, name)
        scopes = scopes_of(name, uses)
        scoped = self._scoped(bindings)
        for use in uses:
            is_hidden = not use[2] & MEMBER and (scopes.meant_at(use[0]) or scopes.is_hidden(use[0], ()))
            if not is_hidden and (found := self._reaching(scoped, use[0])):
                yield use, found

    @staticmethod
    def by_name(bindings: list[_Binding]) -> dict[str, list[_Binding]]:
        return _grouped((one.name, one) for one in bindings)

    def _scoped(self, bindings: Iterable[_Binding]) -> dict[int, list[Target]]:
        """Targets of bindings, by the element (-1 for the file) in which they are bound: it may be one of thousands."""
        return _grouped((self.scopes.bound_in(one.line), one.target) for one in bindings)

    def meaning(self, line: int, column: int, role: int) -> tuple[str, list[Target]]:
        """The grade of a use and the targets that it means; no targets if it may mean anything."""
        if role & ~MEMBER == _IMPORT:
            return IMPORT_RESOLVED, self._of_import(line)
        if role & MEMBER:
            return self._of_member(line, column)
        return self._of_name(line, column, role)

    def _of_import(self, line: int) -> list[Target]:
        """The targets that the name means on a line of an import, which may import a module of that name instead."""
        return self._bound_at.get(line) or self._named_on_the_way(line)

    def _of_member(self, line: int, column: int) -> tuple[str, list[Target]]:
        if self.scoping.paths is not None:  # in such a language a module never stands before a dot
            if (steps := self.scopes.path_before(line, column)) and (found := self._of_path(steps, line)):
                return self._graded(found)
        elif (held := self._ends.get((line, column - 1)) or self._ends.get((line, column - 2))) is not None:
            return IMPORT_RESOLVED, held
        if found := self._own_members(line, column):
            return SAME_MODULE, found
        if not self.types:
            return NAME_ONLY, []
        return self._graded(
            [one for type_ in self.scopes.declared_types(line, column) for one in self.types.get(type_, ())]
        )

    def _own_members(self, line: int, column: int) -> list[Target]:
        """Targets in the file's own module that a member means because of the name before it: their type, or `this`."""
        steps = self.scopes.steps_before(line, column)
        if not steps:
            return []
        around = self.scopes.type_at(line)
        likely = [
            *self._by_type.get(steps[-1], ()),
            *(self._by_chain.get(around, ()) if around[-1:] != (steps[-1],) else ()),
        ]
        return [one for one in likely if self.scopes.is_own_member(line, column, one.chain)]

    def _of_name(self, line: int, column: int, role: int) -> tuple[str, list[Target]]:
        """The meaning of a bare name: the nearest of its file's definitions, its imports, its folder's definitions and
        its wildcards; or a field of the literal in which it is a key.
        """
        scopes = self.scopes
        # A name imported from elsewhere means neither a definition of the folder nor one that a wildcard brings.
        is_foreign = bool(self._foreign) and not self._foreign.isdisjoint(scopes.around(line))
        own = scopes.meant_at(line)
        if not own and (bound := self._reaching(self._named, line)):
            return IMPORT_RESOLVED, [] if scopes.is_hidden(line, ()) else bound
        if own is not None:
            found = self._by_chain.get(own, []) if self.here else []
        else:
            around = [] if is_foreign or self.here else self.module
            found = [one for one in around if scopes.sees(line, one.chain, one.inside)]
        if found:
            is_other = scopes.is_hidden(line, found[0].chain) or scopes.is_key(line, column, role)
            return SAME_MODULE, [] if is_other else found
        if own is None and not is_foreign and self._wild and not scopes.is_hidden(line, ()):
            found = self._reaching(self._wild, line)
        return (IMPORT_RESOLVED, found) if found else self._of_key(line, column)

    def _of_key(self, line: int, column: int) -> tuple[str, list[Target]]:
        if not self.types or not (literal := self.scopes.literal_at(line, column)):
            return NAME_ONLY, []
        if self.scoping.paths is not None:
            return self._graded(self._of_path(literal.split("::"), line))
        return self._graded(self.types.get(literal, []))

    def _graded(self, found: list[Target]) -> tuple[str, list[Target]]:
        return (SAME_MODULE if found and found[0] in self.module else IMPORT_RESOLVED), found

    def _reaching(self, scoped: dict[int, list[Target]], line: int) -> list[Target]:
        """The targets that are bound on a line; `scoped` comes from `_scoped`."""
        if scoped.keys() <= {-1}:
            return scoped.get(-1, [])
        return [target for at in self.scopes.around(line) for target in scoped.get(at, ())]

    def _of_path(self, steps: list[str], line: int) -> list[Target]:
        """The targets that a path means. `steps` are the names before the last: `["a", "Cart"]` of `a::Cart::total`."""
        inline = self.scopes.modules_at(line)
        first, *rest = steps
        paths = self.scoping.paths
        assert paths is not None
        if first in paths.root or first in paths.relative:
            return self.places.meant(self.path, "::".join(steps), (), inline)
        if first == paths.own_type:
            return [one for one in self.here if not rest and one.chain == self.scopes.type_at(line)]
        scoped = self._imports_by_name
        around = self.scopes.around(line)
        for at in around:
            for one in scoped.get((at, first), ()):
                whole = "::".join([*filter(None, (one.module, one.name)), *rest])
                return self.places.meant(self.path, whole, (), self.scopes.modules_at(one.line))
        asked = [("::".join([*paths.own, *steps]), inline), ("::".join(steps), inline)]
        asked += [
            ("::".join([one.module, *steps]), self.scopes.modules_at(one.line))
            for at in around
            for one in scoped.get((at, "*"), ())
        ]
        return next(filter(None, (self.places.meant(self.path, whole, (), around) for whole, around in asked)), [])

    @cached_property
    def _imports_by_name(self) -> dict[tuple[int, str], list[Import]]:
        """Imports by the element (-1 for the file) that they stand in, and the name they bind there."""
        return _grouped(
            ((self.scopes.bound_in(one.line), "*" if one.name == "*" else _local_name(one)), one)
            for one in self.imports
        )

    def _bind(self, one: Import, elements: frozenset[str]) -> None:
        paths = self.scoping.paths

        def meant(local: str, module: str, chain: tuple[str, ...] = ()) -> list[_Binding]:
            inline = self.scopes.modules_at(one.line) if paths is not None and module.startswith(paths.relative) else ()
            return [_Binding(local, target, one.line) for target in self.places.meant(self.path, module, chain, inline)]

        if one.name == self.name:
            self.bound += meant(one.alias or self.name, one.module)
        elif one.name == "default" and one.alias:
            # The default export of a module has no name to compare with.
            if one.alias == self.name:
                self.bound += meant(self.name, one.module)
            elif one.alias in elements:
                self.holders += meant(one.alias, one.module, (one.alias,))
        elif one.name in ("", "*"):
            local = one.alias or _bound_name(one.module)
            found = meant(local, one.module)
            is_wildcard = not one.alias and (bool(one.name) or self.scoping.brings_all)
            if one.alias or (found and not one.name):
                self.holders += found
            if is_wildcard:
                self.wildcards += found
            for target in self.places.held_in(self.path, one.module):
                written = target.chain[-1] if is_wildcard else f"{local}.{target.chain[-1]}"
                self.types.setdefault(written, []).append(target)
        else:
            # `from package import module`, `import {Class} from`: a module or an element that may hold the name.
            local = one.alias or one.name
            if self.places.may_hold(one.name):
                module = without_extension(one.module)
                self.holders += meant(local, module + _joint(module, paths) + one.name)
            if one.name in elements:
                self.holders += (found := meant(local, one.module, (one.name,)))
                self.types.setdefault(local, []).extend(binding.target for binding in found)

    def _named_on_the_way(self, line: int) -> list[Target]:
        """The targets that an import on this line names inside a longer name: `Cart` in `import shop.Cart.total`."""
        for one in self._imports_at.get(line, ()):
            if self.name in module_parts(one.module):
                before = one.module[: one.module.rindex(self.name)].rstrip("./\\:")
                if before and (found := self.places.meant(self.path, before, (), self.scopes.modules_at(line))):
                    return found
        return []


def _grouped(pairs: Iterable[tuple[_Key, _Value]]) -> dict[_Key, list[_Value]]:
    groups: dict[_Key, list[_Value]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def _fqn(targets: list[Target]) -> str | None:
    return targets[0].fqn if len({target.fqn for target in targets}) == 1 else None


def _local_name(one: Import) -> str:
    """The name under which a file uses an import."""
    return one.alias or one.name or _bound_name(one.module)


def _bound_name(module: str) -> str:
    """The name under which an imported module is used: its last part; for a Go package the part before the version."""
    return last_part(_VERSION.sub("", module))


def _joint(module: str, paths: PathWords | None) -> str:
    """The separator between the parts of a module's name."""
    if not module or module.endswith((".", "/", ":", "\\")):
        return ""
    if paths is not None and module in (*paths.root, *paths.relative):
        return "::"
    return next((joint for joint in ("::", "/", "\\") if joint in module), ".")
