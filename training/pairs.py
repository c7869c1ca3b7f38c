"""Pairs, as mining writes them and training reads them: pairs.jsonl.gz, one definition a line.

package, language
doc     the first sentence of its documentation, "" where there is none
name    its own
path    the last names of its file's path, without the extension
body    its source without the documentation, cut at BODY_CHARACTERS_MAX
after   what follows it in its file, as far as it fits into a chunk with it
"""

from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BODY_CHARACTERS_MAX = 1_500  # about a chunk of the index


class Pair(TypedDict):
    package: str
    language: str
    doc: str
    name: str
    path: str
    body: str
    after: str


def read_pairs(folder: str) -> Iterator[Pair]:
    with gzip.open(_path(folder), "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_pairs(folder: str, pairs: Iterable[Pair]) -> None:
    """The same pairs make the same file."""
    with gzip.GzipFile(_path(folder), "wb", compresslevel=3, mtime=0) as file:
        for pair in pairs:
            file.write(json.dumps(pair, ensure_ascii=False).encode("utf-8", "replace") + b"\n")


def _path(folder: str) -> str:
    return os.path.join(folder, "pairs.jsonl.gz")
