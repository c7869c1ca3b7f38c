"""Ruby: rules beside its query file, above all for methods that calls define."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ctxd.indexer.languages.language import ImportedName, Language, Rules, Scoping, Span, node_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    """Names that a `require` or similar call brings in, from the node of its arguments."""
    call = _LOADING.search(text, max(0, node.start_byte - _LOADING_BYTES_MAX), node.start_byte)
    arguments = node.named_children
    if call is None or not arguments:
        return
    first = arguments[0]
    if call[1] == b"autoload":
        if len(arguments) > 1 and first.type == "simple_symbol":
            module = node_text(arguments[1], text).strip("'\"")
            yield ImportedName(module, node_text(first, text)[1:], "", first.start_byte + 1)
    elif first.type == "string":
        yield ImportedName(node_text(first, text)[1:-1], "*", "", first.start_byte)


_LOADING = re.compile(rb"(?<![\w.])(require|require_relative|require_dependency|load|autoload)[ \t]*\Z")
_LOADING_BYTES_MAX = 24


def _declared(node: Node, kind: str, head: bytes) -> tuple[Any, Node | None, tuple[int, int] | None] | None:
    """The method that a call defines by a symbol, or the class that a call such as `Struct.new` makes."""
    if kind == "method":
        maker = _METHOD_MAKER.match(head)
        if maker is None or (maker[1] not in _MAKE_ALL and head[maker.end() :].strip()):
            return None
        parameters = None
        if maker[1] == b"define_method":
            arguments = node.parent
            call = arguments.parent if arguments is not None else None
            block = call.child_by_field_name("block") if call is not None else None
            parameters = block.child_by_field_name("parameters") if block is not None else None
        return Span(node.start_byte + 1, node.end_byte), parameters, None
    made, name = node.child_by_field_name("right"), node.child_by_field_name("left")
    receiver = made.child_by_field_name("receiver") if made is not None else None
    method = made.child_by_field_name("method") if made is not None else None
    if receiver is None or method is None or _KINDS_MADE.get((receiver.text, method.text)) != kind:
        return None
    scope = name.child_by_field_name("scope") if name is not None else None
    if name is not None and name.type == "scope_resolution":
        name = name.child_by_field_name("name")
    return (name, None, (scope.start_byte, scope.end_byte) if scope is not None else None) if name is not None else None


def _owner(scope: str) -> str:
    """The owner is A for `class A::B`; it is not known for `self::B = 1`."""
    return scope.removeprefix("::") if _CONSTANTS.fullmatch(scope) else ""


_CONSTANTS = re.compile(r"(?:::)?[A-Z]\w*(?:::[A-Z]\w*)*")


_METHOD_MAKER = re.compile(
    rb"(attr_reader|attr_writer|attr_accessor|attr|cattr_reader|cattr_writer|cattr_accessor|mattr_reader|mattr_writer|mattr_accessor"
    rb"|class_attribute|thread_mattr_accessor|thread_cattr_accessor|alias_method|alias|define_method)(?:[ \t]*\(|[ \t\n])"
)
_MAKE_ALL = frozenset(
    b"attr_reader attr_writer attr_accessor attr cattr_reader cattr_writer cattr_accessor mattr_reader mattr_writer"
    b" mattr_accessor class_attribute thread_mattr_accessor thread_cattr_accessor".split()
)
"""Calls that define a method for each of their symbols. The other calls define one for the first symbol only."""

_KINDS_MADE: dict[tuple[bytes | None, bytes | None], str] = {
    (b"Struct", b"new"): "class",
    (b"Class", b"new"): "class",
    (b"Data", b"define"): "class",
    (b"Module", b"new"): "module",
}


LANGUAGE = Language(
    name="ruby",
    extensions=(b".rb", b".rake", b".gemspec", b".ru", b".podspec", b".jbuilder"),
    file_names=(
        b"Rakefile",
        b"Gemfile",
        b"Vagrantfile",
        b"Brewfile",
        b"Podfile",
        b"Fastfile",
        b"Guardfile",
        b"Capfile",
        b"Dangerfile",
    ),
    comments=("#", "=begin"),
    rules=Rules(
        grammar="ruby",
        queries=("ruby.scm",),
        modifiers=frozenset(("private", "protected", "public", "private_class_method", "module_function", "self")),
        imports=_imports,
        declared=_declared,
        owner=_owner,
    ),
    scoping=Scoping(members_by_name=True, assigning_declares=True),
)
