"""Comparing two policies: reproducible for a seed, and the expected effect of each change."""

from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.simulation.compare import Comparison, Wait, Waits, compare
from fairlead_scheduler.simulation.engine import (
    TICK_US,
    SimulatedFleet,
    StartingJobs,
    default_fleet,
    simulate,
)
from fairlead_scheduler.simulation.fair_leader import FairLeader, InheritedState, WaitingJobs
from fairlead_scheduler.simulation.fleet_state import ArrivedJob, FinishedJob, FleetState
from fairlead_scheduler.simulation.interface import DispatchedRow
from fairlead_scheduler.simulation.replay import (
    RecordedTraffic,
    recorded_input,
    traffic_of_history,
)
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.workload import live_input

MS, SECOND = 1000, 1_000_000
DAY_US = 86_400 * SECOND
NOW_US = 1_700_000_000 * SECOND
OLD = CompiledPolicy()


def policy(document: str) -> CompiledPolicy:
    """Return a compiled policy."""
    return compile_policy(parse(document))


def weighing(tenant: str, weight: float) -> CompiledPolicy:
    """Return a policy that changes one tenant's weight."""
    return policy(
        '{"queues": [{"match": {"queue": "*"}, "tenants": {"overrides": '
        f'[{{"match": {{"tenant": "{tenant}"}}, "weight": {weight}}}]}}}}]}}'
    )


def finished(tenant: str, *costs_ms: int, ago_ms: int = 500) -> list[FinishedJob]:
    """Return finished jobs of a tenant of queue q, all of which arrived that long ago."""
    at_us = NOW_US - ago_ms * MS
    return [FinishedJob("q", tenant, 0, at_us, at_us, at_us + cost * MS) for cost in costs_ms]


def waiting(
    tenant: str, jobs: int, *, more: bool = False
) -> dict[tuple[str, str, int], WaitingJobs]:
    """Return a backlog of a tenant of queue q."""
    return {("q", tenant, 0): WaitingJobs(jobs, more, NOW_US - 60 * SECOND)}


BACKLOG = FleetState(
    now_us=NOW_US,
    slots=8,
    rows=[
        QueueRow(1, "q", "a", 10, 100 * MS, NOW_US - 20 * MS),
        QueueRow(2, "q", "b", 20, 100 * MS, None),
    ],
    waiting={
        **waiting("a", 5000, more=True),
        **waiting("b", 5000, more=True),
        **waiting("c", 5000, more=True),
    },
    finished=[*finished("a", 50, 100, 150), *finished("b", 80, 120), *finished("c", 300)],
    known_us=SECOND,
)


def compared(
    state: FleetState,
    new: CompiledPolicy,
    *,
    old: CompiledPolicy = OLD,
    seconds: int = 20,
    seed: int = 1,
) -> Comparison:
    """Return the comparison of both policies from a state."""
    fleet = default_fleet(state.slots)
    given = live_input(state, fleet, until_us=seconds * SECOND, seed=seed)
    return compare(given, old, new)


def shares(comparison: Comparison) -> dict[str, tuple[float, float]]:
    """Return each tenant's share under both policies."""
    return {each.lanes[0][1]: (each.old.share, each.new.share) for each in comparison.lanes}


def test_the_same_seed_gives_the_same_prediction() -> None:
    """The result depends on the state, the policies and the seed alone."""
    new = weighing("a", 10)

    found = compared(BACKLOG, new, seed=7)

    assert found == compared(BACKLOG, new, seed=7)
    assert found != compared(BACKLOG, new, seed=8)


def test_the_same_policy_gives_equal_columns() -> None:
    """Any difference between the columns comes from the policies."""
    same = compared(BACKLOG, policy("{}"))

    assert same.lanes
    assert all(each.old == each.new for each in (*same.lanes, same.total))


def test_a_tenant_that_weighs_ten_times_as_much_gets_ten_twelfths() -> None:
    """Over a backlog that does not end, shares of slot-seconds follow the weights."""
    found = shares(compared(BACKLOG, weighing("c", 10)))

    for tenant, expected in {"a": (4, 1), "b": (4, 1), "c": (4, 10)}.items():
        assert expected == pytest.approx([12 * share for share in found[tenant]], abs=0.4)


def test_a_limit_is_kept() -> None:
    """A tenant that may have two of eight slots has a quarter of them at most."""
    limited = "{queues: [{match: {queue: q}, tenants: {default: {slots: {limit: 2}}}}]}"
    alone = replace(
        BACKLOG, waiting=waiting("a", 9, more=True), rows=(), finished=finished("a", 90)
    )

    total = compared(alone, policy(limited)).total

    assert 0.95 < total.old.share
    assert 0.2 < total.new.share <= 0.25


def test_what_runs_already_counts_against_a_limit() -> None:
    """Nothing starts next to two running jobs of a minute where two are allowed."""
    limited = "{queues: [{match: {queue: q}, tenants: {default: {slots: {limit: 2}}}}]}"
    full = replace(
        BACKLOG,
        rows=[QueueRow(n, "q", "a", n, 100 * MS, NOW_US) for n in (1, 2)],
        waiting=waiting("a", 50),
        finished=finished("a", 60_000, ago_ms=2000),
    )

    total = compared(full, policy(limited)).total

    assert (6, 0) == (total.old.started, total.new.started)


def test_rows_of_a_later_band_are_claimed_after_all_others() -> None:
    """Workers claim one band after the other, whatever the tags are."""
    rows = [
        QueueRow(1, "q", "late", 5, 100 * MS, None, 1),
        QueueRow(2, "q", "first", 900, 100 * MS, None, 0),
    ]

    queued = live_input(
        replace(BACKLOG, rows=rows), default_fleet(8), until_us=SECOND, seed=1
    ).starting.queued

    assert [1, 0] == [row.job for row in sorted(queued)]


@pytest.mark.parametrize("seed", range(5))
def test_a_running_job_takes_longer_than_it_has_run(seed: int) -> None:
    """Its run time is drawn from those still possible."""
    ran = replace(
        BACKLOG,
        rows=[QueueRow(1, "q", "a", 1, 100 * MS, NOW_US - 400 * MS)],
        finished=finished("a", 100, 200, 300, 500),
    )

    given = live_input(ran, default_fleet(8), until_us=SECOND, seed=seed)

    assert [(100 * MS, 0)] == given.starting.running


def test_jobs_whose_turn_does_not_come_are_counted() -> None:
    """All waiting jobs count, not only those that start."""
    many = replace(
        BACKLOG, waiting={**waiting("a", 4000), **waiting("b", 500)}, known_us=SECOND
    )

    total = compared(replace(many, finished=[]), OLD, seconds=2).total

    assert 4000 + 500 + 1 == total.new.jobs


def test_a_ceiling_below_what_workers_take_leaves_slots_free() -> None:
    """Two rows per tick are too few for eight slots with jobs of five milliseconds."""
    short = replace(BACKLOG, rows=(), finished=finished("a", 5, 5), known_us=1)

    total = compared(short, policy("{capacity: {depthCeiling: 2}}"), seconds=5).total

    assert total.old.share > 0.7
    assert total.new.share < 0.25
    assert total.new.started <= 2 * 5 * SECOND / (TICK_US / 2)


def test_a_rule_holds_while_its_condition_is_true() -> None:
    """The condition reads simulated time: here ten seconds before the next hour."""
    held = policy("rules: [{match: {tenant: a}, when: hour < 23, hold: true}]")
    begun_us = NOW_US - NOW_US % DAY_US + 23 * DAY_US // 24
    before = replace(
        BACKLOG,
        now_us=begun_us - 10 * SECOND,
        rows=(),
        waiting={
            key: each._replace(oldest_us=begun_us) for key, each in BACKLOG.waiting.items()
        },
        finished=(),
    )

    first = shares(compared(before, held, seconds=9))["a"]
    both = shares(compared(before, held, seconds=20))["a"]

    assert first[0] == pytest.approx(1 / 3, abs=0.05)
    assert first[1] == 0
    assert 0.1 < both[1] < 0.25


def test_a_paused_tenant_gets_nothing() -> None:
    """A lane that is paused at the start stays paused."""
    paused = replace(
        BACKLOG, paused=frozenset({("q", "c")}), arrived=(), finished=BACKLOG.finished[:3]
    )

    assert (0.0, 0.0) == shares(compared(paused, OLD))["c"]


def test_a_small_backlog_is_served_to_its_end() -> None:
    """Each waiting job starts once, and jobs in flight do not count in the waits."""
    small = replace(
        BACKLOG, waiting={**waiting("a", 30), **waiting("c", 3)}, finished=(), known_us=SECOND
    )

    total = compared(small, OLD).total

    assert (34, 34) == (total.new.jobs, total.new.started)
    assert total.new.p99 is not None
    assert not total.new.p99.more


def test_what_does_not_start_waits_longer_than_the_simulation() -> None:
    """The wait is marked as a lower bound."""
    total = compared(replace(BACKLOG, finished=finished("a", 60_000)), OLD, seconds=10).total

    assert Wait(10 * SECOND, more=True) == total.new.p50


def test_no_more_jobs_run_than_there_are_slots() -> None:
    """Jobs that a worker has prefetched do not run all at once."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, NOW_US - n * MS) for n in range(1, 21)]
    held = replace(BACKLOG, rows=rows, slots=4, waiting={})

    given = live_input(held, default_fleet(4), until_us=SECOND, seed=1)

    assert (4, 16) == (len(given.starting.running), len(given.starting.queued))
    assert all(ends_us > 0 for ends_us, _ in given.starting.running)


def test_what_came_lately_comes_again_in_each_while() -> None:
    """Recent arrivals are repeated at their distances, whether finished or not."""
    came = replace(
        BACKLOG,
        rows=(),
        waiting={},
        finished=finished("a", 10, ago_ms=700),
        arrived=(ArrivedJob("q", "b", -5, NOW_US - 200 * MS),),
    )

    given = live_input(came, default_fleet(8), until_us=2 * SECOND, seed=1)

    assert [
        Arrival(300 * MS, "q", "a", 10 * MS),
        Arrival(800 * MS, "q", "b", 10 * MS, priority=5),
        Arrival(1300 * MS, "q", "a", 10 * MS),
        Arrival(1800 * MS, "q", "b", 10 * MS, priority=5),
    ] == list(given.jobs)


def test_recorded_traffic_is_played_from_its_start() -> None:
    """A quiet tenant's job passes a flood under both policies."""
    trace = [*(Arrival(0, "q", "flood", 100 * MS) for _ in range(200))]
    trace += [Arrival(second * SECOND, "q", "quiet", 10 * MS) for second in range(1, 5)]
    given = recorded_input(
        RecordedTraffic(jobs=sorted(trace)), default_fleet(4), until_us=60 * SECOND
    )

    found = {each.lanes[0][1]: each for each in compare(given, OLD, weighing("flood", 9)).lanes}

    assert found["quiet"].old.p99 is not None
    assert found["quiet"].old.p99.us < 200 * MS
    assert found["flood"].old.p99 is not None
    assert not found["flood"].old.p99.more


def test_recorded_traffic_that_came_at_once_is_played_to_its_end() -> None:
    """The simulation continues after the last arrival until the work is done."""
    trace = [Arrival(0, "q", "batch", 100 * MS) for _ in range(200)]
    given = recorded_input(RecordedTraffic(jobs=trace), default_fleet(4), until_us=60 * SECOND)

    (batch,) = compare(given, OLD, OLD).lanes

    assert 5 * SECOND <= given.until_us < 6 * SECOND
    assert batch.old.p99 is not None
    assert not batch.old.p99.more


def test_history_is_a_trace() -> None:
    """Sorted by when jobs became runnable; those from before the known time are left out."""
    early = FinishedJob("q", "x", 0, NOW_US - 2 * SECOND, NOW_US - 1, NOW_US)
    past = replace(
        BACKLOG, finished=[*finished("a", 20, ago_ms=100), *finished("b", 30), early]
    )

    assert [
        Arrival(0, "q", "b", 30 * MS),
        Arrival(400 * MS, "q", "a", 20 * MS),
    ] == traffic_of_history(past, 1).jobs


def test_tenants_beyond_the_first_are_counted_together() -> None:
    """The tenants that the new policy changes most are listed one by one."""
    many = {key: each for n in range(30) for key, each in waiting(f"t{n}", 40).items()}
    given = live_input(
        replace(BACKLOG, waiting=many, rows=()),
        default_fleet(8),
        until_us=10 * SECOND,
        seed=1,
    )

    found = compare(given, OLD, weighing("t9", 50), lanes_max=5)

    assert ("q", "t9") == found.lanes[0].lanes[0]
    assert found.other is not None
    assert (5, 28) == (len(found.lanes), len(found.other.lanes))
    assert 1.0 == pytest.approx(sum(each.new.share for each in (*found.lanes, found.other)))


def test_a_simulation_ends_after_so_many_claims() -> None:
    """The result comes within seconds, however much there is to do."""
    trace = [Arrival(0, "q", "a", MS) for _ in range(1000)]

    run = simulate(trace, FairLeader(OLD), SimulatedFleet(slots=2), 60 * SECOND, claims_max=100)

    assert run.until_us < SECOND
    assert 100 <= sum(job.claimed_us is not None for job in run.jobs) <= 102


def test_what_is_under_way_at_the_start_goes_on() -> None:
    """A running job keeps its slot until its end, and then a queued one is claimed."""
    trace = [Arrival(0, "q", "a", 300 * MS), Arrival(0, "q", "b", 100 * MS)]
    rows = [
        QueueRow(0, "q", "a", 5, 100 * MS, -200 * MS),
        QueueRow(1, "q", "b", 9, 100 * MS, None),
    ]
    order = FairLeader(OLD, inherited=InheritedState(rows=rows), jobs=trace)
    starting = StartingJobs(running=[(100 * MS, 0)], queued=[DispatchedRow(9, 1)])

    run = simulate(trace, order, SimulatedFleet(slots=1), SECOND, starting=starting)

    assert [(0, 100 * MS), (100 * MS, 200 * MS)] == [each[1:] for each in run.jobs]


@pytest.mark.parametrize(
    ("share", "wait"),
    [
        (0.25, Wait(10)),
        (0.5, Wait(20)),
        (0.75, Wait(30, more=True)),
        (1.0, Wait(90, more=True)),
    ],
)
def test_a_percentile_among_jobs_that_have_not_started_is_a_bound(
    share: float, wait: Wait
) -> None:
    """A job that has waited 15 until the end may be the one that waits longest."""
    waits = Waits(started_us=[20, 10], unstarted_us=[30], unread=1, until_us=90)

    assert wait == waits.percentile(share)
    assert Waits().percentile(share) is None
