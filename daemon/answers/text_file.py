"""A text file in its current state on disk, for the text tools to show and change.

Invariant: text, structure and hash come from the same read. A worker finds the structure of a large text under a deadline,
so that no hostile text can block the daemon.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxd.daemon.answers.live_elements import readable
from ctxd.daemon.errors import ToolError
from ctxd.daemon.tool import Call
from ctxd.indexer import structure
from ctxd.indexer.decode import Unreadable, decode, read_inside
from ctxd.indexer.documents.document import Document, format_of
from ctxd.indexer.worker import ScanJob

if TYPE_CHECKING:
    from ctxd.indexer.structure import Structure

SCANNED_HERE_BYTES = 100_000
"""A worker finds the structure of a larger text: hostile Markdown takes 10 s per megabyte."""
SCANNED_BYTES_MAX = 32 << 20
"""A larger text gets no structure."""
_SCAN_SECONDS = 6.0  # leaves the rest of a call for a search and the answer
_ANSWER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class TextFile:
    path: bytes
    data: bytes
    document: Document
    hash: str
    """The path that answers show."""


def read_text_file(call: Call, argument: str) -> TextFile:
    """The file that a caller names. Raises ToolError if it is outside, missing, not a regular file, secret or binary."""
    path = readable(call.view, argument)
    try:
        data, _ = read_inside(call.view.project.root, path)
    except Unreadable as error:
        raise ToolError(f"{argument!r} cannot be read: {error.reason}", "Name a regular file") from None
    text = decode(data)[1]
    if text is None:
        raise ToolError(f"{argument!r} is binary: it has no lines", "Name a text file")
    return TextFile(path, data, document_of(call, path, text), "sha256:" + hashlib.sha256(data).hexdigest())


def document_of(call: Call, path: bytes, text: bytes) -> Document:
    """The canonical text of a file as a Document. Asking for its structure raises ToolError if that takes too long."""
    language = format_of(path)
    return Document(text, language, lambda: _scanned(call, language, text))


def _scanned(call: Call, language: str, text: bytes) -> Structure:
    hint = 'Targets that need none: lines, text, pattern, search. TextInspect finds places with mode "search"'
    if len(text) > SCANNED_BYTES_MAX:
        raise ToolError(f"A text of {len(text) >> 20} MB is too large to find its structure", hint)
    if len(text) <= SCANNED_HERE_BYTES or not language:
        return structure.scan(language, text)
    seconds = min(_SCAN_SECONDS, call.seconds_left() - _ANSWER_SECONDS)
    until = time.monotonic() + seconds
    job = ScanJob(language, text, max(seconds, 0))
    result = call.view.project.workers.result(job, lambda: call.stop() or time.monotonic() > until, urgent=True)
    if isinstance(result, str):
        raise ToolError(f"The structure of the text could not be found: {result}", hint)
    if result is None:
        raise ToolError(f"The structure of the text could not be found within {max(seconds, 0):.1f} s", hint)
    return result
