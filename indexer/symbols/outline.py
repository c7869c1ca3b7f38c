"""The symbols of one file and their packed form: three blobs per content, made so that one name can be read alone.

Invariant: unpacking gives what was packed; a blob of another version is refused, never misread.

All numbers are little-endian, except where the machine's byte order is named:

    definitions     u8 version | u8 bytes of a number, 2 or 4 | u32 definitions | u32 bytes of names
                    | u32 bytes of owners | names | kinds | lines | columns | parents | owners | rest
                    names      a NUL before, between and after them, so that a name is found as bytes without
                               reading the others. Owners alike; left out if no definition has one
                    kinds      a byte each, the index in KINDS
                    lines, columns, parents
                               numbers in the machine's byte order; a parent is its index plus one, 0 for none
                    rest       the other fields, to show an element: deflated JSON, columns of all definitions

    imports         u8 version | deflated JSON: the columns of all imports and the lines of their statements.
                    Empty if there are none

    references      u8 version | u8 salt | u32 references | u32 names | u32 long names
                    | marks | lengths | rests | positions
                    marks      a u32 in the machine's byte order for each referenced name, ascending: the CRC-32 of
                               the name. If two names would share one, a BLAKE2 of four bytes with the first salt
                               that tells all names apart. The names themselves are in the source and in the index
                               that leads here. A name that is not in the blob is found once in four million times
                    lengths    one byte for each name: the bytes of its positions, 255 if they are 255 or more
                    rests      a u32 for each of the long names: how many bytes more than 255
                    positions  name after name; for each use varint(line step * 16 + role) and varint(column). The
                               step of the first use is its line

The references are not deflated: that would save a quarter, but reading one name would take ten times as long.

Three more blobs hold only marks (each a u32 in the machine's byte order, the CRC-32 of a name): the names that a
content offers to other files, the names it takes from them, and the names it imports (pairs: module, name).
element_ranking.py counts them over all contents. The names themselves would take ten times the bytes.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import operator
import re
import struct
import zlib
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

_OWNER_PARTS = re.compile(r"::|\.")
_MODULE_SEPARATORS = re.compile(r"[./\\:]+")
_QUOTED_FILE = re.compile(r"\.(?:[cm]?[jt]sx?|h|hh|hpp|hxx|h\+\+|inc|php|rb|sh|lua|dart)$")
ROLES = ("call", "type", "import", "write", "read")
MEMBER = 8
"""Added to a role's index if the name is a member: it follows another name and `.`, `->` or `::`."""
_ROLE_BITS = 4
_ROLE_MASK = (1 << _ROLE_BITS) - 1


class Definition(NamedTuple):
    """Lines and columns are 1-based; columns count characters. `line` and `column` belong to the name, the span to the
    element.
    """

    name: str
    kind: str
    line: int
    column: int
    start_line: int
    end_line: int
    start_byte: int
    end_byte: int
    parent: int
    """Index in `Outline.definitions`, -1 at the top."""
    owner: str
    """The type that owns it but does not enclose it: `Foo` for `func (f *Foo) Bar()`, `Foo::bar() {}`, `impl Foo`."""
    parameters: tuple[str, ...]
    modifiers: tuple[str, ...]
    doc: str
    """First line of its documentation."""
    complexity: int
    """Ways through a function: one, and one more for each branch; 0 for anything else."""


class Reference(NamedTuple):
    name: str
    line: int
    column: int
    role: str


class Import(NamedTuple):
    module: str
    name: str
    alias: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Outline:
    definitions: list[Definition]
    """In order of their start; a parent stands before its children."""
    imports: list[Import]
    uses: dict[str, list[tuple[int, int, int]]]
    """The uses of each name in text order: line, column, index in ROLES (plus MEMBER). Plain tuples by name, because
    100,000 Reference objects a megabyte would cost more than parsing."""
    statements: list[tuple[int, int]] = field(default_factory=list)
    """First and last line of each import statement."""
    imports_by_name: bool = False
    """As in the language's rules."""
    taken: frozenset[str] = frozenset()
    """Names that it calls or uses as types, without a definition, parameter or variable of its own for them."""
    imported: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a module part and a name that it imports, or uses through an import. The part of the module's name shows
    whether the module may be the project's own; "" for a module found by its place (`./x`)."""

    @property
    def references(self) -> list[Reference]:
        """All references in text order."""
        found = [
            Reference(name, line, column, ROLES[role & (MEMBER - 1)])
            for name, uses in self.uses.items()
            for line, column, role in uses
        ]
        return sorted(found, key=lambda reference: reference[1:3])


PACKED_VERSION = 4

KINDS = (
    "function", "method", "class", "interface", "struct", "enum", "trait", "module", "constant", "variable", "type", "section", "key",
)  # fmt: skip
"""Kinds of definitions. If several patterns of a query match one name, its kind is the first of these."""

VARIABLES = frozenset(("constant", "variable"))
FUNCTIONS = frozenset(("function", "method"))
TYPES = frozenset(("class", "interface", "struct", "enum", "trait", "module", "type"))
_OFFERED_KINDS = TYPES | VARIABLES | {"function"}
"""Kinds that other files can name alone. A method is named through an object of unknown type: `append` is a list's.
Variables count only in languages where they must be imported: otherwise `struct device *device` in many files would
count for a variable `device` of one file.
"""

_DEFINITIONS_HEADER = struct.Struct("<BBIII")
_CODE_OF_BYTES: dict[int, Literal["H", "I"]] = {2: "H", 4: "I"}
_KIND_NUMBERS = {kind: number for number, kind in enumerate(KINDS)}
_REFERENCES_HEADER = struct.Struct("<BBIII")
_REST = struct.Struct("<I")
_MARK_BYTES = 4
_LENGTH_MAX = 255
_SMALL_BITS = 12


@dataclass(frozen=True, slots=True)
class Packed:
    definitions: bytes
    imports: bytes
    references: bytes
    defined_names: list[str]
    referenced_names: list[str]
    imported_names: list[str]
    """Names that imports bring in: names, aliases and last parts of modules. All three lists are sorted and unique."""
    offered: bytes
    taken: bytes
    imported: bytes


def pack(outline: Outline) -> Packed:
    return Packed(
        _pack_definitions(outline.definitions),
        _pack_imports(outline.imports, outline.statements),
        _pack_references(outline.uses),
        sorted({definition.name for definition in outline.definitions}),
        sorted(outline.uses),
        sorted({name for one in outline.imports for name in (one.name, one.alias, last_part(one.module)) if name}),
        _pack_marks(
            one.name
            for one in outline.definitions
            if is_offered(one, outline.definitions) and (outline.imports_by_name or one.kind not in VARIABLES)
        ),
        _pack_marks(outline.taken),
        array("I", (mark_of(part) for pair in sorted(outline.imported) for part in pair)).tobytes(),
    )


def is_offered(definition: Definition, definitions: list[Definition]) -> bool:
    """True if other files may name this definition alone, without an object."""
    if definition.kind not in _OFFERED_KINDS:
        return False
    if definition.parent < 0:
        return not definition.owner or definition.kind in TYPES
    # Fields are not, as methods are not. A type inside a type may be imported; one inside a function may not.
    around = definitions[definition.parent].kind
    return around == "module" or (definition.kind in TYPES and around not in FUNCTIONS)


def mark_of(name: str) -> int:
    """The CRC-32 of a name, which stands for the name in comparisons."""
    return _mark(name, 0)


def _pack_marks(names: Iterable[str]) -> bytes:
    return array("I", sorted({mark_of(name) for name in names})).tobytes()


def unpack_marks(blob: bytes) -> array[int]:
    return array("I", blob)


def last_part(module: str) -> str:
    """The last name of a module in an import: `response` for `django.http.response`, `./response.js`, `a/response`."""
    return next(reversed(module_parts(module)), "")


def module_parts(module: str) -> list[str]:
    """The names of a module in an import, without a file's extension."""
    return [part for part in _MODULE_SEPARATORS.split(without_extension(module)) if part]


def without_extension(module: str) -> str:
    """`./response` for `./response.js`; `a.b` stays as it is."""
    return module[: module.rfind(".")] if _QUOTED_FILE.search(module) else module


def reference_positions(blob: bytes, name: str) -> list[tuple[int, int, int]]:
    """Line, column and role (as in `Outline.uses`) of every use of a name, in text order.

    Takes about 10 microseconds for a name with few uses.
    """
    salt, _, count, longs = _references_header(blob)
    marks_start = _REFERENCES_HEADER.size
    lengths_start = marks_start + _MARK_BYTES * count
    rests_start = lengths_start + count
    mark = _mark(name, salt)
    marks = memoryview(blob)[marks_start:lengths_start].cast("I")
    before = bisect.bisect_left(marks, mark)
    if before == count or marks[before] != mark:
        return []
    lengths = blob[lengths_start:rests_start]
    start = rests_start + _REST.size * longs + sum(lengths[:before])
    longs_before = lengths.count(_LENGTH_MAX, 0, before) if longs else 0
    for index in range(longs_before):
        start += _REST.unpack_from(blob, rests_start + _REST.size * index)[0]
    size = lengths[before]
    if size == _LENGTH_MAX:
        size += _REST.unpack_from(blob, rests_start + _REST.size * longs_before)[0]
    return _positions(blob, start, start + size)


def reference_count(blob: bytes) -> int:
    return _references_header(blob)[1]


def is_readable(blob: bytes) -> bool:
    """True if definitions were packed in the current version."""
    return blob[:1] == bytes((PACKED_VERSION,))


def definition_count(blob: bytes) -> int:
    return _Definitions(blob).count if blob else 0


def first_definition_line(blob: bytes) -> int | None:
    """The line of the first definition's name, without unpacking; None if there is no definition."""
    return _Definitions(blob).lines[0] if definition_count(blob) else None


def unpack_definitions(blob: bytes) -> list[Definition]:
    if not definition_count(blob):
        return []
    packed = _Definitions(blob)
    owners = packed.owners or [""] * packed.count
    starts, ends, start_bytes, lengths, parameters, modifiers, docs, complexities = packed.rest()
    start_bytes = accumulate(start_bytes)
    return [
        Definition(
            name, KINDS[kind], line, column, line - start, line + end, byte, byte + length, parent - 1, owner, tuple(parameter), tuple(modifier), doc, complexity
        )
        for name, kind, line, column, start, end, byte, length, parent, owner, parameter, modifier, doc, complexity in zip(
            packed.names, packed.kinds, packed.lines, packed.columns, starts, ends, start_bytes, lengths, packed.parents, owners, parameters, modifiers, docs, complexities, strict=True
        )
    ]  # fmt: skip


class Named(NamedTuple):
    """The place of a definition, and what holds it."""

    line: int
    column: int
    kind: str
    chain: list[str]
    """Names of the elements around it, outermost first."""
    inside: str
    """Kind of the element that holds it: "" at the top; "struct" for a type that does not enclose it; "object" for a
    function that is a key of an object without a name.
    """


def definitions_named(blob: bytes, name: str) -> list[Named]:
    """The definitions of one name, without unpacking the others. Takes some microseconds if it is not nested."""
    if not blob:
        return []
    packed = _Definitions(blob)
    found = []
    for at in packed.named(name):
        chain: list[str] = []
        inner, owners = at, packed.owners
        inside = ""
        while True:
            if owners and owners[inner]:
                chain += owner_parts(owners[inner])
                inside = inside or "struct"
            parent = packed.parents[inner]
            if not parent:
                break
            inner = parent - 1
            inside = inside or KINDS[packed.kinds[inner]]
            chain.append(packed.names[inner])
        kind = KINDS[packed.kinds[at]]
        if kind == "method" and inside not in TYPES:
            inside = "object"
        found.append(Named(packed.lines[at], packed.columns[at], kind, chain[::-1], inside))
    return found


def count_named(blob: bytes, name: str) -> int:
    """The number of definitions of one name."""
    return sum(1 for _ in _Definitions(blob).named(name)) if blob else 0


def definition_places(blob: bytes) -> list[tuple[int, str, str]]:
    """Line, name and kind of all definitions, without unpacking the rest."""
    if not definition_count(blob):
        return []
    packed = _Definitions(blob)
    return list(zip(packed.lines, packed.names, map(KINDS.__getitem__, packed.kinds), strict=True))


def owner_parts(owner: str) -> list[str]:
    """The parts of an owner, innermost first: ["B", "A"] for `A::B`."""
    return [part for part in _OWNER_PARTS.split(owner) if part][::-1]


def unpack_imports(blob: bytes) -> list[Import]:
    if not blob:
        return []
    _check(blob[0])
    *columns, _ = _inflated(blob[1:])
    return [Import(*row) for row in zip(*columns, strict=True)]


def unpack_import_statements(blob: bytes) -> list[tuple[int, int]]:
    """First and last line of each import statement, from the same blob."""
    if not blob:
        return []
    _check(blob[0])
    return [(first, last) for first, last in _inflated(blob[1:])[-1]]


def _pack_definitions(definitions: list[Definition]) -> bytes:
    names, kinds, lines, columns, starts, ends, start_bytes, end_bytes, parents, owners, *others = (
        zip(*definitions, strict=True) if definitions else ((),) * len(Definition._fields)
    )
    rest = _deflated(
        [
            list(map(operator.sub, lines, starts)),
            list(map(operator.sub, ends, lines)),
            _steps(start_bytes),
            list(map(operator.sub, end_bytes, start_bytes)),
            *others,
        ]
    )
    numbers = [*lines, *columns, *(parent + 1 for parent in parents)]
    bytes_each = 2 if max(numbers, default=0) < 1 << 16 else 4
    spelled, owned = _joined(names), _joined(owners) if any(owners) else b""
    header = _DEFINITIONS_HEADER.pack(PACKED_VERSION, bytes_each, len(definitions), len(spelled), len(owned))
    kinds = bytes(map(_KIND_NUMBERS.__getitem__, kinds))
    return b"".join((header, spelled, kinds, array(_CODE_OF_BYTES[bytes_each], numbers).tobytes(), owned, rest))


class _Definitions:
    """The packed definitions of a file, read part by part."""

    def __init__(self, blob: bytes) -> None:
        version, bytes_each, self.count, names_bytes, self._owners_bytes = _DEFINITIONS_HEADER.unpack_from(blob)
        _check(version)
        self._blob = blob
        self._names_end = _DEFINITIONS_HEADER.size + names_bytes
        numbers_start = self._names_end + self.count
        self._owners_start = numbers_start + 3 * self.count * bytes_each
        self.kinds = memoryview(blob)[self._names_end : numbers_start]
        numbers = memoryview(blob)[numbers_start : self._owners_start].cast(_CODE_OF_BYTES[bytes_each])
        self.lines = numbers[: self.count]
        self.columns = numbers[self.count : 2 * self.count]
        self.parents = numbers[2 * self.count :]

    def named(self, name: str) -> Iterator[int]:
        """The indices of the definitions of a name."""
        start = _DEFINITIONS_HEADER.size
        wanted = _joined((name,))
        index, counted, at = 0, start, start
        while (at := self._blob.find(wanted, at, self._names_end)) >= 0:
            index += self._blob.count(b"\0", counted, at)
            yield index
            counted = at
            at += 1

    @cached_property
    def names(self) -> list[str]:
        return _parted(self._blob[_DEFINITIONS_HEADER.size : self._names_end])

    @cached_property
    def owners(self) -> list[str]:
        """The owner of each definition; empty if no definition has one."""
        return _parted(self._blob[self._owners_start : self._owners_start + self._owners_bytes])

    def rest(self) -> list[list]:
        return _inflated(memoryview(self._blob)[self._owners_start + self._owners_bytes :])


def _joined(names: Sequence[str]) -> bytes:
    """Names with a NUL before, between and after them. A NUL in a name (a JSON key may have one) is replaced."""
    joined = "\0".join(names)
    if joined.count("\0") >= len(names):
        joined = "\0".join(name.replace("\0", "\N{REPLACEMENT CHARACTER}") for name in names)
    return b"\0%b\0" % joined.encode("utf-8", "surrogatepass")


def _parted(joined: bytes) -> list[str]:
    return joined[1:-1].decode("utf-8", "surrogatepass").split("\0") if joined else []


def _pack_imports(imports: list[Import], statements: list[tuple[int, int]]) -> bytes:
    if not imports:
        return b""
    return bytes((PACKED_VERSION,)) + _deflated([*zip(*imports, strict=True), statements])


def _steps(numbers: Sequence[int]) -> list[int]:
    return list(map(operator.sub, numbers, (0, *numbers)))


def _pack_references(uses: dict[str, list[tuple[int, int, int]]]) -> bytes:
    salt, marked = _marked(uses)
    lengths = bytearray()
    rests = array("I")
    positions = bytearray()
    append = positions.append
    references = 0
    for _, name in marked:
        before = len(positions)
        last_line = 0
        of_name = uses[name]
        references += len(of_name)
        for line, column, role in of_name:
            number = (line - last_line) << _ROLE_BITS | role
            last_line = line
            while number > 127:
                append(number & 127 | 128)
                number >>= 7
            append(number)
            number = column
            while number > 127:
                append(number & 127 | 128)
                number >>= 7
            append(number)
        length = len(positions) - before
        if length >= _LENGTH_MAX:
            rests.append(length - _LENGTH_MAX)
            length = _LENGTH_MAX
        lengths.append(length)
    header = _REFERENCES_HEADER.pack(PACKED_VERSION, salt, references, len(marked), len(rests))
    marks = array("I", (mark for mark, _ in marked)).tobytes()
    return b"".join((header, marks, lengths, struct.pack(f"<{len(rests)}I", *rests), positions))


def _marked(names: Collection[str]) -> tuple[int, list[tuple[int, str]]]:
    """A salt that tells all names apart, and the names in the order of their marks."""
    for salt in range(256):
        marks = {_mark(name, salt): name for name in names}
        if len(marks) == len(names):
            return salt, sorted(marks.items())
    raise AssertionError("no salt tells the names apart")  # a chance of one in thousands, 255 times in a row


def _mark(name: str, salt: int) -> int:
    data = name.encode("utf-8", "surrogatepass")
    if not salt:
        return zlib.crc32(data)
    # Not a salted CRC: a CRC is linear, so two names that share one share all salted ones.
    return int.from_bytes(hashlib.blake2b(data, digest_size=_MARK_BYTES, salt=bytes((salt,))).digest())


def _positions(blob: bytes, start: int, end: int) -> list[tuple[int, int, int]]:
    found = []
    line = 0
    at = start
    while at < end:
        number = blob[at]
        at += 1
        if number > 127:
            number, at = _long_varint(blob, number, at)
        column = blob[at]
        at += 1
        if column > 127:
            column, at = _long_varint(blob, column, at)
        line += number >> _ROLE_BITS
        found.append((line, column, number & _ROLE_MASK))
    return found


def _long_varint(blob: bytes, first: int, at: int) -> tuple[int, int]:
    """Read the rest of a varint whose first byte says that more follow; `at` is the offset after that byte."""
    number, shift = first & 127, 7
    while True:
        byte = blob[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7


def _references_header(blob: bytes) -> tuple[int, int, int, int]:
    version, salt, references, names, longs = _REFERENCES_HEADER.unpack_from(blob)
    _check(version)
    return salt, references, names, longs


def _check(version: int) -> None:
    if version != PACKED_VERSION:
        raise ValueError(f"packed outline of version {version}, not {PACKED_VERSION}; rebuild the symbols")


def _deflated(columns: list) -> bytes:
    text = json.dumps(columns, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    # zlib clears 256 KiB for a full window, which takes 45 microseconds; a small window takes 4.
    window_bits = min(max(9, len(text).bit_length()), zlib.MAX_WBITS)
    deflate = zlib.compressobj(1, zlib.DEFLATED, window_bits, 5 if window_bits <= _SMALL_BITS else zlib.DEF_MEM_LEVEL)
    return deflate.compress(text) + deflate.flush()


def _inflated(data: bytes | memoryview) -> list[list]:
    return json.loads(zlib.decompress(data).decode("utf-8", "surrogatepass"))
