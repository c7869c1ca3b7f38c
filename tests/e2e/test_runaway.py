"""Patterns that run away, through the real daemon: every call ends within its limit, and says how."""

import time

import pytest
from runaway import BACKTRACKING, LINEAR, REFUSED, files

from projects import write

LIMIT_SECONDS = 10


@pytest.fixture(scope="module")
def host(site):
    write(site.folder, files())
    assert site.run("add").returncode == 0
    with site.host(folder=site.folder) as one:
        yield one


def ask(host, pattern):
    """The answer, and the seconds it took; 3 s where it has a deadline of its own."""
    began = time.monotonic()
    answer = host.call("search_in_files", query=pattern, use_regex=True, timeout=3, max_tokens=2_000)
    return answer, time.monotonic() - began


@pytest.mark.parametrize("name", ["[a-z]{1000}{1000}", "1 MB of look-aheads", "deep"])
def test_what_is_too_large_is_an_error(host, name):
    answer, seconds = ask(host, REFUSED[name])
    assert host.is_error
    assert "pattern" in answer["error"]
    assert seconds < LIMIT_SECONDS


@pytest.mark.parametrize("name", ["(a+)+$", "(.*)*x", r"\w{500}"])
def test_what_takes_linear_time_is_answered(host, name):
    answer, seconds = ask(host, LINEAR[name])
    assert not host.is_error
    assert not answer["timed_out"]
    assert seconds < LIMIT_SECONDS


@pytest.mark.parametrize("name", ["(a+)+$, ahead", r"(a*)*\1c", "90 KB of stars, ahead"])
def test_what_backtracks_is_answered_in_part_and_the_daemon_lives_on(host, name):
    answer, seconds = ask(host, BACKTRACKING[name])
    assert host.is_error or answer["timed_out"]
    assert seconds < LIMIT_SECONDS
    assert host.call("search_in_files", query="ordinary line")["total_matches"] == 1
