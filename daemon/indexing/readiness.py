"""How far the index of a project is: whether there are rows for an answer, what it waits for, how long the first pass takes.

Invariant: an answer waits for changed files at most `symbols_wait_ms`; what it then has to do without is counted.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.daemon.indexing.stage import Stage
    from ctxd.daemon.indexing.thread import IndexingThread
    from ctxd.indexer.files.file_table import Content, File
    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.languages import Language

_WAIT_STEP_SECONDS = 0.05
_RANKING_WAIT_SECONDS = 0.5
_VECTORS_WAIT_SECONDS = 2.0
_VECTORS_WAITED_FOR = 8  # files: more take longer than anybody waits


class Readiness:
    """Called by the threads of calls."""

    def __init__(self, indexing: IndexingThread) -> None:
        self._indexing = indexing
        self._project = indexing.project
        self._derivation = indexing.derivation

    def symbols_now(self, scope: Scope, stop: Callable[[], bool]) -> int:
        """Wait until every file of the scope has its symbols, for at most `symbols_wait_ms`; return how many have not."""
        derivation = self._derivation

        def require(missing: list[Content]) -> None:
            derivation.symbols.require(missing)

        return self._made_now(
            derivation.symbols,
            require,
            lambda: self._indexing.first_pass_done,
            languages.parsed_language_of,
            scope,
            stop,
        )

    @contextlib.contextmanager
    def symbols_noted(self, scope: Scope, stop: Callable[[], bool]) -> Iterator[tuple[int, set[File]]]:
        """`symbols_now`, and the files that change from that very moment on, for as long as this lasts.

        One step under the lock: a file that changed in between, and had its new text indexed, would be neither missing nor
        noted, and its symbols not looked for.
        """
        project = self._project
        with contextlib.ExitStack() as noting:
            with project.lock:
                missing = self.symbols_now(scope, stop)
                noted = noting.enter_context(project.table.noting_changes(project.lock))
            yield missing, noted

    def chunks_now(self, scope: Scope, stop: Callable[[], bool]) -> int:
        """As `symbols_now`, of chunks and their vectors."""
        derivation = self._derivation

        def require(missing: list[Content]) -> None:
            derivation.symbols.require(content for content in missing if content.symbols == "pending")
            derivation.chunks.require(missing)

        missing = self._made_now(
            derivation.chunks, require, lambda: self._indexing.chunks_ready, languages.chunked_language_of, scope, stop
        )
        if not missing:
            self._other_vectors_now(scope, stop)
        return missing

    def _other_vectors_now(self, scope: Scope, stop: Callable[[], bool]) -> None:
        """Give the other model a moment where a few files have just changed: by their words alone they would come after all others."""
        project = self._project
        end = time.monotonic() + _VECTORS_WAIT_SECONDS
        with project.settled:
            while project.model.complete and project.model.problem is None and time.monotonic() < end and not stop():
                missing = [
                    content
                    for content in self._derivation.vectors.pending.values()
                    if any(scope.contains(file.path) for file in content.files)
                ]
                if not 0 < len(missing) <= _VECTORS_WAITED_FOR:
                    break
                self._derivation.vectors.require(missing)
                project.wake.set()
                project.settled.wait(_WAIT_STEP_SECONDS)

    def _made_now(
        self,
        stage: Stage,
        require: Callable[[list[Content]], None],
        is_ready: Callable[[], bool],
        language_of: Callable[[bytes], Language | None],
        scope: Scope,
        stop: Callable[[], bool],
    ) -> int:
        project = self._project
        end = time.monotonic() + self._project.settings.symbols_wait_ms / 1000
        with project.settled:
            while True:
                if not project.has_index():
                    return self._unknown(project.table.files.values(), language_of, scope) or 1
                unknown = self._unknown(self._project.table.without_content, language_of, scope)
                missing = [
                    content
                    for content in stage.pending.values()
                    if any(scope.contains(file.path) for file in content.files)
                ]
                if not (unknown or missing) or not is_ready():
                    break
                if stop() or time.monotonic() > end or self._indexing.problem is not None:
                    break
                require(missing)
                project.wake.set()
                project.settled.wait(_WAIT_STEP_SECONDS)
        return unknown + len(missing)

    def ranked_now(self, stop: Callable[[], bool]) -> None:
        """Wait until the elements are ranked anew, where that is to be done at once: the order of a large project may be of minutes ago."""
        project = self._project
        end = time.monotonic() + _RANKING_WAIT_SECONDS
        with project.settled:
            while (
                self._derivation.unranked
                and self._indexing.upkeep.rank_at < end
                and time.monotonic() < end
                and not stop()
            ):
                project.wake.set()
                project.settled.wait(_WAIT_STEP_SECONDS)

    def waiting_for_symbols(self, files: Iterable[File], scope: Scope) -> int:
        """How many of `files` belong to the scope and may get symbols. Call under the project's lock."""
        return self._unknown(files, languages.parsed_language_of, scope)

    def _unknown(self, files: Iterable[File], language_of: Callable[[bytes], Language | None], scope: Scope) -> int:
        return sum(
            language_of(file.path) is not None and not self._indexing.has_given_up(file) and scope.contains(file.path)
            for file in files
        )

    def without_outline(self, scope: Scope) -> dict[str, int]:
        """Files of the scope that are in a language of ours but have no symbols, counted by reason."""
        counted: dict[str, int] = {}
        with self._project.lock:
            for content in self._derivation.without_outline.values():
                for file in content.files:
                    if languages.parsed_language_of(file.path) is not None and scope.contains(file.path):
                        counted[content.symbols] = counted.get(content.symbols, 0) + 1
        return counted

    def progress(self, stage: Stage | None = None) -> dict[str, Any]:
        """Of the first pass, up to a stage or to its end: `{done, total, eta_seconds}` in files."""
        table, indexing, derivation = self._project.table, self._indexing, self._derivation
        total = len(table)
        if indexing.chunks_ready or (stage is derivation.symbols and indexing.first_pass_done):
            return {"done": total, "total": total, "eta_seconds": 0}
        left = len(stage.pending) if stage else (len(derivation.symbols.pending) + len(derivation.chunks.pending)) / 2
        done = max(0, int(total - left) - len(table.without_content) + indexing.given_up)
        elapsed = time.monotonic() - indexing.started_at
        eta = round(elapsed / done * (total - done)) if done > total // 100 else None
        return {"done": done, "total": total, "eta_seconds": eta}
