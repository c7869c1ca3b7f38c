"""Java: rules beside its query file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import ImportedName, Language, Rules, Scoping, children_of_type, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    for path in children_of_type(node, "scoped_identifier", "identifier"):
        whole = node_text(path, text)
        if any(children_of_type(node, "asterisk")):
            yield ImportedName(whole, "*", "", path.start_byte)
        else:
            module, _, name = whole.rpartition(".")
            yield ImportedName(module, name, "", path.end_byte - len(name.encode()))


LANGUAGE = Language(
    name="java",
    extensions=(b".java",),
    comments=("//", "/*"),
    rules=Rules(
        grammar="java",
        queries=("java.scm",),
        modifiers=frozenset(
            (
                "public", "protected", "private", "static", "final", "abstract", "synchronized", "native", "default", "transient",
                "volatile", "sealed", "strictfp", "Override", "Deprecated",
            )
        ),
        imports=_imports,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(members_by_name=True, is_folder_module=True, behind_dot="imported"),
)  # fmt: skip
