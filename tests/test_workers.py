"""The pool of parsing processes, with real files and real processes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from ctxd.daemon.indexing.workers import ParseJob, PoolClosedError, WorkerPool
from ctxd.indexer.decode import content_hash
from ctxd.indexer.symbols.outline import ROLES, reference_positions, unpack_definitions

WAIT_SECONDS = 60


@contextmanager
def pool_of(count=1, **settings):
    pool = WorkerPool(count, **settings)
    try:
        yield pool
    finally:
        pool.close()


def job_for(folder, name: str, data: bytes, language: str) -> ParseJob:
    path = os.fsencode(folder / name)
    with open(path, "wb") as file:
        file.write(data)
    return ParseJob(path, language, content_hash(data))


def wait_until(condition):
    until = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_file_is_parsed(tmp_path):
    with pool_of() as pool:
        result = pool.submit(job_for(tmp_path, "a.py", b"def f():\n    g()\n", "python")).result(WAIT_SECONDS)
        assert (result.outcome, result.language) == ("parsed", "python")
        assert [d.name for d in unpack_definitions(result.packed.definitions)] == ["f"]
        assert reference_positions(result.packed.references, "g") == [(2, 5, ROLES.index("call"))]
        stats = pool.stats()
        assert (stats.jobs_done, stats.restarts, len(stats.pids)) == (1, 0, 1)
        assert stats.peak_rss_bytes > 1 << 20


def test_other_encodings_are_parsed_as_canonical_text(tmp_path):
    with pool_of() as pool:
        data = "x = 1\r\né = y\r\n".encode("utf-16")
        result = pool.submit(job_for(tmp_path, "a.py", data, "python")).result(WAIT_SECONDS)
        assert [(d.name, d.line) for d in unpack_definitions(result.packed.definitions)] == [("x", 1), ("é", 2)]


def test_a_cpp_header_is_parsed_as_cpp(tmp_path):
    with pool_of() as pool:
        result = pool.submit(
            job_for(tmp_path, "a.h", b"namespace n { class A { int f() { return 1; } }; }\n", "c")
        ).result(WAIT_SECONDS)
        assert (result.outcome, result.language) == ("parsed", "cpp")


def test_what_is_not_the_file_that_was_meant_is_changed(tmp_path):
    with pool_of() as pool:
        job = job_for(tmp_path, "a.py", b"x = 1\n", "python")
        (tmp_path / "a.py").write_bytes(b"x = 2\n")
        (tmp_path / "link.py").symlink_to("a.py")
        os.mkfifo(tmp_path / "fifo.py")
        jobs = [
            job,
            *(ParseJob(os.fsencode(tmp_path / name), "python", b"") for name in ("none.py", "link.py", "fifo.py", ".")),
        ]
        assert [pool.submit(one).result(WAIT_SECONDS).outcome for one in jobs] == ["changed"] * 5


def test_large_and_binary_files_say_so(tmp_path):
    with pool_of() as pool:
        assert pool.submit(job_for(tmp_path, "a.c", b"x" * 1_000_001, "c")).result(WAIT_SECONDS).outcome == "too_large"
        assert pool.submit(job_for(tmp_path, "b.c", b"x\0", "c")).result(WAIT_SECONDS).outcome == "none"


def test_hostile_files_have_an_outcome_and_the_pool_lives_on(tmp_path):
    chance = random.Random(3)
    with open(__file__, "rb") as file:
        own = file.read()
    hostile = [
        ("a.cpp", b"a<" * 50_000, "cpp"),
        ("b.c", b"(" * 1_000_000, "c"),
        ("c.js", b"[" * 1_000_000, "javascript"),
        ("d.py", b"".join(b" " * depth + b"if x:\n" for depth in range(600)), "python"),
        ("e.java", b"class A{" * 20_000, "java"),
        ("f.rs", bytes(chance.choices(range(1, 256), k=100_000)), "rust"),
        ("g.py", own[: len(own) // 2], "python"),
        ("h.tsx", b"<a>" * 30_000, "tsx"),
        ("i.rs", b"use " + b"a::{" * 20_000, "rust"),
    ]
    with pool_of(2, job_seconds=3) as pool:
        futures = [pool.submit(job_for(tmp_path, name, data, language)) for name, data, language in hostile]
        for (name, *_), future in zip(hostile, futures, strict=True):
            result = future.result(WAIT_SECONDS)
            assert result.outcome in ("parsed", "failed"), name
            assert result.outcome == "parsed" or result.reason
        assert pool.submit(job_for(tmp_path, "z.py", b"x = 1\n", "python")).result(WAIT_SECONDS).outcome == "parsed"


def test_a_job_whose_process_is_killed_is_tried_again(tmp_path):
    with pool_of() as pool:
        pool.submit(job_for(tmp_path, "a.py", b"x = 1\n", "python")).result(WAIT_SECONDS)
        (pid,) = pool.stats().pids
        os.kill(pid, signal.SIGKILL)
        assert pool.submit(job_for(tmp_path, "b.py", b"y = 1\n", "python")).result(WAIT_SECONDS).outcome == "parsed"
        assert pool.stats().restarts == 1


def test_a_process_that_does_not_answer_is_killed_and_the_job_fails_with_a_reason(tmp_path):
    with pool_of(job_seconds=0.1) as pool:
        pool.submit(job_for(tmp_path, "a.py", b"x = 1\n", "python")).result(WAIT_SECONDS)
        (pid,) = pool.stats().pids
        os.kill(pid, signal.SIGSTOP)
        job = job_for(tmp_path, "b.py", b"y = 1\n", "python")
        assert pool.submit(job).result(WAIT_SECONDS).outcome == "parsed"  # by the process started in its place
        assert not is_alive(pid)


def test_memory_is_limited(tmp_path):
    with pool_of(memory_bytes=150 << 20) as pool:
        result = pool.submit(job_for(tmp_path, "a.c", b"f(a, b + c);\n" * 70_000, "c")).result(WAIT_SECONDS)
        assert result.outcome == "failed"
        assert "memory" in result.reason or "SIG" in result.reason  # it depends on where it ran out
        assert pool.submit(job_for(tmp_path, "b.c", b"int x;\n", "c")).result(WAIT_SECONDS).outcome == "parsed"


def test_an_urgent_job_overtakes(tmp_path):
    order = []
    with pool_of() as pool:
        text = b"def f(): pass\n" * 2_000
        futures = []
        for index in range(10):
            future = pool.submit(job_for(tmp_path, f"{index}.py", text + b"x = %d\n" % index, "python"))
            future.add_done_callback(lambda _, index=index: order.append(index))
            futures.append(future)
        urgent = pool.submit(job_for(tmp_path, "u.py", b"x = 1\n", "python"), urgent=True)
        urgent.add_done_callback(lambda _: order.append("urgent"))
        for future in futures:
            future.result(WAIT_SECONDS)
    assert order.index("urgent") <= 1


def test_idle_processes_end_and_start_again(tmp_path):
    with pool_of(idle_seconds=0.05) as pool:
        pool.submit(job_for(tmp_path, "a.py", b"x = 1\n", "python")).result(WAIT_SECONDS)
        wait_until(lambda: not pool.stats().pids)
        assert pool.submit(job_for(tmp_path, "b.py", b"y = 1\n", "python")).result(WAIT_SECONDS).outcome == "parsed"


def test_close_ends_all_processes_and_settles_all_futures(tmp_path):
    pool = WorkerPool(2)
    pool.submit(job_for(tmp_path, "a.py", b"x = 1\n", "python")).result(WAIT_SECONDS)
    futures = [pool.submit(job_for(tmp_path, f"{i}.c", b"f(a, b + c);\n" * 20_000, "c")) for i in range(8)]
    pids = pool.stats().pids
    began = time.monotonic()
    pool.close()
    assert time.monotonic() - began < 5
    assert all(future.done() for future in futures)
    assert not any(is_alive(pid) for pid in pids)
    with pytest.raises(PoolClosedError):
        pool.submit(job_for(tmp_path, "late.py", b"", "python"))


def test_no_process_outlives_a_killed_daemon(tmp_path):
    job = job_for(tmp_path, "a.py", b"x = 1\n", "python")
    code = (
        "from ctxd.daemon.indexing.workers import *; import sys, time; pool = WorkerPool(1);"
        f"pool.submit(ParseJob({job.path!r}, 'python', {job.content_hash!r})).result(60); print(pool.stats().pids[0], flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as daemon:
        pid = int(daemon.stdout.readline())
        daemon.kill()
    wait_until(lambda: not is_alive(pid))


def test_the_daemon_side_never_loads_a_grammar():
    code = "import sys, ctxd.daemon.indexing.workers, ctxd.indexer.symbols.outline, ctxd.indexer.languages; print([m for m in sys.modules if 'tree_sitter' in m or m == 'mcp'])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_the_worker_loads_neither_the_sdk_nor_a_database():
    code = "import sys, ctxd.indexer.worker, ctxd.indexer.symbols.parser, ctxd.indexer.decode; print([m for m in sys.modules if m in ('mcp', 'sqlean', 'sqlite3', 'pydantic')])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
