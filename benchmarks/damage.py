"""Bits flipped in the database of a project: how many answers are wrong without a word?

    python benchmarks/damage.py [ROUNDS] [FOLDER]

ROUNDS (default 200) with the daemon stopped, and as many while it runs: 1 to 8 bits in random places, then questions for symbols, text,
meaning and file names. FOLDER (default: this repository's indexer) is copied.
"""

import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from damage import FAILED, RIGHT, SAID, WRONG, round_of_flips, undamaged

from ctxd.daemon.indexing.workers import WorkerPool

HERE = Path(__file__).parent.parent
QUESTIONS = 60  # symbols, and as many words


def main(rounds, source):
    workers = WorkerPool(2)
    print(
        "| daemon | rounds | rounds with a wrong answer | right | says so | fails | wrong | wrong after the repair | seconds |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(prefix="ctxd-") as name:
        base = Path(os.path.realpath(name))
        folder, home, kept = base / "project", base / "home", base / "kept"
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__", ".git", ".venv"))
        home.mkdir()
        asked, truth = undamaged(folder, home, workers, QUESTIONS)
        shutil.copytree(home, kept)
        for running in (False, True):
            dice = random.Random(f"{running}")
            began, total, after, bad = time.monotonic(), Counter(), Counter(), 0
            for _ in range(rounds):
                at_once, repaired = round_of_flips(folder, home, kept, workers, asked, truth, dice, running=running)
                total += at_once
                after += repaired
                bad += bool(at_once[WRONG])
            counts = " | ".join(str(total[how]) for how in (RIGHT, SAID, FAILED, WRONG))
            wrong_after = sum(after.values()) - after[RIGHT]
            seconds = time.monotonic() - began
            print(
                f"| {'runs' if running else 'stopped'} | {rounds} | {bad} | {counts} | {wrong_after} | {seconds:.0f} |",
                flush=True,
            )
    workers.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else HERE / "indexer")
