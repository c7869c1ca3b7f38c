"""How one connection sees a project: paths in and paths out, relative to the folder the host named.

Invariant: what passes `resolve` lies inside that folder after all symbolic links; nothing outside is ever read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.daemon.tool import ToolError

if TYPE_CHECKING:
    from ctxd.daemon.project import Project


@dataclass(frozen=True, slots=True)
class View:
    """`folder` is relative to the project's root; `b""` where the host named the root itself."""

    project: Project
    folder: bytes = b""

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
            raise ToolError(
                f"there is no file or folder {argument!r} in {os.fsdecode(self.root)}",
                "Paths are relative to the project; find_files_by_name lists names",
                name="FileNotFoundError",
            )
        inside = full[len(top) :].lstrip(b"/")
        return b"/".join(part for part in (self.folder, inside) if part)

    def shown(self, path: bytes) -> str:
        """A path of the project as answers show it."""
        if self.folder:
            path = path[len(self.folder) + 1 :]
        return path.decode("utf-8", "backslashreplace")
