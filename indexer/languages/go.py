"""Go: rules beside its query file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Manifest,
    Package,
    PackageClause,
    Rules,
    Scoping,
    Start,
    children_of_type,
    field_text,
    names_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from ctxd.indexer.languages.language import Importer

_MODULE = re.compile(r'^module\s+"?([^\s"]+)', re.MULTILINE)
_VERSION = re.compile(r"(?:/v\d+|\.v\d+)$")


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    for spec in _specs(node):
        path = spec.child_by_field_name("path")
        if path is None:
            continue
        module = field_text(spec, "path", text)[1:-1]
        alias = field_text(spec, "name", text)
        # By custom the package's name is the last part of its path, before any version.
        package = _VERSION.sub("", module).rpartition("/")[2]
        byte = path.start_byte + 1 + len(module[: _VERSION.sub("", module).rfind("/") + 1].encode())
        name = "*" if alias == "." else ""
        yield ImportedName(
            module, name, "" if alias in (".", "_") else alias, byte, package if alias in ("", ".", "_") else ""
        )


def _specs(node: Node) -> Iterator[Node]:
    yield from children_of_type(node, "import_spec")
    for specs in children_of_type(node, "import_spec_list"):
        yield from children_of_type(specs, "import_spec")


def _package(text: bytes, folder: bytes) -> Package | None:
    """The package that a go.mod names."""
    found = _MODULE.search(text.decode())
    return None if found is None else Package(found[1], folder)


def _leads(module: str, importer: Importer, by_spelling: Start) -> Start | None:
    if not importer.packages:
        return by_spelling
    for package in importer.packages:
        if module == package.name or module.startswith(package.name + "/"):
            return Start(names_of(module[len(package.name) :].encode()), names_of(package.folder))
    return None


LANGUAGE = Language(
    name="go",
    extensions=(b".go",),
    comments=("//", "/*"),
    rules=Rules(grammar="go", queries=("go.scm",), modifiers=frozenset(), imports=_imports, blank_name=b"_"),
    scoping=Scoping(
        typed_literals=True,
        receiver=re.compile(r"func\s*\(\s*(\w+)"),
        is_folder_module=True,
        clause=PackageClause(re.compile(r"^package\s+(\w+)", re.MULTILINE), b"_test.go", "_test"),
        manifest=Manifest(b"go.mod", _package),
        leads=_leads,
        hands_on=False,
        behind_dot="member",
    ),
)
