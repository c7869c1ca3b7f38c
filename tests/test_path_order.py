"""Paths in byte order, whatever comes and goes."""

import itertools
import random

from ctxd.indexer.files.path_order import SHELF_PATHS, PathOrder, shelf_of


def some_path(dice):
    return b"/".join(dice.choice((b"a", b"b", b"b0", b"B", b"-", b"\xc3\xa9")) for _ in range(dice.randint(1, 9)))


def test_paths_stay_sorted_whatever_comes_and_goes():
    dice = random.Random(1)
    existing, order = {}, PathOrder()
    for changes in [3_000, *[dice.choice((0, 1, 2, 60)) for _ in range(60)], 2_500, 1]:
        for _ in range(changes):
            path = some_path(dice)
            if existing.pop(path, True):
                existing[path] = None
            order.note(path)
        shelves = order.shelves(existing)
        assert order.paths(existing) == sorted(existing)
        assert list(itertools.chain.from_iterable(shelf.paths for shelf in shelves)) == sorted(existing)
        assert all(1 <= len(shelf.paths) <= 2 * SHELF_PATHS for shelf in shelves)


def test_no_paths_are_no_shelves():
    order = PathOrder()
    assert order.shelves({}) == order.paths({}) == []
    order.note(b"a")
    assert order.paths({b"a": None}) == [b"a"]
    order.note(b"a")
    assert order.shelves({}) == order.paths({}) == []


def test_a_change_makes_one_shelf_anew_and_leaves_those_handed_out():
    existing = {b"%05d" % number: None for number in range(4 * SHELF_PATHS)}
    order = PathOrder()
    before, listed = order.shelves(existing), order.paths(existing)
    held, held_paths = list(before), list(listed)
    existing[b"00001x"] = None
    order.note(b"00001x")
    after = order.shelves(existing)
    assert after[1:] == before[1:] == held[1:]
    assert after[0] is not before[0]
    assert before == held
    assert listed == held_paths != order.paths(existing)


def test_blocks_tell_of_the_paths_of_their_shelf():
    paths = sorted([b"a", b"src/b.c", b"src/c.c", b"src/x/d.c"])
    order = PathOrder()
    (shelf,) = order.shelves(paths)
    assert shelf.joined == b"\0a\0src/b.c\0src/c.c\0src/x/d.c\0"
    assert shelf.names == b"\0a\0b.c\0c.c\0d.c\0"
    assert shelf.folders == b"\0\0src/\0src/x/\0"
    assert shelf_of(b"", [shelf]) == shelf_of(b"zzz", [shelf]) == 0
