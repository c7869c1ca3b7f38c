"""Haskell: rules beside its query file, and branches of the preprocessor.

The grammar takes all text from `#else` to `#endif` for one comment. If such branches hold whole declarations, the
preprocessor lines are blanked, so that every branch is read; clauses with the same name become one definition. Branches
inside a declaration stay as they are: read one after the other they would make no sense.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Prepared,
    Rules,
    Scoping,
    children_of_type,
    node_text,
    overwritten,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_DIRECTIVE = re.compile(rb"^#[ \t]*(if|ifdef|ifndef|else|elif|endif)\b(?:\\\n|[^\n])*", re.MULTILINE)
_KEYWORDS = frozenset((b"if", b"ifdef", b"ifndef", b"else", b"elif", b"endif", b"defined"))
_NESTED_MAX = 8  # blocks in blocks; each level is searched again
_DECLARATION = re.compile(rb"^[a-z_(]", re.MULTILINE)
_MODULE = re.compile(rb"^module\b", re.MULTILINE)
_TYPE_NAME = re.compile(r"(?:[A-Z]\w*\.)*([A-Z][\w']*)")


def _prepare(text: bytes) -> Prepared:
    blanked: list[tuple[int, int, bytes]] = []
    open_blocks: list[list[tuple[int, int]]] = []
    for match in _DIRECTIVE.finditer(text):
        if match[1].startswith(b"if"):
            open_blocks.append([match.span()])
        elif open_blocks:
            block = open_blocks[-1]
            block.append(match.span())
            if match[1] == b"endif":
                open_blocks.pop()
                if len(block) > 2 and len(open_blocks) < _NESTED_MAX and _holds_declarations(text, block):
                    blanked += [(start, end, b" ") for start, end in block]
    return overwritten(text, blanked, _KEYWORDS)


def _holds_declarations(text: bytes, directives: list[tuple[int, int]]) -> bool:
    start, end = directives[0][1], directives[-1][0]
    return _DECLARATION.search(text, start, end) is not None and _MODULE.search(text, start, end) is None


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    module = node.child_by_field_name("module")
    if module is None:
        return
    path = node_text(module, text)
    alias = node.child_by_field_name("alias")
    as_name = node_text(alias, text) if alias is not None else ""
    if as_name or any(child.type == "qualified" for child in node.children):
        yield ImportedName(path, "", as_name, module.start_byte)
    names = node.child_by_field_name("names")
    if names is not None and not any(child.type == "hiding" for child in node.children):
        for listed in children_of_type(names, "import_name"):
            for name in listed.named_children:
                if name.type == "children":
                    inner = (part for part in name.named_children if part.type != "all_names")
                    yield from (_imported(path, part, text) for part in inner)
                elif name.type != "namespace":
                    yield _imported(path, name, text)
    elif not any(child.type == "qualified" for child in node.children):
        yield ImportedName(path, "*", "", module.start_byte)


def _imported(module: str, node: Node, text: bytes) -> ImportedName:
    bare = node.named_children[0] if node.type == "prefix_id" and node.named_children else node
    return ImportedName(module, node_text(bare, text), "", bare.start_byte)


def _first_type(patterns: str) -> str:
    """The first type in the head of an instance: `Map` for `(M.Map k) v`; the whole text if it names none."""
    name = _TYPE_NAME.search(patterns)
    return name[1] if name is not None else patterns


LANGUAGE = Language(
    name="haskell",
    extensions=(b".hs", b".hs-boot", b".hsc"),
    comments=("{-", "--"),
    rules=Rules(
        grammar="haskell",
        queries=("haskell.scm",),
        modifiers=frozenset(("newtype", "data", "family", "pattern", "foreign", "default")),
        imports=_imports,
        prepare=_prepare,
        owner=_first_type,
        has_clauses=True,
    ),
    scoping=Scoping(
        open_kinds=frozenset(("class", "interface", "struct", "enum", "trait", "type")), members_are_free=True
    ),
)
