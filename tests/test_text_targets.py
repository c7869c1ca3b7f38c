"""From what a caller names to bytes: each row of docs/text-targets.md, what is ambiguous, and what errors suggest."""

import pytest

from ctxd.indexer.documents import text_targets as targets
from ctxd.indexer.documents.document import Document
from ctxd.indexer.patterns.pattern import compile_pattern
from ctxd.indexer.structure.heading_ids import slugs_of

GUIDE = """---
title: x
---

# Guide

<a id="inst"></a>

## Installation ##

recieve twice: recieve

```bash
ls
```

### Prerequisites

x

Use `it` {#use-it}
------------------

- item

  ```
  ```

## Installation

#### Deep
last"""
INI = """top = 1

# about it
[database]
host = a
port = 5
  6

# about the cache
[cache] ; fast
host = b

"""
TOML = """a = 1
[tool.ruff]
lint = {x = 1, y = 2}
select = [
  "A",
] # all
[[bin]]
name = "a"
[[bin]]
name = "b"
"""
YAML = """on: push
jobs:
  build:
    steps: []
  test: {x: 1, y: 2}
# end
env: 1
"""
JSON = '{\n  "scripts": {\n    "build": "make",\n    "test": "x"\n  },\n  "one": {"b": 1, "c": 2}\n}\n'
REST = "Use\n===\n\nSub\n---\n\ntext\n\nLast\n----\n"


def markdown(text=GUIDE):
    return Document(text.encode(), "markdown")


def taken(place, document):
    return document.text[place.start : place.end].decode()


def inserted(place, document):
    """The document with a mark where `insert` puts its content."""
    return (document.text[: place.insert_at] + b"|" + document.text[place.insert_at :]).decode()


def error(function, *arguments):
    with pytest.raises(targets.TargetError) as caught:
        function(*arguments)
    return caught.value.message, caught.value.suggestions


def test_lines_are_whole_and_inclusive():
    document = Document(b"one\ntwo\n\nlast", "")
    assert [taken(targets.by_lines(document, *lines), document) for lines in [(1, 1), (2, 3), (1, 4), (4, 4)]] == [
        "one\n",
        "two\n\n",
        "one\ntwo\n\nlast",
        "last",
    ]
    assert targets.by_lines(document, 2, 3)[4:6] == (2, 3)
    assert targets.by_lines(document, 5, 5, to_insert=True).insert_at == len(document.text)
    assert error(targets.by_lines, document, 4, 9)[0] == "Line 9 is out of bounds: the file has 4 lines"
    assert error(targets.by_lines, document, 7, 9)[0] == "Line 7 is out of bounds: the file has 4 lines"
    assert error(targets.by_lines, document, 3, 2)[0] == "Lines 3 to 2 are no range: it ends before it starts"
    assert error(targets.by_lines, Document(b"", ""), 1, 1)[0] == "Line 1 is out of bounds: the file is empty"
    assert targets.by_lines(Document(b"", ""), 1, 1, to_insert=True)[:3] == (0, 0, 0)


def test_lines_are_found_in_texts_of_many_blocks():
    lines = [b"x" * (number % 97) for number in range(20_000)]
    document = Document(b"\n".join(lines), "")
    for number in (1, 2, 777, 12_345, 19_999, 20_000):
        start = document.start_of_line(number)
        assert document.text[start:].startswith(lines[number - 1])
        assert document.line_of(start) == number
    assert document.start_of_line(20_001) == document.start_of_line(10**9) == len(document.text)


def test_a_heading_is_read_to_the_next_of_its_level_or_above():
    document = markdown()
    place = targets.heading_to_read(document, "Installation")
    assert (place.start_line, place.end_line, place.match_count, place.other_lines) == (9, 20, 2, (29,))
    assert taken(place, document).startswith("## Installation ##\n\nrecieve")
    assert taken(place, document).endswith("### Prerequisites\n\nx\n\n")
    assert targets.heading_to_read(document, "Installation", children=False).end_line == 16
    assert targets.heading_to_read(document, "Guide").end_line == 32
    assert targets.heading_to_read(document, "Deep")[4:6] == (31, 32)
    assert taken(targets.heading_to_read(document, "Use `it`"), document).startswith("Use `it` {#use-it}\n---")


def test_an_empty_anchor_in_a_heading_may_be_left_out_of_its_text():
    document = markdown('## <a name="x"></a>Setup\n\n## B <a id="y"/> \n')
    assert targets.by_heading(document, "## Setup").start_line == 1
    assert targets.by_heading(document, '## <a name="x"></a>Setup').start_line == 1
    assert targets.heading_to_read(document, "Setup").end_line == 2


def test_marks_tell_headings_of_one_title_apart():
    document = markdown("# Same\n\n## Same\n\n### Same\n")
    lines = [targets.heading_to_read(document, f"{'#' * level}{' ' * level}Same").start_line for level in (1, 2, 3)]
    assert lines == [1, 3, 5]
    assert targets.heading_to_read(document, "Same").other_lines == (3, 5)


@pytest.mark.parametrize(
    ("heading", "lines"),
    [
        ("## Installation", (9, 9)),
        ("##   Installation ##  ", (9, 9)),
        ("##\tInstallation", (9, 9)),
        ("## Use `it`", (21, 22)),
        ("## Use `it` {#use-it}", (21, 22)),
        ("#### Deep", (31, 31)),
    ],
)
def test_a_heading_to_change_is_its_own_lines(heading, lines):
    place = targets.by_heading(markdown(), heading)
    assert place[4:6] == lines
    assert place.insert_at == place.end
    assert place.whole_lines


def test_a_heading_to_change_needs_its_marks_and_its_level():
    message, suggestions = error(targets.by_heading, markdown(), "## Instalation")
    assert message == "Target not found: heading '## Instalation'"
    assert suggestions == [
        "Similar heading found: '## Installation' at line 9",
        "Use TextInspect to see all headings in the document",
    ]
    message, suggestions = error(targets.by_heading, markdown(), "installation")
    assert "must be named with its # marks" in message
    assert suggestions[0] == "Similar heading found: '## Installation' at line 9"
    assert error(targets.by_heading, markdown(), "### Installation")[1][0].endswith("'## Installation' at line 9")
    assert error(targets.by_heading, markdown(), "#Installation")[0].endswith("has none")
    assert error(targets.by_heading, Document(b"# x\n", ""), "# x")[0] == (
        "Target not found: a heading is a target in Markdown and reStructuredText only, which this file is not"
    )


def test_headings_of_restructuredtext_have_levels_too():
    document = Document(REST.encode(), "restructuredtext")
    assert targets.heading_to_read(document, "Sub")[4:6] == (4, 8)
    assert targets.by_heading(document, "## Last")[4:6] == (9, 10)


def test_a_code_block_is_its_inside():
    document = markdown()
    place = targets.by_code_block(document, 0)
    assert (taken(place, document), place.start_line, place.end_line) == ("ls\n", 14, 14)
    assert "ls\n|```" in inserted(place, document)
    empty = targets.by_code_block(document, 1)
    assert (taken(empty, document), empty.start_line, empty.end_line) == ("", 27, 26)
    unclosed = markdown("```\na\nb")
    assert taken(place := targets.by_code_block(unclosed, 0), unclosed) == "a\nb"
    assert place.end_line == 3
    assert error(targets.by_code_block, document, 2)[0] == (
        "Target not found: code block 2 of the document (it has 2: 0 to 1)"
    )
    assert "(it has none)" in error(targets.by_code_block, markdown("x\n"), 0)[0]


def test_an_anchor_is_an_explicit_id_first_then_a_slug():
    document = markdown()
    read = [targets.anchor_to_read(document, one)[4:6] for one in ("inst", "#use-it", "installation", "installation-1")]
    assert read == [(7, 16), (21, 28), (9, 16), (29, 30)]
    changed = [targets.by_anchor(document, one) for one in ("inst", "use-it", "deep")]
    assert [place[4:6] for place in changed] == [(7, 7), (21, 22), (31, 31)]
    assert "## Installation ##\n|" in inserted(changed[0], document)
    assert error(targets.anchor_to_read, document, "install")[1][0] == "Similar anchor found: 'installation' at line 9"


def test_an_anchor_beside_text_belongs_to_the_text():
    document = markdown('## A\n\n<a name="x"></a>Some text\n## B\n\nc\n')
    assert targets.anchor_to_read(document, "x")[4:6] == (3, 3)
    assert "text\n|## B" in inserted(targets.by_anchor(document, "x"), document)


def test_slugs_are_those_of_code_hosts():
    titles = [
        "Quick Start!",
        "`code` & _it_",
        "A [link](http://x) ![i](u)",
        "Größe 2½",
        "Same",
        "Same",
        "Same-1",
        "日本 語",
        "a_b",
        "---",
    ]
    assert slugs_of(titles) == [
        "quick-start",
        "code--it",
        "a-link-",
        "größe-2",
        "same",
        "same-1",
        "same-1-1",
        "日本-語",
        "a_b",
        "---",
    ]


@pytest.mark.parametrize("name", ["database", "[database]", " [ database ] "])
def test_a_section_is_read_to_the_next_and_changed_without_what_parts_them(name):
    document = Document(INI.encode(), "ini")
    assert targets.section_to_read(document, name)[4:6] == (4, 9)
    place = targets.by_section(document, name)
    assert taken(place, document) == "[database]\nhost = a\nport = 5\n  6\n"
    assert "[database]\n|host" in inserted(place, document)


def test_sections_end_with_the_text_and_the_first_begins_after_what_has_none():
    document = Document(INI.encode(), "ini")
    assert targets.section_to_read(document, "[cache]")[4:6] == (10, 12)
    assert taken(targets.by_section(document, "cache"), document) == "[cache] ; fast\nhost = b\n"
    assert targets.section_to_read(document, "")[4:6] == (1, 3)
    assert inserted(targets.by_section(document, ""), document).startswith("top = 1\n|")
    properties = Document(b"a.b = 1\nc: 2\n", "properties")
    assert taken(targets.by_key(properties, "", "a.b"), properties) == "a.b = 1\n"
    assert taken(targets.section_to_read(properties, ""), properties) == "a.b = 1\nc: 2\n"


@pytest.mark.parametrize(
    ("text", "language", "section", "key", "found", "whole_lines"),
    [
        (INI, "ini", "database", "host", "host = a\n", True),
        (INI, "ini", "[database]", "port", "port = 5\n  6\n", True),
        (INI, "ini", "cache", "host", "host = b\n", True),
        (TOML, "toml", "", "a", "a = 1\n", True),
        (TOML, "toml", "tool.ruff", "select", 'select = [\n  "A",\n] # all\n', True),
        (TOML, "toml", '[tool."ruff"]', "lint.y", "y = 2", False),
        (TOML, "toml", "[tool.ruff]", "lint", "lint = {x = 1, y = 2}\n", True),
        (YAML, "yaml", "jobs", "build", "  build:\n    steps: []\n", True),
        (YAML, "yaml", "jobs.test", "x", "x: 1", False),
        (YAML, "yaml", "", "env", "env: 1\n", True),
        (JSON, "json", "scripts", "build", '    "build": "make",\n', True),
        (JSON, "json", "one", "c", '"c": 2', False),
        ("[Service]\nExecStart=a \\\n  b\nType=x\n", "systemd", "Service", "ExecStart", "ExecStart=a \\\n  b\n", True),
        ('[remote "o"]\n\turl = u\n', "git-config", '[remote "o"]', "url", "\turl = u\n", True),
        ("export A=1\nB=2\n", "dotenv", "", "A", "export A=1\n", True),
    ],
)
def test_a_key_is_its_lines_or_where_it_shares_them_itself(text, language, section, key, found, whole_lines):
    document = Document(text.encode(), language)
    place = targets.by_key(document, section, key)
    assert (taken(place, document), place.whole_lines) == (found, whole_lines)
    assert place.insert_at == place.end


def test_sections_and_keys_that_come_again_are_counted():
    document = Document(TOML.encode(), "toml")
    assert targets.section_to_read(document, "[[bin]]").other_lines == (9,)
    place = targets.by_key(document, "bin", "name")
    assert (place.start_line, place.match_count, place.other_lines) == (8, 2, (10,))


def test_sections_and_keys_that_are_not_there():
    document = Document(INI.encode(), "ini")
    assert error(targets.by_section, document, "[databse]") == (
        "Target not found: section '[databse]'",
        ["Similar section found: '[database]' at line 4", "Use TextInspect to see all sections in the document"],
    )
    message, suggestions = error(targets.by_key, document, "database", "Host")
    assert message == "Target not found: key 'Host' in section '[database]'"
    assert suggestions[0] == "Similar key found: 'host' at line 5"
    assert "before the first section" in error(targets.by_key, document, "", "x")[0]
    assert "only, which this file is not" in error(targets.by_section, markdown(), "x")[0]


def test_a_text_is_its_first_occurrence_and_may_have_several_lines():
    document = markdown()
    place = targets.by_text(document, "recieve")
    assert (place.start_line, place.match_count, place.other_lines, place.whole_lines) == (11, 2, (11,), False)
    place = targets.by_text(document, "ls\r\n```\n\n#")
    assert (place.start_line, place.end_line) == (14, 17)
    message, suggestions = error(targets.by_text, document, "Recieve twice: recieve\nand more")
    assert message == "Target not found: text 'Recieve twice: recieve\nand more'"
    assert suggestions[0] == "Similar text found: 'recieve twice: recieve' at line 11"
    assert "line 19" not in str(error(targets.by_text, document, "\ud800"))


def test_lines_around_a_text_stay_within_the_text():
    document = Document(b"1\n2\n3\nx\n5\n6\n7\n", "")
    assert [targets.lines_around_text(document, "x", lines)[4:6] for lines in (0, 2, 10)] == [(4, 4), (2, 6), (1, 7)]


def test_a_pattern_is_its_first_match():
    document = Document(b"a1\nb22 b3\n", "")
    pattern = compile_pattern(r"[bB](\d+)", is_regex=True, case_sensitive=True)
    place = targets.by_pattern(document, pattern, "b", lambda: False)
    assert (taken(place, document), place.start_line, place.match_count, place.other_lines) == ("b22", 2, 2, (2,))
    absent = compile_pattern("zz", is_regex=True, case_sensitive=True)
    assert error(targets.by_pattern, document, absent, "zz", lambda: False)[0] == "Target not found: pattern 'zz'"


def test_a_pattern_that_takes_too_long_names_no_first_match():
    document = Document(b"x" * 300_000 + b"\n" + b"y" * 300_000 + b"\nfound\n", "")
    pattern = compile_pattern("found", is_regex=True, case_sensitive=True)
    assert "takes too long" in error(targets.by_pattern, document, pattern, "found", lambda: True)[0]
