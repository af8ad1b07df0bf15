"""Each policy that dispatches overstepped is found, and no other."""

import random

import pytest

from fairlead.policy import parse
from tests.chaos.ruled import (
    LIMITED,
    PRIORITIES,
    RATED,
    Allowed,
    Dispatch,
    document,
    drawn,
    over,
    over_rate,
)

NARROW = Allowed(of_queue=3, of_tenant=2, of_account=1, weight=1.0)
WIDE = Allowed(of_queue=6, of_tenant=3, of_account=3, weight=4.0)
FIRST = Dispatch(
    at=0.0,
    statement=1,
    band=1,
    queue=LIMITED,
    tenant="t1",
    account="2",
    of_queue=3,
    of_tenant=2,
    of_account=1,
    in_force=1,
    stored=1,
)


def test_what_one_version_allows_is_not_over() -> None:
    """A limit may be reached."""
    assert [] == over([FIRST], {1: NARROW})


@pytest.mark.parametrize(
    ("dispatch", "whose"),
    [
        (FIRST._replace(of_queue=4), "queue"),
        (FIRST._replace(of_tenant=3), "t1"),
        (FIRST._replace(of_account=2), "2"),
    ],
)
def test_one_job_more_than_any_version_allows_is_over(dispatch: Dispatch, whose: str) -> None:
    """Of the queue, the tenant and the account."""
    (said,) = over([dispatch], {1: NARROW})

    assert said.startswith(f"{whose} at ")


def test_a_job_without_an_account_is_free_of_that_limit() -> None:
    """A key holds the jobs that have it."""
    assert [] == over([FIRST._replace(account=None, of_account=9)], {1: NARROW})


def test_what_a_version_that_is_not_stored_yet_would_allow_is_over() -> None:
    """A limit that is raised holds until then."""
    wide = FIRST._replace(of_queue=6)

    assert [] != over([wide], {1: NARROW, 2: WIDE})
    assert [] == over([wide._replace(stored=2)], {1: NARROW, 2: WIDE})


def test_what_a_version_that_is_replaced_would_allow_is_over_from_the_next_plan_on() -> None:
    """The leader says what is in force a moment before its loop has it: a plan at most."""
    wide = FIRST._replace(of_queue=6, in_force=2, stored=2)
    versions = {1: WIDE, 2: NARROW}

    for number in (1, 2, 3):
        assert [] == over(
            [wide._replace(statement=1), wide._replace(statement=number)], versions
        )
    later = [FIRST._replace(statement=n, in_force=2, stored=2) for n in (1, 2, 3)]
    assert 1 == len(over([*later, wide._replace(statement=4)], versions))


def test_a_rate_allows_its_burst_and_one_job_for_each_stretch_of_its_time() -> None:
    """Whole jobs count: a dispatch is noted a moment after it was decided."""
    steady = [0.0, 0.0, 0.0, 0.0, 3.0, 6.0]
    rated = [FIRST._replace(queue=RATED, at=at, of_queue=9) for at in (*steady, 6.1)]

    assert 0 == over_rate([])
    assert 0 == over_rate(steady)
    assert 0 == over_rate([2.9, *steady[1:]])
    assert 1 == over_rate([*steady, 6.0])
    assert 4 == over_rate([*steady, 6.0, 6.0, 6.0, 6.0])
    assert 0 == over_rate([-100.0, *(each + 100 for each in steady)])
    assert [] == over(rated, {1: NARROW})
    assert ["1 jobs over the rate"] == over([*rated, rated[-1]], {1: NARROW})


def test_every_policy_that_is_drawn_is_one() -> None:
    """Three bands, and a limit for all that is checked."""
    chance = random.Random(7)
    for allowed in (drawn(chance) for _ in range(20)):
        policy = parse(document(allowed))
        rated, limited = policy.queues
        assert [RATED, LIMITED] == [rated.match.queue, limited.match.queue]
        assert limited.slots is not None
        assert allowed.of_queue == limited.slots.limit
        assert len(PRIORITIES) == len(policy.bands)
