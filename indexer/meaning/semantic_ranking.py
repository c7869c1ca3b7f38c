"""Ranks files for a question: computes the features of each file and weighs them.

A question that is one identifier ("Router", "Client.get") has other weights than a sentence. training/fit_ranker.py
fits the weights, with and without a model; they are data (ranking.json). A feature that changes no answer has no weight
there. Invariant: a feature lies between 0 and 1.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import re
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING

from ctxd.indexer.languages import PROSE, language_of
from ctxd.indexer.words import parts, tokens, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_STOP_WORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "between",
        "across",
        "by",
        "can",
        "do",
        "does",
        "each",
        "for",
        "from",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "me",
        "my",
        "of",
        "on",
        "or",
        "our",
        "per",
        "show",
        "find",
        "that",
        "the",
        "their",
        "this",
        "to",
        "use",
        "used",
        "uses",
        "using",
        "via",
        "vs",
        "want",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "with",
        "you",
        "your",
    ]
)
_IDENTIFIER = re.compile(r"[^\W\d]\w*(?:(?:::|\.|->|\\|#)[^\W\d]\w*[?!]?)*")
_SEPARATOR = re.compile(r"::|\.|->|\\|#")
_CASE_INSIDE = re.compile(r"[a-z][A-Z]|\w_\w|[A-Z]{2,}[a-z]")

_TEST = re.compile(
    rb"(^|/)(tests?|__tests__|specs?|testing|testdata|fixtures?|mocks?)/"
    rb"|(^|/)(test_[^/]*|[^/]*[._-](test|spec)|[^/]*(Test|Tests|Spec|Suite))\.[a-z]+$|(^|/)conftest\.py$"
)
_EXAMPLE = re.compile(rb"(^|/)(_?examples?|samples?|docs?|docs?_src|demos?|benchmarks?|benches)/")
_FORMER = re.compile(rb"(^|/)_?(compat|legacy|deprecated)(/|\.[a-z]+$)")
_ENTRANCE = re.compile(
    rb"(^|/)(__init__\.pyi?|__main__\.py|package-info\.java|mod\.rs|lib\.rs|index\.[cm]?[jt]sx?|_?version\.\w+)$"
)
_NAMED_BY_FOLDER = frozenset({"mod", "index", "init", "__init__", "main", "lib"})
VERSION_FOLDER = re.compile(rb"(?:^|/)v(\d{1,3})(?=/)")

FEATURES = (
    "words",  # BM25 of the file's best chunks, divided by that of the best file
    "compounds",  # the file joins neighbouring words of the question in one identifier
    "stem_covered",  # share of the file's name that the question covers
    "path",  # share of the question that the path covers (by rarity), times the root of the share covered of the path
    "defines",  # the file defines what the question names
    "size",
    "folders",  # depth: a deeper file is more special, and less likely the answer
    "is_test",
    "is_example",
    "is_entrance",  # __init__.py, index.ts: they name everything and do nothing
    "is_former",  # a compatibility file, or a lower version beside a higher one
    "near",  # cosine of its best chunk, divided by that of the best file
)
_PROSE_WEIGHT = -1.5  # not fitted: the benchmark asks for code. An explanation comes after the code it explains
_SIZE_CHUNKS = 64  # a file with this many chunks or more has the full size
_FOLDERS_MAX = 16  # from here on depth counts full. With 8 the fit weighs depth twice as much and ranks no better
_COMPOUNDS_ENOUGH = 2  # more compounds than this in a file say no more
_COMPOUNDS_MAX = 32  # compounds of a question that are looked for


@dataclass(frozen=True)
class Question:
    text: str
    words: tuple[str, ...] = field(init=False)
    """Words to look for in chunks: its words and their parts, without stop words."""
    parts: tuple[str, ...] = field(init=False)
    """Parts of words to look for in names."""
    compounds: tuple[tuple[str, str], ...] = field(init=False)
    """Pairs of neighbouring words as code may join them: `connectionpool` (ConnectionPool) and `connection_pool`."""
    names: tuple[str, ...] = field(init=False)
    """Unqualified identifiers in it that code may define."""
    is_name: bool = field(init=False)
    """True if it is one identifier and nothing else."""
    _alike: dict[str, list[tuple[str, float]]] = field(init=False, repr=False, compare=False)
    """For each word seen so far the parts that it is like."""

    def __post_init__(self) -> None:
        text = self.text.strip()
        in_order = tokens(text)
        all_words = list(dict.fromkeys(word for token in in_order for word in words(token)))
        telling = [word for word in all_words if word not in _STOP_WORDS] or all_words
        split = list(dict.fromkeys(part for word in telling for part in parts(word) or [word]))
        put = object.__setattr__
        put(self, "words", tuple(telling))
        put(self, "parts", tuple([part for part in split if part not in _STOP_WORDS] or split))
        put(self, "is_name", _IDENTIFIER.fullmatch(text) is not None)
        pairs = itertools.pairwise(part for token in in_order for part in parts(token))
        told = dict.fromkeys(pair for pair in pairs if not _STOP_WORDS.issuperset(pair))
        put(self, "compounds", tuple((a + b, f"{a}_{b}") for a, b in itertools.islice(told, _COMPOUNDS_MAX)))
        put(self, "names", tuple(self._names(text)))
        put(self, "_alike", {})

    def parts_like(self, word: str) -> list[tuple[str, float]]:
        """The parts that a word is like, and their likeness (see `alike`)."""
        known = self._alike.get(word)
        if known is None:
            known = self._alike[word] = [(part, likeness) for part in self.parts if (likeness := alike(part, word))]
        return known

    def told_by(self, words: Sequence[str], rarity: Mapping[str, float]) -> tuple[float, float]:
        """Share of the question that some words cover, by the rarity of its parts; and share of the words it covers."""
        best: dict[str, float] = {}
        covered = 0.0
        known = self._alike
        for word in words:
            like = known[word] if word in known else self.parts_like(word)
            if like:  # few of the thousands of names that are compared with a question
                most = 0.0
                for part, likeness in like:
                    best[part] = max(best.get(part, 0.0), likeness)
                    most = max(most, likeness)
                covered += most
        if not best:
            return 0.0, 0.0
        return sum(rarity.get(part, 0.0) * likeness for part, likeness in best.items()), covered / len(words)

    def _names(self, text: str) -> list[str]:
        found = []
        for match in _IDENTIFIER.finditer(text):
            *owners, last = _SEPARATOR.split(match[0])
            if (
                self.is_name
                or owners
                or _CASE_INSIDE.search(last)
                or (match.start() and last[0].isupper() and len(last) > 2)
            ):
                found.append(last)
        return list(dict.fromkeys(found))


@dataclass(slots=True)
class Evidence:
    """The evidence for one file."""

    path: bytes
    chunks: int = 0
    bm25: dict[int, float] = field(default_factory=dict)
    """BM25 of the chunks that match the question's words best, by chunk id."""
    cosines: list[float] = field(default_factory=list)
    compounds: int = 0
    """How many compounds of the question it holds."""
    defines: float = 0.0
    former: bool = False


_SUMMED = 5  # best chunks of a file that count for it


def scores(
    question: Question, evidence: Sequence[Evidence], rarity: Mapping[str, float], *, with_vectors: bool
) -> list[float]:
    """A score for each file. `rarity` is the weight of each part of the question; the weights sum to 1 at most."""
    weights = _weights()["with_vectors" if with_vectors else "without_vectors"][
        "name" if question.is_name else "sentence"
    ]
    rows = features(question, evidence, rarity)
    return [
        sum(weight * row[name] for name, weight in weights.items())
        + (_PROSE_WEIGHT if (language := language_of(one.path)) is not None and language.name in PROSE else 0.0)
        for one, row in zip(evidence, rows, strict=True)
    ]


def features(question: Question, evidence: Sequence[Evidence], rarity: Mapping[str, float]) -> list[dict[str, float]]:
    """The FEATURES of each file."""
    summed = [_summed(list(one.bm25.values())) for one in evidence]
    most_words = max(summed, default=0.0) or 1.0
    nearest = [max(one.cosines, default=0.0) for one in evidence]
    floor = min((cosine for one in evidence for cosine in one.cosines), default=0.0)
    most_near = (max(nearest, default=0.0) - floor) or 1.0
    rows = []
    for at, one in enumerate(evidence):
        told, covered = question.told_by(_path_words(one.path), rarity)
        rows.append(
            {
                "words": summed[at] / most_words,
                "compounds": min(1.0, one.compounds / _COMPOUNDS_ENOUGH),
                "stem_covered": stem_match(question, one.path, rarity)[1],
                "path": told * math.sqrt(covered),
                "defines": one.defines,
                "size": min(1.0, math.log1p(one.chunks) / math.log(_SIZE_CHUNKS)),
                "folders": min(1.0, one.path.count(b"/") / _FOLDERS_MAX),
                **_kind_of_file(one.path),
                "is_former": float(one.former or _FORMER.search(one.path) is not None),
                "near": max(0.0, nearest[at] - floor) / most_near,
            }
        )
    return rows


@functools.lru_cache(maxsize=100_000)
def _kind_of_file(path: bytes) -> dict[str, float]:
    return {
        "is_test": float(_TEST.search(path) is not None),
        "is_example": float(_EXAMPLE.search(path) is not None),
        "is_entrance": float(_ENTRANCE.search(path) is not None),
    }


def _summed(found: list[float]) -> float:
    """Sum of the best values: the first counts whole, the second half, the third a third, and so on."""
    return sum(value / rank for rank, value in enumerate(sorted(found, reverse=True)[:_SUMMED], 1))


def stem_match(question: Question, path: bytes, rarity: Mapping[str, float]) -> tuple[float, float]:
    """Share of the question that the file's name covers, and share of the name that the question covers."""
    return question.told_by(_stem(path), rarity)


@functools.lru_cache(maxsize=100_000)
def _stem(path: bytes) -> tuple[str, ...]:
    folders, _, name = path.decode("utf-8", "replace").rpartition("/")
    stem = name.split(".")[0] or name
    if stem in _NAMED_BY_FOLDER or _ENTRANCE.search(path):
        stem = folders.rpartition("/")[2] or stem
    return _parts_of(stem)


@functools.lru_cache(maxsize=100_000)
def _path_words(path: bytes) -> tuple[str, ...]:
    folders, _, name = path.decode("utf-8", "replace").rpartition("/")
    return _parts_of(f"{folders}/{name.rpartition('.')[0] or name}")


def _parts_of(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for token in tokens(text) for part in parts(token)))


def alike(one: str, other: str) -> float:
    """Likeness of two words: 1 if they are equal, less if one begins with the other (`config`, `configuration`) or both
    begin alike (`parser`, `parsing`), else 0.
    """
    if one[:3] != other[:3]:
        return 0.0
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if len(short) >= 3 and long.startswith(short):
        return 0.9 if len(short) >= 4 else 0.7
    same = 0
    for left, right in zip(short, long, strict=False):
        if left != right:
            break
        same += 1
    return 0.8 if same >= 4 and same >= 0.6 * len(long) else 0.0


def coverage(question: Question, path: bytes, text: str, rarity: Mapping[str, float]) -> float:
    """Share of the question that a chunk and its path cover, by the rarity of the words."""
    have = {part for token in set(tokens(path.decode("utf-8", "replace") + " " + text)) for part in _parts(token)}
    return question.told_by(list(have), rarity)[0]


def signs(question: Question, path: bytes, text: str, rarity: Mapping[str, float]) -> tuple[float, float]:
    """Inputs of `calibrated` for a chunk: its coverage with its path, and how well file name and question match."""
    told_by_name, covered = stem_match(question, path, rarity)
    return coverage(question, path, text, rarity), told_by_name * covered


def calibrated(told: float, cosine: float | None, name: float, defines: float) -> float:
    """Confidence that a chunk answers, from 0 to 1: a person would call most chunks with 0.7 relevant.

    `told` is its coverage of the question, `name` how well file name and question match, `defines` how far the file
    defines what the question names. The weights are fitted with the ranking.
    """
    weights = _weights()["calibration"]["without_vectors" if cosine is None else "with_vectors"]
    total = weights["one"] + weights["told"] * told + weights["name"] * name + weights["defines"] * defines
    return 1 / (1 + math.exp(-(total + weights.get("cosine", 0.0) * (cosine or 0.0))))


@functools.lru_cache(maxsize=50_000)  # the files that answer are often the same ones
def _parts(name: str) -> tuple[str, ...]:
    return tuple(parts(name))


def names_worth(question: Question, names: Iterable[str], rarity: dict[str, float]) -> float:
    """Worth of the names that a chunk defines: 1 or more if the question holds one of them, less for similar names."""
    worth = 0.0
    for name in names:
        if name in question.names:
            return 9.0 if question.is_name else 1.0
        told, covered = question.told_by(_parts(name), rarity)
        worth = max(worth, told * math.sqrt(covered))
    return worth / 2


@functools.cache
def _weights() -> dict:
    return json.loads(resources.files("ctxd.indexer.meaning").joinpath("ranking.json").read_bytes())
