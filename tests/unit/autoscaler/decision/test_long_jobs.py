"""A full pool grows for what waits behind jobs that take longer than was learnt."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision import fleet
from fairlead_autoscaler.decision.arrival_rate import ArrivalRate
from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.fleet import is_long, remaining_seconds
from fairlead_autoscaler.decision.inputs import Demand
from fairlead_autoscaler.decision.result import State
from fairlead_autoscaler.decision.startup_delay import StartupDelays
from tests.support.autoscaling import NOW, SLOTS, TICK, demand, loads, look, pool, seconds

MEAN = 3.8
"""Seconds that jobs took until now."""
MINUTE = 60


def row(at: int) -> Demand:
    """Return what is said so many seconds after four jobs began to wait behind four others."""
    return demand(
        NOW + seconds(at),
        work=SLOTS * MEAN,
        waited=at,
        useful=2 * SLOTS,
        mean=MEAN,
        variance=1.0,
    )


def raised_after(
    *, running_seconds: int, held: int = SLOTS, useful: int = 2 * SLOTS, kept: int = 0
) -> int | None:
    """Return when a pod is added to one pod that holds so many jobs, if within a minute.

    Jobs came seldom before, and end after so many seconds each, one slot taking the next.
    """
    state = State(
        arrival_rate=ArrivalRate(quick=0.0, slow=0.0, row=row(0)),
        startup_delays=StartupDelays(seconds=(10.0,), known=frozenset(["pod-0"])),
    )
    for at in range(0, MINUTE, int(TICK.total_seconds())):
        left = remaining_seconds(age=at % running_seconds, estimate=MEAN, spread=1 / MEAN**2)
        now = NOW + seconds(at)
        needed = replace(row(at), slots_useful=useful, slots_kept=kept)
        seen = look(1, needed, jobs=loads(held, left=left, mean=MEAN))
        seen = replace(seen, now=now, cluster_at=now)
        decision = decide(state, seen, pool())
        state = decision.state
        if decision.scale is not None:
            return at
    return None


def test_a_pod_is_added_before_the_objective_is_missed() -> None:
    """Jobs of a minute hold every slot, and those before them took four seconds."""
    at = raised_after(running_seconds=MINUTE)

    assert at is not None
    assert at <= 20  # of 30 s, of which a pod's start takes ten


def test_a_pod_is_added_where_only_the_slot_kept_for_short_jobs_is_free() -> None:
    """The scheduler counts that slot, since the long job that waits needs one beside it."""
    at = raised_after(running_seconds=MINUTE, held=SLOTS - 1, useful=SLOTS + 1, kept=1)

    assert at is not None
    assert at <= 20


def test_no_pod_is_added_where_slots_come_free_as_was_learnt() -> None:
    """What waits has its turn: it is the oldest job's wait alone that is long."""
    assert None is raised_after(running_seconds=5)


@pytest.mark.parametrize(
    ("left", "mean", "expected"), [(24.0, 8.0, False), (24.1, 8.0, True), (24.1, 0.0, False)]
)
def test_a_job_is_long_that_has_three_times_the_mean_left(
    left: float,
    mean: float,
    expected: bool,  # noqa: FBT001 - a column of the table
) -> None:
    """While no job of a pool has ended, it is unknown what is long."""
    assert expected is is_long(left, mean)


@pytest.mark.parametrize(("within", "expected"), [(10, 7), (30, 4), (50, 0)])
def test_slots_are_held_that_come_free_too_late(within: float, expected: int) -> None:
    """A pod that takes no more jobs holds none: it serves nothing that waits."""
    short, long = loads(0, 3, left=30.0), loads(0, 0, SLOTS, SLOTS, left=50.0)
    inputs = look(4, jobs=(*short, *long))
    leaving = replace(inputs.workers[3], drain_until=NOW + seconds(40))
    here = fleet.of(replace(inputs, workers=(*inputs.workers[:3], leaving)))

    assert expected == here.held_slots(NOW, within)
