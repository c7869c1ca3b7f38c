"""Scala 2 and 3: rules beside its query file, and rewrites of text that the grammar cannot read.

Rewritten before parsing, at equal length: the old arrows, `given ... with {` (the grammar wants an indented body),
lines that begin with an operator, and `extension` if it is a name.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Prepared,
    Rules,
    Scoping,
    field_text,
    head_of_type,
    node_text,
    overwritten,
    stumbling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_REWRITES = (
    (re.compile("⇒".encode()), b"=> "),
    (re.compile("←".encode()), b"<- "),
    (re.compile(rb"given\b[^\n{}=]*?\b(with)(?=[ \t]*\{)"), b"=   "),
    (re.compile(rb"extension(?<!\wextension)\b(?!\s*[\[(])"), b"extensioN"),
)
_OPERATOR_LINE = re.compile(rb"\n(?=[ \t]+(?:\|\||&&|\||\+\+)[ \t])")


def _prepare(text: bytes) -> Prepared:
    return overwritten(text, itertools.chain(stumbling(text, _REWRITES), _broken_lines(text)))


def _broken_lines(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    for match in _OPERATOR_LINE.finditer(text):
        end = match.start()
        if b"//" not in text[text.rfind(b"\n", 0, end) + 1 : end]:
            yield end, end + 1, b"\t"


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names of `import a.b.{C, D => E}, f.*`. The parts of paths and the selectors are all children of one node."""
    path: list[Node] = []
    for child in (*node.children[1:], None):
        kind = child.type if child is not None else ","
        if child is None or kind == ",":
            if path:
                yield ImportedName(_joined(path[:-1], text), node_text(path[-1], text), "", path[-1].start_byte)
            path = []
        elif kind == "namespace_selectors":
            for selector in child.named_children:
                yield from _selected(selector, _joined(path, text), text)
            path = []
        elif kind in ("namespace_wildcard", "as_renamed_identifier", "arrow_renamed_identifier"):
            yield from _selected(child, _joined(path, text), text)
            path = []
        elif child.is_named:
            path.append(child)


def _selected(node: Node, module: str, text: bytes) -> Iterator[ImportedName]:
    if node.type == "namespace_wildcard":
        yield ImportedName(module, "*", "", node.start_byte)
    elif node.type in ("as_renamed_identifier", "arrow_renamed_identifier"):
        name = node.child_by_field_name("name")
        alias = field_text(node, "alias", text)
        if name is not None and alias != "_":  # "_" hides the name
            yield ImportedName(module, node_text(name, text), alias, name.start_byte)
    elif node.type == "identifier":
        yield ImportedName(module, node_text(node, text), "", node.start_byte)


def _joined(path: list[Node], text: bytes) -> str:
    return ".".join(node_text(part, text) for part in path)


LANGUAGE = Language(
    name="scala",
    extensions=(b".scala", b".sc", b".sbt"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="scala",
        queries=("scala.scm",),
        modifiers=frozenset(
            (
                "private", "protected", "abstract", "final", "sealed", "implicit", "lazy", "override", "case", "inline", "opaque", "open",
                "transparent", "infix", "given", "object", "package", "val", "var", "erased", "tracked",
            )
        ),
        imports=_imports,
        prepare=_prepare,
        owner=head_of_type,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(members_by_name=True, imports_inside=True, is_folder_module=True, behind_dot="imported"),
)  # fmt: skip
