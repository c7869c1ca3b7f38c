"""Finds the definitions of a name that an import means: compares the import's module with the places of all of them.

A definition's *place* is its module (the names in its path) and then the elements around it. If a package hands on
names from its modules, an import names only the start of the place; then the nearest definition is meant. Invariant: a
member of a type is never handed on without the type.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.indexer.languages import scoping_of
from ctxd.indexer.languages.language import Importer, Start, names_of
from ctxd.indexer.symbols.module_names import module_of
from ctxd.indexer.symbols.outline import FUNCTIONS, module_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.languages.language import Package, Scoping
    from ctxd.indexer.symbols.manifests import Packages

TAIL_MAX = 4  # components of a place that an import may leave out, if packages hand on names of their modules
_ALIAS_MARKS = ("@/", "~/", "@", "~")  # TypeScript's `paths`, bundlers' roots


@dataclass(frozen=True, slots=True)
class Target:
    """A definition of the name in question."""

    path: bytes
    chain: tuple[str, ...]
    """Names of the elements around it, outermost first."""
    fqn: str
    inside: str
    """Kind of what holds it, as in `outline.Named`."""
    is_meant: bool = True
    """True if the query means this one, and not only others of the same name."""
    package: Package | None = None

    @property
    def is_held(self) -> bool:
        """True if a type or function holds it, so that it is named through that."""
        if not self.chain or self.inside in ("", "module"):
            return False
        scoping = scoping_of(self.path)
        return not scoping.members_are_free and self.inside not in scoping.open_kinds


class ImportTargets:
    """Import targets for all definitions of one name."""

    def __init__(self, targets: Iterable[Target], packages: Packages) -> None:
        self.targets = list(targets)
        self._packages = packages
        self._placed = [(target, _module(target)) for target in self.targets]
        self._by_last: dict[str, list[tuple[Target, list[str]]]] = {}
        """Each target with its module, by every possible last part of an import that means it."""
        for target, module in self._placed:
            for part in {*module[-TAIL_MAX - 1 :], *[*module, *target.chain][-TAIL_MAX - 1 :]}:
                self._by_last.setdefault(part, []).append((target, module))
        self._packages_of: dict[Scoping, set[Package]] = {}
        """Packages of targets as their manifests name them, by scoping (one for each language)."""
        for target in self.targets:
            if target.package is not None:
                self._packages_of.setdefault(scoping_of(target.path), set()).add(target.package)
        self._known: dict[tuple[bytes | Scoping, str, tuple[str, ...], tuple[str, ...]], list[Target]] = {}
        """Earlier answers: a project imports the same modules again and again."""
        self._held: dict[tuple[bytes | Scoping, str], list[Target]] = {}

    def last_parts(self) -> set[str]:
        """All possible last parts of modules that hold a target, as imports and paths write them."""
        parts = set()
        for target in self.targets:
            if target.is_meant:
                # An include names a file, never a folder: `#include <linux/net.h>` does not mean drivers/net/.
                scoping = scoping_of(target.path)
                tail = 1 if scoping.includes else TAIL_MAX
                parts.update(target.chain[-1:], module_of(target.path)[-tail:])
                if (paths := scoping.paths) is not None:
                    parts.update((*paths.root, *paths.relative))  # `use super::*`
                if target.package is not None:
                    parts.update(module_parts(target.package.name)[-1:])
        return parts

    def may_hold(self, last: str) -> bool:
        return last in self._by_last

    def meant(
        self, importer: bytes, module: str, chain: tuple[str, ...] = (), inline: tuple[str, ...] = ()
    ) -> list[Target]:
        """The nearest targets inside `chain` of the module that `importer` calls `module`. Empty if it is another one.

        `inline` are the inline modules around the import in its file.
        """
        key = _asking(importer, module), module, chain, inline
        known = self._known.get(key)
        if known is None:
            nearest = self._nearest(importer, module, chain, inline)
            known = self._known[key] = [target for target in nearest if target.is_meant]
        return known

    def held_in(self, importer: bytes, module: str) -> list[Target]:
        """Targets that are members of types in the module that `importer` calls `module`; for each type the nearest."""
        key = _asking(importer, module), module
        if key not in self._held:
            nearest: dict[tuple[str, ...], tuple[int, list[Target]]] = {}
            if (start := self._start(importer, module, ())) is not None:
                for target, own in self._candidates(start.parts):
                    left_out = _left_out(target, own, *start, module, target.chain) if len(target.chain) == 1 else None
                    best, found = nearest.get(target.chain, (TAIL_MAX + 1, []))
                    if left_out is not None and target.is_held and left_out <= best:
                        nearest[target.chain] = left_out, [*(found if left_out == best else ()), target]
            self._held[key] = [target for _, found in nearest.values() for target in found if target.is_meant]
        return self._held[key]

    def _candidates(self, parts: list[str]) -> list[tuple[Target, list[str]]]:
        """Targets, each with its module, that a module with these parts may hold.

        A module that is only dots, or the root, has no parts: then these are all targets.
        """
        return self._by_last.get(parts[-1], []) if parts else self._placed

    def _nearest(self, importer: bytes, module: str, chain: tuple[str, ...], inline: tuple[str, ...]) -> list[Target]:
        start = self._start(importer, module, inline)
        if start is None:
            return []
        best = TAIL_MAX + 1
        found: list[Target] = []
        for target, own in self._candidates(start.parts):
            left_out = _left_out(target, own, *start, module, chain)
            if left_out is None or left_out > best:
                continue
            if left_out < best:
                best, found = left_out, []
            found.append(target)
        return found

    def _start(self, importer: bytes, module: str, inline: tuple[str, ...]) -> Start | None:
        """The place that a module's name leads to; None if it is outside the project."""
        scoping = scoping_of(importer)
        by_spelling = _by_spelling(importer, module)
        if scoping.leads is None:
            return by_spelling
        packages = self._packages_of.get(scoping, ())
        own = Importer(importer, module_of(importer), inline, packages, lambda: self._packages.of(importer))
        return scoping.leads(module, own, by_spelling)


def _asking(importer: bytes, module: str) -> bytes | Scoping:
    """Key for files that mean the same by a module's name: the language, or the file itself for a relative name."""
    scoping = scoping_of(importer)
    return importer if scoping.paths is not None or module.startswith(".") else scoping


def _module(target: Target) -> list[str]:
    is_folder = scoping_of(target.path).is_folder_module
    return names_of(os.path.dirname(target.path)) if is_folder else module_of(target.path)


def _left_out(
    target: Target, own: list[str], parts: list[str], base: list[str] | None, module: str, chain: tuple[str, ...]
) -> int | None:
    """Number of components that an import leaves out at the end of a target's place: 0 if it names the whole place,
    None if it means another.
    """
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
        is_handed_on = 0 < tail <= TAIL_MAX and scoping_of(target.path).hands_on
        return tail if (tail == 0 or is_handed_on) and place[: len(whole)] == whole else None
    if not whole:
        return None
    for tail in range(min(TAIL_MAX, len(place) - 1) + 1):
        end = len(place) - tail
        size = min(len(whole), end)
        # The whole name, or its part in the project: `github.com/owner/project/folder` is `folder` at the top.
        if place[end - size : end] == whole[-size:] and (size == len(whole) or (size == end and _names_a_root(module))):
            return tail
    return None


def _names_a_root(module: str) -> bool:
    """True if the first part of a module's name is a host. A repository and its folders follow."""
    return "." in module.split("/", 1)[0] and "/" in module


def _by_spelling(importer: bytes, module: str) -> Start:
    """The place that a module's name leads to, from its spelling alone."""
    folder = [part for part in os.path.dirname(importer).split(b"/") if part]
    if module.startswith(("./", "../")) or module in (".", ".."):
        parts = module.split("/")
        while parts and parts[0] in (".", ".."):
            if parts.pop(0) == ".." and folder:
                folder.pop()
        named = module_parts("/".join(parts))
        return Start(named[:-1] if named[-1:] == ["index"] else named, names_of(b"/".join(folder)))
    if module.startswith("."):  # Python: one dot is the own package, each further dot one package up
        dots = len(module) - len(module.lstrip("."))
        above = folder[: len(folder) - dots + 1] if dots - 1 <= len(folder) else []
        return Start(module_parts(module), names_of(b"/".join(above)))
    for mark in _ALIAS_MARKS:
        if module.startswith(mark):
            return Start(module_parts(module.removeprefix(mark)), None)
    return Start(module_parts(module), None)
