"""Headings, tables and keys: what is found, that spans are exact, that independent readers agree, that no text takes long."""

import random
import time

import pytest
from references import READERS, Refused

from ctxd.indexer.structure import _SCANNERS, scan
from ctxd.indexer.symbols.headings import DEFINITIONS_MAX, outline_of


def shown(language, text):
    """`names @ level: name as written | what it takes`, with the parent's names in front."""
    data = text.encode()
    sections = scan(language, data).sections
    found = []
    for section in sections:
        above = "/".join(sections[section.parent].names) + " > " if section.parent >= 0 else ""
        listed = "*" if section.in_list else ""
        names = ".".join(section.names)
        assert section.line == data.count(b"\n", 0, section.name_start) + 1
        assert section.start <= section.name_start <= section.name_end <= section.body_start <= section.end
        found.append(
            f"{above}{names}{listed} {section.level}: {data[section.name_start : section.name_end].decode()}"
            f" | {data[section.body_start : section.end].decode()}"
        )
    return found


def headings(language, text):
    return [(s.level, s.names[0], s.line) for s in scan(language, text.encode()).sections]


def test_markdown_headings_of_both_kinds_with_their_bodies():
    text = "# One #\na\n\nTwo\n---\nb\n\n### Three\nc\n\n# Four\nd\n"
    assert shown("markdown", text) == [
        "One 1: One | a\n\nTwo\n---\nb\n\n### Three\nc\n\n",
        "One > Two 2: Two | b\n\n### Three\nc\n\n",
        "Two > Three 3: Three | c\n\n",
        "Four 1: Four | d\n",
    ]


def test_markdown_headings_inside_quotes_and_lists_and_none_inside_code():
    text = "> # Quoted\n\n- ## Listed\n\n      # code\n\n```\n# fenced\n```\n\n~~~~\n~~~\n# fenced\n~~~~\n\n<!--\n# hidden\n-->\n\n    # indented\n"
    assert headings("markdown", text) == [(1, "Quoted", 1), (2, "Listed", 3)]


def test_a_setext_title_over_several_lines_of_a_quote():
    text = "> 1. Foo\n>    *bar*\n>    ===\n"
    data = text.encode()
    (section,) = scan("markdown", data).sections
    assert section.names == ("Foo *bar*",)
    assert data[section.name_start : section.name_end] == b"Foo\n>    *bar*"
    assert data[section.body_start : section.end] == b""


def test_fenced_blocks_with_language_lines_and_inside():
    text = b"```py title\nx\n```\n\n> ~~~\n> y\n\n- ````\n  ```\n  ````\n\n``` c\\+\\+\nopen"
    blocks = scan("markdown", text).code_blocks
    assert [(b.language, b.start_line, b.end_line) for b in blocks] == [
        ("py", 1, 3),
        ("", 5, 6),
        ("", 8, 10),
        ("c++", 12, 13),
    ]
    assert [text[b.body_start : b.body_end] for b in blocks] == [b"x\n", b"> y\n", b"  ```\n", b"open"]


def test_anchors_are_explicit_ids_outside_of_code_and_comments():
    text = """# A <a id="one"></a> {#two .class}
`<a id="no">` \\<a id="no"> `` ` <a id="no"> `` ` <A NAME='three'> <b id=four> <i name=no>
x <!-- <a id="no"> --> <a
 id="five">

<div>
<!-- <a id="no">
--> `<a id="six">`
</div>

```
<a id="no">
```
"""
    structure = scan("markdown", text.encode())
    assert [(a.id, a.line) for a in structure.anchors] == [
        ("two", 1),
        ("one", 1),
        ("three", 2),
        ("four", 2),
        ("five", 3),
        ("six", 8),
    ]
    assert structure.sections[0].names == ('A <a id="one"></a>',)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\ntitle: x\ntags:\n  - a\n---\n# H\n", ("yaml", 1, 5, ("title", "tags"))),
        ("---\n# comment\n\n'a b': 1\n...\n# H\n", ("yaml", 1, 5, ("a b",))),
        ('+++\ntitle = "x"\n[extra]\na = 1\n+++\n# H\n', ("toml", 1, 5, ("title", "extra"))),
        ("---\nFoo\n---\n# H\n", None),
        ("---\na: b\n# H\n", None),
        ("\n---\na: b\n---\n# H\n", None),
    ],
)
def test_frontmatter_is_told_from_a_thematic_break(text, expected):
    structure = scan("markdown", text.encode())
    found = structure.frontmatter
    assert (found and (found.format, found.start_line, found.end_line, found.keys)) == expected
    assert structure.sections[-1].names == ("H",)
    assert structure.sections[-1].line == text.count("\n")


def test_restructuredtext_titles_take_their_level_from_the_order_of_adornments():
    text = """=====
 Top
=====

Sub
===
1. Numbered
-----------

Other
===

::

  Literal
  -------

.. note::
   Inside
   ------

a paragraph
of lines
--------

- item
------

=====  =====
A
------------
x      y
=====  =====

Last
====
"""
    assert headings("restructuredtext", text) == [
        (1, "Top", 2),
        (2, "Sub", 5),
        (3, "1. Numbered", 7),
        (2, "Last", 35),
    ]
    assert shown("restructuredtext", "A\n=\nb\n") == ["A 1: A | b\n"]


def test_toml_tables_dotted_and_quoted_keys_and_long_values():
    text = '''top = 1 # c
a."b.c" . d = "x # y"
[tool.ruff] # c
list = [
  "]", # ]
  { x = 1, 'y' = [2] },
]
[tool.ruff.lint]
text = """
[not.a.table]
k = "\\"""" # c
[[bin]]
name = 1979-05-27T07:32:00Z
'''
    assert shown("toml", text) == [
        "top 1: top | 1",
        'a.b.c.d 1: a."b.c" . d | "x # y"',
        "tool.ruff 1: tool.ruff | " + text[text.index("list") : text.index("[tool.ruff.lint]")],
        "tool/ruff > list 2: list | [\n  \"]\", # ]\n  { x = 1, 'y' = [2] },\n]",
        "list > x* 3: x | 1",
        "list > y* 3: y | [2]",
        "tool/ruff > tool.ruff.lint 2: tool.ruff.lint | " + text[text.index("text =") : text.index("[[bin]]")],
        'tool/ruff/lint > text 3: text | """\n[not.a.table]\nk = "\\""""',
        "bin 1: bin | name = 1979-05-27T07:32:00Z\n",
        "bin > name* 2: name | 1979-05-27T07:32:00Z",
    ]


def test_yaml_keys_of_blocks_lists_scalars_and_documents():
    text = """%YAML 1.2
---
a: 1 # c
b:
  "c d": 'x: y
    z: z'
  d: |
    no: key

    # no comment
  e:
  - f: &anchor
      g: *other
  # c
  h: plain
    text: goes on
  i: {j: http://x, "k": [l, m: n]}
? o
: p
---
- q: http://x:1
...
r:
"""
    assert shown("yaml", text) == [
        "a 1: a | 1",
        "b 1: b | " + text[text.index('"c d"') : text.index("\n? o")],
        "b > c d 2: c d | 'x: y\n    z: z'",
        "b > d 2: d | |\n    no: key\n\n    # no comment",
        "b > e 2: e | - f: &anchor\n      g: *other",
        "e > f* 3: f | &anchor\n      g: *other",
        "f > g* 4: g | *other",
        "b > h 2: h | plain\n    text: goes on",
        'b > i 2: i | {j: http://x, "k": [l, m: n]}',
        "i > j 3: j | http://x",
        "i > k 3: k | [l, m: n]",
        "k > m* 4: m | n",
        "o 1: o | p",
        "q* 1: q | http://x:1",
        "r 1: r | ",
    ]


def test_templates_and_broken_lines_do_not_hide_what_follows():
    text = '{{- if .Values.x }}\na: {{ .Values.a }}\n  b: 1\n{{- end }}\nc: [1,\nd: 2\ne: "open\nf:\n\t- tab\n'
    assert [line.split(" ")[0] for line in shown("yaml", text)] == ["a", "a", "c", "d", "e", "f"]


def test_json_with_comments_and_without_ends():
    text = """{
  // "no": 1
  "a\\u00e9\\"": {"b": [1, {"c": "x:y,"}], /* , */ "d": null,},
  e: 'f', "g" : 2"""
    assert shown("json", text) == [
        'aé" 1: a\\u00e9\\" | {"b": [1, {"c": "x:y,"}], /* , */ "d": null,}',
        'aé" > b 2: b | [1, {"c": "x:y,"}]',
        'b > c* 3: c | "x:y,"',
        'aé" > d 2: d | null',
        "e 1: e | 'f'",
        "g 1: g | 2",
    ]


def test_ini_and_its_kin_differ_in_what_continues_a_value():
    assert shown(
        "ini", "; c\n[a.b] ; c\nk = v\n  more\n\n  # c\n  more = more\nl: w # c\nnone\nhttp://x\n[c]\nm=1"
    ) == [
        "a.b 1: a.b | k = v\n  more\n\n  # c\n  more = more\nl: w # c\nnone\nhttp://x\n",
        "a.b > k 2: k | v\n  more\n\n  # c\n  more = more",
        "a.b > l 2: l | w # c",
        "c 1: c | m=1",
        "c > m 2: m | 1",
    ]
    assert shown("systemd", "[Service]\nExecStart=a \\\n# c\n  b:c \\\\\nX=\n") == [
        "Service 1: Service | ExecStart=a \\\n# c\n  b:c \\\\\nX=\n",
        "Service > ExecStart 2: ExecStart | a \\\n# c\n  b:c \\\\",
        "Service > X 2: X | ",
    ]
    assert shown("git-config", '[remote "o]"]\n\turl = u\n\tfetch = f\n') == [
        'remote "o]" 1: remote "o]" | \turl = u\n\tfetch = f\n',
        'remote "o]" > url 2: url | u',
        'remote "o]" > fetch 2: fetch | f',
    ]
    assert shown("properties", "! c\na.b = c \\\n  d\nk v\\=\nj\\ k:w\nalone") == [
        "a.b 1: a.b | c \\\n  d",
        "k 1: k | v\\=",
        "j\\ k 1: j\\ k | w",
        "alone 1: alone | ",
    ]
    assert shown("dotenv", 'export A=b # c\nB="x\ny=z"\nC=\'open\nD=1') == [
        "A 1: A | b # c",
        'B 1: B | "x\ny=z"',
        "C 1: C | 'open",
        "D 1: D | 1",
    ]
    assert shown("ini", "<x>\na = b\n</x>\n") == []
    assert shown("ini", "server {\n  listen 80;\n  if ($a = b) { x; }\n}\nbind *:80\n") == []


FRAGMENTS = {
    "markdown": [
        *("# a\n", "## b ##\n", "a\n", "b\n", "===\n", "---\n", "\n", "\n", "> ", "- ", "1. ", "  ", "    ", "```\n"),
        *("~~~ py\n", "<!-- x\n", "-->\n", "<div>\n", "* * *\n", "`x`\n", "\t", "#\n", "``````\n", "12) "),
    ],
    "restructuredtext": [
        *("Title\n", "Other title\n", "=====\n", "-----\n", "~~~~~~~~~~~~\n", "\n", "\n", "  in\n", "- item\n", "1. item\n\n"),
        *(".. note::\n", "::\n\n  in\n", ":f: x\n", "====\n", "text::\n\n  in\n", "| line\n", ">>> x\n", "*\n", "...\n", "__ x\n"),
        "==  ==\na   b\n==  ==\n",
    ],
    "toml": [
        *("a{} = 1\n", "b{}.c = 'x'\n", "[t{}]\n", "[t{}.u]\n", '"k {}" = "v"\n', "[[l{}]]\n", "d{} = [\n  1, # ]\n]\n"),
        *('m{} = """\n[x]\n"""\n', "e{} = {{f = 1, g.h = [{{i = 2}}]}}\n", "n{} = '''\n# x'''\n", "\n", "o{} = 1979-05-27\n"),
    ],
    "json": ['{"a": 1}', '{"b\\"": [{"c": null}, 2], "d": {}}', '[[], {"e": "f:g", "h": {"i": ["j", {}]}}]'],
    "yaml": [
        *("a: 1\n", "b:\n", "  c: x\n", "  d:\n", "    e: y\n", "- f: 1\n", "  - g\n", "h: |\n  i: no\n", "\n", "# c\n"),
        *("j: 'x\n  y'\n", "k: {l: 1, m: [2, n: 3]}\n", "o: >-\n", "---\n", "? p\n: q\n", "r: &s t\n", "u: [\n  v]\n"),
    ],
    "ini": ["[a{}]\n", "[b c{}]\n", "k{} = v\n", "l{}: w\n", "  more\n", "\n", "; c\n", "  # c\n", "m{}=\n", "n = [x]\n"],
}  # fmt: skip


def document(language, dice):
    pieces = [dice.choice(FRAGMENTS[language]) for _ in range(dice.randint(1, 12))]
    if language == "json":
        return "[" + ", ".join(pieces) + "]"
    if language in {"toml", "ini"}:
        return "".join(piece.format(number) for number, piece in enumerate(pieces))  # no key twice
    return "".join(pieces)


@pytest.mark.parametrize("language", READERS)
def test_random_documents_read_as_an_independent_reader_reads_them(language):
    ours, reference, is_there = READERS[language]
    if not is_there():
        pytest.skip("the reference is not installed")
    dice = random.Random(language)
    read = 0
    for _ in range(DOCUMENTS):
        text = document(language, dice).encode()
        try:
            expected = reference(text)
        except Refused:
            ours(text)
            continue
        assert ours(text) == expected, text.decode()
        read += bool(expected)
    assert read > DOCUMENTS / 30


DOCUMENTS = 250

HOSTILE = (
    *(b"[", b"]", b"{", b"- ", b"> ", b'"', b"'", b"`a", b"a = [\n", b"a: [\n", b"[\n", b'"\n', b"? ", b"a: |\n", b"a: {b: \n"),
    *(b" ", b"\n", b"#", b"#\n", b"\\\n", b"a.", b"/*", b"<a ", b"<!--", b'<a b="', b"=\n", b"=== ===\na\n", b"---\n", b"+++\n"),
    *(b'"""', b"'''\n", b"[[a]]\n", b"[a]: ", b"{#", b"# a {#", b"a=\n b\n", b"[a] ", b'{"a":', b"k: [\n---\n", b"A='\n", b":a"),
)  # fmt: skip


@pytest.mark.parametrize("language", _SCANNERS)
def test_hostile_text_takes_linear_time(language):
    # A square of these would be minutes; the deepening lines are for scanners that look ahead.
    texts = [piece * (16_000 // len(piece)) for piece in HOSTILE]
    texts += [
        b"".join(b" " * depth + piece for depth in range(200))
        for piece in (b"a: [\n", b"- a:\n", b'a: "\n', b"a = b\n")
    ]
    for text in texts:
        began = time.process_time()
        outline_of(language, text)
        assert time.process_time() - began < 3, text[:20]


@pytest.mark.parametrize("language", _SCANNERS)
def test_random_bytes_raise_nothing(language):
    dice = random.Random(language)
    signs = "[]{}:=,#'\"\\-|>&*?!`~<>/\n\n\n\t  ab.é\r\u2028\x0c"
    for _ in range(300):
        shown(language, "".join(dice.choice(signs) for _ in range(dice.randint(0, 60))))


def test_an_outline_has_places_in_characters_and_qualified_names():
    text = 'été.b = 1\n[tool.ruff]\n[tool.ruff.lint]\n"é" = {x = 1}\nl = [{y = 1}]\n'.encode()
    definitions = outline_of("toml", text).definitions
    assert [(d.kind, d.owner, d.name, d.line, d.column, d.end_line, d.parent) for d in definitions] == [
        ("key", "été", "b", 1, 1, 1, -1),
        ("section", "tool", "ruff", 2, 2, 2, -1),
        ("section", "", "lint", 3, 2, 5, 1),
        ("key", "", "é", 4, 2, 4, 2),
        ("key", "", "x", 4, 8, 4, 3),
        ("key", "", "l", 5, 1, 5, 2),
    ]


def test_a_large_file_keeps_the_levels_that_fit():
    many = ", ".join(f'"k{number}": {{"version": 1}}' for number in range(DEFINITIONS_MAX - 1))
    names = {d.name for d in outline_of("json", b'{"packages": {%s}}' % many.encode()).definitions}
    assert {"packages", "k0"} <= names
    assert "version" not in names
    assert len(outline_of("json", b'{"p": {"more": 1, %s}}' % many.encode()).definitions) == 1
