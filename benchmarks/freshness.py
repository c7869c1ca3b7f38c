"""You wrote it, you find it: saves of every kind, each followed at once by a question to a daemon, with inotify and by polling.

    python benchmarks/freshness.py [OPERATIONS] [SEED]

OPERATIONS (default 5,000) saves each, with two questions; a tenth as many questions about symbols of a file that is being appended to,
at three speeds. An answer may be late and say so (`stale`); one that is wrong ends the run with status 1.
"""

import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from saves import Saves
from session import Daemon

PAUSES = (0.05, 0.02, 0.005)  # seconds, at most, between two appends


def main(operations, seed):
    wrong = 0
    for backend, settings in (("inotify", {}), ("polling", {"CTXD_WATCHES_MAX": "0"})):
        with tempfile.TemporaryDirectory(prefix="ctxd-benchmark-") as base, Daemon(**settings) as daemon:
            folder = Path(os.path.realpath(base), "project")
            saves = Saves(folder, folder.parent / "outside", seed)
            daemon.add_ready(str(folder))
            watch = daemon.status()["projects"][0]["watch"]
            assert watch["backend"] == backend, watch
            client = daemon.client(str(folder))

            def ask(tool, client=client, **arguments):
                return client.call(tool, **arguments)[1]

            started = time.monotonic()
            for _ in range(operations):
                saves.step(ask)
            for pause in PAUSES:
                saves.growing(ask, operations // 10 // len(PAUSES), pause)
            client.close()
            print(f"\n{backend}: {operations} saves, seed {seed}, {time.monotonic() - started:.0f} s", flush=True)
            print_table(saves)
            wrong += len(saves.wrong)
    sys.exit(wrong > 0)


def print_table(saves):
    wrong = Counter(one[1] for one in saves.wrong)
    print("| save | right | stale | wrong |\n|---|---|---|---|")
    for kind in sorted({name.split(":")[0] for name in saves.counted} | set(wrong)):
        print(f"| {kind} | {saves.counted[f'{kind}: right']} | {saves.counted[f'{kind}: stale']} | {wrong[kind]} |")
    for one in saves.wrong[:3]:
        print(f"wrong: {one}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000, sys.argv[2] if len(sys.argv) > 2 else "1")
