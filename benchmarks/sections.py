"""Headings, tables and keys against independent readers, and how fast both are.

    python benchmarks/sections.py DIR_OR_FILE...

For each language: how many files agree with the reference of tests/references.py, and megabytes a second of both in the same run;
a reference that is not installed leaves its language out. A file named `spec.txt` is CommonMark's specification
(`npm pack commonmark-spec`): each of its examples counts as a file. One of them differs: cmark says the wrong line for a heading
that follows a link definition.
"""

import argparse
import collections
import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from references import READERS, Refused

from ctxd.indexer.decode import decode
from ctxd.indexer.languages import language_of
from ctxd.indexer.structure import scan


def texts(places):
    for place in places:
        if os.path.basename(place) == "spec.txt":
            with open(place, encoding="utf-8") as file:
                examples = re.findall(r"^`{32} example\n(.*?)^\.\n.*?^`{32}$", file.read(), re.MULTILINE | re.DOTALL)
            for number, example in enumerate(examples, 1):
                yield f"example {number}", "markdown", example.replace("→", "\t").encode()
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                path = os.path.join(folder, name)
                language = language_of(os.fsencode(path))
                if language is not None and language.name in READERS and os.path.isfile(path):
                    with open(path, "rb") as file:
                        text = decode(file.read())[1]
                    if text is not None:
                        yield path, language.name, text


def timed(function, argument):
    began = time.perf_counter()
    return function(argument), time.perf_counter() - began


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    arguments.add_argument("places", nargs="+", metavar="DIR_OR_FILE")
    arguments.add_argument("--show", type=int, default=3, help="differences to show for each language")
    asked = arguments.parse_args()
    sys.setrecursionlimit(10_000)
    totals = {name: collections.Counter() for name in READERS}
    for path, language, text in texts(asked.places):
        ours, reference, is_there = READERS[language]
        total = totals[language]
        if not is_there():
            continue
        _, seconds = timed(lambda text, language=language: scan(language, text), text)
        total.update({"seconds": seconds, "bytes": len(text)})
        try:
            expected, seconds = timed(reference, text)
        except Refused:
            total["refused"] += 1
            continue
        total.update({"reference_seconds": seconds, "reference_bytes": len(text), "files": 1})
        found = ours(text)
        if found != expected:
            total["different"] += 1
            if total["different"] <= asked.show:
                print(
                    f"{path} differs: only ours {only(found, expected)}, only the reference's {only(expected, found)}"
                )
    print(f"{'language':17} {'files':>6} {'equal':>6} {'refused by reference':>21} {'MB/s':>6} {'reference MB/s':>15}")
    for name, total in totals.items():
        if total["files"]:
            speed = total["bytes"] / 1e6 / total["seconds"]
            peer = total["reference_bytes"] / 1e6 / total["reference_seconds"]
            equal = total["files"] - total["different"]
            print(f"{name:17} {total['files']:6} {equal:6} {total['refused']:21} {speed:6.1f} {peer:15.1f}")


def only(one, other):
    if isinstance(one, dict):
        one, other = one.items(), list(other.items())
    return [item for item in one if item not in other][:3]


if __name__ == "__main__":
    main()
