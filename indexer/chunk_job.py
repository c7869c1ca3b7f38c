"""A job for a worker: a file's chunks, their words and their vectors.

Invariant: what it gives depends on the bytes of the file, its definitions and the model alone, never on the file's path.
"""

from __future__ import annotations

import bisect
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ctxd.indexer.chunker import Chunk
    from ctxd.indexer.outline import Definition

_CHUNK_BYTES_READ = 64_000  # of one chunk: a line of megabytes is data


@dataclass(frozen=True, slots=True)
class ChunkJob:
    path: bytes
    """Absolute."""
    content_hash: bytes
    """Of the bytes that are meant; other bytes are not cut."""
    definitions: bytes
    """Packed (indexer/outline.py); empty where there are none."""
    model: str
    """embedding.NONE: no vectors."""
    with_words: bool = True
    """False where chunks and words are known, and only the vectors of another model are wanted."""
    deadline_seconds: float = 10.0
    tries: ClassVar[int] = 2

    def run(self, seconds: float) -> Chunked:
        del seconds  # the worker's alarm is enough: this takes linear time
        return chunk_file(self)

    def failed(self, reason: str) -> Chunked:
        return Chunked("failed", reason)


@dataclass(frozen=True, slots=True)
class Chunked:
    outcome: str
    """"chunked"; "changed" (other bytes, or no regular file any more); or "failed"."""
    reason: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """For each chunk the kind of the definition that takes most of it; "" where none does."""
    names: list[str] = field(default_factory=list)
    """For each chunk the words of the names it defines."""
    words: list[str] = field(default_factory=list)
    """For each chunk all its words, each as often as it occurs."""
    model: str = ""
    """Which gave the vectors: the one that ships with ctxd where, for a `reason`, the wanted one did not."""
    dimension: int = 0
    """Of the vectors; 0 where there are none."""
    vectors: list[bytes] = field(default_factory=list)
    """For each chunk, quantised."""


@dataclass(frozen=True, slots=True)
class EncodeJob:
    """A question's vector."""

    model: str
    text: str
    deadline_seconds: float = 8.0
    tries: ClassVar[int] = 1

    def run(self, seconds: float) -> Any:
        """float32, or why there is none."""
        del seconds
        from ctxd.indexer import embedding

        try:
            return embedding.load(self.model).encode([self.text])[0]
        except embedding.ModelError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def failed(self, reason: str) -> Any:
        return reason


def chunk_file(job: ChunkJob) -> Chunked:
    from ctxd.indexer import embedding
    from ctxd.indexer.chunker import chunks
    from ctxd.indexer.decode import Unreadable, content_hash, decode, read_regular
    from ctxd.indexer.outline import unpack_definitions
    from ctxd.indexer.words import tokens

    try:
        data, _ = read_regular(job.path)
    except (OSError, Unreadable) as error:
        return Chunked("changed", str(error))
    if content_hash(data) != job.content_hash:
        return Chunked("changed", "other bytes")
    text = decode(data)[1]
    if text is None:
        return Chunked("chunked")
    try:
        definitions = unpack_definitions(job.definitions)
        pieces = chunks(text, definitions)
        shown = [
            text[one.start : min(one.end, one.start + _CHUNK_BYTES_READ)].decode("utf-8", "replace") for one in pieces
        ]
        counted = [Counter(tokens(one)) for one in shown]
        words = [_spelled(one) for one in counted] if job.with_words else []
        names = _names(pieces, definitions) if job.with_words else []
        result = Chunked("chunked", "", pieces, _kinds(pieces, definitions), names, words)
        if job.model == embedding.NONE:
            return result
        used, reason = job.model, ""
        try:
            model = embedding.load(used)
            vectors = embedding.quantised(_encoded(model, shown, counted)) if pieces else []
        except embedding.ModelError as error:
            if used == embedding.BUILT_IN:
                return replace(result, reason=str(error))
            used, reason, model = embedding.BUILT_IN, str(error), embedding.load(embedding.BUILT_IN)
            vectors = embedding.quantised(_encoded(model, shown, counted)) if pieces else []
        return replace(result, reason=reason, model=used, dimension=model.dimension, vectors=vectors)
    except MemoryError:
        return Chunked("failed", "out of memory")
    except Exception as error:
        return Chunked("failed", f"{type(error).__name__}: {error} ({os.fsdecode(job.path)})")


def _encoded(model: Any, texts: list[str], counted: list[Counter[str]]) -> Any:
    """By their tokens, where order does not matter to the model: they need not be split again."""
    return model.encode_bags(counted) if hasattr(model, "encode_bags") else model.encode(texts)


def _spelled(counted: Counter[str]) -> str:
    from ctxd.indexer.words import words

    return " ".join(" ".join([word] * count) for token, count in counted.items() for word in words(token))


def _names(pieces: list[Chunk], definitions: list[Definition]) -> list[str]:
    from ctxd.indexer.words import tokens, words

    firsts = [one.start_line for one in pieces]
    found: list[list[str]] = [[] for _ in pieces]
    for one in definitions:
        at = bisect.bisect_right(firsts, one.line) - 1
        if at >= 0:
            found[at] += [word for token in tokens(one.name) for word in words(token)]
    return [" ".join(one) for one in found]


def _kinds(pieces: list[Chunk], definitions: list[Definition]) -> list[str]:
    """Of definitions that take as many of its lines, the innermost; they come in the order of their start, parents first."""
    firsts = [one.start_line for one in pieces]
    most = [(0, "")] * len(pieces)
    for one in definitions:
        at = max(0, bisect.bisect_right(firsts, one.start_line) - 1)
        while at < len(pieces) and pieces[at].start_line <= one.end_line:
            piece = pieces[at]
            shared = min(piece.end_line, one.end_line) - max(piece.start_line, one.start_line) + 1
            if shared > 0 and shared >= most[at][0]:
                most[at] = (shared, one.kind)
            at += 1
    return [kind for _, kind in most]
