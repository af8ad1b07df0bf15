"""Run times by kind in a simulation: a job takes as long as others of its kind did."""

from functools import partial

import pytest

from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings
from fairlead_scheduler.simulation.compare import compare
from fairlead_scheduler.simulation.engine import default_fleet
from fairlead_scheduler.simulation.fleet_state import ArrivedJob, FinishedJob, FleetState
from fairlead_scheduler.simulation.job_samples import (
    AttributesWanted,
    JobAttributes,
    attributes_wanted,
)
from fairlead_scheduler.simulation.replay import recorded_input, traffic_of_history
from fairlead_scheduler.simulation.workload import RunTimes, live_input
from tests.support.simulated import MS, NOW_US, SECOND, SLOTS, backlog_state

LONG_US = 10 * SECOND
MIXED = AttributesWanted(paths=(), queues=frozenset(), mixed=frozenset({"q"}))


def finished(tenant: str = "a", *, mails: int = 90, reports: int = 10) -> list[FinishedJob]:
    """Return jobs that finished a while ago: mails take 100 ms, reports ten seconds."""
    at_us = NOW_US - 60 * SECOND
    costs = [("mail", 100 * MS)] * mails + [("report", LONG_US)] * reports
    return [
        FinishedJob("q", tenant, 0, at_us, at_us, at_us + cost_us, kind, [])
        for kind, cost_us in costs
    ]


def attributes(kind: str, count: int) -> list[JobAttributes]:
    """Return the attributes of some jobs of a kind."""
    return [JobAttributes(kind, ())] * count


WITHOUT_RESERVE = CompiledPolicy(settings=FairSettings(short=None))
backlog = partial(backlog_state, wanted=MIXED, finished=finished())


def started(of: FleetState, seconds: int = 19) -> int:
    """Return how many jobs start within a time."""
    given = live_input(of, default_fleet(SLOTS), until_us=seconds * SECOND, seed=1)
    return compare(given, WITHOUT_RESERVE, WITHOUT_RESERVE).total.old.started


@pytest.mark.parametrize(("kind", "count"), [("report", 2 * SLOTS), ("mail", 40), ("new", 40)])
def test_what_waits_takes_as_long_as_its_kind(kind: str, count: int) -> None:
    """A backlog of reports takes ten seconds each, whatever else the tenant has run.

    A new kind is assumed to take as long as the tenant's jobs, most of which are short.
    """
    assert count == started(backlog(attributes(kind, 40)))


def test_behind_what_was_read_more_of_the_same_waits() -> None:
    """Recently finished jobs do not matter there."""
    assert 2 * SLOTS == started(backlog(attributes("report", SLOTS), jobs=4000))


def test_another_tenants_run_times_tell_how_long_a_kind_takes() -> None:
    """Where the tenant has finished none of that kind; its other kinds do not matter."""
    history = [*finished("a", reports=0), *finished("b")]

    assert 2 * SLOTS == started(backlog(attributes("report", 40), finished=history))


def test_what_came_lately_comes_again_as_what_it_is() -> None:
    """An unfinished job is repeated with its kind."""
    came = [ArrivedJob("q", "a", 0, NOW_US - 500 * MS, "report")] * 4

    # Four a second of ten seconds each are forty times a second of work for eight slots.
    assert 2 * SLOTS == started(backlog(arrived=came))


def test_what_is_in_flight_takes_as_long_as_its_kind() -> None:
    """Reports that have just started keep their slots for ten seconds."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, NOW_US) for n in range(SLOTS)]

    mails, reports = (dict(enumerate(attributes(kind, SLOTS))) for kind in ("mail", "report"))

    held = backlog(attributes("mail", 40), rows=rows, in_flight=reports)
    quick = backlog(attributes("mail", 40), rows=rows, in_flight=mails)

    assert (0, 40) == (started(held, seconds=9), started(quick, seconds=9))


def test_a_kind_has_its_own_run_times_of_a_tenant_first() -> None:
    """Then the queue's, then the tenant's other kinds, then all jobs."""
    times = RunTimes([*finished("a", reports=0), *finished("b", mails=0)], 1)
    lane, other = ("q", "a"), ("r", "a")

    assert {100 * MS} == {*times.known(lane, "mail"), *times.known(lane, "new")}
    assert {LONG_US} == {*times.known(lane, "report"), *times.known(("q", "b"))}
    assert {100 * MS, LONG_US} == {*times.known(other, "mail")}


def test_kinds_are_read_where_there_are_several() -> None:
    """Also where no policy reads attributes; with a single kind nothing is read."""
    assert MIXED == attributes_wanted(("q", "other"), (CompiledPolicy(),), {"q", "elsewhere"})
    assert attributes_wanted(("other",), (CompiledPolicy(),), {"q"}) is None


def test_what_is_drawn_is_said() -> None:
    """No note where all waiting jobs were read, and none about recorded jobs."""
    some, everything = backlog(attributes("mail", 20), jobs=60), backlog(attributes("mail", 20))
    fleet = default_fleet(SLOTS)
    past = recorded_input(traffic_of_history(some, 1), fleet, until_us=SECOND, state=some)

    (note,) = live_input(some, fleet, until_us=SECOND, seed=1).notes
    assert note.startswith("kinds are read of 20 of 60 waiting jobs; the others' are ")
    assert () == live_input(everything, fleet, until_us=SECOND, seed=1).notes
    assert () == past.notes
