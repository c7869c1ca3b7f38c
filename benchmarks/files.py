"""File-name queries of several kinds, each against fd in the same run; also whether both list the same files.

    python benchmarks/files.py DIR... [--repetitions N] [--out FOLDER]

Timed with a raw client after one untimed call of each, in turn with fd (its default threads); medians. ctxd answers with its first page,
up to 1,000 names and a cursor, fd with all names; a "+" says that the total is a lower bound. The lists are compared in full, page by
page: what git ignores (fd asks it only inside a repository, and hides tracked files) and what holds secrets by name is counted apart;
any other difference is printed as DIFFERS and makes the exit code 1.

Then the backends of ctxd beside the bare programs, on 200 and 7,000 files copied from the first project that has as many.

Names need no index: the daemon runs with an index_files_max of 1, so that no first pass runs beside what is measured.
"""

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter

from report import Report
from session import Daemon, part_of, timed

from ctxd.indexer.files.secret_names import is_secret

BACKENDS = {  # the milliseconds that specification 001 allows on a small and on a medium project
    "index": None,
    "fd": (20, 100),
    "find": (100, 500),
    "python": (150, 800),
}
SIZES = {"small": 200, "medium": 7_000}
DRAWN = 3  # queries of a kind


def main(folders, repetitions, out):
    fd = shutil.which("fdfind") or shutil.which("fd")
    if fd is None:
        sys.exit("fd is not installed; on Debian and Ubuntu: apt install fd-find")
    report = Report("files", "File names, against fd", "fd")
    differences = 0
    with Daemon(CTXD_INDEX_FILES_MAX="1") as daemon:
        daemon.run("start")
        names = {}
        for folder in folders:
            daemon.add_listed(folder)
            client = daemon.client(folder)
            names[folder] = listed(client, "*")
            differences += against_fd(report, client, fd, folder, names[folder], repetitions)
            client.close()
        backends(report, daemon, fd, names, repetitions)
    if out:
        report.write(out)
    sys.exit(1 if differences else 0)


def against_fd(report, client, fd, folder, names, repetitions):
    """The number of queries whose answers differ."""
    project = os.path.basename(folder)
    report.heading(f"{project}: {len(names):,} files")
    report.table("kind", "query", "n", "fd n", "ctxd ms", "fd ms", "ratio")
    differences = 0
    for kind, queries in queries_of(names).items():
        ratios = []
        for query in queries:
            tool, arguments, total = call_of(query, kind)
            command = fd_command(fd, folder, query, kind)
            client.call(tool, **arguments)
            ours, theirs = [], []
            for _ in range(repetitions):
                milliseconds, answer = client.call(tool, **arguments)
                ours.append(milliseconds)
                milliseconds, output = timed(command, folder)
                theirs.append(milliseconds)
            a, b = statistics.median(ours), statistics.median(theirs)
            ratios.append(b / a)
            more = "" if answer.get("total_is_exact", True) else "+"
            expected = set(output.decode("utf-8", "backslashreplace").split("\0")) - {""}
            found = listed(client, query, kind)
            explained, wrong = compared(folder, found, expected)
            if kind != "any case" and found != sorted(found, key=str.encode):
                wrong.append("the order")
            if len(found) < answer[total] if more else len(found) != answer[total]:
                wrong.append(f"the total: {len(found)} listed")
            cells = (
                f"`{query}`",
                f"{answer[total]}{more}",
                f"{len(expected)}{explained}",
                f"{a:.1f}",
                f"{b:.0f}",
                f"{b / a:.0f}",
            )
            report.row(kind, *cells)
            if wrong:
                differences += 1
                report.row("**DIFFERS**", f"`{query}`", "", ", ".join(wrong[:10]), "", "", "")
        if ratios:
            report.ratio(project, kind, statistics.median(ratios))
            report.row(f"**{kind}**", "median", "", "", "", "", f"**{statistics.median(ratios):.0f}**")
    report.row("**all**", "median of kinds", "", "", "", "", f"**{report.median_ratio(project):.0f}**")
    return differences


def queries_of(names):
    """Queries by kind, drawn with a fixed seed, so that nothing is chosen to please."""
    chance = random.Random(1)

    def drawn(population, count=DRAWN):
        return chance.sample(population, min(count, len(population)))

    bases = Counter(name.rpartition("/")[2] for name in names)
    plain = [base for base, _ in bases.most_common() if re.fullmatch(r"[\w.-]+", base)]
    extensions = [one for one, _ in Counter(map(extension_of, names)).most_common() if re.fullmatch(r"\.\w+", one)]
    words = sorted({word for base in bases for word in re.findall(r"[a-z]{4,}", base)})
    first_words = sorted({word for base in bases for word in re.findall(r"^[a-z]{4,}", base)})
    below = [
        (folder, extension_of(name))
        for name in drawn([name for name in names if extension_of(name) in extensions and "/" in name])
        for folder in drawn([part for part in name.split("/")[:-1] if re.fullmatch(r"[\w.-]+", part)], 1)
    ]
    return {
        "exact name": plain[:DRAWN],
        "extension": [f"*{extension}" for extension in (*extensions[:1], *drawn(extensions[1:20], DRAWN - 1))],
        "substring": [f"*{word}*" for word in drawn(words)],
        "prefix": [f"{word}*" for word in drawn(first_words)],
        "folder and extension": [f"**/{folder}/**/*{extension}" for folder, extension in below],
        "absent name": ["ctxd_absent.c", "*ctxd_absent*", "ctxd_absent*"],
        "rare name": drawn([base for base in plain if bases[base] == 1]),
        "any case": [f"{word.upper()}*" for word in drawn(first_words)],
        "everything": ["*"],
    }


def extension_of(name):
    return os.path.splitext(name)[1]


def call_of(query, kind):
    """The tool, its arguments and the field of its total."""
    if kind == "any case":
        return "search_files", {"query": query}, "totalMatched"
    return "find_files_by_name", {"name_pattern": query}, "total_found"


def fd_command(fd, folder, query, kind):
    case = "--ignore-case" if kind == "any case" else "--case-sensitive"
    command = [fd, "--glob", case, "--type=file", "--print0", "--strip-cwd-prefix", "--color=never"]
    return [*command, "--full-path", f"{folder}/{query}"] if "/" in query else [*command, query]


def listed(client, query, kind=""):
    """Every name, page after page."""
    tool, arguments, _ = call_of(query, kind)
    camel = tool == "search_files"
    arguments |= {"limit": 200, "maxTokens": 100_000} if camel else {"max_tokens": 100_000}
    cursor_field = "nextCursor" if camel else "next_cursor"
    names, place = [], {}
    while place is not None:
        answer = client.call(tool, **arguments, **place)[1]
        names += [one["path"] for one in answer["results"]] if camel else answer["files"]
        place = {"cursor": answer[cursor_field]} if cursor_field in answer else None
    return names


def compared(folder, ours, theirs):
    """How many files only one lists as a rule has it, in words; and which it lists without one, or twice."""
    only_one = theirs.symmetric_difference(ours)
    secret = {name for name in only_one if is_secret(os.fsencode(name))}
    ignored = ignored_by_git(folder, only_one - secret) if only_one > secret else set()
    counts = {"secret": len(secret), "ignored": len(ignored)}
    explained = ", ".join(f"{count} {why}" for why, count in counts.items() if count)
    twice = [name for name, count in Counter(ours).items() if count > 1]
    return f" ({explained})" if explained else "", sorted(only_one - secret - ignored) + twice


def ignored_by_git(folder, names):
    """Those that a rule of git names, in a repository or not."""
    with tempfile.TemporaryDirectory(prefix="ctxd-benchmark-") as repository:
        subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
        command = [
            "git",
            f"--git-dir={repository}",
            f"--work-tree={folder}",
            "check-ignore",
            "--no-index",
            "--stdin",
            "-z",
        ]
        asked = os.fsencode("".join(name + "\0" for name in names))
        output = subprocess.run(command, cwd=folder, input=asked, capture_output=True, check=False).stdout
    return set(os.fsdecode(output).split("\0")) - {""}


def backends(report, daemon, fd, names, repetitions):
    report.heading("Backends")
    report.table("project", "files", "backend", "ctxd ms", "allowed ms", "bare program ms")
    for size, count in SIZES.items():
        corpus = next((folder for folder in names if len(names[folder]) >= count), None)
        if corpus is None:
            report.row(size, count, "no project given has as many", "", "", "")
            continue
        with part_of(corpus, names[corpus], count) as folder:
            daemon.add_listed(folder)
            extension = Counter(map(extension_of, names[corpus][:count])).most_common(1)[0][0]
            query = f"*{extension}"
            bare = {
                "fd": fd_command(fd, folder, query, "extension"),
                "find": ["find", ".", "-type", "f", "-name", query, "-print0"],
            }
            for backend, allowed in BACKENDS.items():
                client = daemon.client(folder, CTXD_FILES_BACKEND=backend)
                client.call("find_files_by_name", name_pattern=query)
                ours = statistics.median(
                    client.call("find_files_by_name", name_pattern=query)[0] for _ in range(repetitions)
                )
                theirs = [timed(bare[backend], folder)[0] for _ in range(repetitions)] if backend in bare else []
                limit = allowed[list(SIZES).index(size)] if allowed else None
                slow = " TOO SLOW" if limit and ours > limit else ""
                report.row(
                    size,
                    count,
                    backend,
                    f"{ours:.1f}{slow}",
                    limit or "",
                    f"{statistics.median(theirs):.1f}" if theirs else "",
                )
                client.close()
            daemon.run("remove", folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--repetitions", type=int, default=5, metavar="N")
    parser.add_argument("--out", metavar="FOLDER", help="write the tables there, and a plot")
    options = parser.parse_args()
    main([os.path.realpath(folder) for folder in options.folders], options.repetitions, options.out)
