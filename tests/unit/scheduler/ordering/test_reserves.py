"""Reserves of queues and tenants, and slots reserved for short jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fairlead_scheduler.limits.blocked_reasons import REASONS, RESERVE
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import CompiledPolicy, Terms
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import FairSettings, ShortSettings
from tests.support.fair_bench import MS, Bench
from tests.support.fleet import Fleet
from tests.support.planned import Planned
from tests.support.tables import table

SECOND = 1_000_000
LONG_MS, SHORT_MS = 5000, 100
KEPT = ShortSettings(per_10_000=1000, lowest=1, shorter_us=2 * SECOND)


def keeping(short: ShortSettings | None = KEPT) -> Bench:
    """Return a bench whose policy reserves slots for short jobs."""
    bench = Bench()
    settings = FairSettings(turn_us=0, short=short)
    bench.order.apply(replace(table({}), digest="kept", settings=settings), 0)
    return bench


def bind(bench: Bench, terms: Mapping[tuple[str, str | None], Terms]) -> None:
    """Put these terms in force; slots are still reserved for short jobs."""
    settings = FairSettings(turn_us=0, short=KEPT)
    bench.order.apply(replace(table(terms), digest="bound", settings=settings), bench.now_us)


def one_by_one(bench: Bench, plans: int) -> str:
    """Return the jobs of plans that have room for one job each, for reserves only."""
    return " ".join(bench.claim_order(bench.plan(0, slots=1)) for _ in range(plans)).strip()


def test_a_member_below_its_reserve_goes_first_whatever_its_tag() -> None:
    """Reserve phase: a lane with in-flight < reserve first."""
    bench = Bench(table({("q", "a"): Terms(reserve=2)}))
    bench.add("q/a", *[1000] * 5)
    bench.add("q/b", *[10] * 5)

    assert "a1 a2 b1 b2 b3" == bench.claim_order(bench.plan(5))


def test_the_smallest_part_of_a_reserve_goes_first() -> None:
    """Smallest in-flight/reserve."""
    bench = Bench(table({("q", "a"): Terms(reserve=1), ("q", "b"): Terms(reserve=3)}))
    bench.add("q/a", *[100] * 5)
    bench.add("q/b", *[100] * 5)
    bench.add("q/c", *[1] * 5)

    assert "a1 b1 b2 b3" == one_by_one(bench, 5)


def test_a_queue_has_a_reserve_over_all_its_tenants() -> None:
    """Which of them goes is decided by their tags."""
    bench = Bench(table({("q", None): Terms(reserve=3)}))
    bench.add("q/a", *[1000] * 5)
    bench.add("q/b", *[1000] * 5)
    bench.add("r/c", *[1] * 9)

    assert "a1 b1 a2" == one_by_one(bench, 6)


def test_a_reserve_goes_before_rows_that_wait_and_past_the_depth() -> None:
    """A reserve that goes behind queued rows would be none."""
    bench = Bench(table({("q", "a"): Terms(reserve=2)}))
    bench.add("q/a", 100, 100, 100)
    bench.run(bench.plan(3), LONG_MS)
    bench.add("q/b", *[10] * 9)
    bench.add("r/c", *[10] * 9)
    waiting = bench.plan(6)
    bench.add("q/a", 10, 10, 10)

    jobs = bench.plan(0, slots=10)

    assert "a4 a5" == bench.claim_order(jobs)
    assert "a4 a5" == bench.claim_order((*jobs, *waiting))[:5]
    assert min(job.vtag for job in jobs) == bench.floor


def test_what_a_reserve_takes_is_charged() -> None:
    """A reserved job goes early and is charged all the same."""
    bench = Bench(table({("q", "a"): Terms(reserve=1)}))
    bench.add("q/a", 1000, 1000)
    bench.add("q/b", *[100] * 11)

    assert "a1 b1 b2 b3 b4 b5 b6 b7 b8 b9 b10 a2" == bench.claim_order(bench.plan(12))


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (Terms(reserve=5, limit=2), "a1 a2 b1"),
        (Terms(reserve=5, rates=(Rate(1, SECOND, 1),)), "a1 b1 b2"),
        (Terms(reserve_per_10_000=1000), "a1 b1 b2"),
        (Terms(reserve_per_10_000=1100), "a1 a2 b1"),
    ],
)
def test_a_reserve_opens_no_limit_and_no_rate(terms: Terms, expected: str) -> None:
    """Eligible lanes only; a share is of the live slots, rounded up."""
    bench = Bench(table({("q", "a"): terms}))
    bench.now_us = 5 * SECOND
    bench.add("q/a", *[1000] * 5)
    bench.add("q/b", *[10] * 5)

    assert expected == bench.claim_order(bench.plan(3, slots=10))


def test_a_reserve_that_is_paused_or_empty_blocks_no_other_lane() -> None:
    """No slot stays free for it."""
    bench = Bench(table({("q", "a"): Terms(reserve=5), ("q", "z"): Terms(reserve=5)}))
    bench.add("q/a", *[1000] * 5)
    bench.add("q/b", *[10] * 5)

    assert "b1 b2 b3" == bench.claim_order(bench.plan(3, paused="q/a"))


def test_long_jobs_leave_a_tenth_of_the_slots_free() -> None:
    """These slots are reserved for jobs of lanes that have shown to be short."""
    bench = keeping()
    bench.add("q/b", SHORT_MS)
    bench.run(bench.plan(slots=20), SHORT_MS)
    bench.add("q/a", *[LONG_MS] * 40)

    assert 18 == len(bench.plan(slots=20))
    assert (1, True) == (bench.order.blocked_lanes()["reserve"], bench.order.is_limited)
    bench.add("q/b", *[SHORT_MS] * 5)
    bench.run(bench.plan(slots=20), SHORT_MS)
    assert "b3 b4 b5 b6" == bench.claim_order(bench.plan(slots=20))


@pytest.mark.parametrize(
    ("slots", "long"), [(0, 1), (1, 1), (2, 1), (3, 2), (10, 9), (19, 18), (20, 18), (25, 23)]
)
def test_long_jobs_may_have_one_slot_at_least(slots: int, long: int) -> None:
    """A pool of one slot serves all lanes."""
    bench = keeping()
    bench.add("q/a", *[LONG_MS] * 40)

    assert long == len(bench.plan(slots=slots))


def test_long_jobs_go_on_when_one_of_them_ends() -> None:
    """Blocked lanes go on when a job ends, in the queue that has had least one of them."""
    bench = keeping()
    bench.add("q/a", *[LONG_MS] * 9)
    bench.add("q/b", *[LONG_MS] * 9)
    bench.add("r/c", *[LONG_MS] * 9)
    first = bench.plan(slots=5)
    assert "a1 c1 b1 c2" == bench.claim_order(first)

    bench.order.claimed([job.id for job in first], bench.now_us)
    bench.order.ended([first[0].id], [LONG_MS * MS])

    assert "c3" == bench.claim_order(bench.plan(slots=5))
    assert () == bench.plan(slots=5)


def test_what_a_rate_holds_does_not_take_the_place_of_a_long_job_that_may_go() -> None:
    """Work conservation: a lane that waits for long jobs to end goes when it may."""
    bench = keeping()
    bind(bench, {("q", None): Terms(rates=(Rate(1, 60 * SECOND, 1),))})
    bench.add("r/c", *[LONG_MS] * 9)
    first = bench.plan(slots=5)
    bench.add("q/a", *[LONG_MS] * 9)
    assert () == bench.plan(slots=5)
    bench.add("q/b", SHORT_MS)
    assert "b1" == bench.claim_order(bench.plan(slots=5))

    assert "c5" == ending(bench, first, 1)


@pytest.mark.parametrize("terms", [Terms(limit=1), Terms(rates=(Rate(1, SECOND, 1),))])
def test_a_long_job_goes_in_place_of_one_that_others_of_its_queue_leave_no_room(
    terms: Terms,
) -> None:
    """Work conservation: at once, because a leader that rests may not plan again for long."""
    bench = keeping()
    bind(bench, {("q", None): terms})
    bench.add("q/b", SHORT_MS)
    bench.run(bench.plan(slots=5), 1000)
    bench.add("r/c", *[LONG_MS] * 9)
    first = bench.plan(slots=5)
    bench.add("q/a", LONG_MS)
    assert (4, ()) == (len(first), bench.plan(slots=5))
    bench.add("q/b", SHORT_MS)

    assert "b2 c5" == ending(bench, first, 1)


def test_lanes_whose_limits_came_down_while_they_waited_keep_no_long_job_waiting() -> None:
    """Work conservation: however many of them would have been next."""
    bench = keeping()
    bench.add("q/a", LONG_MS // 2)
    bench.add("q/b", LONG_MS // 2)
    bench.plan(slots=5)
    bench.add("r/c", *[LONG_MS] * 9)
    first = bench.plan(slots=5)
    bench.add("q/a", LONG_MS)
    bench.add("q/b", LONG_MS)
    assert (2, ()) == (len(first), bench.plan(slots=5))
    bind(bench, {("q", "a"): Terms(limit=1), ("q", "b"): Terms(limit=1)})

    assert "c3" == ending(bench, first, 1)


def test_a_lane_is_long_by_its_own_runs() -> None:
    """What the others of its queue take does not matter."""
    bench = keeping()
    bench.add("q/slow", *[None] * 30)
    bench.add("q/fast", *[None] * 10)
    started = bench.plan(2)
    bench.order.claimed([job.id for job in started], bench.now_us)
    slow, fast = sorted(job.id for job in started)
    bench.order.ended([slow, fast], [20 * SECOND, SHORT_MS * MS])

    jobs = bench.plan(slots=20).__iter__()

    names = [bench.names[job.id].rstrip("0123456789") for job in jobs]
    assert (18, 9) == (names.count("slow"), names.count("fast"))


def test_of_an_unknown_lane_one_job_counts_as_short() -> None:
    """Or whose cost is unknown: but no flood of them."""
    bench = keeping()
    bench.add("q/a", *[LONG_MS] * 30)
    bench.plan(slots=20)
    bench.add("q/new", *[None] * 9)

    assert "new1" == bench.claim_order(bench.plan(slots=20))


def test_a_job_that_turns_out_long_counts_as_long() -> None:
    """While it runs, from the moment on."""
    bench = keeping()
    bench.add("q/a", SHORT_MS)
    bench.run(bench.plan(slots=5), SHORT_MS)
    bench.add("q/a", *[SHORT_MS] * 3)
    bench.order.claimed([job.id for job in bench.plan(slots=5)], bench.now_us)
    bench.add("q/b", *[LONG_MS] * 9)
    assert 4 == len(bench.plan(slots=5))

    bench = keeping()
    bench.add("q/a", SHORT_MS)
    bench.run(bench.plan(slots=5), SHORT_MS)
    bench.add("q/a", *[SHORT_MS] * 3)
    bench.order.claimed([job.id for job in bench.plan(slots=5)], bench.now_us)
    bench.now_us += 3 * SECOND
    bench.add("q/b", *[LONG_MS] * 9)
    assert 1 == len(bench.plan(slots=5))


def test_a_lane_whose_jobs_become_short_waits_no_longer() -> None:
    """What has ended decides anew each time that a job of it ends."""
    bench = keeping(replace(KEPT, lowest=3))
    bench.add("q/a", *[None] * 9)
    first = bench.plan(slots=4)
    assert "a1" == bench.claim_order(first)

    bench.run(first, SHORT_MS)
    second = bench.plan(slots=4)
    bench.run(second, SHORT_MS)

    assert "a2 a3" == bench.claim_order(second)
    assert "a4 a5 a6 a7 a8 a9" == bench.claim_order(bench.plan(slots=4))


def test_long_lanes_share_by_slot_seconds_while_short_ones_run_ahead() -> None:
    """V lifts all waiting lanes together: one by one they would be level, and share by jobs."""
    short = ShortSettings(per_10_000=5000, lowest=1, shorter_us=200 * MS)
    given = replace(CompiledPolicy(), settings=FairSettings(short=short))
    fleet = Fleet(slots=10, depth=10, table=given)
    for number in range(10):
        cost_us = SECOND if number % 2 else SECOND // 2
        for _ in range(40):
            fleet.arrive(0, "q", f"{'long' if number % 2 else 'half'}{number}", cost_us)
    for _ in range(12_000):
        fleet.arrive(0, "q", "short", 10 * MS)

    fleet.run(16 * SECOND)

    served = {
        name: sum(us for (_, tenant), us in fleet.served_us.items() if tenant.startswith(name))
        for name in ("long", "half")
    }
    assert pytest.approx(1, abs=0.15) == served["long"] / served["half"]


def test_a_turn_of_several_long_jobs_stops_at_what_they_may_have() -> None:
    """With thousands of slots two jobs of two seconds are one turn."""
    settings = FairSettings(turn_us=MS, short=replace(KEPT, per_10_000=9000))
    bench = Bench()
    bench.order.apply(replace(CompiledPolicy(digest="kept"), settings=settings), 0)
    bench.add("q/a", None)
    bench.run(bench.plan(), 2000)
    bench.add("q/a", *[None] * 600)

    assert 499 == len(bench.plan(slots=4990))


def test_a_pause_and_another_policy_unblock_lanes_that_the_reserve_blocked() -> None:
    """No lane is forgotten."""
    bench = keeping()
    bench.add("q/a", *[LONG_MS] * 9)
    bench.plan(slots=2)
    assert () == bench.plan(slots=2, paused="q/a")
    assert {"reserve": 0, "paused": 1} == {
        reason: bench.order.blocked_lanes()[reason] for reason in ("reserve", "paused")
    }
    assert () == bench.plan(slots=2)
    assert 1 == bench.order.blocked_lanes()["reserve"]

    settings = FairSettings(turn_us=0)
    bench.order.apply(replace(CompiledPolicy(digest="free"), settings=settings), bench.now_us)

    assert 8 == len(bench.plan(slots=2))
    assert 0 == bench.order.blocked_lanes()[REASONS[RESERVE]]


def test_a_new_leader_counts_the_long_jobs_that_run() -> None:
    """What is in flight is read from work_queue, with what it was expected to take."""
    bench = keeping()
    rows = [QueueRow(100 + n, "q", "a", 0, LONG_MS * MS, 1) for n in range(3)]
    bench.adopt(rows, 2)
    bench.add("q/b", *[LONG_MS] * 9)

    assert 1 == len(bench.plan(slots=5))


def ending(bench: Bench, first: Sequence[Planned], plans: int) -> str:
    """End one of these long jobs before each of so many plans; return the jobs picked."""
    bench.order.claimed([job.id for job in first], bench.now_us)
    names: list[str] = []
    for job in first[:plans]:
        bench.order.ended([job.id], [LONG_MS * MS])
        names.append(bench.claim_order(bench.plan(slots=5)))
    return " ".join(names)


def full_of_long(reserve: int | None = None) -> tuple[Bench, tuple[Planned, ...]]:
    """Return a bench where `a` has all slots for long jobs, and `b` is ahead and has none."""
    bench = keeping()
    bind(bench, {("q", "b"): Terms(reserve=reserve)})
    bench.add("q/b", 4 * LONG_MS)
    (job,) = bench.plan(1)
    bench.add("q/a", *[LONG_MS] * 30)
    first = bench.plan(slots=5)
    bench.order.claimed([job.id], bench.now_us)
    bench.order.ended([job.id], [4 * LONG_MS * MS])
    first = (*first, *bench.plan(slots=5))
    bench.add("q/b", *[LONG_MS] * 5)
    assert (4, ()) == (len(first), bench.plan(slots=5))
    return bench, first


def test_a_lane_that_waits_for_long_jobs_to_end_goes_on_under_another_weight() -> None:
    """An edit, or a rule that changes its weight while it waits, does not forget it."""
    bench, first = full_of_long()
    bind(bench, {("q", "b"): Terms(weight=4)})

    assert "b2" in ending(bench, first, 4)


def test_a_lane_with_a_reserve_that_waits_for_long_jobs_to_end_goes_on() -> None:
    """Whatever it had before, its own tag gives its place among the waiting."""
    bench, first = full_of_long(reserve=1)

    assert "b2" in ending(bench, first, 4)
