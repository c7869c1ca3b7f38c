"""TypeScript."""

from __future__ import annotations

from ctxd.indexer.languages import Rules
from ctxd.indexer.languages.javascript import MODIFIERS, imports, owner

RULES = Rules(
    grammar="typescript",
    queries=("ecmascript.scm", "typescript.scm"),
    modifiers=MODIFIERS,
    imports=imports,
    imports_by_name=True,
    owner=owner,
)
