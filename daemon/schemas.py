"""JSON schemas of tools as they are listed, as short as possible: every session pays for each of their tokens."""

from __future__ import annotations

from typing import Any


def one_object(schema: dict[str, Any]) -> dict[str, Any]:
    """A union of objects as one object with groups of required fields: MCP wants `type: object` on top."""
    if "anyOf" not in schema:
        return schema
    rest = {name: one for name, one in schema["$defs"].items() if {"$ref": f"#/$defs/{name}"} not in schema["anyOf"]}
    members = [schema["$defs"][one["$ref"].removeprefix("#/$defs/")] for one in schema["anyOf"]]
    properties = {name: value for member in members for name, value in member["properties"].items()}
    shapes = [{"required": member["required"]} for member in members]
    return {"type": "object", "properties": properties, "anyOf": shapes, "$defs": rest}


def with_errors(schema: dict[str, Any], error: dict[str, Any]) -> dict[str, Any]:
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


def compact(schema: Any) -> Any:
    """A JSON schema without the titles that pydantic adds, and with X in place of `X | None`."""
    if isinstance(schema, list):
        return [compact(item) for item in schema]
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
        key: {name: compact(value) for name, value in item.items()} if key in {"properties", "$defs"} else compact(item)
        for key, item in schema.items()
        if (key != "title" or not isinstance(item, str)) and (key != "default" or item is not None)
    }
