"""A short run of random patterns over every corpus; `python benchmarks/differential.py N` is the long one."""

import random
import shutil

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
