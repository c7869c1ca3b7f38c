"""The toolset `code`: what specification 003 shows of it, and what each tool promises beyond."""

import hashlib
import json

import jsonschema
import pytest

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.answers.live_elements import outline
from ctxd.daemon.errors import ToolError
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.worker import FILE_BYTES_MAX
from projects import opened, ready, until, write

HEADER = """import React, { Component } from 'react';
import {
  log,
} from './log';

export class Header extends Component<Props> {
  private toggleMenu = () => {
    const { state } = this;
    if (state) setState({ isOpen: !state.isOpen });
    this.logAction('menu_toggled');
  }

  render(a: string, b = 2) {
    return <b onClick={() => setState(null)}>SETSTATE setstate</b>;
  }
}

// setState is not in an element here
"""
TREE = {
    "src/components/Header.tsx": HEADER,
    "src/app.py": "@cache\ndef main(argv):\n    if argv:\n        setState(1)\n\n\nLIMITS = {\n    'a': 1,\n}\n",
    "src/server.go": "package a\n\ntype T struct{}\n\nfunc (t *T) Run() {\n\tsetState()\n}\n",
    "notes.txt": "one\nsetState two\nthree\nfour\n",
}


def call(view, tool, **arguments):
    answer = TOOLS[tool].call(Call(view), arguments)
    jsonschema.validate(answer, TOOLS[tool].output_schema)
    return answer


def read(view, path, line, **arguments):
    return call(view, "read_code_element", filePath=path, lineNumber=line, **arguments)


def error(view, tool, **arguments):
    with pytest.raises(ToolError) as caught:
        call(view, tool, **arguments)
    assert TOOLS[tool].error(caught.value) == {"success": False, "error": str(caught.value)}
    return str(caught.value)


@pytest.fixture
def view(project, folder):
    write(folder, TREE)
    return View(project)


# read_code_element


def test_an_element_is_read_as_the_specification_shows_it(view, folder):
    found = read(view, "src/components/Header.tsx", 9, searchQuery="setState")
    assert found == {
        "success": True,
        "filePath": "src/components/Header.tsx",
        "lineNumber": 9,
        "searchQuery": "setState",
        "element": {
            "type": "method",
            "name": "toggleMenu",
            "content": "\n".join(HEADER.split("\n")[6:11]),
            "startLine": 7,
            "endLine": 11,
            "language": "typescript",
            "parameters": [],
            "modifiers": ["private"],
            "complexity": 2,
        },
        "relatedElements": [
            {"type": "parent", "element": {"type": "class", "name": "Header", "startLine": 6, "endLine": 16}}
        ],
        "imports": [
            {"type": "import", "content": "import React, { Component } from 'react';", "line": 1},
            {"type": "import", "content": "import {\n  log,\n} from './log';", "line": 2},
        ],
        "highlightPositions": [{"line": 9, "start": 15, "end": 23}],
        "totalLines": 5,
        "hash": "sha256:" + hashlib.sha256(HEADER.encode()).hexdigest(),
    }


def test_parameters_are_as_written_and_any_case_is_highlighted(view):
    found = read(view, str(view.project.root.decode()) + "/src/components/Header.tsx", 13, searchQuery="setstate")
    assert found["element"]["parameters"] == ["a: string", "b = 2"]
    assert [(one["line"], one["start"]) for one in found["highlightPositions"]] == [(14, 29), (14, 45), (14, 54)]
    assert found["filePath"] == "src/components/Header.tsx"


@pytest.mark.parametrize(
    ("path", "line", "element"),
    [
        ("src/components/Header.tsx", 6, ("class", "Header", 6, 16)),
        ("src/components/Header.tsx", 12, ("class", "Header", 6, 16)),
        ("src/app.py", 1, ("function", "main", 1, 4)),
        ("src/app.py", 4, ("function", "main", 1, 4)),
        ("src/app.py", 8, ("constant", "LIMITS", 7, 9)),
        ("src/server.go", 6, ("method", "Run", 5, 7)),
    ],
)
def test_the_innermost_element_around_a_line_is_read(view, path, line, element):
    found = read(view, path, line)["element"]
    assert (found["type"], found["name"], found["startLine"], found["endLine"]) == element


def test_children_and_the_type_a_method_belongs_to_are_related(view):
    children = read(view, "src/components/Header.tsx", 6)["relatedElements"]
    assert [(one["type"], one["element"]["name"]) for one in children] == [("child", "toggleMenu"), ("child", "render")]
    assert [one["element"]["name"] for one in read(view, "src/server.go", 3)["relatedElements"]] == ["Run"]
    (parent,) = read(view, "src/server.go", 6)["relatedElements"]
    assert (parent["type"], parent["element"]["name"]) == ("parent", "T")


@pytest.mark.parametrize(
    ("path", "line", "lines", "context"),
    [
        ("src/components/Header.tsx", 18, 1, (17, 18, "\n// setState is not in an element here")),
        ("notes.txt", 2, 0, (2, 2, "setState two")),
        ("notes.txt", 4, 5, (1, 4, "one\nsetState two\nthree\nfour")),
    ],
)
def test_where_no_element_is_the_lines_around_are_read(view, path, line, lines, context):
    found = read(view, path, line, contextLines=lines, searchQuery="setState")
    assert found["element"] is None
    assert tuple(found["context"].values()) == context
    assert found["totalLines"] == 0
    assert len(found["highlightPositions"]) == ("setState" in context[2])


def test_large_odd_and_ignored_files_are_read_too(view, folder):
    write(
        folder,
        {
            "big.py": "def f():\n    pass\n" + "x = 1\n" * (FILE_BYTES_MAX // 6),
            "windows.py": b"\xef\xbb\xbfdef f():\r\n    'h\xc3\xa9'; x\r\n",
            ".gitignore": "ignored.py\n",
            "ignored.py": "def hidden():\n    pass\n",
            "empty.py": "",
        },
    )
    big = read(view, "big.py", 2, contextLines=0)
    assert (big["element"], big["context"]["content"]) == (None, "    pass")
    assert "too large" in big["note"]
    found = read(view, "windows.py", 2, searchQuery="X")
    assert found["element"]["content"] == "def f():\n    'hé'; x"
    assert found["highlightPositions"] == [{"line": 2, "start": 10, "end": 11}]
    assert read(view, "ignored.py", 2)["element"]["name"] == "hidden"
    assert "is empty" in error(view, "read_code_element", filePath="empty.py", lineNumber=1)


def test_an_element_edited_just_now_is_read_as_it_is(view, folder):
    ready(view.project)
    for number in range(20):
        write(folder, {"src/app.py": "\n" * number + f"def f{number}():\n    return {number}\n"})
        found = read(view, "src/app.py", number + 2)
        assert found["element"]["name"] == f"f{number}"
        assert "stale" not in found
        found = call(view, "search_with_context", query=f"return {number}", includePatterns="*.py")
        assert found["results"][0]["matches"][0]["codeElement"]["name"] == f"f{number}"


def test_a_long_element_is_cut_and_goes_on_with_its_cursor(view, folder):
    body = "".join(f'    "line é {number}" + "\\t"\n' for number in range(300)) + "    '" + "ü" * 3_000 + "'\n"
    text = "def long():\n" + body
    write(folder, {"long.py": text})
    parts, arguments = [], {}
    while True:
        found = read(view, "long.py", 200, maxTokens=300, **arguments)
        assert len(json.dumps(found, ensure_ascii=False).encode()) <= 300 * 4
        assert found["element"].get("contentStartLine", 1) == min(1 + "".join(parts).count("\n"), 302)
        parts.append(found["element"]["content"] + "\n")
        if "nextCursor" not in found:
            break
        assert found["truncated"] is True
        arguments = {"cursor": found["nextCursor"]}
    # A line that is longer than a page is cut inside.
    assert "".join(parts).replace("\n", "") == text.replace("\n", "")
    write(folder, {"long.py": "def long():\n" + "    x = 1\n" * 300})
    assert "changed" in error(view, "read_code_element", filePath="long.py", lineNumber=200, maxTokens=300, **arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["filePath", "lineNumber", "required"]),
        ({"filePath": "src/app.py", "lineNumber": 0}, ["lineNumber", "too small", "1"]),
        ({"filePath": "src/app.py", "lineNumber": "1"}, ["lineNumber", "integer"]),
        ({"filePath": "src/app.py", "lineNumber": 10}, ["no line 10", "9 lines"]),
        ({"filePath": "src/app.py", "line_number": 1}, ["line_number", "lineNumber"]),
        ({"filePath": "src", "lineNumber": 1}, ["folder"]),
        ({"filePath": ".", "lineNumber": 1}, ["folder"]),
        ({"filePath": "nothing.py", "lineNumber": 1}, ["no file", "nothing.py"]),
        ({"filePath": "../x.py", "lineNumber": 1}, ["outside"]),
        ({"filePath": "data.bin", "lineNumber": 1}, ["binary"]),
        ({"filePath": ".env", "lineNumber": 1}, ["secrets", "allow_secrets"]),
        ({"filePath": "src/app.py", "lineNumber": 1, "searchQuery": ""}, ["searchQuery", "empty"]),
        ({"filePath": "src/app.py", "lineNumber": 1, "contextLines": -1}, ["contextLines", "too small"]),
        ({"filePath": "src/app.py", "lineNumber": 1, "cursor": "x"}, ["cursor"]),
    ],
)
def test_what_cannot_be_read_is_told(view, folder, arguments, words):
    write(folder, {"data.bin": b"a\0b\n", ".env": "TOKEN=1\n"})
    message = error(view, "read_code_element", **arguments)
    assert all(word in message for word in words), message


# search_with_context


def test_matches_tell_the_element_they_are_in(view):
    found = call(view, "search_with_context", query="setState", includePatterns="*.tsx", maxMatchesPerFile=3)
    assert found == {
        "success": True,
        "query": "setState",
        "totalFiles": 1,
        "totalMatches": 5,
        "filesSearched": 1,
        "codeElementTypes": {"method": 4},
        "results": [
            {
                "file": {"name": "Header.tsx", "path": "src/components/Header.tsx", "type": "file"},
                "matches": [
                    {
                        "lineNumber": 9,
                        "lineContent": "    if (state) setState({ isOpen: !state.isOpen });",
                        "matchStart": 15,
                        "matchEnd": 23,
                        "matchText": "setState",
                        "codeElement": {"type": "method", "name": "toggleMenu", "startLine": 7, "endLine": 11},
                    },
                    *(
                        {
                            "lineNumber": 14,
                            "lineContent": "    return <b onClick={() => setState(null)}>SETSTATE setstate</b>;",
                            "matchStart": start,
                            "matchEnd": start + 8,
                            "matchText": text,
                            "codeElement": {"type": "method", "name": "render", "startLine": 13, "endLine": 15},
                        }
                        for start, text in ((29, "setState"), (45, "SETSTATE"))
                    ),
                ],
                "totalMatches": 5,
            }
        ],
    }


def test_matches_outside_of_elements_have_none(view):
    found = call(view, "search_with_context", query="setState", caseSensitive=True)
    elements = {
        (group["file"]["path"], match["lineNumber"]): match["codeElement"] and match["codeElement"]["name"]
        for group in found["results"]
        for match in group["matches"]
    }
    assert elements == {
        ("notes.txt", 2): None,
        ("src/app.py", 4): "main",
        ("src/components/Header.tsx", 9): "toggleMenu",
        ("src/components/Header.tsx", 14): "render",
        ("src/components/Header.tsx", 18): None,
        ("src/server.go", 6): "Run",
    }
    assert found["codeElementTypes"] == {"method": 3, "function": 1}


def test_without_context_it_is_the_grouped_search_of_files(view):
    with_context = call(view, "search_with_context", query="s.t", useRegex=True, limit=2)
    plain = call(view, "search_with_context", query="s.t", useRegex=True, limit=2, includeCodeContext=False)
    grouped = call(view, "search_in_files", query="s.t", useRegex=True, limit=2, maxMatchesPerFile=5)
    for answer in (with_context, plain, grouped):
        assert answer.pop("nextCursor")
    assert plain == grouped
    del with_context["codeElementTypes"]
    for group in with_context["results"]:
        for match in group["matches"]:
            del match["codeElement"]
    assert with_context == grouped


def test_pages_of_matches_with_context_make_the_whole(view, folder):
    write(folder, {f"many/{n:02}.py": f"def f{n}():\n    setState({n})\n" * 3 for n in range(30)})
    whole = call(view, "search_with_context", query="setState", includePatterns="many/")
    groups, answer = [], {"nextCursor": None}
    while "nextCursor" in answer:
        arguments = {"query": "setState", "includePatterns": "many/", "maxTokens": 400}
        if answer["nextCursor"]:
            arguments["cursor"] = answer["nextCursor"]
        answer = call(view, "search_with_context", **arguments)
        groups += answer["results"]
        assert answer["codeElementTypes"] == {"function": 90}  # of all matches, whatever a page shows
    assert groups == whole["results"]
    assert whole["codeElementTypes"] == {"function": 90}


def test_types_are_counted_over_all_matches_and_a_file_without_elements_says_why(view, folder):
    write(folder, {"few/a.py": "def f():\n    setState()\n" * 9, "few/big.py": "setState()\n" + "x = 1\n" * 200_000})
    ready(view.project)
    answer = call(view, "search_with_context", query="setState", includePatterns="few/", maxMatchesPerFile=1)
    assert answer["totalMatches"] == 10
    assert answer["codeElementTypes"] == {"function": 9}
    assert [group.get("note") for group in answer["results"]] == [
        None,
        "no elements: the file is too large to be parsed",
    ]
    assert answer["coverage"]["skipped"] == {"too_large": 1}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["query", "required"]),
        ({"query": ""}, ["query", "empty"]),
        ({"query": "(", "useRegex": True}, ["Invalid pattern"]),
        ({"query": "x", "limit": 201}, ["limit", "200"]),
        ({"query": "x", "maxMatchesPerFile": 21}, ["maxMatchesPerFile", "20"]),
        ({"query": "x", "includeContext": True}, ["includeContext", "includeCodeContext"]),
        ({"query": "x", "includePatterns": "[", "cursor": "x"}, ["includePatterns"]),
    ],
)
def test_bad_input_to_the_search_with_context(view, arguments, words):
    message = error(view, "search_with_context", **arguments)
    assert all(word in message for word in words), message


def test_an_empty_answer_says_what_it_covers(view):
    found = call(view, "search_with_context", query="nowhere")
    assert (found["results"], found["codeElementTypes"]) == ([], {})
    assert found["coverage"] == {"files_searched": 4, "skipped": {}}


# While nothing can be parsed


@pytest.fixture
def unparsed(folder, home):
    """A project whose workers take no job: its first pass does not end."""
    from ctxd.daemon.indexing.workers import WorkerPool

    pool = WorkerPool(2)
    pool.close()
    write(folder, TREE)
    with opened(folder, home, pool, symbols_wait_ms=10) as project:
        yield View(project)


def test_before_files_are_parsed_the_text_part_answers_and_the_rest_says_so(unparsed):
    for tool, arguments in (
        ("read_code_element", {"filePath": "src/app.py", "lineNumber": 4}),
        ("search_with_context", {"query": "setState"}),
        ("explore_codebase", {}),
    ):
        answer = call(unparsed, tool, **arguments)
        assert (answer["success"], answer["status"]) == (False, "indexing_required")
        assert answer["progress"]["total"] == 4
        assert answer["error"]
    assert len(call(unparsed, "search_with_context", query="setState")["results"]) == 4
    assert call(unparsed, "search_with_context", query="setState", includeCodeContext=False)["success"] is True
    assert call(unparsed, "search_with_context", query="setState", includePatterns="*.txt")["success"] is True
    assert call(unparsed, "explore_codebase")["summary"]["files"] == 4


# explore_codebase


@pytest.fixture
def package(project, folder):
    write(
        folder,
        {
            "README.md": "# Shop\n\nSells things.\n",
            "shop/__init__.py": "",
            "shop/core.py": "class Order:\n    'An order.'\n    def total(self): pass\n\ndef price(order): pass\n\ndef main(): pass\n\n"
            "RATE = 1\n\ndef date(): pass\n\ndef print(x): pass\n",
            **{
                f"shop/use{n}.py": "from datetime import date\nfrom shop import core\nfrom shop.core import price, RATE as R\n"
                f"import os\n\ndef main(total):\n    print(os, date(), R)\n    return core.Order(price(total)).total() + {n}\n"
                for n in range(5)
            },
            "docs/index.md": "Text\n\nmore",
            "logo.bin": b"\0\n\n\n",
            ".hidden/x.py": "x = 1\n",
        },
    )
    ready(project)
    return View(project)


def test_a_project_is_explored(package):
    found = call(package, "explore_codebase", depth=1)
    ranked = [(one["name"], one["referringFiles"]) for one in found.pop("keyElements")]
    assert ranked == [("Order", 5), ("price", 5), ("RATE", 5)]
    assert found == {
        "success": True,
        "path": ".",
        "summary": {
            "files": 10,
            "lines": 59,
            "languages": [
                {"name": "python", "files": 7, "lines": 53},
                {"name": "markdown", "files": 2, "lines": 6},
                {"name": "other", "files": 1, "lines": 0},
            ],
            "readme": {"path": "README.md", "text": "# Shop\n\nSells things."},
        },
        "tree": [
            {"name": "docs", "type": "folder", "files": 1, "lines": 3},
            {"name": "shop", "type": "folder", "files": 7, "lines": 53},
            {"name": "README.md", "type": "file", "lines": 3},
            {"name": "logo.bin", "type": "file", "lines": 0},
        ],
    }


def test_key_elements_say_where_they_are_and_follow_an_edit_at_once(package, folder):
    (order, *_) = call(package, "explore_codebase", path="shop")["keyElements"]
    assert order == {
        "type": "class",
        "name": "Order",
        "file": "shop/core.py",
        "line": 1,
        "referringFiles": 5,
        "doc": "An order.",
    }
    core = (folder / "shop/core.py").read_text()
    (folder / "shop/core.py").write_text("\n\n\n" + core)
    found = call(package, "explore_codebase", path="shop")
    assert next((one["name"], one["line"]) for one in found["keyElements"]) == ("Order", 4)
    (folder / "shop/core.py").rename(folder / "shop/base.py")
    assert call(package, "explore_codebase")["keyElements"][0]["file"] == "shop/base.py"


def test_new_references_are_counted_soon(package, folder):
    def first():
        return call(package, "explore_codebase")["keyElements"][0]["name"]

    write(folder, {f"more/{n}.py": f"from shop.core import RATE\nx = {n}\n" for n in range(20)})
    until(lambda: first() == "RATE")
    for n in range(20):
        (folder / f"more/{n}.py").unlink()
    until(lambda: first() == "Order")


def test_a_name_that_many_define_wins_nothing(project, folder):
    write(
        folder,
        {
            **{f"cmd{n}/run.c": f"int run(void) {{ return {n}; }}\n" for n in range(10)},
            "lib.h": "struct device { int x; };\nint init_device(struct device *d);\n",
            "lib.c": '#include "lib.h"\nint init_device(struct device *d) { return d->x; }\n',
            **{f"use{n}.c": f"int f{n}(struct device *d) {{ run(); return init_device(d); }}\n" for n in range(3)},
        },
    )
    ready(project)
    found = call(View(project), "explore_codebase")["keyElements"]
    assert [(one["name"], one["file"]) for one in found][:2] == [("device", "lib.h"), ("init_device", "lib.c")]
    assert all(one["name"] != "run" or one["referringFiles"] == 1 for one in found)


def test_a_folder_is_explored_and_the_tree_is_as_deep_as_asked(package):
    found = call(package, "explore_codebase", path="shop", depth=8)
    assert (found["path"], found["summary"]["files"], found["summary"]["readme"]) == ("shop", 7, None)
    assert [entry["name"] for entry in found["tree"]] == ["__init__.py", "core.py", *(f"use{n}.py" for n in range(5))]
    deep = call(package, "explore_codebase", depth=2)["tree"]
    assert len(deep[1]["children"]) == 7
    assert call(package, "explore_codebase", path=".hidden")["summary"]["files"] == 1


def test_the_tree_keeps_to_its_limit_and_the_answer_to_its_tokens(package, folder):
    write(folder, {f"d{n:03}/e{m}/f.py": f"def d{n}_{m}(): pass\n" for n in range(40) for m in range(5)})
    found = call(package, "explore_codebase", limit=10)
    assert found["truncated"] is True
    assert len(found["tree"]) == 10
    assert all(entry["type"] == "folder" for entry in found["tree"])
    assert "shop" in [entry["name"] for entry in found["tree"]]  # the largest are shown first
    for tokens in (200, 500, 2_000):
        answer = call(package, "explore_codebase", maxTokens=tokens, depth=3, limit=1_000)
        assert len(json.dumps(answer, separators=(",", ":"))) <= tokens * 4
        assert answer["summary"]["files"] == 210


def test_counts_are_those_of_this_moment(package, folder):
    write(folder, {"docs/new.md": "a\nb\n"})
    (folder / "shop/use0.py").unlink()
    assert call(package, "explore_codebase")["summary"]["lines"] == 59 + 2 - 8


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"path": "README.md"}, ["is a file", "read_code_element"]),
        ({"path": "nothing"}, ["no file or folder"]),
        ({"path": "../"}, ["outside"]),
        ({"depth": 9}, ["depth", "8"]),
        ({"limit": 0}, ["limit", "1"]),
        ({"maxTokens": 10}, ["maxTokens", "200"]),
    ],
)
def test_bad_input_to_explore(package, arguments, words):
    message = error(package, "explore_codebase", **arguments)
    assert all(word in message for word in words), message


def test_an_empty_or_ignored_folder_is_explored(project, folder):
    ready(project)
    found = call(View(project), "explore_codebase")
    assert (found["summary"]["files"], found["tree"], found["keyElements"]) == (0, [], [])
    write(folder, {".gitignore": "built/\n", "built/x.py": "x\n"})
    found = call(View(project), "explore_codebase", path="built")
    assert (found["tree"], found["coverage"]) == ([], {"files_searched": 0, "skipped": {"ignored": 1}})


# ctxd outline


def test_an_outline_lists_the_elements_with_their_depth(view, folder):
    found = outline(view, str(folder / "src/components/Header.tsx"))
    assert [(one["type"], one["name"], one["depth"], one["startLine"]) for one in found["elements"]] == [
        ("class", "Header", 0, 6),
        ("method", "toggleMenu", 1, 7),
        ("method", "render", 1, 13),
    ]
    assert outline(view, "src/server.go")["elements"][1]["name"] == "T.Run"
    assert outline(view, "notes.txt")["symbols"] == "none"
    with pytest.raises(ToolError, match="folder"):
        outline(view, "src")
