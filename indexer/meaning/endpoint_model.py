"""A model behind an OpenAI-compatible endpoint: POST {base}/embeddings. The only remote provider; off by default.

The base URL is CTXD_OPENAI_BASE_URL, else OPENAI_BASE_URL, else that of OpenAI. The key is OPENAI_API_KEY; a server of
one's own may need none. Invariant: URL and key are never logged, stored or shown in a message, and the key goes nowhere
else: redirects are refused.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import random
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ctxd.indexer.meaning.model_error import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEFAULT = "https://api.openai.com/v1"
_BATCH_TEXTS = 64
_BATCH_CHARS = 100_000
_TEXT_CHARS_MAX = 8_000  # 8,191 tokens are the limit of OpenAI's models
_REQUEST_SECONDS = 20.0
_QUESTION_SECONDS = 3.0  # then the built-in model answers
_PATIENCE_SECONDS = 45.0  # for an endpoint that is busy
_FIRST_PAUSE_SECONDS = 0.5
_BUSY = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_ANSWER_BYTES_MAX = 64 << 20


def endpoint_fingerprint() -> str:
    """A hash that tells endpoints apart without naming them. Raises ModelError if none is configured."""
    return hashlib.sha256(_base().encode()).hexdigest()[:8]


class EndpointModel:
    def __init__(self, name: str) -> None:
        """Raises ModelError."""
        self.name = name
        self._url = _base() + "/embeddings"
        self._key = os.environ.get("OPENAI_API_KEY", "")
        self._opener = urllib.request.build_opener(_NoRedirects)
        self.dimension: int = self._asked(["x"], _REQUEST_SECONDS).shape[1]

    def encode(self, texts: Sequence[str]) -> Any:
        import numpy as np

        rows = np.zeros((len(texts), self.dimension), np.float32)
        batch: list[int] = []
        size = 0
        for at, text in enumerate(texts):
            if batch and (len(batch) == _BATCH_TEXTS or size + len(text) > _BATCH_CHARS):
                rows[batch] = self._checked([texts[one] for one in batch], _PATIENCE_SECONDS)
                batch, size = [], 0
            if text.strip():
                batch.append(at)
                size += len(text)
        if batch:
            rows[batch] = self._checked([texts[one] for one in batch], _PATIENCE_SECONDS)
        return rows

    def encode_question(self, text: str) -> Any:
        return self._checked([text], _QUESTION_SECONDS)[0]

    def _checked(self, texts: list[str], seconds: float) -> Any:
        rows = self._asked(texts, seconds)
        if rows.shape[1] != self.dimension:
            raise ModelError(
                f"{self.name} gave vectors of {rows.shape[1]} dimensions, before of {self.dimension}: the endpoint serves another model"
                " under the same name; `ctxd restart`"
            )
        return rows

    def _asked(self, texts: list[str], seconds: float) -> Any:
        """The rows of one request. Sends it again while the endpoint is busy, for `seconds` at most."""
        import numpy as np

        until = time.monotonic() + seconds
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                answer = self._post(texts, min(_REQUEST_SECONDS, seconds))
                break
            except _BusyError as busy:
                wait = max(pause * random.uniform(0.8, 1.2), busy.after)
                pause *= 2
                if time.monotonic() + wait > until:
                    raise ModelError(f"{busy}; it is tried again later") from None
                time.sleep(wait)
        try:
            data = sorted(answer["data"], key=lambda one: one["index"])
            rows = np.array([one["embedding"] for one in data], np.float32)
        except (KeyError, TypeError, ValueError):
            raise ModelError(
                f"the endpoint of {self.name} does not answer as OpenAI's does; see CTXD_OPENAI_BASE_URL (it ends in /v1)"
            ) from None
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.shape[1] or not np.isfinite(rows).all():
            raise ModelError(f"the endpoint of {self.name} gave {rows.shape} numbers for {len(texts)} texts")
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.divide(rows, lengths, out=rows, where=lengths > 0)

    def _post(self, texts: list[str], seconds: float) -> Any:
        cut = [text[:_TEXT_CHARS_MAX].replace("\0", " ") for text in texts]
        body = json.dumps({"model": self.name, "input": cut, "encoding_format": "float"}).encode()
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, body, headers, method="POST")  # noqa: S310 - _base checks the scheme
        try:
            with self._opener.open(request, timeout=seconds) as response:
                return json.loads(response.read(_ANSWER_BYTES_MAX))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refused(error) from None
        except TimeoutError:
            raise _BusyError(f"the endpoint of {self.name} did not answer within {seconds:g} s") from None
        except urllib.error.URLError as error:
            why = error.reason if isinstance(error.reason, str) else getattr(error.reason, "strerror", None)
            if isinstance(error.reason, TimeoutError):
                raise _BusyError(f"the endpoint of {self.name} did not answer within {seconds:g} s") from None
            raise ModelError(
                f"the endpoint of {self.name} cannot be reached ({why or type(error.reason).__name__}); see CTXD_OPENAI_BASE_URL"
            ) from None
        except (OSError, ValueError, http.client.HTTPException) as error:  # cut off, or no JSON
            raise _BusyError(f"the endpoint of {self.name} broke off ({type(error).__name__})") from None

    def _refused(self, error: urllib.error.HTTPError) -> Exception:
        if error.code in _BUSY:
            what = "is busy (rate limit)" if error.code == 429 else f"has a problem (status {error.code})"
            return _BusyError(f"the endpoint of {self.name} {what}", _seconds(error.headers.get("Retry-After")))
        if error.code in {401, 403}:
            wrong = "refuses the key" if self._key else "wants a key"
            return ModelError(
                f"the endpoint of {self.name} {wrong} (status {error.code}); set OPENAI_API_KEY where the daemon is started,"
                " then `ctxd restart`"
            )
        if 300 <= error.code < 400:
            return ModelError(
                f"the endpoint of {self.name} answers with a redirect, which is not followed; set CTXD_OPENAI_BASE_URL to where it leads"
            )
        if error.code == 404:
            return ModelError(
                f"the endpoint knows no model {self.name}, or is not where CTXD_OPENAI_BASE_URL says (it ends in /v1)"
            )
        return ModelError(f"the endpoint of {self.name} refuses (status {error.code}): {self._told(error)}")

    def _told(self, error: urllib.error.HTTPError) -> str:
        """The endpoint's own message, without the key."""
        try:
            told = json.loads(error.read(10_000))["error"]
            text = str(told["message"] if isinstance(told, dict) else told)
        except (OSError, ValueError, KeyError, TypeError):
            text = str(error.reason)
        return (text.replace(self._key, "...") if self._key else text)[:200]


class _BusyError(Exception):
    """The same request may succeed later; the endpoint asks to wait `after` seconds."""

    def __init__(self, message: str, after: float = 0.0) -> None:
        super().__init__(message)
        self.after = after


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: urllib would send the key to their target."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:  # noqa: ARG002
        return None


def _base() -> str:
    named = os.environ.get("CTXD_OPENAI_BASE_URL") or os.environ.get("OPENAI_BASE_URL")
    if not named and not os.environ.get("OPENAI_API_KEY"):
        raise ModelError(
            "no endpoint is configured: set OPENAI_API_KEY, or CTXD_OPENAI_BASE_URL for a server of your own, where the daemon is"
            " started, then `ctxd restart`"
        )
    base = (named or _DEFAULT).rstrip("/")
    place = urlsplit(base)
    if place.scheme not in {"http", "https"} or not place.hostname or "@" in place.netloc:
        raise ModelError(
            "CTXD_OPENAI_BASE_URL (or OPENAI_BASE_URL) is no http or https URL without a password; correct it, then `ctxd restart`"
        )
    return base


def _seconds(text: str | None) -> float:
    try:
        return min(max(0.0, float(text or 0)), 3600.0)
    except ValueError:
        return 0.0
