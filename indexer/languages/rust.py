"""Rust: what its query file cannot say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages import ImportedName, Prepared, Rules, field_text, node_text, overwritten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


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
    """The names of one tree of a `use`, below `path`."""
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
    """The manifest of a script between lines of dashes is not Rust."""
    manifest = _FRONTMATTER.match(text)
    return Prepared(text) if manifest is None else overwritten(text, [(*manifest.span(), b"\n")])


RULES = Rules(
    grammar="rust",
    queries=("rust.scm",),
    modifiers=frozenset(("pub", "crate", "async", "unsafe", "const", "extern", "static", "mut", "default")),
    imports=_imports,
    prepare=_prepare,
    imports_by_name=True,
)
