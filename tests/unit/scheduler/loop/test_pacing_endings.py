"""Endings may notify the loop while a limit blocks a lane, and while they are few."""

import pytest

from fairlead_scheduler.loop.pacing import EndingPacing

SECOND_US = 1_000_000


def run(
    alert: EndingPacing, *, per_second: int, limited: bool = True, start_us: int = SECOND_US
) -> int:
    """Look a hundred times a second for ten, heeding what is wanted; return the end."""
    now_us, owed = start_us, 0
    for _ in range(1000):
        owed += per_second
        endings, owed = divmod(owed, 100)
        alert.record_tick(now_us, endings=endings, limited=limited)
        alert.asked = alert.is_wanted
        now_us += SECOND_US // 100
    return now_us


def test_without_a_limit_no_ending_notifies() -> None:
    """An ending leaves something to do at once only where a lane waits for it."""
    alert = EndingPacing()
    run(alert, per_second=1, limited=False)

    assert not alert.is_wanted


@pytest.mark.parametrize(("per_second", "wanted"), [(0, True), (45, True), (120, False)])
def test_endings_notify_while_they_are_few(per_second: int, *, wanted: bool) -> None:
    """A notifying transaction holds an instance-wide lock until it is on disk."""
    alert = EndingPacing()
    run(alert, per_second=per_second)

    assert wanted == alert.is_wanted


def test_a_pace_between_the_bounds_changes_nothing() -> None:
    """Asking and calling off are statements: they do not alternate."""
    few, many = EndingPacing(), EndingPacing()
    end_us = run(few, per_second=45)
    run(few, per_second=70, start_us=end_us)
    end_us = run(many, per_second=120)
    run(many, per_second=70, start_us=end_us)

    assert (True, False) == (few.is_wanted, many.is_wanted)


def test_endings_stop_notifying_a_second_after_the_last_blocked_lane() -> None:
    """At a limit lanes are let go and held again all the time."""
    alert = EndingPacing()
    end_us = run(alert, per_second=10)
    alert.record_tick(end_us + SECOND_US // 2, endings=0, limited=False)
    soon = alert.is_wanted
    alert.record_tick(end_us + 2 * SECOND_US, endings=0, limited=False)

    assert (True, False) == (soon, alert.is_wanted)


def test_what_is_over_is_forgotten_within_seconds() -> None:
    """A burst of endings does not keep the next ones from being announced."""
    alert = EndingPacing()
    end_us = run(alert, per_second=1000)
    alert.record_tick(end_us + 3 * SECOND_US, endings=0, limited=True)

    assert alert.is_wanted
