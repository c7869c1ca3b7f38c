"""No verb sends a control character that a project put into a name, a heading, a line or its own folder's name."""

import contextlib
import io
import re
import sys

import pytest

from ctxd.mcp_frontend import cli
from processes import Site
from projects import write

HOSTILE = (
    "\x1b]0;x\x07\r\x9b31m\u202e"  # title, bell, back to the start of the line, colour by a C1 byte, right to left
)
SHOWN = r"\x1b]0;x\x07\x0d\x9b31m\u202e"
FORBIDDEN = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]")
OURS = re.compile(r"\x1b\[[0-9;]*m|\r\x1b\[K")  # colours and the progress bar
FILES = {
    f"n{HOSTILE}.py": f"def named():\n    return 'needle {HOSTILE}'\n",
    f"t{HOSTILE}.md": f"# Head {HOSTILE} ing\n\nneedle\n\n## Needle\n",
    f"d{HOSTILE}/k.json": '{"key\\u001b[31m\\u202e": 1, "needle": 2}\n',
    "broken\n\x1b[31m.py": "import named\n\n\nnamed.needle()\n",
}


class Stream(io.TextIOWrapper):
    """A standard stream that keeps what it gets."""

    def __init__(self, *, is_terminal):
        super().__init__(io.BytesIO(), encoding="utf-8", newline="\n")
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(errors="surrogateescape")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    one = Site(tmp_path_factory.mktemp("site"))
    one.folder = one.folder.parent / f"p{HOSTILE}"
    one.folder.mkdir()
    write(one.folder, FILES)
    assert one.run("add").returncode == 0
    yield one
    one.close()


@pytest.fixture
def written(site, monkeypatch):
    """What a verb writes: the command in this process, which is sooner than a process for each."""
    monkeypatch.chdir(site.folder)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("HOME", "CTXD_HOME"):
        monkeypatch.setenv(name, site.environment[name])

    def run(*arguments, is_terminal):
        stream = Stream(is_terminal=is_terminal)
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["ctxd", *arguments])
            patch.setattr(sys, "stdout", stream)
            patch.setattr(sys, "stderr", stream)
            with contextlib.suppress(SystemExit):  # argparse's
                cli.main()
        return OURS.sub("", stream.text()) if is_terminal else stream.text()

    return run


EDIT = r'{"filePath": "broken\n\u001b[31m.py", "searchText": "needle()", "replaceText": "needle( )"}'
NAME = f"n{HOSTILE}.py"
VERBS = [
    ("add",),
    ("status",),
    ("status", "."),
    ("status", "--json"),
    ("list",),
    ("list", "--json"),
    ("search", "-l", "needle"),
    ("search", "-c", "needle"),
    ("search", "--json", "needle"),
    ("search", "(needle", f"x{HOSTILE}"),
    ("search", "-F", "needle", f"x{HOSTILE}"),
    ("symbol", "named"),
    ("symbol", f"Head {HOSTILE} ing"),
    ("symbol", f"none{HOSTILE}"),
    ("symbol", "named", "--json"),
    ("files",),
    ("files", "--json"),
    ("files", f"[{HOSTILE}"),
    ("why", NAME),
    ("why", f"gone{HOSTILE}"),
    ("outline", NAME),
    ("outline", f"t{HOSTILE}.md"),
    ("outline", f"d{HOSTILE}/k.json"),
    ("outline", f"gone{HOSTILE}"),
    ("explore",),
    ("explore", "--json"),
    ("ask", "-n", "20", "named"),
    ("ask", "needle", f"gone{HOSTILE}"),
    ("call", "find_files_by_name", "--args", '{"name_pattern": "*"}'),
    ("call", f"tool{HOSTILE}"),
    ("call", "TextRead", "--args", '{"filePath": "gone\\u001b[31m\\u009b", "target": {"lines": {"start": 1}}}'),
    ("config",),
    ("model", "status"),
    ("model", "use", f"model{HOSTILE}"),
    ("languages",),
    ("edits",),
    ("undo",),
    ("version",),
    (f"verb{HOSTILE}",),
    ("logs", "-n", "1000"),
    ("remove", f"gone{HOSTILE}"),
    ("remove",),
]


@pytest.mark.parametrize("is_terminal", [False, True])
def test_no_verb_sends_what_a_project_put_into_its_names(site, written, is_terminal):
    written("add", is_terminal=is_terminal)  # the other run has removed it
    written("call", "replace_in_file", "--args", EDIT, is_terminal=is_terminal)
    everything = ""
    for arguments in VERBS:
        text = written(*arguments, is_terminal=is_terminal)
        found = FORBIDDEN.search(text)
        assert not found, (arguments, text[max(0, found.start() - 40) : found.end() + 40])
        everything += text
    for name in (f"p{SHOWN}", f"n{SHOWN}.py", f"t{SHOWN}.md", f"d{SHOWN}/", f"Head {SHOWN}", r"broken\x0a\x1b[31m.py"):
        assert name in everything, name


def test_lines_that_search_finds_reach_a_pipe_as_they_are_and_a_terminal_made_visible(site, written):
    written("add", is_terminal=False)
    assert f"n{SHOWN}.py:2:    return 'needle {HOSTILE}'\n" in written("search", "needle", is_terminal=False)
    shown = written("search", "needle", is_terminal=True)
    assert f"2:    return 'needle {SHOWN}'\n" in shown
    assert not FORBIDDEN.search(shown)
