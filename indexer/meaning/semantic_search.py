"""Finds the files that answer a question, best first, with the best chunk of each.

Candidates come from four sources: chunks with the question's words, chunks near it in meaning, files with a similar
name, and files that define what it names. Then all evidence for a file is weighed together (semantic_ranking.py).
Invariant: every candidate is a content that a file of the scope holds now.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import re2

from ctxd.indexer.files.scope import Scope
from ctxd.indexer.meaning.embedding import quantised, stacked
from ctxd.indexer.meaning.semantic_ranking import VERSION_FOLDER, Evidence, Question, names_worth, scores, stem_match
from ctxd.indexer.symbols.outline import definition_places, is_readable
from ctxd.indexer.text.text_search import Search
from ctxd.indexer.words import tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from threading import RLock

    from ctxd.indexer.database import Database
    from ctxd.indexer.files.file_table import FileTable
    from ctxd.indexer.meaning.chunk_rows import StoredModel
    from ctxd.indexer.meaning.vectors import Near, VectorIndex
    from ctxd.indexer.names.file_search import FileSearch
    from ctxd.indexer.symbols.symbol_search import SymbolSearch

_MORE_MAX = 3  # further chunks that an answer may show of a file: with 20, one file filled a page
CANDIDATE_CHUNKS = 300  # by words, and as many by vectors
_MORE_EACH_TIME = 8
_FETCHED_MAX = CANDIDATE_CHUNKS * _MORE_EACH_TIME**2
_NAMED_FILES_MAX = 1_000
_DEFINING_FILES_MAX = 100
_NAMES_MAX = 4  # names of a question that are looked up as definitions
_COUNTED_MAX = 10_000  # words whose counts are kept
COMMON_CHUNKS = 50_000  # a word in more chunks tells nothing
_COMPOUND_CHUNKS_MAX = 1_000  # a compound in more chunks tells nothing
_COMMON_SHARE = 0.2  # of all chunks; a word in more of them tells less
_SMALL_CHUNKS = 200  # a project counts as having at least so many: in fewer every word is common
_POSTINGS_MAX = 50_000  # chunks read for the words of a question, 0.8 us each; the rarest words first
_WORDS_MAX = 32  # words of a question or a snippet that are searched at once, the rarest
_NARROW_FILES = 5_000  # for a scope of at most so many files their contents are listed first
_NAMES_WEIGHT = 5.0  # of a word in the names that a chunk defines; a word in its text has 1
# Worth of a definition by its kind, for a question with its name. Variables often repeat a name defined elsewhere.
_KIND_WORTH = {
    **dict.fromkeys(("class", "interface", "struct", "enum", "trait", "type"), 1.0),
    **dict.fromkeys(("function", "method", "macro"), 0.8),
}
_OTHER_WORTH = 0.3
_PATH_WEIGHT = 0.5  # of the path's vector; the chunk's vector has 1
_FEW_DEFINITIONS = 3  # a name defined in more files tells less of each
_VERSIONS_AFTER = 3
_PREFIX_SHARE = 0.6


_Candidate = TypeVar("_Candidate")


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A chunk of a file and the evidence for it. Lines are 1-based and inclusive."""

    path: bytes
    content_hash: bytes
    start_line: int
    end_line: int
    rank: float
    """Score of its file. Comparable within one answer only."""
    cosine: float | None
    """Cosine to the question; None without vectors."""
    defines: float
    """How far the file defines what the question names, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Found:
    hits: list[ChunkHit]
    rarity: dict[str, float]
    """The weight of each part of the question. Sums to 1, or to less if even the rarest part is common ("self")."""
    more: dict[bytes, list[ChunkHit]]
    """By path, further chunks of the file, best first. They may be among the hits, too."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """A question's vector (float32 of length 1) by a model, and the vectors to compare it with."""

    vector: Any
    index: VectorIndex
    of_path: Callable[[bytes], Any] | None = None
    """Gives the vector of a path's words; None if the model is too slow for that."""

    def nearest(self, count: int, contents: frozenset[int] | None) -> list[Near]:
        return self.index.nearest(self.vector, count, contents)

    def cosines(self, near: list[Near], paths: list[bytes]) -> list[float]:
        """Cosines of the question to chunks, with the words of their paths added: a path tells what a chunk belongs to.

        Stored vectors do not include paths, so a renamed file keeps its vectors.
        """
        if self.of_path is None or not near:
            return [one.cosine for one in near]
        own = stacked([one.vector for one in near])
        where = stacked([self.of_path(path) for path in paths])
        both = (1 + _PATH_WEIGHT**2 + 2 * _PATH_WEIGHT * (own * where).sum(1)) ** 0.5
        return ((own @ self.vector + _PATH_WEIGHT * (where @ self.vector)) / both).tolist()

    def of_chunks(self, chunk_ids: list[int]) -> dict[int, float]:
        """The cosine of the question to each chunk."""
        found = self.index.of_chunks(quantised(self.vector[None])[0], chunk_ids)
        return {id_: cosine for id_, cosine, _ in found}


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers about the contents of a database and one model."""

    chunks: dict[int, int]
    """Number of chunks by content."""
    embedded: set[int]
    """Contents whose chunks have vectors of the model."""
    kinds: dict[int, dict[str, int]]
    """Number of chunks by content and kind of definition; "" is no definition."""
    updated: int | None
    """Unix seconds at which the last content was embedded."""


class SemanticSearch:
    """Answers questions about one project. Thread-safe."""

    def __init__(
        self, database: Database, table: FileTable, lock: RLock, symbols: SymbolSearch, names: FileSearch
    ) -> None:
        self.database = database
        self.table = table
        self.lock = lock
        self.symbols = symbols
        self.names = names
        self._counted: tuple[int | None, int, dict[str, int]] = None, 0, {}

    def ask(
        self,
        question: Question,
        scope: Scope,
        stop: Callable[[], bool],
        *,
        limit: int,
        meaning: Meaning | None = None,
        takes: Callable[[bytes], bool] | None = None,
    ) -> Found:
        """Up to `limit` chunks: one of each file, then more of the same files. `takes` says which paths are allowed."""
        candidates, rarity = self.candidates(question, scope, stop, meaning=meaning, takes=takes)
        ranks = scores(question, [one for _, one in candidates], rarity, with_vectors=meaning is not None)
        order = sorted(range(len(candidates)), key=lambda at: (-ranks[at], candidates[at][1].path))[:limit]
        best = [(ranks[at], *candidates[at]) for at in order]
        hits, more = self._chunks_of(question, best, rarity, limit, meaning)
        return Found(hits, rarity, more)

    def candidates(
        self,
        question: Question,
        scope: Scope,
        stop: Callable[[], bool],
        *,
        meaning: Meaning | None,
        takes: Callable[[bytes], bool] | None = None,
    ) -> tuple[list[tuple[int, Evidence]], dict[str, float]]:
        """Contents that may answer, each with its evidence; and the weight of each part of the question."""
        asked = _Asked(self, scope, takes)
        rarity, looked_for = self._looked_for(question)
        worded = asked.inside(
            lambda count: self._by_words(looked_for, asked.contents, count), content_of=operator.itemgetter(1)
        )
        for id_, content_id, score in worded:
            if (one := asked.evidence(content_id)) is not None:
                one.bm25[id_] = score
        if meaning is not None:
            near = asked.inside(
                lambda count: meaning.nearest(count, asked.contents), content_of=operator.attrgetter("content_id")
            )
            cosines = meaning.cosines(near, [asked.path(one.content_id) or b"" for one in near])
            for cosine, chunk in sorted(zip(cosines, near, strict=True), key=lambda one: -one[0]):
                if (one := asked.evidence(chunk.content_id)) is not None:
                    one.cosines.append(cosine)
        if not stop():
            self._by_file_name(question, asked, rarity, stop)
            self._by_definition(question, asked, stop)
        candidates = list(asked.by_content.items())
        self._add_compounds(question, asked.by_content)
        self._add_facts(candidates)
        return candidates, rarity

    def like(
        self,
        text: str,
        scope: Scope,
        *,
        count: int,
        meaning: Meaning | None = None,
        takes: Callable[[bytes], bool] | None = None,
    ) -> list[ChunkHit]:
        """Chunks similar to a text: up to `count` by its vector and up to `count` by its words, unordered."""
        found: dict[int, tuple[int, float | None]] = {}
        question = Question(" ".join(dict.fromkeys(tokens(text))))
        asked = _Asked(self, scope, takes)
        if meaning is not None:
            for near in meaning.nearest(count, asked.contents):
                found[near.chunk_id] = (near.content_id, near.cosine)
        _, looked_for = self._looked_for(question)
        for id_, content_id, _ in self._by_words(looked_for, asked.contents, CANDIDATE_CHUNKS)[:count]:
            found.setdefault(id_, (content_id, None))
        unknown = [id_ for id_, (_, cosine) in found.items() if cosine is None]
        if meaning is not None and unknown:
            for id_, cosine in meaning.of_chunks(unknown).items():
                found[id_] = (found[id_][0], cosine)
        hits = []
        with self.database.reader() as connection:
            for id_, (content_id, cosine) in found.items():
                evidence = asked.evidence(content_id)
                row = connection.execute(
                    "SELECT hash, start_line, end_line FROM chunk JOIN content ON content.id = content_id WHERE chunk.id = ?",
                    (id_,),
                ).fetchone()
                if evidence is not None and row is not None:
                    key, start_line, end_line = row
                    hits.append(ChunkHit(evidence.path, key, start_line, end_line, 0.0, cosine, 0.0))
        return hits

    def counts(self, model: StoredModel | None) -> dict[str, int]:
        """Number of chunks in the contents of this database's files, and of those with vectors of a model."""
        with self.database.reader() as connection:
            chunks, embedded = connection.execute(
                """SELECT ifnull(sum(chunk_count), 0), ifnull(sum(chunk_count) FILTER (WHERE model_id IS NOT NULL), 0)
                   FROM content LEFT JOIN embedded ON content_id = content.id AND model_id = ?
                   WHERE content.id IN (SELECT content_id FROM file)""",
                (model.id if model is not None else 0,),
            ).fetchone()
        return {"chunks": chunks, "embedded": embedded}

    def statistics(self, model: StoredModel | None) -> Statistics:
        number = (model.id if model is not None else 0,)
        with self.database.reader() as connection:
            chunks = connection.execute("SELECT id, chunk_count FROM content WHERE chunk_count > 0").fetchall()
            embedded = connection.execute("SELECT content_id FROM embedded WHERE model_id = ?", number).fetchall()
            kinds = connection.execute(
                "SELECT content_id, kind, count(*) FROM chunk GROUP BY content_id, kind"
            ).fetchall()
            updated = connection.execute("SELECT max(embedded_at) FROM embedded WHERE model_id = ?", number).fetchone()
        by_kind: dict[int, dict[str, int]] = {}
        for content, kind, count in kinds:
            by_kind.setdefault(content, {})[kind] = count
        return Statistics(dict(chunks), {content for (content,) in embedded}, by_kind, updated[0])

    def _looked_for(self, question: Question) -> tuple[dict[str, float], list[str]]:
        """The rarity of the question's parts; and which of its words to search for."""
        with self.database.reader() as connection:
            total, counts = self._counts_of(dict.fromkeys((*question.words, *question.parts)), connection)
            rarity = {
                part: math.log(1 + (max(total, counts[part]) - counts[part] + 0.5) / (counts[part] + 0.5))
                for part in question.parts
            }
            rarest = min((counts[part] for part in question.parts), default=0) / max(total, _SMALL_CHUNKS)
            telling = min(1.0, (1 - rarest) / (1 - _COMMON_SHARE))
            whole = sum(rarity.values()) or 1.0
            rarity = {part: telling * one / whole for part, one in rarity.items()}
        return rarity, _telling(question.words, counts)

    def _by_words(
        self, looked_for: list[str], contents: frozenset[int] | None, count: int
    ) -> list[tuple[int, int, float]]:
        """Up to `count` chunks that hold any of the words, best first: chunk id, content id, BM25."""
        if not looked_for:
            return []
        with self.database.reader() as connection:
            # Without the "+", SQLite would query FTS5 again for every rowid, which takes seconds.
            among = (
                ""
                if contents is None
                else "AND +rowid IN (SELECT id FROM chunk WHERE content_id IN (SELECT value FROM json_each(?3)))"
            )
            return connection.execute(
                f"""SELECT chunk.id, content_id, score FROM chunk JOIN (
                        SELECT rowid AS id, -bm25(chunk_text, {_NAMES_WEIGHT}, 1.0) AS score FROM chunk_text
                        WHERE chunk_text MATCH ?1 {among} ORDER BY score DESC LIMIT ?2
                    ) AS best ON best.id = chunk.id ORDER BY score DESC""",
                (
                    " OR ".join(map(_quoted, looked_for)),
                    count,
                    *([] if contents is None else [json.dumps(list(contents))]),
                ),
            ).fetchall()

    def _counts_of(self, words: Iterable[str], connection: Any) -> tuple[int, dict[str, int]]:
        """Number of chunks, and of chunks with each word (COMMON_CHUNKS at most). Counted anew after new chunks."""
        latest = connection.execute("SELECT max(id) FROM chunk").fetchone()[0]
        counted_at, total, known = self._counted
        if counted_at != latest or len(known) > _COUNTED_MAX:
            total, known = connection.execute("SELECT count(*) FROM chunk").fetchone()[0], {}
            self._counted = latest, total, known
        counts = {}
        for word in words:
            if word not in known:
                known[word] = connection.execute(
                    "SELECT count(*) FROM (SELECT 1 FROM chunk_text WHERE chunk_text MATCH ? LIMIT ?)",
                    (_quoted(word), COMMON_CHUNKS),
                ).fetchone()[0]
            counts[word] = known[word]
        return total, counts

    def _by_file_name(
        self, question: Question, asked: _Asked, rarity: dict[str, float], stop: Callable[[], bool]
    ) -> None:
        """Add files whose name holds words of the question."""
        prefixes = {part[: max(3, math.ceil(len(part) * _PREFIX_SHARE))] for part in question.parts if len(part) > 1}
        if not prefixes:
            return
        inside = b"|".join(re2.escape(prefix.encode()) for prefix in sorted(prefixes))
        named = self.names.matching(rb"[^\x00]*(?i:" + inside + rb")[^\x00]*", asked.scope, Search(stop))
        for path in itertools.islice(named, _NAMED_FILES_MAX):
            told, covered = stem_match(question, path, rarity)
            if told * covered > 0.1:
                asked.evidence_of(path)

    def _by_definition(self, question: Question, asked: _Asked, stop: Callable[[], bool]) -> None:
        for name in question.names[:_NAMES_MAX]:
            found: dict[bytes, float] = {}
            for text in dict.fromkeys((question.text.strip() if question.is_name else name, name)):
                places = self.symbols.occurrences(text, asked.scope, stop, definitions=True, references=False)
                for one in itertools.islice(places, _DEFINING_FILES_MAX):
                    worth = _worth_of(one.kind)
                    found[one.path] = max(found.get(one.path, 0.0), worth)
                if found:
                    break
            share = 1.0
            if not question.is_name:
                share = 1 / len(question.names) / math.sqrt(max(1.0, len(found) / _FEW_DEFINITIONS))
            for path, worth in found.items():
                if (evidence := asked.evidence_of(path)) is not None:
                    evidence.defines = max(evidence.defines, worth * share)

    def _add_compounds(self, question: Question, by_content: dict[int, Evidence]) -> None:
        with self.database.reader() as connection:
            for spellings in question.compounds:
                found = connection.execute(
                    """SELECT content_id FROM chunk
                       WHERE id IN (SELECT rowid FROM chunk_text WHERE chunk_text MATCH ? LIMIT ?)""",
                    (" OR ".join(map(_quoted, spellings)), _COMPOUND_CHUNKS_MAX + 1),
                ).fetchall()
                if len(found) <= _COMPOUND_CHUNKS_MAX:
                    for content_id in {content_id for (content_id,) in found} & by_content.keys():
                        by_content[content_id].compounds += 1

    def _add_facts(self, candidates: list[tuple[int, Evidence]]) -> None:
        ids = json.dumps([content_id for content_id, _ in candidates])
        with self.database.reader() as connection:
            counts = dict(
                connection.execute(
                    "SELECT id, chunk_count FROM content WHERE id IN (SELECT value FROM json_each(?))", (ids,)
                ).fetchall()
            )
        with self.lock:
            paths = self.table.sorted_paths()
        for content_id, one in candidates:
            one.chunks = counts.get(content_id, 0)
            one.former = _has_later_version(one.path, paths)

    def _chunks_of(
        self,
        question: Question,
        best: list[tuple[float, int, Evidence]],
        rarity: dict[str, float],
        limit: int,
        meaning: Meaning | None,
    ) -> tuple[list[ChunkHit], dict[bytes, list[ChunkHit]]]:
        """The best chunk of each file, in the order of the files, and the next best chunks of each file.

        If there are fewer files than `limit`, the first list goes on with the best of the other chunks.
        """
        looked_for = " OR ".join(map(_quoted, question.words[:_WORDS_MAX]))
        rows: dict[int, list[tuple[int, int, int]]] = {}
        by_words: dict[int, float] = {}
        definitions: dict[int, bytes] = {}
        hashes: dict[int, bytes] = {}
        with self.database.reader() as connection:
            for _, content_id, evidence in best:
                rows[content_id] = connection.execute(
                    "SELECT id, start_line, end_line FROM chunk WHERE content_id = ? ORDER BY id", (content_id,)
                ).fetchall()
                row = connection.execute(
                    "SELECT hash, definitions FROM content LEFT JOIN symbol ON content_id = id WHERE id = ?",
                    (content_id,),
                ).fetchone()
                if row is None or not rows[content_id]:
                    continue
                hashes[content_id] = row[0]
                definitions[content_id] = row[1] if row[1] and is_readable(row[1]) else b""
                by_words.update(
                    evidence.bm25
                    or connection.execute(
                        f"""SELECT rowid, -bm25(chunk_text, {_NAMES_WEIGHT}, 1.0) FROM chunk_text
                            WHERE chunk_text MATCH ? AND rowid BETWEEN ? AND ?""",
                        (looked_for, rows[content_id][0][0], rows[content_id][-1][0]),
                    ).fetchall()
                )
        cosines: dict[int, float] = {}
        if meaning is not None:
            cosines = meaning.of_chunks([id_ for chunks in rows.values() for id_, _, _ in chunks])
        most_words = max(by_words.values(), default=0.0) or 1.0
        most_near = max(cosines.values(), default=0.0) or 1.0
        firsts: list[ChunkHit] = []
        others: list[tuple[float, ChunkHit]] = []
        more: dict[bytes, list[ChunkHit]] = {}
        for rank, content_id, evidence in best:
            if content_id not in hashes:
                continue
            names = _names_of_chunks(definitions[content_id], rows[content_id])
            weighed = []
            for id_, start_line, end_line in rows[content_id]:
                weight = by_words.get(id_, 0.0) / most_words + max(0.0, cosines.get(id_, 0.0)) / most_near
                weight += _defined_worth(question, names.get(id_, []), rarity)
                hit = ChunkHit(
                    evidence.path,
                    hashes[content_id],
                    start_line,
                    end_line,
                    rank,
                    cosines.get(id_),
                    evidence.defines,
                )
                weighed.append((weight, hit))
            weighed.sort(key=lambda one: -one[0])
            firsts.append(weighed[0][1])
            others += weighed[1:]
            more[evidence.path] = [hit for weight, hit in weighed[1 : _MORE_MAX + 1] if weight > 0]
        others.sort(key=lambda one: -one[0])
        return (firsts + [hit for weight, hit in others if weight > 0])[:limit], more


class _Asked:
    """The candidates of a question, by content. Among files with the same bytes, the first path counts."""

    def __init__(self, search: SemanticSearch, scope: Scope, takes: Callable[[bytes], bool] | None) -> None:
        self.scope = scope
        self.by_content: dict[int, Evidence] = {}
        self._search = search
        self._takes = takes
        self._paths: dict[int, bytes | None] = {}
        self.contents: frozenset[int] | None = self._narrow()
        """Contents of a narrow scope. None for a wide one: then each candidate is checked on its own."""

    def _narrow(self) -> frozenset[int] | None:
        if self.scope == Scope() and self._takes is None:
            return None
        with self._search.lock:
            paths = self.scope.among(self._search.table.sorted_paths())
            if len(paths) > _NARROW_FILES:
                return None
            files = map(self._search.table.files.__getitem__, filter(self._takes or bool, paths))
            return frozenset(file.content.id for file in files if file.content is not None)

    def inside(
        self, fetch: Callable[[int], list[_Candidate]], content_of: Callable[[_Candidate], int]
    ) -> list[_Candidate]:
        """The best candidates that files of the scope hold now. `fetch` gets a number and returns up to so many.

        If too few remain, more are fetched: a file edited for an hour leaves hundreds of similar contents behind.
        """
        count = CANDIDATE_CHUNKS
        while True:
            found = fetch(count)
            held = [one for one in found if self.path(content_of(one)) is not None]
            if len(held) >= CANDIDATE_CHUNKS or len(found) < count or count >= _FETCHED_MAX:
                return held[:CANDIDATE_CHUNKS]
            count *= _MORE_EACH_TIME

    def evidence(self, content_id: int) -> Evidence | None:
        """The evidence for a content; None if no file of the scope holds it."""
        known = self.by_content.get(content_id)
        if known is None and (path := self.path(content_id)) is not None:
            known = self.by_content[content_id] = Evidence(path)
        return known

    def path(self, content_id: int) -> bytes | None:
        """The first file of the scope that holds a content."""
        if content_id not in self._paths:
            with self._search.lock:
                content = self._search.table.contents.get(content_id)
                paths = [] if content is None else [file.path for file in content.files]
            inside = (
                path for path in paths if self.scope.contains(path) and (self._takes is None or self._takes(path))
            )
            self._paths[content_id] = min(inside, default=None)
        return self._paths[content_id]

    def evidence_of(self, path: bytes) -> Evidence | None:
        with self._search.lock:
            file = self._search.table.files.get(path)
            content = None if file is None else file.content
        return None if content is None else self.evidence(content.id)


def _telling(words: Iterable[str], counts: dict[str, int]) -> list[str]:
    """The words to search for: the rarest, as many as can be read in time."""
    chosen = []
    postings = 0
    for word in sorted(words, key=lambda one: counts[one]):
        postings += counts[word]
        if counts[word] and (not chosen or postings <= _POSTINGS_MAX):
            chosen.append(word)
    return chosen[:_WORDS_MAX]


def _names_of_chunks(definitions: bytes, rows: list[tuple[int, int, int]]) -> dict[int, list[tuple[str, str]]]:
    """The names that each chunk defines, and their kinds, by its id."""
    found: dict[int, list[tuple[str, str]]] = {}
    places = iter(sorted(definition_places(definitions)))
    place = next(places, None)
    for id_, _, end_line in rows:
        while place is not None and place[0] <= end_line:
            found.setdefault(id_, []).append(place[1:])
            place = next(places, None)
    return found


def _defined_worth(question: Question, defined: list[tuple[str, str]], rarity: dict[str, float]) -> float:
    """Worth of the definitions in a chunk. A class is worth more than its constructor, which may share its name."""
    meant = max((_worth_of(kind) for name, kind in defined if name in question.names), default=0.0)
    return meant + names_worth(question, [name for name, _ in defined], rarity)


def _worth_of(kind: str | None) -> float:
    return _KIND_WORTH.get(kind or "", _OTHER_WORTH)


def _has_later_version(path: bytes, paths: list[bytes]) -> bool:
    """True if a folder such as `v2` in the path has a later one such as `v3` beside it."""
    for match in VERSION_FOLDER.finditer(path):
        number = int(match[1])
        for later in range(number + 1, number + 1 + _VERSIONS_AFTER):
            beside = b"%bv%d/" % (path[: match.start(1) - 1], later)
            at = bisect.bisect_left(paths, beside)
            if at < len(paths) and paths[at].startswith(beside):
                return True
    return False


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'
