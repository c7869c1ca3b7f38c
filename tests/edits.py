"""Hostile files, random edits of them, and a patch program: what tests of edits share."""

import os
import random
import re

from ctxd.daemon.errors import ToolError
from ctxd.daemon.tool import TOOLS, Call
from ctxd.indexer.decode import as_utf8, canonical
from ctxd.indexer.documents.unified_diff import Change

ENDINGS = ["\n", "\n", "\r\n", "\r\n", "\r", "\r\r\n", "\n\r"]
WORDS = ["a", "needle", "é", "ß", "€", "\U0001f600", "  ", "\t", "", "\u2028", "\x0b", "\ufeff", "\ufffd", "= 1", "# x"]


def hostile(chance, lines_max=12):
    """The bytes of a text file: any encoding, any mix of line endings, invalid bytes, long lines, nothing."""
    style = chance.choice([ENDINGS, ["\n"], ["\r\n"], ["\n", "\r\n"]])
    parts = []
    for _ in range(chance.randint(0, lines_max)):
        parts += chance.choices(WORDS, k=chance.randint(0, 4))
        if chance.random() < 0.02:
            parts.append("long " * chance.randint(1, 5_000))
        parts.append(chance.choice(style))
    if parts and chance.random() < 0.4:
        parts.pop()
    text = "".join(parts)
    kind = chance.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1", "invalid"])
    if kind.startswith("utf-16"):
        data = (b"\xff\xfe" if kind == "utf-16-le" else b"\xfe\xff") + text.encode(kind)
        if chance.random() < 0.3:
            at = chance.randrange(2, len(data) + 1) // 2 * 2
            half = chance.choice([b"\x00\xd8", b"\x00\xdc", b"\xd8\x00"])
            data = data[:at] + half + data[at:]
        return data[:-1] if len(data) > 2 and chance.random() < 0.1 else data
    if kind == "invalid":
        data = bytearray(text.encode())
        for _ in range(chance.randint(1, 3)):
            at = chance.randint(0, len(data))
            data[at:at] = chance.choice([b"\xe9", b"\xff", b"\xc3", b"\xf0\x9f", b"\x80"])
        return bytes(data)
    return text.encode(kind, "ignore")


def random_changes(chance, text):
    """Up to four changes of canonical text, at any of its characters."""
    bounds = [0]
    for char in text.decode():
        bounds.append(bounds[-1] + len(char.encode()))
    places = sorted(chance.choice(bounds) for _ in range(2 * chance.randint(1, 4)))
    return [
        Change(start, end, random_content(chance).encode())
        for start, end in zip(places[::2], places[1::2], strict=True)
    ]


def random_content(chance):
    return "".join(chance.choice([*WORDS, "\n", "\r\n", "\n\n"]) for _ in range(chance.randint(0, 4)))


def random_edit(chance, text):
    """A tool and its arguments for a file `f.txt` with a text."""
    lines = text.split("\n")
    count = len(lines) - (lines[-1] == "")
    content = random_content(chance) or "x"
    at = chance.randrange(len(text) + 1)
    match chance.randrange(6):
        case 0:
            search = text[at : at + chance.randint(1, 5)] or "x"
            return "replace_in_file", {
                "filePath": "f.txt",
                "searchText": search,
                "replaceText": content,
                "caseSensitive": chance.random() < 0.5,
                "replaceAll": chance.random() < 0.8,
            }
        case 1:
            search = chance.choice(["^", "$", r"\w+", ".", r"(\S)(\s)", "needle|é", "x*", r"\bneedle\b", r"\s+$"])
            new = content.replace("$", "") + chance.choice(["", "$0", "$$"])
            return "replace_in_file", {"filePath": "f.txt", "searchText": search, "replaceText": new, "useRegex": True}
        case 2:
            patch = {
                "operation": chance.choice(["replace", "insert"]),
                "target": {"text": text[at : at + chance.randint(1, 8)] or "x"},
                "content": content,
            }
        case _:
            operation = chance.choice(["replace", "insert", "delete", "replaceLines"])
            start = chance.randint(1, max(1, count))
            patch = {
                "operation": operation,
                "target": {"lines": {"start": start, "end": min(max(1, count), start + chance.randint(0, 3))}},
                "preserveIndent": chance.random() < 0.5,
            } | ({} if operation == "delete" else {"content": content})
    patch["filePath"] = "f.txt"
    if chance.random() < 0.2:
        return "TextPatch", {"edits": [patch, {**patch, "target": {"lines": {"start": 1, "end": 1}}}]}
    return "TextPatch", patch


def fuzzed(view, seed):
    """One random edit of one hostile file: dry run, edit, undo. Returns "made", "same" or "refused"; raises AssertionError.

    What a random edit may not do is refused twice, and the file left.
    """
    chance = random.Random(seed)
    data = hostile(chance)
    path = os.path.join(view.root, b"f.txt")
    _write(path, data)
    source = as_utf8(data)
    tool, arguments = random_edit(chance, canonical(source.text).decode())
    try:
        dry = TOOLS[tool].call(Call(view), {**arguments, "dryRun": True})
    except ToolError as error:
        dry = error
    assert _read(path) == data, seed
    try:
        answer = TOOLS[tool].call(Call(view), arguments)
    except ToolError as error:
        assert str(error) == str(dry) or error.name == "TimeoutError", (seed, dry)  # noqa: PT017
        assert _read(path) == data, seed
        return "refused"
    after = _read(path)
    now = as_utf8(after)
    if "not valid UTF-8" not in str(answer):
        assert "diffTruncated" in dry or patched(data, dry["diff"]) == now.text, seed
        assert (now.encoding, now.bom) == (source.encoding, source.bom) or now.text.isascii(), seed
    if after == data:
        return "same"
    editor = view.project.editor
    editor.undo(editor.entries()[0].number)
    assert _read(path) == data, seed
    return "made"


def _write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def _read(path):
    with open(path, "rb") as file:
        return file.read()


def patched(data, diff):
    """The text of `data` after a unified diff of it, with its line endings."""
    old = _lines(as_utf8(data).text.decode())
    new, position = [], 0
    lines = _lines(diff)
    index = 2
    while index < len(lines):
        first, count = re.match(r"@@ -(\d+)(?:,(\d+))? ", lines[index]).groups()
        start = int(first) - (count != "0")
        new += old[position:start]
        position = start
        index += 1
        while index < len(lines) and lines[index][0] in " +-\\":
            mark, line = lines[index][0], lines[index][1:]
            if lines[index + 1 : index + 2] == ["\\ No newline at end of file\n"]:
                line = line[:-1]
            if mark in " -":
                assert old[position] == line, (old[position], line)
                position += 1
            if mark in " +":
                new.append(line)
            index += 1 if line.endswith("\n") else 2
    return "".join(new + old[position:]).encode()


def _lines(text):
    return re.findall(r"[^\n]*\n|[^\n]+\Z", text)
