"""Names as FTS5 stores and looks them up: whoever writes the symbol index and whoever asks it must split alike.

Invariant: one name is one token.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# More than FTS5 parts at, as its Unicode is older than Python's. The blobs tell names apart that become one token.
_PARTS_TOKENS = re.compile(r"[^\w!-~]")


def name_tokens(names: Iterable[str]) -> str:
    """Names as one FTS5 text, a token each: a space (`operator new`, a heading) or what else FTS5 parts tokens at must not split one."""
    return " ".join(name if name.isidentifier() else _PARTS_TOKENS.sub("␣", name) for name in names)
