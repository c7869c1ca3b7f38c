"""Random patterns over five corpora, one of them hostile: the four text backends and ripgrep run by hand must agree.

    python benchmarks/differential.py [N] [SEED]

N patterns (default 5,000) in all. Ends at the first difference, with the query and the seed that show it.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from differential import CORPORA, check, corpus, narrow_always, question, write_corpus

from ctxd.daemon.indexing.workers import WorkerPool
from projects import opened, ready

LONG_LINE_BYTES = 10_000_000


def main(count, seed):
    rg = shutil.which("rg")
    print(
        f"{count} patterns, seed {seed}; "
        + ("index, rg, grep, python and ripgrep by hand" if rg else "without ripgrep")
    )
    narrow_always()
    workers = WorkerPool(1)
    print("| corpus | patterns | with matches | lines | too slow to decide | seconds |\n|---|---|---|---|---|---|")
    for kind in CORPORA:
        dice = random.Random(f"{seed} {kind}")
        started, found = time.monotonic(), []
        with tempfile.TemporaryDirectory(prefix="ctxd-") as base:
            folder, home = Path(os.path.realpath(base), "project"), Path(os.path.realpath(base), "home")
            folder.mkdir()
            home.mkdir()
            files = corpus(kind, dice, long_line_bytes=LONG_LINE_BYTES)
            write_corpus(folder, files)
            with opened(folder, home, workers) as project:
                ready(project)
                found = [check(project, files, question(dice), ripgrep=rg) for _ in range(count // len(CORPORA))]
        seconds = time.monotonic() - started
        lines = sum(filter(None, found))
        print(
            f"| {kind} | {len(found)} | {sum(map(bool, found))} | {lines} | {found.count(None)} | {seconds:.0f} |",
            flush=True,
        )
    workers.close()
    print("no differences")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, sys.argv[2] if len(sys.argv) > 2 else "1")
