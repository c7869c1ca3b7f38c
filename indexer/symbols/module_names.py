"""The names of a file's module: the names in its path, as its language counts them."""

from __future__ import annotations

import os

from ctxd.indexer import languages
from ctxd.indexer.languages import scoping_of
from ctxd.indexer.languages.language import names_of

_FOLDER_FILES = frozenset(stem for language in languages.LANGUAGES for stem in language.scoping.folder_files)


def path_names(path: bytes) -> list[str]:
    """The names in a path without its extension: `["src", "cart", "test"]` for `src/cart.test.ts`."""
    folder, _, name = path.rpartition(b"/")
    return names_of(os.path.join(folder, os.path.splitext(name)[0]))


def module_of(path: bytes) -> list[str]:
    """The names of a file's module: those in its path. A file that stands for its folder has the folder's names."""
    scoping = scoping_of(path)
    if scoping.clause is not None:
        return names_of(os.path.dirname(path))
    names = path_names(path)
    stem = os.path.splitext(os.path.basename(path))[0].decode("utf-8", "backslashreplace")
    stands = stem in _FOLDER_FILES or stem in scoping.root_files
    return names[:-1] if stands and len(names) > 1 else names
