"""One file's canonical text in, its `Outline` out: definitions, references and imports, by tree-sitter.

Invariant: a name of the text is one thing in the outline, the own name of a definition or a reference, and names inside
strings and comments are neither.

The query files in languages/ say what is what through the names of their captures, all taken in one pass:

    @element            the whole of something that is defined; the scope of what is defined inside
    @element.signature  the type of what the clauses after it define
    @element.rest       one that lasts until the next such or the end of what it stands in (`namespace a;`)
    @name.macro.<kind>  a name of the preprocessor, which knows no scopes
    @name.<kind>        a name defined by the innermost open @element (one element may define several)
    @member.<kind>      a name defined by the innermost class and the like, though it stands in a parameter list
    @outer              wraps an element that ends with it (decorators, `export`, `template <...>`): the element starts there
    @prefix             stands right before an element that starts there (attributes)
    @declarator.<kind>  holds a name, and parameters and owner, somewhere inside: the language's rules find them
    @parameters         the parameter list of the innermost open element; names in it are no definitions
    @owner              the type to which the innermost open element belongs without standing inside it (receiver, `Foo::`)
    @doc  @comment      a documentation string inside an element, or inside the @prefix of one; any comment
    @scope              a function without a name: variables inside are local; @scope.class: a class without a name
    @branch             one more way through the innermost function
    @import             an import statement, taken apart by the language's rules
    @tokens             text that the grammar leaves alone (macro bodies): its identifiers are references
    @ignore             an identifier that is no reference
    @symbol             a reference behind a mark that is no part of the name (`:name` in Ruby)
    @read @write @type @call    a reference and its role; where several match, the last of this list wins

Other captures are for the language's rules alone: `sort_out` turns them into these where a word decides what is what.

The order of patterns says nothing but costs: captures of a later one wait while an earlier one that began before them may
still match, in time that grows with the square (see lua.scm). Anchors end the waiting: `(expression_statement (assignment_expression))`
without `.` before the child took five times as long as all else in a file that is one call, as jQuery is.
"""

from __future__ import annotations

import functools
import os
import time
from typing import TYPE_CHECKING

from tree_sitter import Parser, Query, QueryCursor
from tree_sitter_language_pack import get_language

from ctxd.indexer import languages
from ctxd.indexer.symbols.sweep import Sweep

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

    from ctxd.indexer.languages.language import Language, Rules
    from ctxd.indexer.symbols.outline import Outline

_TEXT_CHUNK_BYTES = 1 << 9
"""Copied at every read. A grammar that asks for columns (Scala) reads again at every line: 64 KiB made a parse ten times as slow."""

_DEPTH_MAX = 400
"""Levels of the tree that are searched. A query's time grows with the square of the depth: a million brackets would take days."""

_STRAY_TOKENS_MAX = 20_000
"""Side by side in a tree of nothing but errors. The query's time grows with their square, too."""


class DeadlineError(Exception):
    """The text could not be parsed in the time given."""


class UnparsableError(Exception):
    """The text is too far from its language to be looked at."""


def parse(language: Language, text: bytes, deadline_seconds: float) -> Outline:
    """Outline of canonical text. Raises DeadlineError and UnparsableError. Broken code is data: what can be read of it is in the outline."""
    return _grammar_of(language).outline(text, time.monotonic() + deadline_seconds)


@functools.cache
def _grammar_of(language: Language) -> _Grammar:
    assert language.rules is not None, f"{language.name} is not parsed"
    return _Grammar(language.rules)


class _Grammar:
    """A language's parser and compiled query: made once per process, as compiling takes 10-60 ms."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        language = get_language(rules.grammar)  # pyright: ignore[reportArgumentType]
        self.parser = Parser(language)
        self.query = Query(language, query_source(rules))

    def outline(self, text: bytes, deadline: float) -> Outline:
        def check_time() -> None:
            if time.monotonic() > deadline:
                raise DeadlineError("not searched for symbols within the deadline")

        prepared, blanked = text, ()
        if self.rules.prepare is not None:
            preparation = self.rules.prepare(text)
            prepared, blanked = preparation.text, preparation.tokens
        captures = self._captures(self._tree(prepared, deadline))
        check_time()
        if self.rules.sort_out is not None:
            self.rules.sort_out(captures, prepared)
        sweep = Sweep(self.rules, text)
        sweep.run(captures, check_time)
        return sweep.outline(captures, blanked)

    def _tree(self, text: bytes, deadline: float) -> Tree:
        def too_late(*_: object) -> bool:
            return time.monotonic() > deadline

        def chunk(byte: int, _point: object) -> bytes:
            return text[byte : byte + _TEXT_CHUNK_BYTES]

        try:
            return self.parser.parse(chunk, progress_callback=too_late)
        except ValueError:
            self.parser.reset()  # or the next tree would go on from this one
            raise DeadlineError("not parsed within the deadline") from None

    def _captures(self, tree: Tree) -> dict[str, list[Node]]:
        root = tree.root_node
        if root.type == "ERROR" and root.child_count - root.named_child_count > _STRAY_TOKENS_MAX:
            raise UnparsableError("is not of this language: nothing but stray tokens")
        # No progress_callback here: it crashes the process (tree-sitter 0.26.1). The pool's watchdog ends a query that hangs.
        cursor = QueryCursor(self.query)
        cursor.set_max_start_depth(_DEPTH_MAX)
        return cursor.captures(root)


def query_source(rules: Rules) -> str:
    folder = os.path.dirname(languages.__file__)
    sources = []
    for name in rules.queries:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            sources.append(file.read())
    return "\n".join(sources)
