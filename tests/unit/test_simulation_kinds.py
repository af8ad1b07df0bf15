"""Run times of kinds in a simulation: a job takes as long as others of its kind did."""

from functools import partial

import pytest

from fairlead_scheduler.simulation import product
from fairlead_scheduler.simulation.comparison import compare
from fairlead_scheduler.simulation.recorded import of_history
from fairlead_scheduler.simulation.situation import Came, Ended, Situation
from fairlead_scheduler.simulation.told import Told, Wanted, wanted
from fairlead_scheduler.simulation.traffic import RunTimes, live, played
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import QueueRow
from tests.support.simulated import MS, NOW_US, SECOND, SLOTS, situation

LONG_US = 10 * SECOND
MIXED = Wanted(paths=(), queues=frozenset(), mixed=frozenset({"q"}))


def ended(tenant: str = "a", *, mails: int = 90, reports: int = 10) -> list[Ended]:
    """Return what ended a while ago: mails take a tenth of a second, and reports ten."""
    at_us = NOW_US - 60 * SECOND
    costs = [("mail", 100 * MS)] * mails + [("report", LONG_US)] * reports
    return [
        Ended("q", tenant, 0, at_us, at_us, at_us + cost_us, kind, [])
        for kind, cost_us in costs
    ]


def told(kind: str, count: int) -> list[Told]:
    """Return so many jobs of a kind."""
    return [Told(kind, ())] * count


backlog = partial(situation, wanted=MIXED, ended=ended())


def started(of: Situation, seconds: int = 19) -> int:
    """Return how many jobs start in that time."""
    scene = live(of, product.fleet(SLOTS), until_us=seconds * SECOND, seed=1)
    return compare(scene, Table(), Table()).whole.old.started


@pytest.mark.parametrize(("kind", "count"), [("report", 2 * SLOTS), ("mail", 40), ("new", 40)])
def test_what_waits_takes_as_long_as_its_kind(kind: str, count: int) -> None:
    """A backlog of reports alone takes ten seconds each, whatever else the tenant has run.

    What is new is taken for what the tenant has run, most of which is short.
    """
    assert count == started(backlog(told(kind, 40)))


def test_behind_what_was_read_more_of_the_same_waits() -> None:
    """What ended lately says nothing of it."""
    assert 2 * SLOTS == started(backlog(told("report", SLOTS), jobs=4000))


def test_another_tenants_run_times_tell_how_long_a_kind_takes() -> None:
    """Where the tenant has had none of that kind; its others are something else."""
    history = [*ended("a", reports=0), *ended("b")]

    assert 2 * SLOTS == started(backlog(told("report", 40), ended=history))


def test_what_came_lately_comes_again_as_what_it_is() -> None:
    """An unfinished job comes again with its kind."""
    came = [Came("q", "a", 0, NOW_US - 500 * MS, "report")] * 4

    # Four a second of ten seconds each are forty times a second of work for eight slots.
    assert 2 * SLOTS == started(backlog(came=came))


def test_what_is_in_flight_takes_as_long_as_its_kind() -> None:
    """Reports that have just begun hold their slots for ten seconds."""
    rows = [QueueRow(n, "q", "a", n, 100 * MS, NOW_US) for n in range(SLOTS)]

    mails, reports = (dict(enumerate(told(kind, SLOTS))) for kind in ("mail", "report"))

    held = backlog(told("mail", 40), rows=rows, in_flight=reports)
    quick = backlog(told("mail", 40), rows=rows, in_flight=mails)

    assert (0, 40) == (started(held, seconds=9), started(quick, seconds=9))


def test_a_kind_has_its_own_run_times_of_a_tenant_first() -> None:
    """Then its queue's, then the tenant's other kinds, and then anybody's."""
    times = RunTimes([*ended("a", reports=0), *ended("b", mails=0)], 1)
    lane, other = ("q", "a"), ("r", "a")

    assert {100 * MS} == {*times.known(lane, "mail"), *times.known(lane, "new")}
    assert {LONG_US} == {*times.known(lane, "report"), *times.known(("q", "b"))}
    assert {100 * MS, LONG_US} == {*times.known(other, "mail")}


def test_kinds_are_read_where_there_are_several() -> None:
    """Whether or not a policy asks for them; else nothing is read of single jobs."""
    assert MIXED == wanted(("q", "other"), (Table(),), {"q", "elsewhere"})
    assert wanted(("other",), (Table(),), {"q"}) is None


def test_what_is_drawn_is_said() -> None:
    """Nothing where all that waits was read, and nothing of what really was."""
    some, everything = backlog(told("mail", 20), jobs=60), backlog(told("mail", 20))
    fleet = product.fleet(SLOTS)
    past = played(of_history(some, 1), fleet, until_us=SECOND, of=some)

    (said,) = live(some, fleet, until_us=SECOND, seed=1).notes
    assert said.startswith("kinds are read of 20 of 60 jobs that wait; what the others have ")
    assert () == live(everything, fleet, until_us=SECOND, seed=1).notes
    assert () == past.notes
