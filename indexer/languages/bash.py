"""Shell scripts, read by the grammar of Bash: rules beside its query file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxd.indexer.languages.language import (
    ImportedName,
    Language,
    Prepared,
    Rules,
    Scoping,
    Span,
    node_text,
    overwritten,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_ALIAS = re.compile(rb"([^\s=$'\"]+)=")
_COMMAND = re.compile(rb"[A-Za-z_][\w:.+-]*")
_FUNCTION_LINE = re.compile(
    rb"^(?P<indent>[ \t]*)(?:function[ \t]+(?P<name>[\w:.+-]+)[ \t]*(?:\([ \t]*\))?|(?P<bare>[\w:.+-]+)[ \t]*\([ \t]*\))\s*[{(][^\n]*",
    re.MULTILINE,
)
_FUNCTION_BYTES_MAX = 1 << 15  # how far the end of a function is searched
_TEST_WORD = frozenset((b"test",))
_DIGITS = frozenset(b"0123456789")


_TEST = re.compile(rb"@test[ \t]+(?:\"([^\"\n]+)\"|'([^'\n]+)')[ \t]+\{")


def _prepare(text: bytes) -> Prepared:
    """Rewrite `@test "title" {` of bats as a function named by its title. The grammar would take it for a command."""
    parts: list[tuple[int, int, bytes]] = []
    for test in _TEST.finditer(text):
        start, end = test.span(test.lastindex or 0)
        parts += [(test.start(), start, b" "), (start, end, b"t"), (end, end + 2, b"()")]
    return overwritten(text, parts, _TEST_WORD) if parts else Prepared(text)


class _Sourced(NamedTuple):
    """A sourced file. The span is empty, at the start of its path: variables in the path are read, not imported."""

    start_byte: int
    end_byte: int
    path: str


def _sort_out(captures: dict[str, list[Any]], text: bytes) -> None:
    """Add aliases and sourced files. `$1` is not a name; `A=1 cmd` sets A for that command only; `a::f` is f of a."""
    called: list[Any] = []
    for word in captures.pop("call", ()):
        start, end = word.start_byte, word.end_byte
        name = text[start:end]
        if name == b"alias":
            for argument in _arguments(word):
                _add_alias(captures, argument, text)
        elif name in (b"source", b"."):
            for file in _arguments(word)[:1]:
                path = node_text(file, text).strip("\"'")
                captures.setdefault("import", []).append(_Sourced(file.start_byte, file.start_byte, path))
        elif _COMMAND.fullmatch(name):
            last = name.rfind(b"::") + 2
            if last > 1:
                captures.setdefault("read", []).append(Span(start, start + last - 2))
                called.append(Span(start + last, end))
            else:
                called.append(word)
    captures["call"] = called
    captures["read"] = [name for name in captures.get("read", ()) if text[name.start_byte] not in _DIGITS]
    if text.startswith(b"#!"):  # this line documents nothing
        captures["comment"] = [comment for comment in captures.get("comment", ()) if comment.start_byte]
    captures["name.variable"] = list(_first_assignments(captures, text))
    if captures.pop("broken", None):
        _add_functions_by_line(captures, text)
    functions = captures.get("name.function", [])
    for index, name in enumerate(functions):
        last = text.rfind(b"::", name.start_byte, name.end_byte)
        if name.start_byte < last < name.end_byte - 2:
            functions[index] = Span(last + 2, name.end_byte)
            captures.setdefault("owner", []).append(Span(name.start_byte, last))


def _arguments(word: Node) -> list[Node]:
    command = word.parent.parent if word.parent is not None else None
    return command.children_by_field_name("argument") if command is not None else []


def _add_alias(captures: dict[str, list[Any]], argument: Node, text: bytes) -> None:
    alias = _ALIAS.match(text, argument.start_byte, argument.end_byte)
    if alias is not None:
        captures.setdefault("element", []).append(argument)
        captures.setdefault("name.function", []).append(Span(*alias.span(1)))


def _first_assignments(captures: dict[str, list[Any]], text: bytes) -> Iterator[Any]:
    """The first assignment of each variable outside of functions. Scripts often assign again, which only changes it."""
    prefixed = {name.start_byte for name in captures.pop("prefixed", ())}
    bodies = sorted((body.start_byte, body.end_byte) for body in captures.pop("body", ()))
    body = body_end = 0
    seen: set[bytes] = set()
    for name in sorted(captures.get("name.variable", ()), key=lambda name: name.start_byte):
        start = name.start_byte
        while body < len(bodies) and bodies[body][0] <= start:
            body_end = max(body_end, bodies[body][1])
            body += 1
        word = text[start : name.end_byte]
        if start >= body_end and start not in prefixed and word not in seen:
            seen.add(word)
            yield name


def _add_functions_by_line(captures: dict[str, list[Any]], text: bytes) -> None:
    """Add functions that the tree lacks: one unknown word, such as one of zsh, can spoil the tree after it.

    Functions nearly always have lines of their own, with the closing brace under the first letter.
    """
    known = {name.start_byte for name in captures.get("name.function", ())}
    for line in _FUNCTION_LINE.finditer(text):
        start, end = line.span("name") if line["name"] else line.span("bare")
        if start in known:
            continue
        close = -1
        if not line[0].rstrip().endswith((b"}", b")")):
            close = text.find(b"\n" + line["indent"] + b"}", line.end(), line.end() + _FUNCTION_BYTES_MAX)
        captures.setdefault("element", []).append(
            Span(line.end("indent"), line.end() if close < 0 else close + len(line["indent"]) + 2)
        )
        captures.setdefault("name.function", []).append(Span(start, end))


def _imports(file: _Sourced, _text: bytes) -> Iterator[ImportedName]:
    yield ImportedName(file.path, "*", "", file.start_byte)


LANGUAGE = Language(
    name="bash",
    extensions=(b".sh", b".bash", b".zsh", b".ksh", b".bats", b".ebuild", b".eclass"),
    file_names=(
        b".bashrc",
        b".bash_profile",
        b".bash_aliases",
        b".zshrc",
        b".zshenv",
        b".profile",
        b"PKGBUILD",
        b"APKBUILD",
    ),
    comments=("#",),
    rules=Rules(
        grammar="bash",
        queries=("bash.scm",),
        modifiers=frozenset(("function", "export", "readonly", "declare", "typeset", "local")),
        imports=_imports,
        prepare=_prepare,
        sort_out=_sort_out,
    ),
    scoping=Scoping(assigning_declares=True),
)
