import pytest
import re2

from ctxd.indexer.patterns import glob


def matches(pattern, path):
    compiled = re2.compile(b"(?:" + glob.translate(pattern) + rb")", glob.options())
    return compiled.fullmatch(path.encode() if isinstance(path, str) else path) is not None


@pytest.mark.parametrize(
    ("pattern", "hits", "misses"),
    [
        ("*.py", ["a.py", ".py", "é.py", b"\xff.py"], ["a.pyc", "A.PY", "d/a.py"]),
        ("test_?.c", ["test_1.c", "test_é.c"], ["test_12.c", "test_.c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "x"]),
        ("[!a-c]x", ["dx", "éx"], ["ax"]),
        ("[é]x", ["éx"], ["ex"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("*.{js,ts}", ["a.js", "a.ts"], ["a.jsx"]),
        ("src/**/x.c", ["src/x.c", "src/a/x.c", "src/a/b/x.c"], ["x.c", "src/a/y.c"]),
        ("src/*", ["src/a"], ["src/a/b"]),
        ("a\\*b", ["a*b"], ["axb"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a+(b)", ["a+(b)"], ["aab"]),
    ],
)
def test_globs_match_whole_names(pattern, hits, misses):
    assert [path for path in hits if not matches(pattern, path)] == []
    assert [path for path in misses if matches(pattern, path)] == []


@pytest.mark.parametrize("pattern", ["[a", "{a,b", "[z-a]"])
def test_broken_globs_say_what_is_wrong(pattern):
    with pytest.raises(glob.GlobError):
        glob.translate(pattern)


def test_filters_are_equal_where_they_select_the_same():
    """Scopes are counted once by them."""
    assert glob.path_filter("*.py", b"a") == glob.path_filter("*.py", b"a") != glob.path_filter("*.py", b"")
    assert hash(glob.path_list_filter("a/, b", b"")) == hash(glob.path_list_filter("a/,b,", b""))
    assert glob.path_filter("*", b"") is None
    assert glob.path_list_filter(" , ", b"") is None


def test_a_glob_that_grows_too_large_is_refused():
    with pytest.raises(glob.GlobError, match="large"):
        glob.path_filter("[é-ϩ]" * 2_000, b"")
