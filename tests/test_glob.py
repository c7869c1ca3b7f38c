import pytest
import re2

from ctxd.indexer import glob


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
