"""What is known of one file's symbols, and its packed form: two blobs per content, made to answer for one name without the others.

Invariant: what was packed is unpacked equal; a blob of another version is refused, never misread.

Both blobs are a header of little-endian numbers and these parts:

    definitions     u8 version | u32 definitions | u32 imports | body
                    The body is deflated JSON: the columns of all definitions, then of all imports. Lines and bytes are kept as
                    steps from the definition before, as small numbers deflate better.

    references      u8 version | u8 salt | u32 references | u32 names | u32 long ones | marks | lengths | rests | positions
                    marks      a u32 of the machine's byte order for each referenced name, ascending: the CRC-32 of the name or, where two names would share
                               it, a BLAKE2 of four bytes with the first salt that tells all names apart. The names themselves stand in the source, and in the index that
                               leads here; a name that the blob does not hold is found in it once in four million times.
                    lengths    for each name the bytes of its positions, one byte; 255 where there are as many or more
                    rests      for each of the latter a u32: how many more than 255
                    positions  name after name; for each use varint(line step * 8 + role) and varint(column). The step of the first
                               use is its line.

Nothing of the references is deflated: it would save a quarter and cost ten times the time of reading one name.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import re
import struct
import zlib
from array import array
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

_OWNER_PARTS = re.compile(r"::|\.")
ROLES = ("call", "type", "import", "write", "read")


@dataclass(frozen=True, slots=True)
class Definition:
    """Lines and columns are 1-based, columns in characters; `line` and `column` are the name's own, the span the element's."""

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
    """The type it belongs to where that does not enclose it: `Foo` of `func (f *Foo) Bar()`, `Foo::bar() {}`, `impl Foo`."""
    parameters: tuple[str, ...]
    modifiers: tuple[str, ...]
    doc: str
    """First line of its documentation."""
    complexity: int
    """Ways through a function: one, and one more for each branch; 0 for what is no function."""


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
    """Where each name is referenced, in text order: line, column, index in ROLES. Grouped, as 100,000 objects a megabyte would cost more than parsing."""

    @property
    def references(self) -> list[Reference]:
        """All references in text order."""
        found = [
            Reference(name, line, column, ROLES[role])
            for name, uses in self.uses.items()
            for line, column, role in uses
        ]
        return sorted(found, key=lambda reference: reference[1:3])


PACKED_VERSION = 1

_DEFINITIONS_HEADER = struct.Struct("<BII")
_REFERENCES_HEADER = struct.Struct("<BBIII")
_REST = struct.Struct("<I")
_MARK_BYTES = 4
_LENGTH_MAX = 255


@dataclass(frozen=True, slots=True)
class Packed:
    definitions: bytes
    references: bytes
    defined_names: list[str]
    referenced_names: list[str]
    """Both without duplicates, sorted."""


def pack(outline: Outline) -> Packed:
    return Packed(
        _pack_definitions(outline.definitions, outline.imports),
        _pack_references(outline.uses),
        sorted({definition.name for definition in outline.definitions}),
        sorted(outline.uses),
    )


def reference_positions(blob: bytes, name: str) -> list[tuple[int, int, str]]:
    """Line, column and role of every use of a name, in text order; about 10 microseconds for a name of few uses."""
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


def definition_count(blob: bytes) -> int:
    return _definitions_header(blob)[0]


def unpack_definitions(blob: bytes) -> list[Definition]:
    count, _ = _definitions_header(blob)
    if not count:
        return []
    (
        names,
        kinds,
        lines,
        columns,
        starts,
        ends,
        start_bytes,
        lengths,
        parents,
        owners,
        parameters,
        modifiers,
        docs,
        complexities,
    ) = _body(blob)[0]
    lines = list(accumulate(lines))
    start_bytes = list(accumulate(start_bytes))
    return [
        Definition(
            name, kind, line, column, line - start, line + end, byte, byte + length, parent, owner, tuple(parameter), tuple(modifier), doc, complexity
        )
        for name, kind, line, column, start, end, byte, length, parent, owner, parameter, modifier, doc, complexity in zip(
            names, kinds, lines, columns, starts, ends, start_bytes, lengths, parents, owners, parameters, modifiers, docs, complexities, strict=True
        )
    ]  # fmt: skip


def definitions_named(blob: bytes, name: str) -> list[tuple[int, int, str, list[str]]]:
    """Line, column, kind and enclosing names (outermost first) of the definitions of one name, without making the others."""
    count, _ = _definitions_header(blob)
    if not count:
        return []
    names, kinds, lines, columns, *_, parents, owners, _, _, _, _ = _body(blob)[0]
    lines = list(accumulate(lines))
    found = []
    for at, one in enumerate(names):
        if one == name:
            chain = _owner_parts(owners[at])[::-1]
            parent = parents[at]
            while parent >= 0:
                chain.append(names[parent])
                chain += reversed(_owner_parts(owners[parent]))
                parent = parents[parent]
            found.append((lines[at], columns[at], kinds[at], chain[::-1]))
    return found


def _owner_parts(owner: str) -> list[str]:
    return [part for part in _OWNER_PARTS.split(owner) if part]


def unpack_imports(blob: bytes) -> list[Import]:
    _, count = _definitions_header(blob)
    return [Import(*row) for row in zip(*_body(blob)[1], strict=True)] if count else []


def _pack_definitions(definitions: list[Definition], imports: list[Import]) -> bytes:
    header = _DEFINITIONS_HEADER.pack(PACKED_VERSION, len(definitions), len(imports))
    columns = [
        [d.name for d in definitions],
        [d.kind for d in definitions],
        _steps(d.line for d in definitions),
        [d.column for d in definitions],
        [d.line - d.start_line for d in definitions],
        [d.end_line - d.line for d in definitions],
        _steps(d.start_byte for d in definitions),
        [d.end_byte - d.start_byte for d in definitions],
        [d.parent for d in definitions],
        [d.owner for d in definitions],
        [d.parameters for d in definitions],
        [d.modifiers for d in definitions],
        [d.doc for d in definitions],
        [d.complexity for d in definitions],
    ]
    body = json.dumps([columns, list(zip(*imports, strict=True))], separators=(",", ":"), ensure_ascii=False)
    return header + zlib.compress(body.encode("utf-8", "surrogatepass"), 1)


def _steps(numbers: Iterable[int]) -> list[int]:
    return [after - before for before, after in pairwise((0, *numbers))]


def _pack_references(uses: dict[str, list[tuple[int, int, int]]]) -> bytes:
    salt, marked = _marked(uses)
    lengths = bytearray()
    rests = array("I")
    positions = bytearray()
    references = 0
    append = positions.append
    for _, name in marked:
        before = len(positions)
        last_line = 0
        of_name = uses[name]
        references += len(of_name)
        for line, column, role in of_name:
            number = (line - last_line) << 3 | role
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
    raise AssertionError("no salt tells the names apart")  # 255 times one chance in thousands


def _mark(name: str, salt: int) -> int:
    data = name.encode("utf-8", "surrogatepass")
    if not salt:
        return zlib.crc32(data)
    # No salted CRC: it is linear, names that share one share them all.
    return int.from_bytes(hashlib.blake2b(data, digest_size=_MARK_BYTES, salt=bytes((salt,))).digest())


def _positions(blob: bytes, start: int, end: int) -> list[tuple[int, int, str]]:
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
        line += number >> 3
        found.append((line, column, ROLES[number & 7]))
    return found


def _long_varint(blob: bytes, first: int, at: int) -> tuple[int, int]:
    """A varint whose first byte says that more follow; `at` is after it."""
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


def _definitions_header(blob: bytes) -> tuple[int, int]:
    version, definitions, imports = _DEFINITIONS_HEADER.unpack_from(blob)
    _check(version)
    return definitions, imports


def _check(version: int) -> None:
    if version != PACKED_VERSION:
        raise ValueError(f"packed outline of version {version}, not {PACKED_VERSION}; rebuild the symbols")


def _body(blob: bytes) -> list[list[list]]:
    return json.loads(zlib.decompress(memoryview(blob)[_DEFINITIONS_HEADER.size :]).decode("utf-8", "surrogatepass"))
