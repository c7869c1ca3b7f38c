"""Mine pairs that teach which words of prose go with which words of code: `python training/mine.py FOLDER`.

Fetches the packages of packages.tsv into FOLDER/archives, parses their sources as the index does, and writes FOLDER/pairs.jsonl.gz
(pairs.py). Two runs write the same pairs: files are sampled by the hashes of their paths.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from packages import archives_of, named_packages, source_files
from pairs import BODY_CHARACTERS_MAX, Pair, write_pairs

from ctxd.indexer.decode import decode
from ctxd.indexer.languages import language_of
from ctxd.indexer.symbols.parser import DeadlineError, UnparsableError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packages import Package

    from ctxd.indexer.symbols.outline import Definition

PARSE_SECONDS = 5.0
BODY_BYTES_MIN = 120
BODY_BYTES_MAX = 20_000
DEFINITIONS_OF_A_FILE_MAX = 60
LINE_CHARACTERS_MAX = 600  # longer lines are generated or data
SENTENCE_CHARACTERS_MAX = 260
SENTENCE_WORDS_MIN = 3
DOC_LINES_MAX = 60  # between the first line of a documentation and its definition
PATH_NAMES = 3
LINES_AFTER_MAX = 100

_KINDS = frozenset(("function", "method", "class", "interface", "struct", "enum", "trait", "module", "type"))
_MARK = re.compile(
    r"^\s*(?:///?[/!<]?|/\*[*!]*|\*+(?!/)|#+[!|']?|--+\s*[|^]?|\{-+\s*[|^]?|@\w*doc\b|[rRuUbBfs~]{0,2}(?:\"\"\"|'''))?\s?"
)
_MARK_END = re.compile(r"\s*(?:\*+/|-+\}|\"\"\"|''')?\s*$")
_TAG = re.compile(
    r"^\s*(?:@\w+|:\w+[^:]*:|\\(?!brief)\w+|Args:|Arguments:|Returns:|Raises:|Parameters\b|Param |Example|Usage\b|>>>|```|[-=*~#]{3,}|\.\. )"
)
_MARKUP = re.compile(r"\{@\w+\s+([^}]*)\}|</?\w[^>]{0,60}>|\\brief\b|\[`?([^\]`]+)`?\](?:\([^)]*\))?")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)`'\"])[.!](?:\s|$)")
_NO_DOC = re.compile(
    r"copyright|licen[cs]e|todo|fixme|xxx|eslint|tslint|noqa|type:\s*ignore|auto-?\s?generated|spdx|pragma|nolint|rubocop|istanbul|@codecov",
    re.IGNORECASE,
)


def pairs_of(package: Package, folder: str) -> list[Pair]:
    pairs: list[Pair] = []
    for path, data in source_files(archives_of(package, folder)):
        language = language_of(path.encode("utf-8", "surrogateescape"), data)
        _, text = decode(data)
        if language is None or text is None or max(map(len, text.split(b"\n"))) > LINE_CHARACTERS_MAX:
            continue
        try:
            outline = parse(language, text, PARSE_SECONDS)
        except (DeadlineError, UnparsableError):
            continue
        lines = text.decode("utf-8").split("\n")
        path_words = " ".join(path.rsplit(".", 1)[0].split("/")[-PATH_NAMES:])
        defined = [
            one
            for one in outline.definitions
            if one.kind in _KINDS and BODY_BYTES_MIN <= one.end_byte - one.start_byte <= BODY_BYTES_MAX
        ]
        for definition in defined[:DEFINITIONS_OF_A_FILE_MAX]:
            doc, body = _doc_and_body(definition, lines)
            after = "\n".join(lines[definition.end_line : definition.end_line + LINES_AFTER_MAX])[
                : BODY_CHARACTERS_MAX - len(body)
            ]
            pairs.append(
                Pair(
                    package=package.name,
                    language=language.name,
                    doc=doc,
                    name=definition.name,
                    path=path_words,
                    body=body,
                    after=after,
                )
            )
    return pairs


def _doc_and_body(definition: Definition, lines: list[str]) -> tuple[str, str]:
    """The first sentence of a definition's documentation, and its source without the documentation."""
    first, last = definition.start_line - 1, definition.end_line
    body = lines[first:last]
    if not definition.doc:
        return "", _cut(body)
    for at in range(first - 1, max(-1, first - DOC_LINES_MAX), -1):
        if definition.doc in lines[at]:
            return _sentence(lines[at:first], definition.name), _cut(body)
    for at in range(
        first, min(last, first + DOC_LINES_MAX)
    ):  # a documentation string, or a comment before an attribute
        if definition.doc in lines[at]:
            end = _end_of_doc(lines, at, last)
            return _sentence(lines[at:end], definition.name), _cut(lines[first:at] + lines[end:last])
    return "", _cut(body)


def _end_of_doc(lines: list[str], start: int, last: int) -> int:
    """Index of the line after a documentation string that starts on the line `start`; a comment is taken for one line."""
    for quotes in ('"""', "'''"):
        opening = start if quotes in lines[start] else start - 1  # the words may start on the line after the quotes
        if quotes in lines[opening]:
            if lines[opening].count(quotes) > 1:
                return opening + 1
            for at in range(opening + 1, last):
                if quotes in lines[at]:
                    return at + 1
    return start + 1


def _cut(body: list[str]) -> str:
    return "\n".join(body)[:BODY_CHARACTERS_MAX]


def _sentence(lines: list[str], name: str) -> str:
    """The first sentence of lines of documentation, without marks and mark-up; "" where that is no prose. A line of the name alone tells nothing."""
    words: list[str] = []
    size = 0
    for line in lines:
        bare = _MARK_END.sub("", _MARK.sub("", line, count=1)).strip()
        if size and (not bare or _TAG.match(bare)):
            break
        if bare and not _TAG.match(bare) and bare.rstrip(":()") != name:
            words.append(bare)
            size += len(bare) + 1
        if size > SENTENCE_CHARACTERS_MAX or (_MARK_END.search(line)[0].strip() and size):  # pyright: ignore[reportOptionalSubscript]
            break
    text = " ".join(_MARKUP.sub(lambda match: match[1] or match[2] or " ", " ".join(words)).split())
    end = _SENTENCE_END.search(text)
    text = text[: end.start() if end else SENTENCE_CHARACTERS_MAX]
    prose = sum(character.isalpha() or character == " " for character in text)
    is_prose = len(text.split()) >= SENTENCE_WORDS_MIN and prose >= 0.75 * len(text) and not _NO_DOC.search(text)
    return text if is_prose else ""


def mined(folder: str, processes: int) -> Iterator[Pair]:
    """Pairs of all packages; of bodies that begin alike the first."""
    seen: set[bytes] = set()
    archives = os.path.join(folder, "archives")
    with ProcessPoolExecutor(processes) as pool:
        for pairs in pool.map(pairs_of, packages := named_packages(), [archives] * len(packages)):
            for pair in pairs:
                key = hashlib.blake2b(pair["body"][:400].encode(), digest_size=16).digest()
                if key not in seen:
                    seen.add(key)
                    yield pair


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where archives and pairs are kept; outside of any checkout")
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    os.makedirs(os.path.join(arguments.folder, "archives"), exist_ok=True)
    with_doc: Counter[str] = Counter()
    pairs: Counter[str] = Counter()

    def counted() -> Iterator[Pair]:
        for pair in mined(arguments.folder, arguments.processes):
            pairs[pair["language"]] += 1
            with_doc[pair["language"]] += bool(pair["doc"])
            yield pair

    write_pairs(arguments.folder, counted())
    print(f"{pairs.total()} definitions, {with_doc.total()} with a sentence")
    for language, count in pairs.most_common():
        print(f"{language:<12} {count:>7} {with_doc[language]:>7}")


if __name__ == "__main__":
    main()
