"""Occurrences of a name across a project, in the order of answers: for each rank one pass over the files that may have some.

A pass starts when the one before has ended, as a page is often full sooner. Invariant: an occurrence comes from the outline of the
very bytes its file holds.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ctxd.indexer.symbols.asked_name import AskedName
from ctxd.indexer.symbols.candidates import Candidates, has_sections
from ctxd.indexer.symbols.file_occurrences import (
    DEFINITION_RANK,
    FAR_RANK,
    SECTION_RANK,
    Occurrence,
    definitions_in,
    use_rank,
)
from ctxd.indexer.symbols.name_index import FilesNaming, PackedOutline, inside, quoted
from ctxd.indexer.symbols.resolution import IMPORT_RESOLVED, NAME_ONLY, SAME_MODULE
from ctxd.indexer.text.text_search import in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ctxd.indexer.files.scope import Scope


@dataclass(frozen=True, slots=True)
class OccurrenceQuestion:
    """Which occurrences of a name are asked for, and where an answer goes on."""

    name: str
    scope: Scope
    language: str | None
    definitions: bool
    references: bool
    rank: int
    """Of the first occurrence that may follow."""
    path: bytes
    """Of the first file that may follow, of those of that rank."""


class _Pass(NamedTuple):
    outlines: Iterator[PackedOutline]
    occurrences_in: Callable[[PackedOutline], Iterable[Occurrence]]


class OccurrenceSearch:
    """For one question; not shared by threads."""

    def __init__(self, question: OccurrenceQuestion, candidates: Candidates) -> None:
        self.question = question
        self.candidates = candidates
        self.index = candidates.index
        self._not_in_module: set[bytes] = set()
        """Files without uses of the grade SAME_MODULE, seen on the way to what imports resolve."""

    def in_order(self, stop: Callable[[], bool]) -> Iterator[Occurrence]:
        """Lazily; `stop` ends it early."""
        for outlines, occurrences_in in self._passes():
            for outline in outlines:
                if stop():
                    return
                yield from occurrences_in(outline)

    def _passes(self) -> Iterator[_Pass]:
        makers = []
        if self.question.definitions:
            makers += [(DEFINITION_RANK, self._definitions), (SECTION_RANK, self._sections)]
        if self.question.references:
            makers += [(use_rank(grade), self._resolved_uses) for grade in (IMPORT_RESOLVED, SAME_MODULE)]
            makers.append((use_rank(NAME_ONLY), self._uses_by_name))
            if self.candidates.qualifiers:
                makers.append((FAR_RANK, self._uses_by_name))
        return (make(rank) for rank, make in makers if rank >= self.question.rank)

    def _definitions(self, rank: int) -> _Pass:
        asked, defining = self.candidates.asked, self.candidates.defining
        code = (path for path in self._ordered(defining, rank) if not has_sections(path))
        return _Pass(
            self.index.outlines(code, defining, definitions_only=True),
            functools.partial(definitions_in, asked=asked, rank=rank),
        )

    def _sections(self, rank: int) -> _Pass:
        """Headings and keys. Their names may hold what parts qualified names (`server.port`, "Read / write"): the whole is a name, too."""
        asked = self.candidates.asked
        whole = AskedName([], self.question.name.strip(), asked.packages)
        titled = self.index.files_naming(f"defined : {quoted(asked.bare)} OR defined : {quoted(whole.bare)}")

        def titles_in(outline: PackedOutline) -> Iterable[Occurrence]:
            found = definitions_in(outline, asked, rank)
            if whole.bare == asked.bare:
                return found
            return sorted({*found, *definitions_in(outline, whole, rank)})

        paths = filter(has_sections, self._ordered(titled, rank))
        return _Pass(self.index.outlines(paths, titled, definitions_only=True), titles_in)

    def _resolved_uses(self, rank: int) -> _Pass:
        """Uses that an import or the module they lie in tells to be for what is meant."""
        uses, graded = self.candidates.uses, self.candidates.graded
        paths = self._ordered(graded, rank)
        same_module = use_rank(SAME_MODULE)
        if rank == same_module:
            paths = (path for path in paths if path not in self._not_in_module)

        def uses_in(outline: PackedOutline) -> Iterable[Occurrence]:
            found = uses.graded(outline)
            if not any(one.rank == same_module for one in found):
                self._not_in_module.add(outline.path)
            return (one for one in found if one.rank == rank)

        return _Pass(self.index.outlines(paths, graded), uses_in)

    def _uses_by_name(self, rank: int) -> _Pass:
        """Uses that may be for something else: first those in near files, then those in far ones."""
        uses, graded, using = self.candidates.uses, self.candidates.graded, self.candidates.using
        is_near = self.candidates.is_near
        paths = (path for path in self._ordered(using, rank) if is_near(path) == (rank != FAR_RANK))

        def uses_in(outline: PackedOutline) -> Iterable[Occurrence]:
            return (uses.by_name_of_graded if outline.path in graded else uses.by_name)(outline, rank)

        return _Pass(self.index.outlines(paths, using), uses_in)

    def _ordered(self, files: FilesNaming | dict[bytes, int], rank: int) -> Iterator[bytes]:
        """The paths of `files` that are asked for in the pass of `rank`, from where the answer goes on."""
        question = self.question
        after = question.path if rank == question.rank else b""
        paths = files.in_order(after) if isinstance(files, FilesNaming) else in_order(files, after)
        return inside(paths, question.scope, question.language)
