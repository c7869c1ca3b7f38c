"""Blocks of comment lines, told by how the lines begin: an outline shows them, nothing is parsed by it.

Invariant: a line counts where a comment is all that is on it. What stands in a string of several lines may look like one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSERS = {"/*": "*/", "<!--": "-->", "{-": "-}", "--[[": "]]", "(*": "*)", "<#": "#>", "=begin": "=end"}
"""How a comment ends that goes on over lines."""
_PREFIXES: dict[tuple[str, ...], str] = {
    (
        "//",
        "/*",
    ): "javascript typescript tsx go java rust c cpp zig csharp kotlin swift scala d dart groovy objective-c solidity "
    "protobuf glsl verilog css json go-module devicetree linker-script",
    (
        "#",
    ): "python bash yaml toml make docker cmake perl r julia nim tcl awk fish meson bazel gdscript dotenv config kconfig "
    "graphql elixir csv",
    ("#", "=begin"): "ruby",
    ("#", "<#"): "powershell",
    ("#", ";"): "ini systemd git-config",
    ("#", "!"): "properties",
    ("#", "//", "/*"): "php hcl",
    ("#", "/*"): "nix",
    ("--[[", "--"): "lua",
    ("{-", "--"): "haskell elm",
    ("--", "/*"): "sql",
    (";",): "lisp clojure",
    (";", "#", "//", "/*"): "assembly",
    ("%",): "tex erlang",
    ("//",): "asciidoc",
    ("//", "(*"): "fsharp",
    ("(*",): "ocaml",
    ("//", "(*", "{-"): "pascal",
    ("!",): "fortran",
    ("'",): "visual-basic",
    ('"',): "vim",
    ("::", "REM", "rem"): "batch",
    ("<!--",): "html xml svelte vue",
    ("dnl", "#"): "autoconf",
    ("#", ";", "//", "--", "/*"): "text",
}
_OF_LANGUAGE = {name: prefixes for prefixes, names in _PREFIXES.items() for name in names.split()}


class CommentBlock(NamedTuple):
    """Lines are 1-based and inclusive."""

    start_line: int
    end_line: int
    prefix: str


def comment_blocks(text: bytes, language: str) -> Iterator[CommentBlock]:
    """Runs of lines that are comments of one kind. `language` is a name of languages.py; "text" knows the usual ones."""
    prefixes = tuple(prefix.encode() for prefix in _OF_LANGUAGE.get(language, ()))
    if not prefixes:
        return
    block: CommentBlock | None = None
    closer = b""  # of the comment that is open
    for number, line in enumerate(text.split(b"\n"), 1):
        bare = line.strip()
        if closer:
            assert block is not None
            block = block._replace(end_line=number)
            closer = b"" if closer in bare else closer
            continue
        prefix = next((one for one in prefixes if bare.startswith(one)), b"") if bare else b""
        end = _CLOSERS.get(prefix.decode(), "").encode()
        opened = bare[len(prefix) :]
        if end and end in opened and not opened.endswith(end):
            prefix = b""  # code follows
        if not prefix:
            if block is not None:
                yield block
            block = None
            continue
        closer = end if end not in opened else b""
        if block is not None and block.prefix.encode() == prefix:
            block = block._replace(end_line=number)
        else:
            if block is not None:
                yield block
            block = CommentBlock(number, number, prefix.decode())
    if block is not None:
        yield block._replace(end_line=min(block.end_line, text.count(b"\n") + (not text.endswith(b"\n"))))


def blank_runs(text: bytes) -> Iterator[int]:
    """The first line of each run of lines that hold nothing but blanks."""
    was_blank = False
    for number, line in enumerate(text.removesuffix(b"\n").split(b"\n"), 1):
        is_blank = not line.strip()
        if is_blank and not was_blank and text:
            yield number
        was_blank = is_blank
