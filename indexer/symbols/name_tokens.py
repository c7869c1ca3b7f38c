"""Names as FTS5 stores and finds them: code that writes the symbol index and code that reads it must split them alike.

Invariant: one name is one token.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# Matches more than FTS5's separators, whose Unicode is older than Python's. Names that become the same token differ in
# the blobs.
_PARTS_TOKENS = re.compile(r"[^\w!-~]")


def name_tokens(names: Iterable[str]) -> str:
    """Names as one FTS5 text, one token each. Spaces (`operator new`, a heading) and other separators are replaced, so
    that FTS5 does not split a name.
    """
    return " ".join(name if name.isidentifier() else _PARTS_TOKENS.sub("␣", name) for name in names)
