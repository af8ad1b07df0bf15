"""Jobs are cancelled, run again, looked at and waited for from Python, over any connection."""

import asyncio
import threading
import time
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
import sqlalchemy
from psycopg import Connection
from psycopg.rows import TupleRow, dict_row
from sqlalchemy.orm import Session

import fairlead
from fairlead import job_control
from tests.support import race
from tests.support.logins import LogIn, as_login

_END = "SELECT fairlead._end_jobs(%s, '{failed}', '{boom}')"
_FULL = """
INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
VALUES ('default', '', 1, 0)
"""


def enqueued(db: Connection[TupleRow], count: int = 1, **fields: str) -> list[int]:
    """Insert jobs."""
    jobs = [fairlead.NewJob(kind=fields.get("kind", "k"), tenant=fields.get("tenant", ""))]
    return [*fairlead.enqueue_many(db, jobs * count)]


def test_a_job_is_cancelled_and_a_repeat_is_harmless(db: Connection[TupleRow]) -> None:
    """The answer says what became of it."""
    (job,) = enqueued(db)

    assert "cancelled" == fairlead.cancel(db, job)
    assert "finished" == fairlead.cancel(db, job)
    assert "unknown" == fairlead.cancel(db, 999)
    found = fairlead.status(db, job)
    assert found is not None
    assert ("cancelled", True) == (found.state, found.has_ended)


def test_several_are_cancelled_in_the_order_of_their_ids(db: Connection[TupleRow]) -> None:
    """So that two transactions that want each other's do not deadlock; twice named is once."""
    one, two = enqueued(db, 2)

    answers = fairlead.cancel(db, [two, 999, one, two])

    assert [(one, "cancelled"), (two, "cancelled"), (999, "unknown")] == [*answers.items()]
    assert {} == fairlead.cancel(db, [])


def test_those_of_a_tenant_are_cancelled(db: Connection[TupleRow]) -> None:
    """At most so many at a time, and no others."""
    enqueued(db, 3, tenant="acme")
    (other,) = enqueued(db, tenant="other")

    assert (2, 0) == fairlead.cancel(db, tenant="acme", jobs_max=2)
    assert job_control.CancelledJobs(1, 0) == fairlead.cancel(db, tenant="acme", kind="k")
    assert (0, 0) == fairlead.cancel(db, tenant="acme")
    assert "pending" == getattr(fairlead.status(db, other), "state", None)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({}, TypeError, "takes an id, ids, or at least one of"),
        ({"jobs": 1, "tenant": "x"}, TypeError, "give one of these ways"),
        ({"tenant": "x", "jobs_max": 0}, ValueError, "jobs_max must be 1 to 10,000, not 0"),
    ],
)
def test_what_names_no_jobs_is_refused(
    db: Connection[TupleRow],
    arguments: dict[str, object],
    error: type[Exception],
    sentence: str,
) -> None:
    """Nothing is cancelled by an argument that was forgotten."""
    with pytest.raises(error, match=sentence):
        fairlead.cancel(db, **arguments)  # type: ignore[call-overload]  # that is what is tried


def test_it_happens_in_the_callers_transaction(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """SQLAlchemy's, too, and rolled back with it."""
    engine = sqlalchemy.create_engine(
        database_url.replace("postgresql:", "postgresql+psycopg:")
    )
    (job,) = enqueued(db)
    with Session(engine) as session:
        assert "cancelled" == fairlead.cancel(session, job)
        assert "cancelled" == getattr(fairlead.status(session, job), "state", None)
        session.rollback()
        assert "pending" == getattr(fairlead.status(session, job), "state", None)
        assert fairlead.retry(session, job) == job
    engine.dispose()


def test_a_status_has_what_a_page_shows(db: Connection[TupleRow]) -> None:
    """Instants in UTC, whatever rows the connection makes."""
    later = datetime.now(UTC) + timedelta(hours=1)
    job = fairlead.enqueue(db, "k", {"a": 1}, tenant="acme", run_at=later)
    assert job is not None
    found = fairlead.status(db.cursor(row_factory=dict_row), job)

    assert found is not None
    assert ("scheduled", "k", "acme", {"a": 1}, 0, 20) == (
        found.state,
        found.kind,
        found.tenant,
        found.payload,
        found.attempt,
        found.max_attempts,
    )
    assert (later, False) == (found.run_at, found.has_ended)
    assert None is fairlead.status(db, 999)


def test_a_job_that_failed_runs_again(db: Connection[TupleRow]) -> None:
    """Under a new id, which a repeat returns while it is unfinished."""
    (job,) = enqueued(db)
    db.execute(_END, [[job]])

    again = fairlead.retry(db, job)

    assert again not in {None, job}
    assert again == fairlead.retry(db, job)
    assert job == getattr(fairlead.status(db, again or 0), "retry_of", None)
    assert None is fairlead.retry(db, 999)


def test_an_application_runs_its_own_again_within_the_backlog_limit(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """And none of others; an operator is not held by the limit."""
    mine, other = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    (job,) = enqueued(mine)
    db.execute(_END, [[job]])
    db.execute(_FULL)
    db.execute("SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/'))")

    assert None is fairlead.retry(other, job)
    with pytest.raises(fairlead.OverBacklog, match="of queue 'default' is at its"):
        fairlead.retry(mine, job)
    db.execute("DELETE FROM fairlead.over_backlog")
    again = fairlead.retry(mine, job)
    assert again is not None
    assert "pending" == getattr(fairlead.status(mine, again), "state", None)

    db.execute(_END, [[again]])
    db.execute(_FULL)
    assert fairlead.retry(log_in("fairlead_operator"), job) is not None


def test_a_wait_returns_the_result(database_url: str, db: Connection[TupleRow]) -> None:
    """Of a job that ends meanwhile, and at once of one that has ended, over a URL too."""
    (job,) = enqueued(db)
    race.dispatch(db, [job], epoch=race.lead(db))
    leases = race.claim(db, race.register(db))

    def end_it() -> None:
        with psycopg.connect(database_url, autocommit=True) as worker:
            lease = leases[0]
            race.answer(worker, "complete(%s, %s, '{\"n\": 1}')", lease.job, lease.token)

    timer = threading.Timer(0.2, end_it)
    timer.start()
    ended = fairlead.wait(db, job, timeout=30)
    timer.join()

    assert ("succeeded", {"n": 1}) == (ended.state, ended.result)
    assert ended == fairlead.wait(database_url, job, timeout=0)
    sqlalchemys = database_url.replace("postgresql:", "postgresql+psycopg:")
    assert ended == fairlead.wait(sqlalchemys, job, timeout=0)


def test_a_wait_ends_when_the_time_is_over(db: Connection[TupleRow]) -> None:
    """The job goes on, and the sentence says where it is."""
    (job,) = enqueued(db)
    began_at = time.monotonic()

    with pytest.raises(TimeoutError, match=f"job {job} is pending after 0.3 s: `fairlead expl"):
        fairlead.wait(db, job, timeout=0.3)

    assert 0.3 <= time.monotonic() - began_at
    assert "pending" == getattr(fairlead.status(db, job), "state", None)


def test_a_wait_that_could_not_end_is_refused(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """In a transaction, for no job, over another driver."""
    (job,) = enqueued(db)

    with pytest.raises(LookupError, match="there is no job 999"):
        fairlead.wait(db, 999, timeout=5)
    with pytest.raises(ValueError, match=r"timeout must be 0 to 2\.592e\+06 seconds"):
        fairlead.wait(db, job, timeout=-1)
    with pytest.raises(TypeError, match="a URL or a connection of psycopg, and not object"):
        fairlead.wait(object(), job, timeout=5)  # type: ignore[call-overload]  # that is tried
    with psycopg.connect(database_url) as other:
        with pytest.raises(TimeoutError):
            fairlead.wait(other, job, timeout=0)
        assert psycopg.pq.TransactionStatus.IDLE == other.info.transaction_status
        other.execute("SELECT 1")
        with pytest.raises(ValueError, match="in no transaction: commit or roll back before"):
            fairlead.wait(other, job, timeout=5)


def test_asynchronous_connections_are_awaited(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """With the same answers."""
    one, two = enqueued(db, 2)

    async def look_after() -> list[object]:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            said: list[object] = [
                await fairlead.cancel(connection, one),
                await fairlead.cancel(connection, [one, two]),
                await fairlead.cancel(connection, kind="k"),
                getattr(await fairlead.status(connection, two), "state", None),
            ]
            await connection.commit()
            said.append((await fairlead.wait(connection, two, timeout=5)).state)
            return [*said, await fairlead.retry(connection, 999)]

    answers = {one: "finished", two: "cancelled"}
    assert ["cancelled", answers, (0, 0), "cancelled", "cancelled", None] == asyncio.run(
        look_after()
    )


def test_another_logins_job_is_unknown(
    database_url: str, db: Connection[TupleRow], log_in: LogIn
) -> None:
    """To all of them."""
    (job,) = enqueued(db)
    mine = log_in("fairlead_enqueue")

    assert "unknown" == fairlead.cancel(mine, job)
    assert (0, 0) == fairlead.cancel(mine, kind="k")
    assert None is fairlead.status(mine, job)
    with pytest.raises(LookupError):
        fairlead.wait(as_login(database_url, mine.info.user), job, timeout=5)
