"""Queries of several kinds over one project, each against ripgrep or fd in the same run; also whether the counts agree.

    python benchmarks/text.py DIR [REPETITIONS]

Timed with a raw client, after one untimed call of each; medians. `n` is the number of matching lines, a "+" says that ctxd stopped
counting there (its first page is timed, ripgrep's whole run).
"""

import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time

from session import Daemon

COMMON = ["int", "return", "the"]
REGEXES = [r"[a-z]+_init\(", r"\b[A-Z]{3,8}_[0-9]{3}\b", r"^\s*#\s*define\s+\w+_MAX\b", r"(get|put)_\w+_(lock|unlock)"]


def main(folder, repetitions):
    with Daemon() as daemon:
        daemon.run("start")
        daemon.run("add", folder)
        client = daemon.client(folder)
        names = client.call("find_files_by_name", name_pattern="*", max_tokens=100_000)[1]["files"]
        rare, mid = words_of(folder, names)
        classes = {
            "absent literal": [("ctxd_absent_" + word, False, True) for word in ("alpha", "beta", "gamma")],
            "rare literal": [(word, False, True) for word in rare],
            "mid literal": [(word, False, True) for word in mid],
            "rare literal, any case": [(word.upper(), False, False) for word in rare[:3]],
            "common literal": [(word, False, True) for word in COMMON],
            "regex": [(regex, True, True) for regex in REGEXES],
        }
        print(f"initialize {client.initialize_ms:.0f} ms, relay {client.rss_bytes() / 1e6:.1f} MB")
        print("| kind | query | n | rg n | ctxd ms | rg ms | ratio |\n|---|---|---|---|---|---|---|")
        for kind, queries in classes.items():
            ratios = []
            for query, is_regex, case_sensitive in queries:
                arguments = {"query": query, "is_regex": is_regex, "case_sensitive": case_sensitive, "context_lines": 0}
                ours, theirs = [], []
                client.call("search_text_pattern", **arguments, file_extensions=["*"])
                for _ in range(repetitions):
                    milliseconds, answer = client.call("search_text_pattern", **arguments, file_extensions=["*"])
                    ours.append(milliseconds)
                    command = [
                        "rg",
                        "--no-config",
                        "-n",
                        "--crlf",
                        *([] if is_regex else ["-F"]),
                        *([] if case_sensitive else ["-i"]),
                    ]
                    started = time.perf_counter()
                    lines = subprocess.run(
                        [*command, "-e", query, "."], cwd=folder, capture_output=True, check=False
                    ).stdout
                    theirs.append((time.perf_counter() - started) * 1000)
                a, b = statistics.median(ours), statistics.median(theirs)
                ratios.append(b / a)
                more = "" if answer.get("total_is_exact", True) else "+"
                expected = lines.count(b"\n")
                agree = "" if more or answer["match_count"] == expected else " DIFFERS"
                print(
                    f"| {kind} | `{query}` | {answer['match_count']}{more} | {expected}{agree} | {a:.1f} | {b:.0f} | {b / a:.0f} |",
                    flush=True,
                )
            print(f"| **{kind}** | median ratio | | | | | **{statistics.median(ratios):.0f}** |")
        fd = shutil.which("fdfind") or shutil.which("fd")
        for glob in ("Makefile", "test_*", "*.h", "*absent*"):
            ours = statistics.median(
                client.call("find_files_by_name", name_pattern=glob)[0] for _ in range(repetitions + 1)
            )
            line = f"find_files_by_name {glob}: {ours:.1f} ms"
            if fd:
                started = time.perf_counter()
                subprocess.run([fd, "--glob", "--case-sensitive", glob], cwd=folder, capture_output=True, check=False)
                theirs = (time.perf_counter() - started) * 1000
                line += f", fd {theirs:.0f} ms, ratio {theirs / ours:.0f}"
            print(line)
        for name in [*rare, *mid, *COMMON]:
            times = [client.call("find_symbol_occurrences", symbol_name=name) for _ in range(repetitions)]
            answer = times[0][1]
            more = "" if answer.get("total_is_exact", True) else "+"
            print(
                f"find_symbol_occurrences {name}: {answer['occurrence_count']}{more} in {statistics.median(t for t, _ in times):.1f} ms"
            )
        client.close()


def words_of(folder, names):
    """Five identifiers from single files, and three that occur often: drawn with a fixed seed, so that nothing is chosen to please."""
    chance = random.Random(1)
    words = []
    for name in chance.sample(names, min(len(names), 300)):
        with open(os.path.join(folder, name), "rb") as file:
            words += re.findall(r"\b[a-z]+_[a-z]+_[a-z_]{4,}\b", file.read(200_000).decode("utf-8", "replace"))
    unique = sorted(set(words))
    chance.shuffle(unique)
    often = [word for word in unique if words.count(word) >= 20]
    return unique[:5], often[:3]


if __name__ == "__main__":
    main(os.path.realpath(sys.argv[1] if len(sys.argv) > 1 else "."), int(sys.argv[2]) if len(sys.argv) > 2 else 3)
