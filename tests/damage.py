"""Flips bits in the database of a project and asks questions whose right answers are known.

An answer is right, or says that it is not (not ready, stale, or what it left out), or fails, or is wrong without a word: the last is
what must never be. `python benchmarks/damage.py` is the long run.
"""

import contextlib
import os
import random
import re
import shutil
from collections import Counter

from ctxd.daemon import tools as _tools  # noqa: F401
from ctxd.daemon.projects.view import View
from ctxd.daemon.tool import TOOLS, Call
from projects import opened, ready

DATABASE = os.path.join("databases", "test.db")
PAGE_BYTES = 4096
RIGHT, SAID, FAILED, WRONG = "right", "said", "failed", "wrong"
_DEFINED = re.compile(r"^\s*(?:async )?(?:def|class) (\w+)", re.MULTILINE)
_WORD = re.compile(r"\w{5,}")


def questions(folder, count):
    """`(tool, arguments)`: `count` symbols and words each, a sixth as many questions of meaning, and some file names."""
    texts = [path.read_text() for path in sorted(folder.rglob("*.py"))]
    dice = random.Random(1)
    names = sorted({name for text in texts for name in _DEFINED.findall(text)})
    words = sorted({word for text in texts for word in _WORD.findall(text)})
    names, words = (dice.sample(all_, min(count, len(all_))) for all_ in (names, words))
    asked = [("find_symbol_occurrences", {"symbol_name": name}) for name in names]
    asked += [("search_text_pattern", {"query": word}) for word in words]
    asked += [
        ("search_semantic_concept", {"concept_description": " ".join(name.split("_"))}) for name in names[: count // 6]
    ]
    asked += [("find_files_by_name", {"name_pattern": pattern}) for pattern in ("*.py", "*_*", "?????.py")]
    return asked


def answers(project, asked):
    """What each question found, or why it found nothing, and whether the answer says that it may miss something."""
    return [_answer(Call(View(project)), *one) for one in asked]


def _answer(call, tool, arguments):
    try:
        answer = TOOLS[tool].call(call, arguments)
    except Exception as error:  # what a caller sees as "ctxd met a bug"
        return None, f"{FAILED}: {type(error).__name__}"
    said = "stale" in answer or answer.get("status") in {"indexing_required", "embeddings_not_ready"}
    found = {key: answer[key] for key in ("occurrences", "matches", "files") if key in answer}
    if "results" in answer:  # what a score is made of may differ in the last place
        found["results"] = sorted({one["file_path"] for one in answer["results"]})
    return found, SAID if said else ""


def judged(truth, given):
    """How many answers are right, say that they may not be, failed, or are wrong without a word."""
    counted = Counter()
    for (right, _), (found, said) in zip(truth, given, strict=True):
        counted[RIGHT if found == right else (said.partition(":")[0] or WRONG)] += 1
    return counted


def flip(path, dice, bits):
    """Flip some bits of a file."""
    with open(path, "r+b", buffering=0) as file:
        size = os.path.getsize(path)
        for _ in range(bits):
            at = dice.randrange(size)
            byte = os.pread(file.fileno(), 1, at)[0]
            os.pwrite(file.fileno(), bytes([byte ^ 1 << dice.randrange(8)]), at)


def undamaged(folder, home, workers, count):
    """Index a project; its questions and their right answers. The database stays in `home`."""
    asked = questions(folder, count)
    with opened(folder, home, workers) as project:
        ready(project)
        return asked, answers(project, asked)


def round_of_flips(folder, home, kept, workers, asked, truth, dice, *, running, bits=None):
    """One round: the database as it was kept, some bits flipped, all questions asked. The judgement, and that after the repair."""
    shutil.rmtree(home / "databases", ignore_errors=True)
    shutil.copytree(kept / "databases", home / "databases")
    path = home / DATABASE
    bits = bits or dice.randint(1, 8)
    if not running:
        flip(path, dice, bits)
    with opened(folder, home, workers) as project:
        if running:
            answers(project, asked[:: len(asked) // 4])  # connections are open, and a part is in their caches
            flip(path, dice, bits)
        at_once = judged(truth, answers(project, asked))
        with contextlib.suppress(AssertionError):  # one that is not repaired in time answers wrongly below
            ready(project)
        return at_once, judged(truth, answers(project, asked))
