"""Deaths with nothing started make claims smaller, and time makes them larger again."""

from fairlead_worker.parent.claim_bound import (
    DOUBLES_SECONDS,
    FORGOTTEN_SECONDS,
    UNBOUNDED,
    ClaimBound,
)


def test_each_death_halves_it_down_to_one() -> None:
    """Where nothing is known of what was claimed."""
    bound, found = ClaimBound(), list[int | None]()
    for second in range(12):
        found.append(bound.at(second))
        bound.died(second)

    assert [None, 256, 128, 64, 32, 16, 8, 4, 2, 1, 1, 1] == found


def test_it_is_half_of_what_was_claimed_at_most() -> None:
    """A claim of twenty that was too large says so of ten at the earliest."""
    bound = ClaimBound()

    bound.died(0.0)
    bound.claimed(20, 0.1)
    assert 10 == bound.at(0.1)
    bound.claimed(400, 0.2)
    assert 10 == bound.at(0.2)
    bound.claimed(3, 0.3)
    assert 1 == bound.at(0.3)


def test_a_job_that_was_claimed_alone_slows_no_others_down() -> None:
    """It is to blame itself."""
    bound = ClaimBound()

    bound.claimed(1, 0.0)

    assert bound.at(0.0) is None


def test_it_doubles_with_time_until_there_is_none() -> None:
    """However long nobody has asked."""
    bound = ClaimBound()
    bound.claimed(8, 0.0)

    assert 4 == bound.at(DOUBLES_SECONDS - 0.1)
    assert 8 == bound.at(DOUBLES_SECONDS)
    assert 64 == bound.at(4.5 * DOUBLES_SECONDS)
    assert bound.at(1000 * DOUBLES_SECONDS) is None


def test_where_it_doubles_once_too_often_it_does_so_ever_more_rarely() -> None:
    """A backlog of which four fit is claimed by eight a few times only."""
    bound, now, deaths = ClaimBound(), 0.0, 0
    bound.claimed(8, 0.0)
    while now < 600:
        now += 1.0
        if (bound.at(now) or UNBOUNDED) > 4:
            bound.died(now)
            deaths += 1

    assert 4 == bound.at(now)
    assert 5 == deaths


def test_after_a_while_without_a_death_it_begins_anew() -> None:
    """What was claimed then is gone."""
    bound = ClaimBound()
    for second in (0.0, DOUBLES_SECONDS, 3 * DOUBLES_SECONDS):
        bound.claimed(8, second)
    later = 7 * DOUBLES_SECONDS + FORGOTTEN_SECONDS + 1000.0

    bound.claimed(8, later)

    assert 8 == bound.at(later + DOUBLES_SECONDS)
