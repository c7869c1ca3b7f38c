"""The toolset `edit`: every example and rule of specifications 002 and 003 on edits, and what each tool promises beyond."""

import hashlib
import json
import os
import shutil
import threading
from pathlib import Path

import jsonschema
import pytest

import edits
from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.errors import ToolError
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from edits import patched
from projects import opened, ready, write


def call(view, tool, **arguments):
    answer = TOOLS[tool].call(Call(view), arguments)
    jsonschema.validate(answer, TOOLS[tool].output_schema)
    return answer


def replace(view, path, search, new="", **arguments):
    return call(view, "replace_in_file", filePath=path, searchText=search, replaceText=new, **arguments)


def patch(view, path, operation, target, content=None, **arguments):
    arguments |= {} if content is None else {"content": content}
    return call(view, "TextPatch", filePath=path, operation=operation, target=target, **arguments)


def held(view):
    root = Path(os.fsdecode(view.project.root))
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def error(view, tool, **arguments):
    """The error, in the tool's own shape; nothing is written."""
    before = held(view)
    with pytest.raises(ToolError) as caught:
        call(view, tool, **arguments)
    shown = TOOLS[tool].error(caught.value)
    jsonschema.validate(shown, TOOLS[tool].output_schema)
    assert held(view) == before
    return shown


def patch_error(view, path, operation, target, content=None, **arguments):
    arguments |= {} if content is None else {"content": content}
    return error(view, "TextPatch", filePath=path, operation=operation, target=target, **arguments)


def hashed(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


@pytest.fixture(scope="module")
def shared(tmp_path_factory, workers):
    base = tmp_path_factory.mktemp("edits").resolve()
    (base / "project").mkdir()
    with opened(base / "project", base / "home", workers) as project:
        yield project


@pytest.fixture
def folder(shared):
    """Empty for each test."""
    folder = Path(os.fsdecode(shared.root))
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    return folder


@pytest.fixture
def view(shared, folder, home):
    shared.editor = Editor(str(home / "edits"))
    return View(shared)


# replace_in_file, as specification 003 has it


def test_the_example_of_the_specification(view, folder):
    write(
        folder, {"src/components/Header.tsx": "oldFunctionName();\nconst a = oldfunctionname;\nx.OldFunctionName()\n"}
    )
    answer = replace(view, "src/components/Header.tsx", "oldFunctionName", "newFunctionName", replaceAll=True)
    data = (folder / "src/components/Header.tsx").read_bytes()
    assert data == b"newFunctionName();\nconst a = newFunctionName;\nx.newFunctionName()\n"
    assert answer == {
        "success": True,
        "filePath": "src/components/Header.tsx",
        "searchText": "oldFunctionName",
        "replaceText": "newFunctionName",
        "replacementCount": 3,
        "caseSensitive": False,
        "useRegex": False,
        "replaceAll": True,
        "fileSize": len(data),
        "modified": True,
        "hash": hashed(data),
    }


@pytest.mark.parametrize(
    ("text", "arguments", "expected", "count"),
    [
        ("a A a", {"searchText": "a"}, "  ", 3),
        ("a A a", {"searchText": "a", "replaceText": "b", "caseSensitive": True}, "b A b", 2),
        ("a A a", {"searchText": "A", "replaceText": "b", "replaceAll": False}, "b A a", 1),
        ("a.c abc", {"searchText": "a.c", "replaceText": "x"}, "x abc", 1),
        ("a.c abc", {"searchText": "a.c", "replaceText": "x", "useRegex": True}, "x x", 2),
        ("aaa", {"searchText": "aa", "replaceText": "b"}, "ba", 1),
        ("ab\nAB\ncd\n", {"searchText": "B\nC", "replaceText": "-"}, "ab\nA-d\n", 1),
        ("ab\ncd\n", {"searchText": "b\r\nc", "replaceText": "-\r\n-"}, "a-\n-d\n", 1),
        ("\n\n\n\n", {"searchText": "\n\n", "replaceText": "\n"}, "\n\n", 2),
        ("Straße \u017f \u212a\n", {"searchText": "STRAßE S k", "replaceText": "x"}, "x\n", 1),
        ("$1 \\1", {"searchText": "\\1", "replaceText": "$1 $$"}, "$1 $1 $$", 1),
        ("a1 b22", {"searchText": r"([a-z])(\d+)", "replaceText": "$2$1", "useRegex": True}, "1a 22b", 2),
        ("a1", {"searchText": r"(?P<l>[a-z])(\d)", "replaceText": "${2}${l}$$$0", "useRegex": True}, "1a$a1", 1),
        ("a", {"searchText": r"(a)|(b)", "replaceText": "[$2$1$name$]", "useRegex": True}, "[a$name$]", 1),
        ("one\n\ntwo", {"searchText": "^", "replaceText": "> ", "useRegex": True}, "> one\n> \n> two", 3),
        ("a b\r\nb\r\n", {"searchText": "b$", "replaceText": "x", "useRegex": True}, "a x\r\nx\r\n", 2),
        (
            "foobar foobaz",
            {"searchText": "foo(?=(baz))", "replaceText": "<$1>", "useRegex": True},
            "foobar <baz>baz",
            1,
        ),
        ("aa bb cd", {"searchText": r"(\w)\1", "replaceText": "$1", "useRegex": True}, "a b cd", 2),
        ("É é\n", {"searchText": r"\bé\b", "replaceText": "e", "useRegex": True}, "e e\n", 2),
        ("aXbX\n" * 3, {"searchText": "(?<!a)x", "replaceText": "", "useRegex": True}, "aXb\n" * 3, 3),
    ],
)
def test_what_is_replaced(view, folder, text, arguments, expected, count):
    write(folder, {"a.txt": text})
    before = call(view, "replace_in_file", filePath="a.txt", dryRun=True, **arguments)
    assert (folder / "a.txt").read_bytes() == text.encode()
    assert (before["dryRun"], before["modified"], before["hash"]) == (True, False, hashed(text.encode()))
    answer = call(view, "replace_in_file", filePath="a.txt", **arguments)
    data = (folder / "a.txt").read_bytes()
    assert (data.decode(), answer["replacementCount"], answer["modified"]) == (expected, count, expected != text)
    assert patched(text.encode(), before["diff"]) == data


def test_without_a_match_nothing_is_modified(view, folder):
    write(folder, {"a.txt": "text\n"})
    stamp = (folder / "a.txt").stat()
    answer = replace(view, "a.txt", "nowhere", "x")
    assert (answer["success"], answer["replacementCount"], answer["modified"], answer["fileSize"]) == (
        True,
        0,
        False,
        5,
    )
    same = replace(view, "a.txt", "text", "text")
    assert (same["replacementCount"], same["modified"]) == (1, False)
    assert "nothing was written" in same["note"]
    assert (folder / "a.txt").stat() == stamp
    assert view.project.editor.entries() == []


def test_one_of_many_occurrences_tells_of_the_others(view, folder):
    write(folder, {"a.txt": "x\n\nX x\nx\n"})
    answer = replace(view, "a.txt", "x", "y", replaceAll=False)
    assert (answer["replacementCount"], answer["matchCount"], answer["otherLines"]) == (1, 4, [3, 3, 4])
    assert (folder / "a.txt").read_text() == "y\n\nX x\nx\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["searchText", "required"]),
        ({"searchText": ""}, ["searchText", "empty"]),
        ({"searchText": "x", "replaceAl": True}, ["replaceAl", "replaceAll"]),
        ({"searchText": "(", "useRegex": True}, ["Invalid pattern"]),
        ({"searchText": "a\\nb", "useRegex": True}, ["line"]),
        ({"searchText": "x", "replaceText": "$1", "useRegex": True}, ["replaceText", "$1", "no groups", "$$"]),
        ({"searchText": "(x)", "replaceText": "$2", "useRegex": True}, ["$2", "1 group"]),
        ({"searchText": "(?<a>x)", "replaceText": "${b}", "useRegex": True}, ["${b}", "a"]),
        ({"searchText": "x", "replaceText": "\ud800"}, ["half a character"]),
        ({"searchText": "\ud800"}, ["half a character"]),
        ({"searchText": "x", "replaceText": "\0"}, ["NUL"]),
        ({"searchText": "x", "expectedHash": "abc"}, ["expectedHash", "no hash"]),
        ({"searchText": "x", "expectedHash": "sha256:" + "0" * 64}, ["has changed", "read it again"]),
        ({"searchText": "x", "filePath": "nothing"}, ["no file or folder"]),
        ({"searchText": "x", "filePath": "../x"}, ["outside"]),
        ({"searchText": "x", "filePath": "/etc/passwd"}, ["outside"]),
        ({"searchText": "x", "filePath": "out"}, ["outside"]),
        ({"searchText": "x", "filePath": "src"}, ["folder"]),
        ({"searchText": "x", "filePath": "fifo"}, ["regular"]),
        ({"searchText": "x", "filePath": "data.bin"}, ["binary"]),
        ({"searchText": "x", "filePath": ".git/config"}, ["git", "never written"]),
        ({"searchText": "x", "filePath": "sub/.git"}, ["git", "never written"]),
        ({"searchText": "x", "filePath": "hooks/config"}, ["git", "never written"]),
        ({"searchText": "x", "filePath": ".env"}, ["secrets", "allow_secrets"]),
        ({"searchText": "x", "filePath": "link.env"}, ["secrets", "allow_secrets"]),
        ({"searchText": "x", "filePath": "locked.txt"}, ["read-only", "writable"]),
        ({"searchText": "x", "filePath": "huge.txt"}, ["1,073,741,824", "67,108,864"]),
        ({"searchText": "x", "filePath": "latin.txt", "replaceText": "€"}, ["Latin-1", "€"]),
        ({"searchText": "x", "replaceText": "y" * 9_000_000, "filePath": "many.txt"}, ["67,108,864"]),
    ],
)
def test_what_cannot_be_done_is_said_and_nothing_is_written(view, folder, arguments, words):
    write(
        folder,
        {
            "a.txt": "x\n",
            "src/a.txt": "x\n",
            "data.bin": b"x\0",
            ".git/config": "x\n",
            "sub/.git": "gitdir: x\n",
            ".env": "x\n",
            "locked.txt": "x\n",
            "latin.txt": b"\xe9 x\n",
            "many.txt": "x\n" * 10,
        },
    )
    (folder / "locked.txt").chmod(0o444)
    (folder / "out").symlink_to("/etc/passwd")
    (folder / "hooks").symlink_to(".git")
    (folder / "link.env").symlink_to(".env")
    os.mkfifo(folder / "fifo")
    if arguments.get("filePath") == "huge.txt":
        with open(folder / "huge.txt", "wb") as file:
            file.truncate(1 << 30)
        with pytest.raises(ToolError) as caught:
            call(view, "replace_in_file", **arguments)
        shown = TOOLS["replace_in_file"].error(caught.value)
    else:
        shown = error(view, "replace_in_file", **({"filePath": "a.txt"} | arguments))
    assert shown["success"] is False
    assert [word for word in words if word not in shown["error"]] == []


def test_a_pattern_that_runs_away_changes_nothing(view, folder):
    write(folder, {"a.txt": "x\n" + "a" * 40 + "b\n"})
    shown = error(
        view, "replace_in_file", filePath="a.txt", searchText=r"^(?=((a+)+)$)|x", replaceText="", useRegex=True
    )
    assert "took too long" in shown["error"]


def test_a_link_is_followed_inside_the_project_and_stays(view, folder):
    write(folder, {"real/a.txt": "x\n"})
    (folder / "link.txt").symlink_to("real/a.txt")
    (folder / "short").symlink_to("real")
    assert replace(view, "link.txt", "x", "y")["filePath"] == "real/a.txt"
    assert replace(view, "short/a.txt", "y", "z")["modified"]
    assert (folder / "real/a.txt").read_text() == "z\n"
    assert (folder / "link.txt").is_symlink()
    assert (folder / "short").is_symlink()


def test_hard_links_are_told_of(view, folder):
    write(folder, {"a.txt": "x\n"})
    os.link(folder / "a.txt", folder / "b.txt")
    assert "2 names" in replace(view, "a.txt", "x", "y")["note"]
    assert ((folder / "a.txt").read_text(), (folder / "b.txt").read_text()) == ("y\n", "x\n")


def test_a_backup_is_kept_where_asked_for(view, folder):
    write(folder, {"a.txt": "x\n"})
    assert replace(view, "a.txt", "x", "y", backup=True)["backup"] == ["a.txt.bak"]
    assert held(view) == {"a.txt": b"y\n", "a.txt.bak": b"x\n"}
    assert "backup" not in replace(view, "a.txt", "x", "z", backup=True)


def test_ignored_files_may_be_edited_and_secrets_where_that_is_allowed(tmp_path, home, workers):
    folder = tmp_path / "project"
    write(folder, {".gitignore": "build/\n", "build/a.txt": "x\n", ".env": "x\n"})
    with opened(folder, home, workers, allow_secrets=True) as project:
        for path in ("build/a.txt", ".env"):
            assert replace(View(project), path, "x", "y")["modified"]


def test_the_hash_that_reading_gave_guards_an_edit(view, folder):
    write(folder, {"a.py": "def f():\n    return 1\n"})
    read = call(view, "read_code_element", filePath="a.py", lineNumber=1)["hash"]
    assert call(view, "TextRead", filePath="a.py", target={"lines": {"start": 1, "end": 1}})["hash"] == read
    answer = replace(view, "a.py", "1", "2", expectedHash=read)
    again = error(view, "replace_in_file", filePath="a.py", searchText="2", replaceText="3", expectedHash=read)
    assert "has changed" in again["error"]
    assert replace(view, "a.py", "2", "3", expectedHash=answer["hash"])["modified"]


@pytest.mark.parametrize("bound", [True, False])
def test_of_two_who_edit_one_file_none_loses_what_the_other_wrote(view, folder, bound):
    write(folder, {"a.txt": "".join(f"<{n}>\n" for n in range(16))})
    expected = {"expectedHash": hashed((folder / "a.txt").read_bytes())} if bound else {}
    won, lost = [], []
    start = threading.Barrier(16)

    def edit(number):
        start.wait()
        try:
            replace(view, "a.txt", f"<{number}>", f"[{number}]", **expected)
            won.append(number)
        except ToolError:
            lost.append(number)

    threads = [threading.Thread(target=edit, args=(n,)) for n in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (folder / "a.txt").read_text()
    assert sorted(won) == [n for n in range(16) if f"[{n}]" in text]
    assert sorted(won + lost) == list(range(16))
    assert len(won) == 1 if bound else len(won) >= 5


def test_an_edit_is_found_by_the_next_query_of_any_tool(view, folder):
    write(folder, {"a.py": "def first(): pass\n", "a.md": "# One\n"})
    ready(view.project)
    replace(view, "a.py", "first", "second")
    assert call(view, "search_text_pattern", query="second")["match_count"] == 1
    assert call(view, "search_text_pattern", query="first")["match_count"] == 0
    patch(view, "a.md", "replace", {"heading": "# One"}, "# Two")
    assert call(view, "find_symbol_occurrences", symbol_name="second")["occurrences"][0]["file_path"] == "a.py"
    assert [one["text"] for one in call(view, "TextInspect", filePath="a.md")["structure"]["headings"]] == ["Two"]
    assert call(view, "find_files_by_name", name_pattern="*")["files"] == ["a.md", "a.py"]


def test_temporary_files_are_nobodys_business(view, folder):
    write(folder, {".ctxd-0123456789abcdef.tmp": "needle\n", "a.txt": "x\n"})
    found = call(view, "search_text_pattern", query="needle", target_paths=["."], file_extensions=["*"])
    assert found["match_count"] == 0
    view.project.hidden = True
    assert [path for path in view.project.table.files if b"ctxd" in path] == []


# TextPatch, as specification 002 has it


def readme(given=None):
    """A document of 847 lines with some of them given."""
    lines = [f"line {number}" for number in range(1, 848)]
    for number, text in (given or {}).items():
        lines[number - 1] = text
    return "\n".join(lines) + "\n"


def lines_of(folder, path="docs/README.md"):
    return (folder / path).read_text().split("\n")[:-1]


def test_a_heading_is_replaced_as_the_specification_shows_it(view, folder):
    write(folder, {"docs/README.md": readme({15: "## Installation"})})
    path = str(folder / "docs/README.md")
    answer = patch(view, path, "replace", {"heading": "## Installation"}, "## Getting Started")
    assert answer.pop("hash") == hashed((folder / "docs/README.md").read_bytes())
    assert answer == {
        "status": "success",
        "operation": "replace",
        "filePath": path,
        "target": {"heading": "## Installation"},
        "affectedLines": {"start": 15, "end": 15},
        "linesChanged": 1,
        "linesDelta": 0,
        "preview": {"before": "## Installation", "after": "## Getting Started"},
    }
    assert lines_of(folder)[13:16] == ["line 14", "## Getting Started", "line 16"]


def test_lines_are_replaced_as_the_specification_shows_it(view, folder):
    write(folder, {"docs/README.md": readme()})
    answer = patch(view, "docs/README.md", "replaceLines", {"lines": {"start": 50, "end": 55}}, "a\nb\nc\nd")
    assert (answer["status"], answer["operation"]) == ("success", "replaceLines")
    assert answer["affectedLines"] == {"start": 50, "end": 55}
    assert (answer["linesChanged"], answer["linesDelta"]) == (6, -2)
    assert answer["note"] == "File now has 845 lines (was 847)"
    assert lines_of(folder)[48:54] == ["line 49", "a", "b", "c", "d", "line 56"]


def test_a_target_that_is_not_there_is_told_as_the_specification_shows_it(view, folder):
    write(folder, {"docs/README.md": readme({15: "## Installation"})})
    assert patch_error(view, "docs/README.md", "replace", {"heading": "## Instalation"}, "## X") == {
        "status": "error",
        "message": "Target not found: heading '## Instalation'",
        "suggestions": [
            "Similar heading found: '## Installation' at line 15",
            "Use TextInspect to see all headings in the document",
        ],
    }


def test_the_workflows_of_the_specification(view, folder):
    write(
        folder,
        {"docs/README.md": readme({200: "## Contributing"}), "docs/guide.md": readme({87: "Do you recieve it?"})},
    )
    content = "## Troubleshooting\n\nCommon issues and solutions:\n\n### Build Errors\n\n" + "text\n" * 9
    answer = patch(view, "docs/README.md", "insert", {"beforeHeading": "## Contributing"}, content)
    assert (answer["status"], answer["linesChanged"], answer["linesDelta"]) == ("success", 0, 15)
    assert answer["affectedLines"] == {"start": 200, "end": 214}
    assert lines_of(folder)[198:201] == ["line 199", "## Troubleshooting", ""]
    assert lines_of(folder)[213:215] == ["text", "## Contributing"]
    answer = patch(view, "docs/guide.md", "replace", {"text": "recieve"}, "receive")
    assert (answer["status"], answer["affectedLines"]) == ("success", {"start": 87, "end": 87})
    assert answer["preview"] == {"before": "Do you recieve it?", "after": "Do you receive it?"}


def test_a_code_block_keeps_its_fences_and_language(view, folder):
    blocks = "".join(f"```{name}\nold {name}\n```\n\n" for name in ("bash", "json", "python", "typescript"))
    write(folder, {"API.md": f"# API\n\n{blocks}end\n"})
    content = "const client = new ApiClient({\n  baseUrl: 'https://api.example.com',\n  timeout: 5000\n});"
    answer = patch(view, "API.md", "replace", {"codeBlock": {"index": 3}}, content)
    assert f"```typescript\n{content}\n```\n\nend\n" in (folder / "API.md").read_text()
    assert (answer["affectedLines"], answer["linesDelta"]) == ({"start": 16, "end": 16}, 3)
    patch(view, "API.md", "replace", {"codeBlock": {"index": 0}}, "new code...\n")
    assert (folder / "API.md").read_text().startswith("# API\n\n```bash\nnew code...\n```\n")


def test_a_key_of_a_section_is_replaced(view, folder):
    write(folder, {"config/app.conf": "[cache]\nhost = a\n\n[database]\nport = 1\nhost = localhost\n"})
    target = {"section": "[database]", "key": "host"}
    answer = patch(view, "config/app.conf", "replace", target, "host = production.db.example.com")
    assert (folder / "config/app.conf").read_text().endswith("port = 1\nhost = production.db.example.com\n")
    assert answer["target"] == target
    assert answer["affectedLines"] == {"start": 6, "end": 6}


DOCUMENT = """# Title

Intro text.

## Old

  - item one
  - item two

```python
old = 1
```

<a id="here"></a>
## Last
end
"""


@pytest.mark.parametrize(
    ("operation", "target", "content", "old", "new"),
    [
        ("replace", {"heading": "## Old"}, "## New", "## Old\n", "## New\n"),
        ("replace", {"heading": "## Old"}, "## New\n", "## Old\n", "## New\n"),
        ("insert", {"afterHeading": "# Title"}, "\nNew paragraph...", "# Title\n\n", "# Title\n\nNew paragraph...\n\n"),
        ("insert", {"heading": "# Title"}, "After.", "# Title\n", "# Title\nAfter.\n"),
        ("insert", {"beforeHeading": "## Old"}, "Before.\n\n", "## Old\n", "Before.\n\n## Old\n"),
        ("delete", {"heading": "## Old"}, None, "## Old\n", ""),
        ("delete", {"lines": {"start": 7, "end": 8}}, None, "  - item one\n  - item two\n", ""),
        ("replaceLines", {"lines": {"start": 7, "end": 8}}, "", "  - item one\n  - item two\n", ""),
        ("replaceLines", {"lines": {"start": 7, "end": 8}}, None, "  - item one\n  - item two\n", ""),
        ("replace", {"lines": {"start": 3, "end": 3}}, "a\nb", "Intro text.\n", "a\nb\n"),
        ("insert", {"lines": {"start": 3, "end": 3}}, "a\n", "Intro text.\n", "a\nIntro text.\n"),
        ("insert", {"lines": {"start": 17, "end": 17}}, "more", "end\n", "end\nmore\n"),
        ("replace", {"codeBlock": {"index": 0}}, "new code...", "old = 1\n", "new code...\n"),
        ("insert", {"codeBlock": {"index": 0}}, "two = 2", "old = 1\n", "old = 1\ntwo = 2\n"),
        ("delete", {"codeBlock": {"index": 0}}, None, "old = 1\n", ""),
        ("replace", {"text": "Intro"}, "First", "Intro text.", "First text."),
        ("insert", {"text": "Intro"}, "ductory", "Intro text.", "Introductory text."),
        ("delete", {"text": " text"}, None, "Intro text.", "Intro."),
        ("replace", {"text": "one\n  - item"}, "x", "one\n  - item two", "x two"),
        ("replace", {"pattern": "ITEM (o\\w+)", "flags": "i"}, "$1", "item one", "$1"),
        ("insert", {"pattern": "^end$"}, "!", "end\n", "end!\n"),
        ("insert", {"anchor": "here"}, "x", "## Last\n", "## Last\nx\n"),
        ("insert", {"anchor": "old"}, "x", "## Old\n", "## Old\nx\n"),
        ("replace", {"anchor": "old"}, "## X", "## Old\n", "## X\n"),
    ],
)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_what_each_operation_does_to_each_target(view, folder, operation, target, content, old, new, ending):
    before = DOCUMENT.replace("\n", ending).encode()
    write(folder, {"a.md": before})
    dry = patch(view, "a.md", operation, target, content, dryRun=True)
    assert (folder / "a.md").read_bytes() == before
    answer = patch(view, "a.md", operation, target, content)
    after = (folder / "a.md").read_bytes()
    assert DOCUMENT.count(old) == 1
    assert after == DOCUMENT.replace(old, new).replace("\n", ending).encode()
    assert patched(before, dry["diff"]) == after
    assert {**dry, "hash": 0} == {**answer, "hash": 0, "dryRun": True, "diff": dry["diff"]}
    assert answer["linesDelta"] == new.count("\n") - old.count("\n")


CONFIG = "top = 0\n\n[a]\n# about x\nx = 1\n\n[b]\nlist =\n  1\n  2\ny = 2\n"


@pytest.mark.parametrize(
    ("operation", "target", "content", "expected"),
    [
        ("replace", {"section": "a", "key": "x"}, "x = 5", CONFIG.replace("x = 1", "x = 5")),
        ("delete", {"section": "b", "key": "list"}, None, CONFIG.replace("list =\n  1\n  2\n", "")),
        ("insert", {"section": "[a]", "key": "x"}, "z = 3", CONFIG.replace("x = 1\n", "x = 1\nz = 3\n")),
        ("insert", {"section": "[b]"}, "w = 1", CONFIG.replace("[b]\n", "[b]\nw = 1\n")),
        ("delete", {"section": "[a]"}, None, CONFIG.replace("[a]\n# about x\nx = 1\n", "")),
        ("replace", {"section": "", "key": "top"}, "top = 1", CONFIG.replace("top = 0", "top = 1")),
    ],
)
def test_sections_and_keys(view, folder, operation, target, content, expected):
    write(folder, {"a.ini": CONFIG})
    patch(view, "a.ini", operation, target, content)
    assert (folder / "a.ini").read_text() == expected


@pytest.mark.parametrize(
    ("text", "operation", "line", "content", "expected"),
    [
        ("a\nb", "replace", 2, "x\n", "a\nx"),
        ("a\nb", "insert", 3, "x\n", "a\nb\nx"),
        ("a\nb", "insert", 2, "x", "a\nx\nb"),
        ("a\nb", "delete", 2, None, "a\n"),
        ("a\nb\n", "insert", 3, "x", "a\nb\nx\n"),
        ("", "insert", 1, "x", "x\n"),
        ("a\n", "insert", 1, "\n", "\na\n"),
        ("a\n", "replace", 1, "x\n\n", "x\n\n"),
        ("a\r\nb\n", "insert", 2, "x\ny", "a\r\nx\ny\nb\n"),
        ("a\r\nb\n", "insert", 1, "x\ny", "x\r\ny\r\na\r\nb\n"),
    ],
)
def test_the_end_of_a_file_and_mixed_endings(view, folder, text, operation, line, content, expected):
    write(folder, {"a.txt": text})
    answer = patch(view, "a.txt", operation, {"lines": {"start": line, "end": line}}, content)
    assert (folder / "a.txt").read_bytes() == expected.encode()
    if operation == "insert":
        assert answer["affectedLines"]["start"] == line
        assert answer["linesChanged"] == 0


@pytest.mark.parametrize(
    ("text", "target", "content", "expected"),
    [
        ("    a\n", {"lines": {"start": 1, "end": 1}}, "b\n  c\n\nd", "    b\n      c\n\n    d\n"),
        ("    a\n", {"lines": {"start": 1, "end": 1}}, "    b", "    b\n"),
        ("    a\n", {"lines": {"start": 1, "end": 1}}, "      b\nc", "      b\nc\n"),
        ("    a\n", {"lines": {"start": 1, "end": 1}}, "  b\n    c\nd", "    b\n      c\n    d\n"),
        ("\ta\n", {"lines": {"start": 1, "end": 1}}, "    b\n", "\tb\n"),
        ("    a()\n", {"text": "a()"}, "b()\nc()", "    b()\n    c()\n"),
        ("    a()\n", {"text": "a()"}, "b(\n        1,\n    )", "    b(\n        1,\n    )\n"),
        ("    a()\n", {"text": "    a()"}, "b()\nc()", "b()\nc()\n"),
        ("  k: 1\n", {"pattern": "k: 1"}, "k: 2\nl: 3", "  k: 2\n  l: 3\n"),
    ],
)
def test_indentation_is_that_of_the_target(view, folder, text, target, content, expected):
    write(folder, {"a.txt": text})
    patch(view, "a.txt", "replace", target, content)
    assert (folder / "a.txt").read_text() == expected
    write(folder, {"a.txt": text})
    patch(view, "a.txt", "replace", target, content, preserveIndent=False)
    assert content in (folder / "a.txt").read_text()


def test_what_goes_into_a_section_is_indented_as_what_is_in_it(view, folder):
    write(folder, {"a.yaml": "jobs:\n  build:\n    steps: 1\n", ".gitconfig": "[core]\n\tbare = false\n[user]\n"})
    patch(view, "a.yaml", "insert", {"section": "jobs.build"}, "name: b")
    assert (folder / "a.yaml").read_text() == "jobs:\n  build:\n    name: b\n    steps: 1\n"
    patch(view, ".gitconfig", "insert", {"section": "[core]"}, "pager = less")
    patch(view, ".gitconfig", "insert", {"section": "[user]"}, "name = x")
    assert (folder / ".gitconfig").read_text() == "[core]\n\tpager = less\n\tbare = false\n[user]\nname = x\n"


def test_a_code_block_in_a_list_is_indented_as_its_fence(view, folder):
    write(folder, {"a.md": "- ```sh\n      deep\n  ```\n"})
    patch(view, "a.md", "replace", {"codeBlock": {"index": 0}}, "one\n  two")
    assert (folder / "a.md").read_text() == "- ```sh\n  one\n    two\n  ```\n"


@pytest.mark.parametrize(
    ("operation", "target", "content", "words"),
    [
        ("replace", {"text": "a"}, None, ["replace", "not empty", "delete"]),
        ("replace", {"text": "a"}, "", ["not empty"]),
        ("insert", {"text": "a"}, "", ["not empty"]),
        ("delete", {"text": "a"}, "x", ["no content", "replace"]),
        ("replaceLines", {"text": "a"}, "x", ["lines"]),
        ("replace", {"afterHeading": "# A"}, "x", ["afterHeading", "insert", '"heading": "# A"']),
        ("delete", {"beforeHeading": "# A"}, None, ["beforeHeading", "insert"]),
        ("replace", {"heading": "A"}, "x", ["# marks", "'# A'"]),
        ("replace", {"lines": {"start": 3, "end": 9}}, "x", ["out of bounds", "6 lines"]),
        ("replace", {"lines": {"start": 0, "end": 1}}, "x", ["target.lines.start", "0", "1"]),
        ("replace", {"lines": {"start": 2, "end": 1}}, "x", ["range"]),
        ("replace", {"pattern": "("}, "x", ["Invalid pattern"]),
        ("replace", {"pattern": "a", "flags": "g"}, "x", ["target.flags"]),
        ("replace", {"text": "a", "flags": "i"}, "x", ["flags belong to a pattern"]),
        ("replace", {"text": "a", "heading": "# A"}, "x", ["exactly one of", "lines", "afterHeading"]),
        ("replace", {}, "x", ["exactly one of"]),
        ("replace", {"headng": "# A"}, "x", ["target.headng", "heading"]),
        ("replace", {"section": "[a]"}, "x", ["section"]),
        ("replace", {"key": "k"}, "x", ["exactly one of"]),
        ("replace", {"text": "a", "key": "k"}, "x", ["key belongs to a section"]),
        ("replace", {"text": "nowhere"}, "x", ["Target not found: text 'nowhere'", "TextInspect"]),
        ("replace", {"pattern": "nowhere"}, "x", ["Target not found: pattern 'nowhere'", "flags"]),
        ("replace", {"codeBlock": {"index": 1}}, "x", ["code block 1", "0 to 0"]),
        ("replace", {"anchor": "aa"}, "x", ["anchor 'aa'"]),
        ("replace", {"text": "a"}, "\ud800", ["half a character"]),
        ("replace", {"text": "a"}, "\0", ["NUL"]),
        ("rename", {"text": "a"}, "x", ["operation", "rename"]),
    ],
)
def test_a_patch_that_cannot_be_made_says_why(view, folder, operation, target, content, words):
    write(folder, {"a.md": "# A\na\n\n```\ncode\n```\n"})
    shown = patch_error(view, "a.md", operation, target, content)
    assert shown["status"] == "error"
    text = " ".join([shown["message"], *shown["suggestions"]])
    assert [word for word in words if word not in text] == []


def test_the_first_of_several_is_meant_and_the_others_told(view, folder):
    write(folder, {"a.md": "# A\nx\n# A\nx x\n"})
    answer = patch(view, "a.md", "replace", {"text": "x"}, "y")
    assert (answer["matchCount"], answer["otherLines"]) == (3, [4, 4])
    answer = patch(view, "a.md", "replace", {"heading": "# A"}, "# B")
    assert (answer["matchCount"], answer["otherLines"]) == (2, [3])
    assert (folder / "a.md").read_text() == "# B\ny\n# A\nx x\n"


def test_a_large_deletion_is_warned_of(view, folder):
    write(folder, {"docs/README.md": readme()})
    answer = patch(view, "docs/README.md", "delete", {"lines": {"start": 1, "end": 50}})
    assert "50 lines are gone" in answer["warning"]
    assert "warning" not in patch(view, "docs/README.md", "delete", {"lines": {"start": 1, "end": 49}})


def test_a_long_preview_is_cut(view, folder):
    write(folder, {"a.txt": "x" * 5_000 + "\n"})
    preview = patch(view, "a.txt", "replace", {"text": "xx"}, "yy")["preview"]
    assert (len(preview["before"]), len(preview["after"]), preview["truncated"]) == (500, 500, True)


def test_the_answer_to_many_patches_is_no_longer_than_hosts_take(view, folder):
    write(folder, {"a.txt": "".join(f"{n} {'x' * 3_000}\n" for n in range(100))})
    patches = [edit("a.txt", "replace", {"text": f"{n} {'x' * 3_000}\n"}, f"{n} {'y' * 3_000}\n") for n in range(100)]
    answer = call(view, "TextPatch", edits=patches)
    assert len(json.dumps(answer)) < 100_000
    assert answer["results"][99]["preview"] == {
        "before": "99 " + "x" * 197,
        "after": "99 " + "y" * 197,
        "truncated": True,
    }
    (folder / "a.txt.bak").write_text("x\n")
    patches = [edit("a.txt", "replace", {"text": "y"}, "z"), edit("a.txt.bak", "replace", {"text": "x"}, "z")]
    assert "backup" in error(view, "TextPatch", edits=patches, backup=True)["message"]


def test_a_key_that_shares_its_line_is_replaced_alone_and_not_deleted(view, folder):
    write(folder, {"a.json": '{"a": {"b": 1, "c": 2}}\n'})
    assert "shares its line" in patch_error(view, "a.json", "delete", {"section": "a", "key": "b"})["message"]
    patch(view, "a.json", "replace", {"section": "a", "key": "b"}, '"b": 3')
    assert (folder / "a.json").read_text() == '{"a": {"b": 3, "c": 2}}\n'


# Several patches


def edit(path, operation, target, content=None, **more):
    return {"filePath": path, "operation": operation, "target": target, **more} | (
        {} if content is None else {"content": content}
    )


def test_patches_across_files_are_made_in_order(view, folder):
    write(folder, {"a.md": "# A\none\r\n", "b.txt": "b\n", "c.txt": "c\n"})
    answer = call(
        view,
        "TextPatch",
        edits=[
            edit("a.md", "replace", {"heading": "# A"}, "# B\n\ntext"),
            edit("b.txt", "replace", {"text": "b"}, "x"),
            edit(str(folder / "a.md"), "insert", {"heading": "# B"}, "first"),
            edit("a.md", "replace", {"lines": {"start": 5, "end": 5}}, "last\n"),
            edit("c.txt", "replace", {"text": "c"}, "c"),
        ],
    )
    assert (folder / "a.md").read_bytes() == b"# B\nfirst\n\ntext\nlast\r\n"
    assert (folder / "b.txt").read_text() == "x\n"
    assert (answer["status"], answer["filesChanged"], len(answer["results"])) == ("success", 2, 5)
    assert [one["affectedLines"]["start"] for one in answer["results"]] == [1, 1, 2, 5, 1]
    assert answer["results"][3]["hash"] == answer["results"][0]["hash"] == hashed((folder / "a.md").read_bytes())
    assert "nothing was written" in answer["results"][4]["note"]
    (entry,) = view.project.editor.entries()
    assert [file.path for file in entry.files] == ["a.md", "b.txt"]
    view.project.editor.undo(entry.number)
    assert held(view) == {"a.md": b"# A\none\r\n", "b.txt": b"b\n", "c.txt": b"c\n"}


def test_where_one_patch_fails_none_is_made(view, folder):
    write(folder, {"a.md": "# A\n", "b.txt": "b\n"})
    good = edit("a.md", "replace", {"heading": "# A"}, "# B")
    shown = error(view, "TextPatch", edits=[good, edit("b.txt", "replace", {"text": "nowhere"}, "x")])
    assert shown["message"] == "edits[1]: Target not found: text 'nowhere'"
    assert shown["suggestions"][-1] == "None of the edits was made"
    shown = error(
        view, "TextPatch", edits=[good, edit("b.txt", "replace", {"text": "b"}, "x", expectedHash="sha256:" + "1" * 64)]
    )
    assert "edits[1]" in shown["message"]
    (folder / "b.txt").chmod(0o400)
    (folder / "b.txt").chmod(0o444)
    shown = error(view, "TextPatch", edits=[good, edit("b.txt", "replace", {"text": "b"}, "x")])
    assert "read-only" in shown["message"]
    for wrong, words in [
        ({"edits": []}, "edits"),
        ({"edits": [{"filePath": "a.md"}]}, "edits.0.operation"),
        ({"edits": [good], "content": "x"}, "combined with content"),
        ({}, "filePath"),
        ({"filePath": "a.md", "operation": "delete"}, "target"),
    ]:
        assert words in error(view, "TextPatch", **wrong)["message"]


def test_a_dry_run_of_several_patches_shows_one_diff(view, folder):
    write(folder, {"a.txt": "a\n" * 20, "b.txt": "b\n"})
    edits = [
        edit("a.txt", "replace", {"lines": {"start": 2, "end": 2}}, "x\ny"),
        edit("b.txt", "delete", {"text": "b\n"}),
        edit("a.txt", "replace", {"text": "x"}, "z"),
        edit("a.txt", "delete", {"lines": {"start": 21, "end": 21}}),
    ]
    before = held(view)
    answer = call(view, "TextPatch", edits=edits, dryRun=True)
    assert held(view) == before
    assert (answer["dryRun"], answer["filesChanged"]) == (True, 0)
    one, _, two = answer["diff"].partition("--- a/b.txt")
    call(view, "TextPatch", edits=edits, backup=True)
    assert patched(before["a.txt"], one) == (folder / "a.txt").read_bytes() == b"a\nz\ny\n" + b"a\n" * 17
    assert patched(before["b.txt"], "--- a/b.txt" + two) == (folder / "b.txt").read_bytes() == b""
    assert held(view)["a.txt.bak"] == before["a.txt"]


# Whatever the file


def test_hostile_files_keep_what_is_not_edited(view, folder):
    outcomes = [edits.fuzzed(view, seed) for seed in range(50)]
    assert outcomes.count("made") > 20


def test_both_tools_are_listed_in_few_tokens():
    listed = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in TOOLS.values()
        if tool.toolset == "edit"
    ]
    assert sum(len(json.dumps(one, separators=(",", ":"))) for one in listed) / 4 <= 540


@pytest.mark.parametrize(
    ("key", "left"),
    [
        ("port", '{\n  "db": {\n    "host": "a"\n  },\n  "x": 1\n}\n'),
        ("host", '{\n  "db": {\n    "port": 1\n  },\n  "x": 1\n}\n'),
    ],
)
def test_deleting_a_json_key_leaves_valid_json(view, folder, key, left):
    write(folder, {"a.json": '{\n  "db": {\n    "host": "a",\n    "port": 1\n  },\n  "x": 1\n}\n'})
    patch(view, "a.json", "delete", {"section": "db", "key": key})
    assert (folder / "a.json").read_text() == left
