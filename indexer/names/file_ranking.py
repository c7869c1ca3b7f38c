"""A file finder: it ranks the files whose name or path a query names, the one that a person most likely means first.

Invariant: every word of the query matches, ignoring case. Scattered letters count only as the initials of a name's
words, or if nothing else matches at all, so that the number of files found means something.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.patterns import glob

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.files.scope import Scope
    from ctxd.indexer.names.file_search import FileSearch
    from ctxd.indexer.text.text_search import Search

# Grades: how well a word names a file, lower is better. SCATTERED grows with the distance of the letters.
# FOLDER (the word is the whole name of a folder) counts only beside a better match of the file's name: `sched core`
# finds kernel/sched/core.c, but `sched` alone ranks no file of that folder before sched_debug.c.
EXACT, STEM, FOLDER, PREFIX, WORD, PART, PATH_WORD, PATH_PART, INITIALS, SCATTERED = range(10)

STOP_EVERY = 1_024  # files between two looks at the clock

Rank = tuple[int, int, int, int, bytes]
"""The worst grade of a word, the sum of the grades, characters of the name, folders above it, the path.

Characters between a name's words do not count: `page_alloc.c` is no longer than `pagealloc.c`.
"""


def rank_files(query: str, scope: Scope, names: FileSearch, search: Search, *, base: bytes = b"") -> list[Rank]:
    """The files of `scope` that `query` names, in no order. `scope` lies below `base`. Raises glob.GlobError.

    A query with `*` or `?` is a glob of the name, or of the path below `base` if it holds a `/`. It ignores case, too.
    """
    text = query.strip().removeprefix("./")
    words = text.lower().split()
    if any(character in text for character in "*?"):
        expression = glob.translate(text, ignore_case=True)
        within = glob.translate(glob.folder_of(text), ignore_case=True) if "/" in text else None
        found = names.matching(expression, scope, search, base=base, within=within)
        return [_ranked(path, [EXACT], base) for path in found]
    letters = _letters(words)
    ranks: list[Rank] = []
    scattered: list[Rank] = []
    found = names.matching(_candidates(words), scope, search, base=base, within=rb"[^\x00]*")
    for number, path in enumerate(found):
        if not number % STOP_EVERY and search.stop():
            search.stopped_at = path
            break
        grades = _grades(words, letters, path, base)
        if grades:
            rank = _ranked(path, grades, base)
            (scattered if rank[0] >= SCATTERED else ranks).append(rank)
    return ranks or scattered


def _candidates(words: list[str]) -> bytes:
    """An expression for paths that hold the longest word, or its letters in their order."""
    longest = max(words, key=len)
    letters = [glob.either_case(letter) for letter in longest]
    gap = rb"[^\x00]*" if "/" in longest else rb"[^/\x00]*"
    name = b"" if "/" in longest else glob.FOLDERS
    return rb"[^\x00]*" + b"".join(letters) + rb"[^\x00]*|" + name + gap + gap.join(letters) + gap


def _ranked(path: bytes, grades: list[int], base: bytes) -> Rank:
    name = path[path.rfind(b"/") + 1 :]
    characters = len(name) - name.count(b"_") - name.count(b"-")
    return max(grades), sum(grades), characters, path.count(b"/", len(base)), path


def _grades(words: list[str], letters: str, path: bytes, base: bytes) -> list[int]:
    """A grade for each word, or one for all if together they are the name; none if a word does not match.

    `letters` are those of the words.
    """
    whole = path[len(base) + 1 if base else 0 :].decode("utf-8", "surrogateescape")
    folded = whole.lower()
    name = folded.rpartition("/")[2]
    for word in words:  # most candidates end here: saves 30 ms if a word is a folder of 20,000 files
        if word not in folded and _scattered(word, folded if "/" in word else name) is None:
            return []
    if _letters(name.rpartition(".")[0] or name) == letters:
        return [EXACT if words == [name] else STEM]
    original = whole.rpartition("/")[2]
    found = (_grade_in_path(word, whole) if "/" in word else _grade(word, original, whole) for word in words)
    grades = [grade for grade in found if grade is not None]
    if min(grades) == FOLDER:
        return [PATH_WORD if grade == FOLDER else grade for grade in grades]
    return grades


def _letters(texts: Iterable[str]) -> str:
    """The letters and digits of words, lower-cased: the same for `page alloc`, `pageAlloc` and `page_alloc`."""
    return "".join(filter(str.isalnum, "".join(texts).lower()))


def _grade(word: str, name: str, path: str) -> int | None:
    lowered = name.lower()
    if lowered.startswith(word):
        return EXACT if lowered == word else STEM if lowered.rpartition(".")[0] == word else PREFIX
    if word in lowered:
        return WORD if _at_word(word, lowered, name) else PART
    folded = path.lower()
    if word in folded:
        if f"/{word}/" in f"/{folded}":
            return FOLDER
        return PATH_WORD if _at_word(word, folded, path) else PATH_PART
    scattered = _scattered(word, lowered)
    return INITIALS if scattered is not None and _initials(word, lowered, name) else scattered


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
    """True if a word starts at `at`: after punctuation, or at a hump or a digit (`fileName2`, `XMLParser`)."""
    if at == 0 or at >= len(text):  # folding case may lengthen a text
        return at == 0
    before, here = text[at - 1], text[at]
    if not before.isalnum() or before.isdigit() != here.isdigit():
        return True
    return here.isupper() and (not before.isupper() or text[at + 1 : at + 2].islower())


def _initials(word: str, lowered: str, name: str) -> bool:
    """True if the letters are beginnings of words of the name, in their order: `tcpy`, `tecon` in `text_context.py`."""
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
    """The grade of letters that stand in this order, by the distance of the last one from the start; else None."""
    at = -1
    for letter in word:
        at = text.find(letter, at + 1)
        if at < 0:
            return None
    return SCATTERED + at
