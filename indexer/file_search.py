"""File names by glob. All paths lie in one block of memory, in byte order, each between two NULs (FileTable.joined_paths).

Invariant: the answer lists files of the scope that are on disk now, hidden ones only where the scope names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from ctxd.indexer import glob

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import RLock

    from ctxd.indexer.file_table import FileTable
    from ctxd.indexer.scope import Scope


def find_files(
    pattern: str, scope: Scope, table: FileTable, lock: RLock, *, after: bytes | None = None
) -> Iterator[bytes]:
    """Paths whose base name (or whole path, where the glob holds a `/`) matches, in byte order, beyond `after`; lazy.

    Raises glob.GlobError.
    """
    name = glob.translate(pattern.removeprefix("./"))
    start = rb"\x00" if "/" in pattern.removeprefix("./") else rb"\x00(?:[^\x00]*/)?"
    try:
        compiled = re2.compile(start + b"(?:" + name + rb")\x00", glob.options())
    except re2.error as error:
        raise glob.GlobError(f"the pattern cannot be compiled: {error}") from None
    with lock:
        block = table.joined_paths()
    position = 0
    if after is not None:
        # The block is in byte order of paths; a path that is gone since is stepped over by comparing.
        found = block.find(b"\0" + after + b"\0")
        position = found + len(after) + 1 if found >= 0 else 0
    while match := compiled.search(block, position):
        begin, end = match.span()
        position = end - 1  # the NUL at its end begins the next path
        path = block[begin + 1 : position]
        if scope.contains(path) and (after is None or path > after):
            yield path
