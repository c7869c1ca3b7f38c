"""Each language against its sample in languages/<name>/: every pattern of its query matches, and the outline is the expected one.

After a change that is meant, write the expected files anew with WRITE_EXPECTED=1 and read the difference.
"""

from __future__ import annotations

import json
import os
import time

import pytest
from tree_sitter import Query, QueryCursor

from ctxd.indexer.languages import (
    COMMON_EXTENSIONS,
    COMMON_NAMES,
    LANGUAGE_BY_NAME,
    LANGUAGES,
    language_of,
    parsed_language_of,
)
from ctxd.indexer.symbols.parser import DeadlineError, UnparsableError, _grammar_of, parse, query_source

SAMPLES = os.path.join(os.path.dirname(__file__), "languages")
PARSED = [language for language in LANGUAGES if language.has_symbols and not language.has_sections]


def sample_of(language):
    folder = os.path.join(SAMPLES, language.name)
    name = next(name for name in os.listdir(folder) if name.startswith("sample."))
    with open(os.path.join(folder, name), "rb") as file:
        return file.read()


def outline_of(language: str, text: str):
    return parse(LANGUAGE_BY_NAME[language], text.encode(), 10)


def kinds(language: str, text: str):
    return {definition.name: definition.kind for definition in outline_of(language, text).definitions}


@pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)
def test_sample_has_the_expected_outline(language):
    outline = parse(language, sample_of(language), 10)
    found = {
        "definitions": [
            f"{d.line}:{d.column} {d.kind} {d.name} lines {d.start_line}-{d.end_line} in {d.parent} owner {d.owner!r}"
            f" {list(d.parameters)} {list(d.modifiers)} {d.doc!r} complexity {d.complexity}"
            for d in outline.definitions
        ],
        "imports": [f"{i.line}:{i.column} {i.module!r} {i.name!r} {i.alias!r}" for i in outline.imports],
        "references": [f"{r.line}:{r.column} {r.role} {r.name}" for r in outline.references],
    }
    path = os.path.join(SAMPLES, language.name, "expected.json")
    if os.environ.get("WRITE_EXPECTED"):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1, ensure_ascii=False)
            file.write("\n")
    with open(path, encoding="utf-8") as file:
        assert found == json.load(file)


@pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)
def test_every_pattern_of_the_query_matches_in_the_sample(language):
    grammar = _grammar_of(language)
    text = sample_of(language)
    if grammar.rules.prepare is not None:
        text = grammar.rules.prepare(text).text
    matched = {index for index, _ in QueryCursor(grammar.query).matches(grammar.parser.parse(text).root_node)}
    source = query_source(grammar.rules).encode()
    query: Query = grammar.query
    idle = [
        source[query.start_byte_for_pattern(index) : query.end_byte_for_pattern(index)].decode()
        for index in range(query.pattern_count)
        if index not in matched
    ]
    assert idle == []


@pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)
def test_a_place_is_one_thing_and_holds_its_name(language):
    text = sample_of(language).decode()
    lines = text.split("\n")
    outline = parse(language, text.encode(), 10)
    places = [(d.line, d.column) for d in outline.definitions] + [(r.line, r.column) for r in outline.references]
    assert len(places) == len(set(places))
    for thing in (*outline.definitions, *outline.references):
        assert lines[thing.line - 1].startswith(thing.name, thing.column - 1), thing
    for index, definition in enumerate(outline.definitions):
        assert definition.parent < index
        assert definition.start_line <= definition.line <= definition.end_line


@pytest.mark.parametrize("language", PARSED, ids=lambda language: language.name)
def test_broken_and_cut_text_still_gives_an_outline(language):
    text = sample_of(language)
    for cut in range(0, len(text), max(1, len(text) // 20)):
        parse(language, text[:cut], 10)
    parse(language, b"", 10)
    parse(language, b"\xff\xfe(((" + text[::-1], 10)


def test_a_deadline_ends_parsing_and_the_next_file_is_parsed_right():
    text = b"int f(void) { return (((a)))" + b" + ((b))" * 60_000 + b"; }\n"
    began = time.monotonic()
    with pytest.raises(DeadlineError):
        parse(LANGUAGE_BY_NAME["c"], text, 0.01)
    assert time.monotonic() - began < 5
    assert kinds("c", "int g;\n") == {"g": "variable"}


@pytest.mark.parametrize(
    ("language", "text"), [("c", b"(" * 200_000), ("javascript", b"`${" * 100_000), ("cpp", b"template<" * 50_000)]
)
def test_nothing_but_stray_tokens_is_refused_at_once(language, text):
    with pytest.raises(UnparsableError):
        parse(LANGUAGE_BY_NAME[language], text, 10)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("cpp", b"a<" * 20_000),
        ("javascript", "é".encode() + b"function f(a){x=a};" * 5_000),
        ("c", b"#if A\n" * 5_000 + b"{\n#endif\n" * 5_000),
        ("cpp", b"f() FOO_BAR(x); class FOO_X a<" * 3_000),
        ("c", b"__aligned(a " * 5_000 + b"int a FOO_X(b);" * 5_000),
        ("java", b"class A{" * 5_000),
        ("rust", b"#[a]\n" * 20_000),
        ("lua", b"return {" + b'ba={"a", "b", "c"},' * 20_000 + b"}"),
        ("elixir", b"defmodule A.B do\n @doc 1\n" * 3_000),
        ("bash", b"function f {\n}}\n" * 5_000),
        ("zig", b"const a = struct {" * 5_000),
        ("csharp", b"#if A\n" * 5_000 + b"{\n#endif\n" * 5_000),
        ("ruby", b"attr_reader :a, :b\n" * 10_000),
        ("php", b"<?php " + b"namespace A; function f() {" * 3_000),
        ("kotlin", b"class A(" * 5_000 + b"a by b {\n@A\n" * 5_000),
        ("swift", b"#if A\nfunc f() throws(A) {\n" * 4_000),
        ("scala", "given a with {\n ← x\n || y\n".encode() * 1_000),
        ("haskell", b"#if A\n" * 10_000 + b"#else\nf = 1\n#endif\n" * 10_000),
    ],
)
def test_hostile_text_takes_linear_time(language, text):
    began = time.monotonic()
    parse(LANGUAGE_BY_NAME[language], text, 20)
    assert time.monotonic() - began < 10


def test_columns_count_characters():
    outline = outline_of("python", "été = f(é); x = é\n")
    assert [(d.name, d.column) for d in outline.definitions] == [("été", 1), ("x", 13)]
    assert [(r.name, r.column) for r in outline.references] == [("f", 7), ("é", 9), ("é", 17)]


def test_a_lone_carriage_return_does_not_end_a_line():
    assert outline_of("python", "a = 1\r\nb = 2\n".replace("\r\n", "\n")).definitions[1].line == 2
    assert [d.line for d in outline_of("c", "int a;\rint b;\nint c;\n").definitions] == [1, 1, 2]


def test_names_in_strings_and_comments_do_not_count():
    for language, text in [
        ("python", 'x = "hidden"  # hidden\n'),
        ("c", '#define X "hidden" /* hidden */ // hidden\nchar *s = "hidden";\n'),
        ("javascript", "var x = `hidden`; // hidden\n"),
        ("rust", '/// hidden\nconst X: &str = "hidden";\n'),
        ("lua", "local x = [[hidden]] -- function hidden() end\n"),
        ("elixir", '@moduledoc """\ndef hidden, do: 1\n"""\nx = ~s(hidden)\n'),
        ("bash", "x='hidden() { :; }' # hidden\ncat <<'EOF'\nhidden() { :; }\nEOF\n"),
        ("zig", 'const x = "hidden"; // fn hidden() void {}\nconst y =\n    \\\\hidden\n;\n'),
    ]:
        outline = outline_of(language, text)
        assert "hidden" not in outline.uses
        assert all(d.name != "hidden" for d in outline.definitions)


def test_variables_of_functions_are_references():
    outline = outline_of("typescript", "const top = () => { const inner = 1; };\n[1].map((x) => { let y = x; });\n")
    assert [(d.name, d.kind) for d in outline.definitions] == [("top", "function")]
    assert [r.role for r in outline.references if r.name in ("inner", "y")] == ["write", "write"]


def test_prototypes_and_extern_declare_without_defining():
    text = "extern int a;\nint f(int x);\nint f(int x) { return a; }\nint a;\n"
    assert [(d.name, d.line) for d in outline_of("c", text).definitions] == [("f", 3), ("a", 4)]


def test_macros_around_declarations_do_not_hide_them():
    text = """
static int __init setup(void) __must_check;
static int __init setup(void) { return 0; }
int counter __read_mostly = 1;
struct page { int flags; } __packed;
FOO_API int exported(void) { return 1; }
"""
    assert kinds("c", text) == {
        "setup": "function",
        "counter": "variable",
        "page": "struct",
        "flags": "variable",
        "exported": "function",
    }
    assert {"__init", "__must_check", "__read_mostly", "__packed", "FOO_API"} <= outline_of("c", text).uses.keys()


def test_branches_of_if_that_do_not_balance_do_not_hide_what_follows():
    text = "int f(void)\n{\n#ifdef A\n\tif (a) {\n#else\n\tif (b) {\n#endif\n\t}\n}\nint g(void) { return 1; }\n"
    outline = outline_of("c", text)
    assert [d.name for d in outline.definitions] == ["f", "g"]
    assert {"A", "a", "b"} <= outline.uses.keys()


def test_branches_of_if_within_a_declaration_do_not_hide_what_is_around():
    text = "class A {\n  A(int a)\n#if X\n      : a_(a)\n#endif\n  {}\n  int after;\n};\nint f(int a) {\n  if (a) g();\n#if X\n  else if (b) h();\n#endif\n}\nint last;\n"
    assert kinds("cpp", text) == {"A": "method", "after": "variable", "f": "function", "last": "variable"}


def test_lines_of_a_function_that_the_grammar_has_lost_define_no_variables():
    assert kinds("c", "int kept;\nX(a) {\n    int inside = 1;\n    if (a ) { b\n") == {"kept": "variable"}


def test_a_manifest_before_a_script_hides_no_function():
    assert kinds("rust", '---\n[package]\nname = "a"\n---\nfn main() {}\n') == {"main": "function"}
    assert kinds("rust", "#!/usr/bin/env cargo\n---\n---\nfn main() {}\n") == {"main": "function"}


def test_a_type_on_a_line_of_its_own_is_no_macro():
    assert kinds("c", "int a;\n\nNTSTATUS\nfirst(int a)\n{\n}\n\nMARK_END\n\nint last;\n") == {
        "a": "variable",
        "first": "function",
        "last": "variable",
    }


def test_a_macro_within_a_function_is_of_the_file_and_what_follows_of_the_function():
    outline = outline_of(
        "c", "int f(void) {\n#define A(x) x\n    int count = 1;\n    if (count) return A(1);\n}\nint g;\n"
    )
    assert [(d.name, d.kind, d.parent) for d in outline.definitions] == [
        ("f", "function", -1), ("A", "function", -1), ("g", "variable", -1),
    ]  # fmt: skip
    assert outline.definitions[0].complexity == 2


def test_a_test_of_a_macro_is_named_by_its_argument():
    assert kinds("cpp", "TEST_F(Cache, Prunes) { run(); }\n") == {"Prunes": "function"}
    assert kinds("c", "TEST_BEGIN(test_reuse) {\n}\n") == {"test_reuse": "function"}
    assert kinds("bash", '@test "adds two numbers" {\n  x=1\n}\n') == {"adds two numbers": "function"}


def test_a_function_inside_a_method_is_no_method():
    outline = outline_of("javascript", "Foo.prototype.bar = function () { function inner() {} }\n")
    assert [(d.name, d.kind) for d in outline.definitions] == [("bar", "method"), ("inner", "function")]


def test_a_module_of_elixir_is_named_by_its_last_part():
    outline = outline_of("elixir", "defmodule A.B do\n  def f(x), do: C.D.g(x)\nend\n")
    assert [(d.name, d.kind, d.owner, d.parent) for d in outline.definitions] == [
        ("B", "module", "A", -1),
        ("f", "function", "", 0),
    ]
    assert [(r.name, r.column) for r in outline.references if r.line == 2] == [
        ("x", 9), ("C", 17), ("D", 19), ("g", 21), ("x", 23),
    ]  # fmt: skip


def test_documentation_before_a_definition_of_elixir_belongs_to_it():
    text = '@doc """\nWhat defp does.\n"""\n@spec f(a) :: b\ndef f(a), do: a\n\ndef g, do: 1\n'
    outline = outline_of("elixir", text)
    assert [(d.name, d.doc, d.start_line, d.modifiers) for d in outline.definitions] == [
        ("f", "What defp does.", 1, ()),
        ("g", "", 7, ()),
    ]


@pytest.mark.parametrize(
    ("language", "text"), [("lua", 'local a = require("m")\n'), ("zig", 'const a = @import("m");\n')]
)
def test_a_variable_that_holds_a_module_is_imported_and_not_defined(language, text):
    outline = outline_of(language, text)
    assert outline.definitions == []
    assert [(one.module, one.alias) for one in outline.imports] == [("m", "a")]


def test_shell_that_the_grammar_does_not_know_hides_no_function():
    text = "#!/bin/zsh\nx=${${(f)y}}\nif (( $+z )); then\n# Says a.\nfunction a {\n  b 1\n}\nfi\nc() { :; }\nfor x ( 1 2 ) d\n"
    outline = outline_of("bash", text)
    assert [(d.name, d.start_line, d.end_line) for d in outline.definitions if d.kind == "function"] == [
        ("a", 5, 7),
        ("c", 9, 9),
    ]


def test_a_variable_of_a_script_is_defined_where_it_is_first_set():
    outline = outline_of("bash", "f() { A=0; }\nA=1\nA=2\nB=1 env\n")
    assert [(d.name, d.line) for d in outline.definitions] == [("f", 1), ("A", 2)]
    assert [(r.name, r.line, r.role) for r in outline.references if r.name in "AB"] == [
        ("A", 1, "write"), ("A", 3, "write"), ("B", 4, "write"),
    ]  # fmt: skip


def test_branches_of_if_are_read_side_by_side_only_where_they_are_whole():
    text = """
class A {
#if NET
    public void Split(int a)
#elif OLD
    public void Split(long a)
#else
    public void Split(string a)
#endif
    {
        if (a) { }
#if DEBUG
        else if (b) { }
#endif
        else { }
    }
#if DEBUG
    int whole;
#else
    long other;
#endif
    int after;
}
"""
    outline = outline_of("csharp", text)
    assert [d.name for d in outline.definitions] == ["A", "Split", "whole", "other", "after"]
    assert {"NET", "OLD", "DEBUG", "b"} <= outline.uses.keys()
    assert not {"if", "elif", "endif", "else", "long", "string"} & outline.uses.keys()


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("php", "<?php namespace A\\B; class K { function m() {} } function f() {} namespace C; class L {}"),
        ("csharp", "namespace A.B; class K { void m() {} } delegate int f(); namespace C; class L {}"),
    ],
)
def test_a_namespace_without_braces_lasts_until_the_next(language, text):
    definitions = outline_of(language, text).definitions
    assert [(d.name, d.parent, d.owner) for d in definitions] == [
        ("B", -1, "A"), ("K", 0, ""), ("m", 1, ""), ("f", 0, ""), ("C", -1, ""), ("L", 4, ""),
    ]  # fmt: skip
    assert definitions[0].end_byte == definitions[4].start_byte
    assert definitions[3].kind in ("function", "type")


def test_calls_that_define_methods_define_them_in_ruby():
    text = "class A\n  attr_accessor :a, :b\n  alias_method :c, :d\n  attribute :e\n  validates :f, g: :h\nend\n"
    outline = outline_of("ruby", text)
    assert [(d.name, d.kind, d.column) for d in outline.definitions[1:]] == [
        ("a", "method", 18),
        ("b", "method", 22),
        ("c", "method", 17),
    ]
    assert {"d", "e", "f", "g", "h"} <= outline.uses.keys()


def test_a_parameter_is_what_stands_between_commas():
    method = outline_of("csharp", "class A { void M(int a, params string[] b) {} }").definitions[1]
    assert method.parameters == ("int a", "params string[] b")


def test_clauses_of_one_name_are_one_definition_with_its_signature():
    text = """
-- | Counts.
count :: Int -> Int
{-# INLINE count #-}
count 0 = 0
count n
  | n > 9 = 1
  | otherwise = 2
other = count
instance Show (T a) where
  show (A x) = x
  show B = "b"
"""
    count, other, show = outline_of("haskell", text).definitions
    assert (count.name, count.line, count.start_line, count.end_line) == ("count", 5, 3, 8)
    assert (count.doc, count.parameters, count.complexity) == ("Counts.", ("0",), 3)
    assert (other.name, other.kind) == ("other", "function")
    assert (show.kind, show.owner, show.start_line, show.end_line) == ("method", "T", 11, 12)


def test_backticks_are_no_part_of_a_name():
    for language, text in [
        ("kotlin", "fun `a name`() { `in`.x() }\n"),
        ("swift", "func `default`() { `in`.x() }\n"),
        ("scala", "def `a name` = `in`.x()\n"),
    ]:
        outline = outline_of(language, text)
        assert [(d.name, d.column) for d in outline.definitions] == [(outline.definitions[0].name, text.index("`") + 2)]
        assert not any("`" in name for name in (outline.definitions[0].name, *outline.uses))
        assert [r.column for r in outline.references if r.name == "in"] == [text.index("`in`") + 2]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("kotlin", "class A : I by x {\n  fun inside() {}\n}\n"),
        ("kotlin", "class A<T>\n@Inject\ninternal constructor(val a: Int) {\n  fun inside() {}\n}\n"),
        ("kotlin", '@X("x")\n@Y // why\nclass A {}\n@X("x")\n@Y\nclass B {\n  fun inside() {}\n}\n'),
        ("swift", "class A {\n  func a() {\n    while let x = try await b() {\n    }\n  }\n  func inside() {}\n}\n"),
        (
            "swift",
            "class A {\n  #if os(Linux)\n  func a() throws(E) { f(()) }\n  #else\n  #endif\n  func inside() {}\n}\n",
        ),
        ("scala", "class A {\n  for (i ← x) f(extension)\n  def inside = a\n    || b\n}\n"),
        ("scala", "def f = new A(1) with B with C {\n  def inside = 1\n}\n"),
    ],
)
def test_what_is_younger_or_older_than_a_grammar_hides_no_member(language, text):
    assert kinds(language, text)["inside"] == "method"


def test_an_extension_belongs_to_the_type_it_extends():
    for language, text in [
        ("kotlin", "fun Map.Entry<K, V>?.ext() {}\n"),
        ("swift", "extension Map.Entry: P { func ext() {} }\n"),
        ("scala", "extension [K](x: Map.Entry[K]) def ext = 1\n"),
    ]:
        assert [(d.name, d.kind, d.owner) for d in outline_of(language, text).definitions] == [
            ("ext", "method", "Map.Entry")
        ]


def test_both_branches_of_the_preprocessor_of_haskell_are_read():
    outline = outline_of("haskell", "#if A\none = a\n#else\none = b\ntwo = c\n#endif\n")
    assert [(d.name, d.start_line, d.end_line) for d in outline.definitions] == [("one", 2, 4), ("two", 5, 5)]
    assert {"A", "a", "b", "c"} == outline.uses.keys() - {"one"}


def test_a_header_is_cpp_where_its_text_says_so():
    def name_of(text: bytes) -> str:
        language = language_of(b"a/x.h", text)
        assert language is not None
        return language.name

    assert name_of(b"int f(void);\n") == "c"
    assert name_of(b"struct class_info;\n#include <stdio.h>\n") == "c"
    assert name_of(b"namespace a {\n}\n") == "cpp"
    assert name_of(b"  template <class T> int f(T);\n") == "cpp"
    assert name_of(b"class A : public B {\n};\n") == "cpp"


def test_languages_are_told_by_name():
    for path, name in [
        (b"a/b.py", "python"),
        (b"A.PY", "python"),
        (b"Makefile", "make"),
        (b"x/CMakeLists.txt", "cmake"),
        (b"a.tsx", "tsx"),
        (b".gitignore", "config"),
    ]:
        language = language_of(path)
        assert language is not None
        assert language.name == name
    assert language_of(b"a/b.bin") is None
    assert language_of(b".py") is None
    assert parsed_language_of(b"a.txt") is None
    assert language_of(b"a/.editorconfig").name == "ini"
    assert {b".py", b".h", b".md", b".toml"} <= COMMON_EXTENSIONS
    assert {b"Makefile", b"Dockerfile", b"Kconfig"} <= COMMON_NAMES


def test_no_extension_belongs_to_two_languages():
    extensions = [one for language in LANGUAGES for one in (*language.extensions, *language.file_names)]
    assert len(extensions) == len(set(extensions))


@pytest.mark.parametrize(
    ("language", "text", "taken", "imported"),
    [
        (
            "python",
            "import os\nfrom .a import B, c as d\nfrom x.y import *\nimport n as m\n\ndef f(p):\n    d(p(os.exit(m.g([].append(len(B))))))\n",
            set(),
            {("", "B"), ("", "c"), ("os", "exit"), ("n", "g")},
        ),
        (
            "typescript",
            "import React, { a as b } from 'react';\nimport * as ns from './x';\nb(ns.c(), d);\nlet y: ns.T;\nx.push(1);\n",
            set(),
            {("react", "React"), ("react", "a"), ("", "c"), ("", "T")},
        ),
        (
            "c",
            '#include "a.h"\nstatic int own(fn cb) { fn local = cb; return cb(local()); }\nint f(struct s *p) { own(0); p->open(); return g(p); }\n',
            {"fn", "s", "g"},
            set(),
        ),
        (
            "go",
            'package a\nimport (\n\t"fmt"\n\t"example.org/x/shop"\n)\nfunc f(o Other) { fmt.Println(shop.Price(o)); o.Run(); help() }\n',
            {"Other", "help"},
            {("fmt", "Println"), ("shop", "Price")},
        ),
        ("rust", "use crate::a::B;\nuse std::fmt;\nfn f(b: B) { fmt::write(); c(); B::new(); }\n", set(), {("", "B"), ("", "new"), ("std", "fmt"), ("std", "write")}),
    ],
)  # fmt: skip
def test_what_a_file_takes_from_others(language, text, taken, imported):
    outline = outline_of(language, text)
    assert (outline.taken - {"int"}, outline.imported) == (taken, imported)


def test_import_statements_have_their_lines():
    assert outline_of("python", "import a\nfrom b import (\n  c,\n  d,\n)\n").statements == [(1, 1), (2, 5)]
