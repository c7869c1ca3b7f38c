"""Words of code and prose, as the index of chunks and the embedding model know them.

Invariant: a text is split in one way everywhere, so indexing and queries use the same words.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d]\w*|\d{2,}")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

_MEMO_MAX = 200_000


def tokens(text: str) -> list[str]:
    """The words of a text in their order and unchanged: whole identifiers, and numbers of two digits or more."""
    return _WORD.findall(text)


def parts(token: str) -> list[str]:
    """The lower-cased parts of an identifier: `readHTTPLine_2` is read, http, line, 2. Not ASCII: split at `_` only."""
    found = _PART.findall(token) if token.isascii() else token.split("_")
    return [part.lower() for part in found if part]


def words(token: str) -> tuple[str, ...]:
    """The words that find a token: itself in lower case, and its parts if it has several."""
    known = _memo.get(token)
    if known is None:
        whole = token.lower().strip("_") or token
        split = parts(token)
        known = (whole, *split) if len(split) > 1 else (whole,)
        if len(_memo) < _MEMO_MAX:  # most tokens of a project repeat
            _memo[token] = known
    return known


_memo: dict[str, tuple[str, ...]] = {}
