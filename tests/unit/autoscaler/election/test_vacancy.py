"""When a process says that it cannot lead, and that it says the last thing that it met."""

from fairlead_autoscaler.election import vacancy
from fairlead_autoscaler.election.vacancy import AFTER_SECONDS, Obstacle, Problem, Vacancy

MISSING = Problem(Obstacle.LEASE_MISSING, "404")
FORBIDDEN = Problem(Obstacle.LEASE_FORBIDDEN, "403 leases is forbidden")


def test_nothing_is_said_of_the_time_that_a_take_over_takes() -> None:
    """Thirty seconds without anybody who leads are too long."""
    begun = vacancy.observed(Vacancy(), MISSING, 100.0)
    later = vacancy.observed(begun, MISSING, 100.0 + AFTER_SECONDS)

    assert None is vacancy.overdue(begun, 100.0 + AFTER_SECONDS - 0.1)
    assert MISSING == vacancy.overdue(later, 100.0 + AFTER_SECONDS)


def test_another_problem_is_said_at_once_as_nobody_leads_still() -> None:
    """The time counts from when nobody was known to lead first."""
    begun = vacancy.observed(Vacancy(), MISSING, 100.0)

    now = vacancy.observed(begun, FORBIDDEN, 135.0)

    assert FORBIDDEN == vacancy.overdue(now, 135.0)


def test_a_leader_ends_it() -> None:
    """Whoever it is: the next time counts anew."""
    begun = vacancy.observed(Vacancy(), MISSING, 100.0)
    led = vacancy.observed(begun, None, 120.0)

    again = vacancy.observed(led, MISSING, 125.0)

    assert None is vacancy.overdue(again, 140.0)
    assert MISSING == vacancy.overdue(again, 155.0)


def test_the_sentence_says_what_the_server_said() -> None:
    """Whoever reads it need not know the word of the obstacle."""
    assert (
        "cannot lead: it has no right to read, create or update the Lease: 403 leases is"
        " forbidden" == FORBIDDEN.sentence
    )
