"""The arithmetic of a first pass: what is done only grows, and what is left is told by what was done of late."""

from ctxd.daemon.indexing.progress import CHUNKS_SHARE, RECENT_SECONDS, SYMBOLS_SHARE, TEXT_SHARE, Left, Progress
from projects import opened, until, write


def passed(progress, lefts, *, total=100, stage="chunks", seconds=1.0):
    """What a progress says at each of some moments."""
    said = []
    for number, left in enumerate(lefts):
        progress.note(left, number * seconds)
        said.append(progress.of(stage, total, left, number * seconds))
    return said


def test_the_shares_are_a_whole():
    assert abs(TEXT_SHARE + SYMBOLS_SHARE + CHUNKS_SHARE - 1) < 1e-9


def test_done_goes_from_nothing_to_all_but_one():
    said = passed(Progress(), [Left(100, 0, 0), Left(0, 100, 100), Left(0, 0, 100), Left(0, 0, 0)])
    assert [one["done"] for one in said] == [0, 20, 70, 99]
    said = passed(Progress(), [Left(100, 0, 0), Left(0, 100, 100), Left(0, 0, 100)], stage="symbols")
    assert [one["done"] for one in said] == [0, 28, 99]


def test_done_never_falls_where_files_come_meanwhile():
    progress = Progress()
    said = passed(progress, [Left(100, 0, 0), Left(0, 0, 50)])
    more = progress.of("chunks", 1_000, Left(900, 0, 50), 2.0)
    assert said[-1]["done"] == 85
    assert more["done"] == 85
    assert more["total"] == 1_000


def test_what_is_left_takes_as_long_as_it_took_of_late():
    lefts = [Left(0, 0, 1_000 - 10 * second) for second in range(61)]  # ten files a second
    assert passed(Progress(), lefts, total=1_000)[-1]["eta_seconds"] == 40
    slower = [Left(0, 0, 400 - second) for second in range(1, int(RECENT_SECONDS) + 2)]
    assert passed(Progress(), [*lefts, *slower], total=1_000)[-1]["eta_seconds"] == slower[-1].chunks


def test_nothing_is_said_where_nothing_is_known():
    assert passed(Progress(), [Left(100, 0, 0)])[0]["eta_seconds"] is None
    assert passed(Progress(), [Left(100, 0, 0)] * 5)[-1]["eta_seconds"] is None


def test_a_first_pass_is_shown_growing_and_complete_only_at_its_end(folder, home, workers):
    write(folder, {f"{n}.py": f"def f{n}(): pass\n" * 50 for n in range(300)})
    with opened(folder, home, workers) as project:
        seen = []

        def is_ready():
            seen.append((project.readiness.progress(), project.status()["state"]))
            return seen[-1][1] == "ready"

        until(is_ready)
    done = [one["done"] for one, _ in seen]
    assert done == sorted(done)
    assert all((one["done"] == one["total"]) == (state == "ready") for one, state in seen[:-1])
    assert seen[-1][0] == {"done": 300, "total": 300, "eta_seconds": 0}
