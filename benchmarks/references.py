"""Occurrences of symbols against sets labelled by hand: are all found, and are those that the tool is sure of the symbol's own?

    python benchmarks/references.py CHECKOUTS_FOLDER [LANGUAGE...] [--verbose] [--home FOLDER]

A set is `references/LANGUAGE.tsv`. `# OWNER/NAME COMMIT` starts the rows of a repository, whose checkout CHECKOUTS_FOLDER/NAME is
at that commit; a row is a symbol as it is asked for, a path, a line, and `yes` or `no`: whether the line holds an occurrence of
the symbol (its definition, an import, a use, also by an alias), or of the same name or alias for something else alone. Lines of
which reading could not tell are not in the set; comments and strings are no occurrences. All lines of code that hold the name are
labelled, so a sure answer without a label is a mistake of the set or of the tool: it is counted apart.

Recall: lines that hold the symbol and are answered, of all that hold it. Precision: lines that hold the symbol, of those answered
with a grade better than name-only. "Name only": right answers of that grade alone, of all right ones.
"""

import argparse
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from report import Report
from session import Daemon

SETS = Path(__file__).parent / "references"
NAME_ONLY = "name-only"


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("checkouts", metavar="CHECKOUTS_FOLDER")
    arguments.add_argument("languages", nargs="*", metavar="LANGUAGE", help="all that have a set")
    arguments.add_argument("--verbose", action="store_true", help="each miss, and each wrong or unlabelled sure answer")
    arguments.add_argument("--home", metavar="FOLDER", help="keep the index there, and use what an earlier run left")
    arguments.add_argument("--out", metavar="FOLDER", help="write the table there")
    asked = arguments.parse_args()
    report = Report("references", "Occurrences of symbols, against sets labelled by hand", "")
    report.table("language", "symbols", "occurrences", "others", "recall", "precision", "name only", "unlabelled")
    with Daemon(asked.home) as daemon:
        daemon.run("start")
        for language in asked.languages or sorted(path.stem for path in SETS.glob("*.tsv")):
            counts = Counts()
            for repository, commit, symbols in read(SETS / f"{language}.tsv"):
                folder = checkout(asked.checkouts, repository, commit)
                daemon.add_ready(folder)
                client = daemon.client(folder)
                for symbol, labels in symbols.items():
                    counts.add(symbol, labels, grades(client, symbol, language), print if asked.verbose else None)
                client.close()
            report.row(language, *counts.cells())
    if asked.out:
        report.write(asked.out)


def read(path):
    """`(OWNER/NAME, commit, {symbol: {(path, line): whether it is the symbol}})` of each repository."""
    found = []
    for row in path.read_text(encoding="utf-8").splitlines():
        if row.startswith("# "):
            repository, commit = row[2:].split()
            found.append((repository, commit, defaultdict(dict)))
        else:
            symbol, file, line, label = row.split("\t")
            found[-1][2][symbol][file, int(line)] = {"yes": True, "no": False}[label]
    return found


def checkout(folder, repository, commit):
    path = os.path.realpath(os.path.join(folder, repository.split("/")[1]))
    command = ["git", "-C", path, "rev-parse", "HEAD"]
    if subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() != commit:
        sys.exit(f"{path} is no checkout of {repository} at {commit}")
    return path


def grades(client, symbol, language):
    """`{(path, line): best grade}` of all that is answered."""
    found = {}
    cursor = {}
    while True:
        answer = client.call("find_symbol_occurrences", symbol_name=symbol, language=language, **cursor)[1]
        for one in answer["occurrences"]:  # surest first
            found.setdefault((one["file_path"], one["line_number"]), one["grade"])
        if "next_cursor" not in answer:
            return found
        cursor = {"cursor": answer["next_cursor"]}


class Counts:
    """Of one language, in lines."""

    def __init__(self):
        self.symbols = self.occurrences = self.others = self.found = self.sure = self.right = self.by_name = 0
        self.unlabelled = 0

    def add(self, symbol, labels, answered, say):
        """`say` is given each mistake, where it is not None."""
        self.symbols += 1
        self.occurrences += sum(labels.values())
        self.others += len(labels) - sum(labels.values())
        for place in sorted(labels.keys() | answered.keys()):
            label, grade = labels.get(place), answered.get(place)
            sure = grade not in (None, NAME_ONLY)
            self.found += bool(label) and grade is not None
            self.by_name += bool(label) and grade == NAME_ONLY
            self.sure += sure and label is not None
            self.right += sure and bool(label)
            self.unlabelled += sure and label is None
            mistake = "missed" if label and grade is None else "wrong" if label is False else "unlabelled"
            if say and (mistake == "missed" or (sure and not label)):
                say(f"{mistake}\t{symbol}\t{place[0]}:{place[1]}\t{grade or ''}")

    def cells(self):
        return (
            self.symbols,
            self.occurrences,
            self.others,
            f"{self.found / max(1, self.occurrences):.3f}",
            f"{self.right / max(1, self.sure):.3f}",
            f"{self.by_name / max(1, self.found):.3f}",
            self.unlabelled,
        )


if __name__ == "__main__":
    main()
