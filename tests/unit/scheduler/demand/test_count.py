"""What a pool needs, counted as if it had its maximum of slots."""

from dataclasses import replace

import pytest

from fairlead_scheduler.demand.count import (
    CountResult,
    DemandCount,
    PoolMaximum,
    jobs_to_saturate,
)
from fairlead_scheduler.demand.values import PodSlots, due_slot_seconds, pod_slots
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused
from fairlead_scheduler.policy.compiled import CompiledPolicy, Terms
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.settings import FairSettings, KeyLimit
from tests.support.fair_bench import MS, Bench
from tests.support.pools import table as parsed
from tests.support.tables import table

SECOND_US = 1_000_000
WHOLE = 1 << 30
MOST = PoolMaximum(slots=40, horizon_us=30 * SECOND_US)
BANDS = """
bands: [{name: first, priorities: {from: 50}}, {name: last, maxWait: 1m}]
queues: [{match: {queue: q}, tenants: {default: {slots: {limit: 3}}}}]
"""


def counted(
    bench: Bench, most: PoolMaximum = MOST, *, paused: Paused = NOTHING_PAUSED
) -> CountResult:
    """Count a pool that has no worker, after the leader has read what there is."""
    bench.decide(bench.now_us, 0, 0, paused)
    return begun(bench, most, paused=paused).step(WHOLE) or pytest.fail("not counted whole")


def begun(
    bench: Bench, most: PoolMaximum = MOST, *, paused: Paused = NOTHING_PAUSED, **lengths: int
) -> DemandCount:
    """Begin a count; lengths are of tenants of q."""
    return DemandCount(
        bench.order.ledgers,
        most,
        now_us=bench.now_us,
        begun_us=0,
        paused=paused,
        lengths={("q", tenant): jobs for tenant, jobs in lengths.items()},
    )


def test_what_waits_is_counted_where_there_is_no_worker() -> None:
    """At zero workers `work_queue` is empty; jobs and their work are in the lanes."""
    bench = Bench()
    bench.add("q/a", 500, 500)
    bench.add("q/b", 2000)

    needed = counted(bench)

    assert (3, 3.0, 3) == (needed.jobs, needed.work_us / SECOND_US, needed.slots_useful)
    assert (40, 0) == (needed.slots_allowed, needed.oldest_us)


def test_nothing_is_needed_where_nothing_waits_or_runs() -> None:
    """No job, no work, no wait."""
    needed = counted(Bench())

    assert (0, 0, None, False) == (
        needed.work_us,
        needed.slots_useful,
        needed.oldest_us,
        needed.has_work,
    )


@pytest.mark.parametrize(("most", "useful"), [(40, 10), (8, 2), (1000, 100)])
def test_a_share_is_of_the_maximum_and_not_of_no_slots(most: int, useful: int) -> None:
    """25 % of 0 slots is 0 or 1: percentages are of the pool's maximum."""
    bench = Bench(table({("q", "a"): Terms(limit_per_10_000=2500)}))
    bench.add("q/a", *[100] * 100)

    needed = counted(bench, PoolMaximum(most, 30 * SECOND_US))

    allowed = most * 2500 // 10_000
    assert (useful, allowed) == (needed.slots_useful, needed.slots_allowed)


@pytest.mark.parametrize(("long_jobs", "useful"), [(1, 1), (3, 3), (4, 5), (20, 22), (60, 40)])
def test_long_jobs_need_slots_that_are_kept_as_well(long_jobs: int, useful: int) -> None:
    """With four slots for four long jobs the last would wait until another ends."""
    bench = Bench()
    bench.order.apply(replace(CompiledPolicy(digest="kept"), settings=FairSettings()), 0)
    bench.add("q/a", 1)
    bench.run(bench.plan(1), 60_000)
    bench.add("q/a", *[1] * long_jobs)
    bench.order.claimed([job.id for job in bench.plan(2)], bench.now_us)

    needed = counted(bench)

    assert (useful, useful - min(40, long_jobs)) == (needed.slots_useful, needed.slots_kept)


def test_a_limit_bounds_slots_and_what_they_can_do_within_the_objective() -> None:
    """A lane with a limit of 5 uses 5 slots all the while, and no more."""
    bench = Bench(table({("q", "a"): Terms(limit=5)}))
    bench.add("q/a", *[1000] * 1000)

    needed = counted(bench)

    assert (5, 5, 150.0) == (
        needed.slots_useful,
        needed.slots_allowed,
        needed.work_us / SECOND_US,
    )


def test_a_limit_of_the_queue_is_over_all_its_lanes() -> None:
    """Each lane's limit first, then the queue's."""
    bench = Bench(table({("q", None): Terms(limit=7), ("q", "a"): Terms(limit=5)}))
    bench.add("q/a", *[100] * 50)
    bench.add("q/b", *[100] * 50)
    bench.add("r/c", 100)

    assert 8 == counted(bench).slots_useful


def test_what_runs_counts_against_the_limit_and_is_useful() -> None:
    """In flight is queued or running."""
    bench = Bench(table({("q", "a"): Terms(limit=5)}))
    bench.add("q/a", *[1000] * 10)
    bench.order.claimed([job.id for job in bench.plan(2)], bench.now_us)

    needed = counted(bench)

    assert (5, 8) == (needed.slots_useful, needed.jobs)


def test_rows_that_wait_for_a_worker_have_not_started() -> None:
    """They are work, and the oldest of them waits since it was seen."""
    bench = Bench()
    bench.add("q/a", 1000, 1000)
    bench.plan()
    bench.now_us += SECOND_US

    needed = counted(bench)

    assert (2, 2.0, 0) == (needed.slots_useful, needed.work_us / SECOND_US, needed.oldest_us)


@pytest.mark.parametrize("paused", [("q", None), ("q", "a")])
def test_a_pause_lets_nothing_be_needed(paused: tuple[str, str | None]) -> None:
    """Neither what waits nor what might come; others go on."""
    bench = Bench()
    bench.add("q/a", *[100] * 100)

    needed = counted(bench, paused=frozenset({paused}))

    assert (0, 0, None) == (needed.slots_useful, needed.slots_allowed, needed.oldest_us)


def test_what_runs_of_a_paused_lane_runs_on() -> None:
    """Queued rows are recalled, running jobs finish."""
    bench = Bench()
    bench.add("q/a", *[100] * 3)
    first, *_ = bench.plan()
    bench.order.claimed([first.id], bench.now_us)

    needed = counted(bench, paused=frozenset({("q", None)}))

    assert (1, 0) == (needed.slots_useful, needed.work_us)


def test_a_hold_by_a_rule_lets_nothing_be_needed() -> None:
    """A limit of none."""
    bench = Bench(table({("q", None): Terms(blocking_rule="rules[0]")}))
    bench.add("q/a", *[100] * 100)

    needed = counted(bench)

    assert (0, 0, 0) == (needed.slots_useful, needed.slots_allowed, needed.work_us)
    assert (False, None) == (needed.has_work, needed.oldest_us)


def test_a_rate_counts_what_may_go_within_the_objective() -> None:
    """A burst of 5, and one a second for 30 s: of jobs of 2 s two slots, and the burst now."""
    bench = Bench(table({("q", "a"): Terms(rates=(Rate(1, SECOND_US, 5),))}))
    bench.add("q/a", *[2000] * 1000)

    needed = counted(bench)

    assert (35, 5, 7) == (needed.jobs, needed.slots_useful, needed.slots_allowed)
    assert 70.0 == needed.work_us / SECOND_US


def test_a_rate_that_is_used_up_needs_what_it_sustains() -> None:
    """Nothing may go at once, but one job that is expected to take 1.4 s does each second."""
    bench = Bench(table({("q", "a"): Terms(rates=(Rate(1, SECOND_US, 5),))}))
    bench.add("q/a", *[1000] * 1000)
    jobs = bench.plan()
    bench.run(jobs, 1000)

    needed = counted(bench)

    assert (5, 31, 2) == (len(jobs), needed.jobs, needed.slots_useful)


def test_what_a_key_holds_back_is_not_needed() -> None:
    """Every head at hand waits for another job of its account."""
    keys = {"q": (KeyLimit("payload.account", 1),)}
    bench = Bench(table({}, keys=keys))
    bench.add("q/a", *[100] * 10, fields={"payload.account": "x"})
    bench.plan()
    bench.plan()

    assert 1 == counted(bench).slots_useful


def test_a_key_counts_the_jobs_of_a_lane_that_would_start_together() -> None:
    """One for each account; what other lanes would start counts as well."""
    keys = {"q": (KeyLimit("payload.account", 1),)}
    bench = Bench(table({}, keys=keys))
    for lane, accounts in (("q/a", "xxyz"), ("q/b", "zzz")):
        for account in accounts:
            bench.add(lane, 1000, fields={"payload.account": account})
    bench.plan(0, slots=0)
    bench.plan(0, slots=0)

    needed = counted(bench)

    assert (3, 4.0) == (needed.slots_useful, needed.work_us / SECOND_US)


def test_jobs_of_different_values_are_counted_all() -> None:
    """No head at hand waits for another."""
    keys = {"q": (KeyLimit("payload.account", 1),)}
    bench = Bench(table({}, keys=keys))
    for account in range(300):
        bench.add("q/a", 100, fields={"payload.account": str(account)})
    bench.plan(0, slots=0)
    bench.plan(0, slots=0)

    assert 300 == counted(bench, PoolMaximum(1000, 30 * SECOND_US)).slots_useful


def test_lanes_of_all_bands_share_their_limit() -> None:
    """A limit belongs to the tenant of a queue in all bands together."""
    bench = Bench(parsed(BANDS))
    bench.add("q/a", *[100] * 5, rank=-60)
    bench.add("q/a", *[100] * 5)
    bench.add("r/b", *[100] * 2)
    bench.plan(1)

    assert 5 == counted(bench).slots_useful


def test_a_job_that_has_aged_into_another_band_counts_once() -> None:
    """It is a head of its own band, and of the one above as well."""
    bench = Bench(parsed(BANDS))
    bench.add("r/b", *[100] * 2)
    bench.now_us += 61 * SECOND_US
    bench.plan(0)
    (above,) = bench.order.ledgers[0].queues.values()

    assert (1, 2) == (len(above.aged), counted(bench).slots_useful)


def test_the_maximum_bounds_everything() -> None:
    """More could not be there."""
    bench = Bench()
    bench.add("q/a", *[100] * 1000)

    needed = counted(bench)

    assert (40, 40) == (needed.slots_useful, needed.slots_allowed)


def test_a_count_may_be_made_in_parts() -> None:
    """A tick does some lanes; the result is the same."""
    bench = Bench(table({("q", "t1"): Terms(limit=1)}))
    for tenant in range(5):
        bench.add(f"q/t{tenant}", 100, 100)
    whole = counted(bench)

    count = begun(bench)
    parts = [count.step(1) for _ in range(6)]

    assert [None, None, None, None, None, whole] == parts


def test_a_limit_that_ends_while_it_is_counted_disturbs_no_count() -> None:
    """A rule is over, or another policy comes, between two parts of a count."""
    bench = Bench(parsed(BANDS))
    bench.add("q/a", *[100] * 5, rank=-60)
    bench.add("q/a", *[100] * 5)
    bench.plan(0)
    count = begun(bench)
    parts = [count.step(1) for _ in range(2)]

    bench.order.apply(parsed(BANDS.partition("queues")[0]), bench.now_us)
    bench.plan(0)
    needed = count.step(WHOLE)

    assert [None, None] == parts
    assert needed is not None
    assert 10 == needed.slots_useful


def test_rows_that_are_recalled_while_they_are_counted_run_nowhere() -> None:
    """What a pause takes back between two parts of a count is not less than nothing."""
    bench = Bench()
    bench.add("q/a", *[100] * 3)
    ids = [job.id for job in bench.plan()]
    count = begun(bench, paused=frozenset({("q", None)}))

    bench.order.recalled(ids, bench.heads)
    needed = count.step(WHOLE)

    assert needed is not None
    assert (0, 0) == (needed.slots_useful, needed.slots_allowed)


def test_a_lane_that_was_counted_has_that_many() -> None:
    """Heads are only what is at hand; what is in flight is counted with the lane."""
    bench = Bench()
    bench.add("q/a", *[100] * 3)
    bench.plan(2)
    lane = bench.order.ledgers[0].queues["q"].tenants["a"].heads
    lane.streams[0].note_beyond(1000)

    needed = begun(bench, PoolMaximum(1000, 30 * SECOND_US), a=500).step(WHOLE)

    assert needed is not None
    assert ((lane,), 500) == (needed.unread, needed.slots_useful)


def test_the_oldest_wait_is_unknown_while_no_head_of_what_waits_is_read() -> None:
    """Published as a number it would be an instant that no reader can represent."""
    bench = Bench()
    bench.add("q/a", 100)
    jobs = bench.plan()
    lane = bench.order.ledgers[0].queues["q"].tenants["a"].heads
    lane.streams[0].note_beyond(1000)
    lane.choose_stream()
    bench.run(jobs, 100)

    needed = begun(bench, a=500).step(WHOLE)

    assert needed is not None
    assert (500, None) == (needed.jobs, needed.oldest_us)


def test_what_was_counted_of_a_tenant_counts_in_one_band() -> None:
    """A length is over all bands; the others have what is at hand."""
    bench = Bench(parsed(BANDS))
    bench.add("r/b", 100, rank=-60)
    bench.add("r/b", 100)
    bench.plan(0)
    for ledger in bench.order.ledgers:
        ledger.queues["r"].tenants["b"].heads.streams[0].note_beyond(1000)

    count = DemandCount(
        bench.order.ledgers,
        PoolMaximum(1000, 30 * SECOND_US),
        now_us=bench.now_us,
        begun_us=0,
        lengths={("r", "b"): 500},
    )
    needed = count.step(WHOLE)

    assert needed is not None
    assert 501 == needed.slots_useful


def test_lanes_are_counted_up_to_what_saturates_the_maximum() -> None:
    """With work for all slots throughout the objective more jobs change nothing."""
    bench = Bench()
    bench.add("q/a", *[1000] * 200)
    needed = counted(bench)

    assert 1000 == jobs_to_saturate(needed, MOST, 100_000)
    assert 50 == jobs_to_saturate(needed, MOST, 50)
    assert 0 == jobs_to_saturate(needed, PoolMaximum(2, 30 * SECOND_US), 100_000)


@pytest.mark.parametrize(("says", "expected"), [(40, 40), (None, 20)])
def test_a_pod_has_what_its_youngest_worker_is_to_have(says: int | None, expected: int) -> None:
    """What it has now may be a part of that; where it does not report it, the most of any."""
    workers = [PodSlots(1, "p", 80, 20), PodSlots(12, "p", says, 1), PodSlots(2, "r", 3, 2)]

    assert {"p": expected, "r": 3} == pod_slots(workers)


def test_what_falls_due_is_work_within_each_time() -> None:
    """Within 5, 20, 60 and 180 s; what is late to be promoted falls due within all."""
    due = {"q": {199: 1, 200: 2, 203: 4, 230: 8}, "other": {200: 100}}

    found = due_slot_seconds(due, {"q": 500 * MS, "r": 1}, 1000 * SECOND_US)

    assert (1.5, 3.5, 3.5, 7.5) == found
