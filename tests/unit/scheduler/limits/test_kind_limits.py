"""Limits of kinds in the fair order, decision by decision."""

import pytest

from fairlead_scheduler.limits.kind_limits import KindLimit, KindLimits, LimitedJob
from fairlead_scheduler.limits.waiting_lanes import OF_KIND, BlockedLane, KeyValue
from tests.support.fair_bench import MS, POOL, Bench

_LANES = (("q", "t"), ("q", "u"), ("r", "t"))


def waiting(*kinds: str, lane: str = "q/t", limit: int = 2) -> Bench:
    """Return a bench with jobs of these kinds, of which `report` is limited."""
    bench = Bench()
    bench.order.limit_kinds([KindLimit(POOL, "report", limit)])
    bench.order.count_kinds([])
    bench.order.watch_kinds(_LANES)
    add(bench, *kinds, lane=lane)
    return bench


def add(bench: Bench, *kinds: str, lane: str = "q/t") -> None:
    """Add jobs of these kinds to a lane."""
    for kind in kinds:
        bench.add(lane, 100, fields={"job.facts": f"0 0 0 - {kind}"})


def planned(bench: Bench, rounds: int = 3) -> str:
    """Return what these rounds dispatch: an unread head goes in the second round at best."""
    return bench.claim_order([job for _ in range(rounds) for job in bench.plan()])


@pytest.mark.parametrize(
    ("kinds", "goes"),
    [
        (["report"] * 4, "t1 t2"),
        (["report", "report", "report", "quick"], "t1 t2 t4"),
        (["quick"] * 3, "t1 t2 t3"),
    ],
)
def test_a_head_of_a_kind_without_room_is_skipped(kinds: list[str], goes: str) -> None:
    """Those behind it go; it goes when one of its kind has ended."""
    bench = waiting(*kinds)

    assert goes == planned(bench)


def test_all_lanes_and_queues_count_together() -> None:
    """One that waits goes on when a job of another queue ends."""
    bench = waiting("report")
    add(bench, "report", "report", lane="q/u")
    add(bench, "report", "quick", lane="r/t")

    begun = {job.id for _ in range(3) for job in bench.plan()}
    assert {5} < begun
    assert 3 == len(begun)
    assert {"kind"} == {reason for reason, n in bench.order.blocked_lanes().items() if n}
    bench.order.ended(sorted(begun - {5})[:1], [100 * MS])
    assert 1 == len(planned(bench).split())


def test_none_goes_before_what_is_in_flight_is_counted() -> None:
    """A new leader, and one that learns of a limit, reads that first."""
    bench = waiting("report", "report", "quick")
    bench.order.kinds.is_counted = False

    assert "t3" == planned(bench)
    bench.order.count_kinds([])
    assert "t1 t2" == planned(bench)


def test_what_was_in_flight_before_a_limit_counts_and_its_unclaimed_rest_is_recalled() -> None:
    """Of rows that nobody has claimed the last ones go, and the limit holds once they have."""
    bench = Bench()
    add(bench, "report", "report", "report", "report")
    assert "t1 t2 t3 t4" == planned(bench)
    bench.order.claimed([1], bench.now_us)

    bench.order.limit_kinds([KindLimit(POOL, "report", 2)])
    before = bench.order.holds_to_kind_limits
    bench.order.count_kinds([LimitedJob(i, "report", POOL) for i in (1, 2, 3, 4)])

    assert (False, False) == (before, bench.order.holds_to_kind_limits)
    assert (3, 4) == bench.order.surplus_rows()
    bench.order.recalled([3, 4], bench.heads)
    assert bench.order.holds_to_kind_limits


def test_what_runs_beyond_a_new_limit_goes_on() -> None:
    """No more than is claimed waits then, so workers may begin."""
    bench = Bench()
    add(bench, "report", "report")
    planned(bench)
    bench.order.claimed([1, 2], bench.now_us)

    bench.order.limit_kinds([KindLimit(POOL, "report", 1)])
    bench.order.count_kinds([LimitedJob(1, "report", POOL), LimitedJob(2, "report", POOL)])

    assert () == bench.order.surplus_rows()
    assert bench.order.holds_to_kind_limits


def test_heads_that_were_read_before_their_kind_was_limited_are_read_again() -> None:
    """What they were read as no longer counts."""
    bench = waiting("report", "other", "other", "other", limit=1)
    for _ in range(3):
        bench.plan(0)

    bench.order.limit_kinds([KindLimit(POOL, "report", 1), KindLimit(POOL, "other", 2)])
    bench.order.count_kinds([])

    assert "t1 t2 t3" == planned(bench)


def test_a_limit_that_is_gone_frees_what_waited_for_it() -> None:
    """As one does that is raised."""
    bench = waiting("report", "report", "report", "report", limit=1)
    assert "t1" == planned(bench)
    bench.order.limit_kinds([KindLimit(POOL, "report", 2)])
    assert "t2" == planned(bench)

    bench.order.limit_kinds([])

    assert "t3 t4" == planned(bench)


def test_a_limit_of_another_pool_concerns_no_queue_of_this_one() -> None:
    """A pool's workers say what their own pool gets."""
    bench = Bench()
    bench.order.limit_kinds([KindLimit("other", "report", 1)])
    bench.order.count_kinds([])
    bench.order.watch_kinds(_LANES)
    add(bench, "report", "report")

    assert "t1 t2" == planned(bench)


def test_a_repeat_changes_nothing() -> None:
    """Of a limit, of a count, and of an ending."""
    kinds = KindLimits[BlockedLane]()
    kinds.pool_of = lambda _queue: POOL
    value = KeyValue(OF_KIND, POOL, "report")

    assert kinds.set([KindLimit(POOL, "report", 2)])
    assert not kinds.set([KindLimit(POOL, "report", 2, asked=True)])
    kinds.count({1: value})
    kinds.add(1, value)
    assert (1, 1) == (kinds.in_flight(value), kinds.room(value))
    kinds.remove(1)
    kinds.remove(1)
    assert (0, 2) == (kinds.in_flight(value), kinds.room(value))


def test_only_pools_of_one_fleet_count_together() -> None:
    """What a login holds that is bound to its pool keeps back no other pool's jobs."""
    kinds = KindLimits[BlockedLane]()
    ours, theirs = KeyValue(OF_KIND, POOL, "report"), KeyValue(OF_KIND, "theirs", "report")
    kinds.set([KindLimit(POOL, "report", 2), KindLimit("theirs", "report", 100, fleet="bound")])
    kinds.count({1: ours, 2: theirs, 3: theirs})
    assert (1, 1, [1]) == (kinds.in_flight(ours), kinds.room(ours), kinds.holders(ours))
    assert (2, 98) == (kinds.in_flight(theirs), kinds.room(theirs))

    kinds.set([KindLimit(POOL, "report", 2), KindLimit("theirs", "report", 100)])
    assert (3, -1) == (kinds.in_flight(ours), kinds.room(ours))
    assert {ours: 1} == kinds.excess()
