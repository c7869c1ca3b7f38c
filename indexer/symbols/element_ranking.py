"""Ranks the elements that other code refers to most. Counted while indexing, looked up by an overview.

A file *takes* a name that it imports, or names through an import, if the module may be the project's own. It also takes
a name that it calls or uses as a type and does not define, unless its language imports every name
(`Rules.imports_by_name`). A content *offers* its definitions, except methods and fields, which are named through an
object, and variables that need no import.

An element ranks by the number of files that take its name, divided by the number of contents that offer the name: so
`main` of a hundred programs wins nothing. Names are compared, not resolved: two elements with one name share the count.
Files with the same bytes count once.

Invariant: only the order of elements comes from here. Their names and places come from the outline of the file's bytes.
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
"""At most this many elements of one content are ranked: a header with a thousand functions leaves room for others."""
_ROWS = 1_000  # rows of one read and of one transaction, so that both stay short


def write_links(connection: Any, content_id: int, packed: Packed) -> None:
    """Write the links of a content and rank its elements by the last known shares of their names.

    So an edit does not hide elements until the next full ranking.
    """
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
    """Count all links anew. Called by the writing thread. Takes seconds and some 50 MB for 70,000 files."""
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
    """The best elements of these contents, best first: content, mark of the name, share of files."""
    with database.reader() as connection:
        return connection.execute(
            """SELECT content_id, mark, share FROM key_element WHERE content_id IN (SELECT value FROM json_each(?))
               ORDER BY share DESC, content_id, mark LIMIT ?""",
            (json.dumps(list(contents)), limit),
        ).fetchall()


def _modules(database: Database) -> set[int]:
    """Marks of all possible first parts of the project's modules: all folders, all files without extension, and ""."""
    names = {b""}
    for (path,) in database.stream("SELECT DISTINCT path FROM file"):
        *folders, name = path.split(b"/")
        names.update(folders)
        names.add(name.partition(b".")[0])
    return {mark_of(name.decode("utf-8", "replace")) for name in names}


def _links(database: Database, column: str) -> Iterator[tuple[int, bytes]]:
    """One column of the links of every content that a file holds, in the order of content ids."""
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
    """Replace the rows of contents after `after`, up to `last`; of all later ones if it is None."""
    with database.transaction() as connection:
        if last is None:
            connection.execute("DELETE FROM key_element WHERE content_id > ?", (after,))
        else:
            connection.execute("DELETE FROM key_element WHERE content_id > ? AND content_id <= ?", (after, last))
        connection.executemany("INSERT INTO key_element VALUES (?, ?, ?)", rows)
