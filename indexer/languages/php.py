"""PHP: rules beside its query file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Rules,
    Scoping,
    children_of_type,
    field_text,
    node_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    if node.type != "namespace_use_declaration":
        yield from _included(node, text)
        return
    group = node.child_by_field_name("body")
    prefix = "".join(node_text(name, text) for name in children_of_type(node, "namespace_name")) if group else ""
    for clause in children_of_type(group or node, "namespace_use_clause"):
        path = next(children_of_type(clause, "qualified_name", "name"), None)
        if path is not None:
            module, _, name = node_text(path, text).strip("\\").rpartition("\\")
            module = "\\".join(part for part in (prefix, module) if part)
            yield ImportedName(module, name, field_text(clause, "alias", text), path.end_byte - len(name.encode()))


def _included(node: Node, text: bytes) -> Iterator[ImportedName]:
    """The file of a `require` or similar; for `__DIR__ . "/a.php"` its last string."""
    path = node.named_children[-1] if node.named_children else None
    while path is not None and path.type in ("binary_expression", "parenthesized_expression"):
        path = path.named_children[-1] if path.named_children else None
    if path is not None and path.type in ("string", "encapsed_string"):
        yield ImportedName(node_text(path, text)[1:-1], "*", "", path.start_byte)


def _declared(node: Node, kind: str, head: bytes) -> tuple[Any, None, tuple[int, int] | None] | None:
    """The last name of a namespace, with the names before as owner; or the constant of `define("NAME", ...)`."""
    if kind == "module":
        *before, name = list(children_of_type(node, "name")) or [None]
        return (name, None, (node.start_byte, before[-1].end_byte) if before else None) if name is not None else None
    return (node, None, None) if _DEFINE.fullmatch(head) else None


_DEFINE = re.compile(rb"\\?define\s*\(\s*[\"']", re.IGNORECASE)


LANGUAGE = Language(
    name="php",
    extensions=(b".php", b".phtml"),
    comments=("#", "//", "/*"),
    rules=Rules(
        grammar="php",
        queries=("php.scm",),
        modifiers=frozenset(("public", "protected", "private", "static", "final", "abstract", "readonly", "const")),
        imports=_imports,
        declared=_declared,
        owner=lambda namespace: namespace.replace("\\", "."),
        keywords=frozenset(("this",)),  # `$parent` and `$self` are names like any other
    ),
    scoping=Scoping(assigning_declares=True),
)
