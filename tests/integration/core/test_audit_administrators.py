"""What an administrator does to workers, their attempts and logins is in the audit log."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.logins import LogIn
from tests.support.race import Lease, run_one

ENTRIES = "SELECT verb, job_id, tenant, details, login FROM fairlead.audit ORDER BY at, id"
HOLD = "UPDATE fairlead.worker_leases SET login = %s"


@pytest.fixture
def admin(log_in: LogIn) -> Connection[TupleRow]:
    """Return an administrator's connection."""
    return log_in("fairlead_admin")


@pytest.fixture
def worker(log_in: LogIn) -> Connection[TupleRow]:
    """Return the connection of a worker's login."""
    return log_in("fairlead_worker")


@pytest.fixture
def held(db: Connection[TupleRow], worker: Connection[TupleRow]) -> Lease:
    """Return an attempt of the worker."""
    lease = run_one(db)
    db.execute(HOLD, [worker.info.user])
    return lease


@pytest.mark.usefixtures("held")
def test_a_worker_that_is_released_is_an_entry(
    admin: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """Unless there is nothing to release: it is dead, and holds nothing."""
    row = db.execute("SELECT id, name, pool FROM fairlead.worker_leases").fetchone()
    assert row is not None
    one = "SELECT fairlead._release_worker(%s)"
    jobs = "SELECT became FROM fairlead._release_jobs(%s, 0, 10)"
    assert [] == admin.execute(jobs, [row[0]]).fetchall()

    answers = [admin.execute(one, [row[0]]).fetchone() for _ in range(2)]
    assert [("queued",)] == admin.execute(jobs, [row[0]]).fetchall()
    answers.append(admin.execute(one, [row[0]]).fetchone())

    assert [(True,), (False,), (False,)] == answers
    details = dict(zip(("worker", "name", "pool"), row, strict=True))
    released = [("release_worker", None, None, details, admin.info.user)]
    jobs_of = {"worker": row[0], "jobs": 1}
    assert [*released, *released, ("release_jobs", None, None, jobs_of, admin.info.user)] == (
        db.execute(ENTRIES).fetchall()
    )


def test_a_login_that_is_bound_or_freed_is_an_entry(
    admin: Connection[TupleRow], db: Connection[TupleRow]
) -> None:
    """One a statement; what changes nothing is none."""
    admin.execute("INSERT INTO fairlead.pool_logins VALUES ('w', 'mail'), ('w', 'reports')")
    admin.execute(
        "INSERT INTO fairlead.pool_logins VALUES ('w', 'mail') ON CONFLICT DO NOTHING"
    )
    admin.execute("UPDATE fairlead.pool_logins SET pool = 'web' WHERE pool = 'mail'")
    admin.execute("INSERT INTO fairlead.tenant_logins VALUES ('a', 'acme')")
    admin.execute("DELETE FROM fairlead.tenant_logins")
    admin.execute("DELETE FROM fairlead.tenant_logins")

    found = db.execute(ENTRIES).fetchall()

    assert {admin.info.user} == {row[4] for row in found}
    assert [
        ("bind_login", None, "pool_logins", ["w: mail", "w: reports"]),
        ("unbind_login", None, "pool_logins", ["w: mail"]),
        ("bind_login", None, "pool_logins", ["w: web"]),
        ("bind_login", "acme", "tenant_logins", ["a: acme"]),
        ("unbind_login", "acme", "tenant_logins", ["a: acme"]),
    ] == [(row[0], row[2], row[3]["of"], row[3]["pairs"]) for row in found]
    assert [2, 1, 1, 1, 1] == [row[3]["rows"] for row in found]


@pytest.mark.parametrize(
    ("verb", "call"),
    [
        ("complete", "SELECT fairlead.complete(%s, %s, '1')"),
        ("fail", "SELECT fairlead.fail(%s, %s, 'x')"),
        ("extend", "SELECT fairlead.extend(%s, %s, '1 s')"),
    ],
)
def test_an_attempt_that_an_administrator_ends_is_an_entry(
    admin: Connection[TupleRow],
    worker: Connection[TupleRow],
    held: Lease,
    db: Connection[TupleRow],
    verb: str,
    call: str,
) -> None:
    """Those that its own login ends are none, or each job would be one."""
    admin.execute(call.encode(), [held.job, held.token])

    of = {"of": worker.info.user}
    assert [(verb, held.job, "", of, admin.info.user)] == db.execute(ENTRIES).fetchall()

    mine = run_one(db)
    db.execute(HOLD, [worker.info.user])
    worker.execute(call.encode(), [mine.job, mine.token])

    assert 1 == len(db.execute(ENTRIES).fetchall())


def test_a_handlers_login_ends_attempts_of_its_workers_without_an_entry(
    db: Connection[TupleRow], held: Lease, worker: Connection[TupleRow], log_in: LogIn
) -> None:
    """A member of the worker's login acts as it does."""
    handler = log_in("fairlead_worker", worker.info.user)

    handler.execute("SELECT fairlead.complete(%s, %s)", [held.job, held.token])

    assert [] == db.execute(ENTRIES).fetchall()
