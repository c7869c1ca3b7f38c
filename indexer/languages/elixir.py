"""Elixir: rules beside its query file. They do most of the work, because `def`, `if` and `@type` are ordinary calls."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Rules,
    Scoping,
    Span,
    children_of_type,
    field_text,
    node_text,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_MODULES = {b"defmodule": "name.module", b"defprotocol": "name.interface"}
_FUNCTIONS = frozenset(
    (b"def", b"defp", b"defmacro", b"defmacrop", b"defguard", b"defguardp", b"defdelegate", b"defn", b"defnp")
)
_RECORDS = frozenset((b"defrecord", b"defrecordp"))
_IMPORTS = frozenset((b"alias", b"import", b"require", b"use"))
_BRANCHES = frozenset((b"if", b"unless", b"for", b"with"))
_NO_REFERENCES = (
    frozenset((b"defimpl", b"defstruct", b"defexception", b"defoverridable", b"case", b"cond", b"try", b"receive", b"quote"))
    | frozenset((b"unquote", b"unquote_splicing", b"super"))
    | _FUNCTIONS
    | _IMPORTS
    | _BRANCHES
    | _MODULES.keys()
)  # fmt: skip

_TYPES = {
    b"type": "name.type",
    b"typep": "name.type",
    b"opaque": "name.type",
    b"callback": "name.function",
    b"macrocallback": "name.function",
}
_BEFORE_A_FUNCTION = frozenset((b"doc", b"typedoc", b"spec", b"impl", b"deprecated", b"since"))
_DOCUMENTATION = frozenset((b"doc", b"typedoc", b"moduledoc"))
_NO_CONSTANTS = _BEFORE_A_FUNCTION | frozenset(
    (
        b"moduledoc", b"behaviour", b"before_compile", b"after_compile", b"after_verify", b"compile", b"dialyzer", b"external_resource",
        b"file", b"on_definition", b"on_load", b"vsn", b"derive", b"enforce_keys", b"optional_callbacks", b"nifs", b"fallback_to_any",
        b"undefined_impl_description", b"tag", b"moduletag", b"describetag", b"shortdoc", b"requirements", b"recursive",
        b"primary_key", b"foreign_key_type", b"schema_prefix", b"timestamps_opts",
    )
)  # fmt: skip
"""Attributes that the language, its test runner, build tool and database layer read. Any other is a constant of the
module if the module reads it."""

_WORD = re.compile(rb"\w*[?!]?")
_ALIAS_PART = re.compile(rb"\w+")
_IMPLEMENTATION = re.compile(r"([\w.]+)(?:.*\bfor: ([\w.]+))?")


def _sort_out(captures: dict[str, list[Any]], text: bytes) -> None:
    found = _Found(captures, text)
    for node in captures.pop("form", ()):
        found.form(node)
    for node in captures.pop("attribute", ()):
        found.attribute(node)
    for node in captures.pop("record", ()):
        found.record(node)
    found.aliases("alias", "read")
    found.aliases("struct", "type")
    found.types()


class _Found:
    """The captures of a file, while words are used to sort them."""

    def __init__(self, captures: dict[str, list[Any]], text: bytes) -> None:
        self.captures = captures
        self.text = text
        self.type_spans: list[tuple[int, int]] = []
        self.used = {text[node.start_byte : node.end_byte] for node in captures.pop("used", ())}
        """Attributes that the file reads. One that is only set is a note for a library."""

    def add(self, capture: str, node: Any) -> None:
        self.captures.setdefault(capture, []).append(node)

    def word_at(self, start: int) -> bytes:
        word = _WORD.match(self.text, start)
        return word[0] if word is not None else b""

    def form(self, node: Node) -> None:
        start = node.start_byte
        word = self.word_at(start)
        if self.text[start - 1 : start] == b"@":
            self.add("ignore", Span(start, start + len(word)))  # the name of an attribute; see `attribute`
            return
        if word in _NO_REFERENCES:
            self.add("ignore", Span(start, start + len(word)))
        if word in _FUNCTIONS:
            self.definition(node, node, "name.function")
        elif word in _MODULES:
            self.module(node, _MODULES[word])
        elif word == b"defimpl":
            arguments = _arguments(node)
            if arguments:
                self.add("element", node)
                self.add("owner", Span(arguments[0].start_byte, arguments[-1].end_byte))
        elif word in _IMPORTS:
            self.add("import", node)
        elif word in _BRANCHES:
            self.add("branch", node)
        elif word in _RECORDS:
            self.record(node)

    def module(self, node: Node, capture: str) -> None:
        """Add a module: `defmodule A.B` defines B with owner A."""
        for argument in _arguments(node)[:1]:
            right = argument.child_by_field_name("right")  # B of __MODULE__.B
            name = right if argument.type == "dot" and right is not None else argument
            start, end = name.start_byte, name.end_byte
            if name.type == "alias":
                self.add("element", node)
                last = self.text.rfind(b".", start, end) + 1 or start
                self.add(capture, Span(last, end))
                if last > start:
                    self.add("owner", Span(start, last - 1))
            elif name.type == "atom":  # an Erlang module: :name
                self.add("element", node)
                self.add(capture, Span(start + 1, end))

    def record(self, node: Node) -> None:
        target, atom = node.child_by_field_name("target"), _arguments(node)[:1]
        if target is None or not atom or atom[0].type != "atom":
            return
        last = target.child_by_field_name("right") if target.type == "dot" else target
        if last is not None and self.text[last.start_byte : last.end_byte] in _RECORDS:
            self.add("element", node)
            self.add("name.struct", Span(atom[0].start_byte + 1, atom[0].end_byte))

    def definition(self, element: Node, call: Node, capture: str) -> None:
        """Add a definition: `def f(parameters) when guard`, `@type name(parameters) :: type`, `def left <> right`."""
        for head in _arguments(call)[:1]:
            name, parameters = self.named(head)
            if name is not None:
                self.add("element", element)
                self.add(capture, name)
                if parameters is not None:
                    self.add("parameters", parameters)

    def named(self, head: Node) -> tuple[Any, Node | None]:
        while True:
            inner = None
            if head.type == "binary_operator" and field_text(head, "operator", self.text) in ("when", "::"):
                inner = head.child_by_field_name("left")
            elif head.type == "block" and head.named_children:  # (left <> right)
                inner = head.named_children[0]
            if inner is None:
                break
            head = inner
        if head.type == "identifier":
            return head, None
        if head.type in ("binary_operator", "unary_operator"):
            return head.child_by_field_name("operator"), None
        target = head.child_by_field_name("target") if head.type == "call" else None
        if target is None or target.type != "identifier" or node_text(target, self.text) == "unquote":
            return None, None  # a computed name
        return target, next(children_of_type(head, "arguments"), None)

    def attribute(self, node: Node) -> None:
        call = node.child_by_field_name("operand")
        if call is None:
            return
        word = self.word_at(call.start_byte)
        if word in _TYPES:
            self.definition(node, call, _TYPES[word])
        if word in _TYPES or word == b"spec":
            self.type_spans.append((node.start_byte, node.end_byte))
        if word in _BEFORE_A_FUNCTION:
            self.add("prefix", node)
        if word in _DOCUMENTATION:
            for argument in _arguments(call)[:1]:
                for content in children_of_type(argument, "quoted_content"):
                    self.add("doc", content)
                    break
        elif word in self.used and word not in _NO_CONSTANTS and word not in _TYPES and _arguments(call):
            self.add("element", node)
            self.add("name.constant", Span(call.start_byte, call.start_byte + len(word)))

    def aliases(self, capture: str, role: str) -> None:
        """Add a reference for each part of `A.B`: each is a module."""
        for node in self.captures.pop(capture, ()):
            start, end = node.start_byte, node.end_byte
            if self.text.find(b".", start, end) < 0:
                self.add(role, node)
            else:
                for part in _ALIAS_PART.finditer(self.text, start, end):
                    self.add(role, Span(part.start(), part.end()))

    def types(self) -> None:
        """Turn calls in types and specifications into type references."""
        calls = self.captures.get("call")
        if not calls or not self.type_spans:
            return
        spans = sorted(self.type_spans)
        starts = [start for start, _ in spans]
        called = []
        for node in calls:
            before = bisect.bisect_right(starts, node.start_byte) - 1
            if before >= 0 and node.start_byte < spans[before][1]:
                self.add("type", node)
            else:
                called.append(node)
        self.captures["call"] = called


def _arguments(call: Node) -> list[Node]:
    arguments = next(children_of_type(call, "arguments"), None)
    return arguments.named_children if arguments is not None else []


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names of `alias A.{B, C.D}`, `alias A.B, as: C`, `import A, only: [f: 1]`, `require A`, `use A`."""
    arguments = _arguments(node)
    if not arguments:
        return
    word = field_text(node, "target", text)
    target, options = arguments[0], arguments[1:]
    prefix, targets = "", [target]
    if target.type == "dot":
        left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
        if left is None or right is None:
            return
        prefix = node_text(left, text) + "."
        targets = list(children_of_type(right, "alias")) if right.type == "tuple" else [right]
    for one in targets:
        if one.type not in ("alias", "identifier", "atom"):
            continue
        module = prefix + node_text(one, text)
        parent, _, last = module.rpartition(".")
        byte = one.end_byte - len(last.encode())
        if word == "import":
            only = _option(options, "only", text)
            names = [pair.child_by_field_name("key") for pair in _pairs(only)] if only is not None else []
            for name in filter(None, names):
                function = node_text(name, text).strip(": \n")
                yield ImportedName(module, function, "", name.start_byte, function)
            if not names:
                yield ImportedName(module, "*", "", byte)
            continue
        alias = _option(options, "as", text)
        renamed = node_text(alias, text) if alias is not None else ""
        if word == "alias":
            yield ImportedName(parent, last, renamed, byte)
        else:
            yield ImportedName(module, "", renamed, byte)


def _option(options: list[Node], key: str, text: bytes) -> Node | None:
    for pair in (pair for option in options for pair in _pairs(option)):
        if field_text(pair, "key", text).strip() == f"{key}:":
            return pair.child_by_field_name("value")
    return None


def _pairs(node: Node) -> Iterator[Node]:
    """The pairs of `a: 1, b: 2` and `[a: 1, b: 2]`."""
    for keywords in [node] if node.type == "keywords" else children_of_type(node, "keywords"):
        yield from children_of_type(keywords, "pair")


def _owner(text: str) -> str:
    """`A` for `defmodule A.B`; `P.T` for `defimpl P, for: T`, which is the name of the module that it makes."""
    implementation = _IMPLEMENTATION.match(text)
    if implementation is None:
        return ""
    return ".".join(part for part in implementation.groups() if part)


LANGUAGE = Language(
    name="elixir",
    extensions=(b".ex", b".exs"),
    comments=("#",),
    rules=Rules(
        grammar="elixir",
        queries=("elixir.scm",),
        modifiers=frozenset(
            (
                "defp", "defmacro", "defmacrop", "defguard", "defguardp", "defdelegate", "defn", "defnp", "typep", "opaque", "callback",
                "macrocallback",
            )
        ),
        imports=_imports,
        sort_out=_sort_out,
        owner=_owner,
    ),
    scoping=Scoping(assigning_declares=True, imports_inside=True),
)  # fmt: skip
