"""From changes of text to bytes: what is outside a change stays, whatever it is."""

import random
import subprocess

import pytest

from ctxd.indexer.decode import as_utf8, decode
from ctxd.indexer.documents.draft import Draft, DraftError, spliced
from ctxd.indexer.documents.unified_diff import Change, unified_diff
from edits import hostile, patched, random_changes
from projects import needs_git


def edited(data, old, new):
    """`data` with the first `old` of its canonical text replaced."""
    draft = Draft(data)
    start = draft.text.index(old.encode())
    draft.change([Change(start, start + len(old.encode()), new.encode())])
    return draft.to_bytes()


@pytest.mark.parametrize(
    ("data", "old", "new", "expected"),
    [
        (b"a\nb\nc\n", "b", "x", b"a\nx\nc\n"),
        (b"a\r\nb\r\nc\r\n", "b", "x\ny", b"a\r\nx\r\ny\r\nc\r\n"),
        (b"a\r\nb\r\nc\r\n", "b\n", "", b"a\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", "b\nc\n", "x\ny\n", b"a\r\nx\ny\r\n"),
        (b"a\nb\r\nc\n", "b", "x\ny", b"a\nx\r\ny\r\nc\n"),
        (b"a\r\nb", "b", "x\ny", b"a\r\nx\r\ny"),
        (b"b", "b", "x\r\ny", b"x\ny"),
        (b"a\r\r\nb\r\r\n", "b", "x", b"a\r\r\nx\r\r\n"),
        (b"a\rb\n", "b", "x", b"a\rx\n"),
        ("\ufeffa\r\nb".encode(), "a", "é", "\ufeffé\r\nb".encode()),
        ("\ufeffa\r\nb\U0001f600".encode("utf-16-le"), "b", "é\n", "\ufeffa\r\né\r\n\U0001f600".encode("utf-16-le")),
        ("\ufeffa\U0001f600b".encode("utf-16-be"), "b", "€", "\ufeffa\U0001f600€".encode("utf-16-be")),
        (b"caf\xe9 b\xff\n", "b", "\xe9", b"caf\xe9 \xe9\xff\n"),
        (b"\xff\xfea\0\0\xd8b\0", "b", "c", b"\xff\xfea\0\0\xd8c\0"),
        (b"\xff\xfea\0b\0\0", "a", "c", b"\xff\xfec\0b\0\0"),
        (b"", "", "x\n", b"x\n"),
        (b"\xff\xfe", "", "x", b"\xff\xfex\0"),
    ],
)
def test_an_edit_keeps_encoding_and_endings(data, old, new, expected):
    assert edited(data, old, new) == expected


@pytest.mark.parametrize(
    ("data", "old", "new", "words"),
    [
        (b"a\0b", "", "x", "binary"),
        (b"ab", "b", "\0", "NUL"),
        (b"caf\xe9 b", "b", "€", "Latin-1"),
        (b"a\n", "a", "a\r", "carriage return"),
        (b"a\rb\n", "b", "", "carriage return"),
        (b"b", "b", "\ufeffb", "first bytes"),
        (b"\xffb \xe9", "", "x\n\0", "NUL"),
        (b"x\xfe \xe9", "x", "\xff", "first bytes"),
        (b"\xff\xfe\0\xd8b\0\0\xdc", "b", "", "half a character"),
    ],
)
def test_what_a_file_cannot_hold_is_refused(data, old, new, words):
    with pytest.raises(DraftError, match=words):
        edited(data, old, new)


def test_a_file_that_becomes_valid_utf_8_is_told_of():
    draft = Draft("é ".encode() + b"\xff\n")
    start = draft.text.index("\xff".encode())
    draft.change([Change(start, start + 2, b"")])
    assert draft.to_bytes() == "é \n".encode()
    assert "UTF-8" in draft.note


def test_changes_after_changes_are_as_one(tmp_path):
    for seed in range(2_000):
        chance = random.Random(seed)
        data = hostile(chance)
        draft = Draft(data)
        for _ in range(chance.randint(1, 3)):
            before = draft.text
            changes = random_changes(chance, before)
            try:
                draft.change(changes)
            except DraftError:
                assert draft.text == before
                continue
            assert draft.text == spliced(before, [Change(s, e, t.replace(b"\r\n", b"\n")) for s, e, t in changes])
        try:
            result = draft.to_bytes()
        except DraftError:
            continue
        if draft.note is None:
            assert (decode(result)[1], as_utf8(result).text) == (draft.text, draft._current)
        assert_outside_is_kept(draft, result)
        assert patched(data, draft.diff("f")) == draft._current


def assert_outside_is_kept(draft, result):
    """The kept pieces of the old bytes are all in the new ones, in order, and nothing but new text lies between them."""
    source, data = draft.source, draft.data
    position, raw = 0, len(source.bom)
    assert result.startswith(data[:raw])
    at = raw
    for start, end, text in draft._changes:
        kept = len(_encoded(source, source.text[position:start]))
        assert result[at : at + kept] == data[raw : raw + kept]
        at += kept + len(_encoded(source, text))
        # The last character may be an odd byte.
        is_rest = end == len(source.text)
        raw = len(data) if is_rest else raw + kept + len(_encoded(source, source.text[start:end]))
        position = end
    assert result[at:] == data[raw:]


def _encoded(source, text):
    return text.decode().encode(source.encoding)


@needs_git
@needs_git
def test_the_diff_is_one_that_patch_takes(tmp_path):
    lines = [b"line %d\n" % n for n in range(40)]
    old = b"".join(lines)
    second, last = old.index(b"line 1\n"), old.index(b"line 39")
    changes = [Change(second, second + 14, b"x\n"), Change(last, last + 8, b"end")]
    (tmp_path / "f").write_bytes(old)
    (tmp_path / "d").write_text(unified_diff(old, changes, "f"))
    subprocess.run(["git", "apply", "-p1", "d"], cwd=tmp_path, check=True)
    assert (tmp_path / "f").read_bytes() == spliced(old, changes)


@pytest.mark.parametrize(
    ("old", "changes", "expected"),
    [
        (b"a\nb\n", [], ""),
        (b"a\nb\n", [Change(0, 1, b"a")], ""),
        (b"a\nb\n", [Change(2, 3, b"c")], "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        (b"", [Change(0, 0, b"a\n")], "@@ -0,0 +1 @@\n+a\n"),
        (b"a\n", [Change(0, 2, b"")], "@@ -1 +0,0 @@\n-a\n"),
        (b"a", [Change(1, 1, b"\n")], "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"),
        (b"a\r\nb\r\n", [Change(3, 3, b"x\r\n")], "@@ -1,2 +1,3 @@\n a\r\n+x\r\n b\r\n"),
        (b"a b c\n", [Change(0, 1, b"x"), Change(4, 5, b"y")], "@@ -1 +1 @@\n-a b c\n+x b y\n"),
    ],
)
def test_a_diff_names_lines_as_diff_does(old, changes, expected):
    assert unified_diff(old, changes, "f") == (f"--- a/f\n+++ b/f\n{expected}" if expected else "")
