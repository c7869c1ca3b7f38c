"""Upkeep of the index of one project: its elements ranked, unused contents collected, segments merged, free pages given back.

Invariant: ranking takes at most RANK_SHARE of the time; all else is done in small steps, while nothing else is to do. Called by the
indexing thread.
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
COLLECT_SHARE = 0.02  # of the files, indexed since it was done last, but at least BATCH_FILES_MAX
MERGE_SHARE = (
    0.05  # files indexed since all segments were merged: what they hold is found in many places, and takes a third more
)
RANK_SHARE = 0.02  # of the time that ranking the elements may take, however often files change
OPTIMIZE_SHARE = 0.05  # files newly indexed in a first pass, below which optimizing costs more than it gives
LONG_RANKING_SECONDS = 1.0  # one that took much memory, too


class Upkeep:
    def __init__(self, project: Indexable, derivation: Derivation) -> None:
        self.project = project
        self.derivation = derivation
        self.indexed = 0
        """Files indexed since the start."""
        self.rank_at = 0.0
        """Elements are not ranked anew before."""
        self._collected_at = time.monotonic()
        self._collected_indexed = self._merged_indexed = 0
        self._untidy = False

    def begin_anew(self) -> None:
        """The index was lost: nothing is indexed."""
        self.indexed = self._collected_indexed = self._merged_indexed = 0

    def text_is_complete(self) -> None:
        """Of a first pass, or of what changed while no daemon ran."""
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
        """A little upkeep while nothing else is to do; whether there may be more."""
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
        """Rank the elements where files have changed since that was done; whether they had."""
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
