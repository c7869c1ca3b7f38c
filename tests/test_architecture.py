"""The rules of ARCHITECTURE.md that a machine can hold."""

import ast
import graphlib
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ctxd.daemon.projects.project_marks import PROJECT_FILES, PROJECT_SUFFIXES
from ctxd.indexer.languages import LANGUAGES
from projects import needs_git

ROOT = Path(__file__).parent.parent
PACKAGES = ("daemon", "indexer", "mcp_frontend", "migrations")
MODULES = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def imports(path, *, at_start=False):
    """Full names that a module imports; `at_start` leaves out those inside functions and TYPE_CHECKING."""
    found = set()

    def visit(node):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        skipped = at_start and (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test))
        )
        if not skipped:
            for child in ast.iter_child_nodes(node):
                visit(child)

    visit(ast.parse(path.read_text()))
    return found


def name(path):
    return str(path.relative_to(ROOT))


def test_the_front_end_is_standard_library_and_the_protocol():
    for path in [*(ROOT / "mcp_frontend").glob("*.py"), ROOT / "daemon/protocol.py"]:
        for one in imports(path):
            top = one.split(".")[0]
            allowed = top in sys.stdlib_module_names or top == "platformdirs"
            ours = one.startswith(("ctxd.mcp_frontend", "ctxd.daemon.protocol")) or one in {"ctxd.daemon", "ctxd"}
            assert allowed or ours, f"{name(path)} imports {one}"


LAYERS = (
    "migrations",
    *(
        "indexer.decode",
        "indexer.project_file",
        "indexer.words",
        "indexer.programs",
        "indexer.revisions",
        "indexer.page_checksums",
        "indexer.database",
    ),
    *("indexer.patterns", "indexer.structure", "indexer.languages", "indexer.files", "indexer.text", "indexer.names"),
    *("indexer.symbols", "indexer.documents", "indexer.meaning", "indexer.worker", "indexer.writer"),
    *("daemon.protocol", "daemon.errors", "daemon.hello", "daemon.schemas", "daemon.params", "daemon.projects.config"),
    *("daemon.indexing", "daemon.edits", "daemon.projects", "daemon.tool", "daemon.answers", "daemon.tools"),
    "daemon.requests",
    *("daemon.instructions", "daemon.server", "daemon.main"),
    "mcp_frontend",
)
"""From the bottom up: a module imports from its own layer and from those below."""


def layer_of(module):
    """The index of its layer in LAYERS; None for a package that only has a docstring."""
    return next((index for index, layer in enumerate(LAYERS) if f"{module}.".startswith(f"{layer}.")), None)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_imports_point_down(path):
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    own = layer_of(module)
    assert own is not None or module in PACKAGES, f"{module} is in no layer: add it to LAYERS"
    for one in imports(path):
        layer = layer_of(one.removeprefix("ctxd.")) if one.startswith("ctxd.") else None
        assert layer is None or layer <= own, f"{module} imports {one}, which lies above it"


def test_no_modules_import_each_other_in_a_circle():
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES}
    imported = {
        module: {one.removeprefix("ctxd.") for one in imports(path)} & names.keys() - {module}
        for module, path in names.items()
    }
    order = graphlib.TopologicalSorter(imported)
    order.prepare()  # raises CycleError that names them


def test_no_two_modules_or_public_classes_are_named_alike():
    """Except the shapes of answers: their names are the tools' own."""
    modules = [path.stem for path in MODULES if path.stem != "__init__"]
    classes = [
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef)
        and not node.name.startswith("_")
        and "TypedDict" not in map(ast.unparse, node.bases)
    ]
    for names in (modules, classes):
        assert not {one for one in names if names.count(one) > 1}


def test_only_the_server_knows_mcp():
    knowing = {
        name(path) for path in MODULES if any(one.split(".")[0] in {"mcp", "mcp_types"} for one in imports(path))
    }
    assert knowing == {"daemon/server.py"}


def test_only_indexer_and_migrations_know_sql():
    for path in MODULES:
        if path.parts[len(ROOT.parts)] in {"daemon", "mcp_frontend"}:
            assert not any(one.split(".")[0] in {"sqlean", "sqlite3", "sqlite_utils"} for one in imports(path)), name(
                path
            )


def test_tree_sitter_stays_in_the_worker():
    """The daemon imports the files of all languages, so these and the parser's parts name tree-sitter for its types alone."""
    knowing = {name(path) for path in MODULES if any(one.startswith("tree_sitter") for one in imports(path))}
    outside = {one for one in knowing if not one.startswith("indexer/languages/")}
    assert outside == {f"indexer/symbols/{one}.py" for one in ("parser", "sweep", "uses")}
    for one in knowing - {"indexer/symbols/parser.py"}:
        assert not any(taken.startswith("tree_sitter") for taken in imports(ROOT / one, at_start=True)), one
    importers = {
        "parser": "indexer/worker.py",
        "sweep": "indexer/symbols/parser.py",
        "uses": "indexer/symbols/sweep.py",
    }
    for module, importer in importers.items():
        full_name = f"ctxd.indexer.symbols.{module}"
        assert {name(path) for path in MODULES if full_name in imports(path)} == {importer}


PARSED = [language for language in LANGUAGES if language.rules is not None]
NAMED_ELSEWHERE = {
    ("daemon/protocol.py", ".py"): "our own modules",
    ("indexer/programs.py", "python"): "the search without any program",
    **dict.fromkeys(
        (("daemon/projects/project_marks.py", one) for one in (*PROJECT_FILES, *PROJECT_SUFFIXES)),
        "what build tools look for, whatever the language",
    ),
}
"""What is spelled like a language or its files and means something else."""


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_a_parsed_language_is_known_by_its_own_file_alone(path):
    if name(path).startswith("indexer/languages/"):
        return
    names = {one.name for one in PARSED if len(one.name) > 1}  # "c" is a letter
    names |= {os.fsdecode(file_name) for one in PARSED for file_name in one.file_names}
    extensions = tuple(os.fsdecode(extension) for one in PARSED for extension in one.extensions)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
            value = os.fsdecode(node.value)
            is_file = value.endswith(extensions) and re.fullmatch(r"[\w*]*\.[\w+-]+", value)
            if (name(path), value) not in NAMED_ELSEWHERE:
                assert value not in names, f"{name(path)}:{node.lineno} knows {value!r}: make it a field of Language"
                assert not is_file, f"{name(path)}:{node.lineno} knows {value!r}: make it a field of Language"


def test_what_is_named_elsewhere_is_needed():
    for file, spelled in NAMED_ELSEWHERE:
        assert f'"{spelled}"' in (ROOT / file).read_text()


def test_the_worker_starts_without_the_sdk_and_sqlite():
    script = "import sys, ctxd.indexer.worker; print([m for m in ('mcp', 'sqlean', 'anyio', 'pydantic') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_what_people_read_passes_through_one_place():
    """Elsewhere a name of a file could reach the terminal with the escapes in it."""
    for path in (ROOT / "mcp_frontend").glob("*.py"):
        if path.name != "render.py":
            for node in ast.walk(ast.parse(path.read_text())):
                called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
                assert called != "print", name(path)
                assert not re.match(r"sys\.(stdout|stderr)(\.buffer)?\.write", called), name(path)


def test_a_group_that_is_repeated_possessively_is_atomic():
    """`(?:a|b)*+` may end in the wrong place before Python 3.11.5; `(?>a|b)*+` means the same and does not."""
    token = re.compile(
        r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(?P<open>\()(?P<plain>\?:)?|\)(?P<possessive>(?:[*+?]|\{[\d,]+\})\+)?"
    )
    for path in MODULES:
        for literal in re.findall(r"\b[rb]{1,2}([\"'].*)", path.read_text()):
            plain = []
            for found in token.finditer(literal):
                if found["open"]:
                    plain.append(found["plain"] is not None)
                elif found[0].startswith(")") and plain:
                    assert not (plain.pop() and found["possessive"]), f"{name(path)}: {literal}"


def test_there_is_no_catch_all_module():
    for path in MODULES:
        assert path.stem not in {"utils", "common", "base", "helpers", "manager"}, name(path)


@pytest.mark.parametrize("path", MODULES, ids=name)
def test_every_module_says_what_it_is(path):
    if path.read_text():
        assert ast.get_docstring(ast.parse(path.read_text())), name(path)


def test_every_package_is_installed():
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    present = {"ctxd"} | {
        "ctxd." + ".".join(path.parent.relative_to(ROOT).parts)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    assert declared == present


def test_type_checkers_find_the_packages():
    for package in PACKAGES:
        link = ROOT / ".types/ctxd" / package
        assert os.readlink(link) == f"../../{package}"


@needs_git
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout: nobody knows which files are tracked")
def test_no_file_names_a_machine_path():
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z"]  # the checkout may be another user's
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for path in filter(None, tracked):
        file = ROOT / os.fsdecode(path)
        if file.is_file() and not file.is_symlink():
            text = file.read_bytes()
            for token in (b"/" + b"root/", b"/" + b"work/", b".pyenv" + b"/versions"):
                assert token not in text, f"{os.fsdecode(path)} holds {token.decode()}"
