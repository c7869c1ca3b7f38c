"""How far the index of a project is: whether there are rows for an answer, what it waits for, how long the first pass takes.

Invariants: an answer waits for changed files at most `symbols_wait_ms`; what it then has to do without is counted. Once a project has
had its first pass, which the index remembers, it is ready for as long as it has rows.
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
_VECTORS_WAITED_FOR = 8  # files: more take longer than anybody waits


@dataclass(frozen=True, slots=True)
class Lacking:
    """What of a scope has no rows of today."""

    files: int
    """With no rows at all."""
    outdated: int
    """Contents whose rows are of an older revision: they answer."""
    is_ready: bool
    """Whether there was ever a whole first pass: then an answer is made from the rows there are."""

    def stale(self, making: str) -> dict[str, Any] | None:
        """What an answer says of it; `making` as in "changed files are still being parsed"."""
        if self.files:
            return {"pending_files": self.files + self.outdated, "reason": f"changed files are still being {making}"}
        if self.outdated:
            reason = f"after an upgrade files are being {making} anew; for these the rows of the older version answer"
            return {"pending_files": self.outdated, "reason": reason}
        return None


class Readiness:
    """Called by the threads of calls."""

    def __init__(self, indexing: IndexingThread) -> None:
        self._indexing = indexing
        self._project = indexing.project
        self._derivation = indexing.derivation

    def symbols_now(self, scope: Scope, stop: Callable[[], bool]) -> Lacking:
        """Wait until every file of the scope has its symbols, for at most `symbols_wait_ms`; return how many have not."""
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
        """`symbols_now`, and the files that change from that very moment on, for as long as this lasts.

        One step under the lock: a file that changed in between, and had its new text indexed, would be neither missing nor
        noted, and its symbols not looked for.
        """
        project = self._project
        with contextlib.ExitStack() as noting:
            with project.lock:
                lacking = self.symbols_now(scope, stop)
                noted = noting.enter_context(project.table.noting_changes(project.lock))
                noted.difference_update([file for file in noted if file.content is not None])  # their text is outdated
            yield lacking, noted

    def chunks_now(self, scope: Scope, stop: Callable[[], bool]) -> Lacking:
        """As `symbols_now`, of chunks and their vectors."""
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
        in_scope: Callable[[str], list[Content]],
        require: Callable[[list[Content]], None],
        is_ready: Callable[[], bool],
        language_of: Callable[[bytes], Language | None],
        scope: Scope,
        stop: Callable[[], bool],
    ) -> Lacking:
        """`in_scope` lists the contents of the scope that are in a state. Those that are outdated answer, and are not waited for."""
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

    def progress(self, stage: str = "chunks") -> dict[str, Any]:
        """Of the first pass, up to its "symbols" or its end: `{done, total, eta_seconds}` in files."""
        indexing, total = self._indexing, len(self._project.table)
        if indexing.chunks_ready or (stage == "symbols" and indexing.symbols_ready):
            return {"done": total, "total": total, "eta_seconds": 0}
        return indexing.progress.of(stage, total, indexing.left(), time.monotonic())


def _is_in(content: Content, scope: Scope) -> bool:
    return any(scope.contains(file.path) for file in content.files)
