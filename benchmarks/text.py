"""Text queries of several kinds, each against ripgrep in the same run; also whether both find the same lines.

    python benchmarks/text.py DIR... [--repetitions N] [--home FOLDER] [--out FOLDER]

Timed with a raw client after one untimed call of each, in turn with ripgrep (its default threads); medians. "first" is the answer with the
first 200 results, "full" that of all pages, where there are at most 5,000 results; both against ripgrep's whole run. A total marked "+" is
a lower bound. Numbers of lines are compared wherever ctxd counts to the end: DIFFERS is printed and makes the exit code 1.

Then the backends of ctxd beside the bare programs, on 200 and 7,000 files copied from the first project that has as many.
"""

import argparse
import os
import random
import re
import shutil
import statistics
import sys

from report import Report
from session import Daemon, part_of, timed

BACKENDS = {  # the milliseconds that specification 004 allows on a small and on a medium project
    "index": (50, 200),
    "rg": (50, 200),
    "grep": (400, 3_000),
    "python": (800, 5_000),
}
SIZES = {"small": 200, "medium": 7_000}
FIRST = 200
FULL_MAX = 5_000  # results beyond which nobody reads all
COMMON = ["int", "return", "the"]
REGEXES = [r"[a-z]+_init\(", r"^\s*#\s*define\s+\w+_MAX\b", r"(get|put)_\w+_(lock|unlock)", r"class \w+Error\b"]
NO_LITERAL = [
    r"\b[A-Z]{3,8}_[0-9]{3}\b",
    r"[0-9]{5}\s+[0-9]{9}\s",
    r"\b[a-z]{2}[0-9]{7}\b",
    r"^\w+\s\w+\s\w+$",
    r"(\w)[0-9]{6}z",
]


def main(folders, repetitions, home, out):
    rg = shutil.which("rg")
    if rg is None:
        sys.exit("ripgrep is not installed; on Debian and Ubuntu: apt install ripgrep")
    report = Report("text", "Text search, against ripgrep", "rg")
    differences = 0
    with Daemon(home) as daemon:
        daemon.run("start")
        names = {}
        for folder in folders:
            daemon.add_ready(folder)
            client = daemon.client(folder)
            names[folder] = listed(client)
            differences += against_ripgrep(report, client, rg, folder, names[folder], repetitions)
            client.close()
        backends(report, daemon, rg, names, repetitions)
    if out:
        report.write(out)
    sys.exit(1 if differences else 0)


def against_ripgrep(report, client, rg, folder, names, repetitions):
    """The number of queries whose answers differ."""
    project = os.path.basename(folder)
    report.heading(
        f"{project}: {len(names):,} files; relay {client.rss_bytes() / 1e6:.1f} MB, initialize {client.initialize_ms:.0f} ms"
    )
    report.table("kind", "query", "n", "rg n", "first ms", "full ms", "rg ms", "rg / first", "rg / full")
    differences = 0
    for kind, queries in queries_of(folder, names).items():
        ratios = {"first": [], "full": []}
        for query, is_regex, case_sensitive in queries:
            arguments = {"query": query, "is_regex": is_regex, "case_sensitive": case_sensitive, "context_lines": 0}
            command = [rg, "--no-config", "--line-number", "--crlf", "--color=never"]
            command += [] if is_regex else ["--fixed-strings"]
            command += [] if case_sensitive else ["--ignore-case"]
            command += ["--regexp", query, "."]
            first(client, arguments)
            total = full(client, arguments)[1]
            times = {"first": [], "full": [], "rg": []}
            for _ in range(repetitions):
                times["first"].append(first(client, arguments))
                if total is not None:
                    times["full"].append(full(client, arguments)[0])
                milliseconds, output = timed(command, folder)
                times["rg"].append(milliseconds)
            expected = output.count(b"\n")
            medians = {name: statistics.median(values) for name, values in times.items() if values}
            quotients = {name: medians["rg"] / medians[name] for name in ratios if name in medians}
            for name, quotient in quotients.items():
                ratios[name].append(quotient)
            differs = total is not None and total != expected
            differences += differs
            report.row(
                kind,
                f"`{query}`",
                f"{total}{' DIFFERS' if differs else ''}" if total is not None else f"{FULL_MAX}+",
                expected,
                *(f"{medians[name]:.1f}" if name in medians else "" for name in ("first", "full")),
                f"{medians['rg']:.0f}",
                *(f"{quotients[name]:.3g}" if name in quotients else "" for name in ratios),
            )
        cells = []
        for name, quotients in ratios.items():
            cells.append(f"**{statistics.median(quotients):.3g}**" if quotients else "")
            if quotients:
                report.ratio(project, f"{kind}, {name}", statistics.median(quotients))
        report.row(f"**{kind}**", "median", "", "", "", "", "", *cells)
    return differences


def first(client, arguments):
    """Milliseconds until the first results are there."""
    pattern = arguments["query"] if arguments["is_regex"] else re.escape(arguments["query"]).replace("\\ ", " ")
    asked = {"pattern": pattern if arguments["case_sensitive"] else f"(?i){pattern}", "context_lines": 0}
    milliseconds, answer = client.call("search_project_code", **asked, max_results=FIRST, max_tokens=100_000)
    assert answer["error"] is None, answer["error"]
    return milliseconds


def full(client, arguments):
    """Milliseconds of all pages together, and how many results there are: None where they are too many."""
    spent, place = 0.0, {}
    while True:
        milliseconds, answer = client.call(
            "search_text_pattern", **arguments, file_extensions=["*"], max_tokens=100_000, **place
        )
        spent += milliseconds
        if "next_cursor" not in answer:
            return spent, answer["match_count"]
        if answer["match_count"] > FULL_MAX or answer.get("timed_out"):
            return spent, None
        place = {"cursor": answer["next_cursor"]}


def listed(client):
    names, place = [], {}
    while place is not None:
        answer = client.call("find_files_by_name", name_pattern="*", max_tokens=100_000, **place)[1]
        names += answer["files"]
        place = {"cursor": answer["next_cursor"]} if "next_cursor" in answer else None
    return names


def queries_of(folder, names):
    """Queries by kind: `(query, is_regex, case_sensitive)`. Words are drawn with a fixed seed, so that nothing is chosen to please."""
    chance = random.Random(1)
    words, foreign = [], []
    for name in chance.sample(names, min(len(names), 600)):
        with open(os.path.join(folder, name), "rb") as file:
            data = file.read()
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        words += re.findall(r"\b[a-z]+_[a-z]+_[a-z_]{4,}\b|\b[a-z]+[A-Z][a-z]+[A-Z]\w{3,}\b", text)
        foreign += re.findall(r"[^\W\d_]*[\u00c0-\u024f\u0370-\u04ff][^\W\d_]+", text)
    unique = sorted(set(words))
    chance.shuffle(unique)
    often = [word for word in unique if words.count(word) >= 20]
    rare = [word for word in unique if words.count(word) == 1]
    return {
        "absent": [(f"ctxd_absent_{word}", False, True) for word in ("alpha", "beta", "gamma")],
        "rare": [(word, False, True) for word in rare[:5]],
        "mid": [(word, False, True) for word in often[:5]],
        "common": [(word, False, True) for word in COMMON],
        "regex": [(regex, True, True) for regex in REGEXES],
        "any case": [(word.upper(), False, False) for word in rare[5:10]],
        "no literal": [(regex, True, True) for regex in NO_LITERAL],
        "non-ASCII": [(word, False, True) for word in chance.sample(sorted(set(foreign)), min(3, len(set(foreign))))],
    }


def backends(report, daemon, rg, names, repetitions):
    report.heading("Backends")
    report.table("project", "files", "backend", "ctxd ms", "allowed ms", "bare program ms")
    query = "return"
    bare = {
        "rg": [rg, "--no-config", "--line-number", "--fixed-strings", "--regexp", query, "."],
        "grep": ["grep", "-rnIF", "-e", query, "."],
    }
    for size, count in SIZES.items():
        corpus = next((folder for folder in names if len(names[folder]) >= count), None)
        if corpus is None:
            report.row(size, count, "no project given has as many", "", "", "")
            continue
        # Every so manieth, so that all kinds of files are among them.
        with part_of(corpus, names[corpus][:: len(names[corpus]) // count], count) as folder:
            daemon.add_ready(folder)
            for backend, allowed in BACKENDS.items():
                client = daemon.client(folder, CTXD_TEXT_BACKEND=backend)
                asked = {"query": query, "case_sensitive": True, "context_lines": 0, "file_extensions": ["*"]}
                client.call("search_text_pattern", **asked)
                ours = statistics.median(client.call("search_text_pattern", **asked)[0] for _ in range(repetitions))
                theirs = [timed(bare[backend], folder)[0] for _ in range(repetitions)] if backend in bare else []
                limit = allowed[list(SIZES).index(size)]
                slow = " TOO SLOW" if ours > limit else ""
                beside = f"{statistics.median(theirs):.1f}" if theirs else ""
                report.row(size, count, backend, f"{ours:.1f}{slow}", limit, beside)
                client.close()
            daemon.run("remove", folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    parser.add_argument("--home", metavar="FOLDER", help="keep the index there, and use what an earlier run left")
    parser.add_argument("--out", metavar="FOLDER", help="write the tables there, and a plot")
    options = parser.parse_args()
    folders = [os.path.realpath(folder) for folder in options.folders]
    main(folders, options.repetitions, options.home, options.out)
