"""Values in brackets: JSON, flow collections of YAML, inline tables of TOML. They differ in their words only.

Invariant: there is no recursion, so nesting is not limited. Any closing bracket closes the innermost open one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Callable

    from ctxd.indexer.structure import Sections

STRING = rb"\"(?>[^\"\\\n]++|\\(?s:.))*+\"?|'(?>[^'\\\n]++|\\(?s:.))*+'?"
"""A quoted text. Without a closing quote it ends with its line."""


def scan_flow(
    text: bytes,
    start: int,
    end: int,
    tokens: re.Pattern[bytes],
    names_of: Callable[[bytes], tuple[str, ...]],
    sections: Sections,
    parent: int = -1,
    *,
    in_list: bool = False,
    to_the_end: bool = False,
) -> int:
    """Add the keys of a bracketed value that begins at `start`, and return where it ends.

    If it is not closed before `end`, add nothing and return -1. `to_the_end` takes all values up to `end`, closed or
    not. The groups of `tokens` are `word`, `open`, `close`, `pair` (the mark between a key and its value) and `comma`;
    other tokens are skipped. `names_of` gets a word as written.
    """
    before = len(sections)
    level = sections.level(parent) + 1 if parent >= 0 else 1
    outer: list[tuple[bool, int, bool, int, int]] = []  # states to restore at closing brackets
    is_list = False
    key = -1  # the key whose value is being read
    awaited = False  # True if that value has not begun
    word: tuple[int, int] | None = None  # the last word; it is a key if a pair follows
    last = before_word = start  # ends of the last token, and of the one before `word`
    for token in tokens.finditer(text, start, end):
        group, at = token.lastgroup, token.start()
        if group is None:
            continue
        if group == "word":
            if awaited:
                sections.body(key, at)
                awaited = False
            word, before_word = token.span(), last
        elif group == "pair":
            if word is not None:
                if key >= 0:
                    sections.end(key, before_word)
                written = text[word[0] : word[1]]
                names = names_of(written)
                quoted = len(names) == 1 and len(written) > 1 and written[:1] in b"\"'" and written[:1] == written[-1:]
                name = (word[0] + 1, word[1] - 1) if quoted else word
                key = sections.add("key", names, level, word[0], name, token.end(), parent, in_list=in_list or is_list)
                awaited = True
            word = None
        elif group == "comma":
            if key >= 0:
                sections.end(key, last)
            key, awaited, word = -1, False, None
        elif group == "open":
            if awaited:
                sections.body(key, at)
            outer.append((is_list, parent, in_list, key, level))
            in_list = in_list or is_list
            if key >= 0:
                parent, level = key, level + 1
            is_list = text[at] == ord("[")
            key, awaited, word = -1, False, None
        else:
            if key >= 0:
                sections.end(key, last)
            if outer:
                is_list, parent, in_list, key, level = outer.pop()
            awaited, word = False, None
            if not outer and not to_the_end:
                return token.end()
        last = token.end()
    if not to_the_end:
        sections.forget(before)
        return -1
    while key >= 0 or outer:
        if key >= 0:
            sections.end(key, last)
        key = outer.pop()[3] if outer else -1
    return end


def unquoted(written: bytes) -> str:
    """A word without its quotes and escapes."""
    if written[:1] in (b'"', b"'"):
        quote = written[:1]
        inner = written[1:-1] if len(written) > 1 and written.endswith(quote) else written[1:]
        if b"\\" in inner and quote == b'"':
            try:
                return json.loads(b'"' + inner + b'"', strict=False).encode("utf-8", "replace").decode()
            except ValueError:  # an escape that JSON does not know
                pass
        return inner.decode("utf-8", "replace")
    return written.decode("utf-8", "replace")
