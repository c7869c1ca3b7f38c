"""Ask ctxd three questions about a project as an agent would: the MCP SDK's client starts `ctxd mcp` and calls its tools.

python examples/three_questions.py [DIR]
"""

import json
import os
import sys
import time
from collections import Counter

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters


async def ask(folder: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ctxd.mcp_frontend", "mcp", "--project", folder], env=dict(os.environ)
    )
    async with Client(server) as client:
        tools = await client.list_tools()
        print(f"\n{folder} offers an agent: {', '.join(tool.name for tool in tools.tools)}")
        files = await question(client, "Which files are there?", "find_files_by_name", {"name_pattern": "*"})
        kinds = Counter(os.path.splitext(name)[1] for name in files["files"])
        print(
            f"   {total(files, 'total_found')} files that are not hidden; most of the {len(files['files']):,} shown are "
            f"{', '.join(kind or '(none)' for kind, _ in kinds.most_common(3))}"
        )

        todo = {"query": r"\b(TODO|FIXME|main)\b", "is_regex": True, "case_sensitive": True, "context_lines": 0}
        matches = await question(client, "Where is a TODO, a FIXME or a main?", "search_text_pattern", todo)
        for match in matches["matches"][:5]:
            print(f"   {match['file_path']}:{match['line_number']}: {match['matched_line'].strip()[:100]}")
        print(f"   {total(matches, 'match_count')} lines")

        symbols = await question(
            client, "Where is `main` defined, and who uses it?", "find_symbol_occurrences", {"symbol_name": "main"}
        )
        for found in symbols["occurrences"][:5]:
            print(f"   {found['file_path']}:{found['line_number']}: {found['type']}: {found['snippet'][:100]}")
        print(f"   {total(symbols, 'occurrence_count')} occurrences")


def total(answer: dict, field: str) -> str:
    """A count as an answer means it: where it was ended by a limit, there are at least so many."""
    return f"{'' if answer.get('total_is_exact', True) else 'at least '}{answer[field]:,}"


async def question(client: Client, text: str, tool: str, arguments: dict) -> dict:
    started = time.perf_counter()
    result = await client.call_tool(tool, arguments)
    milliseconds = (time.perf_counter() - started) * 1000
    print(f"\n{text}\n   {tool} {json.dumps(arguments)}   [{milliseconds:.1f} ms]")
    if result.is_error:
        sys.exit(f"   {result.content[0].text}")
    return result.structured_content


if __name__ == "__main__":
    anyio.run(ask, os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "."))
