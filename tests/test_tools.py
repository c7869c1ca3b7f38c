"""Bad input to every tool: a clear error or a correct answer, never a bug."""

import json
import os
import random
import sys
import typing

import jsonschema
import pytest
from test_secret_names import SECRET, names

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.answers.page import make_cursor
from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import Hello, Narrowing
from ctxd.daemon.params import Params
from ctxd.daemon.projects.view import View, seen_as
from ctxd.daemon.projects.why import why
from ctxd.daemon.tool import TOOLS, Call
from ctxd.daemon.tools.search import TextParams
from projects import opened, ready, write

GOOD = {
    "search_text_pattern": {"query": "x"},
    "find_symbol_occurrences": {"symbol_name": "x"},
    "search_in_files": {"query": "x"},
    "find_files_by_name": {"name_pattern": "*"},
    "search_files": {"query": "x"},
    "search_project_code": {"pattern": "x"},
    "read_code_element": {"filePath": "x.py", "lineNumber": 1},
    "search_with_context": {"query": "x"},
    "explore_codebase": {},
    "replace_in_file": {"filePath": "a.py", "searchText": "x"},
    "TextPatch": {"filePath": "a.py", "operation": "replace", "target": {"text": "x"}, "content": "x"},
}


def call(view, tool, **arguments):
    return TOOLS[tool].call(Call(view), arguments)


def error(view, tool, **arguments):
    with pytest.raises(ToolError) as caught:
        call(view, tool, **arguments)
    return str(caught.value)


@pytest.fixture
def view(project):
    return View(project)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("search_text_pattern", {}, ["query", "required"]),
        ("search_text_pattern", {"query": ""}, ["query", "empty"]),
        ("search_text_pattern", {"query": 7}, ["query", "string", "7"]),
        ("search_text_pattern", {"query": "x", "is_regexp": True}, ["is_regexp", "is_regex"]),
        ("search_text_pattern", {"query": "x", "context_lines": 11}, ["context_lines", "11", "10"]),
        ("search_text_pattern", {"query": "x", "context_lines": "2"}, ["context_lines", "integer"]),
        ("search_text_pattern", {"query": "x", "target_paths": "src"}, ["target_paths", "list"]),
        ("search_text_pattern", {"query": "x", "target_paths": ["../x"]}, ["../x", "outside"]),
        ("search_text_pattern", {"query": "x", "target_paths": ["/etc/passwd"]}, ["/etc/passwd", "outside"]),
        ("search_text_pattern", {"query": "x", "target_paths": ["nothing"]}, ["nothing", "no file or folder"]),
        ("search_text_pattern", {"query": "x", "target_paths": [""]}, ["empty"]),
        ("search_text_pattern", {"query": "x", "target_paths": ["a\0b"]}, ["NUL"]),
        ("search_text_pattern", {"query": "x", "target_paths": ["\ud800"]}, ["file name"]),
        ("search_text_pattern", {"query": "(", "is_regex": True}, ["Invalid pattern"]),
        ("search_text_pattern", {"query": "a\nb"}, ["line"]),
        ("search_text_pattern", {"query": "x", "file_extensions": [""]}, ["file_extensions"]),
        ("search_text_pattern", {"query": "x", "cursor": "garbage!"}, ["cursor"]),
        ("find_symbol_occurrences", {"symbol_name": "x", "cursor": "W1tbW1tb" * 9_000}, ["cursor"]),
        ("search_text_pattern", {"query": "x", "max_tokens": 1}, ["max_tokens", "200"]),
        (
            "find_symbol_occurrences",
            {"symbol_name": "x", "find_definitions": False, "find_references": False},
            ["both false"],
        ),
        ("find_symbol_occurrences", {"symbol_name": "."}, ["no name"]),
        ("find_symbol_occurrences", {"symbol_name": "x", "language": "pyhton"}, ["pyhton", "python"]),
        ("find_files_by_name", {"name_pattern": "[a"}, ["[", "]"]),
        ("find_files_by_name", {"name_pattern": "x", "path": "nowhere"}, ["nowhere"]),
        ("find_files_by_name", {"pattern": "x"}, ["pattern", "name_pattern"]),
        ("search_in_files", {"query": "x", "timeout": 601}, ["timeout", "601", "600"]),
        ("search_in_files", {"query": "x", "file_pattern": "[a"}, ["file_pattern", "]"]),
        ("search_in_files", {"query": "x", "includePatterns": "a, {b"}, ["includePatterns", "}"]),
        ("search_in_files", {"query": "x", "exclude_query": "(", "use_regex": True}, ["Invalid pattern '('"]),
        ("search_in_files", {"query": "x", "case_sensitive": True}, ["case_sensitive", "caseSensitive"]),
        ("search_in_files", {"query": "x", "path": ".", "limit": 5}, ["path", "limit", "flat", "grouped"]),
        ("search_in_files", {"query": "x", "path": ".", "contract": "grouped"}, ["path", "flat", "grouped"]),
        ("search_in_files", {"query": "x", "useRegex": True, "contract": "flat"}, ["useRegex", "flat", "grouped"]),
        ("search_in_files", {"query": "x", "contract": ["flat"]}, ["contract"]),
        ("search_in_files", {"query": "x", "max_tokens": 500, "maxTokens": 500}, ["max_tokens", "maxTokens"]),
        ("search_files", {"query": " "}, ["query", "blank"]),
        ("search_files", {"query": "x", "limit": 201}, ["limit", "201", "200"]),
        ("search_files", {"query": "x", "max_tokens": 500}, ["max_tokens", "maxTokens"]),
        ("search_files", {"query": "x*", "excludePatterns": "[b"}, ["excludePatterns", "]"]),
        ("search_project_code", {"pattern": " "}, ["pattern", "blank"]),
        ("search_project_code", {"pattern": "x", "file_type": "*"}, ["file_type"]),
        ("search_project_code", {"pattern": "x", "max_results": 1001}, ["max_results", "1000"]),
        ("code_vectorization_status", {"path": "x"}, ["'path'", "it takes no arguments"]),
        ("TextRead", {"filePath": "x", "target": {"lines": "1-2"}}, ["target.lines", "object"]),
    ],
)
def test_a_wrong_argument_gets_an_error_that_says_what_to_do(view, tool, arguments, words):
    message = error(view, tool, **arguments)
    assert [word for word in words if word not in message] == []


def arguments_of(params, path=()):
    """Every argument of a params model, also those of objects in it: the names on the way to it, and what it may be."""
    for name, field in params.model_fields.items():
        place = (*path, field.alias or name)
        found = [part for part in parts_of(field.annotation) if part is not type(None)]
        yield place, found
        for model in found:
            if hasattr(model, "model_fields"):
                yield from arguments_of(model, (*place, 0) if list in found else place)


def parts_of(annotation):
    """Such as list, str of `Annotated[list[str], ...] | None`."""
    if typing.get_origin(annotation) is typing.Literal:
        return [typing.Literal]
    inner = [part for one in typing.get_args(annotation) for part in parts_of(one) if not isinstance(annotation, str)]
    if typing.get_origin(annotation) is list:
        return [list, *inner]
    return inner or ([annotation] if isinstance(annotation, type) else [])


WRONG = {
    str: (7, 1.5, True, ["x"], {}),
    int: ("1", 1.0, 1.5, True, [1]),
    float: ("0.7", True, [0.7]),
    bool: ("true", "yes", 1, 0, 1.0, []),
    list: ("x", 1, {}),
    typing.Literal: (7, True, ["flat"]),
    Params: ("x", 1, True, ["x"]),
}
"""Of a type: values that a lenient reader would take, and others."""


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_value_of_another_type_is_refused_by_every_tool_for_every_argument(tool):
    checked = 0
    for place, (kind, *inner) in arguments_of(tool.params):
        values = [(place, value) for value in WRONG[kind if kind in WRONG else Params]]
        values += [((*place, 0), value) for one in inner if one in WRONG for value in WRONG[one]]
        for where, value in values:
            arguments = value
            for part in reversed(where):
                arguments = [arguments] if part == 0 else {part: arguments}
            with pytest.raises(ToolError) as caught:
                tool.call(Call(None), arguments)
            assert ".".join(map(str, where)) + ": " in str(caught.value), (where, value)
            checked += 1
    assert checked or tool.name == "code_vectorization_status"


def test_errors_have_the_shape_of_their_specification(view):
    error = ToolError("m", "h", name="FileNotFoundError")
    assert TOOLS["search_text_pattern"].error(error) == {
        "status": "error",
        "matches": [],
        "match_count": 0,
        "error_message": "m. h",
    }
    assert TOOLS["find_symbol_occurrences"].error(error)["status"] == "error"
    assert TOOLS["find_files_by_name"].error(error) == {"error": "FileNotFoundError: m. h"}
    in_files = TOOLS["search_in_files"]
    for flat in (
        {"query": "x"},
        {"timeout": 1},
        {"timeout": 1, "limit": 1},
        {"contract": "flat", "limit": 1},
        {"contract": []},
    ):
        assert in_files.failure(error, flat) == {"error": "FileNotFoundError: m. h"}
    for grouped in ({"limit": 0}, {"contract": "grouped"}, {"contract": "grouped", "path": "x"}):
        assert in_files.failure(error, grouped) == {"success": False, "error": "m. h"}
    assert TOOLS["search_files"].error(error) == {"success": False, "error": "m. h"}
    assert TOOLS["search_project_code"].error(error) == {
        "results": [],
        "stats": {"files_searched": 0, "total_matches": 0, "elapsed_ms": 0.0},
        "error": "RuntimeError: m. h",
    }
    assert TOOLS["search_project_code"].error(ToolError("m"))["error"] == "ValueError: m"


@pytest.mark.parametrize("place", [[], ["a"], ["a", "b"], [1, 1], [None, 1], ["\u20ac", 1], ["a", 1, 2], ["a", True]])
def test_a_cursor_that_was_tampered_with_is_refused(view, place):
    cursor = make_cursor(TextParams(query="x"), place)
    assert "cursor" in error(view, "search_text_pattern", query="x", cursor=cursor)


def test_a_cursor_of_another_query_is_refused(view, folder):
    write(folder, {"a.txt": "x\n" * 50, "b.py": "x = 1\n"})
    page = call(view, "search_text_pattern", query="x", max_tokens=200)
    assert "another query" in error(
        view, "search_text_pattern", query="y", cursor=page["next_cursor"]
    ) or "other arguments" in error(view, "search_text_pattern", query="y", cursor=page["next_cursor"])


def test_random_arguments_never_meet_a_bug(view, folder):
    write(folder, {"a.py": "def x(): pass\n"})
    chance = random.Random(1)
    values = [
        "",
        "x",
        "\0",
        "a" * 5000,
        "(",
        "*",
        "**",
        "[",
        "{",
        "\\",
        "é",
        "../..",
        "/",
        ".",
        -1,
        0,
        1e9,
        True,
        None,
        [],
        [1],
        {},
        ["x"],
    ]
    for tool, good in GOOD.items():
        names = list(TOOLS[tool].input_schema["properties"])
        schema = jsonschema.Draft202012Validator(TOOLS[tool].output_schema)
        for _ in range(300):
            arguments = dict(good)
            for name in chance.sample(names, chance.randint(1, 3)):
                arguments[name] = chance.choice(values)
            try:
                assert isinstance(call(view, tool, **arguments), dict)
            except ToolError as caught:
                assert len(str(caught)) > 10  # noqa: PT017
                schema.validate(TOOLS[tool].failure(caught, arguments))


def test_odd_files_are_answered_for(view, project, folder):
    write(
        folder,
        {
            "binary.txt": b"needle\0",
            "latin.txt": b"caf\xe9 needle\n",
            "utf16.txt": "needle é\r\n".encode("utf-16"),
            "invalid.txt": b"needle \xff\xfe\n",
            "crlf.txt": b"needle\r\nend\r\n",
            "empty.txt": b"",
        },
    )
    os.mkfifo(folder / "fifo.txt")
    (folder / "loop").symlink_to(".")
    (folder / "out.txt").symlink_to("/etc/passwd")
    (folder / "dangling.txt").symlink_to("nowhere")
    big = folder / "big.txt"
    with big.open("wb") as file:
        file.write(b"needle\n" + b"0123456789abcde\n" * 1_000_000 + b"needle end\n")
    for _ in range(2):  # before and after it is indexed
        found = call(view, "search_text_pattern", query="needle", context_lines=0)
        assert [(m["file_path"], m["line_number"]) for m in found["matches"]] == [
            ("big.txt", 1),
            ("big.txt", 1_000_002),
            ("crlf.txt", 1),
            ("invalid.txt", 1),
            ("latin.txt", 1),
            ("utf16.txt", 1),
        ]
        assert call(view, "search_text_pattern", query="needle$", is_regex=True)["match_count"] == 3
        assert (
            call(view, "search_text_pattern", query="café", context_lines=0)["matches"][0]["file_path"] == "latin.txt"
        )
        ready(project)
    big.unlink()
    assert "outside" in error(view, "search_text_pattern", query="x", target_paths=["out.txt"])
    assert call(view, "search_text_pattern", query="needle", target_paths=["binary.txt"])["coverage"]["skipped"] == {
        "binary": 1
    }
    assert call(view, "search_text_pattern", query="needle", target_paths=["fifo.txt"])["coverage"] == {
        "files_searched": 0,
        "skipped": {"ignored": 1},
    }
    assert "no file" in error(view, "search_text_pattern", query="x", target_paths=["dangling.txt"])
    assert call(view, "search_text_pattern", query="needle", target_paths=["loop/latin.txt"])["match_count"] == 1


def test_secrets_are_neither_found_nor_listed(view, folder):
    """By no tool: each name in a folder of its own, with text and code that the word `hunter2` finds."""
    text = "hunter2 = 'hunter2'\ndef hunter2(): return hunter2\n"
    secrets = [f"a{number}/{name}" for number, name in enumerate(names(SECRET))]
    write(folder, dict.fromkeys(secrets, text) | {"plain.py": "x = 1\n", ".env.example": "TOKEN=\n"})
    os.symlink(secrets[0], folder / "plain.txt")
    ready(view.project)
    asked = {
        "search_text_pattern": {"query": "hunter2", "file_extensions": ["*"]},
        "search_project_code": {"pattern": "hunter2", "include_hidden": True},
        "search_in_files": {"query": "hunter2"},
        "search_with_context": {"query": "hunter2"},
        "find_symbol_occurrences": {"symbol_name": "hunter2"},
        "search_semantic_concept": {"concept_description": "hunter2"},
        "search_code": {"query": "hunter2", "minSimilarity": 0},
        "find_similar_code": {"codeSnippet": text, "minSimilarity": 0},
        "explore_codebase": {"limit": 1000, "depth": 8},
        "search_files": {"query": "a1"},
    }
    for tool, arguments in asked.items():
        answer = json.dumps(call(view, tool, **arguments))
        assert [name for name in secrets if f'"{name}' in answer] == [], tool
        assert "hunter2(" not in answer
    for pattern in ("**/*", "{.,}*", ".*"):
        assert set(call(view, "find_files_by_name", name_pattern=pattern)["files"]) <= {".env.example", "plain.py"}
    for name in secrets:
        found = call(view, "search_text_pattern", query="hunter2", target_paths=[name])
        assert (found["match_count"], found["coverage"]["skipped"]) == (0, {"secret": 1})
        assert why(view.project, str(folder / name))["reason"] == "secret"
    for name in (*secrets[::20], "plain.txt"):
        for tool, arguments in {
            "read_code_element": {"filePath": name, "lineNumber": 1},
            "TextInspect": {"filePath": name},
            "TextRead": {"filePath": name, "target": {"lines": {"start": 1, "end": 2}}},
            "replace_in_file": {"filePath": name, "searchText": "hunter2", "replaceText": "x"},
            "TextPatch": {"filePath": name, "operation": "replace", "target": {"text": "hunter2"}, "content": "x"},
        }.items():
            message = error(view, tool, **arguments)
            assert "secrets" in message
            assert "allow_secrets" in message
            assert "hunter2" not in message


def test_hidden_files_are_found_only_where_a_path_names_them(view, folder):
    write(folder, {".github/workflows/ci.yml": "needle\n", "a.yml": "needle\n", ".github/.deep/x.yml": "needle\n"})
    assert call(view, "search_text_pattern", query="needle")["match_count"] == 1
    assert call(view, "search_text_pattern", query="needle", target_paths=[".github"])["match_count"] == 1
    assert call(view, "search_text_pattern", query="needle", target_paths=[".github/.deep/x.yml"])["match_count"] == 1
    assert call(view, "find_files_by_name", name_pattern="*.yml", path=".github")["files"] == [
        ".github/workflows/ci.yml"
    ]


HIDDEN = {
    ".gitignore": "needle\n",
    ".github/workflows/ci.yml": "needle\n",
    "web/.eslintrc.json": "needle\n",
    ".vscode/run.py": "needle\n",
    "src/app.py": "needle\n",
    "src/ci.yml": "needle\n",
}


@pytest.mark.parametrize(
    ("pattern", "files"),
    [
        (".gitignore", [".gitignore"]),
        (".github/**", [".github/workflows/ci.yml"]),
        ("./.github/**", [".github/workflows/ci.yml"]),
        ("**/.eslintrc*", ["web/.eslintrc.json"]),
        ("{.github,src}/**/*.yml", [".github/workflows/ci.yml", "src/ci.yml"]),
        ("\\.gitignore", [".gitignore"]),
        ("*.yml", ["src/ci.yml"]),
        ("*{.yml,.py}", ["src/app.py", "src/ci.yml"]),
        ("./src/*", ["src/app.py", "src/ci.yml"]),
        ("**", ["src/app.py", "src/ci.yml"]),
        ("[.]gitignore", []),
        ("?gitignore", []),
    ],
)
def test_a_pattern_that_begins_a_component_with_a_dot_asks_for_hidden_files(view, folder, pattern, files):
    """In every tool that takes patterns, and in the globs of a command line."""
    write(folder, HIDDEN)
    assert call(view, "find_files_by_name", name_pattern=pattern)["files"] == files
    found = call(view, "search_in_files", query="needle", file_pattern=pattern)
    assert sorted(match["file_path"] for match in found["matches"]) == files
    for tool in ("search_in_files", "search_with_context"):
        found = call(view, tool, query="needle", includePatterns=pattern, excludePatterns=".zed/")
        assert [group["file"]["path"] for group in found["results"]] == files
    if "*" in pattern:
        assert sorted(one["path"] for one in call(view, "search_files", query=pattern)["results"]) == files
    narrowed = seen_as(view, Hello(ctxd=1, want="mcp", only=Narrowing(globs=[pattern]), cwd=str(folder)))
    if "./" not in pattern:  # in ripgrep's globs these are no part of a path
        assert call(narrowed, "find_files_by_name", name_pattern="*")["files"] == files
        found = call(narrowed, "search_text_pattern", query="needle", file_extensions=["*"])
        assert [match["file_path"] for match in found["matches"]] == files


@pytest.mark.parametrize(
    ("query", "include", "files"),
    [
        (".gitignore", "", [".gitignore"]),
        (".github ci", "", [".github/workflows/ci.yml"]),
        ("ci", ".github/", [".github/workflows/ci.yml"]),
        ("ci", "", ["src/ci.yml"]),
        (".py", "", ["src/app.py"]),
        ("app", ".py", ["src/app.py"]),
        ("run", ".py", []),
        ("run", ".vscode, src/", [".vscode/run.py"]),
    ],
)
def test_words_that_begin_with_a_dot_ask_for_hidden_files(view, folder, query, include, files):
    write(folder, HIDDEN)
    found = call(view, "search_files", query=query, includePatterns=include)
    assert [one["path"] for one in found["results"]] == files


def test_no_extensions_are_the_default_ones(view, folder):
    write(folder, {"a.py": "needle\n", "a.unknown": "needle\n"})
    found = call(view, "search_text_pattern", query="needle", file_extensions=[])
    assert [match["file_path"] for match in found["matches"]] == ["a.py"]


WORDS = {"ignored", "hidden", "secret", "binary", "too_large", "failed"}


def test_what_was_skipped_is_told_in_the_same_words_by_every_tool(view, folder):
    write(
        folder, {".gitignore": "*.log\n", "a.log": "x\n", ".env": "x\n", "b.py": b"a\0b", "c.py": "x = 1\n" * 200_000}
    )
    (folder / "empty").mkdir()
    ready(view.project)
    asked = {
        "search_text_pattern": {"query": "zzz"},
        "find_symbol_occurrences": {"symbol_name": "zzz"},
        "search_semantic_concept": {"concept_description": "zzz"},
        "search_project_code": {"pattern": "zzz"},
        "search_in_files": {"query": "zzz"},
    }
    for tool, arguments in asked.items():
        name = "path" if tool in {"search_project_code", "search_in_files"} else "target_paths"
        for path, reasons in ((".", None), ("a.log", {"ignored": 1}), (".env", {"secret": 1}), ("empty", {})):
            answer = call(view, tool, **arguments, **{name: path if name == "path" else [path]})
            skipped = answer["coverage"]["skipped"]
            assert skipped.keys() <= WORDS, (tool, path)
            assert reasons is None or skipped == reasons, (tool, path)


def test_a_long_line_is_cut_around_its_match(view, folder):
    write(folder, {"min.js": "a" * 10_000 + "needle" + "b" * 10_000 + "\n"})
    (match,) = call(view, "search_text_pattern", query="needle")["matches"]
    assert len(match["matched_line"]) == 500
    assert "needle" in match["matched_line"]
    assert match["line_truncated"] is True


def test_an_unreadable_file_is_counted(folder, home, workers):
    """In a child of another user than root, whom no mode keeps out."""
    write(folder, {"a.txt": "needle\n", "b.txt": "needle\n"})
    if os.getuid() != 0:
        _assert_unreadable_is_counted(folder, home, workers)
        return
    for path in [folder, home, *folder.iterdir()]:
        os.chown(path, 65534, 65534)
    for parent in folder.parents:
        if parent.stat().st_uid == 0 and parent.is_relative_to("/tmp") and parent.name:
            parent.chmod(parent.stat().st_mode | 0o011)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            os.environ["HOME"] = str(home)
            _assert_unreadable_is_counted(folder, home, workers)
            os._exit(0)
        except BaseException as caught:
            print(f"in the child: {caught!r}", file=sys.stderr, flush=True)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def _assert_unreadable_is_counted(folder, home, workers):
    (folder / "b.txt").chmod(0)
    with opened(folder, home, workers) as project:
        ready(project)
        view = View(project)
        found = call(view, "search_text_pattern", query="needle")
        assert found["match_count"] == 1, found
        assert found["coverage"] == {"files_searched": 1, "skipped": {"failed": 1}}, found
        (folder / "b.txt").chmod(0o600)
        assert call(view, "search_text_pattern", query="needle")["match_count"] == 2


def test_a_search_that_ran_out_of_time_vouches_for_nothing_and_goes_on_with_its_cursor(view, folder):
    write(folder, {"a.txt": "needle\n"})
    ready(view.project)
    late = TOOLS["search_text_pattern"].call(Call(view, ends_at=0), {"query": "needle"})
    assert (late["timed_out"], late["total_is_exact"]) == (True, False)
    assert late["coverage"]["files_searched"] == 0
    assert call(view, "search_text_pattern", query="needle", cursor=late["next_cursor"])["match_count"] == 1
