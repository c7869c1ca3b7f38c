"""Prints answers for people: grouped and coloured on a terminal, one `path:line:text` per line in a pipe.

Invariant: everything that a verb tells a person passes through `Screen.print`, which makes every foreign control character
visible (`\\x1b`). Our own colours and control codes go only to a terminal. One exception: a `FileLine` that `ctxd search` found
goes into a pipe unchanged, because a program wants the file's own bytes, as from ripgrep.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sys
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TextIO

from ctxd.mcp_frontend.launch import working_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BAR_CELLS = 24
ANSWER_LINES, ANSWER_COLUMNS = 12, 300
HIGHLIGHT_SECONDS = 0.2  # for one line; after that lines stay without colours
CONTROL_CHARACTERS = re.compile(
    "[\0-\x08\n-\x1f\x7f-\x9f"  # all but the tab; some terminals take 0x9b for ESC [
    "\udc80-\udc9f"  # the same bytes in a name that is not UTF-8
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"  # these change the direction of text, or break lines
)
CLEAR_LINE = "\r\x1b[K"
CLEAR_SCREEN = "\x1b[H\x1b[2J"
PATH, LINE_NUMBER, MATCH, DIM, BOLD, ATTENTION, GOOD, BAD = "35", "32", "1;31", "2", "1", "33", "32", "31"
STATE_COLOURS = {"ready": GOOD, "degraded": BAD, "missing": BAD}


class Screen:
    """The output of an answer. Its paths are relative to `root`, and are shown relative to the working folder."""

    def __init__(self, root: str | None = None, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stdout
        self.is_terminal = is_terminal(self.stream)
        self._colours = self.is_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._root = root
        self._cwd = os.path.realpath(working_folder())

    def path(self, path: str) -> str:
        return path if self._root is None else os.path.relpath(os.path.join(self._root, path), self._cwd)

    def print(self, *parts: str | Painted | FileLine) -> None:
        """Print one line made of parts."""
        self.stream.write("".join(map(self._shown, parts)) + "\n")

    def clear(self) -> None:
        if self.is_terminal:
            self.stream.write(CLEAR_SCREEN)

    def redraw(self, line: str) -> None:
        """Replace the line that the cursor is in."""
        if self.is_terminal:
            self.stream.write(CLEAR_LINE + visible(line))
            self.stream.flush()

    def _shown(self, part: str | Painted | FileLine) -> str:
        if isinstance(part, FileLine):
            return visible(part.text) if self.is_terminal else part.text
        if isinstance(part, Painted):
            text = visible(part.text)
            return f"\x1b[{part.colour}m{text}\x1b[m" if self._colours and text else text
        return visible(part)


class Painted(NamedTuple):
    """Text with a colour, if the output has colours."""

    text: str
    colour: str


class FileLine(NamedTuple):
    """A line of a file or a part of it, unchanged."""

    text: str


def visible(text: str) -> str:
    return CONTROL_CHARACTERS.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code >= 0xDC80:  # `os.fsdecode` stands this for a byte that is not UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def say(text: str) -> None:
    """One line on stdout."""
    Screen().print(text)


def complain(text: str) -> None:
    """A message on stderr."""
    screen = Screen(stream=sys.stderr)
    for line in text.split("\n"):
        screen.print(line)


def print_json(value: Any) -> None:
    """Indented for people, compact for programs."""
    is_terminal = sys.stdout.isatty()
    style: dict[str, Any] = {"indent": 2} if is_terminal else {"separators": (",", ":")}
    text = json.dumps(value, ensure_ascii=False, **style)
    escaped = CONTROL_CHARACTERS.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)
    sys.stdout.write(escaped + "\n")


def print_log(text: str) -> None:
    """Print a piece of the log, which may end anywhere in a line."""
    sys.stdout.write("\n".join(map(visible, text.split("\n"))))
    sys.stdout.flush()


class ProgressBar:
    """One redrawn line on stderr if that is a terminal, else nothing."""

    def __init__(self) -> None:
        self._screen = Screen(stream=sys.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.redraw("")

    def show(self, project: dict[str, Any]) -> None:
        columns = shutil.get_terminal_size().columns
        self._screen.redraw(progress_line(project)[: columns - 1])


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def progress_line(project: dict[str, Any]) -> str:
    progress = project.get("progress") or {}
    done, total, eta = progress.get("done") or 0, progress.get("total") or 0, progress.get("eta_seconds")
    share = min(1.0, done / total) if total else 0.0
    cells = int(share * BAR_CELLS)
    line = f"{project['state']:<8} [{'#' * cells}{'.' * (BAR_CELLS - cells)}] {share:4.0%}  {done:,}/{total:,} files"
    return line + (f", {duration(eta)} left" if eta else "")


def matches(screen: Screen, found: Iterable[dict[str, Any]], highlight: re.Pattern[str] | None) -> int:
    """Print the matches of `search_text_pattern`, in their order. Returns how many there were."""
    count = 0
    for index, (path, group) in enumerate(groupby(found, key=lambda match: match["file_path"])):
        name = Painted(screen.path(path), PATH)
        if screen.is_terminal:
            _print_heading(screen, index, name)
        previous = None
        with_context = False
        for number, text, is_match in _merged_lines(list(group)):
            count += is_match
            with_context = with_context or not is_match
            if previous is not None and number != previous + 1 and with_context:
                screen.print(Painted("--", DIM))
            previous = number
            separator = ":" if is_match else "-"
            line: list[Painted | FileLine] = [FileLine(text)]
            if is_match and highlight is not None and screen.is_terminal:
                painted = _painted(text, highlight)
                line, highlight = (line, None) if painted is None else (painted, highlight)
            prefix = () if screen.is_terminal else (name, separator)
            screen.print(*prefix, Painted(str(number), LINE_NUMBER), separator, *line)
    return count


def _print_heading(screen: Screen, index: int, *parts: str | Painted) -> None:
    """Print the first line of a group, with an empty line between two groups."""
    if index:
        screen.print()
    screen.print(*parts)


def _painted(line: str, highlight: re.Pattern[str]) -> list[Painted | FileLine] | None:
    """`line` with its matches painted; None if that takes too long, because `re` is slow on some patterns."""

    def give_up(_signal: int, _frame: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, HIGHLIGHT_SECONDS)
    try:
        parts: list[Painted | FileLine] = []
        end = 0
        for hit in highlight.finditer(line):
            parts += FileLine(line[end : hit.start()]), Painted(hit[0], MATCH)
            end = hit.end()
        return [*parts, FileLine(line[end:])]
    except _TooLongError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class _TooLongError(Exception):
    pass


def matching_files(screen: Screen, found: Iterable[dict[str, Any]]) -> int:
    """Print each file that has matches once. Returns how many there were."""
    count = 0
    for path, _ in groupby(found, key=lambda match: match["file_path"]):
        count += 1
        screen.print(Painted(screen.path(path), PATH))
    return count


def match_counts(screen: Screen, found: Iterable[dict[str, Any]]) -> int:
    """Print how many lines match in each file that has matches. Returns how many lines there were."""
    count = 0
    for path, group in groupby(found, key=lambda match: match["file_path"]):
        lines = sum(1 for _ in group)
        count += lines
        screen.print(Painted(screen.path(path), PATH), f":{lines}")
    return count


def _merged_lines(found: list[dict[str, Any]]) -> Iterator[tuple[int, str, bool]]:
    """(line number, text, is a match) of one file's matches with their contexts, each line once."""
    lines: dict[int, tuple[str, bool]] = {}
    for match in found:
        start = match.get("context_start_line") or match["line_number"]
        for number, text in enumerate(match.get("context") or (), start):
            lines.setdefault(number, (text, False))
        lines[match["line_number"]] = (match["matched_line"], True)
    for number in sorted(lines):
        text, is_match = lines[number]
        yield number, text, is_match


def occurrences(screen: Screen, found: Iterable[dict[str, Any]]) -> int:
    """Print the occurrences of `find_symbol_occurrences`, in their order. Returns how many there were."""
    count = 0
    for index, (path, group) in enumerate(groupby(found, key=lambda occurrence: occurrence["file_path"])):
        name = Painted(screen.path(path), PATH)
        if screen.is_terminal:
            _print_heading(screen, index, name)
        for occurrence in group:
            count += 1
            what = " ".join(filter(None, (occurrence["type"], occurrence.get("kind"), occurrence.get("symbol_fqn"))))
            snippet = (occurrence.get("snippet") or "").strip().partition("\n")[0]
            place = f"{occurrence['line_number']}:{occurrence['column_number']}"
            if screen.is_terminal:
                colour = BOLD if occurrence["type"] == "definition" else DIM
                screen.print(Painted(place, LINE_NUMBER), ": ", Painted(what, colour), f": {snippet}")
            else:
                screen.print(name, f":{place}:{what}: {snippet}")
    return count


def answers(screen: Screen, found: Iterable[dict[str, Any]]) -> None:
    """Print the results of `search_semantic_concept`: on a terminal with their first lines, else one line each."""
    for index, one in enumerate(found):
        name = Painted(screen.path(one["file_path"]), PATH)
        place = Painted(f"{one['start_line']}-{one['end_line']}", LINE_NUMBER)
        lines = one["text"].split("\n")
        if not screen.is_terminal:
            first = next((line.strip() for line in lines if line.strip()), "")
            screen.print(name, ":", place, f":{one['score']:.3f}: {first}")
            continue
        _print_heading(screen, index, name, ":", place, "  ", Painted(f"{one['score']:.2f}", DIM))
        for number, line in enumerate(lines[:ANSWER_LINES], one["start_line"]):
            screen.print(Painted(str(number), LINE_NUMBER), ":", line[:ANSWER_COLUMNS])
        if len(lines) > ANSWER_LINES:
            screen.print(Painted(f"... {len(lines) - ANSWER_LINES} more lines", DIM))


def outline(screen: Screen, answer: dict[str, Any]) -> None:
    """Print the elements of `ctxd outline`: lines, kind, name and parameters, indented by nesting."""
    elements = answer["elements"]
    width = len(str(max((one["endLine"] for one in elements), default=0)))
    for one in elements:
        lines = f"{one['startLine']:>{width}}-{one['endLine']:<{width}}"
        parameters = f"({', '.join(one['parameters'])})" if one["type"] in ("function", "method") else ""
        doc = ("  ", Painted(one["doc"], DIM)) if one["doc"] and screen.is_terminal else ()
        kind = f"  {'  ' * one['depth']}{one['type']} "
        screen.print(Painted(lines, LINE_NUMBER), kind, Painted(one["name"], BOLD), parameters, *doc)


def overview(screen: Screen, answer: dict[str, Any]) -> None:
    """Print the answer of `explore_codebase`: counts, languages, the tree, the most used elements."""
    summary = answer["summary"]
    counts = f"{summary['files']:,} files, {summary['lines']:,} lines"
    screen.print(Painted(screen.path(answer["path"]), BOLD), f"  {counts}")
    named = ", ".join(f"{one['name']} {one['lines']:,}" for one in summary["languages"])
    screen.print(f"lines by language: {named}")
    if summary["readme"]:
        screen.print("readme: ", Painted(screen.path(summary["readme"]["path"]), PATH))
    screen.print()
    _branch(screen, answer["tree"], "")
    if answer.get("truncated"):
        screen.print(Painted("not all of the tree is shown; name a folder, or raise --limit", DIM))
    if answer["keyElements"]:
        _print_heading(screen, 1, "definitions that most files refer to")
    for one in answer["keyElements"]:
        place = Painted(screen.path(one["file"]), PATH), ":", Painted(str(one["line"]), LINE_NUMBER)
        screen.print(f"{one['referringFiles']:>7,}  {one['type']} ", Painted(one["name"], BOLD), "  ", *place)


def edits(found: list[dict[str, Any]]) -> None:
    """Print one line per edit: number, time, tool, files."""
    for one in found:
        screen = Screen(one["root"])
        names = [screen.path(file["path"]) for file in one["files"] if not file["backup"]]
        files = [part for name in names for part in (Painted(name, PATH), ", ")][:-1]
        state = {"undone": "  taken back", "open": "  interrupted"}.get(one["state"], "")
        when = one["time"][:19].replace("T", " ")
        screen.print(f"{one['id']:>5}  {when}  {one['tool']}  ", *files, Painted(state, ATTENTION))


def _branch(screen: Screen, entries: list[dict[str, Any]], indent: str) -> None:
    for one in entries:
        files = f"{one['files']:,} files, " if one["type"] == "folder" else ""
        name = Painted(one["name"] + "/", PATH) if one["type"] == "folder" else one["name"]
        screen.print(indent, name, "  ", Painted(f"{files}{one['lines']:,} lines", DIM))
        _branch(screen, one.get("children") or [], indent + "  ")


def status(screen: Screen, report: dict[str, Any]) -> None:
    """Print the health check: the daemon, then a block for each project."""
    daemon = report["daemon"]
    if not daemon["running"]:
        screen.print("daemon  ", Painted("not running", ATTENTION), "; `ctxd start` starts it")
        return
    facts = [f"pid {daemon['pid']}", f"version {daemon['version']}", f"up {duration(daemon['uptime_seconds'])}"]
    if daemon.get("rss_bytes"):
        facts.append(amount(daemon["rss_bytes"]))
    backends = ", ".join(f"{what} from {daemon[key]}" for what, key in BACKENDS if daemon.get(key))
    screen.print("daemon  ", Painted("running", GOOD), f"  {', '.join(facts)}")
    screen.print(f"        {daemon['socket']}" + (f"; {backends}" if backends else ""))
    for problem in daemon.get("problems") or ():
        screen.print("        ", Painted("problem", ATTENTION), f": {problem}")
    if not report["projects"]:
        screen.print("        no projects; `ctxd add` adds one")
    for project in report["projects"]:
        screen.print()
        _project(screen, project)


BACKENDS = (("text", "text_backend"), ("file names", "files_backend"))


def _project(screen: Screen, project: dict[str, Any]) -> None:
    state = project["state"]
    screen.print(Painted(project["root"], BOLD))
    if state in ("scanning", "indexing"):
        screen.print("  ", Painted(progress_line(project), ATTENTION))
    else:
        screen.print("  ", Painted(state, STATE_COLOURS.get(state, ATTENTION)))
    counts = [f"{project[key]:,} {key}" for key in ("files", "symbols", "occurrences", "chunks") if project.get(key)]
    if project.get("database_bytes"):
        counts.append(f"index of {amount(project['database_bytes'])}")
    if counts:
        screen.print(f"  {', '.join(counts)}")
    watch = project.get("watch")
    if watch:
        health = "healthy" if watch.get("healthy") else Painted("not healthy", ATTENTION)
        overflows = f", {watch['overflows']} overflows" if watch.get("overflows") else ""
        screen.print(f"  watched by {watch.get('backend')}, ", health, overflows)
    if project.get("failed_files"):
        screen.print(f"  {project['failed_files']:,} files failed")
    for problem in project.get("problems") or ():
        text = problem if isinstance(problem, str) else ": ".join(str(value) for value in problem.values())
        screen.print("  ", Painted("problem", ATTENTION), f": {text}")


def table(screen: Screen, rows: list[tuple[str, ...]]) -> None:
    """Print columns as wide as needed; the last one has no width."""
    rows = [tuple(map(visible, row)) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for index, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        screen.print(Painted(line, BOLD) if index == 0 else line)


def duration(seconds: float) -> str:
    minutes, hours, days = seconds / 60, seconds / 3600, seconds / 86400
    if minutes < 2:
        return f"{seconds:.0f} s"
    if hours < 2:
        return f"{minutes:.0f} min"
    return f"{hours:.0f} h" if days < 2 else f"{days:.0f} days"


def amount(size_bytes: float) -> str:
    """Bytes for people: 1 MB is 10**6."""
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.1f} {unit}"
    return f"{size_bytes:.0f} B"
