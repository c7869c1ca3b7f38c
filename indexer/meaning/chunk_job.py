"""Jobs for workers: chunks of a file with words and built-in vectors; vectors by another model; a question's vector.

Invariant: a result depends only on the bytes of the file, its definitions and the model, never on the file's path.
"""

from __future__ import annotations

import bisect
import os
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from ctxd.indexer.meaning.chunker import Chunk
    from ctxd.indexer.symbols.outline import Definition

_CHUNK_BYTES_READ = 64_000  # of each chunk: a line of megabytes is data
_CHUNKS_AT_ONCE = 16  # a small transformer takes half a second for them on one core


@dataclass(frozen=True, slots=True)
class ChunkJob:
    path: bytes
    """Absolute."""
    content_hash: bytes
    """Hash of the bytes to cut. If the file holds other bytes, it is not cut."""
    definitions: bytes
    """Packed (indexer/symbols/outline.py); empty if there are none."""
    with_vectors: bool = True
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
    """"chunked"; "changed" (other bytes, or no longer a regular file); or "failed"."""
    reason: str = ""
    chunks: list[Chunk] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    """For each chunk the kind of the definition that takes most of its lines; "" if it has none."""
    names: list[str] = field(default_factory=list)
    """For each chunk the words of the names it defines."""
    words: list[str] = field(default_factory=list)
    """For each chunk all its words, each as often as it occurs."""
    dimension: int = 0
    """Dimension of the vectors; 0 if there are none."""
    vectors: list[bytes] = field(default_factory=list)
    """For each chunk its quantised vector, by the built-in model."""


@dataclass(frozen=True, slots=True)
class EmbedJob:
    """Vectors of a file's chunks by another model. Of a long file only the first, so that no question waits for it."""

    path: bytes
    content_hash: bytes
    chunks: list[tuple[int, int, int]]
    """Id, first and last line of each chunk."""
    model: str
    cache: str
    """Folder of fastembed's models."""
    deadline_seconds: float = 300.0
    slice_seconds: float = 2.0
    """After this time the job ends with the vectors it has, always some."""
    tries: ClassVar[int] = 2

    def run(self, seconds: float) -> Embedded:
        del seconds
        return embed_file(self)

    def failed(self, reason: str) -> Embedded:
        return Embedded("failed", reason)


@dataclass(frozen=True, slots=True)
class Embedded:
    outcome: str
    """"embedded"; "changed"; "no_model" (the model is not available now); or "failed" (for this file and model)."""
    reason: str = ""
    dimension: int = 0
    vectors: list[tuple[int, bytes]] = field(default_factory=list)
    """Chunk id and quantised vector."""


@dataclass(frozen=True, slots=True)
class EncodeJob:
    """A question's vector."""

    model: str
    cache: str
    text: str
    deadline_seconds: float = 8.0
    tries: ClassVar[int] = 1

    def run(self, seconds: float) -> Any:
        """The vector (float32), or a text that says why there is none."""
        del seconds
        from ctxd.indexer.meaning import embedding

        try:
            return embedding.question_vector(embedding.load(self.model, self.cache), self.text)
        except embedding.ModelError as error:
            return str(error)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    def failed(self, reason: str) -> Any:
        return reason


def chunk_file(job: ChunkJob) -> Chunked:
    from ctxd.indexer.decode import Unreadable, text_of_content
    from ctxd.indexer.meaning import embedding
    from ctxd.indexer.meaning.chunker import chunks
    from ctxd.indexer.symbols.outline import unpack_definitions
    from ctxd.indexer.words import tokens

    try:
        text = text_of_content(job.path, job.content_hash)
    except (OSError, Unreadable) as error:
        return Chunked("changed", str(error))
    if text is None:
        return Chunked("chunked")
    try:
        definitions = unpack_definitions(job.definitions)
        pieces = chunks(text, definitions)
        shown = (text[one.start : min(one.end, one.start + _CHUNK_BYTES_READ)] for one in pieces)
        counted = [Counter(tokens(one.decode("utf-8", "replace"))) for one in shown]
        names, words = _names(pieces, definitions), [_spelled(one) for one in counted]
        result = Chunked("chunked", "", pieces, _kinds(pieces, definitions), names, words)
        if not job.with_vectors:
            return result
        model = embedding.built_in()
        vectors = embedding.quantised(model.encode_bags(counted)) if pieces else []
        return replace(result, dimension=model.dimension, vectors=vectors)
    except MemoryError:
        return Chunked("failed", "out of memory")
    except Exception as error:
        return Chunked("failed", f"{type(error).__name__}: {error} ({os.fsdecode(job.path)})")


def embed_file(job: EmbedJob) -> Embedded:
    from ctxd.indexer.decode import Unreadable, text_of_content
    from ctxd.indexer.meaning import embedding

    try:
        model = embedding.load(job.model, job.cache)
        text = text_of_content(job.path, job.content_hash)
        if text is None:
            return Embedded("changed", "binary")
        lines = text.split(b"\n")
        vectors: list[tuple[int, bytes]] = []
        until = time.monotonic() + job.slice_seconds
        for at in range(0, len(job.chunks), _CHUNKS_AT_ONCE):
            if vectors and time.monotonic() > until:
                break
            some = job.chunks[at : at + _CHUNKS_AT_ONCE]
            texts = [
                b"\n".join(lines[first - 1 : last])[:_CHUNK_BYTES_READ].decode("utf-8", "replace")
                for _, first, last in some
            ]
            rows = embedding.quantised(model.encode(texts))
            vectors += zip((id_ for id_, _, _ in some), rows, strict=True)
        return Embedded("embedded", "", model.dimension, vectors)
    except (OSError, Unreadable) as error:
        return Embedded("changed", str(error))
    except embedding.ModelError as error:
        return Embedded("no_model", str(error))
    except MemoryError:
        return Embedded("failed", "out of memory")
    except Exception as error:
        return Embedded("failed", f"{type(error).__name__}: {error} ({os.fsdecode(job.path)})")


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
    """The kind of each chunk. If several definitions take equally many lines, the innermost counts.

    Definitions come in the order of their start, parents first.
    """
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
