"""C++: rules beside its query files, in addition to those of C."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages import c as c_language
from ctxd.indexer.languages.language import Claim, ImportedName, Language, Rules, Scoping, Span, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    if node.type == "preproc_include":
        yield from c_language.imports(node, text)
        return
    named = node.named_children
    if node.type == "namespace_alias_definition" and len(named) == 2:
        yield ImportedName(node_text(named[1], text), "", node_text(named[0], text), named[0].start_byte)
    elif named and node.type == "using_declaration":
        whole = node_text(named[-1], text)
        is_namespace = b"namespace" in text[node.start_byte : named[-1].start_byte]
        module, _, name = ("", "", whole) if is_namespace else whole.rpartition("::")
        if is_namespace:
            yield ImportedName(whole, "*", "", named[-1].start_byte)
        else:
            yield ImportedName(module, name, "", named[-1].end_byte - len(name.encode()))
    elif named and node.type == "import_declaration":
        yield ImportedName(node_text(named[0], text), "*", "", named[0].start_byte)


def _declared(node: Node, kind: str, head: bytes) -> tuple[Node | Span, Node | None, tuple[int, int] | None] | None:
    """As in C, except for two cases: a `friend` line does not define, and a keyword after a macro is not a name
    (`EXPORT friend bool f();`).
    """
    found = None if kind == "variable" and _FRIEND.match(head) else c_language.declared(node, kind, head)
    return (
        None
        if found is None or getattr(found[0], "text", b"") in (b"friend", b"operator", b"template", b"typename")
        else found
    )


_FRIEND = re.compile(rb"\s*friend\b")
_ONLY_IN_CPP = re.compile(
    rb"^[ \t]*(?:template[ \t]*<|namespace\b[^;{]*\{|class[ \t]+\w[^;()]*[:{]|(?:public|private|protected)[ \t]*:|using[ \t]+\w"
    rb"|#[ \t]*include[ \t]*<\w+>)",
    re.MULTILINE,
)

LANGUAGE = Language(
    name="cpp",
    extensions=(b".cc", b".cpp", b".cxx", b".c++", b".hh", b".hpp", b".hxx", b".h++", b".ipp", b".inl", b".tpp", b".txx", b".cppm", b".ixx", b".cu", b".cuh"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="cpp",
        queries=("c.scm", "cpp.scm"),
        modifiers=c_language.MODIFIERS,
        imports=_imports,
        prepare=c_language.prepare_cpp,
        declared=_declared,
        owner=c_language.owner,
        keywords=c_language.KEYWORDS
        | {
            "class", "namespace", "template", "typename", "public", "private", "protected", "virtual", "override", "final", "using", "new",
            "delete", "this", "operator", "constexpr", "noexcept", "nullptr", "true", "false", "bool", "decltype", "static_cast",
            "reinterpret_cast", "const_cast", "dynamic_cast", "throw", "try", "catch", "friend", "explicit", "mutable", "auto",
        },
    ),
    scoping=Scoping(members_by_name=True, open_kinds=frozenset(("enum",)), includes=True),
    claims=Claim((b".h",), _ONLY_IN_CPP),
)  # fmt: skip
