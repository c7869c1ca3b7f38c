"""TypeScript."""

from __future__ import annotations

from ctxd.indexer.languages.javascript import MODIFIERS, SCOPING, imports, owner
from ctxd.indexer.languages.language import Language, Rules

LANGUAGE = Language(
    name="typescript",
    extensions=(b".ts", b".mts", b".cts"),
    comments=("//", "/*"),
    rules=Rules(
        grammar="typescript",
        queries=("ecmascript.scm", "typescript.scm"),
        modifiers=MODIFIERS,
        imports=imports,
        imports_by_name=True,
        owner=owner,
    ),
    scoping=SCOPING,
)
