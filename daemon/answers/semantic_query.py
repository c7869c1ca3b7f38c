"""The shared part of the tools that search by meaning: if the index can answer, the hits, and the lines of each hit.

Invariant: shown text was read from the disk for this answer and has exactly the bytes that were ranked. A file that changed
meanwhile is counted as pending, and the answer says so.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxd.daemon.answers.live_elements import ElementLookup
from ctxd.indexer import languages
from ctxd.indexer.decode import Unreadable, content_hash, decode, read_inside
from ctxd.indexer.meaning.semantic_ranking import Question, calibrated, coverage, names_worth, signs
from ctxd.indexer.symbols.enclosing import FileElements, language_name, type_of
from ctxd.indexer.words import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ctxd.daemon.tool import Call
    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.meaning.semantic_search import ChunkHit, Found, Meaning
    from ctxd.indexer.symbols.outline import Definition

_TELLING_WORTH = 0.3  # a definition whose name is worth this much for the question is shown instead of its chunk
_FILES_READ_MAX = 200
_SNIPPET_CHARS_MAX = 8_000  # of code that is compared as a whole
_COMPARED = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """One result; lines are 1-based, inclusive."""

    path: bytes
    start_line: int
    end_line: int
    text: str
    score: float
    """From 0 to 1; from 0.7 on a person would call the result relevant."""
    element: Definition | None
    """The definition that the lines are, or are a part of."""
    language: str

    @property
    def description(self) -> str:
        """The first line of the element's documentation, or else of the element."""
        if self.element is not None and self.element.doc:
            return self.element.doc
        return next((line.strip() for line in self.text.split("\n") if line.strip()), "")


class SemanticQuery:
    def __init__(self, call: Call, scope: Scope, *, takes: Callable[[bytes], bool] | None = None) -> None:
        self.call = call
        self.project = call.view.project
        self.scope = scope
        self.stale = self.project.files_now()
        self.lacking = self.project.readiness.chunks_now(scope, call.stop)
        self._takes = takes
        self._lookup = ElementLookup(call)
        self._moved = 0

    def not_ready(self) -> str | None:
        """Why nothing can be answered yet."""
        if not self.lacking.files or self.lacking.is_ready:
            return None
        progress = self.progress()
        return (
            f"{self.lacking.files} files of this scope have no embeddings yet ({progress['done']} of {progress['total']} files are"
            " indexed). Ask again soon, or narrow the question to folders already done; text search answers now."
        )

    def progress(self) -> dict[str, Any]:
        return self.project.readiness.progress()

    def ask(self, text: str, limit: int) -> Iterator[Answer]:
        """The best chunk of each file, then more of them; best first, lazily; scores never rise."""
        question = Question(text)
        found = self._found(question, limit)
        ceiling = 1.0
        for hit in found.hits:
            if self.call.stop():
                return
            if (elements := self._text(hit)) is None:
                continue
            ceiling = min(ceiling, _score(question, found.rarity, elements, hit))
            answer = _answer(elements, (hit.start_line, hit.end_line), None)
            yield dataclasses.replace(answer, score=ceiling)

    def ask_elements(self, text: str, limit: int, *, kind: str | None = None) -> Iterator[Answer]:
        """As `ask`, with the elements that the chunks are about, each ranked by its own score.

        The best element of a file ranks as the file does. The file's other elements follow later, before worse files. With `kind`
        only elements of that type are returned.
        """
        question = Question(text)
        found = self._found(question, _FILES_READ_MAX if kind is not None else limit)
        ceiling = 1.0
        waiting: list[tuple[float, int, Answer]] = []
        count = itertools.count()
        for hits in _by_file(found).values():
            if self.call.stop():
                return
            if (elements := self._elements(hits[0])) is None:
                continue
            shown: list[tuple[int, int]] = []
            routines: set[Definition] = set()
            answers = []
            for hit in hits:
                element = _element_of(question, found.rarity, elements, hit, kind)
                if kind is not None and element is None:
                    continue
                lines = _shown(hit, element)
                if any(first <= lines[0] and lines[1] <= last for first, last in shown):  # such as a comment's function
                    continue
                if element is not None and type_of(element) in {"function", "method"}:
                    if element in routines:  # a long routine has many chunks
                        continue
                    routines.add(element)
                shown.append(lines)
                score = _score(question, found.rarity, elements, hit, own=bool(answers))
                answers.append(dataclasses.replace(_answer(elements, lines, element), score=min(ceiling, score)))
            if not answers:
                continue
            first, *others = answers
            while waiting and -waiting[0][0] > first.score:
                yield heapq.heappop(waiting)[2]
            ceiling = first.score
            yield first
            for one in others:
                score = min(ceiling, one.score)
                heapq.heappush(waiting, (-score, next(count), dataclasses.replace(one, score=score)))
        while waiting:
            yield heapq.heappop(waiting)[2]

    def _found(self, question: Question, limit: int) -> Found:
        return self.project.semantic.ask(
            question,
            self.scope,
            self.call.stop,
            limit=limit,
            meaning=self._meaning(question.text),
            takes=self._takes,
        )

    def similar(self, snippet: str) -> Iterator[Answer]:
        """Chunks like a piece of code, most similar first: by their vectors, and by their share of the snippet's words."""
        text = snippet[:_SNIPPET_CHARS_MAX]
        wanted = Counter(tokens(text))
        found = self.project.semantic.like(
            text, self.scope, count=_COMPARED, meaning=self._meaning(text), takes=self._takes
        )
        answers = []
        for hit in found:
            if self.call.stop():
                break
            elements = self._elements(hit)
            if elements is None:
                continue
            element = elements.around_line(hit.start_line)
            have = Counter(tokens(elements.lines(hit.start_line, hit.end_line)))
            held = sum((wanted & have).values()) / max(1, sum(wanted.values()))
            score = held if hit.cosine is None else (held + max(0.0, hit.cosine)) / 2
            one = None if element is None else elements.definitions[element]
            answers.append(dataclasses.replace(_answer(elements, (hit.start_line, hit.end_line), one), score=score))
        yield from sorted(answers, key=lambda one: (-one.score, one.path, one.start_line))

    def _meaning(self, text: str) -> Meaning | None:
        return self.project.model.meaning(text, self.call.stop)

    def _text(self, hit: ChunkHit) -> FileElements | None:
        """As `_elements`, but without the elements, which take a third of an answer's time."""
        try:
            data, _ = read_inside(self.project.root, hit.path)
        except Unreadable:
            data = b""
        if content_hash(data) != hit.content_hash:
            self._moved += 1
            return None
        language = languages.language_of(hit.path)
        return FileElements(hit.path, data, decode(data)[1] or b"", language.name if language else None, "none")

    def _elements(self, hit: ChunkHit) -> FileElements | None:
        try:
            elements = self._lookup.of(hit.path)
        except Unreadable:  # gone since it was ranked
            self._moved += 1
            return None
        if elements.text is None or content_hash(elements.data) != hit.content_hash:
            self._moved += 1
            return None
        return elements

    def state(self) -> dict[str, Any]:
        """Fields that say what an answer lacks."""
        fields: dict[str, Any] = {}
        lacking = dataclasses.replace(self.lacking, files=self.lacking.files + self._moved)
        if stale := self.stale or lacking.stale("embedded"):
            fields["stale"] = stale
        model = self.project.model
        if model.problem:
            fields["note"] = f"the model {model.specification} does not answer: {model.problem}"
        return fields

    def coverage(self) -> dict[str, Any]:
        """Coverage of an empty answer: the files that were searched or skipped."""
        with self.project.lock:
            files = list(self.scope.files(self.project.table))
        skipped = self.project.left_out_of(self.scope.paths)
        searched = 0
        for file in files:
            if self._takes is not None and not self._takes(file.path):
                continue
            if file.is_binary:
                skipped["binary"] += 1
            elif languages.chunked_language_of(file.path) is not None:
                if file.content is not None and file.content.chunks in {"too_large", "failed"}:
                    skipped[file.content.chunks] += 1
                else:
                    searched += 1
        return {"files_searched": searched, "skipped": dict(skipped)}


def _element_of(
    question: Question, rarity: dict[str, float], elements: FileElements, hit: ChunkHit, kind: str | None
) -> Definition | None:
    """The definition that a chunk is about.

    It is the one in the chunk whose name answers best, else the one that fills it, the one around it, or its largest; for a
    chunk that is only a comment, the one right below.
    """
    inside, around = [], []
    for one in elements.definitions:
        if kind is not None and type_of(one) != kind:
            continue
        if hit.start_line <= one.line <= hit.end_line:
            inside.append(one)
        elif one.start_line <= hit.start_line and one.end_line >= hit.end_line:
            around.append(one)
    told = [
        (names_worth(question, [one.name], rarity), one.end_line - one.start_line, at) for at, one in enumerate(inside)
    ]
    best = max(told, default=None)
    if best is not None and (best[0] >= _TELLING_WORTH or not around):
        return inside[best[2] if best[0] >= _TELLING_WORTH else max(told, key=lambda one: one[1:])[2]]
    filling = [one for one in inside if one.start_line <= hit.start_line and one.end_line >= hit.end_line]
    return next(iter(filling or around[-1:]), None) or _commented(elements, hit, kind)


def _commented(elements: FileElements, hit: ChunkHit, kind: str | None) -> Definition | None:
    """The definition below a chunk that is only a comment."""
    text = elements.lines(hit.start_line, hit.end_line).strip()
    if not (text.startswith("/*") and text.find("*/") == len(text) - 2):
        return None
    below = (one for one in elements.definitions if one.start_line > hit.end_line)
    nearest = min(below, key=lambda one: one.start_line, default=None)
    if nearest is None or (kind is not None and type_of(nearest) != kind):
        return None
    return nearest if not elements.lines(hit.end_line + 1, nearest.start_line - 1).strip() else None


def _score(
    question: Question, rarity: dict[str, float], elements: FileElements, hit: ChunkHit, *, own: bool = False
) -> float:
    """The score of a hit. `own`: only by the chunk's text; the file's part of the score went to the file's best hit."""
    text = elements.lines(hit.start_line, hit.end_line)
    telling = sum(rarity.values())
    if own:
        elsewhere = question.is_name and not any(name.lower() in text.lower() for name in question.names)
        told = 0.0 if elsewhere else coverage(question, b"", text, rarity)
        return telling * calibrated(told, hit.cosine, 0.0, 0.0)
    told, name = signs(question, hit.path, text, rarity)
    return telling * calibrated(told, hit.cosine, name, hit.defines)


def _by_file(found: Found) -> dict[bytes, list[ChunkHit]]:
    """The hits of each file, best first; files in their order."""
    by_file: dict[bytes, list[ChunkHit]] = {}
    for hit in found.hits:
        by_file.setdefault(hit.path, [hit, *found.more[hit.path]])
    return by_file


def _shown(hit: ChunkHit, element: Definition | None) -> tuple[int, int]:
    """The lines to show: the chunk's, or those of an element inside it; a comment together with the element below."""
    if element is not None and element.start_line > hit.end_line:
        return hit.start_line, element.end_line
    if element is not None and hit.start_line <= element.line and element.end_line <= hit.end_line:
        return element.start_line, element.end_line
    return hit.start_line, hit.end_line


def _answer(elements: FileElements, lines: tuple[int, int], element: Definition | None) -> Answer:
    first, last = lines
    return Answer(
        elements.path,
        first,
        last,
        elements.lines(first, last),
        0.0,
        element,
        language_name(elements.language or ""),
    )
