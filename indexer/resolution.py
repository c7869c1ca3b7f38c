"""Whether a use of a name means a certain definition, as far as imports tell: the grades of a symbol's occurrences.

No types are inferred: `x.get` is graded by what `x` was imported as, not by what it holds. Invariant: a grade above "name-only" says
that the file binds the name, or what stands before it, to the definition's own module by an import, or lies in that module where
the name alone, or what stands before it, means the definition (scopes.py).

A definition's *place* is its module (the components of its path) and then the elements around it. What an import calls a module is
compared with places, with the components of both; where a package hands on what its modules define, the import names a part of
the place only.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer import languages
from ctxd.indexer.outline import MEMBER, ROLES, Import, last_part, module_parts, reference_positions, without_extension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.indexer.scopes import FileScopes

DEFINITION, IMPORT_RESOLVED, SAME_MODULE, NAME_ONLY = "definition", "import-resolved", "same-module", "name-only"
GRADES = (DEFINITION, IMPORT_RESOLVED, SAME_MODULE, NAME_ONLY)
"""Surest first."""

_FILE_MODULES = frozenset({"__init__", "index", "mod"})  # files that stand for their folder
_CRATE_ROOTS = frozenset({"lib", "main"})
_FOLDER_MODULES = frozenset(
    {"go", "java", "kotlin", "scala", "csharp", "swift"}
)  # all files of a folder are one module
_IMPORT = ROLES.index("import")
_DOTTED = frozenset({"python", "javascript", "typescript", "tsx", "java", "kotlin", "scala", "go", "csharp", "swift"})
_VERSION = re.compile(r"[./]v\d+$")
_TAIL_MAX = 4  # components of a place that an import may leave out: a package hands on what its modules define
_ALIAS_MARKS = ("@/", "~/", "@", "~")  # TypeScript's `paths`, bundlers' roots


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a query means."""

    path: bytes
    chain: tuple[str, ...]
    """Names of the elements around it, outermost first."""
    fqn: str
    inside: str
    """What these elements are to it, as in `outline.Named`."""


def path_names(path: bytes) -> list[str]:
    """The names in a path without its extension: `["src", "cart", "test"]` of `src/cart.test.ts`."""
    folder, _, name = path.rpartition(b"/")
    return _names(os.path.join(folder, os.path.splitext(name)[0]))


def module_of(path: bytes) -> list[str]:
    """The names of a file's module: those of its path, a folder's own file standing for the folder."""
    names = path_names(path)
    stem = os.path.splitext(os.path.basename(path))[0].decode("utf-8", "backslashreplace")
    stands = stem in _FILE_MODULES or (stem in _CRATE_ROOTS and path.endswith(b".rs"))
    return names[:-1] if stands and len(names) > 1 else names


def _names(path: bytes) -> list[str]:
    """A dot in the name of a file or folder parts names as it does in what imports call them."""
    return [name for name in re.split(r"[./]", path.decode("utf-8", "backslashreplace")) if name]


class Resolver:
    """Grades the uses of one name, for the definitions that a query means."""

    def __init__(self, name: str, targets: Iterable[Target]) -> None:
        self.name = name
        self.targets = list(targets)
        self._by_path: dict[bytes, list[Target]] = {}
        for target in self.targets:
            self._by_path.setdefault(target.path, []).append(target)
        self._elements = frozenset(target.chain[-1] for target in self.targets if target.chain)
        self.folders = frozenset(
            os.path.dirname(target.path) for target in self.targets if _is_folder_module(target.path)
        )
        """Folders all files of which see a target without importing it."""
        self._by_last: dict[str, list[Target]] = {}
        """Targets by what the last part of an import that means one may be."""
        for target in self.targets:
            for part in {
                *_place(target, inside=False)[-_TAIL_MAX - 1 :],
                *_place(target, inside=True)[-_TAIL_MAX - 1 :],
            }:
                self._by_last.setdefault(part, []).append(target)
        self._known: dict[tuple[bytes, str, tuple[str, ...]], list[Target]] = {}
        """What was found out before: a project imports the same modules again and again."""
        self.only_fqn = self.targets[0].fqn if len({target.fqn for target in self.targets}) == 1 else None

    def asked_imports(self) -> set[str]:
        """Names one of which a file imports that can be resolved: the name itself, modules and elements that hold a target."""
        names = {self.name}
        for target in self.targets:
            names.update(target.chain[-1:])
            names.update(module_of(target.path)[-_TAIL_MAX:])
        return names

    def grades(
        self,
        path: bytes,
        uses: list[tuple[int, int, int]],
        imports: list[Import],
        references: bytes,
        scopes_of: Callable[[str, list[tuple[int, int, int]]], FileScopes],
    ) -> Iterator[tuple[str, str | None, tuple[int, int, int]]]:
        """`(grade, fully qualified name, use)` of every use of the name in one file; and of its alias there, where it has one.

        `scopes_of` says what is visible where of a name and its uses.
        """
        bound, aliases, holders, wildcards = self._bindings(path, imports)
        here = self._by_path.get(path, [])
        module = here or self._in_folder(path)
        # Imported from elsewhere, it means neither what the folder defines nor what a wildcard brings.
        around = [] if not bound and any(self.name == _local_name(one) for one in imports) else module
        brought = wildcards if around is module else []
        scopes = scopes_of(self.name, uses)
        before = {}
        if holders and any(use[2] & MEMBER for use in uses):
            dotted = {last_part(one.module) for one in imports if not one.name and not one.alias}
            for name, target in holders:
                for line, column, role in _visible(name, reference_positions(references, name), scopes_of):
                    if not role & MEMBER or name in dotted or not _is_dotted(path):
                        before[line, column + len(name)] = target
        for use in uses:
            line, column, role = use
            if role & ~MEMBER == _IMPORT:
                found = self._imported_at(path, line, imports)
                grade = IMPORT_RESOLVED
            elif role & MEMBER:
                held = before.get((line, column - 1)) or before.get((line, column - 2))
                found = [held] if held is not None else []
                grade = IMPORT_RESOLVED
                if not found:
                    found = [one for one in module if scopes.is_own_member(line, column, one.chain)]
                    grade = SAME_MODULE
            else:
                grade, found = self._bare(use, here, around, bound, brought, scopes)
            yield (grade, self._one(found), use) if found else (NAME_ONLY, self.only_fqn, use)
        for alias, target in aliases:
            for use in _visible(alias, reference_positions(references, alias), scopes_of):
                if use[2] < MEMBER and use[2] != _IMPORT:
                    yield IMPORT_RESOLVED, target.fqn, use

    @staticmethod
    def _bare(
        use: tuple[int, int, int],
        here: list[Target],
        around: list[Target],
        bound: list[Target],
        wildcards: list[Target],
        scopes: FileScopes,
    ) -> tuple[str, list[Target]]:
        """What a use without anything before it means: the nearest of its file's own definitions, of what its imports bind, of what its
        folder defines (`around`) and of what wildcards bring.
        """
        line, column, role = use
        own = scopes.meant_at(line)
        if bound and not own:
            return IMPORT_RESOLVED, [] if scopes.is_hidden(line, ()) else bound
        if own is not None:
            found = [one for one in here if one.chain == own]
        else:
            found = [one for one in around if one not in here and scopes.sees(line, one.chain, one.inside)]
        if found:
            is_other = scopes.is_hidden(line, found[0].chain) or scopes.is_key(line, column, role)
            return SAME_MODULE, [] if is_other else found
        return IMPORT_RESOLVED, [] if own is not None or scopes.is_hidden(line, ()) else wildcards

    def _bindings(
        self, path: bytes, imports: list[Import]
    ) -> tuple[list[Target], list[tuple[str, Target]], list[tuple[str, Target]], list[Target]]:
        """What a file's imports bind to targets: the name itself, aliases of it, what holds it (modules, classes), wildcards."""
        bound: list[Target] = []
        aliases: list[tuple[str, Target]] = []
        holders: list[tuple[str, Target]] = []
        wildcards: list[Target] = []
        for one in imports:
            if one.name == self.name:
                for target in self._meant(path, one.module, ()):
                    bound.append(target)
                    if one.alias and one.alias != self.name:
                        aliases.append((one.alias, target))
            elif one.name == "default" and one.alias:
                # What a module exports by default has no name of its own to compare with.
                if one.alias == self.name:
                    bound += self._meant(path, one.module, ())
                elif one.alias in self._elements:
                    holders += [(one.alias, target) for target in self._meant(path, one.module, (one.alias,))]
            elif one.name in ("", "*"):
                found = self._meant(path, one.module, ())
                if one.alias or (found and not one.name):
                    holders += [(one.alias or _bound_name(one.module), target) for target in found]
                if not one.alias and (one.name or path.endswith(_INCLUDING)):
                    wildcards += found
            else:
                # `from package import module`, `import {Class} from`: a module or an element that may hold the name.
                local = one.alias or one.name
                if one.name in self._by_last:
                    module = without_extension(one.module)
                    holders += [(local, target) for target in self._meant(path, module + _joint(module) + one.name, ())]
                if one.name in self._elements:
                    holders += [(local, target) for target in self._meant(path, one.module, (one.name,))]
        return bound, aliases, holders, wildcards

    def _imported_at(self, path: bytes, line: int, imports: list[Import]) -> list[Target]:
        """The targets that the name means on a line of an import statement, which may import a module of that name instead."""
        found: list[Target] = []
        for one in imports:
            if one.line == line and (one.name == self.name or (one.name == "default" and one.alias == self.name)):
                found += self._meant(path, one.module, ())
        return found or self._named_on_the_way(path, line, imports)

    def _named_on_the_way(self, path: bytes, line: int, imports: list[Import]) -> list[Target]:
        """The targets that an import on this line names on the way to something inside them: `Cart` of `import shop.Cart.total`."""
        for one in imports:
            parts = module_parts(one.module)
            if one.line == line and self.name in parts:
                before = one.module[: one.module.rindex(self.name)].rstrip("./\\:")
                if before and (found := self._meant(path, before, ())):
                    return found
        return []

    def _meant(self, importer: bytes, module: str, chain: tuple[str, ...]) -> list[Target]:
        """The targets inside `chain` of what `importer` calls `module`, those nearest to it; none where it is another module."""
        relative = module.startswith((".", "super", "self", "crate"))
        key = importer if relative else b"", module, chain
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = list(self._resolved(importer, module, chain))
        return known

    def _resolved(self, importer: bytes, module: str, chain: tuple[str, ...]) -> list[Target]:
        parts, base = _asked(importer, module)
        best = _TAIL_MAX + 1
        found: list[Target] = []
        # A name that is only dots or `crate` has no last part: it is the folder itself.
        for target in self._by_last.get(parts[-1], ()) if parts else self.targets:
            if chain and target.chain != chain:
                continue
            left_out = _left_out(_place(target, inside=bool(chain)), parts, base, module)
            if left_out is None or left_out > best:
                continue
            if left_out < best:
                best, found = left_out, []
            found.append(target)
        return found

    def _in_folder(self, path: bytes) -> list[Target]:
        folder = os.path.dirname(path)
        if folder not in self.folders or not _is_folder_module(path):
            return []
        return [target for target in self.targets if os.path.dirname(target.path) == folder]

    @staticmethod
    def _one(targets: list[Target]) -> str | None:
        return targets[0].fqn if len({target.fqn for target in targets}) == 1 else None


def _visible(
    name: str,
    uses: list[tuple[int, int, int]],
    scopes_of: Callable[[str, list[tuple[int, int, int]]], FileScopes],
) -> Iterator[tuple[int, int, int]]:
    """The uses of a name that an import binds which no definition or local of the file hides; members of anything are none."""
    scopes = scopes_of(name, uses)
    return (use for use in uses if use[2] & MEMBER or not (scopes.meant_at(use[0]) or scopes.is_hidden(use[0], ())))


def _is_dotted(path: bytes) -> bool:
    """Whether what stands after a dot is a member of what stands before, and no further part of a module's name."""
    language = languages.parsed_language_of(path)
    return language is not None and language.name in _DOTTED


def _local_name(one: Import) -> str:
    """By what name a file uses what it imports."""
    return one.alias or one.name or _bound_name(one.module)


_INCLUDING = (b".c", b".h", b".cc", b".cpp", b".cxx", b".hpp", b".hh", b".rb", b".php", b".lua", b".sh", b".bash")
"""Files of languages in which importing a file brings in all of its names."""


def _bound_name(module: str) -> str:
    """The name by which an import of a whole module is used: its last part; of a Go package the one before its version."""
    return last_part(_VERSION.sub("", module))


def _joint(module: str) -> str:
    """What stands between the parts of a module's name."""
    if not module or module.endswith((".", "/", ":", "\\")):
        return ""
    if module in ("crate", "self", "super"):
        return "::"
    return next((joint for joint in ("::", "/", "\\") if joint in module), ".")


def _is_folder_module(path: bytes) -> bool:
    language = languages.parsed_language_of(path)
    return language is not None and language.name in _FOLDER_MODULES


def _place(target: Target, *, inside: bool) -> list[str]:
    """Where a target lies; with `inside`, where the outermost element around it lies."""
    module = _names(os.path.dirname(target.path)) if _is_folder_module(target.path) else module_of(target.path)
    return module if inside else [*module, *target.chain]


def _left_out(place: list[str], parts: list[str], base: list[str] | None, module: str) -> int | None:
    """How many components of a place an import leaves out at its end: 0 where it names it whole, None where it means another."""
    if base is not None:
        whole = [*base, *parts]
        tail = len(place) - len(whole)
        return tail if 0 <= tail <= _TAIL_MAX and place[: len(whole)] == whole else None
    if not parts:
        return None
    for tail in range(min(_TAIL_MAX, len(place) - 1) + 1):
        end = len(place) - tail
        size = min(len(parts), end)
        # Whole, or what of it lies in the project: `github.com/owner/project/folder` is `folder` at its top.
        if place[end - size : end] == parts[-size:] and (size == len(parts) or (size == end and _names_a_root(module))):
            return tail
    return None


def _names_a_root(module: str) -> bool:
    """Whether the first part of a module's name is a host's: what follows is a repository, then folders of it."""
    return "." in module.split("/", 1)[0] and "/" in module


def _asked(importer: bytes, module: str) -> tuple[list[str], list[str] | None]:
    """The parts of a module's name, and the folder they start from; None where they may start anywhere."""
    folder = [part for part in os.path.dirname(importer).split(b"/") if part]
    if module.startswith(("./", "../")) or module in (".", ".."):
        parts = module.split("/")
        while parts and parts[0] in (".", ".."):
            if parts.pop(0) == ".." and folder:
                folder.pop()
        named = module_parts("/".join(parts))
        return (named[:-1] if named[-1:] == ["index"] else named), _names(b"/".join(folder))
    if module.startswith("."):  # Python's: one dot is the own package, each more one up
        dots = len(module) - len(module.lstrip("."))
        above = folder[: len(folder) - dots + 1] if dots - 1 <= len(folder) else []
        return module_parts(module), _names(b"/".join(above))
    if module.startswith(("super::", "self::")) or module in ("super", "self"):
        own = module_of(importer)
        parts = module.split("::")
        while parts and parts[0] in ("super", "self"):
            if parts.pop(0) == "super" and own:
                own.pop()
        return parts, own
    if module.startswith("crate::") or module == "crate":
        above = folder[: folder.index(b"src") + 1] if b"src" in folder else []
        return module.split("::")[1:], _names(b"/".join(above))
    for mark in _ALIAS_MARKS:
        if module.startswith(mark):
            return module_parts(module.removeprefix(mark)), None
    return module_parts(module), None
