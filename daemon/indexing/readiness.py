"""The state of a project's index: the files that an answer must wait for, those it lacks, and the first pass's progress.

Invariants: an answer waits for changed files at most `symbols_wait_ms`; files that still lack rows are counted. After its first
pass, which the index remembers, a project is ready as long as it has rows.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.indexer import languages
from ctxd.indexer.files.file_table import TO_DERIVE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.daemon.indexing.thread import IndexingThread
    from ctxd.indexer.files.file_table import Content, File
    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.languages.language import Language

_WAIT_STEP_SECONDS = 0.05
_RANKING_WAIT_SECONDS = 0.5
_VECTORS_WAIT_SECONDS = 2.0
_VECTORS_WAITED_FOR = 8  # files; more would take too long to wait for


@dataclass(frozen=True, slots=True)
class Lacking:
    """Counts of the files in a scope without current rows."""

    files: int
    """Files without any rows."""
    outdated: int
    """Contents whose rows are of an older revision. Those rows still answer."""
    is_ready: bool
    """True after a complete first pass: then answers are made from the existing rows."""

    def stale(self, making: str) -> dict[str, Any] | None:
        """The field `stale` of an answer; `making` is a word such as "parsed" in "changed files are still being parsed"."""
        if self.files:
            return {"pending_files": self.files + self.outdated, "reason": f"changed files are still being {making}"}
        if self.outdated:
            reason = f"after an upgrade files are being {making} again; until then their older rows answer"
            return {"pending_files": self.outdated, "reason": reason}
        return None


class Readiness:
    """Used by the threads of calls."""

    def __init__(self, indexing: IndexingThread) -> None:
        self._indexing = indexing
        self._project = indexing.project
        self._derivation = indexing.derivation

    def symbols_now(self, scope: Scope, stop: Callable[[], bool]) -> Lacking:
        """Wait at most `symbols_wait_ms` until every file of the scope has its symbols. Returns what still lacks them."""
        derivation, indexing = self._derivation, self._indexing

        def require(missing: list[Content]) -> None:
            derivation.symbols.require(missing)

        def in_scope(state: str) -> list[Content]:
            return [one for one in derivation.symbols.pending.values() if one.symbols == state and _is_in(one, scope)]

        return self._made_now(
            in_scope, require, lambda: indexing.symbols_ready, languages.parsed_language_of, scope, stop
        )

    @contextlib.contextmanager
    def symbols_noted(self, scope: Scope, stop: Callable[[], bool]) -> Iterator[tuple[Lacking, set[File]]]:
        """`symbols_now`, and a set that collects the files that change from that moment on, until the context ends.

        Both happen under one lock. Otherwise a file that changes in between and gets its new text indexed would be neither missing
        nor noted, and nobody would look for its symbols.
        """
        project = self._project
        with contextlib.ExitStack() as noting:
            with project.lock:
                lacking = self.symbols_now(scope, stop)
                noted = noting.enter_context(project.table.noting_changes(project.lock))
                noted.difference_update([file for file in noted if file.content is not None])  # their text is outdated
            yield lacking, noted

    def chunks_now(self, scope: Scope, stop: Callable[[], bool]) -> Lacking:
        """As `symbols_now`, for chunks and their vectors."""
        derivation, indexing = self._derivation, self._indexing

        def require(missing: list[Content]) -> None:
            derivation.symbols.require(content for content in missing if content.symbols in TO_DERIVE)
            derivation.chunks.require(missing)

        def in_scope(state: str) -> list[Content]:
            return [one for one in derivation.chunks.pending.values() if one.chunks == state and _is_in(one, scope)]

        lacking = self._made_now(
            in_scope, require, lambda: indexing.chunks_ready, languages.chunked_language_of, scope, stop
        )
        if not lacking.files:
            self._other_vectors_now(scope, stop)
        return lacking

    def _other_vectors_now(self, scope: Scope, stop: Callable[[], bool]) -> None:
        """Wait briefly for the other model if few files changed: found by words alone, they would rank after all others."""
        project = self._project
        end = time.monotonic() + _VECTORS_WAIT_SECONDS
        with project.settled:
            while project.model.complete and project.model.problem is None and time.monotonic() < end and not stop():
                missing = [one for one in self._derivation.vectors.pending.values() if _is_in(one, scope)]
                if not 0 < len(missing) <= _VECTORS_WAITED_FOR:
                    break
                self._derivation.vectors.require(missing)
                project.wake.set()
                project.settled.wait(_WAIT_STEP_SECONDS)

    def _made_now(
        self,
        in_scope: Callable[[str], list[Content]],
        require: Callable[[list[Content]], None],
        is_ready: Callable[[], bool],
        language_of: Callable[[bytes], Language | None],
        scope: Scope,
        stop: Callable[[], bool],
    ) -> Lacking:
        """Wait for pending contents. `in_scope` lists the scope's contents in a state. Outdated ones answer without a wait."""
        project = self._project
        end = time.monotonic() + project.settings.symbols_wait_ms / 1000
        with project.settled:
            while True:
                if not project.has_index():
                    files = self._unknown(project.table.files.values(), language_of, scope)
                    return Lacking(files or 1, 0, is_ready=False)
                unread = [file for file in project.table.without_content if file.content is None]
                unknown = self._unknown(unread, language_of, scope)
                missing = in_scope("pending")
                if not (unknown or missing) or not is_ready():
                    break
                if stop() or time.monotonic() > end or self._indexing.problem is not None:
                    break
                require(missing)
                project.wake.set()
                project.settled.wait(_WAIT_STEP_SECONDS)
            return Lacking(unknown + len(missing), len(in_scope("outdated")), is_ready=is_ready())

    def ranked_now(self, stop: Callable[[], bool]) -> None:
        """Wait until the elements are ranked again, if that is due now. A large project may rank minutes later."""
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
        """Count files of the scope in a supported language that have no symbols, by reason."""
        counted: dict[str, int] = {}
        with self._project.lock:
            for content in self._derivation.without_outline.values():
                for file in content.files:
                    if languages.parsed_language_of(file.path) is not None and scope.contains(file.path):
                        counted[content.symbols] = counted.get(content.symbols, 0) + 1
        return counted

    def progress(self, stage: str = "chunks") -> dict[str, Any]:
        """`{done, total, eta_seconds}` in files: the first pass until its "symbols" are done, or until its end."""
        indexing, total = self._indexing, len(self._project.table)
        if indexing.chunks_ready or (stage == "symbols" and indexing.symbols_ready):
            return {"done": total, "total": total, "eta_seconds": 0}
        return indexing.progress.of(stage, total, indexing.left(), time.monotonic())


def _is_in(content: Content, scope: Scope) -> bool:
    return any(scope.contains(file.path) for file in content.files)
