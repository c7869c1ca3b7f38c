"""Questions about code, asked through the tool as an agent does; NDCG@10 of the files and lines that answer them.

    python benchmarks/retrieval.py REPOSITORIES ANNOTATIONS [--models builtin,none] [--semble PYTHON] [--out FOLDER]

REPOSITORIES and ANNOTATIONS are as training/fit_ranker.py wants them (semble's public benchmark). A daemon of its own for each model; every query is
`search_semantic_concept` with 10 results. A result hits a target where the paths are the same and the lines overlap, if the target
names lines; gain is binary, and the figure is the mean over repositories of their means. The shipped weights were fitted on
repositories like these: training/fit_ranker.py says how much of the figure that is worth. --semble names a Python in which semble 0.7 is
installed, to index the same folders with it (its chunks and words; its model is not downloaded), for the time that takes.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from report import Report
from session import Daemon

RESULTS = 10
# What semble 0.7 does to index a folder, but for its vectors. Imports are not timed.
SEMBLE = """
import sys, time
from pathlib import Path
from semble.index.bm25 import BM25
from semble.index.create import _chunk_file
from semble.index.file_walker import walk_files
from semble.index.files import get_extensions
from semble.types import ContentType
root = Path(sys.argv[1])
began = time.monotonic()
index, count = BM25.empty(), 0
for path in walk_files(root, get_extensions([ContentType.CODE])):
    chunked = _chunk_file(path, str(path))
    for words in chunked[1] if chunked else ():
        index.add_document(str(count), words)
        count += 1
index.set_doc_order([str(at) for at in range(count)])
print(time.monotonic() - began)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--models", default="builtin,none")
    parser.add_argument("--semble", metavar="PYTHON")
    parser.add_argument("--out")
    options = parser.parse_args()
    repositories = read(options.repositories, options.annotations)
    report = Report("retrieval", "Questions about code", "NDCG@10")
    report.heading("NDCG@10 by category, and the time of a call")
    report.table("model", "macro", "architecture", "semantic", "symbol", "p50 ms", "p95 ms", "indexed in s")
    by_repository = defaultdict(dict)
    for model in options.models.split(","):
        categories, times, seconds = defaultdict(list), [], 0.0
        for repository in repositories:
            with Daemon(CTXD_MODEL=model) as daemon:
                daemon.run("start")
                began = time.monotonic()
                daemon.add_ready(repository["root"])
                seconds += time.monotonic() - began
                client = daemon.client(repository["root"])
                values = []
                for query in repository["queries"]:
                    arguments = {"concept_description": query["query"], "top_n_results": RESULTS}
                    took, answer = client.call("search_semantic_concept", **arguments)
                    times.append(took)
                    values.append(ndcg(answer["results"], query["targets"]))
                    categories[query["category"]].append(values[-1])
                client.close()
            by_repository[repository["name"]][model] = statistics.mean(values)
        macro = statistics.mean(one[model] for one in by_repository.values())
        means = [statistics.mean(categories[name]) for name in ("architecture", "semantic", "symbol")]
        quantiles = statistics.quantiles(times, n=20)
        report.row(
            model,
            f"{macro:.4f}",
            *[f"{mean:.3f}" for mean in means],
            f"{quantiles[9]:.1f}",
            f"{quantiles[18]:.1f}",
            f"{seconds:.0f}",
        )
    report.heading("By repository")
    report.table("repository", "language", *options.models.split(","))
    for repository in repositories:
        values = by_repository[repository["name"]]
        report.row(repository["name"], repository["language"], *[f"{value:.3f}" for value in values.values()])
    if options.semble:
        indexed_by_semble(report, options.semble, repositories)
    if options.out:
        report.write(options.out)


def read(repositories, annotations):
    """`{name, language, root, queries: [{query, category, targets: [(path, first line, last line)]}]}`."""
    found = []
    for spec in json.loads((annotations / "repos.json").read_text()):
        root = repositories / spec["name"] / (spec.get("benchmark_root") or ".")
        rows = annotations / "annotations" / f"{spec['name']}.json"
        if not root.is_dir() or not rows.is_file():
            continue
        queries = []
        for row in json.loads(rows.read_text()):
            targets = [
                (one, None, None) if isinstance(one, str) else (one["path"], one.get("start_line"), one.get("end_line"))
                for one in (*row["relevant"], *row.get("secondary", ()))
            ]
            if all((repositories / spec["name"] / path).exists() or (root / path).exists() for path, _, _ in targets):
                queries.append({"query": row["query"], "category": row["category"], "targets": targets})
        found.append(
            {"name": spec["name"], "language": spec["language"], "root": os.path.realpath(root), "queries": queries}
        )
    return found


def ndcg(results, targets):
    ranks = set()
    for path, first, last in targets:
        for rank, result in enumerate(results, 1):
            theirs = result["file_path"]
            same = theirs == path or path.endswith("/" + theirs) or theirs.endswith("/" + path)
            if same and (first is None or (result["start_line"] <= last and result["end_line"] >= first)):
                ranks.add(rank)
                break
    return sum(1 / math.log2(rank + 1) for rank in ranks) / sum(
        1 / math.log2(rank + 1) for rank in range(1, min(RESULTS, len(targets)) + 1)
    )


def indexed_by_semble(report, python, repositories):
    """Seconds for semble's chunks and words, and for all that ctxd makes (file list, text index, symbols, chunks, vectors), in turn."""
    report.heading("Indexing, beside semble (its chunks and words; its model, which is not downloaded, embeds nothing)")
    report.table("repository", "ctxd s", "semble s", "semble / ctxd")
    totals = [0.0, 0.0]
    with Daemon() as daemon, tempfile.TemporaryDirectory() as folder:
        Path(folder, "a.py").write_text("def f(): pass\n")
        daemon.run("add", folder)  # its imports are not timed either
        for repository in repositories:
            began = time.monotonic()
            daemon.run("add", repository["root"])  # waits until all is ready
            ours = time.monotonic() - began
            theirs = float(
                subprocess.run(
                    [python, "-c", SEMBLE, repository["root"]], capture_output=True, text=True, check=True
                ).stdout
            )
            totals = [totals[0] + ours, totals[1] + theirs]
            report.row(repository["name"], f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.2f}")
    report.row("all", f"{totals[0]:.1f}", f"{totals[1]:.1f}", f"{totals[1] / totals[0]:.2f}")


if __name__ == "__main__":
    main()
