"""The agenda knows which schedule fires next, and what has to be worked out anew."""

from fairlead_scheduler.cron.timetable import Schedule, Timetable

FIRST = Schedule("", "first", "* * * * *", "UTC", "skip", 0, "q", by_admin=False)
SECOND = Schedule("", "second", "0 * * * *", "UTC", "skip", 0, "q", by_admin=False)


def planned(*entries: tuple[Schedule, int | None]) -> Timetable:
    """Return an agenda of schedules with their next fires."""
    agenda = Timetable()
    agenda.add(row for row, _ in entries)
    agenda.take_unplanned(len(entries))
    for row, at_us in entries:
        agenda.enter(row, at_us)
    return agenda


def test_what_has_not_changed_is_not_planned_anew() -> None:
    """Reading ten thousand schedules at rest plans none of them."""
    agenda = planned((FIRST, 10), (SECOND, 20))

    agenda.add([FIRST, SECOND])

    assert ([], 10) == (agenda.take_unplanned(9), agenda.next_us)


def test_a_change_takes_a_schedule_out_until_it_is_planned() -> None:
    """What it was to fire by its old times does not fire."""
    agenda = planned((FIRST, 10), (SECOND, 20))
    changed = FIRST._replace(cron="5 * * * *")

    agenda.add([changed, SECOND])

    assert [changed] == agenda.take_unplanned(9)
    assert SECOND == agenda.pop_due(20)
    assert None is agenda.pop_due(99)
    assert None is agenda.next_us


def test_a_fire_moves_a_schedule_on_and_is_no_change() -> None:
    """What the leader wrote itself comes back as it knows it."""
    agenda = planned((FIRST, 10), (SECOND, None))
    assert FIRST == agenda.pop_due(10)
    moved = FIRST._replace(considered_us=10)
    agenda.enter(moved, 70)

    agenda.add([moved, SECOND])

    assert (None, 70) == (agenda.pop_due(69), agenda.next_us)
    assert moved == agenda.pop_due(70)


def test_a_schedule_that_is_gone_or_forgotten_does_not_fire() -> None:
    """A removed one is gone; a forgotten one is planned anew if the table has it still."""
    agenda = planned((FIRST, 10), (SECOND, 20))

    agenda.keep({SECOND.key})
    agenda.forget(SECOND.key)

    assert None is agenda.pop_due(99)
    agenda.add([SECOND])
    assert [SECOND] == agenda.take_unplanned(9)


def test_changes_are_planned_a_few_at_a_time() -> None:
    """A new leader's ten thousand delay no fire for long."""
    agenda = Timetable()
    agenda.add([FIRST, SECOND])

    first, second, third = (
        agenda.take_unplanned(1),
        agenda.take_unplanned(1),
        agenda.take_unplanned(1),
    )

    assert {FIRST, SECOND} == {*first, *second}
    assert (1, 1, []) == (len(first), len(second), third)


def test_edits_without_end_leave_no_trace() -> None:
    """Entries that were overtaken are thrown away before they come due."""
    agenda = planned((FIRST, 10))
    for at_us in range(10, 1000):
        agenda.add([FIRST._replace(considered_us=at_us)])
        (row,) = agenda.take_unplanned(1)
        agenda.enter(row, at_us)

    assert len(agenda) < 10


def of(tenant: str, count: int) -> list[Schedule]:
    """Return so many schedules of a tenant."""
    return [FIRST._replace(tenant=tenant, name=f"{each}") for each in range(count)]


def test_tenants_take_turns_at_what_is_due() -> None:
    """A flood delays its own: another's schedule, due after it, fires second."""
    flood, (quiet, late) = of("flood", 100), of("quiet", 2)
    agenda = planned(*((row, 10) for row in flood), (quiet, 20), (late, 40))

    fired = [agenda.pop_due(30) for _ in range(4)]

    assert [flood[0], quiet, flood[1], flood[10]] == fired


def test_one_that_comes_due_during_a_flood_has_the_next_turn() -> None:
    """However many of another tenant came due before it."""
    flood, (quiet,) = of("flood", 100), of("quiet", 1)
    agenda = planned(*((row, 10) for row in flood), (quiet, 40))
    before = [agenda.pop_due(30) for _ in range(50)]

    fired = [agenda.pop_due(40) for _ in range(2)]

    assert (quiet in before, quiet in fired) == (False, True)


def test_a_flood_is_due_until_the_last_of_it_has_fired() -> None:
    """Each fires once, and the runner does not rest in between."""
    flood = of("flood", 100)
    agenda = planned(*((row, 10) for row in flood))

    fired = [(agenda.pop_due(30), agenda.next_us) for _ in range(100)]

    assert {*flood} == {row for row, _ in fired}
    assert [0] * 99 + [None] == [next_us for _, next_us in fired]
    assert None is agenda.pop_due(30)


def test_a_due_schedule_that_changes_before_its_turn_is_planned_anew() -> None:
    """What it was to fire by its old times does not fire."""
    first, second = of("flood", 2)
    agenda = planned((first, 10), (second, 10))
    assert first == agenda.pop_due(30)
    agenda.enter(first, 70)
    changed = second._replace(cron="5 * * * *")

    agenda.add([first, changed])

    assert (None, [changed]) == (agenda.pop_due(30), agenda.take_unplanned(9))


def test_tenants_take_turns_at_being_planned() -> None:
    """Another tenant's edit waits for one of a flood's, and not for all of them."""
    flood, (quiet,) = of("flood", 100), of("quiet", 1)
    agenda = Timetable()
    agenda.add([*flood, quiet])

    assert quiet in agenda.take_unplanned(2)


def test_what_was_taken_and_not_entered_is_planned_anew() -> None:
    """An error between the two silences no schedule."""
    agenda = planned((FIRST, 10), (SECOND, 20))
    agenda.pop_due(30)
    agenda.pop_due(30)
    agenda.enter(FIRST, 40)

    assert {SECOND.key} == agenda.forget_taken()
    agenda.add([FIRST, SECOND])
    assert [SECOND] == agenda.take_unplanned(9)
    assert {SECOND.key} == agenda.forget_taken()
    assert set() == agenda.forget_taken()
    assert FIRST == agenda.pop_due(40)
