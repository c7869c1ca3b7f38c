"""The one error that a caller can do something about. Every layer of the daemon may raise it without knowing any tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class ToolError(Exception):
    """A failure the caller can do something about: `message` says what was attempted and why it failed, `hint` what to do next.

    `name` is the exception that some specifications put in front ("ValueError", "FileNotFoundError", ...). Where a name was
    not found, `suggestions` may list similar ones instead of one hint.
    """

    def __init__(
        self, message: str, hint: str = "", *, name: str = "ValueError", suggestions: Iterable[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.suggestions = list(suggestions) or ([hint] if hint else [])
        self.hint = hint or "; ".join(self.suggestions)
        self.name = name

    def __str__(self) -> str:
        return f"{self.message}. {self.hint}" if self.hint else self.message
