"""fd and find as narrowers: they name the files on disk whose names may match a glob. ctxd applies the ignore rules.

Invariant: both get a weaker glob than the user's, with literal characters and `*` only, which mean the same to them and
to ctxd. So they name every file that can match. The caller keeps those of the file table that match the whole glob.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxd.indexer.programs import names_from

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_SPECIAL = frozenset("*?[]{}\\")


def names_by_fd(program: str, root: bytes, glob: str, folders: Iterable[bytes], stop: Callable[[], bool]) -> set[bytes]:
    """Regular files below `folders` whose base name matches the weaker form of `glob`. Raises ProgramFailed."""
    searched = [b"--search-path=" + _operand(folder) for folder in folders]
    options = [
        "--unrestricted",
        "--exclude=.git",
        "--type=file",
        "--glob",
        "--case-sensitive",
        "--print0",
        "--color=never",
    ]
    return names_from([program, *options, *searched, "--", weaker(glob).encode("utf-8", "surrogateescape")], root, stop)


def names_by_find(
    program: str, root: bytes, glob: str, folders: Iterable[bytes], stop: Callable[[], bool]
) -> set[bytes]:
    """As `names_by_fd`, with find."""
    tests = [
        "-name",
        ".git",
        "-prune",
        "-o",
        "-type",
        "f",
        "-name",
        weaker(glob).encode("utf-8", "surrogateescape"),
        "-print0",
    ]
    return names_from([program, "-P", *map(_operand, folders), *tests], root, stop)


def weaker(glob: str) -> str:
    """A glob for base names, of literal characters and `*`. It matches every name that `glob` (see glob.py) matches."""
    name = ""
    at = 0
    while at < len(glob):
        character = glob[at]
        if character in "[{" or glob.startswith("**", at):  # they may stand for a slash: the name may begin inside
            at, name = _end_of(glob, at), "*"
            continue
        at += 1
        if character == "\\" and at < len(glob):
            character = glob[at]
            at += 1
            name += "\\" + character if character in _SPECIAL else character
        else:
            name += "*" if character in "*?" else character
        if character == "/":
            name = ""
    while "**" in name:
        name = name.replace("**", "*")
    return name or "*"


def _end_of(glob: str, at: int) -> int:
    """The end of the stars, the set or the braces that begin at `at`."""
    if glob[at] == "*":
        return at + (3 if glob.startswith("/", at + 2) else 2)
    if glob[at] == "[":
        return glob.find("]", at + (3 if glob[at + 1 : at + 2] in {"!", "^"} else 2)) + 1
    depth = 0
    while at < len(glob) and glob[at] != "[":
        depth += (glob[at] == "{") - (glob[at] == "}")
        at += 2 if glob[at] == "\\" else 1
        if not depth:
            return at
    return len(glob)


def _operand(folder: bytes) -> bytes:
    return b"./" + folder if folder else b"."
