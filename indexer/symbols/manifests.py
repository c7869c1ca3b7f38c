"""By which name other files import the package that a file lies in, where a manifest beside the sources says so: `go.mod`, `Cargo.toml`.

Read at query time: the nearest manifest above a definition is one small file. No manifest, no package: names are then compared
with folders alone.
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

_MANIFEST_BYTES_MAX = 256 << 10  # the largest written have a tenth


class Packages:
    """Of one project; remembers what it has read, and is made anew for each question."""

    def __init__(self, root: bytes) -> None:
        self.root = root
        self._declared: dict[bytes, str] = {}
        self._known: dict[tuple[bytes, bytes], Package | None] = {}

    def of(self, path: bytes) -> Package | None:
        manifest = scoping_of(path).manifest
        return None if manifest is None else self._above(os.path.dirname(path), manifest)

    def names(self, path: bytes) -> list[str]:
        """What a name may be qualified with for lying in a file: the names of its path and the package that it says it is of."""
        if (clause := scoping_of(path).clause) is not None:
            declared = self.declared(path)
            folders = module_of(path)
            # The tests beside a package may be one of their own.
            return [*folders[:-1], declared] if declared.endswith(clause.test_package_ends) else [*folders, declared]
        package = self.of(path)
        return [*([package.name] if package is not None else ()), *path_names(path)]

    def declared(self, path: bytes) -> str:
        """The package that a file says it is of; "" where it says nothing."""
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
        """Of the nearest manifest that names a package, from a folder upwards."""
        key = folder, manifest.file_name
        if key not in self._known:
            found = manifest.read(self._manifest(os.path.join(folder, manifest.file_name)), folder)
            if found is None and folder:
                found = self._above(os.path.dirname(folder), manifest)
            self._known[key] = found
        return self._known[key]
