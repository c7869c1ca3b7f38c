"""One file's canonical text in, its `Outline` out: definitions, references and imports, by tree-sitter.

Invariant: a name of the text is one thing in the outline, the own name of a definition or a reference, and names inside
strings and comments are neither.

The query files in languages/ say what is what through the names of their captures, all taken in one pass:

    @element            the whole of something that is defined; the scope of what is defined inside
    @element.signature  the type of what the clauses after it define
    @element.rest       one that lasts until the next such or the end of what it stands in (`namespace a;`)
    @name.macro.<kind>  a name of the preprocessor, which knows no scopes
    @name.<kind>        a name defined by the innermost open @element (one element may define several)
    @member.<kind>      a name defined by the innermost class and the like, though it stands in a parameter list
    @outer              wraps an element that ends with it (decorators, `export`, `template <...>`): the element starts there
    @prefix             stands right before an element that starts there (attributes)
    @declarator.<kind>  holds a name, and parameters and owner, somewhere inside: the language's rules find them
    @parameters         the parameter list of the innermost open element; names in it are no definitions
    @owner              the type to which the innermost open element belongs without standing inside it (receiver, `Foo::`)
    @doc  @comment      a documentation string inside an element, or inside the @prefix of one; any comment
    @scope              a function without a name: variables inside are local; @scope.class: a class without a name
    @branch             one more way through the innermost function
    @import             an import statement, taken apart by the language's rules
    @tokens             text that the grammar leaves alone (macro bodies): its identifiers are references
    @ignore             an identifier that is no reference
    @symbol             a reference behind a mark that is no part of the name (`:name` in Ruby)
    @read @write @type @call    a reference and its role; where several match, the last of this list wins

Other captures are for the language's rules alone: `sort_out` turns them into these where a word decides what is what.

The order of patterns says nothing but costs: captures of a later one wait while an earlier one that began before them may
still match, in time that grows with the square (see lua.scm). Anchors end the waiting: `(expression_statement (assignment_expression))`
without `.` before the child took five times as long as all else in a file that is one call, as jQuery is.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import operator
import os
import re
import time
from collections import defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING

from tree_sitter import Parser, Query, QueryCursor
from tree_sitter_language_pack import get_language

from ctxd.indexer import languages
from ctxd.indexer.symbols.outline import FUNCTIONS, KINDS, MEMBER, ROLES, TYPES, Definition, Import, Outline

if TYPE_CHECKING:
    from tree_sitter import Node

    from ctxd.indexer.languages.language import Language, Rules

_CALL, _TYPE, _IMPORT, _WRITE, _READ = range(len(ROLES))

CONTAINERS = frozenset(("class", "interface", "struct", "enum", "trait"))
"""Kinds whose functions are methods."""

_PARENTS = TYPES | FUNCTIONS
_TEXT_CHUNK_BYTES = 1 << 9
"""Copied at every read: a grammar that asks for columns (Scala) reads again at every line, which made a parse ten times as slow with 64 KiB."""

_SIGNATURE = -1
"""Branches of a type signature: the first of the clauses that follow is no further way."""

_DEPTH_MAX = 400
"""Levels of the tree that are looked at: a query's time grows with the square of the depth, so that a million brackets would take days."""

_DOC_CHARACTERS_MAX = 200
_STRAY_TOKENS_MAX = 20_000
"""Side by side in a tree of nothing but errors; the query's time grows with their square, too."""

_BLANKS_MAX = 1000  # between a comment or an attribute and what it belongs to; keeps hostile files linear
_PARAMETER_CHARACTERS_MAX = 200
_QUALIFIER_BYTES_MAX = 100  # a longer name before a dot is none that a file imports
_DOT, _COLON = b".:"
_NAME_BYTES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$") | frozenset(
    range(128, 256)
)


class DeadlineError(Exception):
    """The text could not be parsed in the time given."""


class UnparsableError(Exception):
    """The text is too far from its language to be looked at."""


def parse(language: Language, text: bytes, deadline_seconds: float) -> Outline:
    """Outline of canonical text. Raises DeadlineError and UnparsableError. Broken code is data: what can be read of it is in the outline."""
    return _grammar_of(language).outline(text, time.monotonic() + deadline_seconds)


@functools.cache
def _grammar_of(language: Language) -> _Grammar:
    assert language.rules is not None, f"{language.name} is not parsed"
    return _Grammar(language.rules)


class _Grammar:
    """A language's parser and compiled query: made once per process, as compiling takes 10-60 ms."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        language = get_language(rules.grammar)  # pyright: ignore[reportArgumentType]
        self.parser = Parser(language)
        self.query = Query(language, query_source(rules))

    def outline(self, text: bytes, deadline: float) -> Outline:
        prepared, tokens = text, ()
        if self.rules.prepare is not None:
            preparation = self.rules.prepare(text)
            prepared, tokens = preparation.text, preparation.tokens
        captures = self.captures(prepared, deadline)
        if self.rules.sort_out is not None:
            self.rules.sort_out(captures, prepared)
        sweep = _Sweep(self.rules, text, captures)
        sweep.run(deadline)
        return sweep.outline(tokens)

    def captures(self, text: bytes, deadline: float) -> dict[str, list[Node]]:
        def too_late(*_: object) -> bool:
            return time.monotonic() > deadline

        def chunk(byte: int, _point: object) -> bytes:
            return text[byte : byte + _TEXT_CHUNK_BYTES]

        try:
            tree = self.parser.parse(chunk, progress_callback=too_late)
        except ValueError:
            self.parser.reset()  # or the next tree would go on from this one
            raise DeadlineError("not parsed within the deadline") from None
        root = tree.root_node
        if root.type == "ERROR" and root.child_count - root.named_child_count > _STRAY_TOKENS_MAX:
            raise UnparsableError("is not of this language: nothing but stray tokens")
        # No progress_callback here: it crashes the process (tree-sitter 0.26.1). The pool's watchdog ends a query that hangs.
        cursor = QueryCursor(self.query)
        cursor.set_max_start_depth(_DEPTH_MAX)
        captures = cursor.captures(root)
        if too_late():
            raise DeadlineError("not searched for symbols within the deadline")
        return captures


def query_source(rules: Rules) -> str:
    folder = os.path.dirname(languages.__file__)
    sources = []
    for name in rules.queries:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            sources.append(file.read())
    return "\n".join(sources)


class _Frame:
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

    def __init__(self, start: int, end: int, above: _Frame | None, doc: str, kind: str = "") -> None:
        self.start = start
        self.end = end
        self.above = above
        self.doc = doc
        self.kind = kind
        self.owner = ""
        self.parameters: tuple[str, ...] = ()
        self.first: _Name | None = None
        self.last: _Name | None = None  # defined right inside; only kept where a language has clauses
        self.modifiers: tuple[str, ...] | None = None
        self.branches = 0
        self.outside: _Frame | None = None
        """What is around it, where that is no element to it: a name of the preprocessor knows no scopes."""


def _holds_methods(frame: _Frame) -> bool:
    """A type, or what names one without defining it (`impl Foo`); not a function or module that has an owner itself."""
    return frame.kind in CONTAINERS or (frame.first is None and bool(frame.owner))


class _Name:
    """A defined name on its way to become a Definition."""

    __slots__ = ("end", "frame", "kind", "start")

    def __init__(self, start: int, end: int, kind: str, frame: _Frame) -> None:
        self.start = start
        self.end = end
        self.kind = kind
        self.frame = frame


# Order of captures that start at the same byte: what wraps comes before what it holds.
_ORDER = (
    "comment",
    "prefix",
    "outer",
    "import",
    "element",
    "scope",
    "parameters",
    "owner",
    "name",
    "member",
    "declarator",
    "doc",
    "branch",
    "tokens",
)


_BRACKETS = frozenset("([|")
_NO_PARAMETERS = frozenset(("comment", "line_comment", "block_comment", "attribute_item"))

_before_node = operator.itemgetter(0, 1, 2, 3)
_start_byte = operator.attrgetter("start_byte")
_end_byte = operator.attrgetter("end_byte")


class _Sweep:
    """Goes once through the structural captures of a file in text order, with a stack of open frames."""

    def __init__(self, rules: Rules, text: bytes, captures: dict[str, list[Node]]) -> None:
        self.rules = rules
        self.text = text
        self.captures = captures
        self.names: list[_Name] = []
        self.local_names: list[tuple[int, int]] = []
        self.import_spans: list[tuple[int, int]] = []
        self.imports: list[tuple[int, str, str, str]] = []
        self.bound: list[tuple[int, str]] = []
        self._members: set[tuple[bytes, bytes | None]] = set()
        """Members called or used as types, each with what stands before its dot."""
        self.token_spans: list[tuple[int, int]] = []
        lengths = map(len, text.split(b"\n"))
        self._line_starts = list(accumulate((length + 1 for length in lengths), initial=0))[:-1]
        self._places: dict[int, tuple[int, int]] = {}
        self._modifiers_of: dict[bytes, tuple[str, ...]] = {}
        """By what stands before the name: `def `, for the most part."""
        self._is_ascii = text.isascii()
        self._file = _Frame(0, len(text), None, "")

    def run(self, deadline: float) -> None:
        events: list[tuple[int, int, int, int, str, Node]] = []
        for capture, nodes in self.captures.items():
            group, _, kind = capture.partition(".")
            if group in _ORDER:
                order = _ORDER.index(group)
                rank = KINDS.index(kind) if kind in KINDS else 0
                events += [(node.start_byte, -node.end_byte, order, rank, kind, node) for node in nodes]
        events.sort(key=_before_node)

        frame: _Frame | None = None
        comment = _CommentBlock(self.text)
        outer_start = outer_end = prefix_start = prefix_end = parameters_end = -1
        prefix_doc = ""
        last_element = (-1, -1)
        rest: _Frame | None = None
        for count, (start, minus_end, order, _, kind, node) in enumerate(events):
            if not count & 1023 and time.monotonic() > deadline:
                raise DeadlineError("not searched for symbols within the deadline")
            end = -minus_end
            while frame is not None and frame.end <= start and frame.end < end:
                frame = frame.above or frame.outside
            group = _ORDER[order]
            if group == "name":
                if frame is None or start < parameters_end:
                    self.local_names.append((start, end))
                else:
                    frame = self._name(start, end, kind, frame)
            elif group == "declarator":
                if frame is not None and start >= parameters_end and self.rules.declared is not None:
                    declared = self.rules.declared(node, kind, self.text[frame.start : start])
                    if declared is not None:
                        name, parameters, owner = declared
                        if owner is not None:
                            frame.owner = self._owner(owner[0], owner[1])
                        frame = self._name(name.start_byte, name.end_byte, kind, frame)
                        if parameters is not None and frame.first is not None:
                            frame.parameters = self._parameters(parameters)
                            parameters_end = max(parameters_end, parameters.end_byte)
            elif group == "member":
                around = frame
                while around is not None and around.kind not in CONTAINERS:
                    around = around.above
                if around is not None:
                    self._name(start, end, kind, _Frame(start, end, around, ""))
            elif group == "element":
                if last_element == (start, end):
                    continue  # two patterns matched one element
                last_element = (start, end)
                whole_start, doc = start, ""
                if end == outer_end or (end + 1 == outer_end and self.text[end:outer_end] == b";"):
                    whole_start, outer_end = outer_start, -1
                if prefix_end >= 0:
                    if comment.is_blank_between(prefix_end, whole_start):
                        whole_start, doc = prefix_start, prefix_doc
                    prefix_end = -1
                if kind == "rest":
                    if frame is not None and frame is rest:
                        frame.end = whole_start
                        frame = frame.above
                    end = frame.end if frame is not None else len(self.text)
                frame = _Frame(whole_start, end, frame, doc or comment.doc_before(whole_start))
                if kind == "rest":
                    rest = frame
                elif kind == "signature":
                    frame.branches = _SIGNATURE
            elif group == "comment":
                comment.add(start, end)
            elif group == "outer":
                if end != outer_end:
                    outer_start, outer_end = start, end
            elif group == "prefix":
                if prefix_end < 0 or not comment.is_blank_between(prefix_end, start):
                    prefix_start, prefix_doc = start, ""
                prefix_end = end
            elif group == "parameters":
                named = frame.above if frame is not None and frame.first is None and frame.kind else frame
                if named is not None and named.first is not None and not named.parameters:
                    named.parameters = self._parameters(node)
                    parameters_end = max(parameters_end, end)
            elif group == "branch":
                inside = frame
                while inside is not None and (inside.first is None or inside.kind not in FUNCTIONS):
                    inside = inside.above
                if inside is not None:
                    inside.branches += 1
            elif group == "owner":
                if frame is not None and not frame.owner:
                    frame.owner = self._owner(start, end)
            elif group == "doc":
                if end <= prefix_end:
                    prefix_doc = _first_line(self.text[start:end])
                elif frame is not None:
                    frame.doc = _first_line(self.text[start:end])
            elif group == "scope":
                frame = _Frame(start, end, frame, "", kind or "function")
            elif group == "import":
                found = list(self.rules.imports(node, self.text))
                if found:
                    self.import_spans.append((start, end))
                    self.imports += [(name.byte, name.module, name.name, name.alias) for name in found]
                    self.bound += [(name.byte, name.bound) for name in found if name.bound]
            else:
                self.token_spans.append((start, end))

    def _name(self, start: int, end: int, kind: str, frame: _Frame) -> _Frame:
        """Add a name; the frame in which the sweep goes on: `frame`, or that of the clauses before."""
        above = frame.above
        if frame.first is not None and frame.first.start == start:
            return frame  # two patterns matched one name
        if kind.startswith("macro."):
            kind = kind.removeprefix("macro.")
            frame.outside = frame.outside or above
            above = frame.above = None
        while above is not None and (not above.kind and not above.owner):
            above = above.above
        if above is not None and above.kind in FUNCTIONS and kind in ("variable", "constant"):
            self.local_names.append((start, end))
            return frame
        if kind == "function" and (frame.owner or (above is not None and _holds_methods(above))):
            kind = "method"
        if self.text[start:end] == self.rules.blank_name:
            return frame
        if kind == "variable" and self.rules.upper_case_is_constant and _is_upper_case(self.text[start:end]):
            kind = "constant"
        name = _Name(start, end, kind, frame)
        if self.rules.has_clauses:
            scope = frame.above or self._file
            before = scope.last
            scope.last = name
            if before is not None and frame.first is None and self._is_same(before, name):
                scope.last = before
                before.frame.end = frame.end
                if before.frame.branches == _SIGNATURE:  # the first clause is the place of the definition
                    before.start, before.end, start, end = start, end, before.start, before.end
                before.frame.branches += 1
                self.local_names.append((start, end))
                return before.frame
        if frame.first is None:
            frame.first = name
            frame.kind = kind
        self.names.append(name)
        return frame

    def _is_same(self, one: _Name, other: _Name) -> bool:
        return (
            one.kind == other.kind
            and one.kind in FUNCTIONS
            and self.text[one.start : one.end] == self.text[other.start : other.end]
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
        return owner if self.rules.owner is None else self.rules.owner(owner)

    def _squeezed(self, start: int, end: int) -> str:
        return " ".join(self.text[start:end].decode("utf-8", "replace").split())

    def outline(self, tokens: tuple[tuple[int, int], ...]) -> Outline:
        names = _unique(sorted(self.names, key=lambda name: (name.frame.start, -name.frame.end, name.start)))
        own = {name.start for name in names}
        for name in names:
            if _is_quoted(self.text[name.start : name.end]):
                name.start += 1
                name.end -= 1
        self._locate(names)
        uses = self._uses(own, [*tokens, *self.token_spans])
        return Outline(
            self._definitions(names),
            [Import(module, name, alias, *self._places[byte]) for byte, module, name, alias in sorted(self.imports)],
            uses,
            [(self._line(start), self._line(max(start, end - 1))) for start, end in sorted(self.import_spans)],
            self.rules.imports_by_name,
            *self._taken(names, uses),
        )

    def _definitions(self, names: list[_Name]) -> list[Definition]:
        index_of = {id(name): index for index, name in enumerate(names)}
        definitions = []
        for name in names:
            frame = name.frame
            above = frame.above
            parent, owner = -1, frame.owner
            while above is not None:
                if above.first is not None and above.first.kind in _PARENTS:
                    parent = index_of.get(id(above.first), -1)
                    break
                owner = owner or above.owner
                above = above.above
            line, column = self._places[name.start]
            definitions.append(
                Definition(
                    name=self.text[name.start : name.end].decode("utf-8", "replace"),
                    kind=name.kind,
                    line=line,
                    column=column,
                    start_line=self._line(frame.start),
                    end_line=self._line(max(frame.start, frame.end - 1)),
                    start_byte=frame.start,
                    end_byte=frame.end,
                    parent=parent,
                    owner=owner,
                    parameters=frame.parameters if name is frame.first else (),
                    modifiers=self._modifiers(frame, name),
                    doc=frame.doc,
                    complexity=max(1, 1 + frame.branches) if name.kind in FUNCTIONS else 0,
                )
            )
        return definitions

    def _modifiers(self, frame: _Frame, name: _Name) -> tuple[str, ...]:
        """Of an element that defines several names those before the first: one may define thousands."""
        if frame.modifiers is None:
            head = self.text[frame.start : (frame.first or name).start]
            found = self._modifiers_of.get(head)
            if found is None:
                words = _WORD.findall(_STRING.sub(b"", head).decode("utf-8", "replace"))
                found = tuple(dict.fromkeys(word for word in words if word in self.rules.modifiers))
                self._modifiers_of[head] = found
            frame.modifiers = found
        return frame.modifiers

    def _uses(self, own: set[int], token_spans: list[tuple[int, int]]) -> dict[str, list[tuple[int, int, int]]]:
        # Columns instead of objects: a megabyte of source has a hundred thousand references.
        ends: dict[int, int] = {}
        roles: dict[int, int] = {}  # of those that are more than read
        for capture, role in (("read", _READ), ("write", _WRITE), ("type", _TYPE), ("call", _CALL)):
            nodes = self.captures.get(capture, ())
            starts = list(map(_start_byte, nodes))
            ends.update(zip(starts, map(_end_byte, nodes), strict=True))
            if role != _READ:
                roles.update(dict.fromkeys(starts, role))
        marked = self.captures.get("symbol", ())
        ends.update((node.start_byte + 1, node.end_byte) for node in marked)
        ends.update(self.local_names)
        roles.update(dict.fromkeys((start for start, _ in self.local_names), _WRITE))
        text = self.text
        for span_start, span_end in token_spans:
            for token in _TOKEN.finditer(text, span_start, span_end):
                group, start = token.lastgroup, token.start()
                if group is not None and start not in ends and token[group].decode() not in self.rules.keywords:
                    ends[start] = token.end(group)
                    if group == "called":
                        roles[start] = _CALL
        for node in self.captures.get("ignore", ()):
            ends.pop(node.start_byte, None)
        for start in own:
            ends.pop(start, None)
        order = sorted(ends)
        for span_start, span_end in self.import_spans:
            for start in order[bisect.bisect_left(order, span_start) : bisect.bisect_left(order, span_end)]:
                roles[start] = _IMPORT
        names: defaultdict[bytes, list[tuple[int, int, int]]] = defaultdict(list)
        line_starts = [*self._line_starts, len(text) + 1]
        is_ascii = self._is_ascii
        line = line_start = next_start = 0
        counted, characters = 0, 0  # of the line, to the last name: a line of a megabyte is decoded once
        role_of = roles.get
        for start in order:
            if start >= next_start:
                line = bisect.bisect_right(line_starts, start, line)
                line_start, next_start = line_starts[line - 1], line_starts[line]
                counted, characters = line_start, 0
            if is_ascii:
                column = start - line_start + 1
            else:
                characters += len(text[counted:start].decode("utf-8", "replace"))
                counted = start
                column = characters + 1
            role = role_of(start, _READ)
            # `a.b`, `a->b` and `a::b`, but neither `...b` nor `a ? b:c`.
            if (
                (before := text[start - 1]) in _BEFORE_MEMBER
                and start > 1
                and text[start - 2] in _BEFORE_MEMBER[before]
            ):
                if role in (_CALL, _TYPE):
                    self._members.add((text[start : ends[start]], self._qualifier(start)))
                role |= MEMBER
            names[text[start : ends[start]]].append((line, column, role))
        for keyword in self.rules.keywords:
            names.pop(keyword.encode(), None)
        for quoted in [name for name in names if _is_quoted(name)]:
            bare = names.setdefault(quoted[1:-1], [])
            bare += [(line, column + 1, role) for line, column, role in names.pop(quoted)]
            bare.sort()
        uses_by_name = {name.decode("utf-8", "replace"): uses for name, uses in names.items() if name}
        for byte, name in self.bound:
            if byte not in ends:
                uses_by_name.setdefault(name, []).append((*self._places[byte], _IMPORT))
                uses_by_name[name].sort()
        return uses_by_name

    def _qualifier(self, start: int) -> bytes | None:
        """The name before the dot or arrow before a member's name, `b""` where it is none; None for `::` that needs no import."""
        text = self.text
        end = start - (1 if text[start - 1] == _DOT else 2)
        if text[end] == _COLON and not self.rules.imports_by_name:
            return None
        begin = end
        while begin > 0 and end - begin < _QUALIFIER_BYTES_MAX and text[begin - 1] in _NAME_BYTES:
            begin -= 1
        return text[begin:end]

    def _taken(
        self, names: list[_Name], uses: dict[str, list[tuple[int, int, int]]]
    ) -> tuple[frozenset[str], frozenset[tuple[str, str]]]:
        """`taken` and `imported`, see Outline."""
        imported: set[tuple[str, str]] = set()
        modules: dict[str, str] = {}
        bound = dict(self.bound)
        for byte, module, name, alias in self.imports:
            part = _module_part(module)
            offered = alias if name == "default" else name
            if offered not in ("", "*"):
                imported.add((part, offered))
            modules[alias or name or bound.get(byte) or part] = part
        taken: set[str] = set()
        if not self.rules.imports_by_name:
            for name, places in uses.items():
                roles = {role for _, _, role in places}
                if (_CALL in roles or _TYPE in roles) and _WRITE not in roles and name not in modules:
                    taken.add(name)
        for member, qualifier in self._members:
            name = member.decode("utf-8", "replace")
            if qualifier is None:
                taken.add(name)
            elif (part := modules.get(qualifier.decode("utf-8", "replace"))) is not None:
                imported.add((part, name))
        own = {self.text[name.start : name.end].decode("utf-8", "replace") for name in names}
        return frozenset(taken - own), frozenset(pair for pair in imported if pair[1] not in own)

    def _locate(self, names: list[_Name]) -> None:
        """Find the places of all definitions and imports, in one go through the text."""
        line_before, counted, characters = 0, 0, 0
        for byte in sorted({*(name.start for name in names), *(byte for byte, *_ in self.imports)}):
            line = self._line(byte)
            if line != line_before:
                line_before, counted, characters = line, self._line_starts[line - 1], 0
            characters += byte - counted if self._is_ascii else len(self.text[counted:byte].decode("utf-8", "replace"))
            counted = byte
            self._places[byte] = (line, characters + 1)

    def _line(self, byte: int) -> int:
        return bisect.bisect_right(self._line_starts, byte)


class _CommentBlock:
    """The last run of comments with nothing between them."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.start = self.end = -1

    def add(self, start: int, end: int) -> None:
        if self.start < 0 or not self._is_close(self.end, start) or not self._starts_line(self.start):
            self.start = start
        self.end = end

    def doc_before(self, element_start: int) -> str:
        if (
            self.start >= 0
            and self.end <= element_start
            and self._is_close(self.end, element_start)
            and self._starts_line(self.start)
        ):
            return _first_line(self.text[self.start : self.end])
        return ""

    def is_blank_between(self, start: int, end: int) -> bool:
        """Whether only blanks and the block itself stand there."""
        if end - start > _BLANKS_MAX + self.end - self.start:
            return False
        if start <= self.start and self.end <= end:
            return not self.text[start : self.start].strip() and not self.text[self.end : end].strip()
        return not self.text[start:end].strip()

    def _is_close(self, start: int, end: int) -> bool:
        if end - start > _BLANKS_MAX:
            return False
        between = self.text[start:end]
        return not between.strip() and between.count(b"\n") <= 1

    def _starts_line(self, byte: int) -> bool:
        line_start = self.text.rfind(b"\n", max(0, byte - _BLANKS_MAX), byte) + 1
        return (line_start > 0 or byte <= _BLANKS_MAX) and not self.text[line_start:byte].strip()


def _unique(names: list[_Name]) -> list[_Name]:
    seen: set[int] = set()
    return [name for name in names if not (name.start in seen or seen.add(name.start))]


def _is_quoted(name: bytes) -> bool:
    """Names that would be keywords or hold blanks stand between backticks in Kotlin, Swift and Scala."""
    return name[:1] == b"`" and name[-1:] == b"`" and len(name) > 2


def _module_part(module: str) -> str:
    """The part of a module's name that tells whether it may be the project's own: the first, or the last of a path on the net.

    "" for a module found by its place.
    """
    first, slash, rest = module.partition("/")
    if slash and "." in first.strip("."):
        first = rest.rpartition("/")[2]
    match = _MODULE_PART.match(first)
    return match[0] if match and match[0] not in _OWN_MODULES else ""


def _is_upper_case(name: bytes) -> bool:
    return name.isupper() and len(name) > 1


def _first_line(comment: bytes) -> str:
    """The first line with words of a comment or documentation string, without its marks."""
    for line in comment.split(b"\n"):
        start = _DOC_START.match(line)
        bare = line[start.end() if start else 0 :].rstrip()
        for mark in _DOC_ENDS:
            if bare.endswith(mark):
                bare = bare[: -len(mark)].rstrip(mark[:1]).rstrip()
                break
        if bare.endswith(b">"):
            bare = _DOC_TAGS_END.sub(b"", bare)
        if _DOC_WORD.search(bare):
            return bare.decode("utf-8", "replace")[:_DOC_CHARACTERS_MAX]
    return ""


_MODULE_PART = re.compile(r"\w+")
_OWN_MODULES = frozenset(("crate", "self", "super"))
_NOT_A_DOT = frozenset(range(256)) - {0x2E}
_BEFORE_MEMBER: dict[int, frozenset[int]] = {
    ord("."): _NOT_A_DOT,
    ord(">"): frozenset(b"-"),
    ord(":"): frozenset(b":"),
}
"""The byte right before a member's name, and those that may stand before it."""

_WORD = re.compile(r"\w+")
_STRING = re.compile(rb'"""(?s:.*?)"""|"[^"\n]*"|\'[^\'\n]*\'')
_DOC_START = re.compile(
    rb"^(?:\s*(?:/\*[*!]*<?|//[/!]*<?|\*+(?!/)|#+|(?:--+|\{-+)(?:\s*[|^])?|[rRuUbB]{0,2}(?:\"\"\"|'''|\"|')))?\s*(?:</?(?:summary|remarks|para)>\s*)*"
)
_DOC_ENDS = (b"*/", b"-}", b'"""', b"'''", b'"', b"'")
_DOC_TAGS_END = re.compile(rb"\s*(?:</(?:summary|remarks|para)>\s*)+$")
_DOC_WORD = re.compile(rb"[A-\xff]")
_TOKEN = re.compile(
    rb"//[^\n]*|/\*(?s:.*?)\*/|\"(?:\\(?s:.)|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\d[\w.]*"
    rb"|(?P<called>[A-Za-z_]\w*)(?=[ \t]*\()|(?P<name>[A-Za-z_]\w*)"
)
