"""Finds the name by which other files import a file's package, from manifests: `go.mod`, `Cargo.toml`.

Manifests are read at query time: the nearest one above a definition is one small file. Without a manifest there is no
package, and names are compared only with folders.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.languages import scoping_of
from ctxd.indexer.project_file import read_small
from ctxd.indexer.symbols.module_names import module_of, path_names

if TYPE_CHECKING:
    from ctxd.indexer.languages.language import Manifest, Package

_MANIFEST_BYTES_MAX = 256 << 10  # ten times the largest that people write


class Packages:
    """The packages of one project. Remembers the files it has read; made anew for each question."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._declared: dict[bytes, str] = {}
        self._known: dict[tuple[bytes, bytes], Package | None] = {}

    def of(self, path: bytes) -> Package | None:
        manifest = scoping_of(path).manifest
        return None if manifest is None else self._above(os.path.dirname(path), manifest)

    def names(self, path: bytes) -> list[str]:
        """Names that may qualify a name defined in a file: the names in its path and its package."""
        if (clause := scoping_of(path).clause) is not None:
            declared = self.declared(path)
            folders = module_of(path)
            # Tests beside a package may have a package of their own.
            return [*folders[:-1], declared] if declared.endswith(clause.test_package_ends) else [*folders, declared]
        package = self.of(path)
        return [*([package.name] if package is not None else ()), *path_names(path)]

    def declared(self, path: bytes) -> str:
        """The package that a file names as its own; "" if it names none."""
        if path not in self._declared:
            clause = scoping_of(path).clause
            found = None if clause is None else clause.pattern.search(self._text(path))
            self._declared[path] = found[1] if found is not None else ""
        return self._declared[path]

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

    def _above(self, folder: bytes, manifest: Manifest) -> Package | None:
        """The package of the nearest manifest that names one, from a folder upwards."""
        key = folder, manifest.file_name
        if key not in self._known:
            found = manifest.read(self._manifest(os.path.join(folder, manifest.file_name)), folder)
            if found is None and folder:
                found = self._above(os.path.dirname(folder), manifest)
            self._known[key] = found
        return self._known[key]
