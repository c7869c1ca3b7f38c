"""The packed form of an outline."""

from __future__ import annotations

import dataclasses
import random

import pytest

from ctxd.indexer.symbols.outline import (
    MEMBER,
    ROLES,
    Definition,
    Import,
    Outline,
    definition_count,
    definitions_named,
    mark_of,
    pack,
    reference_count,
    reference_positions,
    unpack_definitions,
    unpack_import_statements,
    unpack_imports,
    unpack_marks,
)


def definition(name: str, line: int, **changes):
    fields = {
        "name": name, "kind": "function", "line": line, "column": 5, "start_line": line - 1, "end_line": line + 9, "start_byte": line * 40,
        "end_byte": line * 40 + 300, "parent": -1, "owner": "", "parameters": ("a: int", "*b"), "modifiers": ("async",), "doc": "Says é.",
        "complexity": 2,
    }  # fmt: skip
    return Definition(**{**fields, **changes})


def test_what_was_packed_is_unpacked_equal():
    definitions = [definition("f", 3), definition("Ünï", 2, parent=0, owner="Foo"), definition("g", 70_000)]
    imports = [Import("a.b", "c", "", 1, 15), Import("x", "", "y", 2, 8)]
    packed = pack(Outline(definitions, imports, {"c": [(1, 15, 2)]}))
    assert unpack_definitions(packed.definitions) == definitions
    assert unpack_imports(packed.imports) == imports
    assert (definition_count(packed.definitions), reference_count(packed.references)) == (3, 1)
    assert packed.defined_names == ["f", "g", "Ünï"]
    assert packed.referenced_names == ["c"]
    assert packed.imported_names == ["b", "c", "x", "y"]


def test_a_name_is_qualified_by_all_that_encloses_it_and_their_owners():
    packed = pack(
        Outline(
            [
                definition("Outer", 1, owner="A::B"),
                definition("Inner", 2, parent=0),
                definition("f", 3, parent=1, owner="C.D"),
            ],
            [],
            {},
        )
    )
    assert definitions_named(packed.definitions, "f") == [
        (3, 5, "function", ["A", "B", "Outer", "Inner", "C", "D"], "struct")
    ]


def test_enclosing_names_count_the_owners_of_what_encloses():
    namespace = definition("C", 1, kind="module", owner="A.B")
    owned = definition("D", 2, kind="class", parent=0, owner="X::Y")
    packed = pack(Outline([namespace, owned, definition("f", 3, parent=1)], [], {}))
    assert definitions_named(packed.definitions, "f")[0][3] == ["A", "B", "C", "X", "Y", "D"]


def test_every_use_of_every_name_is_found():
    chance = random.Random(7)
    uses = {}
    for index in range(500):
        places = {
            (chance.choice((chance.randrange(1, 300), chance.randrange(1, 99_999))), chance.choice((3, 200, 70_000)))
            for _ in range(chance.choice((1, 3, 400)))
        }
        uses[f"name{index}é"] = [
            (line, column, chance.randrange(len(ROLES)) | chance.choice((0, MEMBER))) for line, column in sorted(places)
        ]
    packed = pack(Outline([], [], uses))
    for name, places in uses.items():
        assert reference_positions(packed.references, name) == [(line, column, role) for line, column, role in places]
    assert reference_positions(packed.references, "absent") == []
    assert reference_count(packed.references) == sum(map(len, uses.values()))


def test_names_with_one_checksum_are_told_apart():
    same = ("plumless", "buckeroo")  # the classic collision of CRC-32
    packed = pack(Outline([], [], {same[0]: [(1, 1, 0)], same[1]: [(2, 2, 1)]}))
    assert reference_positions(packed.references, same[0]) == [(1, 1, 0)]
    assert reference_positions(packed.references, same[1]) == [(2, 2, 1)]


def test_an_empty_outline_is_packed_too():
    packed = pack(Outline([], [], {}))
    assert unpack_definitions(packed.definitions) == []
    assert unpack_imports(packed.imports) == []
    assert reference_positions(packed.references, "x") == []


def test_a_blob_of_another_version_is_refused():
    packed = pack(Outline([definition("f", 1)], [], {"x": [(1, 1, 0)]}))
    with pytest.raises(ValueError, match="version 99"):
        unpack_definitions(b"\x63" + packed.definitions[1:])
    with pytest.raises(ValueError, match="version 99"):
        reference_positions(b"\x63" + packed.references[1:], "x")


def test_marks_tell_what_a_content_offers_takes_and_imports():
    definitions = [
        definition("Order", 1, kind="class"),
        definition("total", 2, kind="method", parent=0),
        definition("count", 3, kind="variable", parent=0),
        definition("Line", 4, kind="class", parent=0),
        definition("price", 5),
        definition("inner", 6, parent=4),
        definition("Run", 7, owner="T", kind="method"),
        definition("ns", 8, kind="module"),
        definition("free", 9, parent=7),
    ]
    imported = frozenset((("shop", "price"), ("", "x")))
    definitions.append(definition("RATE", 10, kind="constant"))
    outline = Outline(definitions, [], {}, taken=frozenset(("a", "b")), imported=imported)
    packed = pack(outline)
    offered = ("Order", "Line", "price", "ns", "free")
    assert list(unpack_marks(packed.offered)) == sorted(map(mark_of, offered))
    by_name = pack(dataclasses.replace(outline, imports_by_name=True))
    assert list(unpack_marks(by_name.offered)) == sorted(map(mark_of, (*offered, "RATE")))
    assert list(unpack_marks(packed.taken)) == sorted(map(mark_of, "ab"))
    assert list(unpack_marks(packed.imported)) == [mark_of(name) for name in ("", "x", "shop", "price")]
    assert mark_of("") == 0


def test_lines_of_import_statements_are_kept():
    imports = [Import("a", "b", "", 2, 3), Import("a", "c", "", 3, 3)]
    packed = pack(Outline([], imports, {}, [(1, 4)]))
    assert unpack_imports(packed.imports) == imports
    assert unpack_import_statements(packed.imports) == [(1, 4)]
    assert unpack_import_statements(b"") == []
