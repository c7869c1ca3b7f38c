"""Questions behind the verbs that people type, each beside its answer: one hello line, one answer line.

Invariant: a request is typed and so is its answer; neither is part of MCP or knows about it.
To add a question, add a class with its own `want`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar, TypedDict

from ctxd.daemon import protocol
from ctxd.daemon.answers.live_elements import outline
from ctxd.daemon.edits.editor import listed
from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import Hello
from ctxd.daemon.projects import config, project_settings
from ctxd.daemon.projects.registry import refuse_too_wide
from ctxd.daemon.projects.view import backend_of
from ctxd.daemon.projects.why import why
from ctxd.indexer.languages import LANGUAGES
from ctxd.indexer.programs import FILES_BACKENDS, TEXT_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ctxd.daemon.projects.registry import Registry
    from ctxd.daemon.protocol import Places

SCAN_SECONDS = 8.0  # a question about a project that is being listed waits this long for the list


@dataclasses.dataclass(frozen=True, slots=True)
class Process:
    """The daemon as a request sees it."""

    places: Places
    registry: Registry
    stop: Callable[[], None]
    started_at: float = dataclasses.field(default_factory=time.monotonic)


class HelloRequest(Hello):
    """A hello whose `want` selects the class. `answer` makes the fields of the answer line; it raises ToolError."""

    WANT: ClassVar[str] = ""

    def answer(self, process: Process) -> Mapping[str, Any]:
        raise NotImplementedError


class Stop(HelloRequest):
    WANT: ClassVar[str] = "stop"

    def answer(self, process: Process) -> Mapping[str, Any]:
        process.stop()
        return {}


class StatusAnswer(TypedDict):
    status: dict[str, Any]
    """`{"daemon", "projects"}`, as `ctxd status --json` prints them."""


class Status(HelloRequest):
    """The status of the project that serves `root`, or of all projects."""

    WANT: ClassVar[str] = "status"

    def answer(self, process: Process) -> StatusAnswer:
        projects = process.registry.status(self.root)
        if projects is None:
            raise ToolError(
                f"{self.root} is in no project that ctxd watches", "`ctxd add` adds it, `ctxd list` shows all"
            )
        return {"status": {"daemon": self._of_daemon(process), "projects": projects}}

    def _of_daemon(self, process: Process) -> dict[str, Any]:
        """`backends` are those of this connection: named by the hello or the default, without programs that are missing."""
        registry = process.registry
        text = backend_of(self, "text_backend", TEXT_BACKENDS)
        files = backend_of(self, "files_backend", FILES_BACKENDS)
        return {
            "running": True,
            "pid": os.getpid(),
            "version": protocol.VERSION,
            "uptime_seconds": round(time.monotonic() - process.started_at, 1),
            "socket": process.places.socket,
            "rss_bytes": _rss_bytes(),
            "text_backend": registry.programs.answering(text, TEXT_BACKENDS),
            "files_backend": registry.programs.answering(files, FILES_BACKENDS),
            "workers": dataclasses.asdict(registry.workers.stats()),
            "problems": registry.problems(),
        }


class ListedProject(TypedDict):
    root: str
    state: str


class ListAnswer(TypedDict):
    projects: list[ListedProject]


class List(HelloRequest):
    WANT: ClassVar[str] = "list"

    def answer(self, process: Process) -> ListAnswer:
        entries = process.registry.status(None) or []
        return {"projects": [{"root": entry["root"], "state": entry["state"]} for entry in entries]}


class AddAnswer(TypedDict):
    project: dict[str, Any]
    """The project's entry in `ctxd status --json`."""


class Add(HelloRequest):
    WANT: ClassVar[str] = "add"

    def answer(self, process: Process) -> AddAnswer:
        if self.root is None:
            refuse_too_wide(self.folder)
        return {"project": process.registry.add(self.folder).status()}


class RemoveAnswer(TypedDict):
    removed: str


class Remove(HelloRequest):
    WANT: ClassVar[str] = "remove"

    def answer(self, process: Process) -> RemoveAnswer:
        if self.root is None or not process.registry.remove(self.root):
            raise ToolError(f"{self.root} is no project that ctxd watches", "`ctxd list` shows them")
        return {"removed": self.root}


class Model(HelloRequest):
    """Which model a project wants and has; with `retry`, models that failed are tried again."""

    WANT: ClassVar[str] = "model"
    retry: bool = False

    def answer(self, process: Process) -> Mapping[str, Any]:
        if self.retry:
            process.registry.retry_models()
            return {}
        return {"model": process.registry.view(self.folder).project.model_status()}


class WhyAnswer(TypedDict):
    why: dict[str, Any]


class Why(HelloRequest):
    """Why a file is or is not searched."""

    WANT: ClassVar[str] = "why"
    path: str

    def answer(self, process: Process) -> WhyAnswer:
        project = process.registry.view(self.folder).project
        if not project.scanned.wait(SCAN_SECONDS):
            raise ToolError("the project's files are still being listed", "`ctxd status` shows how far it is")
        return {"why": why(project, self.path)}


class OutlineAnswer(TypedDict):
    outline: dict[str, Any]


class OutlineOf(HelloRequest):
    """The elements of one file."""

    WANT: ClassVar[str] = "outline"
    path: str

    def answer(self, process: Process) -> OutlineAnswer:
        return {"outline": outline(process.registry.view(self.folder), self.path)}


class EditsAnswer(TypedDict):
    edits: list[dict[str, Any]]


class Edits(HelloRequest):
    """The journal: all edits, or those below a path."""

    WANT: ClassVar[str] = "edits"
    path: str | None = None

    def answer(self, process: Process) -> EditsAnswer:
        return {"edits": listed(process.registry.editor, self.path)}


class Undo(HelloRequest):
    WANT: ClassVar[str] = "undo"
    edit: int

    def answer(self, process: Process) -> Mapping[str, Any]:
        process.registry.editor.undo(self.edit)
        return {}


class LanguageEntry(TypedDict):
    name: str
    extensions: list[str]
    symbols: bool


class LanguagesAnswer(TypedDict):
    languages: list[LanguageEntry]


class Languages(HelloRequest):
    WANT: ClassVar[str] = "languages"

    def answer(self, process: Process) -> LanguagesAnswer:
        return self.answer_alone(process.places)

    def answer_alone(self, places: Places) -> LanguagesAnswer:  # noqa: ARG002 - the same of every daemon
        return {
            "languages": [
                {
                    "name": language.name,
                    "extensions": [os.fsdecode(one) for one in (*language.extensions, *language.file_names)],
                    "symbols": language.has_symbols,
                }
                for language in LANGUAGES
            ]
        }


class ConfigAnswer(TypedDict):
    settings: list[dict[str, Any]]
    problems: list[str]
    """Settings in the project's own files that do not count, and why."""


class Config(HelloRequest):
    """The settings in force for a project, or for none."""

    WANT: ClassVar[str] = "config"

    def answer(self, process: Process) -> ConfigAnswer:
        return self.answer_alone(process.places)

    def answer_alone(self, places: Places) -> ConfigAnswer:
        environment = dict(os.environ)
        try:
            if self.root is None:
                loaded = config.load(places.settings_file, environment)
            else:
                loaded = project_settings.load(places, self.root, environment)
        except config.SettingsError as error:
            raise ToolError(str(error), "Fix it, then ask again") from None
        return {"settings": config.describe(loaded.settings, loaded.sources), "problems": loaded.problems}


def answer_alone(line: str, places: Places) -> Mapping[str, Any]:
    """The answer line to a hello whose question needs no daemon. The front-end runs this in a short-lived process."""
    hello = json.loads(line)
    kind = {Languages.WANT: Languages, Config.WANT: Config}[hello["want"]]
    try:
        return {"ok": True, **kind.model_validate(hello).answer_alone(places)}
    except ToolError as error:
        return {"ok": False, "error": error.message, "hint": error.hint}


REQUESTS: dict[str, type[HelloRequest]] = {kind.WANT: kind for kind in HelloRequest.__subclasses__()}


def _rss_bytes() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
