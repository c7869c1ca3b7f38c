"""The instructions that the server gives a host when a session begins.

Invariant: they mention no tool, argument or answer that the connection does not serve.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_ALWAYS = (
    "ctxd answers from an index of this project that is always current: what was written before a call is found by it."
)

_USES = {
    "search_text_pattern": "search_text_pattern is exact, like ripgrep",
    "find_symbol_occurrences": "find_symbol_occurrences finds definitions and uses",
    "find_files_by_name": "find_files_by_name finds files by a glob",
    "search_files": "search_files finds files by words of their paths",
    "search_code": "search_code finds code by what it does",
    "read_code_element": "read_code_element reads one function or class",
    "explore_codebase": "explore_codebase gives an overview",
}
"""The use of each tool; one sentence lists those that are served."""

_GUIDES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("search_in_files", "search_project_code"),
        "search_in_files and search_project_code do the same search; their arguments and answers differ.",
    ),
    (
        ("TextInspect",),
        (
            "Large text files: TextInspect first (mode structure: headings, code blocks, sections; search: matches with line and nearest"
            " heading; lines: ranges such as 1-10,50)."
        ),
    ),
    (
        ("TextRead",),
        (
            "TextRead reads one part: name headings and sections rather than lines, which shift with edits. A part above 200 lines is cut:"
            " name a smaller one."
        ),
    ),
    (
        ("TextPatch",),
        (
            "TextPatch changes what a target names (headings with their #; text and pattern for a part of a line); edits holds several"
            " patches, all or none."
        ),
    ),
    (("replace_in_file",), "replace_in_file changes all matches in a file."),
)
"""Sentences, each with the tools that it mentions."""


def instructions(tools: Collection[str]) -> str:
    """For a connection that serves these tools."""
    said = [_ALWAYS]
    if uses := [use for name, use in _USES.items() if name in tools]:
        said.append("; ".join(uses) + ".")
    said += [guide for names, guide in _GUIDES if all(name in tools for name in names)]
    if not {"TextPatch", "replace_in_file"}.isdisjoint(tools):
        said.append("Pass the hash of a reading as expectedHash to be sure of what you edit; dryRun shows the diff.")
    if not _LISTING.isdisjoint(tools):
        said.append(
            "An empty answer is trustworthy: coverage says what was searched. Lists go on with next_cursor (nextCursor)."
        )
    if "find_symbol_occurrences" in tools:
        said.append(
            "While a project is first indexed, symbol answers say indexing_required; text and names answer from the first second."
        )
    return " ".join(said)


_LISTING = frozenset(
    (
        *("search_text_pattern", "find_symbol_occurrences", "search_in_files", "find_files_by_name", "search_files"),
        *("search_project_code", "search_with_context", "search_code", "search_semantic_concept", "find_similar_code"),
    )
)
