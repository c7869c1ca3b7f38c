"""Rust: rules beside its query file."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Manifest,
    Package,
    PathWords,
    Prepared,
    Rules,
    Scoping,
    Start,
    field_text,
    names_of,
    node_text,
    overwritten,
)
from ctxd.indexer.structure import toml
from ctxd.indexer.structure.flow import unquoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

    from ctxd.indexer.languages.language import Importer
    from ctxd.indexer.structure import Section


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    if node.type == "extern_crate_declaration":
        name = node.child_by_field_name("name")
        if name is not None:
            yield ImportedName(node_text(name, text), "", field_text(node, "alias", text), name.start_byte)
        return
    argument = node.child_by_field_name("argument")
    if argument is not None:
        yield from _used(argument, "", text)


def _used(node: Node, path: str, text: bytes) -> Iterator[ImportedName]:
    """The names in one tree of a `use`, below `path`."""
    if node.type == "use_list":
        for child in node.named_children:
            yield from _used(child, path, text)
    elif node.type == "scoped_use_list":
        items = node.child_by_field_name("list")
        if items is not None:
            yield from _used(items, _joined(path, field_text(node, "path", text)), text)
    elif node.type == "use_as_clause":
        inner = node.child_by_field_name("path")
        if inner is not None:
            for found in _used(inner, path, text):
                yield ImportedName(found.module, found.name, field_text(node, "alias", text), found.byte)
    elif node.type == "use_wildcard":
        inner = node.named_children[0] if node.named_children else None
        yield ImportedName(_joined(path, node_text(inner, text) if inner is not None else ""), "*", "", node.start_byte)
    elif node.type == "scoped_identifier":
        name = node.child_by_field_name("name")
        if name is not None:
            yield ImportedName(
                _joined(path, field_text(node, "path", text)), node_text(name, text), "", name.start_byte
            )
    elif node.type == "self":
        yield ImportedName(path, "", "", node.start_byte)
    elif node.type in ("identifier", "crate", "super"):
        yield ImportedName(path, node_text(node, text), "", node.start_byte)


def _joined(path: str, rest: str) -> str:
    return f"{path}::{rest}" if path and rest else path or rest


_FRONTMATTER = re.compile(rb"\A(?:#![^\n]*\n)?\s*(-{3,}+)[^\n]*\n(?s:.*?\n)??\1[ \t]*(?=\n|\Z)")


def _prepare(text: bytes) -> Prepared:
    """Blank the manifest of a script, between lines of dashes: it is not Rust."""
    manifest = _FRONTMATTER.match(text)
    return Prepared(text) if manifest is None else overwritten(text, [(*manifest.span(), b"\n")])


def _crate(text: bytes, folder: bytes) -> Package | None:
    """The package that a Cargo.toml names. Read by ctxd's scanner: tomllib takes minutes for a key of 64,000 dots."""
    name, library, source = "", "", "src/lib.rs"
    binaries = []
    full: list[tuple[str, ...]] = []  # names from the top for each table and key
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
    if not name:  # broken, or the manifest of a workspace
        return None
    roots = [os.path.dirname(os.path.join(folder, os.fsencode(file))) for file in (source, *binaries)]
    return Package(name, roots[0], tuple(roots))


def _string(text: bytes, key: Section) -> str:
    """The value of a key if it is a string, else ""."""
    value = text[key.body_start : key.end]
    return unquoted(value) if value[:1] in (b'"', b"'") else ""


_WORDS = PathWords(root=("crate", "$crate"), own=("self",), up=("super",), own_type="Self")
_CRATE_FOLDERS = ("tests", "examples", "benches")  # each file in them is a crate
_NAMES_LOOKED_AT = 3  # the keys that count have at most two names


def _leads(module: str, importer: Importer, by_spelling: Start) -> Start | None:
    parts = [part for part in module.split("::") if part]
    own = [*importer.module, *importer.inline]
    first = parts[0] if parts else ""
    if first in _WORDS.root:
        return Start(parts[1:], _crate_root(importer))
    if first in _WORDS.relative:
        while parts and parts[0] in _WORDS.relative:
            if parts.pop(0) in _WORDS.up and own:
                own.pop()
        return Start(parts, own)
    if not importer.packages:
        return by_spelling  # without a manifest a crate's name tells nothing
    for package in importer.packages:
        if first == package.name:
            return Start(parts[1:], names_of(package.folder))
    return Start(parts, own) if parts else None


def _crate_root(importer: Importer) -> list[str]:
    """The outermost module of a file's crate: where Cargo looks for one, else where the manifest says."""
    module = importer.module
    for at, part in enumerate(module):
        if part == "src":
            return module[: at + 3] if module[at + 1 : at + 2] == ["bin"] else module[: at + 1]
        if part in _CRATE_FOLDERS:
            return module[: at + 2]
    package = importer.package()
    roots = [root for root in package.roots if importer.path.startswith(root + b"/")] if package is not None else []
    return names_of(max(roots, key=len)) if roots else module[:-1]


LANGUAGE = Language(
    name="rust",
    extensions=(b".rs",),
    comments=("//", "/*"),
    rules=Rules(
        grammar="rust",
        queries=("rust.scm",),
        modifiers=frozenset(("pub", "crate", "async", "unsafe", "const", "extern", "static", "mut", "default")),
        imports=_imports,
        prepare=_prepare,
        imports_by_name=True,
    ),
    scoping=Scoping(
        imports_inside=True,
        typed_literals=True,
        folder_files=frozenset(("mod",)),
        root_files=frozenset(("lib", "main")),
        manifest=Manifest(b"Cargo.toml", _crate),
        paths=_WORDS,
        leads=_leads,
    ),
)
