"""What a tool is: a params model, a result type and a handler, side by side in `daemon/tools/`.

Invariant: a handler is called with valid arguments only and knows nothing of MCP; what a caller can mend is a ToolError, and
becomes the tool's own error shape. `TOOLS` is the fixed order in which tools are listed.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from ctxd.indexer.syntax import PatternError
from ctxd.indexer.text_targets import TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.daemon.view import View

CALL_SECONDS = 9.0  # a call answers within 10 s, with what it has by then
TOKEN_BYTES = 4
RESULTS_MAX = 1_000
LINE_CHARS_MAX = 500  # a longer line is cut around its match
_COMPACT_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class ToolError(Exception):
    """A failure the caller can mend: `message` says what was attempted and why it failed, `hint` what to do next.

    `name` is the exception that specifications name in front ("ValueError", "FileNotFoundError", ...). What is similar to
    something that is not there may come as `suggestions` instead of one hint.
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


class Params(BaseModel):
    """Arguments of a tool: exact types, nothing unknown."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CamelParams(Params):
    """Arguments that callers write in camelCase (specification 003)."""

    model_config = ConfigDict(alias_generator=to_camel)


@dataclass(slots=True)
class Call:
    """One running call: whom it asks (`view`), when to stop, and how to tell that it goes on."""

    view: View
    cancelled: threading.Event = field(default_factory=threading.Event)
    report: Callable[[int, int], None] | None = None
    ends_at: float = field(default_factory=lambda: time.monotonic() + CALL_SECONDS)

    def stop(self) -> bool:
        """Whether to return what there is now."""
        return self.cancelled.is_set() or self.timed_out()

    def seconds_left(self) -> float:
        return self.ends_at - time.monotonic()

    def end_within(self, seconds: float) -> None:
        """Make the deadline earlier, never later: `seconds` after the call came in."""
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
            raise ToolError(_explain(error, self.params)) from None
        try:
            return self.handler(call, params)
        except PatternError as error:  # some are seen to be too large only when they are used
            raise ToolError(f"Invalid pattern: {error}") from None
        except TargetError as error:
            raise ToolError(error.message, suggestions=error.suggestions) from None

    def failure(self, error: ToolError, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call that failed, in the shape that its arguments ask for."""
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
    """Register a handler. `result` is the TypedDict of its answers, or a union of them, from which the output schema is made.
    `other_error` is for a tool with two contracts: the error shape of the second where the arguments ask for that one.

    The schema admits the error shape too: hosts built on the TypeScript SDK hold errors against it as well, and would show
    their user a schema violation in place of the message.
    """

    def register(handler: Callable[[Call, Any], dict[str, Any]]) -> Callable[[Call, Any], dict[str, Any]]:
        TOOLS[name] = Tool(
            name=name,
            toolset=toolset,
            title=title,
            description=description,
            params=params,
            input_schema=_compact(params.model_json_schema()),
            output_schema=_with_errors(_one_object(_compact(TypeAdapter(result).json_schema())), error(ToolError(""))),
            handler=handler,
            error=error,
            other_error=other_error,
            writes=writes,
        )
        return handler

    return register


def _one_object(schema: dict[str, Any]) -> dict[str, Any]:
    """A union of objects as one object of which some fields are required together: MCP wants `type: object` on top."""
    if "anyOf" not in schema:
        return schema
    rest = {name: one for name, one in schema["$defs"].items() if {"$ref": f"#/$defs/{name}"} not in schema["anyOf"]}
    members = [schema["$defs"][one["$ref"].removeprefix("#/$defs/")] for one in schema["anyOf"]]
    properties = {name: value for member in members for name, value in member["properties"].items()}
    shapes = [{"required": member["required"]} for member in members]
    return {"type": "object", "properties": properties, "anyOf": shapes, "$defs": rest}


def _with_errors(schema: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
    shapes = schema.get("anyOf") or [{"required": schema["required"]}]
    if any(set(shape["required"]) <= set(error) for shape in shapes):
        return schema
    named = {name: {"type": "string"} for name in error if name not in schema["properties"]}
    rest = {key: value for key, value in schema.items() if key != "required"}
    return {
        **rest,
        "properties": {**schema["properties"], **named},
        "anyOf": [*shapes, {"required": list(error)}],
    }


def _compact(schema: Any) -> Any:
    """A JSON schema without the titles pydantic adds, and with `X | None` told as X: every listed token is paid by every session."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    options = schema.get("anyOf")
    if (
        isinstance(options, list)
        and {"type": "null"} in options
        and len(options) == 2
        and schema.get("default", 0) is None
    ):
        (only,) = (option for option in options if option != {"type": "null"})
        schema = {**{k: v for k, v in schema.items() if k not in {"anyOf", "default"}}, **only}
    return {
        key: {name: _compact(value) for name, value in item.items()}
        if key in {"properties", "$defs"}
        else _compact(item)
        for key, item in schema.items()
        if (key != "title" or not isinstance(item, str)) and (key != "default" or item is not None)
    }


def _explain(error: ValidationError, params: type[Params]) -> str:
    """Each wrong argument in the caller's words, with the nearest valid one."""
    messages = []
    for one in error.errors():
        where = ".".join(str(part) for part in one["loc"])
        context = one.get("ctx", {})
        given = json.dumps(one["input"], default=str, ensure_ascii=False)
        given = given if len(given) <= 80 else given[:77] + "..."
        match one["type"]:
            case "extra_forbidden":
                known = _known_at(params, one["loc"][:-1])
                near = difflib.get_close_matches(str(one["loc"][-1]), known, 1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
                messages.append(f"there is no argument {where!r}; {hint}")
            case "missing":
                messages.append(f"the argument {where!r} is required")
            case "greater_than_equal":
                messages.append(f"{where}: {given} is too small; the least is {context['ge']}")
            case "less_than_equal":
                messages.append(f"{where}: {given} is too large; the most is {context['le']}")
            case "value_error":
                messages.append(f"{where}: {context['error']}, got {given}")
            case "string_unicode":
                messages.append(f"{where}: it holds half a character (a lone surrogate); leave it out")
            case "string_too_short":
                messages.append(f"{where}: it is empty; give at least {context['min_length']} character")
            case _:
                messages.append(f"{where}: {one['msg'][0].lower()}{one['msg'][1:]}, got {given}")
    return "; ".join(messages)


def _known_at(params: type[Params], where: tuple[int | str, ...]) -> list[str]:
    """Names of the arguments, or of the fields of an object in them."""
    for part in where:
        fields = {field.alias or name: field for name, field in params.model_fields.items()}
        if part in fields:
            params = next(_models_in(fields[str(part)].annotation), params)
    return [field.alias or name for name, field in params.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[Params]]:
    """Such as the one of `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Params):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)


def end_that_fits(text: bytes, start: int, end: int, room: int) -> int:
    """Where `text[start:end]` has to end, so that it is sent in `room` bytes: between lines where possible, never within a character."""

    def between_lines(end: int) -> int:
        newline = text.rfind(b"\n", start, end)
        return newline if newline > start else end

    last = end
    if end - start > room:  # a byte is sent as one at least
        end = between_lines(start + room)
    while (size := size_of(text[start:end].decode("utf-8", "replace"))) > room:
        # Quotes and newlines take two bytes as they are sent: by how much too long it is, so much shorter it gets.
        end = between_lines(start + min((end - start) * room // size, end - start - 1))
    while end < last and text[end] & 0xC0 == 0x80:
        end -= 1
    return end


def cut(line: str, start: int, end: int) -> tuple[str, bool]:
    """A line cut to LINE_CHARS_MAX around `start:end`, and whether it was."""
    if len(line) <= LINE_CHARS_MAX:
        return line, False
    begin = max(0, min(start - (LINE_CHARS_MAX - min(end - start, LINE_CHARS_MAX)) // 2, len(line) - LINE_CHARS_MAX))
    return line[begin : begin + LINE_CHARS_MAX], True


class Page:
    """The results of one answer: at most `results_max`, and at most `max_tokens` of TOKEN_BYTES bytes of compact JSON.

    What no longer fits is still counted, up to `count_max`; beyond it the total is a lower bound. A result's place says
    where it stands, for the cursor; `place` is that of the last result of the page before, None on a first page.
    """

    _AROUND_BYTES = 400  # what stands around the results

    def __init__(self, params: Any, *place: type, results_max: int = RESULTS_MAX, count_max: int = RESULTS_MAX) -> None:
        """`place`: of what kinds the values of a place are, so that a cursor that was tampered with is refused."""
        self.params = params
        self.results: list[Any] = []
        self.count = 0
        self.truncated = False
        self.place: list[Any] | None = None
        self.earlier = 0
        """Results of the pages before."""
        if params.cursor is not None:
            self.earlier, *self.place = read_cursor(params, params.cursor, int, *place)
        self._results_max = results_max
        self._count_max = count_max
        self._left = params.max_tokens * TOKEN_BYTES - self._AROUND_BYTES
        self._last: list[Any] = []

    @property
    def total(self) -> int:
        """Results in all, those of earlier pages included."""
        return self.earlier + self.count

    @property
    def is_full(self) -> bool:
        return self.truncated or len(self.results) >= self._results_max

    @property
    def bytes_left(self) -> int:
        return self._left

    def add(self, make: Callable[[], Any], place: list[Any]) -> bool:
        """Count one result and, where there is room, make and keep it. False: enough, stop looking."""
        self.count += 1
        if self.count > self._count_max:
            return False
        if not self.is_full:
            result = make()
            size = size_of(result) + 1
            if size <= self._left or not self.results:
                self._left -= size
                self.results.append(result)
                self._last = place
            else:
                self.truncated = True
        return True

    def count_no_more(self) -> None:
        """There are more than would be counted."""
        self.count = self._count_max + 1

    def tail(
        self,
        *,
        stopped: bool = False,
        timed_out: bool = False,
        stopped_at: list[Any] | None = None,
        cursor: str = "next_cursor",
    ) -> dict[str, Any]:
        """The fields that say how complete the list is. `stopped_at` is the place before which a search had to stop."""
        fields: dict[str, Any] = {}
        if self.count > self._count_max or stopped:
            fields["total_is_exact"] = False
        if stopped and timed_out:
            fields["timed_out"] = True
        if self.truncated:
            fields["truncated"] = True
        if self.count > len(self.results):
            fields[cursor] = make_cursor(self.params, [self.earlier + len(self.results), *self._last])
        elif stopped and stopped_at is not None:
            fields[cursor] = make_cursor(self.params, [self.earlier + self.count, *stopped_at])
        return fields


def size_of(result: Any) -> int:
    """Bytes of a result as it is sent."""
    return len(_COMPACT_JSON.encode(result).encode("utf-8", "replace"))


def make_cursor(params: Params, place: list[Any]) -> str:
    """Where a list goes on: the place, bound to the arguments it belongs to."""
    return base64.urlsafe_b64encode(json.dumps([_fingerprint(params), *place]).encode()).decode().rstrip("=")


def read_cursor(params: Params, cursor: str, *kinds: type) -> list[Any]:
    """The place of a cursor made by `make_cursor` for the same arguments: values of `kinds`. Raises ToolError."""
    unreadable = ToolError("the cursor cannot be read", "Pass it as it was given, or leave it out to begin")
    try:
        fingerprint, *place = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, TypeError, RecursionError):
        raise unreadable from None
    if fingerprint != _fingerprint(params):
        raise ToolError(
            "the cursor belongs to a query with other arguments", "Repeat the arguments of that query, or leave it out"
        )
    if list(map(type, place)) != list(kinds):
        raise unreadable
    try:
        for text in place:
            if isinstance(text, str):
                text.encode("latin-1")  # a path, a character a byte
    except UnicodeEncodeError:
        raise unreadable from None
    return place


def _fingerprint(params: Params) -> str:
    rest = params.model_dump(exclude={"cursor", "max_tokens"})
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()[:8]
