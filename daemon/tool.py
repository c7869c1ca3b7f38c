"""What a tool is: a params model, a result type and a handler, side by side in `daemon/tools/`.

Invariant: a handler gets valid arguments only and knows nothing of MCP. An error that the caller can fix is a ToolError and
becomes the tool's own error shape. Tools are listed in the fixed order of `TOOLS`.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from ctxd.daemon.errors import ToolError
from ctxd.daemon.params import Params, explained
from ctxd.daemon.schemas import compact, one_object, with_errors
from ctxd.indexer.database import DatabaseError
from ctxd.indexer.documents.text_targets import TargetError
from ctxd.indexer.patterns.syntax import PatternError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxd.daemon.projects.view import View

CALL_SECONDS = 9.0  # a call answers within 10 s, with the results that it has by then
_ATTEMPTS = 3  # to answer while the index is lost and built again


@dataclass(slots=True)
class Call:
    """One running call: the project it asks (`view`), when to stop, and how to report progress."""

    view: View
    cancelled: threading.Event = field(default_factory=threading.Event)
    report: Callable[[int, int], None] | None = None
    ends_at: float = field(default_factory=lambda: time.monotonic() + CALL_SECONDS)

    def stop(self) -> bool:
        """True if the call must end now, with the results that it has."""
        return self.cancelled.is_set() or self.timed_out()

    def seconds_left(self) -> float:
        return self.ends_at - time.monotonic()

    def end_within(self, seconds: float) -> None:
        """Move the deadline to `seconds` after the call came in, but never to a later time."""
        self.ends_at -= max(0.0, CALL_SECONDS - seconds)

    def timed_out(self) -> bool:
        return self.seconds_left() < 0

    def progress(self, done: int, total: int) -> None:
        if self.report is not None:
            self.report(done, total)


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as listed and as called. Built by `tool()`."""

    name: str
    toolset: str
    title: str
    description: str
    params: type[Params]
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    handler: Callable[[Call, Any], dict[str, Any]]
    error: Callable[[ToolError], dict[str, Any]]
    other_error: Callable[[ToolError, dict[str, Any]], dict[str, Any] | None]
    writes: bool

    def call(self, call: Call, arguments: dict[str, Any]) -> dict[str, Any]:
        """Validate and run. Raises ToolError."""
        try:
            params = self.params.model_validate(arguments)
        except ValidationError as error:
            raise ToolError(explained(error, self.params)) from None
        try:
            return self._answer(call, params)
        except PatternError as error:  # some patterns turn out to be too large only when they are used
            raise ToolError(f"Invalid pattern: {error}") from None
        except TargetError as error:
            raise ToolError(error.message, suggestions=error.suggestions) from None

    def _answer(self, call: Call, params: Params) -> dict[str, Any]:
        """Call the handler again if the index was lost meanwhile: the next answer takes that into account."""
        database = call.view.project.database
        for _ in range(_ATTEMPTS):
            generation = database.generation
            try:
                answer = self.handler(call, params)
            except DatabaseError:
                if generation == database.generation and not database.is_lost():
                    raise
            else:
                if self.writes or generation == database.generation:
                    return answer
        raise ToolError(
            "the index of this project was lost, and is being built again",
            "Ask again soon; text search answers now",
            name="RuntimeError",
        )

    def failure(self, error: ToolError, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to a failed call, in the error shape that its arguments ask for."""
        return self.other_error(error, arguments) or self.error(error)


TOOLS: dict[str, Tool] = {}


def tool(
    name: str,
    *,
    toolset: str,
    title: str,
    description: str,
    params: type[Params],
    result: Any,
    error: Callable[[ToolError], dict[str, Any]],
    other_error: Callable[[ToolError, dict[str, Any]], dict[str, Any] | None] = lambda _error, _arguments: None,
    writes: bool = False,
) -> Callable[[Callable[[Call, Any], dict[str, Any]]], Callable[[Call, Any], dict[str, Any]]]:
    """Register a handler. The output schema is made from `result`: the TypedDict of its answers, or a union of several.

    `other_error` is for a tool with two contracts: the second error shape, for arguments that ask for the second contract.
    The output schema allows the error shape too: hosts built on the TypeScript SDK check errors against it, and would show
    their user a schema violation instead of the message.
    """

    def register(handler: Callable[[Call, Any], dict[str, Any]]) -> Callable[[Call, Any], dict[str, Any]]:
        TOOLS[name] = Tool(
            name=name,
            toolset=toolset,
            title=title,
            description=description,
            params=params,
            input_schema=compact(params.model_json_schema()),
            output_schema=with_errors(one_object(compact(TypeAdapter(result).json_schema())), error(ToolError(""))),
            handler=handler,
            error=error,
            other_error=other_error,
            writes=writes,
        )
        return handler

    return register
