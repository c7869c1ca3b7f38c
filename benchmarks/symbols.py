"""Symbols: how fast they are read, how they agree with universal-ctags, and how soon the occurrences of a name are there.

    python benchmarks/symbols.py DIR... [--home FOLDER] [--names N] [--missing FILE] [--out FOLDER]

For each language of each project: megabytes a second of one core with everything extracted (parsed, queried, packed), beside what
tree-sitter alone takes; and the share of ctags' definitions, of kinds that both know, that are ours too: the same name on a line of
the definition's head. "Recall" is raw, ctags' own errors counted against us; benchmarks/ledger.md says for each class of
disagreement who is wrong. `--missing` writes down every definition that only ctags has.

Then, over MCP, the first page of find_symbol_occurrences for names drawn with a fixed seed: half of them from definitions, half from
all words of the sources, and the commonest names of all.
"""

import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict

from report import Report
from session import Daemon
from tree_sitter import Parser
from tree_sitter_language_pack import get_language

from ctxd.indexer.decode import decode
from ctxd.indexer.languages import LANGUAGE_BY_NAME, language_of
from ctxd.indexer.symbols.outline import pack
from ctxd.indexer.symbols.parser import DeadlineError, UnparsableError, parse

# ctags' name of each language, and its kinds that are definitions to us as well.
SHARED = {
    "python": ("Python", "class function member"),
    "javascript": ("JavaScript", "class function method generator getter setter"),
    "typescript": ("TypeScript", "class interface enum function method alias"),
    "go": ("Go", "func struct interface type const methodSpec"),
    "java": ("Java", "class interface enum method field annotation enumConstant"),
    "rust": ("Rust", "function method struct enum interface macro module typedef enumerator"),
    "c": ("C", "function struct union enum enumerator typedef macro"),
    "cpp": ("C++", "function class struct union enum enumerator typedef macro namespace"),
    "csharp": ("C#", "class interface struct enum enumerator method property field event namespace"),
    "ruby": ("Ruby", "class module method singletonMethod accessor alias constant"),
    "php": ("PHP", "class interface trait function namespace define variable"),
    "lua": ("Lua", "function"),
    "elixir": ("Elixir", "module protocol function macro guard delegate callback type operator record"),
    "bash": ("Sh", "function"),
    "kotlin": ("Kotlin", "class interface object method typealias"),  # its constants and variables are locals, too
}
_UNNAMED = re.compile(r"__anon|Anonymous(?:Function|Class)[0-9a-f]+$")
FILE_BYTES_MAX = 1 << 20
SAMPLE_BYTES = 12_000_000  # of one language, that throughput is measured on


def main(folders, home, names_count, missing, out):
    report = Report("symbols", "Symbols: agreement with universal-ctags", "ctags")
    for folder in folders:
        by_language = defaultdict(list)
        for path in files_of(folder):
            text = decode(read(path))[1]
            language = (
                language_of(os.fsencode(path), text) if text is not None and len(text) <= FILE_BYTES_MAX else None
            )
            if language is not None and language.has_symbols and not language.has_sections:
                by_language[language.name].append(path)
        report.heading(os.path.basename(folder))
        report.table(
            "language", "files", "MB", "definitions", "MB/s", "tree-sitter alone MB/s", "ctags", "missing", "recall"
        )
        for language, paths in sorted(by_language.items()):
            report.row(*measured(language, paths, missing))
    with Daemon(home) as daemon:
        daemon.run("start")
        report.heading("First page of find_symbol_occurrences")
        report.table("project", "names", "p50 ms", "p95 ms", "max ms", "slowest")
        for folder in folders:
            daemon.add_ready(folder)
            report.row(os.path.basename(folder), *asked(daemon, folder, names_count))
    if out:
        report.write(out)


def files_of(folder):
    for base, below, names in os.walk(folder):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = os.path.join(base, name)
            if language_of(os.fsencode(path)) is not None and os.path.isfile(path) and not os.path.islink(path):
                yield path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def measured(language, paths, missing):
    """One row of the table."""
    theirs = ctags(language, paths)
    seconds = alone = size = timed_size = definitions = 0
    total = lacking = 0
    rules = LANGUAGE_BY_NAME[language].rules
    grammar = Parser(get_language(rules.grammar))
    for path in paths:
        text = decode(read(path))[1]
        size += len(text)
        if timed_size >= SAMPLE_BYTES and not theirs:
            continue
        started = time.thread_time()
        try:
            outline = parse(LANGUAGE_BY_NAME[language], text, 60)
        except (DeadlineError, UnparsableError) as error:
            print(f"{path}: {error}")
            continue
        pack(outline)
        if timed_size < SAMPLE_BYTES:
            seconds += time.thread_time() - started
            started = time.thread_time()
            grammar.parse(rules.prepare(text).text if rules.prepare else text)
            alone += time.thread_time() - started
            timed_size += len(text)
        definitions += len(outline.definitions)
        heads = defaultdict(set)
        for one in outline.definitions:
            heads[bare(one.name)].update(range(one.start_line, one.line + 2))
        for name, line, kind in theirs.get(path, ()):
            total += 1
            if line not in heads.get(bare(name), ()):
                lacking += 1
                if missing:
                    with open(missing, "a", encoding="utf-8") as file:
                        file.write(f"{language}\t{kind}\t{name}\t{path}:{line}\n")
    recall = f"{1 - lacking / total:.4f}" if total else "-"
    return (
        language,
        len(paths),
        f"{size / 1e6:.1f}",
        definitions,
        f"{timed_size / 1e6 / max(seconds, 1e-9):.2f}",
        f"{timed_size / 1e6 / max(alone, 1e-9):.1f}",
        total or "-",
        lacking if total else "-",
        recall,
    )


def bare(name):
    """The last part of a name, as one side or the other joins it to what holds it."""
    if name.startswith("operator"):
        return name.replace(" ", "")
    return re.split(r"::|[.\\:]", name.removesuffix("="))[-1].strip("`") or name


def ctags(language, paths):
    """path -> {(name, line, kind)}; nothing where ctags does not know the language or is not installed."""
    program = shutil.which("ctags")
    if program is None or language not in SHARED:
        return {}
    name, kinds = SHARED[language]
    command = [
        program,
        "--options=NONE",
        "--output-format=json",
        "--fields=*",
        "--extras=-{anonymous}{subparser}",
        f"--language-force={name}",
        "-L",
        "-",
        "-f",
        "-",
    ]
    output = subprocess.run(
        command, input="\n".join(paths), capture_output=True, text=True, errors="replace", check=False
    ).stdout
    found = defaultdict(set)
    for line in output.splitlines():
        tag = json.loads(line)
        if tag.get("_type") == "tag" and tag["kind"] in kinds.split() and not _UNNAMED.match(tag["name"]):
            found[tag["path"]].add((tag["name"], tag["line"], tag["kind"]))
    return found


def asked(daemon, folder, count):
    """Cells of the second table."""
    chance = random.Random(1)
    words, defined = Counter(), set()
    for path in chance.sample(paths := list(files_of(folder)), min(len(paths), 400)):
        text = read(path)[:300_000].decode("utf-8", "replace")
        words.update(re.findall(r"\b[A-Za-z_]\w+\b", text))
        defined.update(re.findall(r"\b(?:def|class|struct|func|function|fn|interface|#define)\s+(\w{3,})", text))
    often = [word for word, _ in words.most_common(20)]
    names = [*often, *chance.sample(sorted(words), min(count // 2, len(words)))]
    names += chance.sample(sorted(defined), min(count // 2, len(defined)))
    client = daemon.client(folder)
    times = []
    for name in names:
        client.call("find_symbol_occurrences", symbol_name=name)
        times.append((min(client.call("find_symbol_occurrences", symbol_name=name)[0] for _ in range(3)), name))
    client.close()
    times.sort()
    milliseconds = [one for one, _ in times]
    slowest = ", ".join(f"`{name}` {one:.0f}" for one, name in times[:-6:-1])
    p95 = milliseconds[int(len(milliseconds) * 0.95)]
    return len(names), f"{statistics.median(milliseconds):.1f}", f"{p95:.1f}", f"{milliseconds[-1]:.1f}", slowest


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="DIR")
    parser.add_argument("--home", metavar="FOLDER", help="keep the index there, and use what an earlier run left")
    parser.add_argument("--names", type=int, default=200, metavar="N", help="drawn for the second table")
    parser.add_argument("--missing", metavar="FILE", help="append what only ctags has")
    parser.add_argument("--out", metavar="FOLDER", help="write the tables there")
    options = parser.parse_args()
    if shutil.which("ctags") is None:
        print("universal-ctags is not installed: no agreement is measured", file=sys.stderr)
    folders = [os.path.realpath(folder) for folder in options.folders]
    main(folders, options.home, options.names, options.missing, options.out)
