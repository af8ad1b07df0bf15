"""When order tags are numbered anew, and what becomes of rows with old numbers."""

import pytest

from fairlead_scheduler.ordering.levels.order_tags import (
    TAG_LARGE,
    TAG_MAX,
    TAG_RENUMBERED,
    TAGS_AHEAD_MAX,
    are_large,
    is_far_ahead,
)
from fairlead_scheduler.ordering.membership import ensure_lane
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.heads import Heads
from tests.support.fair_bench import Bench

LONG_US = 20 * 365 * 86_400 * 1_000_000
"""A run of twenty years."""
OLD = TAG_LARGE + 5


@pytest.mark.parametrize(
    ("virtual", "floor", "large"),
    [
        (TAG_LARGE - 1, TAG_LARGE - 1, False),
        (TAG_LARGE, 0, True),
        (0, TAG_LARGE, True),
    ],
)
def test_tags_are_large_when_virtual_time_or_the_floor_is(
    virtual: int, floor: int, *, large: bool
) -> None:
    """The tags of rows decide nothing: one row that is far ahead ends no term."""
    assert are_large(virtual, floor) == large


def test_a_row_is_far_ahead_from_a_distance_that_renumbering_leaves() -> None:
    """Those that were set back to it are not."""
    assert not is_far_ahead(7 + TAGS_AHEAD_MAX, 7)
    assert is_far_ahead(8 + TAGS_AHEAD_MAX, 7)


def test_virtual_time_that_passes_the_mark_is_seen() -> None:
    """It does so with service: here one job has run for very long."""
    bench = Bench(weights={("q", None): 0.001})
    bench.adopt([QueueRow(1, "q", "a", 0, 100, 0)], LONG_US, (TAG_RENUMBERED - 1,))
    assert not bench.order.has_large_tags
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.record_scan()
    bench.now_us, bench.names[1] = LONG_US, "old"
    bench.add("q/a", 100)

    (job,) = bench.plan()

    assert job.vtag > TAG_LARGE
    assert bench.order.has_large_tags


def test_a_lane_whose_tag_is_larger_than_any_that_is_written_has_its_turn() -> None:
    """Tags of tenants are in memory only, where they have no end."""
    bench = Bench(weights={("q", "a"): 0.001})
    bench.adopt([QueueRow(1, "q", "a", 0, 100, 0)], 10 * LONG_US)
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.record_scan()
    bench.now_us, bench.names[1] = 10 * LONG_US, "old"
    bench.add("q/a", 100)

    assert len(bench.plan()) == 1
    assert ensure_lane(bench.order.ledgers[0], "q", "a").start > TAG_MAX


def test_a_floor_below_it_is_not_large() -> None:
    """A leader that begins at 0 goes on, whatever the tag of one row is."""
    bench = Bench()
    bench.adopt([QueueRow(1, "q", "a", 0, 100, None), QueueRow(2, "q", "a", OLD, 100, None)], 0)

    assert not bench.order.has_large_tags


def test_new_rows_do_not_go_behind_one_with_an_old_number() -> None:
    """Otherwise its whole queue would wait for the other queues."""
    bench = Bench()
    bench.adopt([QueueRow(1, "q", "a", OLD, 100, None)], 0, (0,))
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.record_scan()
    bench.names[1] = "old"
    bench.add("q/a", 100)
    bench.add("q/b", 100)

    assert [True, True] == [job.vtag < TAGS_AHEAD_MAX for job in bench.plan()]


def test_a_row_with_an_old_number_is_recalled_after_a_full_read() -> None:
    """It was locked while the others were renumbered; it is recalled until it is gone."""
    bench = Bench()
    bench.adopt([QueueRow(1, "q", "a", 0, 100, None), QueueRow(2, "q", "a", 0, 100, None)], 0)
    bench.heads = Heads(in_flight=bench.order.in_flight)
    assert bench.order.surplus_rows() == ()

    bench.order.begin_reconcile()
    bench.reconcile(
        [QueueRow(1, "q", "a", 0, 100, None), QueueRow(2, "q", "a", OLD, 100, None)], 0
    )

    assert bench.order.surplus_rows() == bench.order.surplus_rows() == (2,)
    bench.order.recalled((2,), bench.heads)
    assert bench.order.surplus_rows() == ()


def test_a_row_with_an_old_number_that_is_handed_back_is_recalled_at_once() -> None:
    """Meanwhile it does not hold the floor, to which the tags of new rows would be lifted."""
    bench = Bench()
    bench.adopt([QueueRow(1, "q", "a", OLD, 100, 5)], 10)

    bench.order.returned([1], 20)

    assert bench.order.surplus_rows() == (1,)
    bench.heads = Heads(in_flight=bench.order.in_flight)
    bench.heads.record_scan()
    bench.names[1] = "old"
    bench.add("q/a", 100)
    assert [True] == [job.vtag < TAGS_AHEAD_MAX for job in bench.plan()]


def test_a_claimed_row_with_an_old_number_is_left_alone() -> None:
    """Its tag counts when it waits again."""
    bench = Bench()
    rows = [QueueRow(1, "q", "a", OLD, 100, 5)]
    bench.adopt(rows, 10)

    bench.order.begin_reconcile()
    bench.reconcile(rows, 20)

    assert bench.order.surplus_rows() == ()
