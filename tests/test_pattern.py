"""Patterns: the dialect, what matches, what the index is asked for."""

from __future__ import annotations

import random
import shutil
import subprocess
import threading
import time

import pytest
import sqlean
from differential import ALPHABET, random_pattern, random_text, satisfies

from ctxd.indexer.patterns import characters, dialect, trigrams
from ctxd.indexer.patterns.pattern import PatternError, compile_pattern

needs_rg = pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed: nothing to compare with")


def regex(query, *, ignore_case=False):
    return compile_pattern(query, is_regex=True, case_sensitive=not ignore_case)


def literal(query, *, ignore_case=False):
    return compile_pattern(query, is_regex=False, case_sensitive=not ignore_case)


def matches(pattern, text):
    """(line number, start in the line, matched text) of the first match of each line."""
    data = text.encode()
    return [
        (data.count(b"\n", 0, line_start) + 1, first - line_start, data[first:last].decode())
        for line_start, line_end, first, last in pattern.line_matches(data)
    ]


def in_line(pattern, line):
    return [line.encode()[first:last].decode() for first, last in pattern.matches_in_line(line.encode())]


# Lines and matches


def test_each_matching_line_comes_once_with_its_first_match():
    text = b"one two one\nthree\none"
    assert list(literal("one").line_matches(text)) == [(0, 11, 0, 3), (18, 21, 18, 21)]
    assert list(regex("t[a-z]+").line_matches(text)) == [(0, 11, 4, 7), (12, 17, 12, 17)]


def test_search_starts_at_the_line_given():
    text = b"one\none\ntwo one\n"
    assert [line[0] for line in literal("one").line_matches(text, 4)] == [4, 8]
    assert [line[0] for line in regex("^o").line_matches(text, 4)] == [4]
    assert list(regex("^").line_matches(text, len(text))) == []


@pytest.mark.parametrize("query", ["x*", "^", "$", "", "(?:)", "a|", "^^", r"\B|\b"])
@pytest.mark.parametrize("accent", ["", "é"])
def test_a_pattern_that_matches_the_empty_text_finds_every_line_once(query, accent):
    pattern = regex(query or "(?i)")
    assert [m[0] for m in matches(pattern, f"ab{accent}\n\nc\n")] == [1, 2, 3]
    assert [m[0] for m in matches(pattern, f"ab{accent}\n\nc")] == [1, 2, 3]


def test_last_line_needs_no_newline_and_a_final_newline_starts_no_line():
    empty_line = regex("^$")
    assert matches(empty_line, "") == []
    assert matches(empty_line, "\n") == [(1, 0, "")]
    assert matches(empty_line, "a\n") == []
    assert matches(empty_line, "a\n\n") == [(2, 0, "")]
    assert matches(regex("b$"), "a\nb") == [(2, 0, "b")]


@pytest.mark.parametrize("query", [r"a\s+b", "a[^x]b", "(?s)a.b", r"a\Wb", r"a\PLb", r"a[\x00-\x20]b"])
def test_nothing_matches_a_newline(query):
    assert matches(regex(query), "a\nb\na b") == [(3, 0, "a b")]


def test_all_anchors_are_about_lines():
    text = "ab\nba\n"
    for query in ("^a", r"\Aa", "(?-m)^a", "(?m)^a"):
        assert matches(regex(query), text) == [(1, 0, "a")]
    for query in ("a$", r"a\z"):
        assert matches(regex(query), text) == [(2, 1, "a")]


def test_all_matches_of_a_line_do_not_overlap():
    assert in_line(regex("a+?b?"), "aabé") == ["a", "ab"]
    assert in_line(literal("aa"), "aaaaa") == ["aa", "aa"]
    assert list(regex("x*").matches_in_line("éxx".encode())) == [(0, 0), (2, 4)]
    assert in_line(regex(r"\b"), "né à") == ["", "", "", ""]


def test_groups_are_those_of_the_first_match():
    pattern = regex(r"(?P<key>\w+)\s*=\s*(?<value>\d+)|(else)")
    assert pattern.groups(b"x y1 = 20 z = 3") == (["y1", "20", None], {"key": "y1", "value": "20"})
    assert pattern.groups("été=5".encode()) == (["été", "5", None], {"key": "été", "value": "5"})
    assert regex(r"\b(\w)(\w*)\b").groups("«été»".encode()) == (["é", "té"], {})
    assert regex("a+").groups(b"aa") == ([], {})
    assert literal("(a)").groups(b"(a)") == ([], {})


def test_unicode_word_boundaries_are_exact():
    assert matches(regex(r"\bété\b"), "xété\nun été.\nétés\nété") == [(2, 3, "été"), (4, 0, "été")]
    assert matches(regex(r"a\b"), "aé a\nâa") == [(1, 4, "a"), (2, 2, "a")]
    assert matches(regex(r"a\B"), "a aé") == [(1, 2, "a")]
    assert matches(regex(r"\b\d+\b"), "é5 5é ٣٤") == [(1, 8, "٣٤")]


def test_word_boundaries_hold_for_patterns_with_more_letters_than_there_are_codes():
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_éàü"
    pattern = regex(rf"\b(?:{'|'.join(c + 'x' for c in letters)}|(end))\b")
    assert in_line(pattern, "éx éxx axé üx-end à") == ["éx", "üx", "end"]
    assert pattern.groups("é end".encode()) == (["end"], {})


def test_case_folds_as_unicode_has_it():
    assert [m[0] for m in matches(literal("ask", ignore_case=True), "ASK\na\u017fk\nas\u212a\nash")] == [1, 2, 3]
    assert [m[0] for m in matches(literal("straße", ignore_case=True), "STRAẞE\nSTRASSE")] == [1]
    assert [m[0] for m in matches(regex("[д-ж]+ΣΣ", ignore_case=True), "ДЖσς\nи")] == [1]
    assert [m[0] for m in matches(regex("(?i)a(?-i:b)c"), "Abc\nABc\nabC")] == [1, 3]
    assert matches(regex("(?i)[^k]"), "k\nK\n\u212a\nj") == [(4, 0, "j")]


def test_flags_last_until_their_group_ends():
    assert [m[0] for m in matches(regex("(?:(?i)a|b)c"), "Ac\nBc\nbC")] == [1, 2]
    assert in_line(regex("(?U)a+"), "aaa") == ["a", "a", "a"]
    assert in_line(regex("(?x) a b # two letters\n | c\\ d"), "ab c d") == ["ab", "c d"]


@pytest.mark.parametrize(
    ("query", "line", "found"),
    [
        (r"[]a]+", "x]a]", ["]a]"]),
        (r"[^]a]+", "]xya", ["xy"]),
        (r"[a-]+", "b-a", ["-a"]),
        (r"[a-c-e]+", "b-e d", ["b-e"]),
        (r"[[:alpha:][:^ascii:]_]+", "5a_é", ["a_é"]),
        (r"[\w.-]+", "a.b-c d", ["a.b-c", "d"]),
        (r"\x41\x{42}\u0043\U00000044\u{45}", "ABCDE", ["ABCDE"]),
        (r"\t\"\/\-\ \@", '\t"/- @', ['\t"/- @']),
        (r"\p{Greek}+\P{Greek}", "abπδx", ["πδx"]),
        (r"\p{^Lu}\pL\p{Nd}", "aB5", ["aB5"]),
        ("fn {x}", "fn {x}", ["fn {x}"]),
        ("a{2}{", "aa{", ["aa{"]),
        ("a{0,1}b{2,}?", "abbb", ["abb"]),
        ("é?", "é", ["é"]),
        ("(a|ab)(c|bcd)", "abcd", ["abcd"]),
        (r"[\s\S]+", "a b", ["a b"]),
    ],
)
def test_dialect(query, line, found):
    assert [m for m in in_line(regex(query), line) if m] == found


# Errors


@pytest.mark.parametrize(
    ("query", "position", "word"),
    [
        ("", 0, "empty"),
        ("a\nb", 1, "newline"),
        (r"ab\n", 2, "newline"),
        (r"[\n]", 0, "newline"),
        (r"\x0a", 0, "newline"),
        ("(a", 0, "never closed"),
        ("a)", 1, "unmatched"),
        ("[a", 0, "never closed"),
        ("[]", 0, "never closed"),
        ("*a", 0, "nothing to repeat"),
        ("(|*)", 2, "nothing to repeat"),
        ("a**", 2, "right after another"),
        ("a{2}{3}", 4, "right after another"),
        ("(?i)+", 5, "nothing to repeat"),
        ("a{3,2}", 1, "swap"),
        ("a{1001}", 1, "at most 1000"),
        ("a{" + "9" * 5000 + "}", 1, "at most 1000"),
        ("a{,3}", 1, "{0,5}"),
        ("(?:[a-z]{1000}){1000}", None, "1000"),
        (r"\w" * 25_000, None, "too large"),
        ("(?<=a+)b", 0, "fixed length"),
        ("(?<!ab?|c)b", 0, "fixed length"),
        (r"(a)(?<=\1)b", 3, "fixed length"),
        (r"(a)\2", 3, "no group 2"),
        (r"(a\1)", 2, "no group 1"),
        (r"\k<n>(?P<n>a)", 0, "no group n"),
        ("(?P<n>a)(?P=m)", 8, "no group m"),
        ("(?P=n", 4, "group name"),
        (r"(a)\10", 3, "ambiguous"),
        (r"(a)[\1]", 4, "brackets"),
        (r"\kn", 0, r"\k<name>"),
        ("(a)" + r"\1" * 40_000, None, "too large"),
        ("(?=" * 5000, 3 * dialect.DEPTH_MAX, "nested"),
        ("a(?#note)", 1, "comment"),
        ("a*+", 2, "(?>a*)"),
        ("(?P<n>a)(?P<n>b)", 12, "two groups"),
        ("(?P<1>a)", 4, "group name"),
        ("(?z)", 0, "flags"),
        ("(?", 0, "flags"),
        ("(?i-)a", 0, "flags"),
        (r"\Z", 0, "$"),
        (r"\q", 0, "unknown escape"),
        ("a\\", 1, "backslash"),
        (r"\x{110000}", 0, "no character"),
        (r"\x{D800}", 0, "no character"),
        (r"\xg0", 0, "hexadecimal"),
        (r"\p{Klingon}", 0, "Unicode class"),
        (r"\p", 0, "Unicode class"),
        ("[b-a]", 1, "a-b"),
        (r"[\w-a]", 1, "range"),
        ("[a[b]]", 2, r"\["),
        ("[a&&b]", 2, r"\&"),
        (r"[^\s\S]", 0, "no character"),
        ("(" * 5000, dialect.DEPTH_MAX, "nested"),
        ("a" * 1_000_000, None, "longer"),
        ("\ud800", 0, "surrogate"),
    ],
)
def test_bad_pattern_says_what_is_wrong_and_where(query, position, word):
    with pytest.raises(PatternError) as caught:
        regex(query)
    assert word in str(caught.value)
    assert caught.value.position == position


@pytest.mark.parametrize("query", ["", "a\nb", "a" * 1_000_000, "\udfff"])
def test_bad_literal_is_an_error_too(query):
    for ignore_case in (False, True):
        with pytest.raises(PatternError):
            literal(query, ignore_case=ignore_case)


@pytest.mark.parametrize(
    "query",
    [
        "[a-z]{1000}",
        r"\w{1000}",
        r"(?:\bé{1,10}\w?){100}",
        "|".join(f"name_{i * 7919}" for i in range(6000)),
        "(" * (dialect.DEPTH_MAX - 1) + "(q" + ")+" * dialect.DEPTH_MAX,
        "(?i)" + "sk" * 10_000,
        r"\x{10FFFF}" * 10_000,
    ],
)
def test_largest_legal_patterns_work(query):
    started = time.thread_time()  # what it costs, however busy the machine is
    pattern = regex(query)
    assert time.thread_time() - started < 2
    for text in (b"no match\n", "é no match\n".encode()):
        assert list(pattern.line_matches(text)) == []
        pattern.groups(text[:-1])


@pytest.mark.parametrize("query", [r"(\w{40})\.(?P<rest>\w{30})", r"\b(\w{40})\.(?P<rest>\w{30})\b"])
def test_a_pattern_that_is_large_as_utf8_means_the_same(query):
    pattern, small = regex(query), regex(query.replace("40", "4").replace("30", "3"))
    assert pattern._is_costly
    assert not small._is_costly
    text = "a.b\nx é abcd.efg\nété\u0301.été\n"
    for line in text.split("\n"):
        grown = line.replace("abcd.efg", "é" * 40 + "." + "b" * 30).replace("été\u0301.été", "д" * 40 + "." + "1" * 30)
        expected = [match.replace("abcd.efg", "é" * 40 + "." + "b" * 30) for match in in_line(small, line)]
        assert [len(match) for match in in_line(pattern, grown)] == [71 for _ in expected]
        assert bool(pattern.groups(grown.encode())[0]) == bool(small.groups(line.encode())[0])
    found = matches(pattern, "a.b\nx é " + "é" * 40 + "." + "b" * 30 + "\n" + "д" * 40 + "." + "1" * 30)
    assert found == [(2, 5, "é" * 40 + "." + "b" * 30), (3, 0, "д" * 40 + "." + "1" * 30)]
    assert pattern.rg_narrowing_arguments is None


def test_a_thread_that_searches_leaves_others_running():
    pattern = regex("(?:[a-q][^u-z]{13})+x")
    started, finished = threading.Event(), threading.Event()

    def search():
        started.set()
        pattern.search(b"abcdefghijklmnopq " * 400_000)
        finished.set()

    thread = threading.Thread(target=search)
    thread.start()
    started.wait(10)
    longest, before = 0.0, time.monotonic()
    while not finished.is_set():
        now = time.monotonic()
        longest, before = max(longest, now - before), now
    thread.join()
    assert longest < 0.5


def test_a_caseless_literal_too_large_to_compile_is_refused_at_once():
    assert matches(literal("sk" * 50_000), "sk" * 50_000) == [(1, 0, "sk" * 50_000)]
    with pytest.raises(PatternError, match="too large"):
        literal("sk" * 50_000, ignore_case=True)


# Trigrams


def test_fold_is_what_the_index_does():
    connection = sqlean.connect(":memory:")
    connection.execute(
        "create virtual table folded using fts5(text, tokenize='trigram case_sensitive 0', content='', detail=none)"
    )
    texts = {byte: bytes((byte,)) * 3 for byte in range(1, 256)}  # a NUL ends the text for the tokenizer
    connection.executemany(
        "insert into folded(rowid, text) values (?, ?)",
        [(byte, text.decode("latin-1")) for byte, text in texts.items()],
    )
    for byte, text in texts.items():
        phrase = '"' + text.decode("latin-1").replace('"', '""') + '"'
        found = {row[0] for row in connection.execute("select rowid from folded where folded match ?", (phrase,))}
        assert found == {other for other in texts if trigrams.fold(texts[other]) == trigrams.fold(text)}, byte
    connection.close()


def shown(query):
    if isinstance(query, trigrams.Trigram):
        return query.bytes.decode("latin-1")
    between = "&" if isinstance(query, trigrams.AllOf) else "|"
    return "(" + between.join(sorted(map(shown, query.parts))) + ")"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("abcd", "(abc&bcd)"),
        ("ABÉ", "(ab\xe3&b\xe3\x89)"),
        ("ab", "()"),
        (".*", "()"),
        ("abc?", "()"),
        ("abc|.", "()"),
        ("abc|def", "(abc|def)"),
        ("(foo|bar)x", "((arx&bar)|(foo&oox))"),
        (r"static\w+int", "(ati&int&sta&tat&tic)"),
        ("[0-3]{2}z", "(00z|01z|02z|03z|10z|11z|12z|13z|20z|21z|22z|23z|30z|31z|32z|33z)"),
        (r"[0-9]{9}[a-z]\w+xyz", "xyz"),
        ("a{3}", "aaa"),
        ("(ab)+", "()"),
        ("(abc)+", "abc"),
        ("[ab]cd", "(acd|bcd)"),
        (r"\bget_\w+\($", "(et_&get)"),
        ("^abc$", "abc"),
        ("(?i)abc", "abc"),
    ],
)
def test_planned_trigrams(query, expected):
    assert shown(regex(query).trigrams) == expected


def test_large_queries_stay_small():
    for query in ("|".join(f"{i * 7919:x}_{i}" for i in range(3000)), "(?i)" + "sk" * 1000, "[a-d]{50}"):
        assert trigrams._count(regex(query).trigrams) <= trigrams.TRIGRAMS_MAX


def test_a_text_with_a_match_satisfies_the_trigram_query():
    dice = random.Random(2)
    found = narrowed = 0
    for _ in range(700):
        query, ignore_case = random_pattern(dice), dice.random() < 0.4
        pattern = regex(query, ignore_case=ignore_case)
        narrowed += pattern.trigrams != trigrams.EVERYTHING
        for line in random_text(dice, 30).split("\n"):
            if pattern.search(line.encode()):
                found += 1
                assert satisfies(pattern.trigrams, trigrams.fold(line.encode())), (query, ignore_case, line)
    assert found > 1000
    assert narrowed > 100


def test_a_line_gives_the_same_answer_alone_and_among_others():
    dice = random.Random(3)
    for _ in range(300):
        query, ignore_case = random_pattern(dice), dice.random() < 0.4
        pattern = regex(query, ignore_case=ignore_case)
        lines = random_text(dice, 20).split("\n")
        alone = []
        for number, line in enumerate(lines, 1):
            first = next(pattern.matches_in_line(line.encode()), None)
            if first and (line or number < len(lines)):
                alone.append((number, first[0], line.encode()[slice(*first)].decode()))
        assert matches(pattern, "\n".join(lines)) == alone, (query, ignore_case)


# The same as ripgrep


def rg_lines(folder, *arguments):
    """(line number, byte column) of each matching line."""
    command = [
        "rg",
        "--no-config",
        "--no-mmap",
        "--crlf",
        "--line-number",
        "--column",
        "--no-heading",
        *arguments,
        "text",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=60)
    assert done.returncode < 2, (command, done.stderr)
    return [tuple(map(int, line.split(b":", 2)[:2])) for line in done.stdout.splitlines()]


def our_lines(pattern, text):
    return [(number, first + 1) for number, first, _ in matches(pattern, text)]


@needs_rg
def test_same_lines_and_columns_as_ripgrep(tmp_path):
    dice = random.Random(4)
    text = random_text(dice, 400) + "\n"
    (tmp_path / "text").write_text(text, encoding="utf-8")
    for turn in range(160):
        query, ignore_case = random_pattern(dice), dice.random() < 0.4
        pattern = regex(query, ignore_case=ignore_case)
        found = our_lines(pattern, text)
        if turn % 2:
            assert found == rg_lines(tmp_path, "-i" if ignore_case else "-s", "-e", query), (query, ignore_case)
        else:  # our spelling of it misses no line
            narrowed = {line for line, _ in rg_lines(tmp_path, *pattern.rg_narrowing_arguments)}
            assert {line for line, _ in found} <= narrowed, (query, ignore_case)


@needs_rg
def test_same_literals_as_ripgrep(tmp_path):
    dice = random.Random(5)
    text = random_text(dice, 400)
    (tmp_path / "text").write_text(text, encoding="utf-8")
    for _ in range(40):
        query, ignore_case = "".join(dice.choices(ALPHABET + ".*-$", k=dice.randrange(1, 4))), dice.random() < 0.5
        pattern = literal(query, ignore_case=ignore_case)
        expected = rg_lines(tmp_path, "-F", "-i" if ignore_case else "-s", "-e", query)
        assert our_lines(pattern, text) == expected, (query, ignore_case)
        assert rg_lines(tmp_path, *pattern.rg_narrowing_arguments) == expected


@needs_rg
@pytest.mark.parametrize(
    "query", ["x*", "^$", "^", "$", "-e", "--", r"\A", r"(?s).", r"[^\w]", r"(?i)[\W_]", r"(?i)\P{Lu}", r"(?i)[^\PL]"]
)
def test_same_as_ripgrep_in_corners(tmp_path, query):
    text = "a b\n\nÀ-e --\nK\u017f\u0345\n"
    (tmp_path / "text").write_text(text, encoding="utf-8")
    pattern = regex(query)
    assert our_lines(pattern, text) == rg_lines(tmp_path, *pattern.rg_narrowing_arguments)
    if query != r"\A":  # rg gives no column there
        assert our_lines(pattern, text) == rg_lines(tmp_path, "-s", "-e", query)


@needs_rg
def test_same_classes_and_case_as_ripgrep_for_all_of_unicode(tmp_path):
    chars = [c for c in range(1, 0x30000) if c not in (0x0A, 0x0D) and not 0xD800 <= c <= 0xDFFF]
    (tmp_path / "text").write_text("\n".join(map(chr, chars)), encoding="utf-8")
    for query in (r"\w", r"\d", r"\s", r"\pL", r"\p{Greek}", "(?i)[a-zß-ÿ]", r"(?i)\p{Ll}", r"(?i)[\x{100}-\x{24FF}]"):
        syntax = dialect.parse_regex(query, ignore_case=False)
        ours = set(chars).intersection(c for first, last in syntax.tree.ranges for c in range(first, last + 1))
        theirs = {chars[line - 1] for line, _ in rg_lines(tmp_path, "-e", query)}
        # Either may know of characters that were added to Unicode later than the other's tables.
        assert not {c for c in ours ^ theirs if characters.contains(settled(), c)}, query


def settled():
    """Stretches without unassigned code points, so that all versions of Unicode agree about them."""
    return ((0, 0x377), (0x37A, 0x37F), (0x400, 0x52F), (0x1E00, 0x1F15), (0x2000, 0x2064), (0x3041, 0x3096))


def test_ripgrep_is_not_asked_what_it_cannot_express():
    assert literal("a\rb").rg_narrowing_arguments is None
    assert regex(r"a\x00?").rg_narrowing_arguments is None
    assert regex(r"\w=" * 10).rg_narrowing_arguments is None
    assert literal("-a").rg_narrowing_arguments == ["--fixed-strings", "--case-sensitive", "--regexp=-a"]
