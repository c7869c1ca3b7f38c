"""The verbs of the `ctxd` command: each asks the daemon, prints the answer and returns the exit status.

Invariant: exit codes are those of the help pages: `status` 0, 2, 3, 4; `search`, `symbol`, `files`, `ask` 0 found, 1 nothing
found, 2 error; all others 0 or 1.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from ctxd.daemon import protocol
from ctxd.mcp_frontend import relay, render
from ctxd.mcp_frontend.client import ClientSession, answer_of, ask, ask_without_starting, error_of
from ctxd.mcp_frontend.launch import DaemonError, Launcher, daemon_command, hello, project_of, working_folder

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

OK, NOTHING, USAGE, ERROR = 0, 1, 1, 2
INDEXING, DEGRADED, NO_DAEMON = 2, 3, 4
POLL_S = 0.1
LOG_BLOCK_BYTES = 1 << 16
PAGE_TOKENS = 100_000  # the largest allowed: a person gets all pages anyway
PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")
PUNCTUATION_OF_GLOBS = re.compile(r"[\\*?\[\]{},!]")
NOT_READY = {
    "indexing_required": "symbols are being indexed",
    "embeddings_not_ready": "the code is being embedded",
}
NONE_SEARCHED = {
    "search_text_pattern": "; --hidden searches hidden ones too, `ctxd why PATH` says why one is not",
    "find_symbol_occurrences": "; `ctxd languages` lists the languages with symbols",
}
WITHOUT_SYMBOLS = {
    "none": "files of this kind have no symbols; `ctxd languages` lists those that have",
    "too_large": "the file is too large to be parsed",
    "failed": "the file could not be parsed; `ctxd why` says why",
}
STILL_AT_WORK = ("scanning", "indexing")
ILL = ("degraded", "missing")


# The daemon


def start(options: argparse.Namespace) -> int:
    if not options.foreground:
        render.say(f"daemon running, pid {_started()}")
        return OK
    connection = Launcher().open(hello("status"), start=False)
    if connection is not None:
        pid = connection.answer.get("pid")
        render.complain(f"ctxd: a daemon runs already (pid {pid}); `ctxd stop` it first")
        return USAGE
    command = daemon_command()
    return os.execv(command[0], command)  # noqa: S606 - the daemon replaces this process


def stop(_: argparse.Namespace) -> int:
    render.say("daemon stopped" if _stopped() else "no daemon runs")
    return OK


def restart(_: argparse.Namespace) -> int:
    _stopped()
    render.say(f"daemon running, pid {_started()}")
    return OK


def _started() -> int | None:
    connection = Launcher().open(hello("status"))
    if connection is None:
        return None
    connection.close()
    return connection.answer.get("pid")


def _stopped() -> bool:
    return Launcher().stop(hello("stop"))


def status(options: argparse.Namespace) -> int:
    screen = render.Screen()
    while True:
        report = _report(_absolute(options.dir) if options.dir else None)
        projects = report["projects"]
        if options.wait and report["daemon"]["running"]:
            report = _wait(report, options)
            projects = report["projects"]
        if options.watch:
            screen.clear()
        if options.json:
            render.print_json(report)
        else:
            render.status(screen, report)
        if not options.watch:
            return _status_of(projects) if report["daemon"]["running"] else NO_DAEMON
        screen.stream.flush()
        time.sleep(1)


def _wait(report: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Wait for the work that `options` name. Returns the first report without such work."""
    with render.ProgressBar() as bar:
        while report["daemon"]["running"]:
            busy = [project for project in report["projects"] if _is_busy(project, options.wait)]
            if not busy:
                break
            bar.show(busy[0])
            time.sleep(POLL_S)
            report = _report(_absolute(options.dir) if options.dir else None)
    return report


def _is_busy(project: dict[str, Any], stage: str) -> bool:
    return project["state"] in STILL_AT_WORK and not (stage == "text" and project.get("text_ready"))


def _status_of(projects: list[dict[str, Any]]) -> int:
    states = [project["state"] for project in projects]
    if any(state in ILL for state in states):
        return DEGRADED
    return INDEXING if any(state in STILL_AT_WORK for state in states) else OK


def _report(root: str | None) -> dict[str, Any]:
    """The object of `status --json`; an empty one without a daemon."""
    answer = ask("status", start=False, root=root)
    if answer is not None:
        return answer["status"]
    unknown = dict.fromkeys(("pid", "version", "uptime_seconds", "rss_bytes", "text_backend", "files_backend"))
    return {"daemon": {"running": False, **unknown, "socket": protocol.places().socket}, "projects": []}


# Projects


def add_project(options: argparse.Namespace) -> int:
    began = time.monotonic()
    root = _root(options.dir)
    answer = ask("add", root=root) or {}
    project = answer["project"]
    if not options.no_wait:
        with render.ProgressBar() as bar:
            project = _indexed(project, bar)
    if options.json:
        render.print_json(project)
    elif options.no_wait:
        render.say(f"{project['root']}: {project['state']}")
    else:
        facts = ", ".join(f"{project[key]:,} {key}" for key in ("files", "symbols") if project.get(key) is not None)
        seconds = time.monotonic() - began
        render.say(f"{project['root']}: {project['state']} ({facts}) after {seconds:.1f} s")
        for problem in project.get("problems") or ():
            render.complain(f"ctxd: {problem}")
    return OK if options.no_wait else _status_of([project])


def _indexed(project: dict[str, Any], bar: render.ProgressBar) -> dict[str, Any]:
    while project["state"] in STILL_AT_WORK:
        bar.show(project)
        time.sleep(POLL_S)
        report = _report(project["root"])
        if not report["projects"]:
            raise DaemonError("The daemon ended while indexing.", "`ctxd logs` says why; `ctxd start` goes on.")
        project = report["projects"][0]
    return project


def remove(options: argparse.Namespace) -> int:
    answer = ask("remove", root=_root(options.dir)) or {}
    if options.json:
        render.print_json({"removed": answer["removed"]})
    else:
        render.say(f"{answer['removed']}: removed")
    return OK


def list_projects(options: argparse.Namespace) -> int:
    answer = ask("list", start=False)
    projects = _registered() if answer is None else answer["projects"]
    if options.json:
        render.print_json({"projects": projects})
        return OK
    for project in projects:
        render.say(project["root"] if project["state"] is None else f"{project['root']}  {project['state']}")
    return OK


def _registered() -> list[dict[str, Any]]:
    """The projects that the last daemon recorded; their state is unknown now."""
    try:
        with open(protocol.places().registry_file, encoding="utf-8") as file:
            roots = json.load(file)
    except (OSError, ValueError):
        roots = []
    return [{"root": str(root), "state": None} for root in roots]


# Questions


def search(options: argparse.Namespace) -> int:
    letters = (
        options.pattern if options.fixed_strings else re.sub(r"\\.", "", options.pattern)
    )  # \S does not count as a capital letter
    ignore_case = options.ignore_case or (options.smart_case and letters == letters.lower())
    query, highlight = options.pattern, _highlighted(options.pattern, fixed=options.fixed_strings)
    if options.word_regexp:
        # As in ripgrep: a word may begin and end with any character, but has no word character before or after it.
        inner = PUNCTUATION.sub(r"\\\g<0>", query) if options.fixed_strings else query
        query, highlight = rf"(?:^|\W)(?:{inner})(?:\W|$)", rf"\b(?:{highlight})\b"
    shows_lines = not (options.files_with_matches or options.count)
    arguments: dict[str, Any] = {
        "query": query,
        "is_regex": options.word_regexp or not options.fixed_strings,
        "case_sensitive": not ignore_case,
        "context_lines": options.context if shows_lines else 0,
        "file_extensions": options.ext or ["*"],
        "max_tokens": PAGE_TOKENS,
    }
    if options.paths:
        arguments["target_paths"] = [_absolute(path) for path in options.paths]
    if options.files_with_matches:
        show = render.matching_files
    elif options.count:
        show = render.match_counts
    else:
        colour = _compiled(highlight, ignore_case=ignore_case)
        show = lambda screen, found: render.matches(screen, found, colour)  # noqa: E731
    only = {"globs": options.glob, "languages": options.type, "hidden": options.hidden}
    return _query(options, "search_text_pattern", arguments, "matches", show, only, shows_lines=shows_lines)


def symbol(options: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {
        "symbol_name": options.name,
        "find_definitions": not options.references,
        "find_references": not options.definitions,
    }
    if options.paths:
        arguments["target_paths"] = [_absolute(path) for path in options.paths]
    return _query(options, "find_symbol_occurrences", arguments, "occurrences", render.occurrences)


def files(options: argparse.Namespace) -> int:
    def show(screen: render.Screen, found: Iterable[str]) -> int:
        count = 0
        for path in found:
            count += 1
            screen.print(screen.path(path))
        return count

    arguments = {"name_pattern": _glob(options), "max_tokens": PAGE_TOKENS}
    if options.path:
        arguments["path"] = _absolute(options.path)
    # As in the tool's globs: a name that begins with a dot asks for hidden files.
    is_named = any(part.startswith(".") and part.strip(".") for part in options.pattern.split("/"))
    only = {"extensions": options.extension, "hidden": options.hidden or is_named}
    return _query(options, "find_files_by_name", arguments, "files", show, only)


def why(options: argparse.Namespace) -> int:
    """Say why a file is or is not searched. The path is taken as written: a link is asked about, not its target."""
    answer = (ask("why", path=_absolute(options.path), **fields_of(options)) or {})["why"]
    if options.json:
        render.print_json(answer)
    else:
        screen = render.Screen()
        verdict = ("searched", render.GOOD) if answer["searched"] else ("not searched", render.ATTENTION)
        because = f": {answer['because']}" if answer["because"] else ""
        screen.print(answer["path"], "  ", render.Painted(*verdict), because)
        for note in filter(None, (answer["language"], *answer["notes"])):
            screen.print("  ", note)
    return OK if answer["searched"] else NOTHING


def outline(options: argparse.Namespace) -> int:
    answer = (ask("outline", path=_absolute(options.path), **fields_of(options)) or {})["outline"]
    if options.json:
        render.print_json(answer)
    else:
        render.outline(render.Screen(), answer)
        if answer["symbols"] != "parsed":
            render.complain(f"ctxd: {WITHOUT_SYMBOLS[answer['symbols']]}")
    return OK if answer["elements"] else NOTHING


def explore(options: argparse.Namespace) -> int:
    arguments = {"depth": options.depth, "limit": options.limit, "maxTokens": PAGE_TOKENS}
    if options.path:
        arguments["path"] = _absolute(options.path)
    with ClientSession(**fields_of(options)) as session:
        answer = answer_of(session.call("explore_codebase", arguments))
        if options.json:
            render.print_json(answer)
        elif "tree" in answer:
            render.overview(render.Screen(session.root), answer)
    return _verdict("explore_codebase", answer, (answer.get("summary") or {}).get("files", 0))


def ask_in_words(options: argparse.Namespace) -> int:
    arguments: dict[str, Any] = {
        "concept_description": options.question,
        "top_n_results": options.number,
        "language": options.language,
        "max_tokens": PAGE_TOKENS,
    }
    if options.paths:
        arguments["target_paths"] = [_absolute(path) for path in options.paths]
    tool = "search_semantic_concept"
    with ClientSession(**fields_of(options)) as session:
        answer = answer_of(session.call(tool, arguments))
        found = answer.get("results") or []
        if options.json:
            render.print_json(answer)
        else:
            render.answers(render.Screen(session.root), found)
    if answer.get("note"):
        render.complain(f"ctxd: {answer['note']}")
    return _verdict(tool, answer, len(found))


def _glob(options: argparse.Namespace) -> str:
    """The glob of a query. A bare word means any name that contains it."""
    text = options.pattern
    is_glob = options.glob or any(character in text for character in "*?[{")
    if text and is_glob:
        return _any_case(text) if options.ignore_case else text
    head, slash, word = PUNCTUATION_OF_GLOBS.sub(r"\\\g<0>", text).rpartition("/")
    glob = f"**/*{head}/*{word}*" if slash else f"*{word}*" if word else "*"
    ignore_case = options.ignore_case or (text == text.lower() and not options.case_sensitive)
    return _any_case(glob) if ignore_case else glob


def _any_case(glob: str) -> str:
    """The glob with each letter outside sets replaced by a set of its two cases."""
    parts = re.split(r"(\\.|\[[!^]?\]?[^\]]*\])", glob)
    parts[::2] = [re.sub(r"[^\W\d_]", _both_cases, part) for part in parts[::2]]
    return "".join(parts)


def _both_cases(letter: re.Match[str]) -> str:
    cases = {letter[0].lower(), letter[0].upper()}
    return f"[{''.join(sorted(cases))}]" if len(cases) > 1 and all(len(case) == 1 for case in cases) else letter[0]


def _query(
    options: argparse.Namespace,
    tool: str,
    arguments: dict[str, Any],
    items: str,
    show: Callable[[render.Screen, Any], int],
    only: dict[str, Any] | None = None,
    *,
    shows_lines: bool = True,
) -> int:
    """Ask a tool for all pages and print each as it comes; with --json, print one object for all pages.

    `only` narrows the session to some files, as the hello's field does.
    """
    last: dict[str, Any] = {}
    shortened = 0
    with ClientSession(**fields_of(options), only=only) as session:
        screen = render.Screen(session.root)

        def found() -> Iterator[Any]:
            nonlocal shortened
            for answer in session.pages(tool, arguments):
                last.update(answer)
                page = answer.get(items) or ()
                shortened += sum("line_truncated" in item for item in page)
                yield from page

        if options.json:
            everything = list(found())
            count = len(everything)
            last.pop("next_cursor", None)
            render.print_json({**last, items: everything})
        else:
            count = show(screen, found())
    if shortened and shows_lines and not options.json:
        render.complain(f"ctxd: long lines shown shortened, around their match: {shortened:,}")
    return _verdict(tool, last, count)


def _verdict(tool: str, answer: dict[str, Any], count: int) -> int:
    """Exit status of a query, with a note on stderr if the answer is not complete."""
    status = answer.get("status")
    if status in NOT_READY:
        progress = answer.get("progress") or {}
        render.complain(
            f"ctxd: {NOT_READY[status]} ({progress.get('done', 0):,} of {progress.get('total', 0):,} files); "
            "wait with: ctxd status --wait ready",
        )
        return ERROR
    if status == "error" or (not count and "error" in answer):
        render.complain(f"ctxd: {error_of(answer)}")
        return ERROR
    if answer.get("timed_out"):
        render.complain("ctxd: the time ran out; the answer is not complete")
    if answer.get("stale"):
        pending, reason = (answer["stale"].get(key) for key in ("pending_files", "reason"))
        render.complain(f"ctxd: the answer may miss the latest changes: {reason} ({pending:,} pending)")
    if not count and (answer.get("coverage") or {}).get("files_searched") == 0:
        render.complain(f"ctxd: no file was searched{NONE_SEARCHED.get(tool, '')}")
    return OK if count else NOTHING


def _highlighted(pattern: str, *, fixed: bool) -> str:
    return re.escape(pattern) if fixed else pattern


def _compiled(highlight: str, *, ignore_case: bool) -> re.Pattern[str] | None:
    """The pattern to colour in a line. Python's dialect is close enough; if it cannot compile it, nothing is coloured."""
    try:
        return re.compile(highlight, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError):
        return None


def call(options: argparse.Namespace) -> int:
    text = sys.stdin.read() if options.args == "-" else options.args
    try:
        arguments = json.loads(text)
    except ValueError as error:
        render.complain(f"ctxd call: --args is not JSON: {error}")
        return USAGE
    if not isinstance(arguments, dict):
        render.complain("ctxd call: --args must be a JSON object")
        return USAGE
    with ClientSession(**fields_of(options)) as session:
        result = session.call(options.tool, arguments)
    render.print_json(answer_of(result))
    return USAGE if result.get("isError") else OK


def usage_of_mcp(options: argparse.Namespace) -> int:
    """Run the relay for flags that only argparse understands."""
    toolsets = [name.strip() for name in options.toolsets.split(",")] if options.toolsets else None
    return relay.main({**project_of(options.project), "toolsets": toolsets, "read_only": options.read_only})


# Edits


def edits(options: argparse.Namespace) -> int:
    found = _edits(options.path)
    if options.json:
        render.print_json({"edits": found})
    else:
        render.edits(found)
    return OK


def undo(options: argparse.Namespace) -> int:
    """Take back an edit. We first ask for its number: when a daemon with older code is replaced, both get the question."""
    last = next((one for one in _edits(options.path) if one["state"] == "done"), None)
    if last is None:
        where = options.path or _root(None)
        raise DaemonError(f"There is no edit of {where} to take back.", "`ctxd edits` lists those that ctxd made.")
    ask("undo", edit=last["id"])
    if options.json:
        render.print_json({"undone": last})
    else:
        screen = render.Screen(last["root"])
        for file in last["files"]:
            if not file["backup"]:
                screen.print(f"{screen.path(file['path'])}: as it was before edit {last['id']} ({last['tool']})")
    return OK


def _edits(path: str | None) -> list[dict[str, Any]]:
    """The edits of a file or folder, by default of this folder's project; newest first."""
    return (ask("edits", path=_absolute(path) if path else _root(None)) or {})["edits"]


# What there is


def languages(options: argparse.Namespace) -> int:
    known = ask_without_starting("languages")["languages"]
    if options.json:
        render.print_json({"languages": known})
        return OK
    rows = [("language", "symbols", "extensions")]
    rows += [(row["name"], "yes" if row["symbols"] else "no", " ".join(row["extensions"])) for row in known]
    render.table(render.Screen(), rows)
    return OK


def config(options: argparse.Namespace) -> int:
    answer = ask_without_starting("config", **fields_of(options))
    settings, problems = answer["settings"], answer.get("problems") or []
    if options.json:
        render.print_json({"settings": settings, "problems": problems})
        return OK
    rows = [("setting", "value", "from", "default", "meaning")]
    rows += [tuple(str(row[key]) for key in ("key", "value", "source", "default", "meaning")) for row in settings]
    screen = render.Screen()
    render.table(screen, rows)
    for problem in problems:
        screen.print(render.Painted("problem", render.ATTENTION), f": {problem}")
    return OK


def logs(options: argparse.Namespace) -> int:
    path = protocol.places().log_file
    try:
        log = open(path, "rb")  # noqa: SIM115 - reopened when the log is rotated
    except FileNotFoundError:
        raise DaemonError(f"There is no log at {path}: no daemon has run yet.", "`ctxd start` starts one.") from None
    decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
    render.print_log(decoder.decode(_tail(log, max(0, options.lines))))
    while options.follow:
        while data := log.read(LOG_BLOCK_BYTES):
            render.print_log(decoder.decode(data))
        time.sleep(POLL_S)
        log = _reopened(log, path)
    log.close()
    return OK


def _tail(log: Any, lines: int) -> bytes:
    """The last `lines` lines. Leaves the file position at the end."""
    position = log.seek(0, os.SEEK_END)
    tail = b""
    while position and tail.count(b"\n") <= lines:
        size = min(LOG_BLOCK_BYTES, position)
        position = log.seek(position - size)
        tail = log.read(size) + tail
    log.seek(0, os.SEEK_END)
    return b"".join(tail.splitlines(keepends=True)[-lines:]) if lines else b""


def _reopened(log: Any, path: str) -> Any:
    """The log that now has this name: another file after a rotation, read from the start after a truncation."""
    try:
        now = os.stat(path)
    except FileNotFoundError:
        return log
    if now.st_ino != os.fstat(log.fileno()).st_ino:
        log.close()
        return open(path, "rb")
    if now.st_size < log.tell():
        log.seek(0)
    return log


def version(options: argparse.Namespace) -> int:
    connection = Launcher().open(hello("status"), start=False)
    daemon = None
    if connection is not None:
        connection.close()
        daemon = {key: connection.answer.get(key) for key in ("version", "build", "pid")}
    ours = {"version": protocol.VERSION, "build": protocol.build()}
    if options.json:
        render.print_json({**ours, "daemon": daemon})
        return OK
    render.say(f"ctxd {ours['version']}, build {ours['build']}, Python {sys.version.split()[0]}")
    if daemon is not None:
        same = "the same build" if daemon["build"] == ours["build"] else f"another build: {daemon['build']}"
        render.say(f"daemon {daemon['version']}, {same}, pid {daemon['pid']}")
    return OK


# Folders and output


def fields_of(options: argparse.Namespace) -> dict[str, Any]:
    return _project(options.project)


def _project(named: str | None) -> dict[str, str | None]:
    if not named and not os.environ.get("CTXD_PROJECT"):
        try:
            os.getcwd()
        except FileNotFoundError:
            raise DaemonError("The working folder does not exist any more.", "Go to another one.") from None
    return project_of(named)


def _root(folder: str | None) -> str:
    """The named folder, unchanged; without a name, the project of the working folder."""
    root = _project(folder)
    if root["root"] is None:
        raise DaemonError(f"{root['refused']} is not a project.", "Name a folder below it: ctxd add DIR.")
    return root["root"]


def _absolute(path: str) -> str:
    return os.path.normpath(os.path.join(working_folder(), os.path.expanduser(path)))
