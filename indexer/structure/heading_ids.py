"""The ids of headings: a `{#id}` written at the end, and the slug that code hosts make from the text.

Slugs follow GitHub: take the displayed text in lower case; keep letters, marks, digits, `_` and `-`; turn every blank
into a hyphen; drop the rest. A repeated slug is numbered: `setup`, `setup-1`.
"""

from __future__ import annotations

import functools
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_TITLE_CHARACTERS_MAX = 1_000
"""In a longer title links and emphasis are not parsed."""
_KEPT = frozenset({"Nd", "Nl", "Pc"})


def without_id(title: str) -> tuple[str, str]:
    """A title without its `{#id}`, and that id; "" if it has none."""
    opened = title.rfind("{")
    if opened < 0 or not title.endswith("}"):
        return title, ""
    id_ = next((word[1:] for word in title[opened + 1 : -1].split() if word.startswith("#")), "")
    return (title[:opened].rstrip(), id_) if id_ else (title, "")


def slugs_of(titles: Iterable[str]) -> list[str]:
    """The slugs of all titles of a document, which come as written and in order."""
    used: dict[str, int] = {}
    slugs = []
    for title in titles:
        slug = plain = _slug(title)
        while slug in used:
            used[plain] += 1
            slug = f"{plain}-{used[plain]}"
        used[slug] = 0
        slugs.append(slug)
    return slugs


def _slug(title: str) -> str:
    return "".join(
        "-" if character == " " else character
        for character in _read(title).lower()
        if character in "- " or _is_of_a_word(character)
    )


def _is_of_a_word(character: str) -> bool:
    if character.isascii():
        return character.isalnum() or character == "_"
    category = unicodedata.category(character)
    return category[0] in "LM" or category in _KEPT


def _read(title: str) -> str:
    """A title without the marks of emphasis, code, links, images and HTML."""
    if len(title) > _TITLE_CHARACTERS_MAX:
        return title
    return "".join(_texts(_parser().parseInline(title)))


def _texts(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield from _texts(token.children or [])
        elif token.type in {"text", "code_inline", "text_special"}:
            yield token.content


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 20 ms; a daemon that needs no anchor saves them

    return MarkdownIt("commonmark")
