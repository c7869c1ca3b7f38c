"""Patterns that run away, sent to a daemon while a second connection makes ordinary calls.

    python benchmarks/redos.py [DIR]

For each: how the call ended and when (its limit is 10 s), and what the other connection's calls took meanwhile. The corpus is
hostile text (tests/runaway.py), and the files of DIR beside it where one is given (it is copied).
"""

import shutil
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from runaway import BACKTRACKING, LINEAR, REFUSED, files
from session import Daemon

LIMIT_MS = 10_000
CALLS_MIN = 50  # of the other connection, for each pattern: a short one is sent again until there are so many
SECONDS_MAX = 60.0
P95_MS = 50

ORDINARY = [
    ("search_text_pattern", {"query": "ordinary line"}),
    ("search_text_pattern", {"query": r"the\s+end", "is_regex": True, "target_paths": ["zz.txt"]}),
    ("find_files_by_name", {"name_pattern": "zz*"}),
    ("find_symbol_occurrences", {"symbol_name": "Cart"}),
]


def main(folder):
    with Daemon() as daemon, tempfile.TemporaryDirectory(prefix="ctxd-redos-") as base:
        project = Path(base, "project")
        if folder:
            shutil.copytree(folder, project, symlinks=True)
        for name, text in (files() | {"shop.py": "class Cart:\n    pass\n"}).items():
            path = project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        daemon.run("add", str(project))
        attacker, other = daemon.client(str(project)), daemon.client(str(project))
        quiet = [ordinary(other, number) for number in range(200)]
        print(f"ordinary calls alone: p50 {statistics.median(quiet):.1f} ms, p95 {percentile(quiet, 95):.1f} ms")
        print("| pattern | ended | ms | others: calls | p50 ms | p95 ms | max ms |\n|---|---|---|---|---|---|---|")
        failed, all_others = [], []
        for patterns, endings_meant in (
            (REFUSED, {"error"}),
            (LINEAR, {"complete"}),
            (BACKTRACKING, {"complete", "partial", "error"}),
        ):
            for name, pattern in patterns.items():
                endings, slowest, others = attack(attacker, other, pattern)
                ended = ", ".join(sorted(set(endings)))
                row = [statistics.median(others), percentile(others, 95), max(others)]
                print(
                    f"| `{name}` | {ended} | {slowest:.0f} | {len(others)} | "
                    + " | ".join(f"{ms:.1f}" for ms in row)
                    + " |",
                    flush=True,
                )
                all_others += others
                if slowest > LIMIT_MS or row[1] > P95_MS or not endings_meant.issuperset(endings):
                    failed.append(name)
        print(
            f"all: p50 {statistics.median(all_others):.1f} ms, p95 {percentile(all_others, 95):.1f} ms, max {max(all_others):.0f} ms"
        )
        print(f"missed: {', '.join(failed)}" if failed else "every call within its limit, every p95 below 50 ms")
        for client in (attacker, other):
            client.close()
        return 1 if failed else 0


def attack(attacker, other, pattern):
    """How the calls with `pattern` ended, the slowest in ms, and the ms of the other connection's calls meanwhile."""
    others, done = [], threading.Event()

    def ask():
        while not done.is_set():
            others.append(ordinary(other, len(others)))

    thread = threading.Thread(target=ask)
    thread.start()
    endings, slowest, started = [], 0.0, time.monotonic()
    while (len(others) < CALLS_MIN and time.monotonic() - started < SECONDS_MAX) or not endings:
        ms, answer = attacker.call("search_text_pattern", query=pattern, is_regex=True, case_sensitive=True)
        slowest = max(slowest, ms)
        endings.append("error" if answer["status"] == "error" else "partial" if answer.get("timed_out") else "complete")
    done.set()
    thread.join()
    return endings, slowest, others


def ordinary(client, number):
    tool, arguments = ORDINARY[number % len(ORDINARY)]
    return client.call(tool, **arguments)[0]


def percentile(values, percent):
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else None))
