"""The elements of files as they are now, for one call.

Invariant: the elements returned describe the bytes on disk at that moment. A file without current rows (it has just changed,
the first pass has not reached it, it is ignored) is parsed for this answer. If there is no time for that, the file is counted
as `pending` and the answer says so.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from ctxd.daemon.errors import ToolError
from ctxd.daemon.indexing.workers import ParseJob
from ctxd.daemon.tool import Call
from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable, content_hash, decode, read_inside
from ctxd.indexer.files.secret_names import is_secret
from ctxd.indexer.symbols.enclosing import FileElements, type_of
from ctxd.indexer.symbols.outline import unpack_definitions, unpack_import_statements
from ctxd.indexer.worker import FILE_BYTES_MAX

if TYPE_CHECKING:
    from ctxd.daemon.projects.view import View
    from ctxd.indexer.languages.language import Language

_TRIES = 3  # for a file that is written while we parse it


class ElementLookup:
    """Parses for at most `symbols_wait_ms` in all."""

    def __init__(self, call: Call) -> None:
        self.project = call.view.project
        self.pending = 0
        self._call = call
        self._until = time.monotonic() + self.project.settings.symbols_wait_ms / 1000

    def of(self, path: bytes) -> FileElements:
        """The elements of a file of the project. Raises Unreadable."""
        elements = self._read(path)
        for _ in range(_TRIES - 1):
            if elements is not None:
                break
            elements = self._read(path)
        if elements is None or elements.symbols == "pending":
            self.pending += 1
        return elements or self._without_symbols(path)

    def _read(self, path: bytes) -> FileElements | None:
        """The elements of a file; None if it was written meanwhile."""
        data, _ = read_inside(self.project.root, path)
        text = decode(data)[1]
        language = languages.language_of(path, text)
        name = language.name if language is not None else None
        if text is None or language is None or not language.has_symbols:
            return FileElements(path, data, text, name, "none")
        if len(data) > FILE_BYTES_MAX:
            return FileElements(path, data, text, name, "too_large")
        key = content_hash(data)
        stored = self.project.symbols.outline_of(key) or self._parsed(path, language, key)
        if stored is None:
            return FileElements(path, data, text, name, "pending")
        symbols, definitions, imports = stored
        if symbols == "changed":
            return None
        if not definitions:
            return FileElements(path, data, text, name, symbols)
        return FileElements(
            path, data, text, name, symbols, unpack_definitions(definitions), unpack_import_statements(imports)
        )

    def _parsed(self, path: bytes, language: Language, key: bytes) -> tuple[str, bytes, bytes] | None:
        """The outcome of parsing, the packed definitions and imports; None if there is no time."""
        parsed_as = languages.parsed_language_of(path) or language  # the worker tells a C++ header from one of C itself
        job = ParseJob(
            path=self.project.root + b"/" + path,
            language=parsed_as.name,
            content_hash=key,
            deadline_seconds=self.project.settings.parse_seconds,
        )
        result = self.project.workers.result(job, self._stop, urgent=True)
        if result is None:
            return None
        if result.packed is None:
            return result.outcome, b"", b""
        return result.outcome, result.packed.definitions, result.packed.imports

    def _stop(self) -> bool:
        return self._call.stop() or time.monotonic() > self._until

    def _without_symbols(self, path: bytes) -> FileElements:
        data, _ = read_inside(self.project.root, path)
        language = languages.language_of(path)
        return FileElements(path, data, decode(data)[1], language.name if language else None, "pending")

    def state(self) -> dict[str, Any]:
        """Fields that say that the symbols of some files are missing; empty if none are."""
        if not self.pending:
            return {}
        if self.project.indexing.symbols_ready:
            reason = "changed files are still being parsed"
            return {"stale": {"pending_files": self.pending, "reason": reason}}
        return indexing_required(self.project, f"{self.pending} files of this answer are not parsed yet")


def indexing_required(project: Any, what: str) -> dict[str, Any]:
    """The fields for "indexing_required" in the tools of specification 003."""
    progress = project.readiness.progress("symbols")
    done = f"{progress['done']} of {progress['total']} files are indexed"
    return {
        "success": False,
        "status": "indexing_required",
        "progress": progress,
        "error": f"{what} ({done}). Ask again soon; text search answers now.",
    }


def outline(view: View, asked: str) -> dict[str, Any]:
    """The answer of `ctxd outline`: `{path, language, symbols, elements}` of a file. Raises ToolError.

    An element: `{type, name, line, startLine, endLine, depth, parameters, modifiers, doc, complexity}`, in text order.
    """
    path = readable(view, asked)
    lookup = ElementLookup(Call(view))
    file = elements_of(lookup, path, asked)
    if file.symbols == "pending":
        raise ToolError(f"{asked} could not be parsed in time", "Ask again; `ctxd status` shows how far the project is")
    depths: list[int] = []
    for one in file.definitions:
        depths.append(depths[one.parent] + 1 if one.parent >= 0 else 0)
    return {
        "path": view.shown(path),
        "language": file.language,
        "symbols": file.symbols,
        "elements": [
            {
                "type": type_of(one),
                "name": f"{one.owner}.{one.name}" if one.owner else one.name,
                "line": one.line,
                "startLine": one.start_line,
                "endLine": one.end_line,
                "depth": depth,
                "parameters": list(one.parameters),
                "modifiers": list(one.modifiers),
                "doc": one.doc,
                "complexity": one.complexity,
            }
            for one, depth in zip(file.definitions, depths, strict=True)
        ],
    }


def readable(view: View, argument: str) -> bytes:
    """The path of a file that a caller names. Raises ToolError."""
    path = view.resolve(argument)
    if not path or os.path.isdir(view.project.root + b"/" + path):
        raise ToolError(f"{argument!r} is a folder", "Name a file; explore_codebase shows folders")
    if is_secret(path) and not view.project.settings.allow_secrets:
        raise ToolError(
            f"{argument!r} holds secrets by its name and is not read",
            "The setting allow_secrets allows it",
            name="PermissionError",
        )
    return path


def elements_of(lookup: ElementLookup, path: bytes, argument: str) -> FileElements:
    """The elements of a text file that a caller names. Raises ToolError."""
    try:
        elements = lookup.of(path)
    except Unreadable as error:
        raise ToolError(f"{argument!r} cannot be read: {error.reason}", "Name a regular file") from None
    if elements.text is None:
        raise ToolError(f"{argument!r} is binary: it has no lines", "Name a text file")
    return elements
