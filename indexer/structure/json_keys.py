"""Keys of JSON, JSONC and JSON5: comments, single quotes, bare words and trailing commas are allowed."""

from __future__ import annotations

import re

from ctxd.indexer.structure import Sections, Structure
from ctxd.indexer.structure.flow import STRING, scan_flow, unquoted


def scan(text: bytes, _language: str = "json") -> Structure:
    sections = Sections(text)
    scan_flow(text, 0, len(text), _TOKENS, _names_of, sections, to_the_end=True)
    return Structure(sections.found())


def _names_of(word: bytes) -> tuple[str, ...]:
    return (unquoted(word),)


_TOKENS = re.compile(
    rb"(?P<word>%b|(?>[^\s{}\[\]:,\"'/]++|/(?![/*]))++)|(?P<pair>:)|(?P<comma>,)|(?P<open>[{\[])|(?P<close>[}\]])"
    rb"|//[^\n]*+|/\*(?s:.*?)(?:\*/|\Z)" % STRING
)
