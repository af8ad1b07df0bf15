"""The judge of fail-overs finds each thing that may go wrong, and excuses a tail alone."""

from dataclasses import replace

import pytest

from tests.chaos.fail_overs.orders import Acknowledged
from tests.chaos.fail_overs.verdicts import (
    TIMELINE,
    Excused,
    Standing,
    Verdict,
    judge,
    tail,
    timeline,
)
from tests.chaos.history import Ended, Event
from tests.chaos.records import Effect

FORMER, LATTER = 5, TIMELINE + 6
ORDER = Acknowledged(1, job=7, at=0.0, timeline=1, written=100)
RAN = (Event("started", 7, FORMER, 1.0, 50), Event("finished", 7, FORMER, 2.0, 50))
STANDING = Standing(
    seen=2,
    orders={1: (7, "nap")},
    unfinished=(),
    ended=[Ended(7, FORMER, "succeeded")],
    effects=(),
    claims={(7, FORMER)},
    usurped=(),
    over=(),
)
NOTHING = Excused()


def again(*events: Event, token: int = LATTER, at: float = 3.0) -> tuple[Event, ...]:
    """Return the events, and those of another attempt of the job."""
    return (
        *events,
        Event("started", 7, token, at, 51),
        Event("finished", 7, token, at + 1, 51),
    )


def wrong(
    events: tuple[Event, ...], standing: Standing, excused: Excused = NOTHING
) -> dict[str, object]:
    """Return what is wrong when everything has been read after all events."""
    seen = replace(standing, seen=len(events))
    return dict(judge(events, seen, [ORDER], excused).wrong())


def test_a_job_that_ran_once_is_right() -> None:
    """Also when another one began after the server was asked."""
    late = (*RAN, Event("started", 8, FORMER + 1, 9.0, 50))

    assert {} == wrong(RAN, STANDING)
    assert {} == judge(late, STANDING, [ORDER], NOTHING).wrong()


@pytest.mark.parametrize("orders", [{}, {1: (8, "nap")}], ids=["its row", "its job"])
def test_an_order_is_lost_when_it_or_its_job_is_gone(
    orders: dict[int, tuple[int, str]],
) -> None:
    """Both were one transaction, and each is asked for."""
    found = wrong(RAN, replace(STANDING, orders=orders))

    assert ["lost"] == list(found)


def test_only_the_order_itself_is_excused_with_a_tail() -> None:
    """One that has its row has to have its job."""
    excused = Excused(orders={1})
    gone = replace(STANDING, orders={})
    nowhere = replace(STANDING, orders={1: (8, "nap")})

    assert {} == wrong(RAN, gone, excused)
    assert {"lost": (8,)} == wrong(RAN, nowhere, excused)


def test_an_attempt_that_began_before_the_other_had_ended_overlaps_it() -> None:
    """Unless its process was killed or frozen, or the server may not know it."""
    events = again(*RAN, at=1.5)
    standing = replace(
        STANDING,
        ended=[Ended(7, LATTER, "succeeded")],
        claims={(7, FORMER), (7, LATTER)},
    )
    forgotten = replace(standing, claims={(7, LATTER)})

    assert {"overlapping": (7,)} == wrong(events, standing)
    assert {} == wrong(again(*RAN), standing)
    assert {} == wrong(events, standing, Excused(killed_at={50: 1.4}))
    assert {} == wrong(events, standing, Excused(frozen={50}))
    assert {} == wrong(events, forgotten, Excused(tails=[(0.5, 2.5)]))


def test_an_attempt_whose_claim_the_server_does_not_know_is_unknown() -> None:
    """Unless it began when a tail was lost, or later, as a worker holds what it has claimed."""
    standing = replace(STANDING, claims=set())

    assert {"unknown": ((7, FORMER),)} == wrong(RAN, standing)
    assert {"unknown": ((7, FORMER),)} == wrong(RAN, standing, Excused(tails=[(1.1, 2.5)]))
    assert {} == wrong(RAN, standing, Excused(tails=[(0.5, 0.9)]))


def test_a_job_that_begins_again_after_an_acknowledged_end_is_done_twice() -> None:
    """A handler that commits the end itself knows of it; a tail may take it back."""
    events = again(*RAN)
    standing = replace(
        STANDING,
        orders={1: (7, "book")},
        ended=[Ended(7, LATTER, "succeeded")],
        effects=[Effect(7, LATTER)],
        claims={(7, FORMER), (7, LATTER)},
    )

    assert {"twice": (7,)} == wrong(events, standing)
    assert {"twice": (7,)} == wrong(events, standing, Excused(tails=[(2.1, 2.5)]))
    assert {} == wrong(events, standing, Excused(tails=[(1.9, 2.5)]))


def test_the_end_of_an_old_attempt_is_stale() -> None:
    """The last one that began is the one that ends a job."""
    standing = replace(STANDING, claims={(7, FORMER), (7, LATTER)})

    assert {"stale": (7,)} == wrong(again(*RAN), standing)


def test_what_the_fleet_notes_of_itself_is_handed_on() -> None:
    """Dispatches that were not allowed, and jobs that did not end."""
    standing = replace(STANDING, over=["queue at 1"], usurped=(3,))

    found = judge(RAN, standing, [ORDER], NOTHING, [9])

    assert Verdict(over=("queue at 1",), usurped=(3,), stalled=(9,)) == found


def test_a_tail_has_what_was_not_surely_in_front_of_it() -> None:
    """The last order of a session may be in any place behind its beginning."""
    orders = [
        replace(ORDER, number=1, written=100, after=200),
        replace(ORDER, number=2, written=200, after=300),
        replace(ORDER, number=3, written=300, after=None),
    ]

    assert {2, 3} == tail(orders, received=250)
    assert {2, 3} == tail(orders, received=299)
    assert {3} == tail(orders, received=300)


def test_a_token_tells_the_timeline_of_its_server() -> None:
    """The first timeline adds nothing."""
    assert (1, 2) == (timeline(FORMER), timeline(LATTER))
