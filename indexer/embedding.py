"""Embedding models: the one that ships with ctxd, and whoever else's the settings name.

A model is named by a *specification*: "builtin", or "none" for no vectors at all. Invariant: this is the only module that knows
which model is which; numpy is imported by whoever uses a model, not before.
"""

from __future__ import annotations

import functools
import hashlib
import os
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

BUILT_IN = "builtin"
NONE = "none"
_WEIGHTS = os.path.join(os.path.dirname(__file__), "model", "static.npz")
_BUILT_IN_SECONDS = 10.0
_OTHER_SECONDS = 300.0


class ModelError(Exception):
    """A model that cannot be had or used as it is; the message says why and what mends it."""


class EmbeddingModel(Protocol):
    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Any:
        """Vectors of texts: float32 of shape (texts, dimension), rows of length 1, or 0 where a text says nothing. Raises ModelError."""
        ...


class BagModel(EmbeddingModel, Protocol):
    """A model that looks at the words of a text, not at their order: what was split for the index need not be split again."""

    def encode_bags(self, bags: Sequence[Mapping[str, int]]) -> Any:
        """As `encode`, from how often each token (words.tokens) stands in a text."""
        ...


def deadline_seconds(specification: str) -> float:
    """For the chunks of one file: a transformer takes 36 a second, the built-in model 5,000 and more."""
    return _BUILT_IN_SECONDS if specification in {BUILT_IN, NONE} else _OTHER_SECONDS


def identity_of(specification: str) -> str:
    """The identity of a model, without loading it. Raises ModelError."""
    if specification == BUILT_IN:
        with open(_WEIGHTS, "rb") as file:
            return f"{BUILT_IN}-{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    raise ModelError(f"there is no model {specification!r}; `ctxd model list` lists them")


@functools.lru_cache(maxsize=2)
def load(specification: str) -> EmbeddingModel:
    """The model of a specification, loaded once a process. Raises ModelError."""
    if specification == BUILT_IN:
        from ctxd.indexer.static_model import StaticModel

        return StaticModel(_WEIGHTS)
    raise ModelError(f"there is no model {specification!r}; `ctxd model list` lists them")


def quantised(vectors: Any) -> list[bytes]:
    """Rows of float32 as bytes, one signed byte a dimension: their direction is kept to one part in a hundred."""
    import numpy as np

    largest = np.abs(vectors).max(axis=1, keepdims=True)
    largest[largest == 0] = 1
    rows = np.rint(vectors * (127 / largest)).astype(np.int8)
    return [row.tobytes() for row in rows]


def normalised(vectors: Sequence[bytes]) -> Any:
    """Quantised vectors as float32 rows of length 1."""
    import numpy as np

    rows = np.frombuffer(b"".join(vectors), np.int8).reshape(len(vectors), -1).astype(np.float32)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


def stacked(vectors: Sequence[Any]) -> Any:
    """Vectors as rows."""
    import numpy as np

    return np.stack(vectors)
