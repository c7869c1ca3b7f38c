"""Lists or fetches models, for `ctxd model`: `python -P -m ctxd.indexer.meaning.models list|pull CACHE [NAME]`.

It runs in its own process, because importing fastembed takes 0.5 s and 70 MB. Invariant: a ModelError ends it with
status 1 and one line on stderr.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ctxd.indexer.meaning import embedding


def listed(cache: str) -> list[dict[str, Any]]:
    """Rows of name, dimension, bytes, here, description: the built-in model, then fastembed's, those on this machine
    first.
    """
    from ctxd.indexer.meaning.onnx_model import is_here, known_names

    own = embedding.built_in()
    rows = [
        {
            "name": embedding.BUILT_IN,
            "dimension": own.dimension,
            "bytes": 0,
            "here": True,
            "description": "ships with ctxd; always embeds, and answers where another does not",
        }
    ]
    others = [
        {
            "name": name,
            "dimension": one["dim"],
            "bytes": round(one["size_in_GB"] * 1e9),
            "here": is_here(name, cache),
            "description": one["description"],
        }
        for name, one in known_names().items()
    ]
    return rows + sorted(others, key=lambda one: (not one["here"], one["bytes"], one["name"]))


def main() -> int:
    action, cache, *names = sys.argv[1:]
    try:
        if action == "list":
            print(json.dumps(listed(cache)))
        else:
            from ctxd.indexer.meaning.onnx_model import pull

            pull(names[0], cache)
    except embedding.ModelError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
