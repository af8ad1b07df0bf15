"""A worker's login says from where its own jobs go on, within bounds, and of no other's."""

import psycopg
import pytest
from psycopg import errors

from tests.conftest import Connect
from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import Database, Lease, rows
from tests.support.worker_logins import queue, register

_STORED = "SELECT checkpoint FROM fairlead.jobs WHERE id = %s"


@pytest.fixture
def thief(log_in: LogIn) -> Database:
    """Return the session of the login that attacks."""
    return log_in("fairlead_worker")


@pytest.fixture
def lease(db: Database, log_in: LogIn) -> Lease:
    """Have a worker of another login run a job, and say from where it goes on."""
    queue(db)
    theirs = log_in("fairlead_worker")
    held = race.claim_one(theirs, register(theirs))
    assert ["stored"] == say(theirs, held, "1")
    return held


def say(db: Database, lease: Lease, *texts: str) -> list[object]:
    """Say it as a worker does; return what became of each."""
    values = {
        "ids": [lease.job] * len(texts),
        "tokens": [lease.token] * len(texts),
        "values": list(texts),
    }
    return [
        row["became"] for row in rows(db, "fairlead_worker.attempts", "checkpoints", values)
    ]


def test_a_worker_neither_waits_for_a_job_of_another_nor_locks_it(
    db: Database, thief: Database, lease: Lease, connect: Connect
) -> None:
    """It is told at once that it does not hold the job, whoever has locked that."""
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [lease.job])
    thief.execute("SET lock_timeout = '500ms'")

    with pytest.raises(psycopg.Error) as refused:
        thief.execute("SELECT fairlead.checkpoint(%s, %s, '2')", [lease.job, lease.token])

    assert race.STALE == refused.value.sqlstate
    holder.rollback()
    assert ["stale"] == say(thief, lease, "2")
    assert ("1",) == db.execute(_STORED, [lease.job]).fetchone()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('"' + "x" * 65_535 + '"', "is 65,537 bytes of JSON, more than 65,536"),
        ("[" * 501 + "]" * 501, "is nested more than 500 deep"),
        ("9" * 5000, "holds a number of 1e4000 or more"),
        ("[" + "1e-16383," * 5 + "1]", "is 81,9"),
    ],
)
def test_what_a_worker_says_is_bounded_as_it_is_read(
    db: Database, log_in: LogIn, text: str, sentence: str
) -> None:
    """A short text may be a long value: every claim of the job would answer that."""
    queue(db)
    worker = log_in("fairlead_worker")
    held = race.claim_one(worker, register(worker))

    with pytest.raises(errors.CheckViolation, match=f"checkpoint {sentence}"):
        say(worker, held, text)

    assert (None,) == db.execute(_STORED, [held.job]).fetchone()


def test_of_an_attempt_that_is_named_twice_the_first_counts(
    db: Database, log_in: LogIn
) -> None:
    """As wherever a login says something of attempts."""
    queue(db)
    worker = log_in("fairlead_worker")
    held = race.claim_one(worker, register(worker))

    assert ["stored", "stale"] == say(worker, held, "1", "2")

    assert ("1",) == db.execute(_STORED, [held.job]).fetchone()
