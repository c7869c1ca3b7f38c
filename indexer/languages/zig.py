"""Zig: rules beside its query file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import ImportedName, Language, Rules, Scoping, Span, field_text, leave_imports

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_IMPORT = re.compile(rb'@import\(\s*"([^"\n]*)"\s*\)')
_FIELDS = re.compile(rb"(?:\s*\.\s*\w+)*\s*")
_FIELD = re.compile(rb"\w+")
_LAST_NAME = re.compile(rb"(?<![\w@\"])([A-Za-z_]\w*)\s*\Z")
_NAME_BYTES_MAX = 100  # with the blanks after it


def _sort_out(captures: dict[str, list[Any]], text: bytes) -> None:
    """Keep only builtins that import; a constant that takes their result is imported, not defined here.

    Also tell `var` from `const`, find the names that assignments write, and tell error sets that are declared from
    those that a type only mentions.
    """
    imported = leave_imports(captures, _imports, text)
    constants, variables = [], captures.setdefault("name.variable", [])
    for name in captures.get("name.constant", ()):
        start = name.start_byte
        if start not in imported:
            (variables if text[max(0, start - 4) : start] == b"var " else constants).append(name)
    for error in captures.pop("error", ()):
        declaration = error.parent.start_byte
        if text[max(0, declaration - _NAME_BYTES_MAX) : declaration].rstrip().endswith((b"=", b"||")):
            constants.append(error)
            captures.setdefault("element", []).append(error)
    captures["name.constant"] = constants
    for operator in captures.pop("assign", ()):
        before = operator.start_byte
        target = _LAST_NAME.search(text, max(0, before - _NAME_BYTES_MAX), before)
        if target is not None:
            captures.setdefault("write", []).append(Span(*target.span(1)))


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names of `const a = @import("m").x.y;`, or of the builtin alone."""
    name = node.child_by_field_name("variable_type_function") if node.type == "VarDecl" else None
    value = node.named_children[-1] if name is not None and node.named_children else node
    called = _IMPORT.match(text, value.start_byte)
    if called is None:
        return
    module = called[1].decode("utf-8", "replace")
    fields = _FIELDS.match(text, called.end(), value.end_byte)
    if name is None:
        yield ImportedName(module, "", "", called.start(1))
    elif fields is not None and fields.end() == value.end_byte:
        path = _FIELD.findall(fields[0])
        field = path[-1].decode("utf-8", "replace") if path else ""
        yield ImportedName(module, field, field_text(node, "variable_type_function", text), name.start_byte)


LANGUAGE = Language(
    name="zig",
    extensions=(b".zig", b".zon"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="zig",
        queries=("zig.scm",),
        modifiers=frozenset(
            ("pub", "export", "extern", "inline", "noinline", "threadlocal", "comptime", "const", "var", "packed")
        ),
        imports=_imports,
        sort_out=_sort_out,
        blank_name=b"_",
    ),
    scoping=Scoping(members_by_name=True),
)
