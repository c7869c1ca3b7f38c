"""The parts of a language's module: the language's row, its rules for the parser, and its scoping (what names mean).

Invariant: only data and functions of their arguments. Neither this file nor that of a language imports a grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


class Claim(NamedTuple):
    """Files that are another language's by name, and this one's if their text matches."""

    extensions: tuple[bytes, ...]
    text: re.Pattern[bytes]


class Package(NamedTuple):
    """A package as its manifest describes it."""

    name: str
    """The start of its imports: `github.com/owner/project/v2`, `my_crate`."""
    folder: bytes
    """Folder of its outermost module."""
    roots: tuple[bytes, ...] = ()
    """Folders of the outermost modules of all crates whose files the manifest names. Other crates lie where Cargo looks
    for them."""


class Manifest(NamedTuple):
    """A file that names the package of all sources below it."""

    file_name: bytes
    read: Callable[[bytes, bytes], Package | None]
    """Reads the package from the manifest's text and folder; None if it names none."""


class PackageClause(NamedTuple):
    """A clause in each file that names its package. All files of a folder have one package, except that tests from
    outside may have their own.
    """

    pattern: re.Pattern[str]
    """Its first group is the name."""
    tests_end: bytes
    """Ending of file names that may belong to such a test package."""
    test_package_ends: str
    """Ending of that package's name."""


class PathWords(NamedTuple):
    """Words that a path such as `crate::cart::price` starts with."""

    root: tuple[str, ...]
    """The outermost module of the file's own package."""
    own: tuple[str, ...]
    """The file's own module."""
    up: tuple[str, ...]
    """The module around that one; may be repeated."""
    own_type: str
    """The type around the path."""

    @property
    def relative(self) -> tuple[str, ...]:
        return self.own + self.up


class Start(NamedTuple):
    """The place that the name of a module leads to."""

    parts: list[str]
    folder: list[str] | None
    """Names of the folder or module from which the parts lead on; None if it may be any."""


class Importer(NamedTuple):
    """A file that names a module."""

    path: bytes
    module: list[str]
    """The names of its own module."""
    inline: tuple[str, ...]
    """Inline modules of the file around the place that names the other module."""
    packages: Collection[Package]
    """Packages of its language that the name may mean."""
    package: Callable[[], Package | None]
    """Gives the file's own package."""


@dataclass(frozen=True, slots=True, eq=False)
class Scoping:
    """The meaning of names in a language, as far as imports and places show it. Used to grade the uses of a name.

    The defaults claim the least.
    """

    members_by_name: bool = False
    """True if a type's members are visible inside it without `this.`."""
    open_kinds: frozenset[str] = frozenset()
    """Kinds of elements whose members are visible around them: C's enumerations."""
    members_are_free: bool = False
    """True if members go by bare names everywhere: a record's fields are functions, a module's table is the module."""
    assigning_declares: bool = False
    """True if an assignment inside a function makes a local variable."""
    imports_inside: bool = False
    """True if imports may stand inside functions and end with them."""
    braces_hold_values: bool = False
    """True if `{name: value}` reads a variable called `name`."""
    typed_literals: bool = False
    """True if literals and patterns name their fields in braces after the type: `Cart{Total: 1}`, `Cart { total }`."""
    receiver: re.Pattern[str] | None = None
    """For languages in which each method names its own object: matches a definition's line; group 1 is the name."""
    is_folder_module: bool = False
    """True if all files of a folder are one module."""
    folder_files: frozenset[str] = frozenset()
    """Stems of files that stand for their folder. They do so in files of any language."""
    root_files: frozenset[str] = frozenset()
    """Stems of files that stand for their folder in this language only."""
    clause: PackageClause | None = None
    """For languages whose files name their package: then file names mean nothing."""
    manifest: Manifest | None = None
    paths: PathWords | None = None
    """For languages in which a path, `a::b::name`, can name something that is not imported."""
    leads: Callable[[str, Importer, Start], Start | None] | None = None
    """Finds where the name of a module leads, from the name, its importer and its meaning by spelling; None if it leads
    out of the project."""
    hands_on: bool = True
    """True if a module may offer names that modules inside it define."""
    brings_all: bool = False
    """True if an import of a file without an alias brings in all its names, though the import does not say so."""
    includes: bool = False
    """True if an import names a file, never a folder."""
    behind_dot: Literal["module", "imported", "member"] = "module"
    """What may follow a dot: a part of a module's name; such a part if the whole name was imported; only a member."""


NO_SCOPING = Scoping()
"""Scoping of an unknown language."""


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    name: str
    extensions: tuple[bytes, ...]
    """Lower case, with the dot."""
    file_names: tuple[bytes, ...] = ()
    comments: tuple[str, ...] = ()
    """How comment lines begin, longer beginnings first. `documents/comments.py` has the ends of multi-line comments."""
    has_sections: bool = False
    """True if its symbols are headings and keys."""
    rules: Rules | None = None
    """How it is parsed for symbols; None if it is not."""
    scoping: Scoping = NO_SCOPING
    counts_as: str = ""
    """A language that includes this one in questions: somebody who asks for TypeScript also means TSX."""
    claims: Claim | None = None

    @property
    def has_symbols(self) -> bool:
        return self.has_sections or self.rules is not None


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """How a language is parsed for symbols."""

    grammar: str
    queries: tuple[str, ...]
    """Query files of this folder, read as one. parser.py describes the capture names."""
    modifiers: frozenset[str]
    """Words before a definition's name that become its modifiers."""
    imports: Callable[[Any, bytes], Iterable[ImportedName]]
    """Gives the names that an import brings in, from the node of its `@import` capture and the text. No names: it is
    not an import after all."""
    prepare: Callable[[bytes], Prepared] | None = None
    sort_out: Callable[[dict[str, list[Any]], bytes], None] | None = None
    """Changes the captures of a file before they are read, if words decide what a node is. Queries do not test words,
    because text predicates are their slowest part. A `Span` may replace a node if a name is only a part of it."""
    declared: Callable[[Any, str, bytes], tuple[Any, Any | None, tuple[int, int] | None] | None] | None = None
    """Takes the node of a `@declarator` capture, its kind and the text before it in its element. Gives the node (or
    Span) of the name, the node of the parameters and the span of the owner; None if it declares but does not define."""
    owner: Callable[[str], str] | None = None
    """Turns the text of an `@owner` capture into the type's name; "" if it is not a type."""
    upper_case_is_constant: bool = False
    blank_name: bytes = b""
    """The mark that replaces an unwanted name: `_` in Go."""
    imports_by_name: bool = False
    """True if a file must import names of other files, or their modules, before use. Any other name is built in."""
    keywords: frozenset[str] = frozenset()
    """Words that are not references, though the grammar or a span of plain tokens shows them as names."""
    has_clauses: bool = False
    """True if a function may have several clauses: the following ones with its name belong to the same definition."""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name that an import statement brings in; `byte` is its place in the text.

    `name` is empty for the module itself and "*" for all its names. `alias` is empty if the import renames nothing. If
    the statement spells the name only in a string, `bound` is the name to list as a reference of role "import".
    """

    module: str
    name: str
    alias: str
    byte: int
    bound: str = ""


class Span(NamedTuple):
    """A part of a node. Rules give it in place of a node for a name that is not a whole node."""

    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """Text for the grammar, as long as the original. Parts that would confuse the grammar are blanked.

    `tokens` are the blanked spans; their identifiers still count as references.
    """

    text: bytes
    tokens: tuple[tuple[int, int], ...] = ()


def names_of(path: bytes) -> list[str]:
    """The names in a path. A dot in a file or folder name separates names, as it does in imports."""
    return [name for name in _PATH_SEPARATORS.split(path.decode("utf-8", "backslashreplace")) if name]


_PATH_SEPARATORS = re.compile(r"[./]")


def overwritten(
    text: bytes, parts: Iterable[tuple[int, int, bytes]], keywords: frozenset[bytes] = frozenset()
) -> Prepared:
    """Overwrite parts (start, end, filling) of the text with their filling, repeated to their length.

    Words under blanks still count as references, except `keywords`, which may be names elsewhere.
    """
    prepared = bytearray(text)
    tokens = []
    for start, end, filling in parts:
        prepared[start:end] = (filling * (end - start))[: end - start]
        if filling == b" ":
            words = (word for word in _WORD.finditer(text, start, end) if word["word"])
            tokens += [word.span() for word in words if word["word"] not in keywords]
    return Prepared(bytes(prepared), tuple(tokens))


def stumbling(text: bytes, rewrites: Iterable[tuple[re.Pattern[bytes], bytes]]) -> Iterator[tuple[int, int, bytes]]:
    """Parts to overwrite: the last group of every match of a pattern, or the whole match, with the pattern's filling.

    Each pattern should begin with a literal: that is found at memory speed, while a choice is tried at every byte.
    """
    for pattern, filling in rewrites:
        for match in pattern.finditer(text):
            yield (*match.span(match.lastindex or 0), filling)


_WORD = re.compile(rb'//[^\n]*|"(?:[^"\\\n]|\\.)*"|(?P<word>[A-Za-z_]\w*)')


def field_text(node: Any, field: str, text: bytes) -> str:
    """The text of a node's field; "" if it has none."""
    child = node.child_by_field_name(field)
    return node_text(child, text) if child is not None else ""


def node_text(node: Any, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")


def children_of_type(node: Any, *types: str) -> Iterator[Any]:
    return (child for child in node.named_children if child.type in types)


def leave_imports(
    captures: dict[str, list[Any]], imports: Callable[[Any, bytes], Iterable[ImportedName]], text: bytes
) -> set[int]:
    """For `sort_out`, if calls may be imports: keep the outermost imports. Return offsets of the names they bind."""
    kept: list[Any] = []
    bound: set[int] = set()
    for node in sorted(captures.get("import", ()), key=lambda node: (node.start_byte, -node.end_byte)):
        found = list(imports(node, text))
        if found and not (kept and node.end_byte <= kept[-1].end_byte):
            kept.append(node)
            bound.update(name.byte for name in found if name.alias)
    captures["import"] = kept
    return bound


def head_of_type(owner: str) -> str:
    """The bare type of an extension's receiver: `Map.Entry` for `Map.Entry<K, V>?`."""
    head = _HEAD_OF_TYPE.search(owner)
    return head[0] if head is not None else owner


_HEAD_OF_TYPE = re.compile(r"[\w.]+")
