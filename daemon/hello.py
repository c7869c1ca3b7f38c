"""The hello line: who the front-end is and what it asks for. It comes before anything else.

Invariant: fields have their types from here on. Unknown fields, from a front-end of another version, are ignored.
"""

from __future__ import annotations

import os
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from ctxd.daemon import protocol


class _Line(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, frozen=True)


class Narrowing(_Line):
    """Options of `ctxd search` and `ctxd files` that narrow every query of a connection."""

    globs: list[str] | None = None
    extensions: list[str] | None = None
    languages: list[str] | None = None
    hidden: bool | None = None


class Hello(_Line):
    """See daemon/protocol.py. Every question except an MCP session is a subclass, in requests.py."""

    ctxd: int
    build: str = ""
    want: str
    cwd: str | None = None
    root: str | None = None
    """An absolute path."""
    refused: str | None = None
    """The front-end's working folder, where it did not accept that as a project."""
    toolsets: list[str] | None = None
    read_only: bool = False
    text_backend: str | None = None
    files_backend: str | None = None
    only: Narrowing | None = None

    @field_validator("ctxd")
    @classmethod
    def _of_this_protocol(cls, version: int) -> int:
        if version != protocol.PROTOCOL:
            raise ValueError(f"the first line must be a hello of protocol {protocol.PROTOCOL}")
        return version

    @field_validator("root")
    @classmethod
    def _absolute(cls, root: str | None) -> str | None:
        # Encoding is a check too: it fails for a lone surrogate that stands for no byte.
        if root is not None and not (root.startswith(("/", "~")) and b"\0" not in os.fsencode(root)):
            raise ValueError(f"root must be an absolute path, not {root!r}")
        return root

    @property
    def folder(self) -> str:
        """The folder whose project the question is about; "/" where none was named, because "/" is never a project."""
        return self.root or self.refused or "/"


def read_hello(line: Any, kind: type[Hello] = Hello) -> Hello:
    """The hello of a parsed line. Raises ValueError, which names the wrong field."""
    if not isinstance(line, dict):
        raise ValueError(f"the first line must be a hello of protocol {protocol.PROTOCOL}")  # noqa: TRY004 - one error
    try:
        return kind.model_validate(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(map(str, first["loc"]))
        raise ValueError(str(first.get("ctx", {}).get("error", "")) or f"{field}: {first['msg']}") from None
