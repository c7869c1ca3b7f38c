"""A name as it was asked for, such as `Client.get` or `http::Response`: which of the definitions of its last part it means.

Its qualifiers are compared with a definition's own chain when it is asked for: first with the elements around the definition, then with
the names of its file. So renaming a folder parses nothing anew. Invariant: a name without qualifiers means every definition of it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ctxd.indexer.languages import scoping_of
from ctxd.indexer.symbols.module_names import module_of, path_names

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxd.indexer.symbols.manifests import Packages
    from ctxd.indexer.symbols.outline import Named

_SEPARATORS = re.compile(r"\.|::|/|#|->|\\")


def split_name(name: str) -> tuple[list[str], str]:
    """`a.b::c/d` -> (["a", "b", "c"], "d")."""
    parts = [part for part in _SEPARATORS.split(name.strip().removesuffix("()")) if part]
    return (parts[:-1], parts[-1]) if parts else ([], "")


@dataclass(frozen=True, slots=True)
class AskedName:
    qualifiers: list[str]
    """Outermost first."""
    bare: str
    packages: Packages
    may_mean_keys: bool = True
    """Whether keys of objects are meant, too. They go by the name of their file, but only where nothing else is of the asked name."""
    without_gaps: bool = False
    """Whether the qualifiers must name all that is around a definition."""

    def fitted(self, found: Iterable[tuple[bytes, Named]]) -> AskedName:
        """The name as it is meant among all definitions, each with its file: where one fits without a gap, no other is meant."""
        if not self.qualifiers:
            return self
        fits = [(gaps, one.inside) for path, one in found if (gaps := self._gaps(path, one)) is not None]
        if not fits:
            return self
        only_keys = all(inside == "object" for _, inside in fits)
        exact = any(not gaps for gaps, inside in fits if only_keys or inside != "object")
        return replace(self, may_mean_keys=only_keys, without_gaps=exact)

    def means(self, path: bytes, one: Named) -> bool:
        """Whether a definition of the bare name in the file `path` is meant."""
        if one.inside == "object" and not self.may_mean_keys:
            return False
        gaps = self._gaps(path, one)
        return gaps is not None and not (gaps and self.without_gaps)

    def _gaps(self, path: bytes, one: Named) -> int | None:
        """How many names around a definition the qualifiers leave out; None where they are of something else.

        From the inside out, the qualifiers name its enclosing elements without a gap, then names of its file in order.
        These may have gaps: `http.HttpResponse` is that of `http/response.py`.
        """
        asked = list(self.qualifiers)
        for element in reversed(one.chain):
            if not asked:
                return 0
            if asked.pop() != element:
                return None
        return _gaps_in(self._file_names(path, asked[-1]), asked) if asked else 0

    def _file_names(self, path: bytes, nearest: str) -> list[str]:
        """The names of a file, outermost first, without those that `nearest`, the innermost asked for, need not name."""
        names = self.packages.names(path)
        scoping = scoping_of(path)
        # A file that is only a part of its folder, or stands for it, need not be named: `org.Cart` of `org/Cart.java`.
        if nearest != names[-1] and (scoping.is_folder_module or module_of(path) != path_names(path)):
            names.pop()
        is_package_of_folder = scoping.clause is not None and len(names) > 1 and names[-1] == names[-2]
        if is_package_of_folder:  # both have one name, which is asked for once
            names.pop()
        return names


def _gaps_in(names: list[str], asked: list[str]) -> int | None:
    """How many of `names` are passed over to find all of `asked` from the last on; None where not all are found. Empties both."""
    gaps = 0
    while asked and names:
        if asked[-1] == names.pop():
            asked.pop()
        else:
            gaps += 1
    return None if asked else gaps
