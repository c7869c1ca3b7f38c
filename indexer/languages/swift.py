"""Swift: rules beside its query file, and rewrites of text that the grammar cannot read.

Blanked before parsing: lines of `#if` and syntax that is newer than the grammar. The grammar knows `#if` only between
statements; each branch is complete, so all are read one after the other. Names in blanked text count as references.
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
    stumbling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_REWRITES = tuple(
    (re.compile(pattern, re.MULTILINE), filling)
    for pattern, filling in (
        (rb"#(?:if|elseif|else|endif|error|warning)\b[^\n]*", b" "),
        # Before a call in a condition these words make the grammar take the body for an argument of the call.
        (rb"try(?<![.\w`]try)[?!]?(?=[ \t])", b" "),
        (rb"await(?<![.\w`]await)(?=[ \t])", b" "),
        (rb"throws[ \t]*(\([^()\n]*\))", b" "),
        (rb"nonisolated(\((?:unsafe|nonsending)\))", b" "),
        (rb"sending(?<=[:,(=\s]sending)(?=[ \t]+[\w(@\[])", b" "),
        (rb"consume(?<=[:,(=\s]consume)(?=[ \t]+\w)", b" "),
        (rb"isolated(?<=[:,(=\s]isolated)(?=[ \t]+[\w(])", b" "),
        (rb"unsafe(?<![.\w`(]unsafe)(?=[ \t]+\w)", b" "),
        (rb"=[ \t]*#(?:isolation|_\w+)\b", b" "),
        (rb"[?](?<=\w[?][?])(?=[,)\]:={\s])", b" "),
        (rb"@(?:_\w+|convention)\([^()\n]*\)", b" "),
        (rb"@Sendable(?=[ \t]+func\b)", b" "),
        (rb"typealias\b[^\n=]*=[^\n]*?(\bwhere\b[^\n]*)", b" "),
        # An empty tuple that is a value becomes a number.
        (
            rb"\(\)(?:(?<=\(\(\))|(?<=[,:={] \(\))|(?<=return \(\))|(?<= in \(\))|(?<=[?][?] \(\)))(?=[ \t]*(?:[),}]|//|$))",
            b"0",
        ),
        (rb"\n[ \t]*(\(\))(?=[ \t]*(?:[),}]|//|$))", b"0"),
        (rb"typealias\b[^\n=]*=[ \t]*(\(\))", b"()"),
    )
)
_KEYWORDS = frozenset(
    (
        b"if", b"elseif", b"else", b"endif", b"error", b"warning", b"os", b"canImport", b"compiler", b"try", b"await", b"where",
        b"sending", b"consume", b"isolated", b"unsafe", b"nonsending", b"isolation",
    )
)  # fmt: skip


def _prepare(text: bytes) -> Prepared:
    return overwritten(text, stumbling(text, _REWRITES), _KEYWORDS)


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    for path in children_of_type(node, "identifier"):
        whole = node_text(path, text)
        between = text[node.start_byte : path.start_byte].split()
        if between[-1:] == [b"import"]:
            yield ImportedName(whole, "*", "", path.start_byte)
        else:  # import struct Module.Name
            module, _, name = whole.rpartition(".")
            yield ImportedName(module, name, "", path.end_byte - len(name.encode()))


LANGUAGE = Language(
    name="swift",
    extensions=(b".swift",),
    comments=("//", "/*"),
    rules=Rules(
        grammar="swift",
        queries=("swift.scm",),
        modifiers=frozenset(
            (
                "public", "private", "fileprivate", "internal", "open", "package", "static", "class", "final", "override", "required",
                "convenience", "lazy", "weak", "unowned", "mutating", "nonmutating", "nonisolated", "isolated", "indirect", "optional",
                "dynamic", "distributed", "infix", "prefix", "postfix", "actor", "let", "var", "available", "objc", "discardableResult",
                "MainActor", "inlinable", "usableFromInline",
            )
        ),
        imports=_imports,
        prepare=_prepare,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(members_by_name=True, is_folder_module=True, behind_dot="imported"),
)  # fmt: skip
