"""Edits through a real daemon: found at once, taken back from the command line, and whole whatever ends the daemon."""

import hashlib
import json
import os
import signal
import threading
import time

import pytest

FILES = [f"src/{n}.txt" for n in range(8)]


@pytest.fixture(scope="module")
def project(site):
    (site.folder / "src").mkdir()
    for name in FILES:
        (site.folder / name).write_bytes(b"round 0\r\nsame\r\n")
    (site.folder / "README.md").write_bytes(b"# Shop\r\n\r\nold text\r\n")
    assert site.run("add").returncode == 0
    return site


def test_an_edit_is_found_at_once_listed_and_taken_back(project):
    before = (project.folder / "README.md").read_bytes()
    with project.host() as host:
        read = host.call("TextRead", filePath="README.md", target={"heading": {"text": "Shop"}})
        answer = host.call(
            "TextPatch",
            filePath="README.md",
            operation="insert",
            target={"heading": "# Shop"},
            content="\nneedle one\nneedle two",
            expectedHash=read["hash"],
        )
        assert (answer["status"], answer["linesDelta"]) == ("success", 3)
        found = host.call("search_text_pattern", query="needle", context_lines=0)
        assert [match["line_number"] for match in found["matches"]] == [3, 4]
        host.call("replace_in_file", filePath="README.md", searchText="OLD", replaceText="new")
        assert (project.folder / "README.md").read_bytes() == before.replace(
            b"# Shop\r\n", b"# Shop\r\n\r\nneedle one\r\nneedle two\r\n"
        ).replace(b"old", b"new")
        listed = json.loads(project.run("edits", "--json").stdout)["edits"]
        assert [(one["tool"], one["state"]) for one in listed] == [("replace_in_file", "done"), ("TextPatch", "done")]
        assert project.run("undo", "src").returncode == 1
        assert project.run("undo", "README.md").stdout == "README.md: as it was before edit 2 (replace_in_file)\n"
        assert project.run("undo").stdout == "README.md: as it was before edit 1 (TextPatch)\n"
        assert (project.folder / "README.md").read_bytes() == before
        assert "no edit" in project.run("undo").stderr
        assert host.call("search_text_pattern", query="needle")["match_count"] == 0
    assert project.run("edits").stdout.count("taken back") == 2


def test_a_session_that_may_only_read_has_no_tool_that_writes(project):
    with project.host("--read-only") as host:
        names = {tool["name"] for tool in host.request("tools/list", {})["tools"]}
        assert {"TextRead", "search_in_files"} <= names
        assert not names & {"TextPatch", "replace_in_file"}
        assert "error" in host.request("tools/call", {"name": "replace_in_file", "arguments": {}})
    with project.host("--toolsets", "edit") as host:
        tools = {tool["name"]: tool["annotations"] for tool in host.request("tools/list", {})["tools"]}
        assert list(tools) == ["replace_in_file", "TextPatch"]
        for hints in tools.values():
            assert (hints["readOnlyHint"], hints["destructiveHint"], hints["idempotentHint"]) == (False, True, False)


def test_of_two_clients_with_one_hash_exactly_one_wins(project):
    path = project.folder / "README.md"
    before = path.read_bytes()
    with project.host() as one, project.host() as two:
        for _ in range(10):
            hash_ = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
            answers = {}

            def edit(host, name, expected=hash_, told=answers):
                told[name] = host.call(
                    "TextPatch",
                    filePath="README.md",
                    operation="replace",
                    target={"lines": {"start": 3, "end": 3}},
                    content=f"by {name}",
                    expectedHash=expected,
                )["status"]

            threads = [threading.Thread(target=edit, args=pair) for pair in ((one, "one"), (two, "two"))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(answers.values()) == ["error", "success"]
            (winner,) = (name for name, status in answers.items() if status == "success")
            assert path.read_bytes() == b"# Shop\r\n\r\nby %s\r\n" % winner.encode()
            path.write_bytes(before)


def test_a_daemon_killed_while_it_edits_leaves_all_or_nothing(project):
    """The relay tells that the state is unknown; the files tell one state."""
    told = set()
    journal = project.home / "edits"
    for number in range(1, 21):  # on a busy machine an edit may be over before it is seen to have begun
        held = (project.folder / FILES[0]).read_bytes()
        edits = [
            {
                "filePath": name,
                "operation": "replace",
                "target": {"lines": {"start": 1, "end": 1}},
                "content": f"round {number}",
            }
            for name in FILES
        ]
        with project.host() as host:
            host.call("TextRead", filePath=FILES[0], target={"lines": {"start": 1, "end": 1}})
            pid = project.daemon_pid()
            seen = set(os.listdir(journal))
            host.last_id += 1
            params = {"name": "TextPatch", "arguments": {"edits": edits}}
            host.send({"jsonrpc": "2.0", "id": host.last_id, "method": "tools/call", "params": params})
            end = time.monotonic() + 30
            while not set(os.listdir(journal)) - seen:  # without a pause: an edit takes a few milliseconds
                assert time.monotonic() < end
            os.kill(pid, signal.SIGKILL)
            result = host.answer(host.last_id)
            told.add("State unknown" in result["content"][0]["text"])
            new = b"round %d\r\nsame\r\n" % number
            host.call("find_files_by_name", name_pattern="*")  # the next daemon has settled it
            states = {(project.folder / name).read_bytes() for name in FILES}
            assert states in ({held}, {new})
            assert sorted(os.listdir(project.folder / "src")) == [f"{n}.txt" for n in range(8)]
            assert not [name for name in os.listdir(journal) if name.endswith((".open", ".new"))]
        if True in told and number > 2:
            break
    assert True in told
