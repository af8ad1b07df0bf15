"""A policy that moves queues between pools: all affected pools are simulated."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from fairlead.policy import parse
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.simulation.compare import Comparison, compare
from fairlead_scheduler.simulation.engine import (
    ROUND_TRIP_US,
    JobOutcome,
    default_fleet,
    simulate,
)
from fairlead_scheduler.simulation.fair_leader import FairLeader, WaitingJobs
from fairlead_scheduler.simulation.fleet_state import FinishedJob, FleetState
from fairlead_scheduler.simulation.moved_queues import AffectedPools, MovedQueue, affected_pools
from fairlead_scheduler.simulation.replay import RecordedTraffic, recorded_input
from fairlead_scheduler.simulation.trace import Arrival
from fairlead_scheduler.simulation.workload import live_input

MS, SECOND = 1000, 1_000_000
NOW_US = 1_700_000_000 * SECOND


def pools(default: str, gpu: str, more: str = "") -> CompiledPolicy:
    """Return a policy with two pools and their queues, and further sections."""
    named = [("default", default), ("gpu", gpu)]
    listed = ", ".join(f"{{name: {name}, queues: [{queues}]}}" for name, queues in named)
    return compile_policy(parse(f"{{pools: [{listed}]{more}}}"))


TOGETHER = pools("mail, video", "train")
APART = pools("mail", "train, video")
NOWHERE = pools("mail", "train")
QUEUES = ("mail", "video", "train")


def state(
    new: CompiledPolicy,
    *,
    slots: Mapping[str, int],
    waiting: Mapping[str, int],
    rows: Sequence[QueueRow] = (),
) -> FleetState:
    """Return a backlog of 100 ms jobs under a policy with mail and video in one pool."""
    those = affected_pools("default", QUEUES, TOGETHER.routing, new.routing)
    return FleetState(
        now_us=NOW_US,
        slots=slots["default"],
        other_pools={pool: slots[pool] for pool in those.pools[1:]},
        affected=those,
        rows=rows,
        waiting={
            (queue, "", 0): WaitingJobs(jobs, more=False, oldest_us=NOW_US - SECOND)
            for queue, jobs in waiting.items()
        },
        finished=[_lasting(queue, 100 * MS) for queue in QUEUES],
    )


def _lasting(queue: str, cost_us: int) -> FinishedJob:
    return FinishedJob(queue, "", 0, NOW_US - cost_us, NOW_US - cost_us, NOW_US)


def played_out(
    of: FleetState, table: CompiledPolicy, *, seconds: int = 10
) -> tuple[JobOutcome, ...]:
    """Return the outcome of each job under a policy."""
    fleet = default_fleet(of.slots, tuple(of.other_pools.values()))
    given = live_input(of, fleet, until_us=seconds * SECOND, seed=1)
    jobs = list(given.jobs)
    order = FairLeader(
        table,
        pools=given.pools,
        moves=given.moves,
        inherited=given.inherited,
        jobs=jobs,
        draw_run_time=given.new_draw(),
    )
    return simulate(jobs, order, fleet, given.until_us, starting=given.starting).jobs


def compared(of: FleetState, new: CompiledPolicy, *, seconds: int = 10) -> Comparison:
    """Return the comparison of both policies."""
    fleet = default_fleet(of.slots, tuple(of.other_pools.values()))
    given = live_input(of, fleet, until_us=seconds * SECOND, seed=1)
    return compare(given, TOGETHER, new)


def test_where_no_queue_moves_one_pool_is_concerned() -> None:
    """Other pools with queues are not affected."""
    alone = affected_pools("default", QUEUES, TOGETHER.routing, TOGETHER.routing)

    assert AffectedPools(pools=("default",), queues=frozenset({"mail", "video"})) == alone


def test_a_move_concerns_both_pools_and_all_that_they_serve() -> None:
    """The queues of the target pool lose slots to the moved queue."""
    both = affected_pools("default", QUEUES, TOGETHER.routing, APART.routing)

    assert ("default", "gpu") == both.pools
    assert frozenset(QUEUES) == both.queues
    assert (MovedQueue("video", "default", "gpu"),) == both.moves


def test_moves_concern_those_that_other_moves_reach() -> None:
    """From pool to pool along the moves, and no further."""
    names = ("a", "b", "c", "d", "e")
    old = compile_policy(parse(f"pools: [{_pools('a', 'b', 'c', 'd', 'e')}]")).routing
    new = compile_policy(parse(f"pools: [{_pools('x', 'a', 'b', 'e', 'd')}]")).routing

    assert ("p0", "p1", "p2") == affected_pools("p0", ("a", "b", *names), old, new).pools
    assert ("p3", "p4") == affected_pools("p3", names, old, new).pools


def _pools(*queues: str) -> str:
    return ", ".join(f"{{name: p{n}, queues: [{queue}]}}" for n, queue in enumerate(queues))


def test_a_queue_that_moves_runs_where_it_moves_to() -> None:
    """It takes slots of its new pool, and frees those of the old one."""
    full = state(APART, slots={"default": 6, "gpu": 2}, waiting={"mail": 9000, "video": 9000})

    found = compared(full, APART)

    shares = {each.lanes[0][0]: (each.old.share, each.new.share) for each in found.lanes}
    assert shares["mail"] == pytest.approx((1 / 2, 3 / 4), abs=0.03)
    assert shares["video"] == pytest.approx((1 / 2, 1 / 4), abs=0.03)
    assert found.total.old.share == pytest.approx(6 / 8, abs=0.03)
    assert found.total.new.share == pytest.approx(1.0, abs=0.03)


def test_rows_of_a_queue_that_moves_are_taken_back() -> None:
    """Unclaimed rows move to the new pool; running jobs stay."""
    rows = [
        QueueRow(1, "video", "", 10, 100 * MS, NOW_US - 20 * MS, 0, "default"),
        QueueRow(2, "video", "", 20, 100 * MS, None, 0, "default"),
        QueueRow(3, "mail", "", 30, 100 * MS, None, 0, "default"),
    ]
    one = state(APART, slots={"default": 1, "gpu": 1}, waiting={}, rows=rows)

    found = {
        (job.arrival.queue, job.arrival.at_us, place): job.claimed_us
        for place, job in enumerate(played_out(one, APART))
    }

    assert found["video", 0, 0] == 0
    assert found["video", 0, 1] == ROUND_TRIP_US * 2
    assert found["mail", 0, 2] == 80 * MS + ROUND_TRIP_US


def test_a_limit_of_a_queue_counts_what_runs_where_it_was() -> None:
    """Two jobs of video may run, and two already do in its old pool."""
    rows = [
        QueueRow(n, "video", "", n, 100 * MS, NOW_US - 99 * MS, 0, "default") for n in (1, 2)
    ]
    limited = pools(
        "mail", "train, video", ", queues: [{match: {queue: video}, slots: {limit: 2}}]"
    )
    both = state(limited, slots={"default": 2, "gpu": 8}, waiting={"video": 50}, rows=rows)

    jobs = played_out(replace(both, finished=[_lasting("video", 300 * MS)]), limited, seconds=5)

    running = [
        sum(
            job.claimed_us is not None
            and job.claimed_us <= at_us < (job.ended_us or 5 * SECOND)
            for job in jobs
        )
        for at_us in range(0, 4 * SECOND, 10 * MS)
    ]
    assert 2 == max(running)
    assert len([job for job in jobs if job.ended_us]) > 20


def test_a_queue_that_no_pool_serves_waits() -> None:
    """A note says so."""
    left = state(NOWHERE, slots={"default": 4, "gpu": 4}, waiting={"mail": 40, "video": 40})

    found = compared(left, NOWHERE)

    starts = {each.lanes[0][0]: (each.old.started, each.new.started) for each in found.lanes}
    assert {"mail": (40, 40), "video": (40, 0)} == starts
    assert [
        "no pool serves queue 'video' under the new policy: it waits until the end"
    ] == left.notes


def test_a_pool_without_workers_is_named() -> None:
    """Moved jobs do not run there, and a note says so."""
    none = state(APART, slots={"default": 4, "gpu": 0}, waiting={"video": 40})

    assert 0 == compared(none, APART).total.new.started
    assert [
        "queue 'video' moves from pool 'default' to 'gpu'",
        "pool 'gpu' has no live worker: its queues wait until the end",
    ] == none.notes


def test_recorded_traffic_is_played_in_the_pools_of_each_policy() -> None:
    """A queue that shares one slot with a flood gets another pool's slot for itself."""
    trace = [Arrival(0, "mail", "", 100 * MS) for _ in range(50)]
    trace += [Arrival(0, "video", "", 100 * MS) for _ in range(10)]
    fleet = default_fleet(1, (1,))
    of = state(APART, slots={"default": 1, "gpu": 1}, waiting={})
    given = recorded_input(RecordedTraffic(jobs=trace), fleet, until_us=60 * SECOND, state=of)

    found = compare(given, TOGETHER, APART)

    video = next(each for each in found.lanes if each.lanes[0][0] == "video")
    assert video.old.p99 is not None
    assert video.new.p99 is not None
    assert video.old.p99.us > 1.8 * SECOND
    assert video.new.p99.us < 1.1 * SECOND
