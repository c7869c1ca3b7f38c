"""Saves of every kind, each followed at once by a question: what the test and the benchmark of freshness share.

Links are made into the project. One that is made from it, elsewhere, tells nothing: the next sweep finds what is written there.
"""

import os
import random
import re
import subprocess
import sys
import threading
from collections import Counter

FILES = 40
GROWN_SYMBOLS_MAX = 200  # then the growing file begins again
WRITER = """
import os, random, sys, time
dice = random.Random(sys.argv[2])
with open(sys.argv[1], "ab", 0) as file:
    number = 0
    while True:
        file.write(b"def grown_%d():\\n    return %d\\n" % (number, number))
        print(number, flush=True)
        time.sleep(dice.random() * float(sys.argv[3]))
        number += 1
        if number % GROWN == 0:
            file.truncate(0)
""".replace("GROWN", str(GROWN_SYMBOLS_MAX))


class Saves:
    """`ask(tool, **arguments)` is answered about `folder`; `outside` is a folder beside it, on the same file system."""

    def __init__(self, folder, outside, seed):
        self.folder = folder
        self.outside = outside
        self.dice = random.Random(seed)
        self.counted = Counter()
        self.wrong = []
        self._number = 0
        outside.mkdir(exist_ok=True)
        for number in range(FILES):
            self._path(number).parent.mkdir(parents=True, exist_ok=True)
            self._write(self._path(number), self._text(f"first_{number}"))

    def step(self, ask):
        """One save and a question about it."""
        save = self.dice.choice(
            (self.write, self.append, self.replace, self.write_twice, self.rename, self.delete, self.through_a_link)
        )
        self._number += 1
        word = f"saved_{self._number}_"
        path = save(word)
        where = None if path is None else str(path.relative_to(self.folder))
        self._check(save.__name__, ask("search_text_pattern", query=word, context_lines=0), "matches", where)
        self._check(save.__name__, ask("find_symbol_occurrences", symbol_name=word), "occurrences", where)

    def _check(self, kind, answer, field, where):
        found = {one["file_path"] for one in answer[field]}
        if "stale" in answer:
            self.counted[f"{kind}: stale"] += 1
        elif found != ({where} if where else set()):
            self.wrong.append((self._number, kind, field, where, answer))
        else:
            self.counted[f"{kind}: right"] += 1

    def growing(self, ask, questions, pause):
        """Ask for symbols whose write has ended, while the file grows."""
        path = self.folder / "grown.py"
        path.write_bytes(b"")
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(self.dice.random()), str(pause)],
            stdout=subprocess.PIPE,
            text=True,
        )
        last, has_begun = [0], threading.Event()

        def listen():
            for line in writer.stdout:
                last[0] = int(line)
                has_begun.set()

        listener = threading.Thread(target=listen)
        listener.start()
        has_begun.wait()
        for _ in range(questions):
            asked = last[0]
            answer = ask("find_symbol_occurrences", symbol_name=f"grown_{asked}")
            if "stale" in answer:
                self.counted["growing: stale"] += 1
            elif answer["occurrence_count"] == 1:
                self.counted["growing: right"] += 1
            elif last[0] // GROWN_SYMBOLS_MAX == asked // GROWN_SYMBOLS_MAX and (last[0] + 1) % GROWN_SYMBOLS_MAX:
                self.wrong.append((asked, "growing", last[0], answer))
        writer.kill()
        listener.join()
        writer.wait()
        writer.stdout.close()

    # Saves; each returns the path that now defines the word, None where none does.

    def write(self, word):
        return self._write(self._any(), self._text(word))

    def append(self, word):
        path = self._any()
        with open(path, "a") as file:
            file.write(self._text(word))
        return path

    def replace(self, word):
        path = self._any()
        self._write(path.with_suffix(".new"), self._text(word))
        return path.with_suffix(".new").replace(path)

    def write_twice(self, word):
        """Within one tick of the kernel's clock, of one length: the stamps may be alike."""
        path = self._any()
        self._write(path, self._text(re.sub(r"\d", "x", word)))
        return self._write(path, self._text(word))

    def rename(self, word):
        path = self._write(self._any(), self._text(word))
        return path.replace(self._any())

    def delete(self, word):
        path = self._write(self._any(), self._text(word))
        path.unlink()

    def through_a_link(self, word):
        """By a name outside the project, of a file that has had one in it for a while or is given one now."""
        path = self._any()
        outside = self.outside / f"{path.stem}.py"
        if not (outside.exists() and path.exists() and os.path.samefile(outside, path)):
            outside.unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            self._write(outside, self._text("before"))
            os.link(outside, path)
        self._write(outside, self._text(word))
        return path

    def _path(self, number):
        return self.folder / f"d{number % 7}" / f"f{number}.py"

    def _any(self):
        return self._path(self.dice.randrange(FILES))

    @staticmethod
    def _text(word):
        return f"def {word}():\n    pass\n"

    @staticmethod
    def _write(path, text):
        path.write_text(text)
        return path
