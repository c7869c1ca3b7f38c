"""The candidates for an asked name: its definitions and their rivals, and the files where it may be used.

Each is looked up when it is first needed, as a page is often full before. Invariant: a name that very many files define has no targets:
its uses are told by name only.
"""

from __future__ import annotations

import itertools
import os
from functools import cached_property

from ctxd.indexer import languages
from ctxd.indexer.symbols.asked_name import AskedName, split_name
from ctxd.indexer.symbols.file_occurrences import Uses, qualified
from ctxd.indexer.symbols.import_targets import Target
from ctxd.indexer.symbols.manifests import Packages
from ctxd.indexer.symbols.module_names import path_names
from ctxd.indexer.symbols.name_index import FilesNaming, NameIndex, quoted
from ctxd.indexer.symbols.outline import Named, definitions_named
from ctxd.indexer.symbols.resolution import Resolver

RESOLVED_FILES_MAX = 100  # files that define a name, beyond which its uses are told by name only


class Candidates:
    """Of one question; not shared by threads."""

    def __init__(self, root: bytes, index: NameIndex, name: str) -> None:
        self.index = index
        self.root = root
        self.qualifiers, self.bare = split_name(name)
        self.packages = Packages(root)

    @cached_property
    def defining(self) -> FilesNaming:
        return self.index.files_naming(f"defined : {quoted(self.bare)}")

    @cached_property
    def referring(self) -> FilesNaming:
        return self.index.files_naming(f"referenced : {quoted(self.bare)}")

    @cached_property
    def asked(self) -> AskedName:
        """The name as it is meant among all its definitions."""
        asked = AskedName(self.qualifiers, self.bare, self.packages)
        return asked.fitted(self._definitions) if self.qualifiers else asked

    @cached_property
    def uses(self) -> Uses:
        """Uses of the name, graded by how surely they are for what is meant."""
        targets = [
            Target(
                path,
                tuple(one.chain),
                qualified(path, one, self.bare),
                one.inside,
                self.asked.means(path, one),
                self.packages.of(path),
            )
            for path, one in self._definitions
            if self.asked.may_mean_keys or one.inside != "object"
        ]
        return Uses(self.root, self.asked, Resolver(self.bare, targets, self.packages))

    @cached_property
    def graded(self) -> dict[bytes, int]:
        """Files some of whose uses may be more than their name: they import it, or lie where it is defined."""
        resolver = self.uses.resolver
        if not resolver.targets:
            return {}
        terms = [f"imported : {quoted(name)}" for name in sorted(resolver.asked_imports())]
        terms += [f"referenced : {quoted(name)}" for name in sorted(resolver.asked_paths())]
        expression = f"(referenced : {quoted(self.bare)}) AND ({' OR '.join(terms)})"
        graded = dict(self.index.files_naming(expression).items())
        graded.update(self._defining_code)
        if resolver.folders:
            in_folders = (item for item in self.referring.items() if os.path.dirname(item[0]) in resolver.folders)
            graded.update(in_folders)
        return graded

    @cached_property
    def using(self) -> FilesNaming:
        """Files that use the name, whatever it means there."""
        if self.uses.with_keys:
            return self.index.files_naming(f"defined : {quoted(self.bare)} OR referenced : {quoted(self.bare)}")
        return self.referring

    def is_near(self, path: bytes) -> bool:
        """Whether a file so much as names what the name was asked to be in."""
        if not self.qualifiers:
            return True
        return self._naming_qualifier.get(path) is not None or self.qualifiers[-1] in path_names(path)

    @cached_property
    def _naming_qualifier(self) -> FilesNaming:
        return self.index.files_naming(quoted(self.qualifiers[-1]))

    @cached_property
    def _defining_code(self) -> dict[bytes, int]:
        """Files of code that define the name; where they are very many, one more than are looked into."""
        files = [(path, id_) for path, id_ in self.defining.items() if not has_sections(path)]
        if len(files) > RESOLVED_FILES_MAX:  # without the rivals in files that are not near
            files = ((path, id_) for path, id_ in files if self.is_near(path))
        return dict(itertools.islice(files, RESOLVED_FILES_MAX + 1))

    @cached_property
    def _definitions(self) -> list[tuple[bytes, Named]]:
        """The definitions that may be meant and their rivals, each with its file; none where they are very many."""
        files = self._defining_code
        if len(files) > RESOLVED_FILES_MAX:
            return []
        return [
            (outline.path, one)
            for outline in self.index.outlines(sorted(files), files, definitions_only=True)
            for one in definitions_named(outline.definitions, self.bare)
        ]


def has_sections(path: bytes) -> bool:
    """Whether the names in a file are headings or keys."""
    found = languages.parsed_language_of(path)
    return found is not None and found.has_sections
