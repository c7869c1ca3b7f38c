"""Python: rules beside its query file."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    module_node = node.child_by_field_name("module_name")
    module = node_text(module_node, text) if module_node is not None else "__future__"
    if node.type == "import_statement":
        for name in node.children_by_field_name("name"):
            if name.type == "aliased_import":
                yield ImportedName(field_text(name, "name", text), "", field_text(name, "alias", text), name.start_byte)
            else:
                yield ImportedName(node_text(name, text), "", "", name.start_byte)
        return
    for name in node.children_by_field_name("name"):
        if name.type == "aliased_import":
            yield ImportedName(module, field_text(name, "name", text), field_text(name, "alias", text), name.start_byte)
        else:
            yield ImportedName(module, node_text(name, text), "", name.start_byte)
    for wildcard in children_of_type(node, "wildcard_import"):
        yield ImportedName(module, "*", "", wildcard.start_byte)


LANGUAGE = Language(
    name="python",
    extensions=(b".py", b".pyi", b".pyw"),
    file_names=(b"SConstruct", b"SConscript", b"wscript"),
    comments=("#",),
    rules=Rules(
        grammar="python",
        queries=("python.scm",),
        modifiers=frozenset(
            ("async", "staticmethod", "classmethod", "property", "abstractmethod", "dataclass", "overload")
        ),
        imports=_imports,
        imports_by_name=True,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(
        assigning_declares=True,
        imports_inside=True,
        braces_hold_values=True,
        folder_files=frozenset(("__init__",)),
        behind_dot="imported",
    ),
)
