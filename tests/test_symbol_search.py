"""What a symbol's name means."""

from __future__ import annotations

import pytest

from ctxd.indexer.symbols.asked_name import split_name


@pytest.mark.parametrize("name", ["a.b.C", "a::b::C", "a/b/C", "a\\b\\C", "\\a\\b\\C", "a.b#C", "a.b.C()"])
def test_qualified_names_are_split_at_the_separators_of_every_language(name):
    assert split_name(name) == (["a", "b"], "C")
