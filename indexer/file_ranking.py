"""A file finder: files whose name or path a query names, the one that a person most likely means first.

Invariant: every word of the query matches, ignoring case; scattered letters count only as the initials of a name's words,
or where nothing else matches at all, so that the number of files found means something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import re2

from ctxd.indexer import glob

if TYPE_CHECKING:
    from ctxd.indexer.file_search import FileSearch
    from ctxd.indexer.scope import Scope
    from ctxd.indexer.text_search import Search

# How well a word names a file; the less the better. The looser its letters are scattered, the higher above the last.
EXACT, STEM, PREFIX, WORD, PART, PATH_WORD, PATH_PART, INITIALS, SCATTERED = range(9)

STOP_EVERY = 1_024  # files between two looks at the clock

Rank = tuple[int, int, int, int, bytes]
"""The worst grade of a word, the sum of the grades, characters of the name, folders above it, the path."""


def rank_files(query: str, scope: Scope, names: FileSearch, search: Search, *, base: bytes = b"") -> list[Rank]:
    """The files of `scope`, which lies below `base`, that `query` names, best first. Raises glob.GlobError.

    A query with `*` or `?` is a glob of the name, or of the path below `base` where it holds a `/`; ignoring case as well.
    """
    text = query.strip().removeprefix("./")
    words = text.lower().split()
    if any(character in text for character in "*?"):
        expression = glob.translate(text)
        found = names.matching(expression, scope, search, base=base, on_path="/" in text, ignore_case=True)
        return sorted(_ranked(path, [EXACT], base) for path in found)
    ranks: list[Rank] = []
    scattered: list[Rank] = []
    found = names.matching(_candidates(words), scope, search, base=base, on_path=True)
    for number, path in enumerate(found):
        if not number % STOP_EVERY and search.stop():
            search.stopped_at = path
            break
        grades = _grades(words, path, base)
        if None not in grades:
            rank = _ranked(path, [grade for grade in grades if grade is not None], base)
            (scattered if rank[0] >= SCATTERED else ranks).append(rank)
    return sorted(ranks or scattered)


def _candidates(words: list[str]) -> bytes:
    """The expression of paths that hold the longest word, or its letters in their order."""
    longest = max(words, key=len)
    letters = [_either_case(letter) for letter in longest]
    gap = rb"[^\x00]*" if "/" in longest else rb"[^/\x00]*"
    name = b"" if "/" in longest else glob.FOLDERS
    return rb"[^\x00]*" + b"".join(letters) + rb"[^\x00]*|" + name + gap + gap.join(letters) + gap


def _either_case(letter: str) -> bytes:
    """Not left to RE2, which would fold the single bytes of a name in LATIN1."""
    forms = dict.fromkeys((letter, letter.upper(), letter.title()))
    return b"(?:" + b"|".join(re2.escape(form.encode("utf-8", "surrogateescape")) for form in forms) + b")"


def _ranked(path: bytes, grades: list[int], base: bytes) -> Rank:
    below = path[len(base) :]
    return max(grades), sum(grades), len(path) - path.rfind(b"/"), below.count(b"/"), path


def _grades(words: list[str], path: bytes, base: bytes) -> list[int | None]:
    whole = path[len(base) + 1 if base else 0 :].decode("utf-8", "surrogateescape")
    name = whole.rpartition("/")[2]
    return [_grade_in_path(word, whole) if "/" in word else _grade(word, name, whole) for word in words]


def _grade(word: str, name: str, path: str) -> int | None:
    lowered = name.lower()
    if lowered.startswith(word):
        return EXACT if lowered == word else STEM if lowered.rpartition(".")[0] == word else PREFIX
    if word in lowered:
        return WORD if _at_word(word, lowered, name) else PART
    folded = path.lower()
    if word in folded:
        return PATH_WORD if _at_word(word, folded, path) else PATH_PART
    if _initials(word, lowered, name):
        return INITIALS
    return _scattered(word, lowered)


def _grade_in_path(word: str, path: str) -> int | None:
    folded = path.lower()
    if word in folded:
        if folded == word:
            return EXACT
        if folded.endswith("/" + word.lstrip("/")):
            return STEM
        return PATH_WORD if _at_word(word, folded, path) else PATH_PART
    return _scattered(word, folded)


def _at_word(word: str, lowered: str, text: str) -> bool:
    at = lowered.find(word)
    while at >= 0:
        if _starts_word(text, at):
            return True
        at = lowered.find(word, at + 1)
    return False


def _starts_word(text: str, at: int) -> bool:
    """Whether a word starts at `at`: after punctuation, or as humps and digits do (`fileName2`, `XMLParser`)."""
    if at == 0 or at >= len(text):  # folding case may lengthen a text
        return at == 0
    before, here = text[at - 1], text[at]
    if not before.isalnum() or before.isdigit() != here.isdigit():
        return True
    return here.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def _initials(word: str, lowered: str, name: str) -> bool:
    """Whether the letters are the beginnings of words of the name, in their order: `tcx`, `tecon` in `text_context.py`."""
    starts = [at for at in range(len(lowered)) if _starts_word(name, at)]
    ends = {at + 1 for at in starts if lowered[at] == word[0]}
    for letter in word[1:]:
        if not ends:
            return False
        first = min(ends)
        goes_on = {at + 1 for at in ends if lowered[at : at + 1] == letter}
        ends = goes_on | {at + 1 for at in starts if at >= first and lowered[at] == letter}
    return bool(ends)


def _scattered(word: str, text: str) -> int | None:
    """The grade of letters that stand in this order: by how far from the start the last one is. None where they do not."""
    at = -1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
    return SCATTERED + at
