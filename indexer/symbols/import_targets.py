"""Which definitions of a name an import means: what it calls a module is compared with the places of all of them.

A definition's *place* is its module (the components of its path) and then the elements around it. Where a package hands on what its
modules define, the import names a part of the place only; then the definition nearest to what is named is meant. Invariant: what a type
holds is never handed on without the type.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer import languages
from ctxd.indexer.symbols.outline import FUNCTIONS, module_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.symbols.manifests import Package, Packages

_FILE_MODULES = frozenset({"__init__", "index", "mod"})  # files that stand for their folder
_CRATE_ROOTS = frozenset({"lib", "main"})
_CRATE_FOLDERS = ("tests", "examples", "benches")  # each file in them is a crate
_FOLDER_MODULES = frozenset(
    {"go", "java", "kotlin", "scala", "csharp", "swift"}
)  # all files of a folder are one module
_MEMBERS_ARE_FREE = frozenset({"haskell", "lua"})  # a record's fields are functions, a module's table is the module
INCLUDED = frozenset({"c", "cpp"})  # what they import is a file, never a folder
TAIL_MAX = 4  # components of a place that an import may leave out: a package hands on what its modules define
OWN_CRATE = ("crate", "$crate")  # what a path of Rust starts with, which starts nowhere else
OWN_MODULE = ("self", "super")
_ALIAS_MARKS = ("@/", "~/", "@", "~")  # TypeScript's `paths`, bundlers' roots


@dataclass(frozen=True, slots=True)
class Target:
    """A definition of the name that is asked for."""

    path: bytes
    chain: tuple[str, ...]
    """Names of the elements around it, outermost first."""
    fqn: str
    inside: str
    """What these elements are to it, as in `outline.Named`."""
    is_meant: bool = True
    """Whether the query means it, not another of the same name."""
    package: Package | None = None

    @property
    def is_held(self) -> bool:
        """Whether a type or function holds it: it is named through that."""
        if not self.chain or self.inside in ("", "module"):
            return False
        language = language_of(self.path)
        # C's enumerators lie beside their enumeration, not in it.
        return language not in _MEMBERS_ARE_FREE and not (language in ("c", "cpp") and self.inside == "enum")


def path_names(path: bytes) -> list[str]:
    """The names in a path without its extension: `["src", "cart", "test"]` of `src/cart.test.ts`."""
    folder, _, name = path.rpartition(b"/")
    return names_of(os.path.join(folder, os.path.splitext(name)[0]))


def module_of(path: bytes) -> list[str]:
    """The names of a file's module: those of its path, a folder's own file standing for the folder."""
    if path.endswith(b".go"):  # its files are no names in Go
        return names_of(os.path.dirname(path))
    names = path_names(path)
    stem = os.path.splitext(os.path.basename(path))[0].decode("utf-8", "backslashreplace")
    stands = stem in _FILE_MODULES or (stem in _CRATE_ROOTS and path.endswith(b".rs"))
    return names[:-1] if stands and len(names) > 1 else names


def names_of(path: bytes) -> list[str]:
    """A dot in the name of a file or folder parts names as it does in what imports call them."""
    return [name for name in re.split(r"[./]", path.decode("utf-8", "backslashreplace")) if name]


def is_folder_module(path: bytes) -> bool:
    """Whether all files of its folder are one module."""
    return language_of(path) in _FOLDER_MODULES


def is_named_by_path(path: bytes) -> bool:
    """Whether a file's language names what it has not imported by its path: `a::b::name` of Rust."""
    return path.endswith(b".rs")


def language_of(path: bytes) -> str:
    """By its name; "" for one that is not parsed for symbols."""
    language = languages.parsed_language_of(path)
    return "" if language is None else language.name


class ImportTargets:
    """Of all definitions of one name."""

    def __init__(self, targets: Iterable[Target], packages: Packages) -> None:
        self.targets = list(targets)
        self._packages = packages
        self._placed = [(target, _module(target)) for target in self.targets]
        self._by_last: dict[str, list[tuple[Target, list[str]]]] = {}
        """Each with its module, by what the last part of an import that means it may be."""
        for target, module in self._placed:
            for part in {*module[-TAIL_MAX - 1 :], *[*module, *target.chain][-TAIL_MAX - 1 :]}:
                self._by_last.setdefault(part, []).append((target, module))
        known = {(one.path[-3:], one.package) for one in self.targets if one.package is not None}
        self._go = {package for ending, package in known if ending == b".go"}
        self._crates = {package.name: package for ending, package in known if ending == b".rs"}
        self._known: dict[tuple[bytes, str, tuple[str, ...], tuple[str, ...]], list[Target]] = {}
        """What was found out before: a project imports the same modules again and again."""
        self._held: dict[tuple[bytes, str], list[Target]] = {}

    def last_parts(self) -> set[str]:
        """What the last part of a module that holds a target may be, as imports and paths write it."""
        parts = set()
        for target in self.targets:
            if target.is_meant:
                # What is included is a file, never a folder: `#include <linux/net.h>` has nothing of drivers/net/.
                tail = 1 if language_of(target.path) in INCLUDED else TAIL_MAX
                parts.update(target.chain[-1:], module_of(target.path)[-tail:])
                if is_named_by_path(target.path):
                    parts.update((*OWN_CRATE, *OWN_MODULE))  # `use super::*`
                if target.package is not None:
                    parts.update(module_parts(target.package.name)[-1:])
        return parts

    def may_hold(self, last: str) -> bool:
        return last in self._by_last

    def meant(
        self, importer: bytes, module: str, chain: tuple[str, ...] = (), inline: tuple[str, ...] = ()
    ) -> list[Target]:
        """The targets inside `chain` of what `importer` calls `module`, those nearest to it; none where it is another's module.

        `inline` are the modules written out in the importing file around the import.
        """
        key = importer if _is_relative(importer, module) else importer[-3:], module, chain, inline
        known = self._known.get(key)
        if known is None:
            nearest = self._nearest(importer, module, chain, inline)
            known = self._known[key] = [target for target in nearest if target.is_meant]
        return known

    def held_in(self, importer: bytes, module: str) -> list[Target]:
        """The targets that types hold which `importer` finds in what it calls `module`: of each type those nearest to it."""
        key = importer if _is_relative(importer, module) else importer[-3:], module
        if key not in self._held:
            nearest: dict[tuple[str, ...], tuple[int, list[Target]]] = {}
            if (asked := self._asked(importer, module, ())) is not None:
                for target, own in self._candidates(asked[0]):
                    left_out = _left_out(target, own, *asked, module, target.chain) if len(target.chain) == 1 else None
                    best, found = nearest.get(target.chain, (TAIL_MAX + 1, []))
                    if left_out is not None and target.is_held and left_out <= best:
                        nearest[target.chain] = left_out, [*(found if left_out == best else ()), target]
            self._held[key] = [target for _, found in nearest.values() for target in found if target.is_meant]
        return self._held[key]

    def _candidates(self, parts: list[str]) -> list[tuple[Target, list[str]]]:
        """Targets, each with its module, that a module of these parts may hold. One that is only dots or `crate` has no last part: it is the folder itself."""
        return self._by_last.get(parts[-1], []) if parts else self._placed

    def _nearest(self, importer: bytes, module: str, chain: tuple[str, ...], inline: tuple[str, ...]) -> list[Target]:
        asked = self._asked(importer, module, inline)
        if asked is None:
            return []
        parts, base = asked
        best = TAIL_MAX + 1
        found: list[Target] = []
        for target, own in self._candidates(parts):
            left_out = _left_out(target, own, parts, base, module, chain)
            if left_out is None or left_out > best:
                continue
            if left_out < best:
                best, found = left_out, []
            found.append(target)
        return found

    def _asked(
        self, importer: bytes, module: str, inline: tuple[str, ...]
    ) -> tuple[list[str], list[str] | None] | None:
        """The parts of a module's name, and the folder they start from, None where they may start anywhere; None for what lies
        outside of the project.
        """
        if is_named_by_path(importer):
            return self._asked_of_rust(importer, module, inline)
        if self._go and importer.endswith(b".go"):
            for package in self._go:
                if module == package.name or module.startswith(package.name + "/"):
                    return [part for part in re.split(r"[./]", module[len(package.name) :]) if part], names_of(
                        package.folder
                    )
            return None
        return _asked(importer, module)

    def _asked_of_rust(
        self, importer: bytes, module: str, inline: tuple[str, ...]
    ) -> tuple[list[str], list[str] | None] | None:
        parts = [part for part in module.split("::") if part]
        own = [*module_of(importer), *inline]
        first = parts[0] if parts else ""
        if first in OWN_CRATE:
            return parts[1:], self._crate_root(importer)
        if first in OWN_MODULE:
            while parts and parts[0] in OWN_MODULE:
                if parts.pop(0) == "super" and own:
                    own.pop()
            return parts, own
        if (package := self._crates.get(first)) is not None:
            return parts[1:], names_of(package.folder)
        if self._crates:
            return (parts, own) if parts else None
        return module_parts(module), None  # without a manifest a crate's name tells nothing

    def _crate_root(self, path: bytes) -> list[str]:
        """The outermost module of the crate that a file of Rust is in: where Cargo looks for one, else where the manifest says."""
        module = module_of(path)
        for at, part in enumerate(module):
            if part == "src":
                return module[: at + 3] if module[at + 1 : at + 2] == ["bin"] else module[: at + 1]
            if part in _CRATE_FOLDERS:
                return module[: at + 2]
        package = self._packages.of(path)
        roots = [root for root in package.roots if path.startswith(root + b"/")] if package is not None else []
        return names_of(max(roots, key=len)) if roots else module[:-1]


def _is_relative(importer: bytes, module: str) -> bool:
    return is_named_by_path(importer) or module.startswith(".")


def _module(target: Target) -> list[str]:
    return names_of(os.path.dirname(target.path)) if is_folder_module(target.path) else module_of(target.path)


def _left_out(
    target: Target, own: list[str], parts: list[str], base: list[str] | None, module: str, chain: tuple[str, ...]
) -> int | None:
    """How many components of a target's place an import leaves out at its end: 0 where it names it whole, None where it means another."""
    place = own
    whole = parts if base is None else [*base, *parts]
    if chain:
        if target.chain != chain:
            return None
    elif target.is_held:
        size = len(target.chain)
        if target.inside in FUNCTIONS or tuple(whole[-size:]) != target.chain:
            return None
        whole = whole[:-size]
    else:
        place = [*place, *target.chain]
    if base is not None:
        tail = len(place) - len(whole)
        is_handed_on = 0 < tail <= TAIL_MAX and not target.path.endswith(b".go")
        return tail if (tail == 0 or is_handed_on) and place[: len(whole)] == whole else None
    if not whole:
        return None
    for tail in range(min(TAIL_MAX, len(place) - 1) + 1):
        end = len(place) - tail
        size = min(len(whole), end)
        # Whole, or what of it lies in the project: `github.com/owner/project/folder` is `folder` at its top.
        if place[end - size : end] == whole[-size:] and (size == len(whole) or (size == end and _names_a_root(module))):
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
        return (named[:-1] if named[-1:] == ["index"] else named), names_of(b"/".join(folder))
    if module.startswith("."):  # Python's: one dot is the own package, each more one up
        dots = len(module) - len(module.lstrip("."))
        above = folder[: len(folder) - dots + 1] if dots - 1 <= len(folder) else []
        return module_parts(module), names_of(b"/".join(above))
    for mark in _ALIAS_MARKS:
        if module.startswith(mark):
            return module_parts(module.removeprefix(mark)), None
    return module_parts(module), None
