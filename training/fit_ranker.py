"""Fit the weights of indexer/ranking.json on annotated repositories.

    python training/fit_ranker.py REPOSITORIES ANNOTATIONS [--home FOLDER] [--write]

REPOSITORIES holds a folder for each repository, at the revision that its annotations are of; ANNOTATIONS holds `repos.json`
(`name`, `benchmark_root`) and `annotations/NAME.json` (queries with their relevant files), as semble's public benchmark has them.
Everything is asked of the product's own index and evidence. Prints NDCG@10 with the weights held out by repository (five folds,
three shuffles), with a model and without; --write fits on all and writes the file. Deterministic, but for the order of equals.

The loss is listwise (softmax cross-entropy over a query's candidates; Cao et al., "Learning to rank", 2007), with an L2 penalty; two sets of
weights, for names and for sentences. What a score says is fitted on right first results against what the same index answers to
the questions of other repositories, and against the chunks of other files.
"""

import argparse
import json
import math
import os
import random
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

from ctxd.daemon.config import Settings
from ctxd.daemon.project import Project
from ctxd.daemon.semantic_query import SemanticQuery
from ctxd.daemon.tool import Call
from ctxd.daemon.view import View
from ctxd.daemon.workers import WorkerPool
from ctxd.indexer.database import Database
from ctxd.indexer.decode import decode
from ctxd.indexer.programs import find_programs
from ctxd.indexer.scope import Scope
from ctxd.indexer.semantic_ranking import FEATURES, Question, calibrated, coverage, features, stem_match

RANKING = Path(__file__).parent.parent / "indexer" / "ranking.json"
FOLDS, SHUFFLES = 5, 3
L2 = 1e-3
STEPS, RATE, SHARPNESS = 300, 0.05, 3.0
CANDIDATES_MAX = 60  # of a query, in fitting: those with the most evidence
FOREIGN_QUESTIONS = 20  # of other repositories, put to each
RIGHT_SHARE = 0.9  # of right first results that should score SURE or more, and of others that should score less
SURE = 0.7


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--home", type=Path, help="where indexes are kept from one run to the next")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    home = options.home or Path(tempfile.mkdtemp(prefix="ctxd-fit-"))
    queries = read_queries(options.repositories, options.annotations)
    asked = gather(queries, home)
    fitted = {}
    for kind in ("with_vectors", "without_vectors"):
        rows = [one[kind] for one in asked]
        print(kind, held_out(asked, rows))
        fitted[kind] = fit(rows)
        print("  fitted on all:", report(asked, rows, [fitted[kind]] * len(rows)))
    if options.write:
        old = json.loads(RANKING.read_text())
        RANKING.write_text(json.dumps({**fitted, "calibration": old["calibration"]}, indent=1) + "\n")
        print(f"written: {RANKING}")


def read_queries(repositories, annotations):
    queries = []
    for spec in json.loads((annotations / "repos.json").read_text()):
        root = repositories / spec["name"] / (spec.get("benchmark_root") or ".")
        rows = annotations / "annotations" / f"{spec['name']}.json"
        if root.is_dir() and rows.is_file():
            for row in json.loads(rows.read_text()):
                targets = [one if isinstance(one, str) else one["path"] for one in (*row["relevant"], *row.get("secondary", ()))]
                queries.append(
                    {"repository": spec["name"], "root": root, "query": row["query"], "category": row["category"], "targets": targets}
                )
    return queries


def gather(queries, home):
    """For each query its candidates' features with and without vectors, and which are right."""
    workers = WorkerPool(os.cpu_count() or 1)
    asked = []
    by_repository = defaultdict(list)
    for query in queries:
        by_repository[query["repository"]].append(query)
    for name, of_repository in by_repository.items():
        database = Database(str(home / f"{name}.db"))
        project = Project(
            os.fsencode(of_repository[0]["root"].resolve()),
            database,
            workers,
            Settings(),
            matchers=workers,
            embedders=workers,
            scratch=str(home / "git"),
            programs=find_programs(),
        )
        project.open()
        while not project.queue.chunks_ready:
            if project.queue.problem:
                raise SystemExit(project.queue.problem)
            time.sleep(0.1)
        for query in of_repository:
            question = Question(query["query"])
            row = {**query, "is_name": question.is_name}
            for kind in ("with_vectors", "without_vectors"):
                meaning = project.model.meaning(query["query"], lambda: False) if kind == "with_vectors" else None
                candidates, rarity = project.semantic.candidates(question, Scope(), lambda: False, meaning=meaning)
                evidence = [one for _, one in candidates]
                values = features(question, evidence, rarity)
                paths = [os.fsdecode(one.path) for one in evidence]
                row[kind] = {
                    "is_name": question.is_name,
                    "x": np.array([[one[name] for name in FEATURES] for one in values]).reshape(-1, len(FEATURES)),
                    "hits": np.array([[same_path(path, target) for path in paths] for target in query["targets"]], bool).reshape(
                        len(query["targets"]), -1
                    ),
                }
            asked.append(row)
        project.close()
        database.close()
        print(f"{name}: {len(of_repository)} queries", flush=True)
    workers.close()
    return asked


def same_path(one, other):
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def fit(rows):
    """Weights by feature, for sentences and for names."""
    return {
        "name" if is_name else "sentence": dict(
            zip(FEATURES, np.round(_fitted([row for row in rows if row["is_name"] == is_name]), 3).tolist(), strict=True)
        )
        for is_name in (False, True)
    }


def _fitted(rows):
    rows = [row for row in rows if row["hits"].any()]
    longest = min(CANDIDATES_MAX, max(len(row["x"]) for row in rows))
    x = np.zeros((len(rows), longest, len(FEATURES)))
    right = np.zeros((len(rows), longest))
    absent = np.full((len(rows), longest), -1e9)
    for at, row in enumerate(rows):
        hit = row["hits"].any(0)
        kept = np.argsort(-(row["x"].sum(1) + 100 * hit), kind="stable")[:longest]
        x[at, : len(kept)], absent[at, : len(kept)] = row["x"][kept], 0
        right[at, : len(kept)] = hit[kept] / hit[kept].sum()
    weights, mean, square = np.zeros(len(FEATURES)), np.zeros(len(FEATURES)), np.zeros(len(FEATURES))
    for step in range(1, STEPS + 1):  # Adam
        logits = SHARPNESS * (x @ weights) + absent
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        slope = SHARPNESS * np.einsum("qn,qnk->k", shares - right, x) / len(rows) + 2 * L2 * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def held_out(asked, rows):
    """The report with weights that no query of the same repository had a part in."""
    repositories = sorted({one["repository"] for one in asked})
    reports = []
    for seed in range(SHUFFLES):
        order = repositories[:]
        random.Random(seed).shuffle(order)
        fold = {name: at % FOLDS for at, name in enumerate(order)}
        weights = [
            fit([row for one, row in zip(asked, rows, strict=True) if fold[one["repository"]] != held]) for held in range(FOLDS)
        ]
        reports.append(report(asked, rows, [weights[fold[one["repository"]]] for one in asked]))
    return {key: round(sum(one[key] for one in reports) / len(reports), 4) for key in reports[0]}


def report(asked, rows, weights):
    """Macro NDCG@10 over repositories and by category, of files alone: spans within files are not looked at."""
    by_repository, by_category = defaultdict(list), defaultdict(list)
    for one, row, own in zip(asked, rows, weights, strict=True):
        chosen = own["name" if row["is_name"] else "sentence"]
        value = ndcg(row, np.array([chosen[name] for name in FEATURES]))
        by_repository[one["repository"]].append(value)
        by_category[one["category"]].append(value)
    means = [sum(values) / len(values) for values in by_repository.values()]
    return {
        "macro": round(sum(means) / len(means), 4),
        **{name: round(sum(values) / len(values), 4) for name, values in sorted(by_category.items())},
    }


def ndcg(row, weights):
    order = np.argsort(-(row["x"] @ weights), kind="stable")[:10]
    ranks = {int(np.argmax(hits[order])) for hits in row["hits"] if hits[order].any()}
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(10, len(row["hits"]))))
    return sum(1 / math.log2(rank + 2) for rank in ranks) / ideal


if __name__ == "__main__":
    main()
