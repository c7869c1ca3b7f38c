"""Elements and names that the sweep found, on their way to definitions.

Invariant: a frame lies inside all frames above it; its first name decides its kind.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.symbols.outline import FUNCTIONS, TYPES, Definition

if TYPE_CHECKING:
    from collections.abc import Collection

    from ctxd.indexer.symbols.text_places import TextPlaces

CONTAINERS = frozenset(("class", "interface", "struct", "enum", "trait"))
"""Kinds whose functions are methods."""

_PARENTS = TYPES | FUNCTIONS


class Frame:
    """An open @element or @scope."""

    __slots__ = (
        "above",
        "branches",
        "doc",
        "end",
        "first",
        "kind",
        "last",
        "modifiers",
        "outside",
        "owner",
        "parameters",
        "start",
    )

    def __init__(self, start: int, end: int, above: Frame | None, doc: str, kind: str = "") -> None:
        self.start = start
        self.end = end
        self.above = above
        self.doc = doc
        self.kind = kind
        self.owner = ""
        self.parameters: tuple[str, ...] = ()
        self.first: Name | None = None
        self.last: Name | None = None
        """The last name defined right inside. Kept only where a language has clauses."""
        self.modifiers: tuple[str, ...] | None = None
        self.branches = 0
        self.outside: Frame | None = None
        """The frame around a name of the preprocessor. Such a name knows no scopes, so it has nothing above it."""

    def holds_methods(self) -> bool:
        """True for a type and for `impl Foo`, which names a type without defining it. False for a function or module with an owner."""
        return self.kind in CONTAINERS or (self.first is None and bool(self.owner))

    def named_above(self) -> Frame | None:
        """The nearest frame around it that has a kind or an owner."""
        above = self.above
        while above is not None and not above.kind and not above.owner:
            above = above.above
        return above


class Name:
    """A defined name, with the frame of its element."""

    __slots__ = ("end", "frame", "kind", "start")

    def __init__(self, start: int, end: int, kind: str, frame: Frame) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.frame = frame


def in_outline_order(names: list[Name]) -> list[Name]:
    """Outer elements before inner ones; each name once."""
    seen: set[int] = set()
    ordered = sorted(names, key=lambda name: (name.frame.start, -name.frame.end, name.start))
    return [name for name in ordered if not (name.start in seen or seen.add(name.start))]


def definitions_of(
    names: list[Name], text: bytes, places: TextPlaces, modifier_words: Collection[str]
) -> list[Definition]:
    """A definition for each name. `modifier_words` are those that a definition keeps from the text before its name."""
    index_of = {id(name): index for index, name in enumerate(names)}
    place_of = {byte: (line, column) for byte, line, column in places.in_order(sorted(name.start for name in names))}
    modifiers = _Modifiers(text, modifier_words)
    definitions = []
    for name in names:
        frame = name.frame
        parent, owner = _parent_and_owner(frame)
        line, column = place_of[name.start]
        definitions.append(
            Definition(
                name=text[name.start : name.end].decode("utf-8", "replace"),
                kind=name.kind,
                line=line,
                column=column,
                start_line=places.line(frame.start),
                end_line=places.line(max(frame.start, frame.end - 1)),
                start_byte=frame.start,
                end_byte=frame.end,
                parent=-1 if parent is None else index_of.get(id(parent), -1),
                owner=owner,
                parameters=frame.parameters if name is frame.first else (),
                modifiers=modifiers.before(name),
                doc=frame.doc,
                complexity=max(1, 1 + frame.branches) if name.kind in FUNCTIONS else 0,
            )
        )
    return definitions


def _parent_and_owner(frame: Frame) -> tuple[Name | None, str]:
    """The name of the nearest type or function around it, and the nearest owner up to there ("" if none)."""
    above, owner = frame.above, frame.owner
    while above is not None:
        if above.first is not None and above.first.kind in _PARENTS:
            return above.first, owner
        owner = owner or above.owner
        above = above.above
    return None, owner


class _Modifiers:
    """Finds the modifiers before names."""

    def __init__(self, text: bytes, words: Collection[str]) -> None:
        self._text = text
        self._words = words
        self._by_head: dict[bytes, tuple[str, ...]] = {}
        """Most names of a file follow one of a few texts, such as `def `."""

    def before(self, name: Name) -> tuple[str, ...]:
        """All names of an element have the modifiers before its first name: an element may define thousands."""
        frame = name.frame
        if frame.modifiers is None:
            head = self._text[frame.start : (frame.first or name).start]
            found = self._by_head.get(head)
            if found is None:
                words = _WORD.findall(_STRING.sub(b"", head).decode("utf-8", "replace"))
                found = tuple(dict.fromkeys(word for word in words if word in self._words))
                self._by_head[head] = found
            frame.modifiers = found
        return frame.modifiers


_WORD = re.compile(r"\w+")
_STRING = re.compile(rb'"""(?s:.*?)"""|"[^"\n]*"|\'[^\'\n]*\'')
