"""By which name other files import the package that a file lies in, where a manifest beside the sources says so: `go.mod`, `Cargo.toml`.

Read at query time: the nearest manifest above a definition is one small file. No manifest, no package: names are then compared
with folders alone.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.project_file import read_small
from ctxd.indexer.structure import toml
from ctxd.indexer.structure.flow import unquoted
from ctxd.indexer.symbols.import_targets import module_of, path_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.indexer.structure import Section

_GO_PACKAGE = re.compile(r"^package\s+(\w+)", re.MULTILINE)
_GO_MODULE = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
_MANIFEST_BYTES_MAX = 256 << 10  # the largest written have a tenth
_NAMES_LOOKED_AT = 3  # one more than any key that counts has
_SOURCES = ("src", "lib.rs")  # Cargo's, where a manifest names no others


class Package(NamedTuple):
    name: str
    """What an import starts with: `github.com/owner/project/v2`, `my_crate`."""
    folder: bytes
    """Of its outermost module."""
    roots: tuple[bytes, ...] = ()
    """Folders of the outermost modules of all crates whose files the manifest names; the others lie where Cargo looks for them."""


class Packages:
    """Of one project; remembers what it has read, and is made anew for each question."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._go_packages: dict[bytes, str] = {}
        self._known: dict[tuple[bytes, bytes], Package | None] = {}

    def of(self, path: bytes) -> Package | None:
        if path.endswith(b".go"):
            return self._above(os.path.dirname(path), b"go.mod", _go_module)
        if path.endswith(b".rs"):
            return self._above(os.path.dirname(path), b"Cargo.toml", _crate)
        return None

    def names(self, path: bytes) -> list[str]:
        """What a name may be qualified with for lying in a file: the names of its path and the package that it says it is of."""
        if path.endswith(b".go"):
            package = self.go_package(path)
            folders = module_of(path)
            # The tests beside a package may be one of their own.
            return [*folders[:-1], package] if package.endswith("_test") else [*folders, package]
        package = self.of(path)
        return [*([package.name] if package is not None else ()), *path_names(path)]

    def go_package(self, path: bytes) -> str:
        """The package that a file of Go says it is of; "" where it says nothing."""
        if path not in self._go_packages:
            found = _GO_PACKAGE.search(self._text(path))
            self._go_packages[path] = found[1] if found is not None else ""
        return self._go_packages[path]

    def _text(self, path: bytes) -> str:
        try:
            return (decode(read_inside(self.root, path)[0])[1] or b"").decode()
        except Unreadable:
            return ""

    def _manifest(self, path: bytes) -> bytes:
        try:
            return decode(read_small(self.root, path, _MANIFEST_BYTES_MAX))[1] or b""
        except Unreadable:
            return b""

    def _above(self, folder: bytes, manifest: bytes, read: Callable[[bytes, bytes], Package | None]) -> Package | None:
        """Of the nearest manifest that names a package, from a folder upwards."""
        key = folder, manifest
        if key not in self._known:
            found = read(self._manifest(os.path.join(folder, manifest)), folder)
            if found is None and folder:
                found = self._above(os.path.dirname(folder), manifest, read)
            self._known[key] = found
        return self._known[key]


def _go_module(text: bytes, folder: bytes) -> Package | None:
    found = _GO_MODULE.search(text.decode())
    return None if found is None else Package(found[1], folder)


def _crate(text: bytes, folder: bytes) -> Package | None:
    """Of a Cargo.toml, read by our own scanner: tomllib takes minutes for a key of 64,000 dots."""
    name, library, source = "", "", "/".join(_SOURCES)
    binaries = []
    full: list[tuple[str, ...]] = []  # of each table and key the names from the top
    for section in toml.scan(text).sections:
        if section.kind == "key" and section.parent >= 0:
            full.append((*full[section.parent], *section.names)[:_NAMES_LOOKED_AT])
        else:
            full.append(section.names[:_NAMES_LOOKED_AT])
        match full[-1]:
            case "package", "name":
                name = _string(text, section)
            case "lib", "name":
                library = _string(text, section)
            case "lib", "path":
                source = _string(text, section)
            case "bin", "path":
                binaries.append(_string(text, section))
    name = (library or name).replace("-", "_")
    if not name:  # broken, or a workspace's
        return None
    roots = [os.path.dirname(os.path.join(folder, os.fsencode(file))) for file in (source, *binaries)]
    return Package(name, roots[0], tuple(roots))


def _string(text: bytes, key: Section) -> str:
    """The value of a key where it is a string, else ""."""
    value = text[key.body_start : key.end]
    return unquoted(value) if value[:1] in (b'"', b"'") else ""
