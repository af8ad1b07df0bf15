"""A kind of a tenant that keeps ending processes runs alone, and is tried again later."""

from fairlead_worker.parent import crash_breaker
from fairlead_worker.parent.crash_breaker import (
    FAULTS_MAX,
    OPEN_SECONDS,
    OPEN_SECONDS_MAX,
    WINDOW_SECONDS,
    CrashBreakers,
)

MAIL = ("mail", "ann")


def opened() -> CrashBreakers:
    """Return breakers of which one has opened at 0."""
    breakers = CrashBreakers()
    for job in range(FAULTS_MAX):
        breakers.fault(MAIL, job, 0.0)
    return breakers


def test_it_opens_after_several_jobs_within_the_window() -> None:
    """The last of them opens it, for a while."""
    breakers = CrashBreakers()
    before = [breakers.fault(MAIL, job, float(job)) for job in range(FAULTS_MAX - 1)]
    assert (frozenset(), {None}) == (breakers.open, {*before})

    assert OPEN_SECONDS == breakers.fault(MAIL, FAULTS_MAX, 10.0)
    assert frozenset({MAIL}) == breakers.open
    assert OPEN_SECONDS - 5.0 == breakers.open_seconds(MAIL, 15.0)


def test_the_deaths_of_one_job_count_once() -> None:
    """A single bad job is quarantined by itself, and its kind goes on."""
    breakers = CrashBreakers()

    assert {None} == {breakers.fault(MAIL, 1, float(n)) for n in range(10)}


def test_faults_that_are_long_ago_do_not_count() -> None:
    """One in ten minutes never opens it."""
    breakers = CrashBreakers()
    times = [job * WINDOW_SECONDS / (FAULTS_MAX - 1) for job in range(10)]

    assert {None} == {breakers.fault(MAIL, job, at) for job, at in enumerate(times)}


def test_it_closes_when_a_trial_ends_well_and_not_before_it_half_opens() -> None:
    """What ends well while it is open proves nothing: one in a hundred may kill."""
    breakers = opened()
    assert not breakers.ended_well(MAIL, OPEN_SECONDS - 1)
    assert frozenset({MAIL}) == breakers.open

    assert breakers.ended_well(MAIL, OPEN_SECONDS)
    assert frozenset() == breakers.open


def test_a_trial_that_fails_opens_it_for_twice_as_long_up_to_a_bound() -> None:
    """The trial is one job, and one fault."""
    breakers, now, lengths = opened(), 0.0, list[float | None]()
    for job in range(100, 106):
        now += breakers.open_seconds(MAIL, now)
        lengths.append(breakers.fault(MAIL, job, now))

    assert [120.0, 240.0, 480.0, 960.0, OPEN_SECONDS_MAX, OPEN_SECONDS_MAX] == lengths


def test_faults_while_it_is_open_do_not_prolong_it() -> None:
    """What runs alone meanwhile harms nobody."""
    breakers = opened()

    assert breakers.fault(MAIL, 50, 30.0) is None
    assert OPEN_SECONDS - 30.0 == breakers.open_seconds(MAIL, 30.0)


def test_a_fault_soon_after_it_has_closed_opens_it_again() -> None:
    """Its budget is spent; after a window without a fault it has a new one."""
    breakers = opened()
    breakers.ended_well(MAIL, OPEN_SECONDS)
    assert 2 * OPEN_SECONDS == breakers.fault(MAIL, 90, OPEN_SECONDS + 1)

    breakers.ended_well(MAIL, 1000.0)
    assert breakers.fault(MAIL, 91, 1000.0 + 2 * WINDOW_SECONDS) is None


def test_what_never_had_a_fault_is_closed() -> None:
    """There is nothing to close either."""
    breakers = CrashBreakers()

    assert (0.0, False) == (
        breakers.open_seconds(MAIL, 0.0),
        breakers.ended_well(MAIL, 0.0),
    )


def test_memory_is_bounded() -> None:
    """A tenant that is new each time is forgotten."""
    breakers = opened()
    for n in range(crash_breaker.SOURCES_MAX):
        breakers.fault(("mail", str(n)), n, 1.0)

    assert frozenset() == breakers.open
