"""The agenda knows which schedule fires next, and what has to be worked out anew."""

from fairlead_scheduler.cron.timetable import Schedule, Timetable

FIRST = Schedule("", "first", "* * * * *", "UTC", "skip", 0)
SECOND = Schedule("", "second", "0 * * * *", "UTC", "skip", 0)


def planned(*entries: tuple[Schedule, int | None]) -> Timetable:
    """Return an agenda of schedules with their next fires."""
    agenda = Timetable()
    agenda.update(row for row, _ in entries)
    agenda.take_unplanned(len(entries))
    for row, at_us in entries:
        agenda.enter(row, at_us)
    return agenda


def test_what_has_not_changed_is_not_planned_anew() -> None:
    """Reading ten thousand schedules at rest plans none of them."""
    agenda = planned((FIRST, 10), (SECOND, 20))

    changed = agenda.update([FIRST, SECOND])

    assert not changed
    assert ([], 10) == (agenda.take_unplanned(9), agenda.next_us)


def test_a_change_takes_a_schedule_out_until_it_is_planned() -> None:
    """What it was to fire by its old times does not fire."""
    agenda = planned((FIRST, 10), (SECOND, 20))
    changed = FIRST._replace(cron="5 * * * *")

    assert agenda.update([changed, SECOND])

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

    assert not agenda.update([moved, SECOND])

    assert (None, 70) == (agenda.pop_due(69), agenda.next_us)
    assert moved == agenda.pop_due(70)


def test_a_schedule_that_is_gone_or_forgotten_does_not_fire() -> None:
    """A removed one is gone; a forgotten one is planned anew if the table has it still."""
    agenda = planned((FIRST, 10), (SECOND, 20))

    assert agenda.update([SECOND])
    agenda.forget(SECOND.key)

    assert None is agenda.pop_due(99)
    assert agenda.update([SECOND])
    assert [SECOND] == agenda.take_unplanned(9)


def test_changes_are_planned_a_few_at_a_time() -> None:
    """A new leader's ten thousand delay no fire for long."""
    agenda = Timetable()
    agenda.update([FIRST, SECOND])

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
        agenda.update([FIRST._replace(considered_us=at_us)])
        (row,) = agenda.take_unplanned(1)
        agenda.enter(row, at_us)

    assert len(agenda) < 10
