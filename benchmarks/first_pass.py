"""A first pass over projects, from nothing to ready, each in a fresh home; and what text queries cost meanwhile.

python benchmarks/first_pass.py DIR...
"""

import os
import shutil
import statistics
import subprocess
import sys
import time

from session import Daemon

MB = 1_000_000
LITERAL = "ctxd_benchmark_absent"


def main(folders):
    print(
        "| project | files | MB | symbols | occurrences | text s | text MB/s | ready s | database MB | of corpus | daemon MB | worker MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for folder in folders:
        measure(os.path.realpath(folder))


def measure(folder):
    with Daemon() as daemon:
        daemon.run("start")
        started = time.monotonic()
        daemon.run("add", folder, "--no-wait")
        meanwhile = queries_meanwhile(daemon, folder)
        daemon.run("status", "--wait", "text")
        text_seconds = time.monotonic() - started
        daemon.run("status", "--wait", "ready")
        ready_seconds = time.monotonic() - started
        (project,) = daemon.status()["projects"]
        size = corpus_bytes(daemon, folder)
        peak, worker = daemon.memory()
        name = os.path.basename(folder)
        print(
            f"| {name} | {project['files']} | {size / MB:.0f} | {project['symbols']} | {project['occurrences']} | {text_seconds:.0f} "
            f"| {size / MB / text_seconds:.0f} | {ready_seconds:.0f} | {project['database_bytes'] / MB:.0f} "
            f"| {project['database_bytes'] / size:.2f} | {peak / MB:.0f} | {worker / MB:.0f} |",
            flush=True,
        )
        if meanwhile:
            ratios = [ours / theirs for ours, theirs, _ in meanwhile]
            ours, theirs = (statistics.median(column) for column in list(zip(*meanwhile, strict=True))[:2])
            print(
                f"  during the first pass: text query {ours:.0f} ms, rg {theirs:.0f} ms, median ratio {statistics.median(ratios):.2f} "
                f"of {len(ratios)}; symbols said {sorted({status for _, _, status in meanwhile})}",
                flush=True,
            )


def queries_meanwhile(daemon, folder):
    """Pairs of (ctxd ms, rg ms, symbol status), one after the other while the first pass runs."""
    if not shutil.which("rg"):
        return []
    client = daemon.client(folder)
    found = []
    while len(found) < 15 and not daemon.status()["projects"][0]["text_ready"]:
        ours, answer = client.call("search_text_pattern", query=LITERAL, case_sensitive=True, file_extensions=["*"])
        assert answer["status"] == "no_matches_found"
        started = time.perf_counter()
        subprocess.run(["rg", "--no-config", "-n", "-F", LITERAL, folder], capture_output=True, check=False)
        theirs = (time.perf_counter() - started) * 1000
        _, symbols = client.call("find_symbol_occurrences", symbol_name="main")
        found.append((ours, theirs, symbols["status"]))
    client.close()
    return found


def corpus_bytes(daemon, folder):
    """Bytes of all files that ctxd lists."""
    listed = daemon.run("files", "*", "--json", cwd=folder).stdout
    if not listed:
        return 1
    import json

    names = [name for line in listed.splitlines() for name in json.loads(line)["files"]]
    return sum(os.lstat(os.path.join(folder, name)).st_size for name in names)


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])
