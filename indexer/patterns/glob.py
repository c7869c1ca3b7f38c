"""Globs as RE2 patterns over the bytes of a relative path.

`*` matches any run within one component, `?` one character, `[...]` and `[!...]` one of a set, `{a,b}` alternatives,
`**` any run of components; `\\` takes the next character literally. Case-sensitive. A glob without `/` matches the base
name.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import re2

from ctxd.indexer.patterns.engine import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ctxd.indexer.patterns.engine import Spans

_ANY = rb"[^/\x00]"
_CHARACTER = (
    rb"(?:[\x01-\x2e\x30-\x7f]|[\xc2-\xf4][\x80-\xbf]+|[\x80-\xff])"  # one UTF-8 character, or a byte that is none
)
_TRANSLATED_BYTES_MAX = 1_000_000  # the size of 15,000 `?`; RE2 compiles it in a second


FOLDERS = rb"(?:[^\x00]*/)?"  # any number of folders, or none
FOLDERS_REMEMBERED = 10_000  # folders whose verdict a list of globs keeps: the kernel has 5,000


class GlobError(ValueError):
    """The glob cannot be read; the message says why."""


@dataclass(frozen=True)
class PathFilter:
    """Paths below `base`, if one RE2 pattern (LATIN1) matches the whole rest of the path. Raises GlobError.

    Two filters with equal pattern and base are equal: they are part of the keys of cached scopes.
    """

    pattern: bytes
    base: bytes = b""
    _spans: Callable[[bytes, int], Spans] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        spans = compiled(b"(?:" + self.pattern + rb")\z", latin1=True, anchored=True)
        if spans is None:
            raise GlobError("the pattern is too large or repeats too often")
        object.__setattr__(self, "_spans", spans)

    def __contains__(self, path: bytes) -> bool:
        return self._spans(path, len(self.base) + 1 if self.base else 0)[0][0] >= 0


def path_filter(glob: str, base: bytes) -> PathFilter | None:
    """Files below `base` that match by name, or by path from `base` on if the glob holds a `/`; None for all.

    Raises GlobError.
    """
    glob = glob.removeprefix("./")
    if glob in {"*", "**"}:
        return None
    return PathFilter(_anchored(glob), base)


def path_list_filter(patterns: str, base: bytes) -> PathFilter | None:
    """Files that at least one of the comma-separated patterns names; None if there is no pattern. Raises GlobError.

    `src/` is a folder anywhere in the path, `*.js` a file name, a bare word any part of the path, `a/**/b` a glob of the
    whole path.
    """
    return _any_of((part.removeprefix("./") for part in _comma_separated(patterns)), base, rb"[^\x00]*")


def _any_of(patterns: Iterable[str], base: bytes, before_word: bytes) -> PathFilter | None:
    alternatives = []
    for pattern in patterns:
        if pattern.endswith("/") and pattern.strip("/"):
            start = b"" if pattern.startswith("/") else FOLDERS
            alternatives.append(start + b"(?:" + translate(pattern.strip("/")) + rb")/[^\x00]*")
        elif not any(character in pattern for character in "*?[{\\"):
            alternatives.append(before_word + re2.escape(pattern.encode("utf-8", "replace")) + rb"[^\x00]*")
        else:
            alternatives.append(translate(pattern[1:]) if pattern.startswith("/") else _anchored(pattern))
    return PathFilter(b"|".join(alternatives), base) if alternatives else None


_NAMES_HIDDEN = re.compile(r"(?:^|/)(?:\{(?:[^{}]*,)?)?\\?\.(?!\.?(?:/|$))")


def names_hidden(glob: str) -> bool:
    """True if a component of a glob begins with a literal dot, such as `.github/**`: then it asks for hidden files."""
    return _NAMES_HIDDEN.search(glob) is not None


def hidden_filter(patterns: str, base: bytes) -> PathFilter | None:
    """The hidden files that comma-separated patterns (see `path_list_filter`) ask for; None if they ask for none.

    Raises GlobError.
    """
    parts = (part.removeprefix("./") for part in _comma_separated(patterns))
    return _any_of(filter(names_hidden, parts), base, FOLDERS)  # the word `.py` does not ask for `.github/build.py`


def hidden_words_filter(words: str, base: bytes) -> PathFilter | None:
    """Paths with a component that begins, in any case, with a word that has a leading dot; None without such a word."""
    dotted = [word for word in words.removeprefix("./").split() if names_hidden(word)]
    alternatives = [FOLDERS + b"".join(map(either_case, word)) + rb"[^\x00]*" for word in dotted]
    return PathFilter(b"|".join(alternatives), base) if alternatives else None


def _anchored(glob: str) -> bytes:
    return (b"" if "/" in glob else FOLDERS) + b"(?:" + translate(glob) + b")"


def _comma_separated(patterns: str) -> list[str]:
    """The parts between commas; a comma in braces belongs to its part."""
    parts = [""]
    depth = 0
    for character in patterns:
        depth += (character == "{") - (character == "}" and depth > 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]


_RUNS = re.compile(r"[*?/]+")


def options() -> re2.Options:
    """Options for patterns over bytes: file names need not be UTF-8."""
    chosen = re2.Options()
    chosen.encoding = re2.Options.Encoding.LATIN1
    chosen.log_errors = False
    chosen.never_capture = True
    return chosen


def required_text(glob: str) -> bytes:
    """The bytes of the longest text in every name or path that the glob matches; empty if that is not easy to tell."""
    if any(special in glob for special in "[{\\"):
        return b""
    return max(_RUNS.split(glob), key=len).encode("utf-8", "surrogateescape")


def translate(glob: str, *, ignore_case: bool = False) -> bytes:
    """The RE2 pattern (LATIN1) of a whole base name, or of a whole path if the glob holds a `/`. Raises GlobError."""
    spelled = either_case if ignore_case else _escaped
    if "\0" in glob:  # the separator of a block of names
        raise GlobError("it holds a NUL character, which no file name does")
    output = b""
    depth = 0
    at = 0
    while at < len(glob):
        if len(output) > _TRANSLATED_BYTES_MAX:
            raise GlobError("it is too large")
        character = glob[at]
        at += 1
        if character == "*":
            if glob.startswith("*", at):
                at += 1
                if glob.startswith("/", at):
                    at += 1
                    output += FOLDERS
                else:
                    output += rb"[^\x00]*"
            else:
                output += _ANY + b"*"
        elif character == "?":
            output += _CHARACTER
        elif character == "[":
            end = glob.find("]", at + 2 if glob[at : at + 1] in {"!", "^"} else at + 1)
            if end < 0:
                raise GlobError(f"the [ at character {at} has no ]; write \\[ for a literal bracket")
            output += _set(glob[at:end], spelled, ignore_case=ignore_case)
            at = end + 1
        elif character == "{":
            depth += 1
            output += b"(?:"
        elif character == "," and depth:
            output += b"|"
        elif character == "}" and depth:
            depth -= 1
            output += b")"
        else:
            if character == "\\" and at < len(glob):
                character = glob[at]
                at += 1
            output += spelled(character)
    if depth:
        raise GlobError("a { has no }; write \\{ for a literal brace")
    return output


def folder_of(glob: str) -> str:
    """A glob of the folder (with its `/`) that holds every match of `glob`; `**` if that is not easy to tell."""
    folder, slash, name = glob.rpartition("/")
    if "**" in name or any(character in glob for character in "[{\\"):  # these may stand for a slash, or hide one
        return "**"
    return folder + slash


def either_case(character: str) -> bytes:
    """A pattern of a character in either case. RE2's own folding would fold single bytes in LATIN1."""
    forms = dict.fromkeys((character, character.lower(), character.upper(), character.title()))
    return b"(?:" + b"|".join(map(_escaped, forms)) + b")"


def _escaped(character: str) -> bytes:
    return re2.escape(character.encode("utf-8", "surrogateescape"))


class Chosen:
    """The files that a list of globs keeps, by ripgrep's --glob rules.

    The last glob that matches a path decides; a leading `!` leaves the path out. If any glob has no `!`, paths that no
    glob matches are out. A folder that is left out takes everything below it with it.
    """

    def __init__(self, globs: tuple[str, ...], folder: bytes) -> None:
        self._skip = len(folder) + 1 if folder else 0
        self._folder = folder
        self._rules = [_rule(glob) for glob in globs]
        self._some_take_in = any(rule.takes_in for rule in self._rules)
        self._some_leave_out = not all(rule.takes_in for rule in self._rules)
        self._is_entered = functools.lru_cache(FOLDERS_REMEMBERED)(self._enters)

    def takes(self, path: bytes) -> bool:
        if self._some_leave_out and not self._is_entered(path.rpartition(b"/")[0]):
            return False
        verdict = self._verdict(path, is_folder=False)
        return not self._some_take_in if verdict is None else verdict

    def asks_for_hidden(self, path: bytes) -> bool:
        """True if one of the globs names the hidden part of a path: see `names_hidden`."""
        return any(rule.names_hidden and self._matches(rule, path, is_folder=False) for rule in self._rules)

    def _enters(self, folder: bytes) -> bool:
        if not folder:
            return True
        return self._is_entered(folder.rpartition(b"/")[0]) and self._verdict(folder, is_folder=True) is not False

    def _verdict(self, path: bytes, *, is_folder: bool) -> bool | None:
        for rule in reversed(self._rules):
            if self._matches(rule, path, is_folder=is_folder):
                return rule.takes_in
        return None

    def _matches(self, rule: _Rule, path: bytes, *, is_folder: bool) -> bool:
        if rule.folders_only and not is_folder:
            return False
        if rule.is_anchored:
            if self._folder and not path.startswith(self._folder + b"/"):
                return False
            path = path[self._skip :]
        return bool(rule.matcher.fullmatch(path))


@functools.lru_cache(64)
def chosen(globs: tuple[str, ...], folder: bytes) -> Chosen:
    """`Chosen`, compiled once. Raises GlobError."""
    return Chosen(globs, folder)


class _Rule(NamedTuple):
    takes_in: bool
    folders_only: bool
    is_anchored: bool
    """True if it is about the whole path: it holds a slash that is not at its end."""
    names_hidden: bool
    matcher: Any


def _rule(glob: str) -> _Rule:
    body = glob.removeprefix("!")
    takes_in = body == glob
    folders_only = body.endswith("/")
    body = body.removesuffix("/")
    is_anchored = "/" in body
    asks = takes_in and names_hidden(body)
    expression = translate(body.removeprefix("/"))
    if not is_anchored:
        expression = FOLDERS + b"(?:" + expression + b")"
    try:
        return _Rule(takes_in, folders_only, is_anchored, asks, re2.compile(expression, options()))
    except re2.error as error:
        raise GlobError(f"the glob cannot be compiled: {error}") from None


def _set(body: str, spelled: Callable[[str], bytes], *, ignore_case: bool) -> bytes:
    flag = b"i" if ignore_case else b""  # only for ASCII, which RE2 folds correctly in LATIN1
    negated = body[:1] in {"!", "^"}
    body = body[1:] if negated else body
    alternatives: list[bytes] = []
    singles = b""
    at = 0
    while at < len(body):
        first = last = body[at]
        if body[at + 1 : at + 2] == "-" and at + 2 < len(body):
            last = body[at + 2]
            at += 2
        at += 1
        if ord(last) < ord(first):
            raise GlobError(f"the range {first}-{last} runs backwards")
        if ord(last) < 0x80:
            singles += b"\\x%02x-\\x%02x" % (ord(first), ord(last))
        elif ord(last) - ord(first) > 1_000:
            raise GlobError(f"the range {first}-{last} is too wide")
        else:
            alternatives += [spelled(chr(code)) for code in range(ord(first), ord(last) + 1)]
    if negated:
        if alternatives:
            raise GlobError("a negated set takes ASCII characters only")
        return b"(?:(?%b:[^/\\x00\\x80-\\xff%b])|[\xc2-\xf4][\x80-\xbf]+)" % (flag, singles)
    if singles:
        alternatives.append(b"(?%b:[%b])" % (flag, singles))
    return b"(?:" + b"|".join(alternatives) + b")"
