"""Random patterns over hostile corpora: every text backend, and ripgrep run by hand, must give the same lines.

`python benchmarks/differential.py N` runs N of them, tests/test_differential.py a few.
"""

import os
import re
import subprocess

from ctxd.indexer.files.scope import Scope
from ctxd.indexer.patterns import trigrams
from ctxd.indexer.patterns.pattern import PatternError, Worker, compile_pattern
from ctxd.indexer.programs import TEXT_BACKENDS
from ctxd.indexer.text import text_search
from ctxd.indexer.text.text_search import Search

CORPORA = ("ascii", "unicode", "endings", "encodings", "hostile")
LONG_LINE_BYTES = 300_000
PCRE2_SECONDS = 5.0  # it runs away as well
BACKTRACKING_SECONDS = 2.0  # as if a call had so much left, at every moment
ODD_NAMES = [
    "-",
    "-e",
    "--",
    "a\nb",
    " ",
    "ä",
    "\\",
    "*",
    "[a]",
    "!x",
    "#x",
    ":x",
    os.fsdecode(b"\xff\xfe"),
    "a\tb",
    "d/-x",
    "x" * 200,
]

ALPHABET = "aabbck sS_1-é\u017fKд"
WORDS = ["ask", "SKab", "béa1", "ab ca", "дда"]


def random_pattern(dice, depth=0):
    """A pattern that Rust's regex knows as well."""
    kind = dice.random()
    if depth > 3 or kind < 0.45:
        return dice.choice([*"aabbcksS_1é\u017fд", "ab", "sk", "b1", r"\-", "ca", *WORDS])
    if kind < 0.58:
        return dice.choice(
            [".", r"\w", r"\W", r"\d", r"\s", r"\S", "[ab]", "[^a]", "[a-k]", r"[\wд]", "[^sé]", r"\p{Lu}", r"\pL"]
        ) + dice.choice(["", "", "+", "*", "{2}"])
    if kind < 0.66:
        return dice.choice(["^", "$", r"\b", r"\b", r"\B"])
    if kind < 0.74:
        return f"({random_pattern(dice, depth + 1)}|{random_pattern(dice, depth + 1)})"
    if kind < 0.84:
        count = dice.choice(["?", "*", "+", "{2}", "{1,2}", "{2,}", "??", "+?"])
        return f"(?:{random_pattern(dice, depth + 1)}){count}"
    if kind < 0.88:
        return f"(?i:{random_pattern(dice, depth + 1)})"
    return random_pattern(dice, depth + 1) + random_pattern(dice, depth + 1)


def random_looking_pattern(dice):
    """A pattern that only an engine that backtracks knows, PCRE2 for one."""
    before, after = random_pattern(dice, 2), random_pattern(dice, 2)
    name = f"g{dice.randrange(10**9)}"
    behind = "|".join(
        dice.choice(["a", "ab", "s", "é", r"\w", "[^a]", "^", r"\b", "k.", ""]) for _ in range(dice.choice([1, 1, 2]))
    )
    kind = dice.randrange(7)
    if kind < 2:
        middle = f"(?{dice.choice('=!')}{random_pattern(dice, 2)})"
    elif kind < 4:
        middle = f"(?<{dice.choice('=!')}{behind})"
    elif kind < 6:
        before, middle = f"(?P<{name}>{before})", dice.choice(["", random_pattern(dice, 3)]) + f"(?P={name})"
    else:
        middle = f"(?>{random_pattern(dice, 2)})"
    return (
        f"(?:{before}{middle}{after}){dice.choice(['', '', '+', '?'])}"
        if dice.random() < 0.3
        else before + middle + after
    )


def random_text(dice, lines):
    return "\n".join(
        "".join(dice.choices([*ALPHABET, *WORDS] if dice.random() < 0.6 else "abckS _1-", k=dice.randrange(12)))
        for _ in range(lines)
    )


def corpus(kind, dice, *, long_line_bytes=LONG_LINE_BYTES):
    """`{name: bytes}` of one of CORPORA; the last one has two lines of so many bytes, and no newline at their end."""
    texts = [random_text(dice, dice.randrange(40)) + dice.choice(["", "\n", "\n\n"]) for _ in range(40)]
    names = [f"d{n % 4}/f{n}.txt" for n in range(40)]
    match kind:
        case "ascii":
            data = [text.encode("ascii", "ignore") for text in texts]
        case "unicode":
            data = [text.encode() for text in texts]
        case "endings":
            data = [dice.choice([_with_endings(text, dice), text]).encode() for text in texts]
        case "encodings":
            data = [_encoded(text, dice) for text in texts]
        case _:
            names = [*ODD_NAMES, *names[len(ODD_NAMES) :]]
            data = [_encoded(_with_endings(text, dice), dice) for text in texts]
            data[-1] = ("ask" + "béa1 c" * (long_line_bytes // 7) + "SKab").encode()
            data[-2] = b"b1 ca" + b"sk ab-_c1 " * (long_line_bytes // 10) + b"SKab"
            data[-3:-5:-1] = [b"", b"\n\r\n\r"]
    return dict(zip(names, data, strict=True))


def _with_endings(text, dice):
    return "".join(dice.choice(["\n", "\n", "\r\n", "\r"]) if char == "\n" else char for char in text)


def _encoded(text, dice):
    match dice.randrange(9):
        case 0:
            return text.encode("utf-16")
        case 1:
            return b"\xfe\xff" + text.encode("utf-16-be")
        case 2:
            return b"\xef\xbb\xbf" + text.encode()
        case 3:
            return text.encode("latin-1", "ignore")
        case 4:
            data = bytearray(text.encode())
            for _ in range(min(3, len(data))):
                data[dice.randrange(len(data))] = dice.choice(b"\x80\xc3\xff\xe2")
            return bytes(data)
        case 5:
            return text.encode() + b"\0" if dice.random() < 0.5 else text.encode("utf-16-le")
    return text.encode()


def satisfies(query, folded):
    match query:
        case trigrams.Trigram(data):
            return data in folded
        case trigrams.AllOf(parts):
            return all(satisfies(part, folded) for part in parts)
        case trigrams.AnyOf(parts):
            return any(satisfies(part, folded) for part in parts)


def write_corpus(folder, files):
    for name, data in files.items():
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
    os.symlink("d1", os.path.join(folder, "link"))
    os.symlink("../outside", os.path.join(folder, "dangling"))


def question(dice):
    """(query, is a regular expression, case matters)."""
    if dice.random() < 0.3:
        return "".join(dice.choices(ALPHABET + ".*-$(\\", k=dice.randrange(1, 5))), False, dice.random() < 0.6
    make = random_pattern if dice.random() < 0.6 else random_looking_pattern
    return make(dice), True, dice.random() < 0.6


def narrow_always():
    """Have the index ask programs for a few files too; returns what undoes it."""
    before = text_search.READ_FIRST, text_search.NARROWED_FILES_MIN
    text_search.READ_FIRST, text_search.NARROWED_FILES_MIN = 3, 1

    def undo():
        text_search.READ_FIRST, text_search.NARROWED_FILES_MIN = before

    return undo


def check(project, files, asked, *, ripgrep):
    """How many lines a question finds; None where a line takes too long to decide. Raises AssertionError where two disagree.

    `ripgrep` is its path or None.
    """
    query, is_regex, case_sensitive = asked
    worker = Worker(lambda job: project.matchers.result(job, lambda: False), lambda: BACKTRACKING_SECONDS)
    try:
        pattern = compile_pattern(query, is_regex=is_regex, case_sensitive=case_sensitive, worker=worker)
    except PatternError:
        return 0
    answers = {}
    for backend in TEXT_BACKENDS:
        answers[backend] = _lines(project, pattern, backend)
        if pattern.undecided:
            return None
    expected = answers["python"]
    assert list(expected) == sorted(expected)
    for backend, answer in answers.items():
        assert list(answer.items()) == list(expected.items()), f"{asked}: {backend} {_difference(answer, expected)}"
    if ripgrep is not None and (names := _comparable(files, asked)):
        theirs = _ripgrep(ripgrep, project.root, names, asked)
        ours = {path: [line[0] for line in lines] for path, lines in expected.items() if path in names}
        assert theirs in (None, ours), f"{asked}: ripgrep {_difference(theirs, ours)}"
    return sum(map(len, expected.values()))


def _lines(project, pattern, backend):
    search = Search(stop=lambda: False, backend=backend)
    found = project.text.search(pattern, Scope(), search)
    return {one.path: [(one.number_of(spans[0]), *spans) for spans in one.lines] for one in found}


def _difference(one, other):
    paths = sorted(path for path in {*one, *other} if one.get(path) != other.get(path))
    return f"differs in {paths[:3]}: {one.get(paths[0])} is not {other.get(paths[0])}" if paths else "has another order"


BACKTRACKS = re.compile(r"\(\?(?:<?[=!]|>|P=)")
TAKES_THE_RETURN = re.compile(r"\.|\[|\\[DWSsBpP]|\$.*\^|\^.*\$")


def _comparable(files, asked):
    """Names of the files that ripgrep reads as we do. No NUL, and UTF-8 but for plain ASCII queries. Its version 13 lets classes
    and `$` take the carriage return that belongs to a line's ending, so none of these where a query has such; and takes one at
    the very end of a file for an ending.
    """
    query, is_regex, case_sensitive = asked
    backtracks = is_regex and BACKTRACKS.search(query)
    if backtracks and (not case_sensitive or "(?i" in query) and re.search(r"\(\?P=|\\p", query):
        return set()  # the long s repeats an s to PCRE2 only, and its \p{Lu} does not ignore case
    if is_regex and re.search(r"\\[bB]", query) and re.search(r"[$^]", query):
        return set()  # version 13 misses `\b^` after an empty line, and more of that kind
    names = set()
    for name, data in files.items():
        is_utf16 = data[:2] in {b"\xff\xfe", b"\xfe\xff"}
        text = data.decode("utf-16", "replace").encode("utf-8", "replace") if is_utf16 else data
        try:
            text.decode()
        except UnicodeDecodeError:
            if is_regex or not case_sensitive or not query.isascii():
                continue
        if b"\0" in text or name.startswith("."):
            continue
        if backtracks and b"\r" in text:
            continue  # to PCRE2 every `\r` ends a line
        if is_regex and (text.endswith(b"\r") or (b"\r" in text and TAKES_THE_RETURN.search(query))):
            continue
        names.add(os.fsencode(name))
    return names


def _ripgrep(program, root, names, asked):
    query, is_regex, case_sensitive = asked
    backtracks = is_regex and BACKTRACKS.search(query)
    # Version 13 lets `[^a]` of PCRE2 match the newline under --crlf.
    flags = [
        "--no-config",
        "--pcre2" if backtracks else "--crlf",
        "--line-number",
        "--with-filename",
        "--null",
        "--no-heading",
        "--no-ignore",
    ]
    flags += [] if is_regex else ["--fixed-strings"]
    flags += ["--case-sensitive" if case_sensitive else "--ignore-case", f"--regexp={query}"]
    operands = [b"./" + name for name in sorted(names)]
    try:
        done = subprocess.run(
            [program, *flags, "--", *operands],
            cwd=root,
            capture_output=True,
            check=False,
            timeout=PCRE2_SECONDS if backtracks else None,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode == 2:  # built without PCRE2, or it gave up
        assert backtracks, (asked, done.stderr)
        return None
    output = done.stdout
    found = {}
    at = 0
    while at < len(output):
        nul = output.index(b"\0", at)
        colon = output.index(b":", nul)
        found.setdefault(output[at + 2 : nul], []).append(int(output[nul + 1 : colon]))
        at = output.index(b"\n", colon) + 1
    return found
