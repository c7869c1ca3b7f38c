"""The `ctxd` command: reads the command line and hands over to the verb.

Invariants: `ctxd mcp` imports only the relay. A usage error never exits with a status that has another meaning (argparse's own
is 2, which `status` uses for "indexing").
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # importing `typing` costs the relay 2 ms
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any, NoReturn

USAGE, QUERY_ERROR = 1, 2
INTERRUPTED, PIPE_CLOSED = 130, 141  # 128 and the signal, as shells count
HELP_COLUMN = 28


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] == ["mcp"]:
        from ctxd.mcp_frontend import relay

        fields = relay.options(arguments[1:])
        if fields is not None:
            return relay.main(fields)
    return _run(arguments)


def _run(arguments: list[str]) -> int:
    import os

    from ctxd.mcp_frontend import render
    from ctxd.mcp_frontend.client import CallError
    from ctxd.mcp_frontend.launch import DaemonError

    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # our parent process closed it
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the end
        getattr(sys, name).reconfigure(errors="surrogateescape")  # file names are any bytes
    options, unknown = parser().parse_known_args(arguments)
    if unknown:
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        status = options.verb(options)
        sys.stdout.flush()
        return status
    except (DaemonError, CallError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else the interpreter complains at exit
            return PIPE_CLOSED
        render.complain(f"ctxd: {error}")
        return options.error_status
    except KeyboardInterrupt:
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    import argparse

    from ctxd.daemon import protocol
    from ctxd.mcp_frontend import model_verbs, render, verbs

    def _layout(prog: str) -> argparse.HelpFormatter:
        return argparse.RawDescriptionHelpFormatter(prog, max_help_position=HELP_COLUMN)

    class Parser(argparse.ArgumentParser):
        """argparse's own status for a usage error is 2, which for `status` means "indexing"."""

        def __init__(self, *, example: str = "", error_status: int = USAGE, **more: Any) -> None:
            epilog = f"example:\n  {example}" if example else None
            super().__init__(epilog=epilog, formatter_class=_layout, allow_abbrev=False, **more)
            self.error_status = error_status
            self.set_defaults(error_status=error_status)

        def error(self, message: str) -> NoReturn:
            self.print_usage(sys.stderr)
            render.complain(f"{self.prog}: {message}; see `{self.prog} --help`")
            self.exit(self.error_status)

    top = Parser(prog="ctxd", description="Exact text search, symbols and file names of your projects, always fresh.")
    top.add_argument("-V", "--version", action="version", version=f"ctxd {protocol.VERSION}")
    commands = top.add_subparsers(metavar="VERB", required=True, parser_class=Parser)

    def add(
        name: str, function: Callable[[argparse.Namespace], int], summary: str, example: str, **more: Any
    ) -> Parser:
        description = more.pop("description", summary[0].upper() + summary[1:] + ".")
        verb: Parser = commands.add_parser(name, help=summary, description=description, example=example, **more)
        verb.set_defaults(verb=function, parser=verb)
        return verb

    def json_flag(verb: Parser) -> None:
        verb.add_argument("--json", action="store_true", help="print JSON")

    def project_flag(verb: Parser) -> None:
        verb.add_argument(
            "--project", metavar="DIR", help="default: CTXD_PROJECT, else the git top level, else this folder"
        )

    def glob_flag(verb: Parser) -> None:
        verb.add_argument(
            "-g",
            "--glob",
            action="append",
            metavar="GLOB",
            help="only files that match; !GLOB: only those that do not; the last match decides; repeatable",
        )

    def hidden_flag(verb: Parser, letter: str) -> None:
        verb.add_argument(letter, "--hidden", action="store_true", help="include hidden files and folders")

    verb = add("start", verbs.start, "start the daemon, unless it is running", "ctxd start")
    verb.add_argument("--foreground", action="store_true", help="be the daemon: for services and containers")
    add("stop", verbs.stop, "stop the daemon", "ctxd stop")
    add("restart", verbs.restart, "stop the daemon and start it again", "ctxd restart")

    verb = add(
        "status", verbs.status, "health of the daemon and its projects", "ctxd status --wait ready", description=STATUS
    )
    verb.add_argument("dir", nargs="?", metavar="DIR", help="only the project of this folder")
    verb.add_argument("--wait", choices=("ready", "text"), help="return when all is indexed, or all text is searchable")
    verb.add_argument("--watch", action="store_true", help="keep reporting until interrupted")
    json_flag(verb)
    verb = add("add", verbs.add_project, "watch and index a project", "ctxd add ~/src/linux")
    verb.add_argument("dir", nargs="?", metavar="DIR", help="default: the project of this folder")
    verb.add_argument("--no-wait", action="store_true", help="return at once; indexing goes on")
    json_flag(verb)
    verb = add("remove", verbs.remove, "forget a project and its index", "ctxd remove ~/src/linux")
    verb.add_argument("dir", nargs="?", metavar="DIR", help="default: the project of this folder")
    json_flag(verb)
    json_flag(add("list", verbs.list_projects, "the projects and their state", "ctxd list --json"))

    verb = add(
        "search",
        verbs.search,
        "search text",
        "ctxd search 'def \\w+_lines' src",
        description=SEARCH,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("pattern", metavar="PATTERN")
    verb.add_argument("paths", nargs="*", default=[], metavar="PATH", help="files and folders; default: the project")
    verb.add_argument("-F", "--fixed-strings", action="store_true", help="PATTERN is plain text")
    case = verb.add_mutually_exclusive_group()
    case.add_argument("-i", "--ignore-case", action="store_true")
    case.add_argument("-S", "--smart-case", action="store_true", help="ignore case where PATTERN has no capital letter")
    verb.add_argument("-w", "--word-regexp", action="store_true", help="only matches that are whole words")
    verb.add_argument("-C", "--context", type=int, default=0, metavar="N", help="lines around a match, at most 10")
    glob_flag(verb)
    verb.add_argument(
        "-t",
        "--type",
        action="append",
        metavar="LANGUAGE",
        help="only files in this language, see `ctxd languages`; repeatable",
    )
    verb.add_argument("--ext", action="append", metavar="EXT", help="only files that end in .EXT; repeatable")
    hidden_flag(verb, "-.")
    form = verb.add_mutually_exclusive_group()
    form.add_argument("-l", "--files-with-matches", action="store_true", help="print the files only")
    form.add_argument("-c", "--count", action="store_true", help="print how many lines match in each file")
    form.add_argument("--json", action="store_true", help="print JSON")
    project_flag(verb)
    verb = add(
        "symbol", verbs.symbol, "where a name is defined and used", "ctxd symbol Client.get", error_status=QUERY_ERROR
    )
    verb.add_argument("name", metavar="NAME", help="bare (get) or qualified (Client.get, httpx.Client.get)")
    verb.add_argument("paths", nargs="*", default=[], metavar="PATH", help="only in these files and folders")
    only = verb.add_mutually_exclusive_group()
    only.add_argument("-d", "--definitions", action="store_true", help="only definitions")
    only.add_argument("-r", "--references", action="store_true", help="only references and imports")
    project_flag(verb)
    json_flag(verb)
    verb = add(
        "ask",
        verbs.ask_in_words,
        "find code by what it does, in plain words",
        "ctxd ask 'where are passwords hashed' src",
        description=ASK,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("question", metavar="QUESTION", help="what the code does, or its name")
    verb.add_argument("paths", nargs="*", default=[], metavar="PATH", help="only in these files and folders")
    verb.add_argument(
        "-n", "--number", type=int, default=5, metavar="N", help="how many results (default 5, at most 20)"
    )
    verb.add_argument("--language", metavar="LANGUAGE", help="only code in this language, such as python")
    project_flag(verb)
    json_flag(verb)
    verb = add(
        "files",
        verbs.files,
        "find files by name",
        "ctxd files settings -e toml -e yaml",
        description=FILES,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("pattern", nargs="?", default="", metavar="PATTERN", help="default: every file")
    verb.add_argument("path", nargs="?", metavar="DIR", help="only below this folder, which may be hidden")
    verb.add_argument("-g", "--glob", action="store_true", help="PATTERN is a glob, also without * ? [ {")
    verb.add_argument(
        "-e", "--extension", action="append", metavar="EXT", help="only files that end in .EXT; repeatable"
    )
    case = verb.add_mutually_exclusive_group()
    case.add_argument("-i", "--ignore-case", action="store_true")
    case.add_argument("-s", "--case-sensitive", action="store_true")
    verb.add_argument(
        "-t", "--type", choices=("f", "file"), help="files, the only type that is listed; accepted as in fd"
    )
    hidden_flag(verb, "-H")
    project_flag(verb)
    json_flag(verb)

    verb = add(
        "why",
        verbs.why,
        "why a file is or is not searched",
        "ctxd why build/main.o",
        description=WHY,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("path", metavar="PATH", help="a file or folder")
    project_flag(verb)
    json_flag(verb)

    verb = add(
        "outline",
        verbs.outline,
        "what a file defines",
        "ctxd outline src/app.py",
        description=OUTLINE,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("path", metavar="FILE")
    project_flag(verb)
    json_flag(verb)
    verb = add(
        "explore",
        verbs.explore,
        "what a project or folder holds, and the definitions its code uses most",
        "ctxd explore src --depth 3",
        description=EXPLORE,
        error_status=QUERY_ERROR,
    )
    verb.add_argument("path", nargs="?", default="", metavar="DIR", help="default: the project")
    verb.add_argument("--depth", type=int, default=2, metavar="N", help="levels of the tree, at most 8 (default 2)")
    verb.add_argument("--limit", type=int, default=200, metavar="N", help="entries of the tree (default 200)")
    project_flag(verb)
    json_flag(verb)

    verb = add("undo", verbs.undo, "take back the last edit", "ctxd undo README.md", description=UNDO)
    verb.add_argument(
        "path", nargs="?", metavar="PATH", help="the last edit of this file or folder; default: of the project"
    )
    json_flag(verb)
    verb = add("edits", verbs.edits, "the edits made through ctxd, newest first", "ctxd edits src --json")
    verb.add_argument("path", nargs="?", metavar="PATH", help="only edits of this file or folder; default: the project")
    json_flag(verb)

    verb = add("call", verbs.call, "call any tool as an MCP client would", CALL_EXAMPLE)
    verb.add_argument("tool", metavar="TOOL")
    verb.add_argument(
        "--args", default="{}", metavar="JSON", help="the arguments as a JSON object; - reads it from stdin"
    )
    project_flag(verb)
    verb = add(
        "mcp", verbs.usage_of_mcp, "serve an MCP host on stdin and stdout", "ctxd mcp --project ~/src/linux --read-only"
    )
    project_flag(verb)
    verb.add_argument("--toolsets", metavar="NAMES", help="serve only these, for example search,files (CTXD_TOOLSETS)")
    verb.add_argument("--read-only", action="store_true", help="serve no tool that writes")

    verb = add(
        "model",
        model_verbs.status,
        "the embedding models, and which one is used",
        "ctxd model status",
        description=MODEL,
    )
    actions = verb.add_subparsers(metavar="ACTION", required=True, parser_class=Parser)

    def action(name: str, function: Callable[[argparse.Namespace], int], summary: str, example: str) -> Parser:
        one: Parser = actions.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + ".", example=example
        )
        one.set_defaults(verb=function, parser=one)
        return one

    json_flag(action("list", model_verbs.list_models, "the models, and which are on this machine", "ctxd model list"))
    one = action("use", model_verbs.use, "set the model, fetching it first", "ctxd model use BAAI/bge-small-en-v1.5")
    one.add_argument("name", metavar="NAME", help="as listed, path:FOLDER or openai:NAME")
    project_flag(one)
    one = action(
        "pull", model_verbs.pull, "fetch a model from huggingface.co", "ctxd model pull BAAI/bge-small-en-v1.5"
    )
    one.add_argument("name", metavar="NAME", help="as listed")
    one = action(
        "status", model_verbs.status, "the wanted model, the one that answers, and the progress", "ctxd model status"
    )
    project_flag(one)
    json_flag(one)

    json_flag(add("languages", verbs.languages, "the known languages", "ctxd languages"))
    verb = add("config", verbs.config, "the settings in force, and where each comes from", "ctxd config --json")
    project_flag(verb)
    json_flag(verb)
    verb = add("logs", verbs.logs, "the daemon's log", "ctxd logs -f")
    verb.add_argument("-f", "--follow", action="store_true", help="keep printing as the log grows")
    verb.add_argument(
        "-n", "--lines", type=int, default=50, metavar="N", help="how many of the last lines (default 50)"
    )
    json_flag(add("version", verbs.version, "the version of ctxd and of the running daemon", "ctxd version"))
    return top


STATUS = """\
Health of the daemon and its projects. Starts nothing.

Exit status: 0 all projects are ready; 2 one is still being indexed; 3 one is degraded or missing; 4 no daemon runs;
1 wrong usage or an unknown DIR."""

SEARCH = """\
Search the text files of the project that git would not ignore. PATTERN is a regular expression as in ripgrep, with
look-around and back-references. Case matters.

As in ripgrep, hidden files are searched only with --hidden or if a PATH names them. A line of more than 500 characters is
cut around its match. Put -- before a PATTERN that starts with a dash.

Control characters are shown as \\x1b and the like: in names always, in lines on a terminal. A pipe gets lines as they are.

Exit status: 0 found; 1 nothing found; 2 error."""

FILES = """\
Find files by name. PATTERN is a part of a name, or of a path if it holds a /. Case matters if it has a capital letter.
With * ? [ or { PATTERN is a glob for the whole name, or for the path if it holds a /. Then case always matters.

Exit status: 0 found; 1 nothing found; 2 error."""

WHY = """\
Show why a file is or is not searched: the rule that leaves it out, with its file and line, or another reason (it holds
secrets, is binary, a symbolic link, hidden). Show its language too, and whether its symbols are indexed.

Exit status: 0 it is searched; 1 it is not; 2 error."""

OUTLINE = """\
What a file defines: lines, kind, name and parameters of each function, class, method and variable, nested as they are in the file.

Exit status: 0 it defines something; 1 nothing; 2 error."""

EXPLORE = """\
What a project or folder holds: its size, languages, the tree with counts, and the definitions that most files of the project
refer to.

Exit status: 0 it holds files; 1 none; 2 error."""

UNDO = """\
Take back the last edit that a tool of ctxd made: all its files get their old bytes back, or none does. A second
`ctxd undo` takes back the edit before that. If one of the files was written to since the edit, nothing is changed.

Exit status: 0 taken back; 1 there is none, or it cannot be."""

ASK = """\
Find code by what it does, described in plain words, or by its name: the best piece of each file, most relevant first, with a score
from 0 to 1.

Exit status: 0 found; 1 nothing found; 2 error."""

MODEL = """\
The embedding models, and which one is used. The one that ships with ctxd always embeds. Another one works in the background,
and answers once it has embedded the whole project."""

CALL_EXAMPLE = """ctxd call find_files_by_name --args '{"name_pattern": "*.py"}'"""


if __name__ == "__main__":
    sys.exit(main())
