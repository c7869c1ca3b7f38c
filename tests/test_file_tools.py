"""The tools of the toolset `files`: what each promises beyond being one search with the others."""

import dataclasses
import datetime as dt
import itertools
import os

import pytest

from ctxd.daemon import tool as tool_module
from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import read_hello
from ctxd.daemon.projects.view import View, seen_as
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.programs import FILES_BACKENDS, TEXT_BACKENDS
from projects import opened, ready, until, write

TREE = {
    "src/app.py": "import os\n\ndef main():\n    return os.Needle\n",
    "src/deep/app.js": "needle(needle)\r\nNEEDLE\r\n",
    "lib/src/x.min.js": "no match\n",
    "test/app_test.py": "needle = 1  # skip\nneedle = 2\n",
    "notes.md": "héé needle\nlast needle",
    ".github/ci.yml": "needle: 1\n",
    "ignored/app.py": "needle\n",
    ".gitignore": "ignored/\n",
    "data.bin": b"needle\0",
}


def call(view, tool, **arguments):
    return TOOLS[tool].call(Call(view), arguments)


@pytest.fixture
def view(project, folder):
    write(folder, TREE)
    return View(project)


def places(found):
    return [(match["file_path"], match["line_number"]) for match in found["matches"]]


def grouped(found):
    return {group["file"]["path"]: [match["lineNumber"] for match in group["matches"]] for group in found["results"]}


def pages(view, tool, cursor_name="next_cursor", **arguments):
    found = call(view, tool, **arguments)
    yield found
    while cursor_name in found:
        found = call(view, tool, **arguments, cursor=found[cursor_name])
        yield found


# search_in_files, flat


def test_flat_is_case_sensitive_and_counts_lines(view):
    found = call(view, "search_in_files", query="needle")
    assert places(found) == [
        ("notes.md", 1),
        ("notes.md", 2),
        ("src/deep/app.js", 1),
        ("test/app_test.py", 1),
        ("test/app_test.py", 2),
    ]
    assert found["matches"][2]["line_content"] == "needle(needle)"
    assert {key: value for key, value in found.items() if key != "matches"} == {
        "total_matches": 5,
        "files_searched": 5,
        "timed_out": False,
    }


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"file_pattern": "*.py"}, ["test/app_test.py"]),
        ({"file_pattern": "app*"}, ["src/deep/app.js", "test/app_test.py"]),
        ({"file_pattern": "*.PY"}, []),
        ({"file_pattern": "src/**/*.js"}, ["src/deep/app.js"]),
        ({"file_pattern": "src/*.js"}, []),
        ({"file_pattern": "./src/**"}, ["src/deep/app.js"]),
        ({"file_pattern": "ignored/*"}, []),
        ({"file_pattern": "*", "path": "src"}, ["src/deep/app.js"]),
        ({"path": ".github"}, [".github/ci.yml"]),
        ({"path": "notes.md", "file_pattern": "*.py"}, []),
    ],
)
def test_flat_file_pattern_is_a_name_or_with_a_slash_a_path(view, arguments, paths):
    found = call(view, "search_in_files", query="needle", **arguments)
    assert sorted({match["file_path"] for match in found["matches"]}) == paths


def test_flat_exclude_query_is_tested_on_the_line_and_follows_use_regex(view):
    def found(**arguments):
        return places(call(view, "search_in_files", file_pattern="app*", **arguments))

    everything = [("src/deep/app.js", 1), ("test/app_test.py", 1), ("test/app_test.py", 2)]
    assert found(query="needle") == everything
    assert found(query="needle", exclude_query="skip") == [everything[0], everything[2]]
    assert found(query="needle", exclude_query="= .") == everything
    assert found(query="needle", exclude_query="= .", use_regex=True) == everything[:1]
    assert found(query="^", exclude_query="^$", use_regex=True, path="src") == [
        ("src/app.py", 1),
        ("src/app.py", 3),
        ("src/app.py", 4),
        ("src/deep/app.js", 1),
        ("src/deep/app.js", 2),
    ]


def test_flat_timeout_gives_what_there_is(view, monkeypatch):
    monkeypatch.setattr(tool_module, "CALL_SECONDS", 1.0)  # so that a timeout of a second is over at once
    late = Call(view, ends_at=0.5)
    late.end_within(600)
    assert late.ends_at == 0.5
    found = TOOLS["search_in_files"].call(late, {"query": "needle", "timeout": 1})
    assert found["timed_out"] is True
    assert found["matches"] == []
    assert found["files_searched"] == 0
    assert found["total_is_exact"] is False


def test_a_timeout_ends_a_call_no_later_than_its_deadline(view):
    asked = Call(view)
    end = asked.ends_at
    asked.end_within(600)
    assert asked.ends_at == end
    asked.end_within(2)
    assert asked.ends_at == end - tool_module.CALL_SECONDS + 2


# search_in_files, grouped


def test_grouped_ignores_case_and_counts_every_occurrence(view):
    found = call(view, "search_in_files", query="needle", useRegex=False)
    assert grouped(found) == {
        "notes.md": [1, 2],
        "src/app.py": [4],
        "src/deep/app.js": [1, 1, 2],
        "test/app_test.py": [1, 2],
    }
    assert found["results"][0] == {
        "file": {"name": "notes.md", "path": "notes.md", "type": "file"},
        "matches": [
            {"lineNumber": 1, "lineContent": "héé needle", "matchStart": 4, "matchEnd": 10, "matchText": "needle"},
            {"lineNumber": 2, "lineContent": "last needle", "matchStart": 5, "matchEnd": 11, "matchText": "needle"},
        ],
    }
    del found["results"]
    assert found == {"success": True, "query": "needle", "totalFiles": 4, "totalMatches": 8, "filesSearched": 5}
    assert grouped(call(view, "search_in_files", query="needle", caseSensitive=True))["src/deep/app.js"] == [1, 1]
    assert call(view, "search_in_files", query="n..dle", useRegex=True)["totalMatches"] == 8
    assert call(view, "search_in_files", query="needle", contract="grouped")["totalMatches"] == 8


@pytest.mark.parametrize(
    ("patterns", "paths"),
    [
        ({"includePatterns": "src/"}, ["src/app.py", "src/deep/app.js"]),
        ({"includePatterns": "deep/, *.md"}, ["notes.md", "src/deep/app.js"]),
        ({"includePatterns": "*.js,,"}, ["src/deep/app.js"]),
        ({"includePatterns": "pp_te"}, ["test/app_test.py"]),
        ({"includePatterns": "src/**/*.{js,ts}"}, ["src/deep/app.js"]),
        ({"includePatterns": "deep/*.js"}, []),
        ({"includePatterns": "ignored/"}, []),
        ({"excludePatterns": "src/, *.md"}, ["test/app_test.py"]),
        ({"excludePatterns": "/deep/"}, ["notes.md", "src/app.py", "src/deep/app.js", "test/app_test.py"]),
        ({"includePatterns": "*.py", "excludePatterns": "test"}, ["src/app.py"]),
        ({"includePatterns": ""}, ["notes.md", "src/app.py", "src/deep/app.js", "test/app_test.py"]),
    ],
)
def test_grouped_patterns_name_folders_names_words_and_globs(view, patterns, paths):
    assert list(grouped(call(view, "search_in_files", query="needle", **patterns))) == paths


def test_grouped_limits_files_shown_and_matches_shown_but_counts_all(view):
    found = call(view, "search_in_files", query="needle", limit=1, maxMatchesPerFile=1)
    assert grouped(found) == {"notes.md": [1]}
    assert (found["totalFiles"], found["totalMatches"], found["filesSearched"]) == (4, 8, 5)
    assert found["results"][0]["totalMatches"] == 2
    assert "total_is_exact" not in found
    every = list(pages(view, "search_in_files", "nextCursor", query="needle", limit=1))
    assert [list(grouped(page)) for page in every] == [
        ["notes.md"],
        ["src/app.py"],
        ["src/deep/app.js"],
        ["test/app_test.py"],
    ]
    assert {(page["totalFiles"], page["totalMatches"]) for page in every} == {(4, 8)}


def test_grouped_finds_the_later_files_however_much_the_first_holds(view, folder):
    write(folder, {"a.txt": "many " * 5_000, "b.txt": "many\n"})
    found = call(view, "search_in_files", query="many", maxMatchesPerFile=2)
    assert grouped(found) == {"a.txt": [1, 1], "b.txt": [1]}
    assert found["total_is_exact"] is False
    assert found["results"][0]["matches"][1]["matchStart"] == 5
    assert len(found["results"][0]["matches"][1]["lineContent"]) == 500
    assert found["results"][0]["matches"][1]["line_truncated"] is True


def test_grouped_fits_into_its_tokens(view, folder):
    write(folder, {"a.txt": ("needle" + "x" * 300 + "\n") * 40})
    found = call(view, "search_in_files", query="needle", maxMatchesPerFile=40, maxTokens=1_000)
    assert found["truncated"] is True
    assert len(str(found)) < 4_000
    assert found["results"][0]["totalMatches"] == 40
    following = call(
        view, "search_in_files", query="needle", maxMatchesPerFile=40, maxTokens=1_000, cursor=found["nextCursor"]
    )
    assert next(iter(grouped(following))) == "notes.md"


def test_a_cursor_of_one_contract_is_refused_by_the_other(view, folder):
    write(folder, {"many.txt": "needle\n" * 50})
    flat = call(view, "search_in_files", query="needle", max_tokens=200)["next_cursor"]
    grouped_cursor = call(view, "search_in_files", query="needle", limit=1)["nextCursor"]
    for arguments in (
        {"limit": 1, "cursor": flat},
        {"path": ".", "cursor": grouped_cursor},
        {"limit": 100, "cursor": flat},
    ):
        with pytest.raises(ToolError, match="other arguments"):
            call(view, "search_in_files", query="needle", **arguments)


# search_files


NAMES = [
    "search",
    "search.py",
    "src/search.ts",
    "src/searching.ts",
    "a/research.ts",
    "a/deep_search.ts",
    "a/deepSearch.ts",
    "search_tools/x.ts",
    "b/research_tools/y.ts",
    "b/some_early_article_read_char_handler.py",
    "b/nothing.py",
]


def finder(view, query, **arguments):
    return [one["path"] for one in call(view, "search_files", query=query, **arguments)["results"]]


def test_the_finder_ranks_as_a_person_would(project, folder):
    write(folder, dict.fromkeys(NAMES, "x"))
    view = View(project)
    assert finder(view, "search") == [
        "search",
        "search.py",
        "src/search.ts",
        "src/searching.ts",
        "a/deepSearch.ts",
        "a/deep_search.ts",
        "a/research.ts",
        "search_tools/x.ts",
        "b/research_tools/y.ts",
        "b/some_early_article_read_char_handler.py",
    ]
    assert finder(view, "SEARCH.PY") == ["search.py"]
    assert finder(view, "src/sea") == ["src/search.ts", "src/searching.ts"]
    assert finder(view, "tools search") == ["search_tools/x.ts", "b/research_tools/y.ts"]
    assert finder(view, "ds.ts") == ["a/deepSearch.ts", "a/deep_search.ts"]
    assert finder(view, "ntng") == ["b/nothing.py"]
    assert finder(view, "SEARCH*.ts") == ["src/search.ts", "src/searching.ts"]
    assert finder(view, "src/*.ts") == ["src/search.ts", "src/searching.ts"]
    assert finder(view, "search", includePatterns="src/, *.py", excludePatterns="searching, b/") == [
        "search.py",
        "src/search.ts",
    ]


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("sched core", ["kernel/sched/core.c", "kernel/core_sched.c"]),  # a folder's whole name tells more than a part
        ("sched", ["include/sched_debug.h", "kernel/core_sched.c", "kernel/sched/core.c"]),  # but not alone
        ("kvm main", ["virt/kvm_main.c", "arch/kvm/main.c"]),  # all words are all of the name
        ("page alloc", ["mm/page_alloc.c", "drivers/net/pagealloc.c"]),
        ("PageAlloc", ["mm/page_alloc.c", "drivers/net/pagealloc.c"]),
    ],
)
def test_the_finder_knows_which_words_are_the_name(project, folder, query, paths):
    write(folder, dict.fromkeys(["kernel/sched/core.c", "kernel/core_sched.c", "include/sched_debug.h"], ""))
    write(folder, dict.fromkeys(["virt/kvm_main.c", "arch/kvm/main.c", "mm/page_alloc.c"], ""))
    write(folder, {"drivers/net/pagealloc.c": ""})
    assert finder(View(project), query) == paths


def test_the_finder_tells_of_each_file_what_its_contract_says(project, folder):
    write(folder, {"src/Tool.TS": "x" * 4669, "src/empty": "", "src/big.bin": b"\0" * (3 * 1024 * 1024 // 2)})
    os.utime(folder / "src/Tool.TS", (0, dt.datetime(2024, 1, 15, 10, 30, tzinfo=dt.UTC).timestamp()))
    found = call(View(project), "search_files", query="tool")
    assert found == {
        "success": True,
        "query": "tool",
        "totalResults": 1,
        "totalMatched": 1,
        "results": [
            {
                "name": "Tool.TS",
                "path": "src/Tool.TS",
                "fullPath": str(folder / "src/Tool.TS"),
                "type": "file",
                "size": "4.56 KB",
                "lastModified": "2024-01-15T10:30:00Z",
                "extension": "ts",
            }
        ],
    }
    sizes = {one["name"]: one["size"] for one in call(View(project), "search_files", query="src")["results"]}
    assert sizes == {"Tool.TS": "4.56 KB", "empty": "0 B", "big.bin": "1.50 MB"}


def test_the_finder_pages_and_counts_all(project, folder):
    write(folder, {f"d{n % 7}/name{n}.txt": "" for n in range(60)})
    view = View(project)
    every = list(pages(view, "search_files", "nextCursor", query="name", limit=25))
    assert [page["totalResults"] for page in every] == [25, 25, 10]
    assert {page["totalMatched"] for page in every} == {60}
    paths = [one["path"] for page in every for one in page["results"]]
    assert paths == finder(view, "name", limit=200)
    assert len(set(paths)) == 60
    nothing = call(view, "search_files", query="zzz")
    assert nothing["results"] == []
    assert nothing["coverage"] == {"files_searched": 60, "skipped": {}}


def test_the_finder_folds_the_case_of_every_script(project, folder):
    write(folder, {"Über.txt": "", "ÉCOLE.txt": "", "a/Ω.md": "", "ignored.é": ""})
    view = View(project)
    assert finder(view, "über") == ["Über.txt"]
    assert finder(view, "école") == ["ÉCOLE.txt"]
    assert finder(view, "ω") == ["a/Ω.md"]
    # Of bytes, É would not be é, and the first one of 㩀 (E3 A9 80) would be that of é (C3 A9).
    write(folder, {"㩀.txt": ""})
    assert finder(view, "é*.txt") == ["ÉCOLE.txt"]
    assert finder(view, "[à-ü]*.TXT") == ["Über.txt", "ÉCOLE.txt"]
    assert finder(view, "[!A-Z]*.TXT") == ["㩀.txt", "Über.txt", "ÉCOLE.txt"]


# search_project_code


def test_project_code_has_the_shape_of_its_contract(view):
    found = call(view, "search_project_code", pattern=r"os\.\w+")
    elapsed = found["stats"].pop("elapsed_ms")
    assert isinstance(elapsed, float)
    assert found == {
        "results": [
            {
                "file": "src/app.py",
                "line_number": 4,
                "line_content": "    return os.Needle",
                "match": "os.Needle",
                "context_before": ["", "def main():"],
                "context_after": [],
            }
        ],
        "stats": {"files_searched": 5, "total_matches": 1},
        "error": None,
    }


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ({}, ["notes.md", "src/deep/app.js", "test/app_test.py"]),
        ({"file_type": "py"}, ["test/app_test.py"]),
        ({"file_type": ".MD"}, ["notes.md"]),
        ({"file_type": None, "path": "src"}, ["src/deep/app.js"]),
        ({"include_hidden": True}, [".github/ci.yml", "notes.md", "src/deep/app.js", "test/app_test.py"]),
        ({"include_hidden": True, "file_type": "yml"}, [".github/ci.yml"]),
    ],
)
def test_project_code_narrows_by_extension_path_and_hidden(view, arguments, files):
    found = call(view, "search_project_code", pattern="needle", **arguments)
    assert sorted({match["file"] for match in found["results"]}) == files


def test_project_code_limits_what_it_shows_and_goes_on(view):
    call(view, "search_project_code", pattern="needle")
    until(lambda: not view.project.table.without_content)  # before, a binary file is only known where a search read it
    every = list(pages(view, "search_project_code", pattern="needle", max_results=2, context_lines=0))
    assert [len(page["results"]) for page in every] == [2, 2, 1]
    # Counted to the first that is not shown.
    assert [page["stats"]["total_matches"] for page in every] == [3, 5, 5]
    assert [page.get("total_is_exact", True) for page in every] == [False, False, True]
    assert every[0]["results"][0]["context_after"] == []
    assert [page["stats"]["files_searched"] for page in every] == [4, 5, 5]


# all of them


def test_one_query_finds_the_same_lines_whichever_tool_is_asked(folder, home, workers):
    write(folder, {name: data for name, data in TREE.items() if name != ".gitignore"})
    with opened(folder, home, workers) as project:
        view = View(project)
        for _ in range(2):  # before and after it is indexed
            for query in ("needle", "e", "absent", "^$", r"\d$"):
                lines = places(call(view, "search_in_files", query=query, use_regex=True))
                found = call(view, "search_project_code", pattern=query)
                assert [(match["file"], match["line_number"]) for match in found["results"]] == lines
                found = call(
                    view,
                    "search_text_pattern",
                    query=query,
                    is_regex=True,
                    case_sensitive=True,
                    file_extensions=["*"],
                )
                assert places(found) == lines
                by_file = call(
                    view, "search_in_files", query=query, useRegex=True, caseSensitive=True, maxMatchesPerFile=50
                )
                assert [
                    (path, number)
                    for path, numbers in grouped(by_file).items()
                    for number, _ in itertools.groupby(numbers)
                ] == lines
                assert by_file["filesSearched"] == 6
                assert found.get("coverage", {}).get("files_searched", 6) == 6
            ready(project)


def test_pages_that_end_early_vouch_for_what_they_reached(project, folder):
    write(folder, {f"{n:03}.txt": "word\n" * 20 for n in range(100)})
    found = call(View(project), "search_in_files", query="word")
    assert found["total_is_exact"] is False
    assert (len(found["matches"]), found["total_matches"]) == (1_000, 1_001)
    assert found["files_searched"] == 51
    every = list(pages(View(project), "search_in_files", query="word", max_tokens=20_000))
    assert sum(len(page["matches"]) for page in every) == 2_000
    assert every[-1]["total_matches"] == 2_000
    assert every[-1]["files_searched"] == 100


def test_a_path_that_is_left_out_counts_as_skipped_and_one_just_written_does_not(view, folder):
    left_out = call(view, "search_text_pattern", query="needle", target_paths=["ignored/app.py"])
    assert left_out["coverage"] == {"files_searched": 0, "skipped": {"ignored": 1}}
    write(folder, {"new.py": "needle\n"})
    found = call(view, "search_text_pattern", query="needle", target_paths=["new.py"])
    assert found["match_count"] == 1
    assert "coverage" not in found
    assert call(view, "search_in_files", query="absent", path="data.bin")["coverage"] == {
        "files_searched": 0,
        "skipped": {"binary": 1},
    }


def test_totals_are_of_the_whole_list_on_every_page(view, folder):
    write(folder, {"many.txt": "needle\n" * 90})
    arguments = {"query": "needle", "max_tokens": 500}
    assert {page["match_count"] for page in pages(view, "search_text_pattern", **arguments)} == {97}
    assert {page["total_matches"] for page in pages(view, "search_in_files", **arguments)} == {95}
    write(folder, {f"names/{n:03}.txt": "" for n in range(100)})
    assert {
        page["total_found"] for page in pages(view, "find_files_by_name", name_pattern="0*.txt", max_tokens=200)
    } == {100}


def test_a_folder_inside_a_project_has_patterns_of_its_own(project, folder):
    write(folder, {"sub/src/a.py": "needle\n", "src/b.py": "needle\n", "sub/x/src/c.py": "needle\n"})
    view = View(project, b"sub")
    assert places(call(view, "search_in_files", query="needle", file_pattern="src/*.py")) == [("src/a.py", 1)]
    assert list(grouped(call(view, "search_in_files", query="needle", excludePatterns="/src/, sub"))) == ["x/src/c.py"]
    assert call(view, "find_files_by_name", name_pattern="src/*.py")["files"] == ["src/a.py"]
    assert finder(view, "src/") == ["src/a.py", "x/src/c.py"]
    assert finder(view, "sub") == []


QUESTIONS = [
    ("search_text_pattern", {"query": "needle"}),
    ("search_in_files", {"query": "needle", "exclude_query": "last", "file_pattern": "*.[jmp]*"}),
    ("search_in_files", {"query": "needle", "limit": 2, "excludePatterns": "*.md"}),
    ("search_project_code", {"pattern": "n.edle", "include_hidden": True, "max_results": 2}),
    ("find_files_by_name", {"name_pattern": "src/*"}),
    ("find_files_by_name", {"name_pattern": "*.nothing"}),
    ("search_files", {"query": "app"}),
    ("search_files", {"query": "ppjs"}),
    ("search_files", {"query": "*.JS", "includePatterns": "src/"}),
    ("search_files", {"query": "no such file"}),
]


def answer(view, tool, arguments):
    """What a call says once the machine, however busy, has looked at all changes in time."""

    def fresh():
        found = call(view, tool, **arguments)
        return None if "stale" in found else found

    found = until(fresh)
    if "stats" in found:
        del found["stats"]["elapsed_ms"]
    return found


@pytest.mark.parametrize("is_ready", [False, True])
@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS)
def test_every_backend_gives_the_same_answer(view, project, folder, tool, arguments, is_ready):
    if is_ready:
        ready(project)
    for base in (view, View(project, b"src")):
        expected = answer(base, tool, arguments)
        for name in TEXT_BACKENDS:
            assert answer(dataclasses.replace(base, text_backend=name), tool, arguments) == expected, name
        for name in FILES_BACKENDS:
            assert answer(dataclasses.replace(base, files_backend=name), tool, arguments) == expected, name


@pytest.mark.parametrize(("tool", "arguments"), QUESTIONS)
def test_every_tool_asks_the_backend_that_is_forced(view, monkeypatch, tool, arguments):
    asked = set()
    text, names = view.project.text.search, view.project.names.matching

    def text_seen(pattern, scope, search, **more):
        asked.add(search.backend)
        return text(pattern, scope, search, **more)

    def names_seen(expression, scope, search, **more):
        asked.add(search.backend)
        return names(expression, scope, search, **more)

    monkeypatch.setattr(view.project.text, "search", text_seen)
    monkeypatch.setattr(view.project.names, "matching", names_seen)
    call(dataclasses.replace(view, text_backend="grep", files_backend="find"), tool, **arguments)
    assert asked == {"find" if tool in {"find_files_by_name", "search_files"} else "grep"}


def test_what_narrows_a_connection_narrows_every_tool(view, folder):
    write(folder, {"src/.deep.py": "needle\n"})
    narrow = seen_as(
        view,
        read_hello(
            {
                "ctxd": 1,
                "want": "mcp",
                "cwd": str(folder),
                "only": {"globs": ["!deep"], "extensions": ["py"], "hidden": True},
            }
        ),
    )
    expected = ["src/.deep.py", "test/app_test.py"]
    assert [path for path, _ in places(call(narrow, "search_in_files", query="needle"))] == [
        expected[0],
        *expected[1:] * 2,
    ]
    assert sorted(grouped(call(narrow, "search_in_files", query="needle", caseSensitive=True))) == expected
    found = call(narrow, "search_project_code", pattern="needle")["results"]
    assert sorted({match["file"] for match in found}) == expected
    assert finder(narrow, "deep") == ["src/.deep.py"]
    assert finder(view, "deep") == ["src/deep/app.js"]
