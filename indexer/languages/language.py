"""What a language's file is made of: the record of a language, its rules for the parser, and what names mean in it.

Invariant: data and functions over what they are given; nothing here, and in no file of a language, imports a grammar.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


class Claim(NamedTuple):
    """Files of another language by their name, which are this one's where their text says so."""

    extensions: tuple[bytes, ...]
    text: re.Pattern[bytes]


class Package(NamedTuple):
    """What a manifest says of the sources beside it."""

    name: str
    """What an import starts with: `github.com/owner/project/v2`, `my_crate`."""
    folder: bytes
    """Of its outermost module."""
    roots: tuple[bytes, ...] = ()
    """Folders of the outermost modules of all crates whose files the manifest names; the others lie where Cargo looks for them."""


class Manifest(NamedTuple):
    """A file that names the package of all sources below it."""

    file_name: bytes
    read: Callable[[bytes, bytes], Package | None]
    """From its text and folder; None where it names no package."""


class PackageClause(NamedTuple):
    """In each file, the package that it is of. The files of a folder are of one, except the tests of that package from outside."""

    pattern: re.Pattern[str]
    """Its first group is the name."""
    tests_end: bytes
    """How names of files end that may be of such a package of tests."""
    test_package_ends: str
    """How its name ends."""


class PathWords(NamedTuple):
    """Words that a path such as `crate::cart::price` starts with."""

    root: tuple[str, ...]
    """The outermost module of the file's own package."""
    own: tuple[str, ...]
    """The file's own module."""
    up: tuple[str, ...]
    """The module around that; may be said again and again."""
    own_type: str
    """The type around it."""

    @property
    def relative(self) -> tuple[str, ...]:
        return self.own + self.up


class Start(NamedTuple):
    """Where the name of a module leads."""

    parts: list[str]
    folder: list[str] | None
    """Names of the folder or module from which the parts lead on; None where that may be any."""


class Importer(NamedTuple):
    """A file that names a module."""

    path: bytes
    module: list[str]
    """The names of its own module."""
    inline: tuple[str, ...]
    """Modules written out in the file, around the place where the other one is named."""
    packages: Collection[Package]
    """Of its language, those that may be meant."""
    package: Callable[[], Package | None]
    """Its own."""


@dataclass(frozen=True, slots=True, eq=False)
class Scoping:
    """What names mean in a language, as far as imports and places tell: read when the uses of a name are graded.

    The defaults say the least.
    """

    members_by_name: bool = False
    """Whether a type's members are visible inside it without `this.`."""
    open_kinds: frozenset[str] = frozenset()
    """Kinds of elements whose members are visible around them: C's enumerations."""
    members_are_free: bool = False
    """Whether members go by their bare names everywhere: a record's fields are functions, a module's table is the module."""
    assigning_declares: bool = False
    """Whether an assignment inside a function makes a local variable."""
    imports_inside: bool = False
    """Whether imports stand inside functions as well, and end with them."""
    braces_hold_values: bool = False
    """Whether `{name: value}` reads a variable of that name."""
    typed_literals: bool = False
    """Whether literals and patterns name their fields in braces after the type: `Cart{Total: 1}`, `Cart { total }`."""
    receiver: re.Pattern[str] | None = None
    """Where each method names its own object: matches the line of its definition, and the name is the first group."""
    is_folder_module: bool = False
    """Whether all files of a folder are one module."""
    folder_files: frozenset[str] = frozenset()
    """Stems of files that stand for their folder. Such a file of any language does."""
    root_files: frozenset[str] = frozenset()
    """Stems of files that stand for their folder in this language alone."""
    clause: PackageClause | None = None
    """Where files say of which package they are, the names of the files mean nothing."""
    manifest: Manifest | None = None
    paths: PathWords | None = None
    """Where a name that is not imported can be told by its path, `a::b::name`."""
    leads: Callable[[str, Importer, Start], Start | None] | None = None
    """Where the name of a module leads, from that and what it would mean by its spelling alone; None where it leads out of the project."""
    hands_on: bool = True
    """Whether a module may offer as its own what modules inside it define."""
    brings_all: bool = False
    """Whether importing a file without giving it a name brings in all of its names, though the import does not say so."""
    includes: bool = False
    """Whether what is imported is a file, never a folder."""
    behind_dot: Literal["module", "imported", "member"] = "module"
    """What may stand after a dot: a part of a module's name; that only where the whole name was imported; a member and no module."""


NO_SCOPING = Scoping()
"""Of a language of which nothing is known."""


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    name: str
    extensions: tuple[bytes, ...]
    """Lower case, with the dot."""
    file_names: tuple[bytes, ...] = ()
    comments: tuple[str, ...] = ()
    """How a line begins that is a comment, longer beginnings before shorter ones; `documents/comments.py` knows how those end that go on."""
    has_sections: bool = False
    """Its symbols are headings and keys."""
    rules: Rules | None = None
    """How it is parsed for symbols; None where it is not."""
    scoping: Scoping = NO_SCOPING
    counts_as: str = ""
    """The language that people mean by it too: whoever asks for TypeScript means TSX as well."""
    claims: Claim | None = None

    @property
    def has_symbols(self) -> bool:
        return self.has_sections or self.rules is not None


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """How a language is parsed for symbols."""

    grammar: str
    queries: tuple[str, ...]
    """Query files of this folder, read as one. The capture names are described in parser.py."""
    modifiers: frozenset[str]
    """Words before a definition's name that are kept as its modifiers."""
    imports: Callable[[Any, bytes], Iterable[ImportedName]]
    """From the node of an `@import` capture and the text; no names: not an import after all."""
    prepare: Callable[[bytes], Prepared] | None = None
    sort_out: Callable[[dict[str, list[Any]], bytes], None] | None = None
    """Changes the captures of a file before they are read, where words decide what a node is: the query does not look at
    words, as its text predicates cost more than all else. A `Span` may stand for a node where a name is a part of one."""
    declared: Callable[[Any, str, bytes], tuple[Any, Any | None, tuple[int, int] | None] | None] | None = None
    """From the node of a `@declarator` capture, its kind and the text before it in its element: the node (or Span) of the name, the node of
    the parameters and the span of the owner; None where it declares without defining."""
    owner: Callable[[str], str] | None = None
    """From the text of an `@owner` capture to the type's name; "" where it is none."""
    upper_case_is_constant: bool = False
    blank_name: bytes = b""
    """What stands where a name is not wanted: `_` in Go."""
    imports_by_name: bool = False
    """Whether a file names what other files define only after importing it, or the module it is in: any other name is built in."""
    keywords: frozenset[str] = frozenset()
    """Words that are no references though they look like names to the grammar or in a span that is read as plain tokens."""
    has_clauses: bool = False
    """Whether a function is written clause by clause: what follows under the same name belongs to the definition before."""


@dataclass(frozen=True, slots=True)
class ImportedName:
    """One name that an import statement brings in; `byte` is where it stands in the text.

    `name` is empty where the module itself is meant, "*" where all of it is; `alias` is empty where the import renames nothing.
    `bound` is the name to be listed as a reference of role "import" where the statement spells it in a string only.
    """

    module: str
    name: str
    alias: str
    byte: int
    bound: str = ""


class Span(NamedTuple):
    """What rules give for a name that no node spells alone: a part of one, in its place."""

    start_byte: int
    end_byte: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """Text for the grammar: as long as the original, with what would confuse the grammar blanked.

    `tokens` are the blanked spans; their identifiers still count as references.
    """

    text: bytes
    tokens: tuple[tuple[int, int], ...] = ()


def names_of(path: bytes) -> list[str]:
    """The names in a path. A dot in the name of a file or folder parts names as it does in what imports call them."""
    return [name for name in _PATH_SEPARATORS.split(path.decode("utf-8", "backslashreplace")) if name]


_PATH_SEPARATORS = re.compile(r"[./]")


def overwritten(
    text: bytes, parts: Iterable[tuple[int, int, bytes]], keywords: frozenset[bytes] = frozenset()
) -> Prepared:
    """Text with parts (start, end, filling) overwritten by their filling, repeated to their length.

    Words under blanks still count as references, but for `keywords`, which elsewhere may be names.
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
    """For each pattern and its filling the last group of every match, all of it where there is none, as a part to be overwritten.

    Each pattern should begin with a literal: that is found at the speed of memory, whereas a choice is tried at every byte.
    """
    for pattern, filling in rewrites:
        for match in pattern.finditer(text):
            yield (*match.span(match.lastindex or 0), filling)


_WORD = re.compile(rb'//[^\n]*|"(?:[^"\\\n]|\\.)*"|(?P<word>[A-Za-z_]\w*)')


def field_text(node: Any, field: str, text: bytes) -> str:
    """The text of a node's field, "" without one."""
    child = node.child_by_field_name(field)
    return node_text(child, text) if child is not None else ""


def node_text(node: Any, text: bytes) -> str:
    return text[node.start_byte : node.end_byte].decode("utf-8", "replace")


def children_of_type(node: Any, *types: str) -> Iterator[Any]:
    return (child for child in node.named_children if child.type in types)


def leave_imports(
    captures: dict[str, list[Any]], imports: Callable[[Any, bytes], Iterable[ImportedName]], text: bytes
) -> set[int]:
    """For `sort_out`, where any call may be an import: leave the outermost that are. Returns where the names stand that they bind."""
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
    """`Map.Entry` of `Map.Entry<K, V>?`: the receiver of an extension."""
    head = _HEAD_OF_TYPE.search(owner)
    return head[0] if head is not None else owner


_HEAD_OF_TYPE = re.compile(r"[\w.]+")
