"""Upkeep of a project's index: ranks elements, deletes unused contents, merges segments, gives free pages back.

Invariant: ranking takes at most RANK_SHARE of the time. Everything else is done in small steps while there is no other work.
The indexing thread calls it.
"""

from __future__ import annotations

import logging
import os
import time
from typing import TYPE_CHECKING

from ctxd.indexer.symbols import element_ranking
from ctxd.indexer.writer import BATCH_FILES_MAX

if TYPE_CHECKING:
    from ctxd.daemon.indexing.derivation import Derivation
    from ctxd.daemon.indexing.indexable import Indexable

logger = logging.getLogger(__name__)

COLLECT_SECONDS = 300.0
COLLECT_SHARE = 0.02  # of the files, indexed since the last collection; at least BATCH_FILES_MAX
MERGE_SHARE = (
    0.05  # of the files, indexed since the last full merge: their rows are scattered, and take a third more space
)
RANK_SHARE = 0.02  # of the time; ranking takes no more, however often files change
OPTIMIZE_SHARE = 0.05  # of the files, newly indexed in a first pass; below it optimizing costs more than it gains
LONG_RANKING_SECONDS = 1.0  # a ranking this long took much memory, too


class Upkeep:
    def __init__(self, project: Indexable, derivation: Derivation) -> None:
        self.project = project
        self.derivation = derivation
        self.indexed = 0
        """Files indexed since the start."""
        self.rank_at = 0.0
        """The earliest time of the next ranking."""
        self._collected_at = time.monotonic()
        self._collected_indexed = self._merged_indexed = 0
        self._untidy = False

    def begin_anew(self) -> None:
        """Start over: the index was lost and nothing is indexed."""
        self.indexed = self._collected_indexed = self._merged_indexed = 0

    def text_is_complete(self) -> None:
        """The text of a first pass, or of changes made while no daemon ran, is indexed."""
        if self._is_much(self.indexed):
            self.project.writer.optimize_text()
            self.project.text.forget_counts()

    def symbols_are_complete(self) -> None:
        self.rank()
        if self._is_much(self.indexed):
            self.project.writer.optimize_names()
            self.project.database.shrink()

    def chunks_are_complete(self) -> None:
        if self._is_much(self.derivation.chunked):
            self.project.writer.optimize_chunks()
            self.project.database.shrink()

    def _is_much(self, count: int) -> bool:
        return count > len(self.project.table) * OPTIMIZE_SHARE

    def idle(self) -> bool:
        """Do a little upkeep while there is no other work. True if there may be more to do."""
        now = time.monotonic()
        if now > self.rank_at and self.rank():
            return True
        if self.project.model.drop_unwanted():
            return True
        enough = max(len(self.project.table) * COLLECT_SHARE, BATCH_FILES_MAX)
        if now - self._collected_at > COLLECT_SECONDS or self.indexed - self._collected_indexed > enough:
            with self.project.lock:
                self.derivation.forget_unused()
            if self.project.writer.collect():
                return True
            self._collected_at, self._collected_indexed = now, self.indexed
            self._untidy = True
            if self.indexed - self._merged_indexed > len(self.project.table) * MERGE_SHARE:
                self._merged_indexed = self.indexed
                self.project.writer.begin_merging()
        if self._untidy:
            self._untidy = self.project.writer.tidy()
            if not self._untidy:
                self.project.database.shrink()
        return self._untidy

    def rank(self) -> bool:
        """Rank the elements if files have changed since the last ranking. True if it did."""
        if not self.derivation.unranked:
            return False
        began = time.monotonic()
        element_ranking.rank_elements(self.project.database)
        took = time.monotonic() - began
        with self.project.settled:
            self.derivation.unranked, self.rank_at = False, began + took / RANK_SHARE
            self.project.settled.notify_all()
        if took > LONG_RANKING_SECONDS:
            self.project.database.shrink()
            logger.info("elements of %s ranked in %.1f s", os.fsdecode(self.project.root), took)
        return True
