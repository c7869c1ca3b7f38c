"""Go: what its query file cannot say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ctxd.indexer.languages import ImportedName, Rules, children_of_type, field_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Node

_VERSION = re.compile(r"(?:/v\d+|\.v\d+)$")


def _imports(node: Node, text: bytes) -> Iterator[ImportedName]:
    for spec in _specs(node):
        path = spec.child_by_field_name("path")
        if path is None:
            continue
        module = field_text(spec, "path", text)[1:-1]
        alias = field_text(spec, "name", text)
        # The package's name is by custom the last part of its path, before a version.
        package = _VERSION.sub("", module).rpartition("/")[2]
        byte = path.start_byte + 1 + len(module[: _VERSION.sub("", module).rfind("/") + 1].encode())
        name = "*" if alias == "." else ""
        yield ImportedName(
            module, name, "" if alias in (".", "_") else alias, byte, package if alias in ("", ".", "_") else ""
        )


def _specs(node: Node) -> Iterator[Node]:
    yield from children_of_type(node, "import_spec")
    for specs in children_of_type(node, "import_spec_list"):
        yield from children_of_type(specs, "import_spec")


RULES = Rules(grammar="go", queries=("go.scm",), modifiers=frozenset(), imports=_imports, blank_name=b"_")
