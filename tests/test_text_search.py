"""One answer, whatever narrows: the index, ripgrep, grep, or nothing."""

import os
import random
import shutil

import pytest

from ctxd.indexer.files.scope import Scope
from ctxd.indexer.patterns.pattern import compile_pattern
from ctxd.indexer.patterns.trigrams import EVERYTHING
from ctxd.indexer.programs import TEXT_BACKENDS, ProgramFailed, Programs, names_from
from ctxd.indexer.text import text_search
from ctxd.indexer.text.text_search import Search
from projects import opened, ready, until, write

QUERIES = [
    ("alpha", False, True),
    ("ALPHA", False, False),
    ("straße", False, False),
    ("é", False, True),
    (r"alpha|beta\d", True, True),
    (r"\bal\w+", True, False),
    (r"^\s*$", True, True),
    (r"x.y", True, True),
    (r"end$", True, True),
    (r"[^a-z ]{3}", True, True),
    ("absent word", False, True),
]


def files(chance):
    words = ["alpha", "beta1", "Straße", "STRASSE", "é", "end", "x\ry", "xéy", "   ", "", "ALPHA", "x y", "!!!"]
    for number in range(120):
        text = "\n".join(" ".join(chance.choices(words, k=chance.randint(0, 4))) for _ in range(chance.randint(0, 12)))
        data = {
            0: text.encode(),
            1: text.encode().replace(b"\n", b"\r\n"),
            2: text.encode("latin-1"),
            3: text.encode("utf-16"),
            4: b"\xef\xbb\xbf" + text.encode(),
            5: text.encode() + b"\0",
            6: (text + "z" * 200_000 + "alpha end").encode(),
        }[chance.choice([0, 0, 0, 0, 1, 2, 3, 4, 5, 6])]
        yield f"d{number % 5}/f{number}.txt", data


def answer(project, query, backend="index"):
    pattern = compile_pattern(query[0], is_regex=query[1], case_sensitive=query[2])
    search = Search(stop=lambda: False, backend=backend)
    return [
        (m.path, [(m.number_of(line[0]), *line[:2]) for line in m.lines])
        for m in project.text.search(pattern, Scope(), search)
    ]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_index_ripgrep_and_a_scan_give_the_same_answer(folder, home, workers, monkeypatch, seed):
    write(folder, dict(files(random.Random(seed))))
    with opened(folder, home, workers) as project:
        ready(project)
        narrowed = {query: answer(project, query) for query in QUERIES}
        assert sum(map(len, narrowed.values())) > 300
        monkeypatch.setattr(project.text, "_narrow", lambda _query: None)
        scanned = {query: answer(project, query) for query in QUERIES}
        assert narrowed == scanned
        for backend in TEXT_BACKENDS:
            assert {query: answer(project, query, backend) for query in QUERIES} == scanned, backend
        if shutil.which("rg"):
            monkeypatch.setattr(text_search, "NARROWED_FILES_MIN", 1)
            monkeypatch.setattr(text_search, "READ_FIRST", 3)
            assert {query: answer(project, query) for query in QUERIES} == scanned


def test_before_anything_is_indexed_the_answer_is_the_same(folder, home, workers, monkeypatch):
    write(folder, dict(files(random.Random(3))))
    with opened(folder, home, workers) as project:
        early = {query: answer(project, query) for query in QUERIES}
        ready(project)
        assert {query: answer(project, query) for query in QUERIES} == early


def test_ripgrep_that_fails_is_passed_over(folder, home, workers, monkeypatch):
    write(folder, dict(files(random.Random(4))))
    with opened(folder, home, workers) as project:
        ready(project)
        expected = answer(project, QUERIES[4])
        monkeypatch.setattr(text_search, "NARROWED_FILES_MIN", 1)
        monkeypatch.setattr(text_search, "READ_FIRST", 3)
        monkeypatch.setattr(project.text, "_narrow", lambda _query: None)
        for program in ("/nonexistent/rg", shutil.which("ls")):
            project.text.programs = Programs(rg=program)
            for backend in TEXT_BACKENDS:
                assert answer(project, QUERIES[4], backend) == expected


def test_a_program_is_given_every_plain_file_and_only_those(folder, home, workers):
    """Names that would be options or standard input are files all the same; a pattern a program cannot have is passed over."""
    names = ["-", "-e", "--text", "a\nb", os.fsdecode(b"\xff"), "d/x y", "crlf", "e/utf16"]
    write(folder, dict.fromkeys(names, "alpha (beta]\n"))
    write(folder, {"crlf": "alpha (beta]\r\n", "e/utf16": "alpha (beta]".encode("utf-16")})
    with opened(folder, home, workers) as project:
        ready(project)
        for query in [
            ("(beta]", False, True),
            (r"[]^-]$", True, True),
            (r"\x00?alpha", True, True),
            ("ALPHA", False, False),
        ]:
            for backend in TEXT_BACKENDS:
                found = [path for path, _ in answer(project, query, backend)]
                assert found == sorted(map(os.fsencode, names)), (query, backend)


def test_what_ripgrep_misses_is_found_all_the_same(folder, home, workers):
    """Version 13 finds no word boundary at the start of the line after an empty one."""
    write(folder, {"a.txt": "\nb\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        for backend in TEXT_BACKENDS:
            assert [path for path, _ in answer(project, (r"\b^", True, True), backend)] == [b"a.txt"], backend


def test_a_program_that_nobody_waits_for_is_killed(folder, home, workers):
    with pytest.raises(ProgramFailed, match="stopped"):
        names_from(["sleep", "60"], os.fsencode(folder), lambda: True)
    write(folder, {f"{n}.txt": "word\n" for n in range(20)})
    with opened(folder, home, workers) as project:
        ready(project)
        (folder / "slow").write_text("#!/bin/sh\nexec sleep 60\n")
        (folder / "slow").chmod(0o700)
        project.text.programs = Programs(rg=str(folder / "slow"))
        search = Search(stop=lambda: True, backend="rg")
        pattern = compile_pattern("word", is_regex=False, case_sensitive=True)
        assert list(project.text.search(pattern, Scope(), search)) == []
        assert search.stopped_at is not None


def test_a_rare_word_reads_few_files(folder, home, workers):
    write(
        folder, {f"{n}.txt": f"common words and number {n}\n" for n in range(300)} | {"one.txt": "a singular needle\n"}
    )
    with opened(folder, home, workers) as project:
        ready(project)
        pattern = compile_pattern("singular needle", is_regex=False, case_sensitive=False)
        assert pattern.trigrams != EVERYTHING
        for backend in TEXT_BACKENDS:
            search = Search(stop=lambda: False, backend=backend)
            assert [m.path for m in project.text.search(pattern, Scope(), search)] == [b"one.txt"]
            serving = project.text.programs.answering(backend, TEXT_BACKENDS)  # the next one where a program is missing
            assert search.files_read == (301 if serving == "python" else 1), (backend, serving)


@pytest.mark.parametrize("text", ["a singular needle\n", "a singular needle, rewritten\n"])
def test_a_file_written_while_the_index_is_asked_is_found(folder, home, workers, monkeypatch, text):
    write(folder, {"one.txt": "a singular needle\n", "two.txt": "nothing\n"})
    with opened(folder, home, workers) as project:
        ready(project)
        narrow = project.text._narrow

        def interrupted(query):
            contents = narrow(query)
            version = project.table.files[b"one.txt"].version
            write(folder, {"one.txt": text})
            project.files_now()
            if "rewritten" in text:  # and indexed: its content is one of which the answer of the index knows nothing
                until(lambda: not project.table.without_content and project.table.files[b"one.txt"].version > version)
            return contents

        monkeypatch.setattr(project.text, "_narrow", interrupted)
        assert [path for path, _ in answer(project, ("singular needle", False, True))] == [b"one.txt"]


def test_a_search_stops_when_it_is_told_to(folder, home, workers):
    write(folder, {f"{n}.txt": "word\n" for n in range(200)})
    with opened(folder, home, workers) as project:
        found = []
        search = Search(stop=lambda: len(found) > 20)
        for match in project.text.search(compile_pattern("word", is_regex=False, case_sensitive=True), Scope(), search):
            found.append(match.path)  # noqa: PERF401 - `stop` looks at it meanwhile
        assert search.stopped_at == sorted(project.table.files)[len(found)]
        assert project.text.coverage(Scope(), search)["files_searched"] == len(found)
        assert len(found) < 60
