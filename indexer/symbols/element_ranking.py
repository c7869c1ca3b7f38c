"""Which elements the rest of the code refers to most: counted at indexing time, looked up by an overview.

A file *takes* a name that it imports, or names through an import, where the module may be the project's own; and one that it
calls or uses as a type, which nothing in it defines, unless its language imports what it uses (`Rules.imports_by_name`). A
content *offers* its definitions but methods and fields, which are named through an object, and variables that need no import. An element ranks by the files that
take its name, divided by the contents that offer one of that name: `main` of a hundred programs wins nothing. Names are
compared, not resolved, so two things of one name share what is taken of either. Files with the same bytes count once.

Invariant: an answer never shows more than an order from here; what is there, and where, comes from the outline of the file's bytes.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from ctxd.indexer.symbols.outline import mark_of, unpack_marks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from ctxd.indexer.database import Database
    from ctxd.indexer.symbols.outline import Packed

ELEMENTS_MAX = 10
"""Of one content that are ranked: a header with a thousand functions leaves room for others."""
_ROWS = 1_000  # of one read, and of one transaction: both stay short


def write_links(connection: Any, content_id: int, packed: Packed) -> None:
    """Also ranks its elements by what their names are worth since the last ranking: an edit does not hide them until the next."""
    connection.execute(
        "INSERT INTO link VALUES (?, ?, ?, ?)", (content_id, packed.offered, packed.taken, packed.imported)
    )
    connection.execute(
        """INSERT INTO key_element
           SELECT ?, mark, max(share) FROM key_element WHERE mark IN (SELECT value FROM json_each(?))
           GROUP BY mark ORDER BY 3 DESC LIMIT ?""",
        (content_id, json.dumps(list(unpack_marks(packed.offered))), ELEMENTS_MAX),
    )


def forget_links(connection: Any, content_id: int) -> None:
    connection.execute("DELETE FROM link WHERE content_id = ?", (content_id,))
    connection.execute("DELETE FROM key_element WHERE content_id = ?", (content_id,))


def rank_elements(database: Database) -> None:
    """Count all links anew. Called by the writing thread; takes seconds and some 50 MB for 70,000 files."""
    takers: Counter[int] = Counter()
    for _, blob in _links(database, "taken"):
        takers.update(unpack_marks(blob))
    modules = _modules(database)
    for _, blob in _links(database, "imported"):
        marks = unpack_marks(blob)
        takers.update({name for module, name in zip(marks[::2], marks[1::2], strict=True) if module in modules})
    offerers: Counter[int] = Counter()
    for _, blob in _links(database, "offered"):
        offerers.update(filter(takers.__contains__, unpack_marks(blob)))
    rows: list[tuple[int, int, float]] = []
    after = 0
    for content_id, blob in _links(database, "offered"):
        offered = [(takers[mark] / offerers[mark], mark) for mark in unpack_marks(blob) if mark in takers]
        rows += [(content_id, mark, share) for share, mark in heapq.nlargest(ELEMENTS_MAX, offered)]
        if len(rows) >= _ROWS:
            _replace(database, rows, after, content_id)
            rows, after = [], content_id
    _replace(database, rows, after, None)


def key_elements(database: Database, contents: Collection[int], limit: int) -> list[tuple[int, int, float]]:
    """The best of these contents: content, mark of the name and its share of files, best first."""
    with database.reader() as connection:
        return connection.execute(
            """SELECT content_id, mark, share FROM key_element WHERE content_id IN (SELECT value FROM json_each(?))
               ORDER BY share DESC, content_id, mark LIMIT ?""",
            (json.dumps(list(contents)), limit),
        ).fetchall()


def _modules(database: Database) -> set[int]:
    """Marks of what a module of the project may begin with: any folder, any file without its extension, and nothing."""
    names = {b""}
    for (path,) in database.stream("SELECT DISTINCT path FROM file"):
        *folders, name = path.split(b"/")
        names.update(folders)
        names.add(name.partition(b".")[0])
    return {mark_of(name.decode("utf-8", "replace")) for name in names}


def _links(database: Database, column: str) -> Iterator[tuple[int, bytes]]:
    """Of every content that a file holds, in the order of their ids."""
    after = 0
    while True:
        with database.reader() as connection:
            rows = connection.execute(
                f"""SELECT content_id, {column} FROM link WHERE content_id > ?
                    AND EXISTS (SELECT 1 FROM file WHERE file.content_id = link.content_id) ORDER BY content_id LIMIT ?""",
                (after, _ROWS),
            ).fetchall()
        if not rows:
            return
        yield from rows
        after = rows[-1][0]


def _replace(database: Database, rows: list[tuple[int, int, float]], after: int, last: int | None) -> None:
    """The rows of contents after `after`, up to `last`, or of all of them."""
    with database.transaction() as connection:
        if last is None:
            connection.execute("DELETE FROM key_element WHERE content_id > ?", (after,))
        else:
            connection.execute("DELETE FROM key_element WHERE content_id > ? AND content_id <= ?", (after, last))
        connection.executemany("INSERT INTO key_element VALUES (?, ?, ?)", rows)
