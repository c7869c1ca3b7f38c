"""The table of all languages that ctxd knows by file name. Symbols, the default scope of text search and
`ctxd languages` use it.

A language that is parsed for symbols has a module in this folder, which exports `LANGUAGE`, its row of the table. Its
query files lie beside it. A language with `has_sections` has a scanner in structure/. Invariant: no code outside knows
a parsed language by its name, and nothing here imports a grammar.
"""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING

from ctxd.indexer.languages.language import NO_SCOPING, Language

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctxd.indexer.languages.language import Scoping

_HASH = ("#",)
_SLASHES = ("//", "/*")
_ANGLES = ("<!--",)


def _row(
    name: str, extensions: str, file_names: str = "", comments: tuple[str, ...] = (), *, has_sections: bool = False
) -> Language:
    return Language(
        name,
        tuple(f".{extension}".encode() for extension in extensions.split()),
        tuple(file_name.encode() for file_name in file_names.split()),
        comments,
        has_sections,
    )


def _parsed() -> Iterator[Language]:
    """The languages that are parsed for symbols: one for each module of this folder except `language`."""
    for module in pkgutil.iter_modules(__path__):
        if module.name != "language":
            yield importlib.import_module(f"{__name__}.{module.name}").LANGUAGE


LANGUAGES: tuple[Language, ...] = (
    *_parsed(),
    # Other programming languages.
    _row("assembly", "s asm nasm", comments=(";", "#", "//", "/*")),
    _row("clojure", "clj cljs cljc edn", comments=(";",)),
    _row("d", "d", comments=_SLASHES),
    _row("dart", "dart", comments=_SLASHES),
    _row("eex", "heex eex leex"),
    _row("elm", "elm", comments=("{-", "--")),
    _row("erlang", "erl hrl", comments=("%",)),
    _row("fortran", "f f90 f95 f03 f08 for", comments=("!",)),
    _row("fsharp", "fs fsi fsx", comments=("//", "(*")),
    _row("gdscript", "gd", comments=_HASH),
    _row("glsl", "glsl vert frag comp hlsl wgsl metal", comments=_SLASHES),
    _row("groovy", "groovy gradle", "Jenkinsfile", _SLASHES),
    _row("julia", "jl", comments=_HASH),
    _row("lisp", "el lisp scm rkt", comments=(";",)),
    _row("literate-haskell", "lhs"),
    _row("nim", "nim nims", comments=_HASH),
    _row("nix", "nix", comments=("#", "/*")),
    _row("objective-c", "m mm", comments=_SLASHES),
    _row("ocaml", "ml mli", comments=("(*",)),
    _row("pascal", "pas dpr", comments=("//", "(*", "{-")),
    _row("perl", "pl pm t", comments=_HASH),
    _row("powershell", "ps1 psm1 psd1", comments=("#", "<#")),
    _row("r", "r rmd", comments=_HASH),
    _row("awk", "awk", comments=_HASH),
    _row("batch", "bat cmd", comments=("::", "REM", "rem")),
    _row("fish", "fish", comments=_HASH),
    _row("solidity", "sol", comments=_SLASHES),
    _row("sql", "sql", comments=("--", "/*")),
    _row("tcl", "tcl", comments=_HASH),
    _row("verilog", "v sv svh vh vhd vhdl", comments=_SLASHES),
    _row("vim", "vim", comments=('"',)),
    _row("visual-basic", "vb vbs bas", comments=("'",)),
    # Pages and styles.
    _row("css", "css scss sass less styl", comments=_SLASHES),
    _row("html", "html htm xhtml", comments=_ANGLES),
    _row("template", "erb j2 jinja jinja2 tmpl tpl mustache hbs ejs pug liquid"),
    _row("svelte", "svelte", comments=_ANGLES),
    _row("vue", "vue", comments=_ANGLES),
    _row("astro", "astro mdx"),
    # Prose.
    _row("markdown", "md markdown", has_sections=True),
    _row("restructuredtext", "rst", has_sections=True),
    _row("asciidoc", "adoc asciidoc", comments=("//",)),
    _row("tex", "tex bib", comments=("%",)),
    _row(
        "text",
        "txt text",
        "README LICENSE COPYING NOTICE AUTHORS CONTRIBUTORS MAINTAINERS CREDITS CHANGELOG CHANGES TODO INSTALL NEWS",
        ("#", ";", "//", "-- ", "/*"),
    ),
    # Configuration, builds and data that people write by hand.
    _row("bazel", "bzl bazel star", "BUILD WORKSPACE BUCK Tiltfile", _HASH),
    _row("cmake", "cmake", "CMakeLists.txt", _HASH),
    _row("config", "config", ".gitignore .gitattributes .dockerignore .ctxdignore .ignore CODEOWNERS", _HASH),
    _row("csv", "csv tsv", comments=_HASH),
    _row("devicetree", "dts dtsi dtso", comments=_SLASHES),
    _row("docker", "dockerfile", "Dockerfile Containerfile", _HASH),
    _row("dotenv", "", ".env .env.example .env.sample .env.template .env.dist", _HASH, has_sections=True),
    _row("git-config", "", ".gitconfig .gitmodules", ("#", ";"), has_sections=True),
    _row("graphql", "graphql gql", comments=_HASH),
    _row("hcl", "tf tfvars hcl", comments=("#", "//", "/*")),
    _row(
        "ini",
        "ini cfg cnf conf desktop",
        ".editorconfig .coveragerc .flake8 .hgrc .npmrc .pylintrc",
        ("#", ";"),
        has_sections=True,
    ),
    _row("json", "json json5 jsonc webmanifest", ".babelrc .eslintrc .prettierrc", _SLASHES, has_sections=True),
    _row("json-lines", "jsonl ndjson"),
    _row("kconfig", "kconfig", "Kconfig Kconfig.debug Kbuild", _HASH),
    _row("linker-script", "ld lds", comments=_SLASHES),
    _row("make", "mk mak make am", "Makefile makefile GNUmakefile Justfile justfile", _HASH),
    _row("meson", "", "meson.build meson.options meson_options.txt", _HASH),
    _row("patch", "patch diff"),
    _row("protobuf", "proto thrift capnp fbs", comments=_SLASHES),
    _row("autoconf", "ac m4 in", comments=("dnl", "#")),
    _row("properties", "properties", comments=("#", "!"), has_sections=True),
    _row(
        "systemd",
        "service socket timer mount automount target path slice network netdev link",
        comments=("#", ";"),
        has_sections=True,
    ),
    _row("toml", "toml", "Pipfile Cargo.lock poetry.lock", _HASH, has_sections=True),
    _row("xml", "xml xsd xsl xslt svg plist csproj props targets xaml", comments=_ANGLES),
    _row("yaml", "yaml yml", "Procfile", _HASH, has_sections=True),
    _row("go-module", "", "go.mod go.sum go.work", _SLASHES),
)

COMMON_EXTENSIONS: frozenset[bytes] = frozenset(
    extension for language in LANGUAGES for extension in language.extensions
)
"""Extensions of files that people write by hand: the default scope of a text search."""

COMMON_NAMES: frozenset[bytes] = frozenset(name for language in LANGUAGES for name in language.file_names)
"""Base names that are in that scope, whatever their extension."""

PROSE: frozenset[str] = frozenset({"markdown", "restructuredtext", "asciidoc"})
"""Languages of explanations, not of code."""

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
"""Data, and texts that people find by their words: not cut into chunks for semantic search."""

LANGUAGE_BY_NAME: dict[str, Language] = {language.name: language for language in LANGUAGES}
_BY_EXTENSION = {extension: language for language in LANGUAGES for extension in language.extensions}
_BY_FILE_NAME = {name: language for language in LANGUAGES for name in language.file_names}
_CLAIMING = {
    extension: language
    for language in LANGUAGES
    if language.claims is not None
    for extension in language.claims.extensions
}


def nearest_name(name: str, known: Collection[str]) -> str | None:
    """The known language that somebody means: the one with this extension (`py`), else the one with a similar name."""
    extension = b"." + name.lower().lstrip(".").encode()
    meant = [one.name for one in LANGUAGES if extension in one.extensions and one.name in known]
    return next(iter(meant or difflib.get_close_matches(name.lower(), known, 1)), None)


def language_of(path: bytes, text: bytes | None = None) -> Language | None:
    """The language of a file by its name. If the canonical text is given, it tells a `.h` of C++ from one of C."""
    name = path[path.rfind(b"/") + 1 :]
    language = _BY_FILE_NAME.get(name)
    if language is None:
        dot = name.rfind(b".")
        if dot <= 0:
            return None
        extension = name[dot:].lower()
        language = _BY_EXTENSION.get(extension)
        if text is not None and (claiming := _CLAIMING.get(extension)) is not None:
            assert claiming.claims is not None
            if claiming.claims.text.search(text):
                return claiming
    return language


def parsed_language_of(path: bytes) -> Language | None:
    """The language of a file that is parsed for symbols, by its name; a `.h` file counts as C."""
    language = language_of(path)
    return language if language is not None and language.has_symbols else None


@functools.lru_cache(maxsize=1 << 10)
def scoping_of(path: bytes) -> Scoping:
    """The scoping of a file's language, by its name. Cached: it is asked for each use while a file is graded."""
    language = parsed_language_of(path)
    return NO_SCOPING if language is None else language.scoping


def is_meant(language: Language, name: str, path: bytes) -> bool:
    """True if a question for the language `name` includes a file whose language by file name is `language`."""
    if name in (language.name, language.counts_as):
        return True
    claiming = _CLAIMING.get(path[path.rfind(b".") :].lower())
    return claiming is not None and claiming.name == name


def is_chunked(language: Language) -> bool:
    """True if semantic search covers it."""
    return language.name not in _WITHOUT_MEANING


def chunked_language_of(path: bytes) -> Language | None:
    """The language of a file that semantic search covers, by its name."""
    language = language_of(path)
    return language if language is not None and is_chunked(language) else None
