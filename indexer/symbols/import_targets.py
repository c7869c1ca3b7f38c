"""Which definitions of a name an import means: what it calls a module is compared with the places of all of them.

A definition's *place* is its module (the components of its path) and then the elements around it. Where a package hands on what its
modules define, the import names a part of the place only; then the definition nearest to what is named is meant. Invariant: what a type
holds is never handed on without the type.
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

TAIL_MAX = 4  # components of a place that an import may leave out: a package hands on what its modules define
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
        scoping = scoping_of(self.path)
        return not scoping.members_are_free and self.inside not in scoping.open_kinds


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
        self._packages_of: dict[Scoping, set[Package]] = {}
        """What manifests call the packages of targets, by what is common to a language."""
        for target in self.targets:
            if target.package is not None:
                self._packages_of.setdefault(scoping_of(target.path), set()).add(target.package)
        self._known: dict[tuple[bytes | Scoping, str, tuple[str, ...], tuple[str, ...]], list[Target]] = {}
        """What was found out before: a project imports the same modules again and again."""
        self._held: dict[tuple[bytes | Scoping, str], list[Target]] = {}

    def last_parts(self) -> set[str]:
        """What the last part of a module that holds a target may be, as imports and paths write it."""
        parts = set()
        for target in self.targets:
            if target.is_meant:
                # What is included is a file, never a folder: `#include <linux/net.h>` has nothing of drivers/net/.
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
        """The targets inside `chain` of what `importer` calls `module`, those nearest to it; none where it is another's module.

        `inline` are the modules written out in the importing file around the import.
        """
        key = _asking(importer, module), module, chain, inline
        known = self._known.get(key)
        if known is None:
            nearest = self._nearest(importer, module, chain, inline)
            known = self._known[key] = [target for target in nearest if target.is_meant]
        return known

    def held_in(self, importer: bytes, module: str) -> list[Target]:
        """The targets that types hold which `importer` finds in what it calls `module`: of each type those nearest to it."""
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
        """Targets, each with its module, that a module of these parts may hold.

        One that is only dots, or the root of all, has no last part: it is the folder itself.
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
        """Where a module's name leads; None for what lies outside of the project."""
        scoping = scoping_of(importer)
        by_spelling = _by_spelling(importer, module)
        if scoping.leads is None:
            return by_spelling
        packages = self._packages_of.get(scoping, ())
        own = Importer(importer, module_of(importer), inline, packages, lambda: self._packages.of(importer))
        return scoping.leads(module, own, by_spelling)


def _asking(importer: bytes, module: str) -> bytes | Scoping:
    """Who means the same by a module's name: all files of a language, unless it is named from where the file lies."""
    scoping = scoping_of(importer)
    return importer if scoping.paths is not None or module.startswith(".") else scoping


def _module(target: Target) -> list[str]:
    is_folder = scoping_of(target.path).is_folder_module
    return names_of(os.path.dirname(target.path)) if is_folder else module_of(target.path)


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
        is_handed_on = 0 < tail <= TAIL_MAX and scoping_of(target.path).hands_on
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


def _by_spelling(importer: bytes, module: str) -> Start:
    """Where a module's name leads by its spelling alone."""
    folder = [part for part in os.path.dirname(importer).split(b"/") if part]
    if module.startswith(("./", "../")) or module in (".", ".."):
        parts = module.split("/")
        while parts and parts[0] in (".", ".."):
            if parts.pop(0) == ".." and folder:
                folder.pop()
        named = module_parts("/".join(parts))
        return Start(named[:-1] if named[-1:] == ["index"] else named, names_of(b"/".join(folder)))
    if module.startswith("."):  # Python's: one dot is the own package, each more one up
        dots = len(module) - len(module.lstrip("."))
        above = folder[: len(folder) - dots + 1] if dots - 1 <= len(folder) else []
        return Start(module_parts(module), names_of(b"/".join(above)))
    for mark in _ALIAS_MARKS:
        if module.startswith(mark):
            return Start(module_parts(module.removeprefix(mark)), None)
    return Start(module_parts(module), None)
