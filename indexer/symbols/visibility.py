"""Tells where in a file a name is visible: the elements around a line, locals that hide it, the text around a use.

No types are inferred, and scopes are known by lines only. In doubt a name counts as not visible. The text is read only
if a use needs it, and used only if the name still stands at its place: the file may have changed since it was parsed.
"""

from __future__ import annotations

import bisect
import operator
import re
from functools import cached_property
from typing import TYPE_CHECKING

from ctxd.indexer.languages import scoping_of
from ctxd.indexer.symbols.outline import (
    FUNCTIONS,
    ROLES,
    TYPES,
    VARIABLES,
    definitions_named,
    first_definition_line,
    owner_parts,
    unpack_definitions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxd.indexer.symbols.outline import Definition

_WRITE = ROLES.index("write")
_READ = ROLES.index("read")
_AROUND = TYPES | FUNCTIONS

_LOOKED_THROUGH_MAX = 8_000  # bytes of a function or literal that are examined: a line may be a megabyte

_SELF = frozenset({"self", "this", "Self", "cls", "static", "$this"})
_STEP_ENDS = ("?.", "!.", ".", "->", "::")
_SIDE_CHARACTERS_MAX = 300  # characters examined before and after a name: a line may be a megabyte
_ASSIGNED = re.compile(r"(?:[-+*/%&|^?]|<<|>>|\*\*|\?\?|\|\||&&)?=(?![=>])|\+\+|--")
_DECLARATION = re.compile(
    r"\s*(?:export\s+|static\s+|final\s+)*(?:const|let|var|val|final|[A-Z]\w*(?:<[^<>]*>)?)\b[^(]*$"
)
_ENDS_KEY = re.compile(r"\s*(?::(?![:=])|,|\}|$)")
_BRACKET = re.compile(r"[()\[\]{}]")
_INDENT = re.compile(rb"\s*")
_TYPE_BEFORE_BRACE = re.compile(r"((?:\w+\s*(?:\.|::)\s*)*\w+)(?:(?:::)?<[^<>]*>|\[[^\[\]]*\])?$")
_TYPE_AFTER = re.compile(  # `: &mut shop::Cart`, ` *shop.Cart`, ` := &shop.Cart{`, ` = Cart::new(`
    r"[?!]?(?:\s*(?::=|[:=])|[ \t])(?:[ \t&*]|'\w++|(?:mut|const|new|dyn|impl)\b)*((?:\w++(?:\.|::))*?\w++)"
    r"(?:[ \t]*(?:[{}(<,)\]=;?]|$)|::(?:new|default)\b)",
    re.MULTILINE,
)
_TYPE_BEFORE = re.compile(r"(?<![\w.:])((?:\w+(?:\.|::))*\w+)(?:<[^<>]*>)?[ \t*&]+(?:const[ \t]+)?$")
_TYPE_ENDS = (" ", "\t", "*", "&")
_ENDS_DECLARATION = re.compile(r"[ \t]*(?:[,)=;:]|$)", re.MULTILINE)

Chain = tuple[str, ...]
"""Names of the elements around a definition or a line, outermost first."""


class FileScopes:
    """The scopes of one file, for the uses of one name."""

    def __init__(
        self,
        path: bytes,
        name: str,
        definitions: bytes,
        uses: Sequence[tuple[int, int, int]],
        lines: Callable[[], Sequence[bytes]],
    ) -> None:
        """`definitions` is packed; `uses` are those of the name; `lines` reads the file."""
        self.name = name
        self.scoping = scoping_of(path)
        self._packed = definitions
        self._uses = uses
        self._read = lines
        self._decoded = 0, ""
        self._last_steps: tuple[tuple[int, int], list[str]] = (0, 0), []
        self._declared: dict[tuple[int, tuple[str, ...]], set[str]] = {}

    def meant_at(self, line: int) -> Chain | None:
        """The chain of the file's own definition that the bare name means here; None if it means none of them."""
        if not self._own:
            return None
        around = self.chain_at(line)
        visible = [self._own[around[:size]] for size in range(len(around) + 1) if around[:size] in self._own]
        return max(visible, key=len, default=None)

    def sees(self, line: int, chain: Chain, inside: str) -> bool:
        """True if the bare name may mean a definition in `chain` here, in this file or another of its module."""
        return self._sees(self.chain_at(line), chain, inside)

    def is_hidden(self, line: int, chain: Chain) -> bool:
        """True if the name means a local here, in a function that does not hold `chain`."""
        functions, blocks = self._hiding
        at = self._innermost(line) if functions else -1
        while at >= 0:
            if at in functions and functions[at] != chain[: len(functions[at])]:
                return True
            at = self._definitions[at].parent
        before = bisect.bisect_right(blocks, line, key=operator.itemgetter(0))
        return before > 0 and line <= blocks[before - 1][1]

    def is_own_member(self, line: int, column: int, chain: Chain) -> bool:
        """True if the member at this place belongs to the last type of `chain`: after `this.` or the type's name."""
        steps = self.steps_before(line, column)
        if not steps or not chain:
            return False
        count = min(len(steps), len(chain))
        if tuple(steps[-count:]) == chain[-count:]:
            return True
        if len(steps) > 1 or self.type_at(line) != chain:
            return False
        return self._is_self(steps[0], line)

    def is_key(self, line: int, column: int, role: int) -> bool:
        """True if the name is only the label of an argument or field: `f(name=1)`, `{name: 1}`."""
        if role != _READ or (sides := self._sides(line, column)) is None:
            return False
        before, after = sides[0].rstrip(), sides[1].lstrip()
        if after.startswith("="):
            return not after.startswith(("==", "=>", "=~"))
        after = after.removeprefix("?")
        return (
            after.startswith(":")
            and not after.startswith(("::", ":="))
            and not self.scoping.braces_hold_values
            and (not before or before[-1] in "{,(")
        )

    def literal_at(self, line: int, column: int) -> str:
        """The type before the brace in which the name is a key: `Cart` in `Cart{Total: 1}`, `shop.Cart` in
        `[]shop.Cart{{Total: 1}}`; "" if the name is not in such a literal or pattern.
        """
        sides = self._sides(line, column)
        if not self.scoping.typed_literals or sides is None or not _ENDS_KEY.match(sides[1]):
            return ""
        text = self._before(line, column)
        if sides[0].strip() and not sides[0].rstrip().endswith(("{", ",")):
            return ""
        depth, is_element = 0, False
        for at in reversed([bracket.start() for bracket in _BRACKET.finditer(text)]):
            if text[at] in ")]}":
                depth += 1
            else:
                depth -= 1
            if depth >= 0:
                continue
            head = text[max(0, at - _SIDE_CHARACTERS_MAX) : at].rstrip()
            if text[at] != "{":
                return ""
            if is_element or (head and head[-1] not in "{,:"):
                found = _TYPE_BEFORE_BRACE.search(head)
                return "".join(found[1].split()) if found is not None else ""
            depth, is_element = 0, True  # the list around has the type of its elements
        return ""

    def declared_types(self, line: int, column: int) -> set[str]:
        """The declared types, as written, of the variable or field before a member's dot: {"shop.Cart"} for
        `c *shop.Cart`, `c: &shop.Cart`, `c := shop.Cart{`, `shop.Cart c`. Empty for any other text before the dot.
        """
        steps = self.steps_before(line, column)
        if not steps or len(steps) > 2:
            return set()
        at = self._innermost(line)
        key = at, tuple(steps)
        if key not in self._declared:
            self._declared[key] = self._declared_types(at, steps, line)
        return self._declared[key]

    def _declared_types(self, at: int, steps: list[str], line: int) -> set[str]:
        found: set[str] = set()
        if len(steps) == 1 and at >= 0 and self._definitions[at].kind in FUNCTIONS:
            one = self._definitions[at]
            text = b"\n".join(self._lines[one.start_line - 1 : one.end_line])[:_LOOKED_THROUGH_MAX]
            found = _types_declared(steps[0], text.decode(errors="replace"))
        if not found and (self._is_self(steps[0], line) if len(steps) == 2 else self.scoping.members_by_name):
            around = list(self.type_at(line))
            for field in definitions_named(self._packed, steps[-1]):
                if field.kind in VARIABLES and field.chain == around:
                    found |= _types_declared(steps[-1], self._text(field.line))
        return found

    def _text(self, line: int) -> str:
        """The first _LOOKED_THROUGH_MAX bytes of a line; "" if the file has lost the line."""
        return self._lines[line - 1][:_LOOKED_THROUGH_MAX].decode(errors="replace") if line <= len(self._lines) else ""

    def _before(self, line: int, column: int) -> str:
        """About _LOOKED_THROUGH_MAX bytes of text before a place."""
        own = self._decoded[1][: column - 1][-_LOOKED_THROUGH_MAX:]
        first, size = line - 1, len(own)
        while first and size < _LOOKED_THROUGH_MAX:
            first -= 1
            size += len(self._lines[first]) + 1
        above = [one[-_LOOKED_THROUGH_MAX:] for one in self._lines[first : line - 1]]
        return "\n".join([b"\n".join(above).decode(errors="replace"), own]) if above else own

    def bound_in(self, binding: int) -> int:
        """Index of the element in which an import on a line binds; -1 for the whole file.

        An import inside a function or module ends with it.
        """
        if not self.scoping.imports_inside or binding < (first_definition_line(self._packed) or binding + 1):
            return -1
        at = self._innermost(binding)
        while at >= 0 and self._definitions[at].kind not in {*FUNCTIONS, "module"}:
            at = self._definitions[at].parent
        return at

    def around(self, line: int) -> list[int]:
        """The indices of the elements around a line, innermost first; the last is -1, for the file."""
        at = self._innermost(line)
        found = [at]
        while at >= 0:
            at = self._definitions[at].parent
            found.append(at)
        return found

    def modules_at(self, line: int) -> Chain:
        """The inline modules around a line: `mod tests { ... }`."""
        names = []
        at = self._innermost(line)
        while at >= 0:
            if self._definitions[at].kind == "module":
                names.append(self._definitions[at].name)
            at = self._definitions[at].parent
        return tuple(reversed(names))

    def path_before(self, line: int, column: int) -> list[str]:
        """The names before the last name of a path: `["a", "b"]` of `a::b::name`. Empty if it is no such path."""
        sides = self._sides(line, column)
        return self.steps_before(line, column) if sides is not None and sides[0].endswith("::") else []

    def chain_at(self, line: int) -> Chain:
        """The elements around a line, including the owners that these name."""
        return self._chain(self._innermost(line))

    def type_at(self, line: int) -> Chain:
        """The innermost type around a line, with all elements around it; empty if there is none."""
        at = self._innermost(line)
        while at >= 0:
            one = self._definitions[at]
            if one.kind in TYPES:
                return self._chain(at)
            if one.owner:
                return (*self._chain(one.parent), *owner_parts(one.owner)[::-1])
            at = one.parent
        return ()

    def _sees(self, around: Chain, chain: Chain, inside: str) -> bool:
        visible_in = self._visible_in(chain, inside)
        return visible_in is not None and around[: len(visible_in)] == visible_in

    def _visible_in(self, chain: Chain, inside: str) -> Chain | None:
        """The chain within which the bare name may mean a definition in `chain`; None for nowhere."""
        if inside in self.scoping.open_kinds:
            return chain[:-1]
        if inside == "object" or (inside in TYPES and inside != "module" and not self.scoping.members_by_name):
            return None
        return chain

    @cached_property
    def _own(self) -> dict[Chain, Chain]:
        """The longest chain of the file's own definitions, by the chain within which it is visible."""
        own: dict[Chain, Chain] = {}
        for one in definitions_named(self._packed, self.name):
            chain = tuple(one.chain)
            visible_in = self._visible_in(chain, one.inside)
            if visible_in is not None and len(chain) >= len(own.get(visible_in, ())):
                own[visible_in] = chain
        return own

    @cached_property
    def _hiding(self) -> tuple[dict[int, Chain], list[tuple[int, int]]]:
        """Where locals hide the name: named functions with such a local (index and chain), and blocks of functions
        without a name (first and last line, in order, without overlap).
        """
        functions: dict[int, Chain] = {}
        blocks: list[tuple[int, int]] = []
        last_of: dict[tuple[int, bool], int] = {}
        for line, column, role in self._uses:
            if role != _WRITE or not self._declares(line, column):
                continue
            at = self._innermost(line)
            while at >= 0 and self._definitions[at].kind not in FUNCTIONS:
                at = self._definitions[at].parent
            if at >= 0:
                if at not in functions:
                    functions[at] = self._chain(at)
            elif not self.scoping.assigning_declares:
                last = self._block_end(line, column, last_of)
                if blocks and line <= blocks[-1][1]:
                    blocks[-1] = blocks[-1][0], max(last, blocks[-1][1])
                else:
                    blocks.append((line, last))
        return functions, blocks

    def _block_end(self, line: int, column: int, last_of: dict[tuple[int, bool], int]) -> int:
        """The last line on which a local of a function without a name is visible, judged by indentation.

        A variable is visible while lines are indented at least as its own, a parameter while they are indented more.
        `last_of` keeps the last ends by depth: a block may have thousands of variables.
        """
        sides = self._sides(line, column)
        if sides is None:
            return line
        depth = _depth(self._lines[line - 1])
        is_variable = depth > 0 and _DECLARATION.match(sides[0]) is not None
        key = depth, is_variable
        if line <= last_of.get(key, 0):
            return last_of[key]
        last = line
        while last < len(self._lines):
            text = self._lines[last].strip()
            if text and (below := _depth(self._lines[last])) <= depth - is_variable:
                if text[:1] not in b")}]" or text[-1:] not in b"{(":
                    break
                depth, is_variable = below, False  # after `) => {` follows the body that the parameters belong to
            last += 1
        last_of[key] = last
        return last

    def _declares(self, line: int, column: int) -> bool:
        """True if a write of the name declares it: a parameter, `let x = 1`; not `x = 1`, `x++`."""
        if self.scoping.assigning_declares or (sides := self._sides(line, column)) is None:
            return True
        before, after = sides[0].rstrip(), sides[1].lstrip()
        if before.endswith(("++", "--")):
            return False
        return not (_ASSIGNED.match(after) and (not before or before[-1] in ";{})"))

    def steps_before(self, line: int, column: int) -> list[str]:
        """The names before the dot of a member: `["a", "b"]` of `a.b.name`. Empty if an expression stands there."""
        if self._last_steps[0] != (line, column):
            self._last_steps = (line, column), self._read_steps(line, column)
        return self._last_steps[1]

    def _read_steps(self, line: int, column: int) -> list[str]:
        sides = self._sides(line, column)
        if sides is None:
            return []
        before = sides[0]
        if not before.rstrip().strip("?!.->: \t") and line > 1:
            above = self._lines[line - 2].rstrip()[-_SIDE_CHARACTERS_MAX:]
            before = above.decode(errors="replace") + before.lstrip()
        before = before.rstrip()
        steps: list[str] = []
        while not before.endswith("..") and (end := next((one for one in _STEP_ENDS if before.endswith(one)), "")):
            before = before.removesuffix(end).rstrip()
            start = len(before)
            while start and (before[start - 1].isalnum() or before[start - 1] in "_$"):
                start -= 1
            if start == len(before):
                return []
            steps.append(before[start:])
            before = before[:start].rstrip()
        return steps[::-1]

    def _is_self(self, name: str, line: int) -> bool:
        pattern = self.scoping.receiver
        return name in _SELF or (pattern is not None and name == self._receiver(pattern, line))

    def _receiver(self, pattern: re.Pattern[str], line: int) -> str | None:
        """The receiver of the method around a line: `c` in `func (c *Cart) Total()`."""
        at = self._innermost(line)
        if at < 0 or self._definitions[at].line > len(self._lines):
            return None
        found = pattern.match(self._lines[self._definitions[at].line - 1].decode())
        return found[1] if found is not None else None

    def _sides(self, line: int, column: int) -> tuple[str, str] | None:
        """The text right before and after the name on its line; None if the name no longer stands there."""
        if line > len(self._lines):
            return None
        if line != self._decoded[0]:
            self._decoded = line, self._lines[line - 1].decode()
        text = self._decoded[1]
        start, end = column - 1, column - 1 + len(self.name)
        if text[start:end] != self.name:
            return None
        return text[max(0, start - _SIDE_CHARACTERS_MAX) : start], text[end : end + _SIDE_CHARACTERS_MAX]

    @cached_property
    def _lines(self) -> Sequence[bytes]:
        return self._read()

    @cached_property
    def _definitions(self) -> list[Definition]:
        return unpack_definitions(self._packed)

    @cached_property
    def _starts(self) -> list[int]:
        return [one.start_line for one in self._definitions]

    def _innermost(self, line: int) -> int:
        """The index of the innermost type or function around a line; -1 at the top."""
        at = bisect.bisect_right(self._starts, line) - 1
        while at >= 0 and (self._definitions[at].end_line < line or self._definitions[at].kind not in _AROUND):
            at = self._definitions[at].parent
        return at

    def _chain(self, at: int) -> Chain:
        chain: list[str] = []
        while at >= 0:
            one = self._definitions[at]
            chain += [one.name, *owner_parts(one.owner)]
            at = one.parent
        return tuple(reversed(chain))


def _depth(line: bytes) -> int:
    found = _INDENT.match(line)  # a regex copies nothing; a line may be a megabyte
    return found.end() if found is not None else 0


def _types_declared(variable: str, text: str) -> set[str]:
    """The types, as written, that stand before or after a variable in its declarations in a text."""
    found = set()
    start = text.find(variable)
    while start >= 0:
        end = start + len(variable)
        before = text[start - 1 : start]
        if not before or not (before.isalnum() or before in "_.>$"):
            if after := _TYPE_AFTER.match(text, end):
                found.add(after[1])
            if before in _TYPE_ENDS and _ENDS_DECLARATION.match(text, end):
                line_start = text.rfind("\n", 0, start) + 1
                head = _TYPE_BEFORE.search(text[max(line_start, start - _SIDE_CHARACTERS_MAX) : start])
                found.update(head.groups() if head is not None else ())
        start = text.find(variable, end)
    return found
