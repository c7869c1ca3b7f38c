"""A short run of random patterns over every corpus; `python benchmarks/differential.py N` is the long one."""

import random
import shutil

import differential
import pytest
from differential import CORPORA, check, corpus, narrow_always, question, write_corpus

from projects import opened, ready

PATTERNS = 25


@pytest.mark.parametrize("kind", CORPORA)
def test_every_backend_and_ripgrep_find_the_same_lines(folder, home, workers, kind):
    dice = random.Random(kind)
    files = corpus(kind, dice)
    write_corpus(folder, files)
    undo = narrow_always()
    try:
        with opened(folder, home, workers) as project:
            ready(project)
            found = [check(project, files, question(dice), ripgrep=shutil.which("rg")) for _ in range(PATTERNS)]
    finally:
        undo()
    assert sum(map(bool, found)) > PATTERNS / 3


def test_lines_of_ten_megabytes_are_searched_as_any_other(folder, home, workers, monkeypatch):
    monkeypatch.setattr(differential, "BACKTRACKING_SECONDS", 60.0)
    files = {
        "ascii": b"b1 ca" + b"sk ab-_c1 " * 1_000_000 + b"SKab",
        "beyond": ("béa1 ca" * 1_250_000 + "SKab").encode(),
    }
    write_corpus(folder, files)
    with opened(folder, home, workers) as project:
        ready(project)
        for query in ("[a ]SKab$", r"c?[1a] ?(?=SK)SKab(?!.)"):
            assert check(project, files, (query, True, True), ripgrep=shutil.which("rg")) == 2, query


@pytest.mark.parametrize("query", ["$^", "$(?=[a-k]*)^", "(a|$)^", "($)(^)", "(?:^|$)+", "^$"])
def test_an_empty_line_is_found_by_anchors_in_any_order(folder, home, workers, query):
    """ripgrep 13 finds no `$^`."""
    write_corpus(
        folder, {"empty.txt": b"\n", "last.txt": b"ab\n\n", "none.txt": b"ab\n", "crlf.txt": b"ab\r\n\r\nab\r\n"}
    )
    undo = narrow_always()
    try:
        with opened(folder, home, workers) as project:
            ready(project)
            assert check(project, {}, (query, True, True), ripgrep=None) >= 3
    finally:
        undo()
