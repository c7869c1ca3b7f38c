"""Finds file names by glob. RE2 runs over blocks of names or of paths, see path_order.Shelf.

Invariant: the answer lists files of the scope that are on disk now, hidden ones only where the scope names them.
"""

from __future__ import annotations

import bisect
import logging
from typing import TYPE_CHECKING

import re2

from ctxd.indexer.files.path_order import shelf_of
from ctxd.indexer.names import finders
from ctxd.indexer.patterns import glob
from ctxd.indexer.patterns.engine import compiled
from ctxd.indexer.programs import FILES_BACKENDS, ProgramFailed, Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from threading import RLock

    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.files.path_order import Shelf
    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.patterns.engine import Spans
    from ctxd.indexer.text.text_search import Search

    Finder = Callable[[bytes, int], Spans]

logger = logging.getLogger(__name__)


class FileSearch:
    """Answers over one project, from the blocks, or without them if a search's backend says so. Thread-safe.

    The answer is the same for each of programs.FILES_BACKENDS.
    """

    def __init__(self, root: bytes, table: FileTable, lock: RLock, programs: Programs) -> None:
        self.root = root
        self.table = table
        self.lock = lock
        self.programs = programs

    def search(
        self, pattern: str, scope: Scope, search: Search, *, base: bytes = b"", after: bytes | None = None
    ) -> Iterator[bytes]:
        """Paths below `base` whose base name (or path from `base` on, if the glob holds a `/`) matches; lazy.

        In byte order, after the path `after`. Raises glob.GlobError.
        """
        text = pattern.removeprefix("./")
        within = glob.translate(glob.folder_of(text)) if "/" in text else None
        return self.matching(
            glob.translate(text),
            scope,
            search,
            base=base,
            within=within,
            weaker=text,
            after=after,
            holding=glob.required_text(text),
        )

    def matching(
        self,
        expression: bytes,
        scope: Scope,
        search: Search,
        *,
        base: bytes = b"",
        within: bytes | None = None,
        weaker: str = "*",
        after: bytes | None = None,
        holding: bytes = b"",
    ) -> Iterator[bytes]:
        """As `search`, for an RE2 expression (LATIN1) of the base name, or with `within` of the path from `base` on.

        `within` matches the folder (with its `/`) of every file that the expression matches. `weaker` is a glob that
        matches every such name; a program is asked for it. Every match holds the text `holding`. Raises glob.GlobError.
        """
        start = b"" if within is None else re2.escape(base + b"/" if base else b"")
        spans = _of_entries(start + b"(?:" + expression + b")")
        if search.backend == "index":
            folders = None if within is None else _of_entries(start + b"(?:" + within + b")")
            paths = self._on_shelves(spans, folders, scope, after, holding)
        else:
            paths = self._one_by_one(spans, scope, search, within is not None, weaker, after)
        return scope.those_of(paths)

    def _on_shelves(
        self, spans: Finder, folders: Finder | None, scope: Scope, after: bytes | None, holding: bytes
    ) -> Iterator[bytes]:
        with self.lock:
            shelves = self.table.shelves()
        for shelf in _holding(shelves, scope, after or b""):
            if folders is not None and folders(shelf.folders, 0)[0][0] < 0:
                continue
            block = shelf.names if folders is None else shelf.joined
            position = number = 0
            # Search from the next entry that holds the text: a tenth of the time of a leading wildcard.
            while (at := block.find(holding, position)) >= 0:
                begin = block.rfind(b"\0", position, at + 1)
                number += block.count(b"\0", position, begin)
                position = begin
                begin, end = spans(block, position)[0]
                if begin < 0:
                    break
                number += block.count(b"\0", position, begin)
                position = end - 1  # the NUL at its end begins the next entry
                path = shelf.paths[number]
                number += 1
                if after is None or path > after:
                    yield path

    def _one_by_one(
        self,
        spans: Finder,
        scope: Scope,
        search: Search,
        on_path: bool,
        weaker: str,
        after: bytes | None,
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
            if (named is None or path in named) and (after is None or path > after):
                entry = path if on_path else path[path.rfind(b"/") + 1 :]
                if spans(b"\0%b\0" % entry, 0)[0][0] >= 0:
                    yield path

    def _named_by_a_program(self, pattern: str, scope: Scope, search: Search) -> set[bytes] | None:
        """Paths that may match, among them all that do; None if no program can say."""
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


def _of_entries(expression: bytes) -> Finder:
    """A function that finds the next entry of a block that `expression` matches whole; the span includes its two NULs.

    Raises glob.GlobError.
    """
    spans = compiled(rb"\x00(?:" + expression + rb")\x00", latin1=True)
    if spans is None:
        raise glob.GlobError("the pattern is too large or repeats too often")
    return spans


def _holding(shelves: list[Shelf], scope: Scope, after: bytes) -> list[Shelf]:
    """The shelves that may hold paths of the scope after `after`: all between its first and its last path."""
    if not shelves:
        return []
    first = shelf_of(max(min(scope.paths), after), shelves)
    if b"" in scope.paths:
        return shelves[first:]
    last = max(scope.paths) + b"0"  # "0" follows "/" in byte order
    return shelves[first : bisect.bisect_left(shelves, last, key=lambda shelf: shelf.paths[0])]
