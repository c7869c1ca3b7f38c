"""The uses of names in one file: the places and roles of its references, and the names that it takes from elsewhere.

Invariant: each byte starts at most one reference; the own name of a definition is none.
"""

from __future__ import annotations

import bisect
import operator
import re
from collections import defaultdict
from typing import TYPE_CHECKING

from ctxd.indexer.symbols.outline import MEMBER, ROLES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tree_sitter import Node

    from ctxd.indexer.languages.language import ImportedName, Rules
    from ctxd.indexer.symbols.text_places import TextPlaces

_CALL, _TYPE, _IMPORT, _WRITE, _READ = range(len(ROLES))
_ROLE_OF_CAPTURE = {"read": _READ, "write": _WRITE, "type": _TYPE, "call": _CALL}
"""Where several match, the last one wins."""

_QUALIFIER_BYTES_MAX = 100  # no file imports a longer name than this before a dot
_DOT, _COLON = b".:"
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") | frozenset(
    range(128, 256)
)

_start_byte = operator.attrgetter("start_byte")
_end_byte = operator.attrgetter("end_byte")


class References:
    """Collects the references of a text, then groups them by name.

    Columns instead of objects: a megabyte of source has a hundred thousand references.
    """

    def __init__(self, rules: Rules, text: bytes) -> None:
        self._rules = rules
        self._text = text
        self._ends: dict[int, int] = {}
        """The end of each reference, by its start."""
        self._roles: dict[int, int] = {}
        """The roles other than "read", by start."""
        self._by_name: dict[str, list[tuple[int, int, int]]] = {}
        self._members: set[tuple[bytes, bytes | None]] = set()
        """Members called or used as types, each with the name before its dot."""

    def add_captures(self, captures: dict[str, list[Node]]) -> None:
        for capture, role in _ROLE_OF_CAPTURE.items():
            nodes = captures.get(capture, ())
            starts = list(map(_start_byte, nodes))
            self._ends.update(zip(starts, map(_end_byte, nodes), strict=True))
            if role != _READ:
                self._roles.update(dict.fromkeys(starts, role))
        marked = captures.get("symbol", ())
        self._ends.update((node.start_byte + 1, node.end_byte) for node in marked)

    def add_writes(self, spans: list[tuple[int, int]]) -> None:
        self._ends.update(spans)
        self._roles.update(dict.fromkeys((start for start, _ in spans), _WRITE))

    def add_tokens(self, spans: Iterable[tuple[int, int]]) -> None:
        """Add the identifiers in text that the grammar leaves alone."""
        for span_start, span_end in spans:
            for token in _TOKEN.finditer(self._text, span_start, span_end):
                group, start = token.lastgroup, token.start()
                if group is not None and start not in self._ends and token[group].decode() not in self._rules.keywords:
                    self._ends[start] = token.end(group)
                    if group == "called":
                        self._roles[start] = _CALL

    def remove(self, starts: Iterable[int]) -> None:
        for start in starts:
            self._ends.pop(start, None)

    def mark_imports(self, statements: list[tuple[int, int]]) -> None:
        """All references in an import statement have the role "import"."""
        order = sorted(self._ends)
        for span_start, span_end in statements:
            for start in order[bisect.bisect_left(order, span_start) : bisect.bisect_left(order, span_end)]:
                self._roles[start] = _IMPORT

    def group(
        self, places: TextPlaces, bound: list[tuple[int, int, int, str]]
    ) -> dict[str, list[tuple[int, int, int]]]:
        """`Outline.uses`. `bound` are names that an import spells only in a string: byte, line, column, name."""
        by_name = self._grouped(places)
        for keyword in self._rules.keywords:
            by_name.pop(keyword.encode(), None)
        for quoted in [name for name in by_name if is_quoted(name)]:
            bare = by_name.setdefault(quoted[1:-1], [])
            bare += [(line, column + 1, role) for line, column, role in by_name.pop(quoted)]
            bare.sort()
        self._by_name = {name.decode("utf-8", "replace"): uses for name, uses in by_name.items() if name}
        for byte, line, column, name in bound:
            if byte not in self._ends:
                self._by_name.setdefault(name, []).append((line, column, _IMPORT))
                self._by_name[name].sort()
        return self._by_name

    def _grouped(self, places: TextPlaces) -> dict[bytes, list[tuple[int, int, int]]]:
        # A hot loop: it runs once for each reference.
        by_name: defaultdict[bytes, list[tuple[int, int, int]]] = defaultdict(list)
        text, ends, before_member = self._text, self._ends, _BEFORE_MEMBER
        role_of = self._roles.get
        for start, line, column in places.in_order(sorted(ends)):
            role = role_of(start, _READ)
            name = text[start : ends[start]]
            # `a.b`, `a->b` and `a::b`, but neither `...b` nor `a ? b:c`.
            before = text[start - 1]
            if before in before_member and start > 1 and text[start - 2] in before_member[before]:
                if role in (_CALL, _TYPE):
                    self._members.add((name, self._qualifier(start)))
                role |= MEMBER
            by_name[name].append((line, column, role))
        return by_name

    def _qualifier(self, start: int) -> bytes | None:
        """The name before the dot or arrow of a member; `b""` if there is none, None for a `::` that needs no import."""
        text = self._text
        end = start - (1 if text[start - 1] == _DOT else 2)
        if text[end] == _COLON and not self._rules.imports_by_name:
            return None
        begin = end
        while begin > 0 and end - begin < _QUALIFIER_BYTES_MAX and text[begin - 1] in _NAME_BYTES:
            begin -= 1
        return text[begin:end]

    def taken(self, imports: list[ImportedName], own: set[str]) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """`Outline.taken` and `Outline.imported`, once the references are grouped. `own` are the names that the file defines."""
        modules, imported = _imported(imports)
        taken = set() if self._rules.imports_by_name else self._taken_bare(modules)
        for member, qualifier in self._members:
            name = member.decode("utf-8", "replace")
            if qualifier is None:
                taken.add(name)
            elif (part := modules.get(qualifier.decode("utf-8", "replace"))) is not None:
                imported.add((part, name))
        return frozenset(taken - own), frozenset(pair for pair in imported if pair[1] not in own)

    def _taken_bare(self, modules: dict[str, str]) -> set[str]:
        """Names that are called or used as types, and neither written nor names of modules."""
        taken: set[str] = set()
        for name, places in self._by_name.items():
            if name not in modules:
                roles = {role for _, _, role in places}
                if (_CALL in roles or _TYPE in roles) and _WRITE not in roles:
                    taken.add(name)
        return taken


def _imported(imports: list[ImportedName]) -> tuple[dict[str, str], set[tuple[str, str]]]:
    """The module of each name that an import gives to something, and the pairs of module and imported name."""
    imported: set[tuple[str, str]] = set()
    modules: dict[str, str] = {}
    bound = {one.byte: one.bound for one in imports if one.bound}
    for one in imports:
        part = _module_part(one.module)
        offered = one.alias if one.name == "default" else one.name
        if offered not in ("", "*"):
            imported.add((part, offered))
        modules[one.alias or one.name or bound.get(one.byte) or part] = part
    return modules, imported


def _module_part(module: str) -> str:
    """The part of a module's name that tells if the module may be the project's own: the first, or the last of a path on the net.

    "" for a module found by its place.
    """
    first, slash, rest = module.partition("/")
    if slash and "." in first.strip("."):
        first = rest.rpartition("/")[2]
    match = _MODULE_PART.match(first)
    return match[0] if match and match[0] not in _OWN_MODULES else ""


def is_quoted(name: bytes) -> bool:
    """True for a name between backticks. Kotlin, Swift and Scala quote names that would be keywords or hold blanks."""
    return name[:1] == b"`" and name[-1:] == b"`" and len(name) > 2


_MODULE_PART = re.compile(r"\w+")
_OWN_MODULES = frozenset(("crate", "self", "super"))
_NOT_A_DOT = frozenset(range(256)) - {0x2E}
_BEFORE_MEMBER: dict[int, frozenset[int]] = {
    ord("."): _NOT_A_DOT,
    ord(">"): frozenset(b"-"),
    ord(":"): frozenset(b":"),
}
"""The byte right before a member's name, and the bytes that may stand before that one."""

_TOKEN = re.compile(
    rb"//[^\n]*|/\*(?s:.*?)\*/|\"(?:\\(?s:.)|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\d[\w.]*"
    rb"|(?P<called>[A-Za-z_]\w*)(?=[ \t]*\()|(?P<name>[A-Za-z_]\w*)"
)
