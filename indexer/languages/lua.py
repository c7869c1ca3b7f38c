"""Lua: rules beside its query file."""

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
    leave_imports,
    node_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_MODULE_TABLES = ("M", "_M")  # names for the table that a file returns: the module itself
_NAME = re.compile(r"[\w.:]+")
_BETWEEN_TABLE_AND_NAME = frozenset(("arguments", "expression_list", "field", "function_call", "table_constructor"))


def _sort_out(captures: dict[str, list[Any]], text: bytes) -> None:
    """Keep only calls of `require` as imports; a variable that takes such a result is imported, not defined. `[k] = v`
    reads k.
    """
    imported = leave_imports(captures, _imports, text)
    captures["name.variable"] = [name for name in captures.get("name.variable", ()) if name.start_byte not in imported]
    captures.setdefault("write", []).extend(
        key for key in captures.pop("key", ()) if text[key.start_byte - 1 : key.start_byte] != b"["
    )
    captures.setdefault("ignore", []).extend(
        name for name in captures.get("call", ()) if text[name.start_byte : name.end_byte] == b"require"
    )


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names of `require "m"`, or of `local a, b = require "m", require("n").x`."""
    names, values = [], [node]
    for assignment in children_of_type(node, "assignment_statement"):
        variables, expressions = assignment.named_children[:2]
        names, values = variables.children_by_field_name("name"), expressions.children_by_field_name("value")
    for index, value in enumerate(values):
        field = field_text(value, "field", text) if value.type == "dot_index_expression" else ""
        call = value.child_by_field_name("table") if field else value
        arguments = call.child_by_field_name("arguments") if call is not None else None
        if call is None or arguments is None or field_text(call, "name", text) != "require":
            continue
        for module in children_of_type(arguments, "string"):
            name = names[index] if index < len(names) else None
            yield ImportedName(
                field_text(module, "content", text),
                field,
                node_text(name, text) if name is not None else "",
                (name or module).start_byte,
            )


def _declared(node: Node, _kind: str, _before: bytes) -> tuple[Node, Node | None, tuple[int, int] | None] | None:
    """A function in a table has the table's name as owner: `t = { f = function() end }`, also `t = call { ... }`."""
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is not None and name.type == "identifier" and node.children[0].type == "[":
        return None  # [k] = function() end: the name is the value of k
    if name is not None and name.type == "string":
        name = name.child_by_field_name("content")
    if value is not None and value.type == "binary_expression":  # f = wanted and function() end
        value = value.child_by_field_name("right")
    if name is None or value is None:
        return None
    owner = None
    around = node.parent
    while around is not None and around.type in _BETWEEN_TABLE_AND_NAME and owner is None:
        owner = around.child_by_field_name("name") if around.type == "field" else None
        around = around.parent
    if owner is None and around is not None and around.type == "assignment_statement":
        owner = around.named_children[0].child_by_field_name("name")
    span = (owner.start_byte, owner.end_byte) if owner is not None else None
    return name, value.child_by_field_name("parameters"), span


def _owner(table: str) -> str:
    return table if _NAME.fullmatch(table) and table not in _MODULE_TABLES else ""


LANGUAGE = Language(
    name="lua",
    extensions=(b".lua", b".rockspec"),
    comments=("--[[", "--"),
    rules=Rules(
        grammar="lua",
        queries=("lua.scm",),
        modifiers=frozenset(("local",)),
        imports=_imports,
        sort_out=_sort_out,
        declared=_declared,
        owner=_owner,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(brings_all=True, members_are_free=True),
)
