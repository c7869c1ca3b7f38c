"""Fit the weights of indexer/meaning/ranking.json on annotated repositories.

    python training/fit_ranker.py REPOSITORIES ANNOTATIONS [--home FOLDER] [--write]
    python training/fit_ranker.py REPOSITORIES ANNOTATIONS [--home FOLDER] [--write] --scores

REPOSITORIES holds a folder for each repository, at the revision that its annotations are of; ANNOTATIONS holds `repos.json`
(`name`, `benchmark_root`) and `annotations/NAME.json` (queries with their relevant files), as semble's public benchmark has them.
Everything is asked of the product's own index and evidence. Prints NDCG@10 with the weights held out by repository (five folds,
three shuffles), with a model and without; --write fits on all and writes the file. Deterministic, but for the order of equals.

The loss is listwise (softmax cross-entropy over a query's candidates; Cao et al., "Learning to rank", 2007), with an L2 penalty; two sets of
weights, for names and for sentences. With --scores what a score says is fitted instead, given the ranking: a logistic curve over right
first results against the first results that the same index gives to questions about other repositories, moved so that as many of the one get
0.7 or more as of the other less.
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

from ctxd.daemon.edits.editor import Editor
from ctxd.daemon.indexing.watcher import shared_inotify
from ctxd.daemon.indexing.workers import WorkerPool
from ctxd.daemon.projects.config import Settings
from ctxd.daemon.projects.project import Project
from ctxd.indexer.database import Database
from ctxd.indexer.decode import decode
from ctxd.indexer.files.scope import Scope
from ctxd.indexer.meaning.semantic_ranking import FEATURES, Question, features, signs
from ctxd.indexer.programs import find_programs

RANKING = Path(__file__).parent.parent / "indexer" / "meaning" / "ranking.json"
KINDS = ("with_vectors", "without_vectors")
WITHOUT_EFFECT = {  # on any answer about these repositories: they get no weight
    "name": {"compounds", "size", "is_example", "is_entrance"},
    "without_vectors": {"near"},
}
SIGNS = ("one", "told", "name", "defines", "cosine")
FOLDS, SHUFFLES = 5, 3
L2 = 1e-3
STEPS, RATE, SHARPNESS = 300, 0.05, 3.0
CANDIDATES_MAX = 60  # of a query, in fitting: those with the most evidence
FOREIGN_QUESTIONS = 20  # of other repositories, put to each
SURE = 0.7


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repositories", type=Path)
    parser.add_argument("annotations", type=Path)
    parser.add_argument("--home", type=Path, help="where indexes are kept from one run to the next")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--scores", action="store_true")
    options = parser.parse_args()
    home = options.home or Path(tempfile.mkdtemp(prefix="ctxd-fit-"))
    queries = read_queries(options.repositories, options.annotations)
    if options.scores:
        fit_scores(queries, home, write=options.write)
        return
    asked = gather(queries, home)
    fitted = {}
    for kind in KINDS:
        rows = [one[kind] for one in asked]
        print(kind, held_out(asked, rows, kind))
        fitted[kind] = fit(rows, kind)
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
                targets = [
                    one if isinstance(one, str) else one["path"]
                    for one in (*row["relevant"], *row.get("secondary", ()))
                ]
                queries.append(
                    {
                        "repository": spec["name"],
                        "root": root,
                        "query": row["query"],
                        "category": row["category"],
                        "targets": targets,
                    }
                )
    return queries


def gather(queries, home):
    """For each query its candidates' features with and without vectors, and which are right."""
    asked = []
    for project, of_repository in opened(queries, home):
        for query in of_repository:
            question = Question(query["query"])
            row = {**query, "is_name": question.is_name}
            for kind in KINDS:
                meaning = project.model.meaning(query["query"], lambda: False) if kind == "with_vectors" else None
                candidates, rarity = project.semantic.candidates(question, Scope(), lambda: False, meaning=meaning)
                evidence = [one for _, one in candidates]
                values = features(question, evidence, rarity)
                paths = [os.fsdecode(one.path) for one in evidence]
                hits = [[same_path(path, target) for path in paths] for target in query["targets"]]
                row[kind] = {
                    "is_name": question.is_name,
                    "x": np.array([[one[name] for name in FEATURES] for one in values]).reshape(-1, len(FEATURES)),
                    "hits": np.array(hits, bool).reshape(len(query["targets"]), -1),
                }
            asked.append(row)
    return asked


def opened(queries, home):
    """Each repository as a project with all of its index, and the queries about it."""
    workers = WorkerPool(os.cpu_count() or 1)
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
            editor=Editor(str(home / "edits")),
            scratch=str(home / "git"),
            programs=find_programs(),
            inotify=shared_inotify(),
        )
        project.open()
        while not project.indexing.caught_up:
            if project.indexing.problem:
                raise SystemExit(project.indexing.problem)
            time.sleep(0.1)
        yield project, of_repository
        project.close()
        database.close()
        print(f"{name}: {len(of_repository)} queries", flush=True)
    workers.close()


def fit_scores(queries, home, *, write):
    """The curve of semantic_ranking.calibrated, for each kind of ranking."""
    right, other = {kind: [] for kind in KINDS}, {kind: [] for kind in KINDS}
    dice = random.Random(0)
    for project, of_repository in opened(queries, home):
        foreign = [query for query in queries if query["repository"] != of_repository[0]["repository"]]
        for query in of_repository + dice.sample(foreign, FOREIGN_QUESTIONS):
            own = query["repository"] == of_repository[0]["repository"]
            for kind in KINDS:
                question = Question(query["query"])
                meaning = project.model.meaning(query["query"], lambda: False) if kind == "with_vectors" else None
                found = project.semantic.ask(question, Scope(), lambda: False, limit=3, meaning=meaning)
                for hit in found.hits[:1] if own else found.hits:
                    is_right = own and any(same_path(os.fsdecode(hit.path), target) for target in query["targets"])
                    if is_right or not own:
                        (right if is_right else other)[kind].append(_signs(project, question, found, hit))
    curves = {}
    for kind in KINDS:
        x = np.array(right[kind] + other[kind])
        y = np.array([1.0] * len(right[kind]) + [0.0] * len(other[kind]))
        weights = _logistic(x, y)
        values = x @ weights
        rights, others = np.sort(values[y == 1]), np.sort(values[y == 0])
        # Where the smaller one of the two shares is largest.
        cut = max(values, key=lambda one: min((rights >= one).mean(), (others < one).mean()))
        weights[0] += math.log(SURE / (1 - SURE)) - cut
        print(
            f"{kind}: {(rights >= cut).mean():.1%} of {len(rights)} right first results score {SURE} or more,"
            f" {(others < cut).mean():.1%} of {len(others)} results for other repositories' questions less"
        )
        curves[kind] = dict(
            zip(SIGNS if kind == "with_vectors" else SIGNS[:-1], np.round(weights, 3).tolist(), strict=False)
        )
    if write:
        RANKING.write_text(json.dumps({**json.loads(RANKING.read_text()), "calibration": curves}, indent=1) + "\n")
        print(f"written: {RANKING}")


def _signs(project, question, found, hit):
    text = decode((Path(os.fsdecode(project.root)) / os.fsdecode(hit.path)).read_bytes())[1].decode()
    chunk = "\n".join(text.split("\n")[hit.start_line - 1 : hit.end_line])
    return [1.0, *signs(question, hit.path, chunk, found.rarity), hit.defines, hit.cosine or 0.0]


def _logistic(x, y):
    """Weights of a logistic regression, right and other results counting the same; none below zero but the first."""
    share = np.where(y == 1, 0.5 / y.sum(), 0.5 / (len(y) - y.sum()))
    weights = np.zeros(x.shape[1])
    for _ in range(20_000):
        slope = ((1 / (1 + np.exp(-(x @ weights))) - y) * share) @ x + 1e-3 * weights
        weights -= 2.0 * slope
        weights[1:] = np.maximum(weights[1:], 0)
    return weights


def same_path(one, other):
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def fit(rows, kind):
    """Weights by feature, for sentences and for names."""
    weights = {}
    for question in ("sentence", "name"):
        left_out = WITHOUT_EFFECT.get(question, set()) | WITHOUT_EFFECT.get(kind, set())
        used = [name for name in FEATURES if name not in left_out]
        fitted = _fitted([row for row in rows if row["is_name"] == (question == "name")], used)
        weights[question] = dict(zip(used, np.round(fitted, 3).tolist(), strict=True))
    return weights


def _fitted(rows, used):
    columns = [FEATURES.index(name) for name in used]
    rows = [{**row, "x": row["x"][:, columns]} for row in rows if row["hits"].any()]
    longest = min(CANDIDATES_MAX, max(len(row["x"]) for row in rows))
    x = np.zeros((len(rows), longest, len(used)))
    right = np.zeros((len(rows), longest))
    absent = np.full((len(rows), longest), -1e9)
    for at, row in enumerate(rows):
        hit = row["hits"].any(0)
        kept = np.argsort(-(row["x"].sum(1) + 100 * hit), kind="stable")[:longest]
        x[at, : len(kept)], absent[at, : len(kept)] = row["x"][kept], 0
        right[at, : len(kept)] = hit[kept] / hit[kept].sum()
    weights, mean, square = np.zeros(len(used)), np.zeros(len(used)), np.zeros(len(used))
    for step in range(1, STEPS + 1):  # Adam
        logits = SHARPNESS * (x @ weights) + absent
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        slope = SHARPNESS * np.einsum("qn,qnk->k", shares - right, x) / len(rows) + 2 * L2 * weights
        mean = 0.9 * mean + 0.1 * slope
        square = 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return weights


def held_out(asked, rows, kind):
    """The report with weights that no query of the same repository had a part in."""
    repositories = sorted({one["repository"] for one in asked})
    reports = []
    for seed in range(SHUFFLES):
        order = repositories[:]
        random.Random(seed).shuffle(order)
        fold = {name: at % FOLDS for at, name in enumerate(order)}
        weights = [
            fit([row for one, row in zip(asked, rows, strict=True) if fold[one["repository"]] != held], kind)
            for held in range(FOLDS)
        ]
        reports.append(report(asked, rows, [weights[fold[one["repository"]]] for one in asked]))
    return {key: round(sum(one[key] for one in reports) / len(reports), 4) for key in reports[0]}


def report(asked, rows, weights):
    """Macro NDCG@10 over repositories and by category, of files alone: spans within files are not looked at."""
    by_repository, by_category = defaultdict(list), defaultdict(list)
    for one, row, own in zip(asked, rows, weights, strict=True):
        chosen = own["name" if row["is_name"] else "sentence"]
        value = ndcg(row, np.array([chosen.get(name, 0.0) for name in FEATURES]))
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
