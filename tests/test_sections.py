"""Headings and keys as symbols of a project."""

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from projects import opened, ready, write

FILES = {
    "README.md": "# Tool\n\n## Client\n\n## Read / write 🫠 a\u00a0b\n",
    "docs/use.rst": "Use\n===\n\nClient\n------\n",
    "pyproject.toml": "[tool.demo.part]\nclient = {timeout = 1}\n",
    "ci.yml": "jobs:\n  build:\n    steps:\n      - uses: x\n",
    "app.properties": "server.port = 80\n",
    "setup.cfg": "[metadata]\nname = demo\n",
    "package.json": '{"scripts": {"build": "make"}}\n',
    "src/client.py": "class Client:\n    pass\n\n\nClient()\n",
}


def asked(project, name, **arguments):
    answer = TOOLS["find_symbol_occurrences"].call(Call(View(project)), {"symbol_name": name, **arguments})
    return [
        (one["file_path"], one["line_number"], one.get("kind"), one.get("symbol_fqn")) for one in answer["occurrences"]
    ]


def test_headings_and_keys_are_found_after_code_and_before_references(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        assert asked(project, "Client") == [
            ("src/client.py", 1, "class", "src.client.Client"),
            ("README.md", 3, "section", "README.Tool.Client"),
            ("docs/use.rst", 4, "section", "docs.use.Use.Client"),
            ("src/client.py", 5, None, "src.client.Client"),
        ]
        assert asked(project, "Client", language="markdown") == [("README.md", 3, "section", "README.Tool.Client")]
        assert asked(project, "client.Client", find_references=False) == [
            ("src/client.py", 1, "class", "src.client.Client")
        ]


def test_names_with_dots_slashes_and_blanks_are_found_whole_and_qualified(folder, home, workers):
    write(folder, FILES)
    with opened(folder, home, workers) as project:
        ready(project)
        (place,) = asked(project, "tool.demo.part.client.timeout")
        assert place == ("pyproject.toml", 2, "key", "pyproject.tool.demo.part.client.timeout")
        assert asked(project, "demo.part") == [("pyproject.toml", 1, "section", "pyproject.tool.demo.part")]
        assert asked(project, "server.port") == [("app.properties", 1, "key", "app.server.port")]
        assert asked(project, "metadata.name") == [("setup.cfg", 2, "key", "setup.metadata.name")]
        assert asked(project, "Read / write 🫠 a b") == [("README.md", 5, "section", "README.Tool.Read / write 🫠 a b")]
        assert [place[0] for place in asked(project, "build")] == ["ci.yml", "package.json"]
        assert asked(project, "uses") == []  # a field of one of many records


def test_the_next_page_goes_on_among_headings(folder, home, workers):
    write(folder, {f"{number:03}.md": "# Same\n\n# Same\n" for number in range(30)} | {"a.py": "Same = Same\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        found, cursor = [], None
        while True:
            arguments = {"symbol_name": "Same", "max_tokens": 300} | ({"cursor": cursor} if cursor else {})
            answer = TOOLS["find_symbol_occurrences"].call(Call(View(project)), arguments)
            found += [(one["file_path"], one["line_number"]) for one in answer["occurrences"]]
            cursor = answer.get("next_cursor")
            if cursor is None:
                break
        expected = [(f"{number:03}.md", line) for number in range(30) for line in (1, 3)]
        assert found == [("a.py", 1), *expected, ("a.py", 1)]
