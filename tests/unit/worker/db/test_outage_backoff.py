"""What fails repeatedly is retried with backoff, and logged twice a minute."""

import psycopg
import pytest

from fairlead.runtime.log_throttle import REMIND_SECONDS, LogThrottle
from fairlead_worker.attempts import error_class
from fairlead_worker.db.outage_backoff import Backoff


def test_rests_grow_to_a_bound_and_differ() -> None:
    """Retries back off with jitter, so that many workers never ask in step."""
    backoffs = [Backoff() for _ in range(20)]
    rests = [[backoff.failed(0.0) for _ in range(12)] for backoff in backoffs]

    assert all(0 < each[0] <= 0.1 for each in rests)
    assert all(0.75 <= rest <= 3.0 for each in rests for rest in each[-3:])
    assert 20 == len({each[-1] for each in rests})


def test_a_success_ends_the_rest_and_the_next_failure_is_a_first_one() -> None:
    """What works again is not held back by what failed before."""
    backoff = Backoff()
    for _ in range(9):
        backoff.failed(10.0)
    rested = backoff.is_failing, backoff.is_waiting(10.0)
    backoff.succeeded()

    assert (True, True) == rested
    assert (False, False) == (backoff.is_failing, backoff.is_waiting(10.0))
    assert backoff.failed(20.0) <= 0.1
    assert not backoff.is_waiting(20.2)


def test_what_lasts_is_said_twice_a_minute_and_what_changes_at_once() -> None:
    """A state that lasts is no storm of lines."""
    throttle = LogThrottle()
    said = [at for at in range(100) if throttle.due("down", float(at))]

    assert [0, 30, 60, 90] == said
    assert throttle.due("up", 99.0)
    assert not throttle.due("up", 99.0 + REMIND_SECONDS / 2)
    throttle.reset()
    assert throttle.due("up", 100.0)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (psycopg.errors.NumericValueOutOfRange(), (True, True)),
        (psycopg.errors.ProgramLimitExceeded(), (True, True)),
        (psycopg.errors.CheckViolation(), (False, True)),
        (psycopg.errors.InsufficientPrivilege(), (False, True)),
        (psycopg.errors.UndefinedTable(), (False, True)),
        (psycopg.errors.ReadOnlySqlTransaction(), (False, False)),
        (psycopg.errors.DiskFull(), (False, False)),
        (psycopg.errors.AdminShutdown(), (False, False)),
        (psycopg.OperationalError("the connection is closed"), (False, False)),
        (psycopg.InterfaceError("the connection is closed"), (False, False)),
    ],
)
def test_only_what_an_ending_says_is_its_jobs_fault(
    error: psycopg.Error, expected: tuple[bool, bool]
) -> None:
    """A table without its partition, or a server without its writes, fails no attempt."""
    assert expected == (
        error_class.is_job_fault(error),
        error_class.may_concern_some_only(error),
    )
