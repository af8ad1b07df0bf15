"""Jobs that were given another priority leave their heads, and are asked about."""

import pytest

from fairlead_scheduler.loop.moved_jobs import MovedJobs
from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Tail
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.rows import Move, Receipt

NOW_US = 1_000_000_000


@pytest.fixture
def heads() -> Heads:
    """Return heads of a leader that has scanned all lanes."""
    heads = Heads()
    heads.record_scan()
    heads.discovered([found(job) for job in (1, 2, 3)])
    return heads


@pytest.fixture
def tail() -> Tail:
    """Return the tail of that leader."""
    return Tail(3, NOW_US)


@pytest.fixture
def moved(heads: Heads, tail: Tail) -> MovedJobs:
    """Return what moves its jobs."""
    return MovedJobs(Router("default"), heads, tail)


def found(job: int, *, rank: int = 0) -> PendingJob:
    """Return a pending job of a lane."""
    return PendingJob(job, job, "q", "a", rank, None, None)


def receipt(*moves: Move) -> Receipt:
    """Return a receipt that tells of jobs that have moved."""
    nothing = Receipt(1, NOW_US, None, None, None, None, None, None, None, None)
    return nothing._replace(moved=list(moves))


def ready(heads: Heads) -> list[int]:
    """Return the heads of all lanes."""
    return [head[0] for lane in heads.take_changed() for head in lane.ready]


def test_heads_that_have_moved_go_and_are_asked_about(
    heads: Heads, tail: Tail, moved: MovedJobs
) -> None:
    """The others stay; a repeat, and a stream that is not known, change nothing."""
    told = receipt(("q", "a", 0, 5, [1, 3]), ("other", "", 0, 5, [9]))

    for _ in range(2):
        moved.take([told], NOW_US)
        assert 1 == heads.total

    assert [2] == ready(heads)
    assert [1, 3, 9] == sorted(tail.doubtful)


def test_a_lane_whose_heads_have_all_moved_has_none(heads: Heads, moved: MovedJobs) -> None:
    """It waits for service no longer."""
    moved.take([receipt(("q", "a", 0, 5, [1, 2, 3]))], NOW_US)

    (lane,) = heads.take_changed()
    assert (0, None) == (heads.total, lane.stream)


def test_a_promotion_that_was_read_before_the_move_is_asked_about(
    heads: Heads, tail: Tail, moved: MovedJobs
) -> None:
    """Another thread tells of it after the receipt: it would be a head where it was."""
    moved.take([receipt(("q", "a", 0, 5, [1]))], NOW_US)
    heads.take_changed()

    moved.promoted([found(1), found(2)], NOW_US + 1)

    assert 2 == heads.total
    assert [1] == list(tail.doubtful)


def test_what_is_read_long_after_the_move_is_taken_as_it_is(
    heads: Heads, moved: MovedJobs
) -> None:
    """Nothing is remembered for ever."""
    moved.take([receipt(("q", "a", 0, 5, [1]))], NOW_US)
    later_us = NOW_US + 60_000_000
    moved.take([], later_us)

    moved.promoted([found(1)], later_us)

    assert not moved.may_recall
    assert 3 == heads.total
