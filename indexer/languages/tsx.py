"""TypeScript with JSX, a grammar of its own."""

from __future__ import annotations

from ctxd.indexer.languages.javascript import MODIFIERS, SCOPING, imports, owner
from ctxd.indexer.languages.language import Language, Rules

LANGUAGE = Language(
    name="tsx",
    extensions=(b".tsx",),
    comments=("//", "/*"),
    rules=Rules(
        grammar="tsx",
        queries=("ecmascript.scm", "typescript.scm", "jsx.scm"),
        modifiers=MODIFIERS,
        imports=imports,
        imports_by_name=True,
        owner=owner,
    ),
    scoping=SCOPING,
    counts_as="typescript",
)
