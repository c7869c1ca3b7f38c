"""How well vectors alone find files: NDCG@10 of weights on checked-out repositories with annotated questions.

`BENCH_REPOS=CHECKOUTS python training/evaluate.py BENCHMARK WEIGHTS...`, where BENCHMARK holds `score.py`, `repos.json` and `annotations/`.
Files are ranked by their best chunk (1,500 characters of whole lines). `--with-paths` adds the words of a file's path to each chunk.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections import Counter, defaultdict

import numpy as np

from ctxd.indexer.decode import decode
from ctxd.indexer.languages import parsed_language_of
from ctxd.indexer.meaning.static_model import StaticModel
from ctxd.indexer.words import tokens

CHUNK_CHARACTERS = 1_500
PATH_COUNT = 2  # what a token of the path counts for
FILE_BYTES_MAX = 1_000_000


def bags_of(root: str, top: str, *, with_paths: bool) -> tuple[list[str], list[Counter[str]]]:
    """Path, relative to `top`, and counted tokens of every chunk below `root`."""
    paths, bags = [], []
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(folder, name)
            language = parsed_language_of(os.fsencode(full))
            if language is None or language.has_sections or os.path.getsize(full) > FILE_BYTES_MAX:
                continue
            with open(full, "rb") as file:
                _, text = decode(file.read())
            path = os.path.relpath(full, top)
            for chunk in chunks_of((text or b"").decode("utf-8")):
                bag = Counter(tokens(chunk))
                if with_paths:
                    for token in tokens(path.rpartition(".")[0]):
                        bag[token] += PATH_COUNT
                paths.append(path)
                bags.append(bag)
    return paths, bags


def chunks_of(text: str) -> list[str]:
    chunks: list[str] = []
    lines: list[str] = []
    size = 0
    for line in text.splitlines(keepends=True):
        if size and size + len(line) > CHUNK_CHARACTERS:
            chunks.append("".join(lines))
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    return [*chunks, "".join(lines)] if lines else chunks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("benchmark")
    parser.add_argument("weights", nargs="+")
    parser.add_argument("--with-paths", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.benchmark)
    score = importlib.import_module("score")
    queries, _ = score.load()
    of_repository = defaultdict(list)
    for query in queries:
        of_repository[query["repo"]].append(query)
    models = {weights: StaticModel(weights) for weights in arguments.weights}
    scores: dict[str, dict[str, float]] = {weights: {} for weights in models}
    for name, asked in of_repository.items():
        top = str(score.REPOS / name)
        paths, bags = bags_of(str(score.root_of(name, score.specs()[name])), top, with_paths=arguments.with_paths)
        for weights, model in models.items():
            near = model.encode([query["query"] for query in asked]) @ model.encode_bags(bags).T
            for query, row in zip(asked, near, strict=True):
                best: dict[str, float] = {}
                for at in np.argsort(-row, kind="stable"):
                    best.setdefault(paths[at], row[at])
                found = [(path, 1, 10**9) for path in list(best)[:10]]
                scores[weights][query["id"]] = score.ndcg(found, query["targets"])
    for weights, of_query in scores.items():
        print(
            score.line(
                os.path.basename(weights) + (" with paths" if arguments.with_paths else ""),
                score.summarise(of_query, queries),
            )
        )


if __name__ == "__main__":
    main()
