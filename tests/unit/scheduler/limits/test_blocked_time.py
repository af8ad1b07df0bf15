"""Since when, and for how long, a lane has been blocked: alone, and in a ledger."""

import pytest

from fairlead_scheduler.explain.answer import LaneSnapshot
from fairlead_scheduler.explain.contention import Contention
from fairlead_scheduler.explain.snapshot import lane_snapshot
from fairlead_scheduler.limits.blocked_reasons import FREE, LIMIT, RATE
from fairlead_scheduler.limits.blocked_time import BlockedTime
from fairlead_scheduler.policy.compiled import Terms
from tests.support.fair_bench import MS, Bench
from tests.support.tables import table


def seen(bench: Bench, tenant: str = "a", *, slots: int = 4, free: int = 4) -> LaneSnapshot:
    """Return where a tenant stands."""
    snapshot = lane_snapshot(
        bench.order, "q", tenant, now_us=bench.now_us, slots=slots, free=free
    )
    assert snapshot is not None
    return snapshot


def test_a_reason_counts_from_its_change_to_the_next() -> None:
    """Two seconds of a limit, three free, one of a rate that goes on."""
    blocked_time = BlockedTime(0)
    blocked_time.change(LIMIT, 1, 0)
    blocked_time.change(FREE, 3, 0)
    blocked_time.change(RATE, 6, 3)

    assert (6, 0) == (blocked_time.since_us, blocked_time.begun_us)
    assert {LIMIT: 2e-6, RATE: 1e-6} == blocked_time.seconds(7)


def test_a_lane_unblocked_and_blocked_again_at_once_was_blocked_all_along() -> None:
    """An ending lets a lane go that is at its limit, and the same plan fills its place."""
    blocked_time = BlockedTime(0)
    blocked_time.change(LIMIT, 1, 0)
    for now_us in (4, 5, 9):
        blocked_time.change(FREE, now_us, 0)
        blocked_time.change(LIMIT, now_us, now_us)

    assert 1 == blocked_time.since_us
    assert {LIMIT: 9e-6} == blocked_time.seconds(10)


def test_a_lane_blocked_for_another_reason_is_blocked_since_then() -> None:
    """The limit is no more what holds it."""
    blocked_time = BlockedTime(0)
    blocked_time.change(LIMIT, 1, 0)
    blocked_time.change(FREE, 4, 0)
    blocked_time.change(RATE, 4, 4)

    assert 4 == blocked_time.since_us


def test_a_break_restarts_the_blocked_time() -> None:
    """Who had nothing for a while has not waited meanwhile."""
    blocked_time = BlockedTime(0)
    blocked_time.change(LIMIT, 1, 0)
    blocked_time.change(FREE, 4, 0)
    blocked_time.change(LIMIT, 9, 8)

    assert (8, 9) == (blocked_time.begun_us, blocked_time.since_us)
    assert {LIMIT: 1e-6} == blocked_time.seconds(10)


def test_a_lane_at_its_limit_has_been_blocked_since_it_reached_it() -> None:
    """However many of its jobs end and are followed by others meanwhile."""
    bench = Bench(table({("q", "a"): Terms(limit=2)}))
    bench.add("q/a", *[10] * 20)
    first = bench.plan(slots=4)
    held_us = bench.now_us
    for job in first:
        bench.run([job], 10)
        bench.plan(slots=4)

    snapshot = seen(bench)

    assert ("limit", held_us) == (snapshot.lane.blocked_by, snapshot.lane.since_us)
    assert {"limit": (bench.now_us - held_us) / 1e6} == snapshot.lane.blocked_seconds


def test_a_lane_without_bounds_waits_since_it_has_work() -> None:
    """Nothing is counted of it but since when it waits."""
    bench = Bench()
    bench.now_us = 5 * MS
    bench.add("q/a", *[10] * 5)
    bench.plan(1, slots=4)
    bench.plan(0, slots=4)

    lane = seen(bench).lane

    assert (None, {}) == (lane.blocked_by, lane.blocked_seconds)
    assert [6 * MS, 6 * MS] == [lane.since_us, lane.waits_us]


def test_a_pause_counts_from_its_beginning_for_a_lane_that_had_nothing() -> None:
    """Its last work is long ago, and no part of what it waits now."""
    bench = Bench()
    bench.add("q/a", 10)
    bench.run(bench.plan(slots=4), 50)
    bench.add("q/a", 10)
    bench.plan(slots=4, paused="q")
    paused_us = bench.now_us
    bench.plan(slots=4, paused="q")

    lane = seen(bench).lane

    assert ("paused", paused_us, paused_us) == (lane.blocked_by, lane.since_us, lane.waits_us)


def capped(costs_ms: int) -> Bench:
    """Return a tenant whose jobs run too long on all slots, beside one of such jobs."""
    bench = Bench(prior_us=1 * MS)
    bench.add("q/a", *[1] * 20)
    jobs = bench.plan(6, slots=6)
    bench.order.claimed([job.id for job in jobs], bench.now_us)
    bench.add("q/b", *[costs_ms] * 20)
    bench.plan(1, slots=6)
    bench.now_us += 23 * MS
    bench.plan(0, slots=6)
    return bench


def test_the_cap_sets_back_whose_turn_it_would_be() -> None:
    """150 ms charged of six slots, before another's 206, count as 250."""
    bench = capped(200)

    assert 1 * MS == seen(bench, free=0).lane.capped_us
    assert None is seen(bench, "b").lane.capped_us is seen(bench).queue.capped_us


@pytest.mark.parametrize("costs_ms", [100, 400])
def test_no_cap_blocks_who_would_go_first_or_last_without_it(costs_ms: int) -> None:
    """By its tag the other one is before it, or so far behind that no cap puts it first."""
    assert None is seen(capped(costs_ms), free=0).lane.capped_us


def test_a_band_waits_for_those_above_it_since_they_wait() -> None:
    """Then for a slot, and then only for other lanes of its own."""
    above, below = Bench(), Bench()
    ledgers = [above.order.ledgers[0], below.order.ledgers[0]]
    contention = Contention()
    contention.note(ledgers, 1, busy=False)
    above.add("q/a", *[10] * 5)
    above.plan(0)
    for now_us in (2, 3):
        contention.note(ledgers, now_us, busy=True)

    assert [2, 2] == [contention.since_us(0, "capacity", 9), contention.since_us(1, "band", 9)]
    assert 9 == contention.since_us(1, "capacity", 9)


def test_jobs_of_lanes_at_their_limits_are_known_to_those_that_wait() -> None:
    """They take slots, and their weights are not among those that share the rest."""
    bench = Bench(table({("q", "b"): Terms(limit=3)}))
    bench.add("q/a", *[10] * 20)
    bench.add("q/b", *[10] * 20)
    bench.plan(8, slots=4)

    assert [3, 0] == [seen(bench, each).lane.bounded for each in "ab"]
