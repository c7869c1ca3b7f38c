"""What training has in common with the projects that retrieval is judged on: `python training/overlap.py FOLDER CHECKOUTS`.

A line of at least LINE_CHARACTERS_MIN characters counts as shared where it stands in a checkout, a definition as copied where
at least half of its lines, and COPIED_LINES_MIN of them, are shared. Prints the shares and who has what from whom.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter

from pairs import read_pairs

from ctxd.indexer.languages import parsed_language_of

LINE_CHARACTERS_MIN = 30  # shorter ones are written again and again
COPIED_LINES_MIN = 3


def long_lines(text: str) -> list[int]:
    """Hashes of lines."""
    return [hash(line) for line in map(str.strip, text.split("\n")) if len(line) >= LINE_CHARACTERS_MIN]


def lines_of_checkouts(folder: str) -> dict[int, str]:
    """From the hash of each long line to the project it stands in."""
    found: dict[int, str] = {}
    for project in sorted(os.listdir(folder)):
        for top, _, names in os.walk(os.path.join(folder, project)):
            for name in names:
                path = os.path.join(top, name)
                language = parsed_language_of(os.fsencode(path))
                if language is not None and not language.has_sections and os.path.isfile(path):
                    with open(path, encoding="utf-8", errors="replace") as file:
                        found.update(dict.fromkeys(long_lines(file.read()), project))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where mine.py has put pairs.jsonl.gz")
    parser.add_argument("checkouts", help="a folder with a checkout of each project")
    arguments = parser.parse_args()
    known = lines_of_checkouts(arguments.checkouts)
    lines = shared_lines = definitions = 0
    copied: Counter[tuple[str, str]] = Counter()
    for pair in read_pairs(arguments.folder):
        of_body = long_lines(pair["body"])
        shared = [known[line] for line in of_body if line in known]
        definitions += 1
        lines += len(of_body)
        shared_lines += len(shared)
        if len(shared) >= max(COPIED_LINES_MIN, len(of_body) / 2):
            copied[pair["package"], Counter(shared).most_common(1)[0][0]] += 1
    print(f"{shared_lines} of {lines} lines shared ({shared_lines / lines:.2%})")
    print(f"{copied.total()} of {definitions} definitions copied ({copied.total() / definitions:.3%})")
    for (package, project), count in copied.most_common(20):
        print(f"{count:>6}  {package} has from, or shares with, {project}")


if __name__ == "__main__":
    main()
