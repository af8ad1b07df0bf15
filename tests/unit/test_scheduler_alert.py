"""Endings may notify the loop while a limit holds somebody back, and while they are few."""

import pytest

from fairlead_scheduler.alert import Alert

SECOND_US = 1_000_000


def run(
    alert: Alert, *, per_second: int, limited: bool = True, start_us: int = SECOND_US
) -> int:
    """Look a hundred times a second for ten, heeding what is wanted; return the end."""
    now_us, owed = start_us, 0
    for _ in range(1000):
        owed += per_second
        endings, owed = divmod(owed, 100)
        alert.looked(now_us, endings=endings, limited=limited)
        alert.asked = alert.wanted
        now_us += SECOND_US // 100
    return now_us


def test_without_a_limit_no_ending_notifies() -> None:
    """An ending leaves something to do at once only where somebody waits for it."""
    alert = Alert()
    run(alert, per_second=1, limited=False)

    assert not alert.wanted


@pytest.mark.parametrize(("per_second", "wanted"), [(0, True), (45, True), (120, False)])
def test_endings_notify_while_they_are_few(per_second: int, *, wanted: bool) -> None:
    """A notifying transaction holds an instance-wide lock until it is on disk."""
    alert = Alert()
    run(alert, per_second=per_second)

    assert wanted == alert.wanted


def test_a_pace_between_the_bounds_changes_nothing() -> None:
    """Asking and calling off are statements: they do not alternate."""
    few, many = Alert(), Alert()
    end_us = run(few, per_second=45)
    run(few, per_second=70, start_us=end_us)
    end_us = run(many, per_second=120)
    run(many, per_second=70, start_us=end_us)

    assert (True, False) == (few.wanted, many.wanted)


def test_it_is_called_off_a_second_after_the_last_one_was_held_back() -> None:
    """At a limit lanes are let go and held again all the time."""
    alert = Alert()
    end_us = run(alert, per_second=10)
    alert.looked(end_us + SECOND_US // 2, endings=0, limited=False)
    soon = alert.wanted
    alert.looked(end_us + 2 * SECOND_US, endings=0, limited=False)

    assert (True, False) == (soon, alert.wanted)


def test_what_is_over_is_forgotten_within_seconds() -> None:
    """A burst of endings does not keep the next ones from being announced."""
    alert = Alert()
    end_us = run(alert, per_second=1000)
    alert.looked(end_us + 3 * SECOND_US, endings=0, limited=True)

    assert alert.wanted
