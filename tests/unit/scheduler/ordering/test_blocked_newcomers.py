"""Newcomers that the reserve for short jobs blocks, and whoever begins beside them."""

from tests.support.clock import LATE, MS, Member
from tests.support.clock import Bench as Clock


def blocked_names(clock: Clock, count: int) -> list[Member]:
    """Return names that came while the known ones were idle, and that the reserve blocks."""
    names = [clock.add() for _ in range(count)]
    for name in names:
        clock.time.enter(name, LATE)
    for name in names:
        clock.time.leave(name)
        clock.time.first_turns.hold(name.service)
    return names


def idle_clock() -> Clock:
    """Return a level with one member, which is known and idle."""
    clock = Clock(1.0)
    clock.acquaint()
    clock.serve(0, 100 * MS)
    clock.time.leave(clock.members[0])
    clock.time.pass_to(2000 * MS)
    clock.time.follow()
    return clock


def test_names_that_are_blocked_are_put_off_when_one_begins() -> None:
    """They keep no more than the places that they were given."""
    clock = idle_clock()
    names = blocked_names(clock, 40)
    known = clock.members[0]

    clock.time.enter(known, LATE)
    later = clock.time.postpone()

    assert names[1:] == later
    assert [each.start - known.start for each in later[:3]] == [100 * MS, 300 * MS, 500 * MS]


def test_a_name_that_was_blocked_competes_from_its_first_turn_on() -> None:
    """When a place is free for it, it goes where it was in the order of first turns."""
    clock = idle_clock()
    names = blocked_names(clock, 40)
    clock.time.enter(clock.members[0], LATE)
    clock.time.postpone()
    last, due = names[-1], names[-1].start

    clock.time.first_turns.let_go(last.service)
    clock.time.enter(last, LATE, resumes=True)

    assert (due, False) == (last.start, last.service.competes)


def test_names_that_were_cancelled_while_they_were_blocked_put_nobody_off() -> None:
    """Nobody waits for a first turn any more."""
    clock = idle_clock()
    for name in blocked_names(clock, 40):
        clock.time.first_turns.let_go(name.service)

    clock.time.enter(clock.members[0], LATE)

    assert [] == clock.time.postpone()


def test_one_with_several_jobs_is_no_name_when_its_place_is_free() -> None:
    """Where all are new it competes as one that is known, though it was blocked meanwhile."""
    clock = Clock(1.0)
    clock.time.pass_to(1)
    (several,) = blocked_names(clock, 1)

    clock.time.hasten(several, waits=False)
    clock.time.enter(several, LATE, resumes=True)

    assert several.service.competes
    assert 0 == clock.time.first_turns.waiting
