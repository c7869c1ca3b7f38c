"""Arguments of tools: their types, and error messages about wrong ones in the caller's own words.

Invariant: types are exact and unknown arguments are refused; every message names the nearest valid argument or value.
"""

from __future__ import annotations

import difflib
import json
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

if TYPE_CHECKING:
    from collections.abc import Iterator


class Params(BaseModel):
    """Arguments of a tool: exact types, no unknown names."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CamelParams(Params):
    """Arguments that callers write in camelCase (specification 003)."""

    model_config = ConfigDict(alias_generator=to_camel)


def explained(error: ValidationError, params: type[Params]) -> str:
    """Describe each wrong argument by the caller's own name for it, with the nearest valid one."""
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
                hint = f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known) or 'no arguments'}"
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
            case "model_type":
                messages.append(f"{where}: input should be an object, got {given}")
            case _:
                messages.append(f"{where}: {one['msg'][0].lower()}{one['msg'][1:]}, got {given}")
    return "; ".join(messages)


def _known_at(params: type[Params], where: tuple[int | str, ...]) -> list[str]:
    """Names of the arguments, or of the fields of the object at `where` in them."""
    for part in where:
        fields = {field.alias or name: field for name, field in params.model_fields.items()}
        if part in fields:
            params = next(_models_in(fields[str(part)].annotation), params)
    return [field.alias or name for name, field in params.model_fields.items()]


def _models_in(annotation: Any) -> Iterator[type[Params]]:
    """The models inside an annotation, such as Model in `list[Model] | None`."""
    if isinstance(annotation, type) and issubclass(annotation, Params):
        yield annotation
    for part in get_args(annotation):
        yield from _models_in(part)
