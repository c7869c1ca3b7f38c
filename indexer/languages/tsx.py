"""TypeScript with JSX, a grammar of its own."""

from __future__ import annotations

from ctxd.indexer.languages import Rules
from ctxd.indexer.languages.javascript import MODIFIERS, imports

RULES = Rules(
    grammar="tsx",
    queries=("ecmascript.scm", "typescript.scm", "jsx.scm"),
    modifiers=MODIFIERS,
    imports=imports,
)
