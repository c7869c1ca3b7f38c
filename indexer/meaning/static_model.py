"""The built-in embedding model: a table of word vectors, summed over the words of a text. It needs only numpy: no
network, no transformer.

Invariant: a vector depends only on the words of a text and on the weights, so it can be stored with a content and the
model's `identity`.

The vector of a text is the sum, over its distinct words, of (1 + ln count) times the word's row, scaled to length 1.
This is a bag of words with damped counts; the rows also carry weights for how telling a word is (Arora, Liang, Ma: "A
simple but tough-to-beat baseline for sentence embeddings", 2017). A word is a lower-cased part of an identifier
(words.py). An unknown word is split into the longest known pieces. training/ makes the weights and names their sources.

The weights are a .npz of three arrays without pickles:

    words   uint8 (bytes,)             the words in UTF-8, separated by newlines; the most frequent first
    rows    int8 (words, dimension)    a row times its scale is the word's vector
    scales  float16 (words,)
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from ctxd.indexer.words import parts, tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAME = "ctxd-static"
WEIGHTS_PATH = os.path.join(os.path.dirname(__file__), "model", "static.npz")

_PIECE_CHARACTERS_MIN = 3
_PIECES_MAX = 4  # a longer word is rarely made of words
_PIECED_CHARACTERS_MAX = 60  # hashes and encoded data have no pieces worth finding
_MEMO_MAX = 100_000  # tokens, about 15 MB: most tokens of a project occur many times


class Vocabulary:
    """The words that a model knows, with their rows. Any thread may ask: the memo only grows, and a token always gets
    the same rows.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._ids = {word: at for at, word in enumerate(words)}
        self._memo: dict[str, tuple[int, ...]] = {}

    def counts(self, bag: Mapping[str, int]) -> dict[int, int]:
        """Turn the counts of tokens into counts of known words, or of known pieces of unknown words, by row."""
        counts: dict[int, int] = {}
        memo = self._memo
        for token, count in bag.items():
            ids = memo.get(token)
            if ids is None:
                ids = self._ids_of(token)
                if len(memo) < _MEMO_MAX:
                    memo[token] = ids
            for one in ids:
                counts[one] = counts.get(one, 0) + count
        return counts

    def _ids_of(self, token: str) -> tuple[int, ...]:
        found: list[int] = []
        for word in parts(token):
            known = self._ids.get(word)
            if known is not None:
                found.append(known)
            else:
                found += self._pieces(word)
        return tuple(found)

    def _pieces(self, word: str) -> list[int]:
        """The longest known beginning of an unknown word, then of its rest. Skips a letter that begins no piece."""
        pieces: list[int] = []
        rest = word[:_PIECED_CHARACTERS_MAX]
        while len(rest) >= _PIECE_CHARACTERS_MIN and len(pieces) < _PIECES_MAX:
            for end in range(len(rest), _PIECE_CHARACTERS_MIN - 1, -1):
                known = self._ids.get(rest[:end])
                if known is not None:
                    pieces.append(known)
                    rest = rest[end:]
                    break
            else:
                rest = rest[1:]
        return pieces


class StaticModel:
    """Loaded weights: 4 MB, and 3 MB for the words. Any thread may encode."""

    def __init__(self, path: str = WEIGHTS_PATH) -> None:
        """Raises OSError if the file cannot be read, ValueError or KeyError if it holds no weights."""
        with np.load(path, allow_pickle=False) as arrays:
            spelled, rows, scales = arrays["words"].tobytes(), arrays["rows"], arrays["scales"]
        words = spelled.decode("utf-8").split("\n")
        if rows.dtype != np.int8 or rows.ndim != 2 or not len(words) == len(rows) == len(scales):
            raise ValueError(f"{path}: words, rows and scales do not fit together")
        self.vocabulary = Vocabulary(words)
        self.dimension: int = rows.shape[1]
        content = hashlib.sha256(b"\0".join((spelled, rows.tobytes(), scales.tobytes()))).hexdigest()
        self.identity: str = f"{NAME}-{self.dimension}-{content[:12]}"
        """Name, dimension and hash of the weights: vectors of different identities must not be compared."""
        self._rows: np.ndarray = rows
        self._scales: np.ndarray = scales.astype(np.float32)

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (texts, dimension), rows of length 1. A text without a known word gives a row of zeros."""
        return self.encode_bags([Counter(tokens(text)) for text in texts])

    def encode_bags(self, bags: Sequence[Mapping[str, int]]) -> np.ndarray:
        """As `encode`, for texts that are tokenised already: each bag holds the counts of its tokens (words.tokens)."""
        vectors = np.zeros((len(bags), self.dimension), np.float32)
        for at, bag in enumerate(bags):
            counts = self.vocabulary.counts(bag)
            if counts:
                ids = np.fromiter(counts, np.intp, len(counts))
                weights = damped(np.fromiter(counts.values(), np.float32, len(counts))) * self._scales[ids]
                vectors[at] = weights @ self._rows[ids].astype(np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, lengths, out=vectors, where=lengths > 0)


def damped(counts: np.ndarray) -> np.ndarray:
    """The weights of words by their counts in a text, float32 (words,): a word said ten times counts for 3.3."""
    return 1 + np.log(counts)
