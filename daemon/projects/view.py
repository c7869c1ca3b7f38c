"""How one connection sees a project: its paths, relative to the folder that the host named, and its search backends.

Invariant: a path that `resolve` accepts lies inside that folder after all symbolic links; nothing outside is ever read.
"""

from __future__ import annotations

import difflib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxd.daemon.errors import ToolError
from ctxd.daemon.projects.project import gone
from ctxd.indexer.files.scope import Only, Scope
from ctxd.indexer.languages import LANGUAGE_BY_NAME
from ctxd.indexer.patterns.glob import GlobError, chosen
from ctxd.indexer.programs import FILES_BACKENDS, TEXT_BACKENDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.daemon.hello import Hello
    from ctxd.daemon.projects.project import Project
    from ctxd.indexer.patterns.glob import PathFilter


@dataclass(frozen=True, slots=True)
class View:
    """`folder` is relative to the project's root; `b""` where the host named the root itself."""

    project: Project
    folder: bytes = b""
    text_backend: str = "index"
    files_backend: str = "index"
    only: Only | None = None
    hidden: bool = False
    """True if every query includes hidden files."""

    @property
    def root(self) -> bytes:
        return os.path.join(self.project.root, self.folder) if self.folder else self.project.root

    def resolve(self, argument: str) -> bytes:
        """The path of an argument, relative to the project's root. Raises ToolError (FileNotFoundError, PermissionError)."""
        if not argument.strip():
            raise ToolError("a path is empty", 'Use "." for the whole project')
        if "\0" in argument:
            raise ToolError("a path holds a NUL character")
        try:
            asked = os.fsencode(argument)
        except UnicodeEncodeError:
            raise ToolError(f"the path {argument!r} cannot be a file name") from None
        full = os.path.realpath(os.path.join(self.root, asked))
        top = os.path.realpath(self.root)
        if full != top and not full.startswith(top.rstrip(b"/") + b"/"):
            raise ToolError(
                f"the path {argument!r} lies outside the project {os.fsdecode(self.root)}",
                "Use a path inside it; symbolic links that lead out are not followed",
                name="PermissionError",
            )
        if not os.path.lexists(full):
            if not os.path.isdir(self.project.root):
                raise gone(self.project.root)
            raise ToolError(
                f"there is no file or folder {argument!r} in {os.fsdecode(self.root)}",
                "Paths are relative to the project; find_files_by_name lists names",
                name="FileNotFoundError",
            )
        inside = full[len(top) :].lstrip(b"/")
        return b"/".join(part for part in (self.folder, inside) if part)

    def scope(
        self,
        paths: tuple[bytes, ...] = (),
        extensions: frozenset[bytes] | None = None,
        names: frozenset[bytes] = frozenset(),
        *,
        include: PathFilter | None = None,
        exclude: PathFilter | None = None,
        hidden: bool = False,
        named_hidden: Iterable[PathFilter | None] = (),
    ) -> Scope:
        """The scope of a query over paths from `resolve`; without paths, everything that the connection sees."""
        named = tuple(filter(None, named_hidden))
        hidden = hidden or self.hidden
        return Scope(paths or (self.folder,), extensions, names, include, exclude, hidden, named, self.only)

    def shown(self, path: bytes) -> str:
        """A path of the project in the form that answers show."""
        if self.folder:
            path = path[len(self.folder) + 1 :]
        return path.decode("utf-8", "backslashreplace")


def seen_as(view: View, hello: Hello) -> View:
    """`view` with the backends and the narrowing that the hello asks for. Raises ToolError."""
    return replace(
        view,
        text_backend=backend_of(hello, "text_backend", TEXT_BACKENDS),
        files_backend=backend_of(hello, "files_backend", FILES_BACKENDS),
        only=_only(view, hello),
        hidden=bool(hello.only and hello.only.hidden),
    )


def backend_of(hello: Hello, field: str, backends: tuple[str, ...]) -> str:
    """The backend that a hello names, by default "index". Raises ToolError."""
    name = getattr(hello, field) or "index"
    if name not in backends:
        raise ToolError(f"there is no {field} {name!r}", f"CTXD_{field.upper()} is one of {', '.join(backends)}")
    return name


def _only(view: View, hello: Hello) -> Only | None:
    asked = hello.only
    if asked is None:
        return None
    extensions = {_extension(one) for one in asked.extensions or ()}
    names: set[bytes] = set()
    for name in asked.languages or ():
        language = LANGUAGE_BY_NAME.get(name.lower())
        if language is None:
            near = difflib.get_close_matches(name.lower(), LANGUAGE_BY_NAME, 1)
            raise ToolError(
                f"there is no language {name!r}",
                f"{f'Did you mean {near[0]}? ' if near else ''}`ctxd languages` lists them",
            )
        extensions.update(language.extensions)
        names.update(language.file_names)
    globs = tuple(asked.globs or ())
    folder = os.path.realpath(os.fsencode(hello.cwd or "/"))
    root = view.project.root
    inside = folder[len(root) + 1 :] if folder.startswith(root + b"/") else view.folder
    try:
        chosen(globs, inside)
    except GlobError as error:
        raise ToolError(f"a glob cannot be read: {error}") from None
    some = extensions or names
    return Only(globs, inside, frozenset(extensions) if some else None, frozenset(names))


def _extension(text: str) -> bytes:
    return os.fsencode("." + text.lower().removeprefix("*").removeprefix("."))
