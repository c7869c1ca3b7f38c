"""C#: rules beside its query file, and `#if`, which may split parts that the grammar needs whole."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import ImportedName, Language, Prepared, Rules, Scoping, Span, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    alias = node.child_by_field_name("name")
    if not node.named_children:
        return
    target = node.named_children[-1]
    whole = node_text(target, text)
    if alias is None:
        yield ImportedName(whole, "*", "", target.start_byte)
        return
    plain = whole.partition("<")[0]  # using A = List<int>
    module, _, name = plain.rpartition(".")
    yield ImportedName(module, name.strip(), node_text(alias, text), alias.start_byte)


def _declared(node: Node, kind: str, _head: bytes) -> tuple[Any, Node | None, None] | None:
    """The name of a record (class or struct), or of `operator +`, `operator int`, `~Name`, which take several nodes."""
    if node.type == "record_declaration":
        is_struct = any(child.type == "struct" for child in node.children)
        name = node.child_by_field_name("name")
        return (name, None, None) if name is not None and is_struct == (kind == "struct") else None
    first = next((child for child in node.children if child.type in ("operator", "~")), None)
    last = next(filter(None, map(node.child_by_field_name, ("operator", "name", "type"))), None)
    if first is None or last is None or last.end_byte <= first.start_byte:
        return None
    return Span(first.start_byte, last.end_byte), node.child_by_field_name("parameters"), None


def _prepare(text: bytes) -> Prepared:
    """Blank the lines of `#if` and other directives: the grammar knows them only between statements and members.

    If each branch holds whole statements or members, all are kept; else only the first, because one of them parses.
    """
    if not _IF.search(text):
        return Prepared(text)
    blanked: list[tuple[int, int]] = []
    tokens: list[tuple[int, int]] = []
    open_ifs: list[list[re.Match[bytes]]] = []
    for match in _DIRECTIVE.finditer(text):
        blanked.append(match.span())
        tokens.append((match.end(1), match.end()))
        if match[1] == b"if":
            open_ifs.append([match])
        elif open_ifs:
            open_ifs[-1].append(match)
            if match[1] == b"endif":
                others = _other_readings(text, open_ifs.pop()) if len(open_ifs) <= _IFS_MAX else []
                blanked += others
                tokens += others
    blank = bytearray(text)
    for start, end in blanked:
        blank[start:end] = _NOT_NEWLINE.sub(b" ", text[start:end])
    return Prepared(bytes(blank), tuple(tokens))


def _other_readings(text: bytes, directives: list[re.Match[bytes]]) -> list[tuple[int, int]]:
    """The branches of an `#if` to blank: all except the first, or none if all are whole statements."""
    branches = [(before.end(), after.start()) for before, after in itertools.pairwise(directives)]
    start = directives[0].start()
    if len(branches) == 1 or (
        _ends_statement(text, max(0, start - _BEFORE_BYTES_MAX), start)
        and all(_is_statements(text, *branch) for branch in branches)
    ):
        return []
    return branches[1:]


def _is_statements(text: bytes, start: int, end: int) -> bool:
    body = _OPAQUE.sub(b"", text[start:end]).strip()
    if not body:
        return True
    if body.startswith(_NEVER_FIRST) or not _ends_statement(text, start, end):
        return False
    depth = 0
    for bracket in _BRACKET.finditer(body):
        depth += 1 if bracket[0] in b"({" else -1
        if depth < 0:
            return False
    return not depth


def _ends_statement(text: bytes, start: int, end: int) -> bool:
    return _OPAQUE.sub(b"", text[start:end]).rstrip()[-1:] in (b"", b";", b"{", b"}", b",", b"]", b":")


_IF = re.compile(rb"#[ \t]*if\b")
_DIRECTIVE = re.compile(rb"^[ \t]*#[ \t]*(if|elif|else|endif)\b[^\n]*", re.MULTILINE)
_NOT_NEWLINE = re.compile(rb"[^\n]")
_OPAQUE = re.compile(
    rb"/\*(?s:.*?)(?:\*/|\Z)|//[^\n]*|^[ \t]*#[^\n]*|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n]){1,8}'", re.MULTILINE
)
"""An unclosed comment ends with the text, an unclosed string with its line. Otherwise each would be read to the end."""

_BRACKET = re.compile(rb"[(){}]")
_NEVER_FIRST = (b"else", b".", b",", b":", b"&", b"|", b"?", b"=", b"+", b"-", b"*", b"<", b">", b")", b"%", b"^")
_BEFORE_BYTES_MAX = 400
_IFS_MAX = 16  # levels of nesting that are examined; each level reads all the text inside it again


LANGUAGE = Language(
    name="csharp",
    extensions=(b".cs", b".csx"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="csharp",
        queries=("csharp.scm",),
        modifiers=frozenset(
            (
                "public", "protected", "private", "internal", "file", "static", "readonly", "const", "volatile", "abstract", "sealed",
                "virtual", "override", "new", "extern", "async", "unsafe", "partial", "required", "ref", "event", "record",
            )
        ),
        imports=_imports,
        prepare=_prepare,
        declared=_declared,
        keywords=frozenset(
            (
                "abstract", "as", "base", "bool", "break", "byte", "case", "catch", "char", "checked", "class", "const", "continue",
                "decimal", "default", "delegate", "do", "double", "else", "enum", "event", "explicit", "extern", "false", "finally", "fixed",
                "float", "for", "foreach", "goto", "if", "implicit", "in", "int", "interface", "internal", "is", "lock", "long", "namespace",
                "new", "null", "object", "operator", "out", "override", "params", "private", "protected", "public", "readonly", "ref",
                "return", "sbyte", "sealed", "short", "sizeof", "stackalloc", "static", "string", "struct", "switch", "this", "throw", "true",
                "try", "typeof", "uint", "ulong", "unchecked", "unsafe", "ushort", "using", "virtual", "void", "volatile", "while",
            )
        ),
    ),
    scoping=Scoping(members_by_name=True, is_folder_module=True, behind_dot="imported"),
)  # fmt: skip
