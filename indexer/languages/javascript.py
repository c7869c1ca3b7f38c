"""JavaScript with JSX. TypeScript shares its imports."""

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

MODIFIERS = frozenset(
    (
        "async", "static", "get", "set", "export", "default", "const", "let", "var", "abstract", "public", "private",
        "protected", "readonly", "declare", "override", "accessor",
    )
)  # fmt: skip


def imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    if node.type == "variable_declarator":
        yield from _required(node, text)
        return
    if node.type == "import_alias":  # import a = N.M, of TypeScript
        alias, *rest = node.named_children
        yield from (
            ImportedName(node_text(target, text), "", node_text(alias, text), alias.start_byte) for target in rest[-1:]
        )
        return
    source = node.child_by_field_name("source")
    if source is None:  # import x = require("m"), of TypeScript
        for clause in children_of_type(node, "import_require_clause"):
            module = field_text(clause, "source", text)[1:-1]
            yield from (
                ImportedName(module, "", node_text(name, text), name.start_byte)
                for name in children_of_type(clause, "identifier")
            )
        return
    module = node_text(source, text)[1:-1]
    count = 0
    for clause in children_of_type(node, "import_clause", "export_clause", "namespace_export"):
        for part in [clause] if clause.type == "namespace_export" else clause.named_children:
            if part.type == "identifier":
                count += 1
                yield ImportedName(module, "default", node_text(part, text), part.start_byte)
            elif part.type in ("namespace_import", "namespace_export"):
                count += 1
                yield from (
                    ImportedName(module, "*", node_text(name, text), name.start_byte)
                    for name in children_of_type(part, "identifier")
                )
            elif part.type == "export_specifier":
                count += 1
                yield _specifier(part, module, text)
            else:
                for specifier in children_of_type(part, "import_specifier"):
                    count += 1
                    yield _specifier(specifier, module, text)
    if not count:
        yield ImportedName(module, "*" if node.type == "export_statement" else "", "", source.start_byte)


def _specifier(node: Node, module: str, text: bytes) -> ImportedName:
    return ImportedName(module, field_text(node, "name", text), field_text(node, "alias", text), node.start_byte)


def _required(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names of `const x = require("m")` and `const { a, b: c } = require("m")`."""
    name, call = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or call is None or field_text(call, "function", text) != "require":
        return
    module = field_text(call, "arguments", text).strip("()\"'` ")
    if name.type == "identifier":
        yield ImportedName(module, "", node_text(name, text), name.start_byte)
        return
    for part in name.named_children:
        if part.type == "pair_pattern":
            yield ImportedName(module, field_text(part, "key", text), field_text(part, "value", text), part.start_byte)
        elif part.type == "shorthand_property_identifier_pattern":
            yield ImportedName(module, node_text(part, text), "", part.start_byte)


def owner(target: str) -> str:
    """The owner of an assigned function: Foo for `Foo.prototype.bar = function`. It is "" for `exports.bar`, which has
    none, and for `this.bar`, whose owner is the element around it.
    """
    return (
        ""
        if target in ("this", "module", "exports", "module.exports", "window", "globalThis", "global")
        else target.removesuffix(".prototype")
    )


SCOPING = Scoping(folder_files=frozenset(("index",)), behind_dot="imported")

LANGUAGE = Language(
    name="javascript",
    extensions=(b".js", b".jsx", b".mjs", b".cjs"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="javascript",
        queries=("ecmascript.scm", "javascript.scm", "jsx.scm"),
        modifiers=MODIFIERS,
        imports=imports,
        imports_by_name=True,
        owner=owner,
        blank_name=b"exports",  # `module.exports = function () {}` gives the file a value, not a name
    ),
    scoping=SCOPING,
)
