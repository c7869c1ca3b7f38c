"""Transformers that run in ONNX Runtime through fastembed: models that it knows by name, and one's own folders.

Invariant: only `pull` fetches files. A model that is not in the cache raises a ModelError that says how to get it.
Memory with MiniLM-L6: 350 MB at most. Batches of 2 chunks take 150 MB more, of 16 450 MB, and neither is faster: one
chunk keeps all cores busy.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import warnings
from typing import TYPE_CHECKING, Any

from ctxd.indexer.meaning.model_error import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

_BATCH = 1
_CONNECT_SECONDS = 10.0
_TEXT_CHARS_MAX = 8_000  # some of these models read 2,000 tokens and more; most cut a text after 512
_MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
_SMALL_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json")
_OWN = "ctxd/own-"  # a name that fastembed does not know


class OnnxModel:
    """A loaded model. One thread encodes at a time."""

    def __init__(self, name: str, cache: str, **options: Any) -> None:
        """`options` are fastembed's. Raises ModelError."""
        fastembed = _fastembed()
        self.name = name
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                # The arena never gives memory back: 1.1 GB after a long text.
                self._model = fastembed.TextEmbedding(
                    name, cache_dir=cache, local_files_only=True, enable_cpu_mem_arena=False, **_ON_CPU, **options
                )
        except Exception as error:
            raise ModelError(_why(name, error, known=name in known_names())) from None
        self.dimension: int = len(self._encoded(self._model.passage_embed, ["x"])[0])

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        return self._encoded(self._model.passage_embed, texts)

    def encode_question(self, text: str) -> Any:
        return self._encoded(self._model.query_embed, [text])[0]

    def _encoded(self, embed: Any, texts: Sequence[str]) -> Any:
        import numpy as np

        cut = [text[:_TEXT_CHARS_MAX].replace("\0", " ") for text in texts]
        try:
            rows = np.array(list(embed(cut, batch_size=_BATCH)), np.float32)
        except Exception as error:
            raise ModelError(f"{self.name} fails: {_first_line(error)}") from None
        if rows.ndim != 2 or not np.isfinite(rows).all():
            raise ModelError(f"{self.name} gives no vectors: an embedding model gives one row of numbers for a text")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)


def local_model(folder: str) -> OnnxModel:
    """The model of a folder with an ONNX file, tokenizer.json and tokenizer_config.json. Raises ModelError.

    Pooling is the mean, unless 1_Pooling/config.json says otherwise.
    """
    folder = os.path.expanduser(folder)
    model_file = _model_file(folder)
    _fastembed()
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    name = _OWN + hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
    pooling = PoolingType.CLS if _pooling(folder).get("pooling_mode_cls_token") else PoolingType.MEAN
    if name not in known_names():
        TextEmbedding.add_custom_model(
            name, pooling, normalization=True, sources=ModelSource(hf="none/none"), dim=1, model_file=model_file
        )
    try:
        return OnnxModel(name, folder, specific_model_path=folder)
    except ModelError as error:
        raise ModelError(str(error).replace(name, f"the model in {folder}")) from None


def fingerprint(folder: str) -> str:
    """Hash of the files that decide the vectors. Raises ModelError."""
    folder = os.path.expanduser(folder)
    digest = hashlib.sha256()
    for name in (_model_file(folder), *_SMALL_FILES):
        digest.update(name.encode() + b"\0")
        try:
            with open(os.path.join(folder, name), "rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except FileNotFoundError:
            continue
        except OSError as error:
            raise ModelError(f"{os.path.join(folder, name)} cannot be read: {error.strerror}") from None
    return digest.hexdigest()[:16]


def known_names() -> dict[str, dict[str, Any]]:
    """Descriptions of fastembed's models, by name. Its import takes 0.5 s and 70 MB. Raises ModelError."""
    return {one["model"]: one for one in _fastembed().TextEmbedding.list_supported_models()}


def is_here(name: str, cache: str) -> bool:
    """True if the files of a model lie in the cache."""
    from fastembed import TextEmbedding

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TextEmbedding(name, cache_dir=cache, local_files_only=True, lazy_load=True)
    except Exception:
        return False
    return True


def pull(name: str, cache: str) -> None:
    """Fetch a model into the cache. Raises ModelError."""
    fastembed = _fastembed()
    known = known_names().get(name)
    if known is None:
        raise ModelError(_why(name, None, known=False))
    os.makedirs(cache, mode=0o700, exist_ok=True)
    try:
        if known["sources"]["hf"] and not is_here(name, cache):
            from huggingface_hub import model_info

            # Asked first: fastembed alone would try for 50 s and then give no reason.
            model_info(known["sources"]["hf"], timeout=_CONNECT_SECONDS)
        fastembed.TextEmbedding(name, cache_dir=cache, lazy_load=True)
    except Exception as error:
        raise ModelError(
            f"{name} could not be fetched: {_first_line(error)}. It comes from huggingface.co: see that this machine reaches it"
            " (HTTPS_PROXY, HF_ENDPOINT), or bring a folder with the model and use path:FOLDER"
        ) from None


_ON_CPU = {"providers": ["CPUExecutionProvider"]}


def _fastembed() -> Any:
    try:
        import fastembed
        from loguru import logger
    except Exception as error:
        raise ModelError(
            f"fastembed cannot be imported: {_first_line(error)}. Install it: pip install fastembed"
        ) from None
    logger.remove()  # it prints each error before raising it
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return fastembed


def _model_file(folder: str) -> str:
    for name in _MODEL_FILES:
        if os.path.isfile(os.path.join(folder, name)):
            return name
    if not os.path.isdir(folder):
        raise ModelError(f"there is no folder {folder}: path: takes a folder with model.onnx and tokenizer.json")
    found = sorted(name for name in os.listdir(folder) if name.endswith(".onnx"))
    if not found:
        raise ModelError(f"there is no .onnx file in {folder}: path: takes a folder with model.onnx and tokenizer.json")
    return found[0]


def _pooling(folder: str) -> dict[str, Any]:
    try:
        with open(os.path.join(folder, "1_Pooling", "config.json"), encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _why(name: str, error: Exception | None, *, known: bool) -> str:
    if not known:
        return f"there is no model {name!r}; `ctxd model list` lists them"
    if isinstance(error, ValueError) and "any source" in str(error):
        return f"{name} is not on this machine; `ctxd model pull {name}` fetches it"
    return f"{name} cannot be loaded: {_first_line(error)}"


def _first_line(error: object) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300].rstrip(".")
