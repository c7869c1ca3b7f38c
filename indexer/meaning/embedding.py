"""Embedding models: the one that ships with ctxd, and those that the settings name.

A model is named by a *specification*:

    builtin             the model that ships with ctxd; it embeds every chunk, also if another model is set
    none                no vectors at all
    ORGANISATION/NAME   a model that fastembed knows, from the cache; only `ctxd model pull` fetches it, never indexing
    path:FOLDER         one's own ONNX model with its tokenizer
    openai:NAME         a model behind an OpenAI-compatible endpoint, which the environment names

Invariant: no other module maps specifications to models. numpy is imported only when a model is used, and models other
than the built-in one are loaded only in workers.
"""

from __future__ import annotations

import functools
import hashlib
import os
import time
from typing import TYPE_CHECKING, Any, Protocol

from ctxd.indexer.meaning.model_error import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxd.indexer.meaning.static_model import StaticModel

BUILT_IN = "builtin"
NONE = "none"
PATH = "path:"
OPENAI = "openai:"
FAILURE_SECONDS = 5.0
"""Wait before a failed model is loaded again: otherwise each file and question would wait for the same failure."""

_WEIGHTS = os.path.join(os.path.dirname(__file__), "model", "static.npz")
_failures: dict[tuple[str, str], tuple[float, str]] = {}


class EmbeddingModel(Protocol):
    @property
    def dimension(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> Any:
        """Vectors of texts: float32 of shape (texts, dimension). Rows have length 1, or 0 for a text without content.

        Raises ModelError.
        """
        ...


def question_vector(model: EmbeddingModel, text: str) -> Any:
    """The vector of a question: float32 of shape (dimension,). Raises ModelError.

    A model that encodes questions differently from texts has `encode_question`.
    """
    ask = getattr(model, "encode_question", None)
    return ask(text) if ask is not None else model.encode([text])[0]


def is_other(specification: str) -> bool:
    """True if it names a model that embeds beside the built-in one."""
    return specification not in {BUILT_IN, NONE}


@functools.cache
def identity_of(specification: str) -> str:
    """The identity of a model, without loading it; "" for none. Raises ModelError."""
    if specification == NONE:
        return ""
    if specification == BUILT_IN:
        with open(_WEIGHTS, "rb") as file:
            return f"{BUILT_IN}-{hashlib.file_digest(file, 'sha256').hexdigest()[:16]}"
    if specification.startswith(PATH):
        from ctxd.indexer.meaning.onnx_model import fingerprint

        return f"path-{fingerprint(specification.removeprefix(PATH))}"
    if specification.startswith(OPENAI):
        from ctxd.indexer.meaning.endpoint_model import endpoint_fingerprint

        return f"{specification}-{endpoint_fingerprint()}"
    return f"fastembed-{specification.lower()}"


def load(specification: str, cache: str = "") -> EmbeddingModel:
    """The model of a specification, loaded once per process. `cache` holds fastembed's models. Raises ModelError."""
    key = (specification, cache)
    until, why = _failures.get(key, (0.0, ""))
    if time.monotonic() < until:
        raise ModelError(why)
    try:
        return _load(specification, cache)
    except ModelError as error:
        _failures[key] = (time.monotonic() + FAILURE_SECONDS, str(error))
        raise


@functools.cache
def built_in() -> StaticModel:
    """The model that ships with ctxd, loaded once per process."""
    from ctxd.indexer.meaning.static_model import StaticModel

    return StaticModel(_WEIGHTS)


@functools.lru_cache(maxsize=2)
def _load(specification: str, cache: str) -> EmbeddingModel:
    if specification == BUILT_IN:
        return built_in()
    if specification.startswith(OPENAI):
        from ctxd.indexer.meaning.endpoint_model import EndpointModel

        return EndpointModel(specification.removeprefix(OPENAI))
    from ctxd.indexer.meaning.onnx_model import OnnxModel, local_model

    if specification.startswith(PATH):
        return local_model(specification.removeprefix(PATH))
    return OnnxModel(specification, cache)


def quantised(vectors: Any) -> list[bytes]:
    """Rows of float32 as bytes, one signed byte a dimension. This keeps their direction to one part in a hundred."""
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
