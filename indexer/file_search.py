"""File names by glob. All paths lie in one block of memory, in byte order, each between two NULs (FileTable.joined_paths).

Invariant: the answer lists files of the scope that are on disk now, hidden ones only where the scope names them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import re2

from ctxd.indexer import finders, glob
from ctxd.indexer.programs import FILES_BACKENDS, ProgramFailed, Programs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import RLock

    from ctxd.indexer.file_table import FileTable
    from ctxd.indexer.scope import Scope
    from ctxd.indexer.text_search import Search

logger = logging.getLogger(__name__)


class FileSearch:
    """Answers over one project, from the block of paths or, where a search's backend asks for it, without it. Thread-safe.

    The answer is the same, whichever of programs.FILES_BACKENDS a search names.
    """

    def __init__(self, root: bytes, table: FileTable, lock: RLock, programs: Programs) -> None:
        self.root = root
        self.table = table
        self.lock = lock
        self.programs = programs

    def search(
        self, pattern: str, scope: Scope, search: Search, *, base: bytes = b"", after: bytes | None = None
    ) -> Iterator[bytes]:
        """Paths below `base` whose base name (or path from `base` on, where the glob holds a `/`) matches; lazy.

        In byte order, beyond `after`. Raises glob.GlobError.
        """
        text = pattern.removeprefix("./")
        return self.matching(
            glob.translate(text), scope, search, base=base, on_path="/" in text, weaker=text, after=after
        )

    def matching(
        self,
        expression: bytes,
        scope: Scope,
        search: Search,
        *,
        base: bytes = b"",
        on_path: bool,
        ignore_case: bool = False,
        weaker: str = "*",
        after: bytes | None = None,
    ) -> Iterator[bytes]:
        """As `search`, of an RE2 expression (LATIN1): of the base name, or with `on_path` of all from `base` on.

        `weaker` is a glob that matches whatever the expression does: what a program is asked. Raises glob.GlobError.
        """
        start = (re2.escape(base + b"/") if base else b"") + (b"" if on_path else glob.FOLDERS)
        options = glob.options()
        options.case_sensitive = not ignore_case
        around = rb"\x00" if search.backend == "index" else b""
        try:
            matcher = re2.compile(around + start + b"(?:" + expression + b")" + around, options)
        except re2.error as error:
            raise glob.GlobError(f"the pattern cannot be compiled: {error}") from None
        paths = self._in_block(matcher, after) if around else self._one_by_one(matcher, scope, search, weaker, after)
        return filter(scope.contains, paths)

    def _in_block(self, matcher: Any, after: bytes | None) -> Iterator[bytes]:
        with self.lock:
            block = self.table.joined_paths()
        position = 0
        if after is not None:
            # The block is in byte order of paths; a path that is gone since is stepped over by comparing.
            found = block.find(b"\0" + after + b"\0")
            position = found + len(after) + 1 if found >= 0 else 0
        while match := matcher.search(block, position):
            begin, end = match.span()
            position = end - 1  # the NUL at its end begins the next path
            path = block[begin + 1 : position]
            if after is None or path > after:
                yield path

    def _one_by_one(
        self, matcher: Any, scope: Scope, search: Search, weaker: str, after: bytes | None
    ) -> Iterator[bytes]:
        with self.lock:
            paths = self.table.sorted_paths()
        named = self._named_by_a_program(weaker, scope, search)
        if search.stopped_at is not None:
            return
        for number, path in enumerate(paths):
            if not number % 1024 and search.stop():
                search.stopped_at = path
                return
            is_candidate = (named is None or path in named) and (after is None or path > after)
            if is_candidate and matcher.fullmatch(path):
                yield path

    def _named_by_a_program(self, pattern: str, scope: Scope, search: Search) -> set[bytes] | None:
        """Paths of which one may match, among them all that do; None where no program can say."""
        with self.lock:
            files = {path for path in scope.paths if path in self.table.files}
        folders = [path for path in scope.paths if path not in files]
        for name in FILES_BACKENDS[FILES_BACKENDS.index(search.backend) :]:
            program = getattr(self.programs, name, None)
            if program is None or not folders:
                continue
            names_by = finders.names_by_fd if name == "fd" else finders.names_by_find
            try:
                return files | names_by(program, self.root, pattern, folders, search.stop)
            except ProgramFailed as error:
                if search.stop():
                    search.stopped_at = b""
                    break
                logger.info("names are searched without %s: %s", name, error)
        return None
