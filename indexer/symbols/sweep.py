"""The captures of a file in, its `Outline` out. One pass in text order, with a stack of open elements.

Invariant: every step looks only at the open frames and at what came before; parser.py says what each capture means.
"""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, ClassVar

from ctxd.indexer.symbols.element_starts import ElementStarts, first_line
from ctxd.indexer.symbols.frames import CONTAINERS, Frame, Name, definitions_of, in_outline_order
from ctxd.indexer.symbols.outline import FUNCTIONS, KINDS, Import, Outline
from ctxd.indexer.symbols.text_places import TextPlaces
from ctxd.indexer.symbols.uses import References, is_quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

    from ctxd.indexer.languages.language import ImportedName, Rules

    Handler = Callable[["Sweep", int, int, str, Node], None]
    Event = tuple[int, int, tuple[int, int], Handler, str, Node]

_SIGNATURE = -1
"""Branches of a type signature: the first of the clauses that follow is no further way."""

_EVENTS_PER_CHECK = 1024
"""Captures between two looks at the clock."""

_PARAMETER_CHARACTERS_MAX = 200
_BRACKETS = frozenset("([|")
_NO_PARAMETERS = frozenset(("comment", "line_comment", "block_comment", "attribute_item"))

_text_order = operator.itemgetter(0, 1, 2)


class Sweep:
    """Goes once through the structural captures of a file.

    A method for each group of captures, all called alike: start and end in bytes, the kind ("" if none), the node.
    """

    def __init__(self, rules: Rules, text: bytes) -> None:
        self._rules = rules
        self._text = text
        self._names: list[Name] = []
        self._local_names: list[tuple[int, int]] = []
        self._import_spans: list[tuple[int, int]] = []
        self._imports: list[ImportedName] = []
        self._token_spans: list[tuple[int, int]] = []
        self._file = Frame(0, len(text), None, "")
        self._frame: Frame | None = None
        """The innermost open one."""
        self._starts = ElementStarts(text)
        self._last_element = (-1, -1)
        self._rest: Frame | None = None
        """The last one that lasts until the next such."""
        self._parameters_end = -1
        """Names before it stand in a parameter list."""

    def run(self, captures: dict[str, list[Node]], check_time: Callable[[], None]) -> None:
        """Collect names, imports and spans. `check_time` is called now and then, and may raise."""
        for count, (start, minus_end, _, handle, kind, node) in enumerate(self._events(captures)):
            if not count % _EVENTS_PER_CHECK:
                check_time()
            end = -minus_end
            frame = self._frame
            while frame is not None and frame.end <= start and frame.end < end:
                self._frame = frame = frame.above or frame.outside
            handle(self, start, end, kind, node)

    def _events(self, captures: dict[str, list[Node]]) -> list[Event]:
        events: list[Event] = []
        order_of = {group: order for order, group in enumerate(self._HANDLERS)}
        for capture, nodes in captures.items():
            group, _, kind = capture.partition(".")
            if group in order_of:
                handle = self._HANDLERS[group]
                order = (order_of[group], KINDS.index(kind) if kind in KINDS else 0)
                events += [(node.start_byte, -node.end_byte, order, handle, kind, node) for node in nodes]
        events.sort(key=_text_order)
        return events

    def _on_comment(self, start: int, end: int, _kind: str, _node: Node) -> None:
        self._starts.add_comment(start, end)

    def _on_prefix(self, start: int, end: int, _kind: str, _node: Node) -> None:
        self._starts.add_prefix(start, end)

    def _on_outer(self, start: int, end: int, _kind: str, _node: Node) -> None:
        self._starts.add_outer(start, end)

    def _on_import(self, start: int, end: int, _kind: str, node: Node) -> None:
        found = list(self._rules.imports(node, self._text))
        if found:
            self._import_spans.append((start, end))
            self._imports += found

    def _on_element(self, start: int, end: int, kind: str, _node: Node) -> None:
        if self._last_element == (start, end):
            return  # two patterns matched one element
        self._last_element = (start, end)
        whole_start, doc = self._starts.take(start, end)
        if kind == "rest":
            self._open_rest(whole_start, doc)
        else:
            self._frame = frame = Frame(whole_start, end, self._frame, doc)
            if kind == "signature":
                frame.branches = _SIGNATURE

    def _open_rest(self, start: int, doc: str) -> None:
        """Open an element that lasts until the next such or the end of what it stands in."""
        around = self._frame
        if around is not None and around is self._rest:
            around.end = start
            around = around.above
        self._rest = self._frame = Frame(start, (around or self._file).end, around, doc)

    def _on_scope(self, start: int, end: int, kind: str, _node: Node) -> None:
        self._frame = Frame(start, end, self._frame, "", kind or "function")

    def _on_parameters(self, _start: int, end: int, _kind: str, node: Node) -> None:
        frame = self._frame
        named = frame.above if frame is not None and frame.first is None and frame.kind else frame
        if named is not None and named.first is not None and not named.parameters:
            named.parameters = self._parameters(node)
            self._parameters_end = max(self._parameters_end, end)

    def _on_owner(self, start: int, end: int, _kind: str, _node: Node) -> None:
        if self._frame is not None and not self._frame.owner:
            self._frame.owner = self._owner(start, end)

    def _on_name(self, start: int, end: int, kind: str, _node: Node) -> None:
        if self._frame is None or start < self._parameters_end:
            self._local_names.append((start, end))
        else:
            self._frame = self._define(start, end, kind, self._frame)

    def _on_member(self, start: int, end: int, kind: str, _node: Node) -> None:
        around = self._frame
        while around is not None and around.kind not in CONTAINERS:
            around = around.above
        if around is not None:
            self._define(start, end, kind, Frame(start, end, around, ""))

    def _on_declarator(self, start: int, _end: int, kind: str, node: Node) -> None:
        frame = self._frame
        if frame is None or start < self._parameters_end or self._rules.declared is None:
            return
        declared = self._rules.declared(node, kind, self._text[frame.start : start])
        if declared is None:
            return
        name, parameters, owner = declared
        if owner is not None:
            frame.owner = self._owner(owner[0], owner[1])
        self._frame = frame = self._define(name.start_byte, name.end_byte, kind, frame)
        if parameters is not None and frame.first is not None:
            frame.parameters = self._parameters(parameters)
            self._parameters_end = max(self._parameters_end, parameters.end_byte)

    def _on_doc(self, start: int, end: int, _kind: str, _node: Node) -> None:
        if not self._starts.add_doc(start, end) and self._frame is not None:
            self._frame.doc = first_line(self._text[start:end])

    def _on_branch(self, _start: int, _end: int, _kind: str, _node: Node) -> None:
        function = self._frame
        while function is not None and (function.first is None or function.kind not in FUNCTIONS):
            function = function.above
        if function is not None:
            function.branches += 1

    def _on_tokens(self, start: int, end: int, _kind: str, _node: Node) -> None:
        self._token_spans.append((start, end))

    _HANDLERS: ClassVar[dict[str, Handler]] = {
        "comment": _on_comment,
        "prefix": _on_prefix,
        "outer": _on_outer,
        "import": _on_import,
        "element": _on_element,
        "scope": _on_scope,
        "parameters": _on_parameters,
        "owner": _on_owner,
        "name": _on_name,
        "member": _on_member,
        "declarator": _on_declarator,
        "doc": _on_doc,
        "branch": _on_branch,
        "tokens": _on_tokens,
    }
    """By group, in the order of captures that start at the same byte and are as long: what wraps comes before what it holds."""

    def _define(self, start: int, end: int, kind: str, frame: Frame) -> Frame:
        """Add a name. Return the frame in which the sweep goes on: `frame`, or the one of the clauses before."""
        if frame.first is not None and frame.first.start == start:
            return frame  # two patterns matched one name
        if kind.startswith("macro."):
            kind = kind.removeprefix("macro.")
            frame.outside = frame.outside or frame.above
            frame.above = None
        above = frame.named_above()
        if above is not None and above.kind in FUNCTIONS and kind in ("variable", "constant"):
            self._local_names.append((start, end))
            return frame
        spelled = self._text[start:end]
        if spelled == self._rules.blank_name:
            return frame
        name = Name(start, end, self._kind(kind, spelled, frame, above), frame)
        if self._rules.has_clauses and (earlier := self._earlier_clause(name)) is not None:
            return earlier
        if frame.first is None:
            frame.first = name
            frame.kind = name.kind
        self._names.append(name)
        return frame

    def _kind(self, kind: str, spelled: bytes, frame: Frame, above: Frame | None) -> str:
        if kind == "function" and (frame.owner or (above is not None and above.holds_methods())):
            return "method"
        if kind == "variable" and self._rules.upper_case_is_constant and spelled.isupper() and len(spelled) > 1:
            return "constant"
        return kind

    def _earlier_clause(self, name: Name) -> Frame | None:
        """The frame of the function of which this is one more clause, now including it. None if this is no further clause."""
        frame = name.frame
        scope = frame.above or self._file
        before, scope.last = scope.last, name
        if before is None or frame.first is not None or not self._is_same_function(before, name):
            return None
        scope.last = before
        before.frame.end = frame.end
        if before.frame.branches == _SIGNATURE:  # the first clause is the place of the definition
            self._local_names.append((before.start, before.end))
            before.start, before.end = name.start, name.end
        else:
            self._local_names.append((name.start, name.end))
        before.frame.branches += 1
        return before.frame

    def _is_same_function(self, one: Name, other: Name) -> bool:
        return (
            one.kind == other.kind
            and one.kind in FUNCTIONS
            and self._text[one.start : one.end] == self._text[other.start : other.end]
        )

    def _parameters(self, node: Node) -> tuple[str, ...]:
        children = node.children
        if node.type == "(" and node.parent is not None:  # a list without a node of its own, in Swift
            following = (child for child in node.parent.children if child.start_byte >= node.start_byte)
            children = list(itertools.takewhile(lambda child: child.type != ")", following))
        if not children:
            return (self._squeezed(node.start_byte, node.end_byte),)
        is_bracketed = children[0].type in _BRACKETS
        spans: list[list[int]] = []
        goes_on = False  # until a comma: `params string[] b` of C# is several nodes
        for child in children:
            if child.type == ",":
                goes_on = False
            elif (child.is_named and child.type not in _NO_PARAMETERS) or child.type.isalpha():
                if goes_on:
                    spans[-1][1] = child.end_byte
                else:
                    spans.append([child.start_byte, child.end_byte])
                goes_on = is_bracketed
        return tuple(self._squeezed(start, end)[:_PARAMETER_CHARACTERS_MAX] for start, end in spans)

    def _owner(self, start: int, end: int) -> str:
        owner = self._squeezed(start, end)
        return owner if self._rules.owner is None else self._rules.owner(owner)

    def _squeezed(self, start: int, end: int) -> str:
        return " ".join(self._text[start:end].decode("utf-8", "replace").split())

    def outline(self, captures: dict[str, list[Node]], blanked: tuple[tuple[int, int], ...]) -> Outline:
        """The outline, after `run`. `blanked` are the spans that were hidden from the grammar."""
        names = in_outline_order(self._names)
        references = References(self._rules, self._text)
        references.add_captures(captures)
        references.add_writes(self._local_names)
        references.add_tokens((*blanked, *self._token_spans))
        references.remove(node.start_byte for node in captures.get("ignore", ()))
        references.remove(name.start for name in names)
        references.mark_imports(self._import_spans)
        for name in names:
            if is_quoted(self._text[name.start : name.end]):
                name.start += 1
                name.end -= 1
        places = TextPlaces(self._text)
        definitions = definitions_of(names, self._text, places, self._rules.modifiers)
        place_of = {
            byte: (line, column) for byte, line, column in places.in_order(sorted(one.byte for one in self._imports))
        }
        imports = sorted(self._imports, key=lambda one: (one.byte, one.module, one.name, one.alias))
        bound = [(one.byte, *place_of[one.byte], one.bound) for one in self._imports if one.bound]
        return Outline(
            definitions,
            [Import(one.module, one.name, one.alias, *place_of[one.byte]) for one in imports],
            references.group(places, bound),
            [(places.line(start), places.line(max(start, end - 1))) for start, end in sorted(self._import_spans)],
            self._rules.imports_by_name,
            *references.taken(self._imports, {definition.name for definition in definitions}),
        )
