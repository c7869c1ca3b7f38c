"""Random edits of hostile files: bytes outside them stay, the dry run tells the truth, undo restores every byte.

    python benchmarks/edits.py [N] [SEED]

N edits (default 10,000), each as a dry run, made, and taken back. Files of every encoding, with mixed line endings, invalid bytes and
long lines. Ends at the first difference, with the seed that shows it. `python tests/killed.py` kills edits at every system call.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.view import View
from edits import fuzzed
from projects import opened

EDITS_A_JOURNAL = 200  # looking through a long one takes most of the time
REPORT_EVERY = 10_000


def main(count, seed):
    workers = WorkerPool(1)
    outcomes = Counter()
    started = time.monotonic()
    # In memory where that is possible: flushing files is most of the time.
    shared = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(prefix="ctxd-", dir=shared) as base:
        folder, home = Path(os.path.realpath(base), "project"), Path(os.path.realpath(base), "home")
        folder.mkdir()
        with opened(folder, home, workers) as project:
            view = View(project)
            for number in range(count):
                if number % EDITS_A_JOURNAL == 0:
                    project.editor = Editor(str(home / f"edits{number}"))
                outcomes[fuzzed(view, seed + number)] += 1
                if number % REPORT_EVERY == REPORT_EVERY - 1:
                    print(f"{number + 1:,} edits, {dict(outcomes)}, {time.monotonic() - started:.0f} s", flush=True)
            left = [path.name for path in folder.iterdir()]
    workers.close()
    assert left == ["f.txt"], left
    print(f"{count:,} edits: {outcomes['made']:,} made and taken back, {outcomes['same']:,} changed nothing, ", end="")
    print(f"{outcomes['refused']:,} refused; no differences")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
