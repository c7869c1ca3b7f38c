"""Every language ctxd knows by file name: the one table behind symbols, the default scope of text search and `ctxd languages`.

Invariant: this module is data and look-ups; it never imports a grammar. A language with `has_symbols` has a module of its own
here that exports `RULES`, beside the query files that the rules name; one with `has_sections` a scanner in structure/.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    extensions: tuple[bytes, ...]
    """Lower case, with the dot."""
    file_names: tuple[bytes, ...] = ()
    has_symbols: bool = False
    has_sections: bool = False
    """Its symbols are headings and keys."""


def _row(
    name: str, extensions: str, file_names: str = "", *, has_symbols: bool = False, has_sections: bool = False
) -> Language:
    return Language(
        name,
        tuple(f".{extension}".encode() for extension in extensions.split()),
        tuple(file_name.encode() for file_name in file_names.split()),
        has_symbols or has_sections,
        has_sections,
    )


LANGUAGES: tuple[Language, ...] = (
    # Parsed for symbols. A `.h` file is C until its text says C++.
    _row("python", "py pyi pyw", "SConstruct SConscript wscript", has_symbols=True),
    _row("javascript", "js jsx mjs cjs", has_symbols=True),
    _row("typescript", "ts mts cts", has_symbols=True),
    _row("tsx", "tsx", has_symbols=True),
    _row("go", "go", has_symbols=True),
    _row("java", "java", has_symbols=True),
    _row("rust", "rs", has_symbols=True),
    _row("c", "c h", has_symbols=True),
    _row("cpp", "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp txx cppm ixx cu cuh", has_symbols=True),
    _row("lua", "lua rockspec", has_symbols=True),
    _row("elixir", "ex exs", has_symbols=True),
    _row(
        "bash",
        "sh bash zsh ksh bats ebuild eclass",
        ".bashrc .bash_profile .bash_aliases .zshrc .zshenv .profile PKGBUILD APKBUILD",
        has_symbols=True,
    ),
    _row("zig", "zig zon", has_symbols=True),
    _row("csharp", "cs csx", has_symbols=True),
    _row(
        "ruby",
        "rb rake gemspec ru podspec jbuilder",
        "Rakefile Gemfile Vagrantfile Brewfile Podfile Fastfile Guardfile Capfile Dangerfile",
        has_symbols=True,
    ),
    _row("php", "php phtml", has_symbols=True),
    _row("kotlin", "kt kts", has_symbols=True),
    _row("swift", "swift", has_symbols=True),
    _row("scala", "scala sc sbt", has_symbols=True),
    _row("haskell", "hs hs-boot hsc", has_symbols=True),
    # Other programming languages.
    _row("assembly", "s asm nasm"),
    _row("clojure", "clj cljs cljc edn"),
    _row("d", "d"),
    _row("dart", "dart"),
    _row("eex", "heex eex leex"),
    _row("elm", "elm"),
    _row("erlang", "erl hrl"),
    _row("fortran", "f f90 f95 f03 f08 for"),
    _row("fsharp", "fs fsi fsx"),
    _row("gdscript", "gd"),
    _row("glsl", "glsl vert frag comp hlsl wgsl metal"),
    _row("groovy", "groovy gradle", "Jenkinsfile"),
    _row("julia", "jl"),
    _row("lisp", "el lisp scm rkt"),
    _row("literate-haskell", "lhs"),
    _row("nim", "nim nims"),
    _row("nix", "nix"),
    _row("objective-c", "m mm"),
    _row("ocaml", "ml mli"),
    _row("pascal", "pas dpr"),
    _row("perl", "pl pm t"),
    _row("powershell", "ps1 psm1 psd1"),
    _row("r", "r rmd"),
    _row("awk", "awk"),
    _row("batch", "bat cmd"),
    _row("fish", "fish"),
    _row("solidity", "sol"),
    _row("sql", "sql"),
    _row("tcl", "tcl"),
    _row("verilog", "v sv svh vh vhd vhdl"),
    _row("vim", "vim"),
    _row("visual-basic", "vb vbs bas"),
    # Pages and styles.
    _row("css", "css scss sass less styl"),
    _row("html", "html htm xhtml"),
    _row("template", "erb j2 jinja jinja2 tmpl tpl mustache hbs ejs pug liquid"),
    _row("svelte", "svelte"),
    _row("vue", "vue"),
    _row("astro", "astro mdx"),
    # Prose.
    _row("markdown", "md markdown", has_sections=True),
    _row("restructuredtext", "rst", has_sections=True),
    _row("asciidoc", "adoc asciidoc"),
    _row("tex", "tex bib"),
    _row(
        "text",
        "txt text",
        "README LICENSE COPYING NOTICE AUTHORS CONTRIBUTORS MAINTAINERS CREDITS CHANGELOG CHANGES TODO INSTALL NEWS",
    ),
    # Configuration, builds and data that people write by hand.
    _row("bazel", "bzl bazel star", "BUILD WORKSPACE BUCK Tiltfile"),
    _row("cmake", "cmake", "CMakeLists.txt"),
    _row("config", "config", ".gitignore .gitattributes .dockerignore .ctxdignore .ignore CODEOWNERS"),
    _row("csv", "csv tsv"),
    _row("devicetree", "dts dtsi dtso"),
    _row("docker", "dockerfile", "Dockerfile Containerfile"),
    _row("dotenv", "", ".env .env.example .env.sample .env.template .env.dist", has_sections=True),
    _row("git-config", "", ".gitconfig .gitmodules", has_sections=True),
    _row("graphql", "graphql gql"),
    _row("hcl", "tf tfvars hcl"),
    _row(
        "ini", "ini cfg cnf conf desktop", ".editorconfig .coveragerc .flake8 .hgrc .npmrc .pylintrc", has_sections=True
    ),
    _row("json", "json json5 jsonc webmanifest", ".babelrc .eslintrc .prettierrc", has_sections=True),
    _row("json-lines", "jsonl ndjson"),
    _row("kconfig", "kconfig", "Kconfig Kconfig.debug Kbuild"),
    _row("linker-script", "ld lds"),
    _row("make", "mk mak make am", "Makefile makefile GNUmakefile Justfile justfile"),
    _row("meson", "", "meson.build meson.options meson_options.txt"),
    _row("patch", "patch diff"),
    _row("protobuf", "proto thrift capnp fbs"),
    _row("autoconf", "ac m4 in"),
    _row("properties", "properties", has_sections=True),
    _row("systemd", "service socket timer mount automount target path slice network netdev link", has_sections=True),
    _row("toml", "toml", "Pipfile Cargo.lock poetry.lock", has_sections=True),
    _row("xml", "xml xsd xsl xslt svg plist csproj props targets xaml"),
    _row("yaml", "yaml yml", "Procfile", has_sections=True),
    _row("go-module", "", "go.mod go.sum go.work"),
)

COMMON_EXTENSIONS: frozenset[bytes] = frozenset(
    extension for language in LANGUAGES for extension in language.extensions
)
"""The default scope of a text search by extension: what people write by hand."""

COMMON_NAMES: frozenset[bytes] = frozenset(name for language in LANGUAGES for name in language.file_names)
"""Base names that are in that scope whatever their extension."""

PROSE: frozenset[str] = frozenset({"markdown", "restructuredtext", "asciidoc"})
"""Languages that explain rather than do."""

_WITHOUT_MEANING = frozenset(
    {
        *(
            "text",
            "tex",
            "css",
            "html",
            "config",
            "csv",
            "devicetree",
            "dotenv",
            "git-config",
            "ini",
            "json",
            "json-lines",
        ),
        *("linker-script", "patch", "autoconf", "properties", "systemd", "toml", "xml", "yaml", "go-module"),
    }
)
"""Data, and what is looked for by its words: not cut into chunks for semantic search."""

LANGUAGE_BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}
_BY_FILE_NAME = {name: language for language in LANGUAGES for name in language.file_names}


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """Which of the known languages somebody means: by its extension (`py`), else by a name like it."""
    extension = b"." + name.lower().lstrip(".").encode()
    meant = [one.name for one in LANGUAGES if extension in one.extensions and one.name in known]
    return next(iter(meant or difflib.get_close_matches(name.lower(), known, 1)), None)


def language_of(path: bytes, text: bytes | None = None) -> Language | None:
    """The language of a file by its name. The canonical text, where given, tells a C++ `.h` from one of C."""
    name = path[path.rfind(b"/") + 1 :]
    language = _BY_FILE_NAME.get(name)
    if language is None:
        dot = name.rfind(b".")
        if dot <= 0:
            return None
        language = _BY_EXTENSION.get(name[dot:].lower())
        if text is not None and name.endswith((b".h", b".H")) and _ONLY_IN_CPP.search(text):
            return LANGUAGE_BY_NAME["cpp"]
    return language


def parsed_language_of(path: bytes) -> Language | None:
    """The language of a file that is parsed for symbols, by its name; a `.h` file counts as C."""
    language = language_of(path)
    return language if language is not None and language.has_symbols else None


def is_chunked(language: Language) -> bool:
    """Whether semantic search covers it."""
    return language.name not in _WITHOUT_MEANING


def chunked_language_of(path: bytes) -> Language | None:
    """The language of a file that semantic search covers, by its name."""
    language = language_of(path)
    return language if language is not None and is_chunked(language) else None


_ONLY_IN_CPP = re.compile(
    rb"^[ \t]*(?:template[ \t]*<|namespace\b[^;{]*\{|class[ \t]+\w[^;()]*[:{]|(?:public|private|protected)[ \t]*:|using[ \t]+\w"
    rb"|#[ \t]*include[ \t]*<\w+>)",
    re.MULTILINE,
)


# What a module of this folder exports as RULES, and the parser reads.


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


@dataclass(frozen=True, slots=True)
class Rules:
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
