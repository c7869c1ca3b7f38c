"""What tools promise: one snapshot per tool, and rules that hold for all of them.

`python tests/test_contracts.py` writes the snapshots anew after a deliberate change.
"""

import json
import re
from pathlib import Path

import jsonschema
import pytest

from ctxd.daemon import server
from ctxd.daemon.errors import ToolError
from ctxd.daemon.hello import Hello
from ctxd.daemon.instructions import instructions
from ctxd.daemon.tool import TOOLS

CONTRACTS = Path(__file__).parent / "contracts"
LISTING_TOKENS_MAX = 3_500  # for all seventeen; characters / 4


def contract(tool):
    listed = server._listed(tool).model_dump(mode="json", by_alias=True, exclude_none=True)
    return json.dumps(listed, indent=2, ensure_ascii=False) + "\n"


def test_tools_are_those_of_the_snapshots_in_their_order():
    assert list(TOOLS) == [
        "search_text_pattern",
        "find_symbol_occurrences",
        "search_in_files",
        "find_files_by_name",
        "search_files",
        "search_project_code",
        "read_code_element",
        "search_with_context",
        "explore_codebase",
        "search_semantic_concept",
        "search_code",
        "find_similar_code",
        "code_vectorization_status",
        "TextInspect",
        "TextRead",
        "replace_in_file",
        "TextPatch",
    ]
    assert sorted(TOOLS) == sorted(path.stem for path in CONTRACTS.glob("*.json"))


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_is_what_its_snapshot_says(tool):
    assert contract(tool) == (CONTRACTS / f"{tool.name}.json").read_text()


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_an_error_satisfies_the_output_schema(tool):
    """Hosts built on the TypeScript SDK validate errors too."""
    jsonschema.validate(tool.error(ToolError("m", "h")), tool.output_schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({}, tool.output_schema)


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_describes_itself(tool):
    assert tool.title
    assert "\n" not in tool.title
    assert 20 < len(tool.description) < 200
    for schema in (tool.input_schema, tool.output_schema):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert tool.input_schema["additionalProperties"] is False
    for name, argument in tool.input_schema["properties"].items():
        if argument["type"] == "integer":
            assert {"minimum", "maximum"} <= set(argument), name
        if argument["type"] == "string" and name != "cursor":
            assert {"maxLength", "enum"} & set(argument) or name in {"path", "language", "type"}, name


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("toolsets", [None, *([one] for one in sorted({tool.toolset for tool in TOOLS.values()})), []])
def test_instructions_speak_of_served_tools_only(toolsets, read_only):
    session = server.Session(None, Hello(ctxd=1, want="mcp", toolsets=toolsets, read_only=read_only))
    told = instructions(session.tools)
    words = set(re.findall(r"\w+", told))
    assert words & TOOLS.keys() <= session.tools.keys()
    arguments = {name for tool in TOOLS.values() for name in tool.input_schema["properties"] if not name.islower()}
    served = {name for tool in session.tools.values() for name in tool.input_schema["properties"]}
    assert words & arguments <= served
    if toolsets is None and not read_only:
        assert len(words & TOOLS.keys()) > 10
        assert words & arguments >= {"expectedHash", "dryRun"}


def test_the_listing_is_small():
    listing = [
        {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
        for tool in TOOLS.values()
    ]
    tokens = len(json.dumps(listing, separators=(",", ":"))) / 4
    assert tokens <= LISTING_TOKENS_MAX


if __name__ == "__main__":
    CONTRACTS.mkdir(exist_ok=True)
    for one in TOOLS.values():
        (CONTRACTS / f"{one.name}.json").write_text(contract(one))
