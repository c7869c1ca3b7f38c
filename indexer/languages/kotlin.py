"""Kotlin: rules beside its query file, and rewrites of text that the grammar cannot read.

Blanked before parsing, because the grammar misreads the text after it:
- `by x {` after a supertype: the grammar takes the body for an argument of x;
- the text between a class's name and its constructor's parameters: a line break there ends the class;
- all annotations of a class except the first, and comments after annotations: it may find an expression instead;
- `context(...)`, the `$$` before a string, type arguments before `::`.
A semicolon is put before a line of a `when` that begins with `in`: the line before would continue on it.
Blanked words still count as references.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Prepared,
    Rules,
    Scoping,
    children_of_type,
    head_of_type,
    node_text,
    overwritten,
    stumbling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_ANNOTATION = rb"[\w.:]+(?:\((?:[^()\"]|\"(?:[^\"\\\n]|\\.)*\"|\([^()]*\)){0,500}\))?"  # behind the @
_MODIFIER = rb"(?:public|private|protected|internal|actual|expect|inline|suspend)"
_REWRITES = tuple(
    (re.compile(pattern), filling)
    for pattern, filling in (
        (rb"\.\.(<)", b" "),
        (rb"<[\w*, ?.]+>(?=::)", b" "),
        (rb"\n(?<=[^{,\s]\n)(?=[ \t]*!?in\b[^\n]*->)", b";"),
        (rb"@" + _ANNOTATION + rb"([ \t]*//[^\n]*)(?=\s+(?:\w+\s+){0,5}(?:fun|va[lr])\b)", b" "),
        (rb"0[bB](?<!\w0[bB])[01_]{2,}", b"1"),
        (rb"\$\$+(?=\")", b" "),
        (rb"actual(?<=\w actual)(?=[ \t]+(?:\w+[ \t]+)?va[lr]\b)", b" "),
        (rb"@(?<![^\n]@)" + _ANNOTATION + rb"((?:\s+@" + _ANNOTATION + rb"|[ \t]*//[^\n]*){1,20})(?=\s+(?:\w+\s+){0,4}(?:class|interface)\b)", b" "),
        (rb"context(?<![\w.]context)[ \t]*\([^()\n]*\)(?=\s*(?:@|(?:fun|va[lr]|class|override|abstract|open|operator|" + _MODIFIER + rb")\b))", b" "),
        (rb"class[ \t]+\w+[ \t]*(?:<[^<>{}()=]*(?:<[^<>{}()=]*>[^<>{}()=]*)*>)?((?:\s+(?:" + _MODIFIER + rb"|@" + _ANNOTATION + rb"))*\s+constructor)\b(?=\s*\()", b" "),
    )
)  # fmt: skip
_DELEGATE = re.compile(rb"by(?<=[\w>)?][ \t]by)[ \t]+[^\s{}=]+(?:[ \t]+as[ \t]+[\w.]+(?:<[^{}()\n]*>)?)?(?=[ \t]*\{)")
_KEYWORDS = frozenset(
    (
        b"by", b"as", b"constructor", b"context", b"class", b"public", b"private", b"protected", b"internal", b"actual", b"expect",
        b"inline", b"suspend", b"in", b"out",
    )
)  # fmt: skip
_IN_PARENTHESES = re.compile(rb"\([^()]*\)")
_DECLARATION = re.compile(rb"\b(?:class|object|va[lr]|fun)\b")
_HEADER_BYTES_MAX = 2000
_PARENTHESES_DEPTH_MAX = 6
_DELEGATES_MAX = 1000


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    for path in children_of_type(node, "identifier"):
        whole = node_text(path, text)
        if any(children_of_type(node, "wildcard_import")):
            yield ImportedName(whole, "*", "", path.start_byte)
        else:
            module, _, name = whole.rpartition(".")
            alias = "".join(node_text(child, text) for child in children_of_type(node, "import_alias"))
            yield ImportedName(module, name, alias.removeprefix("as").strip(), path.end_byte - len(name.encode()))


def _prepare(text: bytes) -> Prepared:
    return overwritten(text, itertools.chain(stumbling(text, _REWRITES), _delegates(text)), _KEYWORDS)


def _delegates(text: bytes) -> Iterator[tuple[int, int, bytes]]:
    for match in itertools.islice(_DELEGATE.finditer(text), _DELEGATES_MAX):
        if _is_of_type(text, match.start()):
            yield (*match.span(), b" ")


def _is_of_type(text: bytes, by: int) -> bool:
    """True if a `by` delegates a supertype, not a property: the last declaration before it decides, outside of
    parentheses.
    """
    head = text[max(0, by - _HEADER_BYTES_MAX) : by]
    for _ in range(_PARENTHESES_DEPTH_MAX):
        head = _IN_PARENTHESES.sub(b"", head)
    declared = _DECLARATION.findall(head)
    return bool(declared) and declared[-1] in (b"class", b"object")


def _sort_out(captures: dict[str, list[Any]], _: bytes) -> None:
    """The query takes an `enum class` for a class, too: drop that."""
    enums = {node.start_byte for node in captures.get("name.enum", ())}
    captures["name.class"] = [node for node in captures.get("name.class", ()) if node.start_byte not in enums]


LANGUAGE = Language(
    name="kotlin",
    extensions=(b".kt", b".kts"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="kotlin",
        queries=("kotlin.scm",),
        modifiers=frozenset(
            (
                "public", "protected", "private", "internal", "abstract", "open", "final", "sealed", "data", "enum", "annotation", "inner",
                "value", "object", "companion", "override", "lateinit", "const", "suspend", "inline", "infix", "operator", "tailrec",
                "external", "expect", "actual", "vararg", "noinline", "crossinline", "val", "var",
            )
        ),
        imports=_imports,
        prepare=_prepare,
        sort_out=_sort_out,
        owner=head_of_type,
        upper_case_is_constant=True,
    ),
    scoping=Scoping(members_by_name=True, is_folder_module=True, behind_dot="imported"),
)  # fmt: skip
