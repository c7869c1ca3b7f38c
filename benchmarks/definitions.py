"""Definitions against labels written by hand: how many of a file's are found, and how many of those found are right.

    python benchmarks/definitions.py CHECKOUTS [LANGUAGE...] [--draw SEED REPOSITORY...]

CHECKOUTS holds a folder for each repository that the labels name, at the commit they name (`git clone`, `git checkout`). Labels
are facts about files, not their text: rows of tab-separated path (its first folder is the repository's), line, kind and name.

`definitions/LANGUAGE.tsv` lists every definition of some whole files, written down before anyone saw what ctxd says of them:
recall and precision are exact, a wrong kind or line counts as a miss and as one too many.

`definitions/samples/LANGUAGE.tsv` lists definitions that ctxd reported, drawn at random, each read in its file: a further
column says `right` or `wrong`. The draw itself gives the precision; later runs tell whether the right ones are still reported
and the wrong ones, also of earlier draws, are not.

`--draw` prints such rows to be judged, as many of each repository, each with its line of text, that is not to be kept.
"""

import argparse
import os
import random
from collections import defaultdict
from pathlib import Path

from report import Report
from symbols import FILE_BYTES_MAX, files_of, read

from ctxd.indexer.decode import decode
from ctxd.indexer.languages import LANGUAGE_BY_NAME, LANGUAGES, language_of
from ctxd.indexer.symbols.parser import parse

LABELS = Path(__file__).with_name("definitions")
DRAWN = 100  # definitions of a language
DRAWN_FILES = 60  # of a repository, whose definitions are drawn from


def main(checkouts, names):
    report = Report("definitions", "Definitions against labels written by hand", "labels")
    report.table("language", "files", "definitions", "recall", "precision", "sample", "right, reported", "wrong, gone")
    for name in names:
        whole, sample = LABELS / f"{name}.tsv", LABELS / "samples" / f"{name}.tsv"
        if whole.exists() or sample.exists():
            report.row(name, *compared(checkouts, name, whole), *checked(checkouts, name, sample))


def compared(checkouts, language, whole):
    """Files, labels, recall and precision of whole files; prints where they differ."""
    if not whole.exists():
        return ("-",) * 4
    labels = labels_of(whole)
    found = {path: found_in(checkouts, path, language) for path in labels}
    for path, expected in labels.items():
        for line, kind, name in sorted(expected ^ found[path]):
            side = "missing" if (line, kind, name) in expected else "too many"
            print(f"{side}: {path}:{line} {kind} {name}")
    both = sum(len(found[path] & expected) for path, expected in labels.items())
    total, ours = (sum(map(len, side.values())) for side in (labels, found))
    return len(labels), total, f"{both / total:.4f}", f"{both / ours:.4f}"


def checked(checkouts, language, sample):
    """How many are sampled, how many right ones are still reported, how many wrong ones no more; prints what changed."""
    if not sample.exists():
        return ("-",) * 3
    counts = {}
    for judgement in ("right", "wrong"):
        kept = total = 0
        for path, labels in labels_of(sample, judgement).items():
            found = found_in(checkouts, path, language)
            changed = labels - found if judgement == "right" else labels & found
            for line, kind, name in sorted(changed):
                print(f"{judgement}, {'lost' if judgement == 'right' else 'still there'}: {path}:{line} {kind} {name}")
            total += len(labels)
            kept += len(labels) - len(changed)
        counts[judgement] = kept, total
    size = sum(total for _, total in counts.values())
    return size, *(f"{kept} of {total}" for kept, total in counts.values())


def labels_of(file, judgement=None):
    """path -> {(line, kind, name)} of a file of labels, of a sample those with this judgement."""
    labels = defaultdict(set)
    for row in file.read_text(encoding="utf-8").splitlines():
        if row and not row.startswith("#"):
            path, line, kind, name, *judged = row.split("\t")
            if judged == ([judgement] if judgement else []):
                labels[path].add((int(line), kind, name))
    return labels


def found_in(checkouts, path, language):
    """{(line, kind, name)} as ctxd reads one file."""
    text = decode(read(os.path.join(checkouts, path)))[1]
    return {(one.line, one.kind, one.name) for one in parse(LANGUAGE_BY_NAME[language], text, 60).definitions}


def draw(checkouts, language, seed, repositories):
    """Print rows of a sample to be judged, and of each the line it stands in."""
    chance = random.Random(seed)
    for place, repository in enumerate(repositories):
        paths = [path for path in files_of(os.path.join(checkouts, repository)) if is_in(path, language)]
        drawn = []
        for path in chance.sample(paths, min(DRAWN_FILES, len(paths))):
            relative = os.path.relpath(path, checkouts)
            drawn += [(relative, *one) for one in sorted(found_in(checkouts, relative, language))]
        for path, line, kind, name in sorted(chance.sample(drawn, (DRAWN + place) // len(repositories))):
            lines = decode(read(os.path.join(checkouts, path)))[1].decode("utf-8", "replace").split("\n")
            print(path, line, kind, name, lines[line - 1].strip()[:120], sep="\t")


def is_in(path, language):
    if language_of(os.fsencode(path)) is None or os.path.getsize(path) > FILE_BYTES_MAX:
        return False
    text = decode(read(path))[1]
    return text is not None and language_of(os.fsencode(path), text) == LANGUAGE_BY_NAME[language]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", metavar="CHECKOUTS")
    parser.add_argument("languages", nargs="*", metavar="LANGUAGE", help="all by default")
    parser.add_argument(
        "--draw", nargs="+", metavar=("SEED", "REPOSITORY"), help="print a fresh sample of one language"
    )
    arguments = parser.parse_args()
    if arguments.draw:
        draw(arguments.checkouts, arguments.languages[0], int(arguments.draw[0]), arguments.draw[1:])
    else:
        main(arguments.checkouts, arguments.languages or [language.name for language in LANGUAGES])
