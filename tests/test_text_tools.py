"""The toolset `text`: what specification 002 shows of TextInspect and TextRead, and what each promises beyond."""

import hashlib
import json
import os
import socket

import jsonschema
import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.answers import text_file
from ctxd.daemon.errors import ToolError
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.daemon.tools.text import READ_LINES_MAX
from ctxd.indexer.languages import LANGUAGES
from projects import opened, write


def of_lines(count, **lines):
    """A text of so many lines, those named `_7` given, the rest prose."""
    given = {int(name[1:]): line for name, line in lines.items()}
    return "".join(given.get(number, f"prose of line {number}") + "\n" for number in range(1, count + 1))


README = of_lines(
    847,
    _1="---",
    _2="title: Docs",
    _3="date: 2026-01-01",
    _4="tags: [a, b]",
    _5="---",
    _6="",
    _7="# Project Overview",
    _14="",
    _15="## Installation {#installation}",
    _16="",
    _17="Follow these steps to install",
    _18="### Prerequisites",
    _20="```bash",
    _25="```",
    _34="",
    _35="### Quick Start",
    _51="",
    _52='## Configuration <a id="config-options"></a>',
    _53="",
    _54="The following options are available:",
    _55="```json",
    _72="```",
    _73="   Set the database connection string",
    _120="## API Reference",
    _125="```typescript",
    _126="const client = 1;",
    _180="```",
    _451="## Last",
)
SETTINGS = of_lines(
    234,
    _1="# Settings",
    _2="# of the server",
    _3="# by hand",
    _4="",
    _5="[database]",
    _6="host = a",
    _44="",
    _45="[cache]",
    _88="",
    _89="[logging]",
    _150="",
    _151="",
)
FILES = {"docs/README.md": README, "config/settings.conf": SETTINGS}


def call(view, tool, **arguments):
    answer = TOOLS[tool].call(Call(view), arguments)
    jsonschema.validate(answer, TOOLS[tool].output_schema)
    return answer


def inspect(view, path="docs/README.md", **arguments):
    return call(view, "TextInspect", filePath=path, **arguments)


def read(view, target, path="docs/README.md"):
    return call(view, "TextRead", filePath=path, target=target)


def error(view, tool, **arguments):
    with pytest.raises(ToolError) as caught:
        call(view, tool, **arguments)
    answer = TOOLS[tool].error(caught.value)
    jsonschema.validate(answer, TOOLS[tool].output_schema)
    assert answer["status"] == "error"
    return answer["message"], answer["suggestions"]


def hash_of(text):
    return "sha256:" + hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


@pytest.fixture
def view(project, folder):
    write(folder, FILES)
    return View(project)


# TextInspect, structure


def test_the_structure_of_markdown_is_as_the_specification_shows_it(view, folder):
    assert inspect(view) == {
        "filePath": os.path.realpath(folder) + "/docs/README.md",
        "totalLines": 847,
        "fileSize": "15KB",
        "format": "markdown",
        "structure": {
            "frontmatter": {"startLine": 1, "endLine": 5, "keys": ["title", "date", "tags"]},
            "headings": [
                {"level": 1, "text": "Project Overview", "line": 7},
                {
                    "level": 2,
                    "text": "Installation",
                    "line": 15,
                    "children": [
                        {"level": 3, "text": "Prerequisites", "line": 18},
                        {"level": 3, "text": "Quick Start", "line": 35},
                    ],
                },
                {"level": 2, "text": 'Configuration <a id="config-options"></a>', "line": 52},
                {"level": 2, "text": "API Reference", "line": 120},
                {"level": 2, "text": "Last", "line": 451},
            ],
            "codeBlocks": [
                {"language": "bash", "startLine": 20, "endLine": 25},
                {"language": "json", "startLine": 55, "endLine": 72},
                {"language": "typescript", "startLine": 125, "endLine": 180},
            ],
            "anchors": [{"id": "installation", "line": 15}, {"id": "config-options", "line": 52}],
        },
        "hash": hash_of(README),
    }


def test_the_structure_of_plain_text_is_as_the_specification_shows_it(view, folder):
    found = inspect(view, "config/settings.conf")
    assert found == {
        "filePath": os.path.realpath(folder) + "/config/settings.conf",
        "totalLines": 234,
        "fileSize": "4KB",
        "format": "text",
        "structure": {
            "sections": [
                {"marker": "[database]", "line": 5},
                {"marker": "[cache]", "line": 45},
                {"marker": "[logging]", "line": 89},
            ],
            "blankLineGroups": [4, 44, 88, 150],
            "commentBlocks": [{"startLine": 1, "endLine": 3, "prefix": "#"}],
        },
        "hash": hash_of(SETTINGS),
    }


def test_the_structure_holds_no_content(view):
    assert "prose" not in json.dumps(inspect(view)) + json.dumps(inspect(view, "config/settings.conf"))


def test_headings_nest_below_the_nearest_lower_level_and_none_below_the_first(view, folder):
    write(folder, {"a.md": "### c\n# a\n#### d\n##### e\n### c\n## b\n#### d\n# a\n## b\n```\n```\n"})
    found = inspect(view, "a.md")["structure"]

    def shown(headings):
        return [(one["line"], *map(tuple, [shown(one["children"])] if "children" in one else [])) for one in headings]

    assert shown(found["headings"]) == [(1,), (2,), (3, ((4,),)), (5,), (6, ((7,),)), (8,), (9,)]
    assert found["codeBlocks"] == [{"language": None, "startLine": 10, "endLine": 11}]
    assert "frontmatter" not in found


@pytest.mark.parametrize(
    ("path", "text", "format_", "structure"),
    [
        ("a.rst", "T\n=\n\nS\n-\n", "restructuredtext", {"headings": [(1, "T", 1), (2, "S", 4)]}),
        ("a.mdx", "# T\n", "markdown", {"headings": [(1, "T", 1)]}),
        ("a.toml", "# c\n[[a.b]] # x\nc = 1\n", "text", {"sections": [("[[a.b]]", 2)], "commentBlocks": [(1, 1, "#")]}),
        ("a.yml", "on: x\njobs:\n  a: 1\n", "text", {"sections": [("on", 1), ("jobs", 2)]}),
        ("a.json", '{"a": {"b": 1},\n "c": 2}\n', "text", {"sections": [("a", 1), ("c", 2)]}),
        ("a.service", "[Unit]\n; c\n", "text", {"sections": [("[Unit]", 1)], "commentBlocks": [(2, 2, ";")]}),
        ("notes", "[a b]\n\n\n-- c\n", "text", {"sections": [("[a b]", 1)], "blankLineGroups": [2], "commentBlocks": [(4, 4, "--")]}),
        (
            "a.c",
            "#if 1\n/* a\n * b */\n// c\n// d\nint x; /* e */\n/* f */ int y;\n /* g\n",
            "text",
            {"commentBlocks": [(2, 3, "/*"), (4, 5, "//"), (8, 8, "/*")]},
        ),
        ("a.py", "#!/bin/python\n# a\n\nx = [\n[a]\n]\n", "text", {"commentBlocks": [(1, 2, "#")], "blankLineGroups": [3]}),
        ("a.lua", "--[[ a\nb\n]]\n-- c\n", "text", {"commentBlocks": [(1, 3, "--[["), (4, 4, "--")]}),
        ("a.html", "<!-- a\n-->\n<b>\n", "text", {"commentBlocks": [(1, 2, "<!--")]}),
        ("empty.txt", "", "text", {}),
        ("blank.txt", "\n \n", "text", {"blankLineGroups": [1]}),
    ],
)  # fmt: skip
def test_other_formats(view, folder, path, text, format_, structure):
    write(folder, {path: text})
    found = inspect(view, path)
    assert found["format"] == format_
    assert found["totalLines"] == text.count("\n")
    shown = {
        name: [tuple(one.values()) if isinstance(one, dict) else one for one in values]
        for name, values in found["structure"].items()
        if values
    }
    assert {"codeBlocks", "anchors"} & set(found["structure"]) == (
        {"codeBlocks", "anchors"} if path == "a.mdx" else set()
    )
    assert shown == structure


def test_comments_are_known_of_nearly_all_languages():
    without = "astro eex json-lines literate-haskell markdown patch restructuredtext template"
    assert {one.name for one in LANGUAGES if not one.comments} == set(without.split())


@pytest.mark.parametrize(
    ("size", "shown"), [(0, "0B"), (1023, "1023B"), (1024, "1KB"), (32_768, "32KB"), (3 << 19, "1.5MB")]
)
def test_sizes_are_for_people(view, folder, size, shown):
    write(folder, {"a.txt": b"x" * size})
    assert inspect(view, "a.txt")["fileSize"] == shown


def test_a_long_structure_goes_on_where_it_ended_and_says_how_much_there_is(view, folder):
    text = "".join(f"## Heading {number}\n\n### Below {number}\n\n```sh\n```\n" for number in range(700))
    write(folder, {"a.md": text})
    lines, cursor, pages = [], None, 0
    while True:
        found = inspect(view, "a.md", maxTokens=5_000, **({"cursor": cursor} if cursor else {}))
        pages += 1
        assert len(json.dumps(found)) < 5_000 * 4 * 1.3
        for heading in found["structure"]["headings"]:
            lines += [heading["line"], *(child["line"] for child in heading.get("children", ()))]
        assert found["totals"] == {"headings": 1400, "codeBlocks": 700, "anchors": 0}
        assert found["truncated"]
        cursor = found.get("nextCursor")
        if cursor is None:
            break
    assert lines == sorted([6 * n + 1 for n in range(700)] + [6 * n + 3 for n in range(700)])
    assert pages > 3


def test_a_cursor_is_refused_when_the_file_has_changed(view, folder):
    write(folder, {"a.md": "# a\n" * 500})
    cursor = inspect(view, "a.md", maxTokens=500)["nextCursor"]
    write(folder, {"a.md": "# a\n" * 499})
    assert error(view, "TextInspect", filePath="a.md", maxTokens=500, cursor=cursor) == (
        "the file has changed since the cursor was given",
        ["Leave the cursor out to begin again"],
    )


# TextInspect, search


def test_search_tells_line_column_context_and_the_heading_above(view, folder):
    found = inspect(view, mode="search", query="database connection", context=2)
    assert found == {
        "filePath": os.path.realpath(folder) + "/docs/README.md",
        "query": "database connection",
        "matches": [
            {
                "line": 73,
                "column": 12,
                "text": "   Set the database connection string",
                "context": {
                    "before": ["prose of line 71", "```"],
                    "after": ["prose of line 74", "prose of line 75"],
                },
                "nearestHeading": {"level": 2, "text": 'Configuration <a id="config-options"></a>', "line": 52},
            }
        ],
        "totalMatches": 1,
        "hash": hash_of(README),
    }
    assert "context" not in inspect(view, mode="search", query="database connection")["matches"][0]


def test_search_mode_knows_every_occurrence_columns_in_characters_and_edges(view, folder):
    write(folder, {"a.md": "größe ß ß\r\n# H\nß", "b.txt": "a"})
    found = inspect(view, "a.md", mode="search", query="ß", context=1)
    assert [(one["line"], one["column"], one["text"]) for one in found["matches"]] == [
        (1, 4, "größe ß ß"),
        (1, 7, "größe ß ß"),
        (1, 9, "größe ß ß"),
        (3, 1, "ß"),
    ]
    assert [one.get("nearestHeading") for one in found["matches"]] == [None] * 3 + [
        {"level": 1, "text": "H", "line": 2}
    ]
    assert found["matches"][3]["context"] == {"before": ["# H"], "after": []}
    assert "nearestHeading" not in inspect(view, "b.txt", mode="search", query="a")["matches"][0]


def test_search_takes_regular_expressions_and_minds_case(view, folder):
    write(folder, {"a.txt": "TODO: one\ntodo: two\nTODO(x): three\n"})
    lines = {
        ("TODO:.*", True): [1],
        ("TODO:.*", False): [],
        ("(?i)todo", True): [1, 2, 3],
        ("TODO(?=:)", True): [1],
        ("^", True): [1, 2, 3],
    }
    for (query, regex), expected in lines.items():
        found = inspect(view, "a.txt", mode="search", query=query, regex=regex)
        assert [one["line"] for one in found["matches"]] == expected
        assert found["totalMatches"] == len(expected)
        assert ("coverage" in found) == (not expected)
    assert "Invalid pattern" in error(view, "TextInspect", filePath="a.txt", mode="search", query="a(", regex=True)[0]


def test_search_goes_on_where_it_ended_within_a_line_too(view, folder):
    text = "ab " * 3_000 + "\n" + "ab\n" * 300
    write(folder, {"a.txt": text})
    places, cursor = [], None
    while True:
        arguments = {"cursor": cursor} if cursor else {}
        found = inspect(view, "a.txt", mode="search", query="b", maxTokens=20_000, **arguments)
        places += [(one["line"], one["column"]) for one in found["matches"]]
        assert found["totalMatches"] == 3_300
        assert all(len(one["text"]) <= 500 for one in found["matches"])
        assert ("lineTruncated" in found["matches"][-1]) == (found["matches"][-1]["line"] == 1)
        cursor = found.get("nextCursor")
        if cursor is None:
            break
    assert places == [(1, 3 * n + 2) for n in range(3_000)] + [(n + 2, 2) for n in range(300)]


# TextInspect, lines


def test_lines_are_shown_by_ranges(view, folder):
    found = inspect(view, mode="lines", query="52-54")
    assert found == {
        "filePath": os.path.realpath(folder) + "/docs/README.md",
        "query": "52-54",
        "lines": [
            {"number": 52, "text": '## Configuration <a id="config-options"></a>'},
            {"number": 53, "text": ""},
            {"number": 54, "text": "The following options are available:"},
        ],
        "totalLines": 847,
        "hash": hash_of(README),
    }


@pytest.mark.parametrize(
    ("query", "numbers"),
    [("2", [2]), ("1-2,4", [1, 2, 4]), ("4, 1 - 2", [1, 2, 4]), ("1-3,2-4", [1, 2, 3, 4]), ("4-99", [4, 5])],
)
def test_ranges_may_come_in_any_order_and_end_behind_the_last_line(view, folder, query, numbers):
    write(folder, {"a.txt": b"1\r\n2\n3\n4\n5"})
    assert [one["number"] for one in inspect(view, "a.txt", mode="lines", query=query)["lines"]] == numbers


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("x", "'x' is no range of lines"),
        ("1-2,", "'' is no range of lines"),
        ("0-2", "'0-2' is no range of lines"),
        ("3-2", "'3-2' is no range of lines"),
        ("-5", "'-5' is no range of lines"),
        ("9", "Line 9 is out of bounds: the file has 2 lines"),
        ("", 'the mode "lines" needs a query'),
    ],
)
def test_ranges_that_are_none(view, folder, query, message):
    write(folder, {"a.txt": "1\n2\n"})
    assert error(view, "TextInspect", filePath="a.txt", mode="lines", query=query)[0] == message


def test_many_lines_and_long_ones_are_cut_and_go_on(view, folder):
    write(folder, {"a.txt": "x" * 10_000 + "\n" + "y\n" * 5_000})
    found = inspect(view, "a.txt", mode="lines", query="1-9999999")
    assert found["lines"][0] == {"number": 1, "text": "x" * 500, "lineTruncated": True}
    assert len(found["lines"]) == 1_000
    found = inspect(view, "a.txt", mode="lines", query="1-9999999", cursor=found["nextCursor"])
    assert found["lines"][0] == {"number": 1_001, "text": "y"}


def test_a_mode_and_its_query_belong_together(view):
    assert error(view, "TextInspect", filePath="docs/README.md", query="x")[0] == "a query belongs to another mode"
    assert error(view, "TextInspect", filePath="docs/README.md", mode="search")[0] == 'the mode "search" needs a query'
    assert "'structure', 'search' or 'lines'" in error(view, "TextInspect", filePath="a", mode="outline")[0]
    assert inspect(view, query="")["totalLines"] == 847


# TextRead


@pytest.mark.parametrize(
    ("target", "path", "first", "last"),
    [
        ({"lines": {"start": 50, "end": 75}}, "docs/README.md", 50, 75),
        ({"heading": {"text": "Installation", "includeChildren": True}}, "docs/README.md", 15, 51),
        ({"heading": {"text": "Installation"}}, "docs/README.md", 15, 51),
        ({"heading": {"text": "Installation", "includeChildren": False}}, "docs/README.md", 15, 17),
        ({"codeBlock": {"index": 2}}, "docs/README.md", 126, 179),
        ({"anchor": "config-options"}, "docs/README.md", 52, 119),
        ({"anchor": "quick-start"}, "docs/README.md", 35, 51),
        ({"section": "[database]"}, "config/settings.conf", 5, 44),
        ({"section": "logging"}, "config/settings.conf", 89, 234),
        ({"search": {"query": "database connection", "contextLines": 10}}, "docs/README.md", 63, 83),
        ({"search": {"query": "database connection"}}, "docs/README.md", 63, 83),
    ],
)
def test_a_part_is_read_as_the_specification_shows_it(view, folder, target, path, first, last):
    text = FILES[path]
    assert read(view, target, path) == {
        "filePath": os.path.realpath(folder) + "/" + path,
        "target": target,
        "range": {"startLine": first, "endLine": last},
        "content": "\n".join(text.split("\n")[first - 1 : last]),
        "truncated": False,
        "hash": hash_of(text),
    }


def test_a_long_part_keeps_its_first_lines(view):
    found = read(view, {"heading": {"text": "API Reference"}})
    assert found["range"] == {"startLine": 120, "endLine": 450}
    assert found["content"] == "\n".join(README.split("\n")[119 : 119 + READ_LINES_MAX])
    assert (found["truncated"], found["totalLines"]) == (True, 331)
    assert found["suggestion"] == (
        "Use TextInspect to find specific subsections, or target by line range: content ends with line 319"
    )
    assert not read(view, {"lines": {"start": 1, "end": 200}})["truncated"]


def test_a_part_of_very_long_lines_is_cut_between_lines_else_within_one(view, folder):
    write(folder, {"a.txt": "a\n" + "ß" * 100_000 + "\nb\n"})
    found = read(view, {"lines": {"start": 1, "end": 3}}, "a.txt")
    assert (found["content"], found["truncated"], found["totalLines"]) == ("a", True, 3)
    found = read(view, {"lines": {"start": 2, "end": 2}}, "a.txt")
    assert set(found["content"]) == {"ß"}
    assert 30_000 < len(found["content"]) <= 40_000
    assert "line 2 is cut, as it is very long" in found["suggestion"]


def test_a_match_in_a_very_long_line_is_read_with_what_is_around_it(view, folder):
    write(folder, {"a.js": "ß" * 100_000 + " needle " + "ü" * 100_000})
    found = read(view, {"search": {"query": "needle"}}, "a.js")
    before, _, after = found["content"].partition(" needle ")
    assert (set(before), set(after), found["truncated"]) == ({"ß"}, {"ü"}, True)
    assert 9_000 < len(before) < 11_000
    assert 25_000 < len(after) < 31_000


def test_empty_parts_have_no_lines(view, folder):
    write(folder, {"a.md": "```\n```\n\nx\n"})
    found = read(view, {"codeBlock": {"index": 0}}, "a.md")
    assert (found["content"], found["range"], found["truncated"]) == ("", {"startLine": 2, "endLine": 1}, False)
    found = read(view, {"lines": {"start": 3, "end": 3}}, "a.md")
    assert (found["content"], found["range"]) == ("", {"startLine": 3, "endLine": 3})


def test_the_first_of_several_is_read_and_the_others_are_named(view, folder):
    write(folder, {"a.md": "## A\n\n## B\n\n## A\n\nx\n"})
    found = read(view, {"heading": {"text": "A"}}, "a.md")
    assert (found["range"]["startLine"], found["matchCount"], found["otherLines"]) == (1, 2, [5])
    assert "matchCount" not in read(view, {"heading": {"text": "B"}}, "a.md")


def test_what_is_not_there_is_told_with_what_is_similar(view):
    message, suggestions = error(
        view, "TextRead", filePath="docs/README.md", target={"heading": {"text": "Instalation"}}
    )
    assert message == "Target not found: heading 'Instalation'"
    assert suggestions == [
        "Similar heading found: 'Installation' at line 15",
        "Use TextInspect to see all headings in the document",
    ]
    assert error(view, "TextRead", filePath="docs/README.md", target={"lines": {"start": 800, "end": 900}})[0] == (
        "Line 900 is out of bounds: the file has 847 lines"
    )


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "target: give exactly one of lines, heading, codeBlock, anchor, section, search, got {}"),
        ({"anchor": "a", "section": "b"}, "target: give exactly one of"),
        ({"headings": {"text": "a"}}, "there is no argument 'target.headings'; did you mean 'heading'?"),
        ({"heading": {"txt": "a"}}, "did you mean 'text'?"),
        ({"heading": "Installation"}, "target.heading: input should be"),
        ({"lines": {"start": 0, "end": 1}}, "target.lines.start: 0 is too small; the least is 1"),
        ({"lines": {"start": 1}}, "the argument 'target.lines.end' is required"),
        ({"codeBlock": {"index": -1}}, "target.codeBlock.index: -1 is too small; the least is 0"),
        ("Installation", "target: input should be"),
    ],
)
def test_a_target_is_exactly_one(view, target, message):
    assert message in error(view, "TextRead", filePath="docs/README.md", target=target)[0]


def test_null_is_no_target(view):
    target = {"anchor": None, "heading": {"text": "Last"}, "lines": None}
    assert read(view, target)["target"] == {"heading": {"text": "Last"}}


# Both


def test_files_are_read_as_they_are_now_in_any_encoding(view, folder):
    text = "# Größe\r\n\r\nx\r\n"
    for data in (text.encode(), b"\xef\xbb\xbf" + text.encode(), text.encode("utf-16"), text.encode("latin-1")):
        write(folder, {"a.md": data})
        found = inspect(view, "a.md")
        assert found["structure"]["headings"] == [{"level": 1, "text": "Größe", "line": 1}]
        assert found["hash"] == hash_of(data)
        assert read(view, {"heading": {"text": "Größe"}}, "a.md")["content"] == "# Größe\n\nx"


def test_ignored_files_are_read_and_absolute_paths_too(view, folder):
    write(folder, {".gitignore": "out/\n", "out/a.md": "# A\n"})
    for path in ("out/a.md", f"{folder}/out/a.md", "./docs/../out/a.md"):
        assert inspect(view, path)["filePath"] == os.path.realpath(folder) + "/out/a.md"


def test_what_is_no_text_file_of_the_project_is_refused(view, folder, tmp_path, monkeypatch):
    write(folder, {"a.bin": b"a\0b", ".env": "A=1\n", ".env.example": "A=1\n"})
    (tmp_path / "out.md").write_text("# out\n")
    (folder / "link.md").symlink_to(tmp_path / "out.md")
    os.mkfifo(folder / "fifo")
    with socket.socket(socket.AF_UNIX) as one:
        monkeypatch.chdir(folder)  # the path of a socket is short
        one.bind("socket")
    for path, message in {
        "nothing.md": "there is no file or folder",
        "docs": "is a folder",
        ".": "is a folder",
        "": "a path is empty",
        "a.bin": "is binary",
        ".env": "holds secrets by its name",
        "fifo": "cannot be read: not_a_file",
        "socket": "cannot be read: unreadable",
        "link.md": "lies outside the project",
        "../out.md": "lies outside the project",
        "/etc/passwd": "lies outside the project",
    }.items():
        for tool, arguments in {"TextInspect": {}, "TextRead": {"target": {"section": ""}}}.items():
            assert message in error(view, tool, filePath=path, **arguments)[0], path
    assert read(view, {"section": ""}, ".env.example")["content"] == "A=1"


def test_secrets_are_read_where_a_setting_allows_it(folder, home, workers):
    write(folder, {".env": "A=1\nB=2\n"})
    with opened(folder, home, workers, allow_secrets=True) as project:
        assert read(View(project), {"section": ""}, ".env")["content"] == "A=1\nB=2"


def test_the_structure_of_a_large_text_is_found_by_a_worker(view, folder, monkeypatch):
    text = "# One\n\n" + "x\n" * 60_000 + "# Two\n"
    write(folder, {"a.md": text, "b.md": text})
    expected = [{"level": 1, "text": "One", "line": 1}, {"level": 1, "text": "Two", "line": 60_003}]
    assert inspect(view, "a.md")["structure"]["headings"] == expected
    monkeypatch.setattr(text_file, "_SCAN_SECONDS", 0.0)
    message, suggestions = error(view, "TextInspect", filePath="b.md")
    assert message == "The structure of the text could not be found within 0.0 s"
    assert "lines, text, pattern, search" in suggestions[0]
    found = inspect(view, "b.md", mode="search", query="x", maxTokens=300)
    assert found["totalMatches"] == 60_000
    assert "nearestHeading is left out" in found["note"]
    assert read(view, {"lines": {"start": 60_003, "end": 60_003}}, "b.md")["content"] == "# Two"
    monkeypatch.setattr(text_file, "SCANNED_BYTES_MAX", 100_000)
    assert "is too large to find its structure" in error(view, "TextInspect", filePath="b.md")[0]
