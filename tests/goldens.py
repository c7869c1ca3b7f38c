"""The golden answers: little projects, questions with the answers that come first, and samples of every language, all in golden/.

Archives are text: what stands above the first `-- path --` is a remark or what is expected of the files, and each such line begins
a file. Invariant: a check compares what a tool answers, in its order and with its grades, with what is written down; weights and
scores are never looked at.
"""

import contextlib
import dataclasses
import functools
import os
import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.hello import read_hello
from ctxd.daemon.indexing.chosen_model import ProjectModel
from ctxd.daemon.projects.view import View, seen_as
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.meaning import embedding
from projects import opened, until, write

GOLDEN = Path(__file__).parent / "golden"
_FILE = re.compile(r"^-- (.+) --\n", re.MULTILINE)
_TOKENS = 100_000
_PAGE_TOKENS = 300  # some six occurrences: the order of grades holds from page to page
_INDEX_SECONDS = 120


class Check(NamedTuple):
    kind: str
    """The heading it stands under in answers.toml; "grades" or "samples"."""
    about: str
    """What is asked; for grades and samples the archive and the name or file."""
    expected: Any
    ask: Callable[[View], Any]
    project: str
    """Which of `Projects` is asked."""


class Projects:
    """What the checks are asked about, indexed."""

    def __init__(self, views: dict[str, View]) -> None:
        self.views = views

    def wrong(self, check: Check) -> str | None:
        """What is wrong with the answer of today; None where nothing is."""
        found = check.ask(self.views[check.project])
        if isinstance(check.expected, list):
            found = found[: max(1, len(check.expected))]
        return None if found == check.expected else f"{check.kind}: {check.about}: {found}, not {check.expected}"


def archive(path):
    """What stands above the files of an archive, and the files: `{path: text}`."""
    above, *rest = _FILE.split(path.read_text())
    return above, dict(zip(rest[::2], rest[1::2], strict=True))


def files_of(project, *, language=None):
    """The files of one of the projects; of `grades` and `samples` those of one language, where that is asked."""
    if project == "samples":
        files = archive(GOLDEN / "samples.txtar")[1]
        return {name: text for name, text in files.items() if language in (None, name.split("/")[0])}
    found = {}
    for path in sorted((GOLDEN / project).glob("*.txtar")):
        if language in (None, path.stem):
            folder = f"{path.stem}/" if project == "grades" else ""
            found |= {folder + name: text for name, text in archive(path)[1].items()}
    return found


@contextlib.contextmanager
def indexed(folder, workers, *, names=("corpus", "grades", "samples"), language=None):
    """The projects, indexed below a folder."""
    with contextlib.ExitStack() as stack:
        views = {}
        for name in names:
            root, home = folder / name, folder / f"{name}-home"
            root.mkdir(parents=True)
            home.mkdir()
            write(root, files_of(name, language=language))
            views[name] = View(stack.enter_context(opened(root, home, workers)))
        for view in views.values():
            until(lambda one=view.project: one.indexing.chunks_ready, _INDEX_SECONDS)
        yield Projects(views)


def checks():
    """All of them, those of one kind side by side."""
    return [*_of_answers(), *_of_grades(), *_of_samples()]


def _of_answers():
    answers = tomllib.loads((GOLDEN / "answers.toml").read_text())
    for kind, questions in answers.items():
        tool, _, how = kind.partition(" ")
        for about, expected in questions.items():
            wanted = [expected] if isinstance(expected, str) else expected
            ways = {"": ("with a model", "without a model")}.get(how, (how,)) if tool in _WITH_AND_WITHOUT else ("",)
            for way in ways:
                ask = functools.partial(_ASKED[tool], about)
                if way == "without a model":
                    ask = functools.partial(_without_model, ask)
                yield Check(kind, about, wanted, ask, "corpus")


def _of_grades():
    for path in sorted((GOLDEN / "grades").glob("*.txtar")):
        for block in archive(path)[0].strip().split("\n\n"):
            name, *lines = block.split("\n")
            expected = [(grade, place) for grade, *places in map(str.split, lines) for place in places]
            ask = functools.partial(_grades, name, path.stem)
            yield Check("grades", f"{path.stem}: {name}", expected, lambda view, ask=ask: ask(view), "grades")


def _of_samples():
    _, *rows = archive(GOLDEN / "samples.txtar")[0].strip().split("\n\n")[-1].split("\n")
    for row in rows:
        name, *expected = row.split()
        yield Check("samples", name, tuple(expected), functools.partial(_sample, name, expected[3]), "samples")


def call(view, tool, **arguments):
    return TOOLS[tool].call(Call(view), arguments)


@contextlib.contextmanager
def _model(project, specification):
    own = project.model
    project.model = ProjectModel(specification, project.database, project.workers, own.cache)
    try:
        yield
    finally:
        project.model = own


def _without_model(ask, view):
    with _model(view.project, embedding.NONE):
        return ask(view)


_WITH_AND_WITHOUT = ("search_semantic_concept", "search_code")
"""Asked with the built-in model and without one, where their heading does not say which."""

# What is asked, and what of the answer is compared


def _concept(question, view):
    answer = call(view, "search_semantic_concept", concept_description=question)
    return [one["file_path"] for one in answer["results"]]


def _code(question, view):
    """Every result that is sure enough to be shown, then "nothing"."""
    answer = call(view, "search_code", query=question)
    return [
        *(f"{one['language']} {one['type']} {one['name']} in {one['file']}" for one in answer["results"]),
        "nothing",
    ]


def _file_names(question, view):
    return [one["path"] for one in call(view, "search_files", query=question)["results"]]


def _symbol(name, view):
    answer = call(view, "find_symbol_occurrences", symbol_name=name, max_tokens=_TOKENS)
    return [f"{one['grade']} {one['file_path']}:{one['line_number']}" for one in answer["occurrences"]]


def _overview(path, view):
    answer = call(view, "explore_codebase", path=path, maxTokens=_TOKENS)
    return [f"{one['name']} in {one['file']}" for one in answer["keyElements"]]


def _section(about, view):
    """The lines of a section, asked for as `path section`."""
    path, _, section = about.partition(" ")
    return call(view, "TextRead", filePath=path, target={"section": section})["content"].split("\n")


_ASKED = {
    "TextRead": _section,
    "search_semantic_concept": _concept,
    "search_code": _code,
    "search_files": _file_names,
    "find_symbol_occurrences": _symbol,
    "explore_codebase": _overview,
}


def _grades(name, language, view):
    """All occurrences in the order of their pages: `[("definition", "cart.py:1"), ...]`."""
    found = []
    page: dict[str, Any] = {}
    while True:
        answer = call(
            view,
            "find_symbol_occurrences",
            symbol_name=name,
            target_paths=[language],
            language=language,
            max_tokens=_PAGE_TOKENS,
            **page,
        )
        found += answer["occurrences"]
        if "next_cursor" not in answer:
            break
        page = {"cursor": answer["next_cursor"]}
    start = len(language) + 1
    return [(one["grade"], f"{one['file_path'][start:]}:{one['line_number']}") for one in found]


def _sample(name, symbol, view):
    """The language of a sample, how its comment begins, the first part that an outline names and a reader finds, the symbol where it
    is defined, and whether a question finds the file; "-" for none. All are "lost" where a search of text passes the file over.
    """
    narrowed = seen_as(
        view, read_hello({"ctxd": 1, "want": "mcp", "cwd": "/", "only": {"languages": [name.split("/")[0]]}})
    )
    folder = os.path.dirname(name)
    for one in (view, narrowed):
        # A file that is named itself is searched whatever it is called.
        found = call(dataclasses.replace(one, hidden=True), "search_text_pattern", query="boats", target_paths=[folder])
        if name not in [match["file_path"] for match in found["matches"]]:
            return ("lost",) * 5
    listed = call(dataclasses.replace(view, hidden=True), "explore_codebase", path=folder)["summary"]["languages"]
    language = "+".join(sorted(one["name"] for one in listed))
    outline = call(view, "TextInspect", filePath=name)["structure"]
    comments = [one["prefix"] for one in outline.get("commentBlocks", ())]
    parts = list(outline.get("frontmatter", {}).get("keys", ()))
    parts += [one["text"] for one in outline.get("headings", ())]
    for section in outline.get("sections", ()):
        call(view, "TextRead", filePath=name, target={"section": section["marker"]})
        parts.append(section["marker"])
    defined = call(view, "find_symbol_occurrences", symbol_name=symbol, target_paths=[name], find_references=False)
    question = {"concept_description": "boats of the harbour", "target_paths": [name]}
    found = call(view, "search_semantic_concept", **question)["results"]
    if found:
        found = call(view, "search_semantic_concept", language=language, **question)["results"]
    return (
        language,
        next(iter(comments), "-"),
        next(iter(parts), "-"),
        symbol if defined["occurrences"] else "-",
        "found" if found else "-",
    )
