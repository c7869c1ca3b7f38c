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
    pattern: str, scope: Scope, table: FileTable, lock: RLock, *, base: bytes = b"", after: bytes | None = None
) -> Iterator[bytes]:
    """Paths below `base` whose base name (or path from `base` on, where the glob holds a `/`) matches; lazy.

    In byte order, beyond `after`. Raises glob.GlobError.
    """
    text = pattern.removeprefix("./")
    name = glob.translate(text)
    with lock:
        block = table.joined_paths()
    for path in paths_matching(name, block, base=base, on_path="/" in text, after=after):
        if scope.contains(path):
            yield path


def paths_matching(
    pattern: bytes,
    block: bytes,
    *,
    base: bytes = b"",
    on_path: bool,
    ignore_case: bool = False,
    after: bytes | None = None,
) -> Iterator[bytes]:
    """Paths of a `FileTable.joined_paths` below `base` that an RE2 pattern matches: the base name, or with `on_path` all from `base` on.

    In byte order, beyond `after`. Raises glob.GlobError.
    """
    start = rb"\x00" + (re2.escape(base + b"/") if base else b"") + (b"" if on_path else rb"(?:[^\x00]*/)?")
    options = glob.options()
    options.case_sensitive = not ignore_case
    try:
        compiled = re2.compile(start + b"(?:" + pattern + rb")\x00", options)
    except re2.error as error:
        raise glob.GlobError(f"the pattern cannot be compiled: {error}") from None
    position = 0
    if after is not None:
        # The block is in byte order of paths; a path that is gone since is stepped over by comparing.
        found = block.find(b"\0" + after + b"\0")
        position = found + len(after) + 1 if found >= 0 else 0
    while match := compiled.search(block, position):
        begin, end = match.span()
        position = end - 1  # the NUL at its end begins the next path
        path = block[begin + 1 : position]
        if after is None or path > after:
            yield path
