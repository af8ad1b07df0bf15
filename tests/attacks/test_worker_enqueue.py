"""A worker's handlers enqueue; a login that is bound to pools tries it in queues of others."""

import psycopg
import pytest
from psycopg import errors

from fairlead.db.migrate import migrate
from tests.attacks.test_scheduler import allowed
from tests.support import race
from tests.support.logins import LogIn, as_login, login
from tests.support.race import Database
from tests.support.worker_logins import queue, register

JOB = "INSERT INTO fairlead.jobs (queue, tenant, kind) VALUES (%s, %s, 'k') RETURNING id"
REFUSED = (
    "SELECT payload FROM fairlead.jobs",
    "SELECT kind FROM fairlead.jobs",
    "SELECT id FROM fairlead.jobs FOR UPDATE",
    "INSERT INTO fairlead.jobs (kind, attempts) VALUES ('k', 1)",
    "INSERT INTO fairlead.jobs (kind, enqueued_by) VALUES ('k', 'victim')",
    "INSERT INTO fairlead.jobs (kind, seq) VALUES ('k', 0)",
    "UPDATE fairlead.jobs SET priority = 1",
    "DELETE FROM fairlead.jobs",
    "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '* * * * *', 'k')",
    "SELECT * FROM fairlead.schedules",
    "SELECT * FROM fairlead.job_status",
    "SELECT * FROM fairlead.list_jobs()",
    "SELECT fairlead.cancel(1)",
    "SELECT fairlead.explain(1)",
    "SELECT setval('fairlead.places', 1)",
)


@pytest.fixture(params=[False, True], ids=["open", "isolated"])
def rls(request: pytest.FixtureRequest, db: Database) -> bool:
    """Install row-level security by tenant or not, and tell."""
    by_tenant = bool(request.param)
    migrate(db, rls=by_tenant)
    return by_tenant


@pytest.fixture
def thief(log_in: LogIn) -> Database:
    """Return the session of the login that attacks."""
    return log_in("fairlead_worker")


@pytest.fixture
def bound(db: Database, thief: Database) -> Database:
    """Bind the attacking login to the pool default."""
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'default')", [thief.info.user])
    return thief


def refused(session: Database, name: str, tenant: str = "") -> bool:
    """Return whether a login may not insert into a queue."""
    try:
        session.execute(JOB.encode(), [name, tenant])
    except errors.InsufficientPrivilege as error:
        assert "row-level security" in str(error)  # noqa: PT017 - what refuses it
        return True
    return False


@pytest.mark.usefixtures("rls")
def test_to_enqueue_is_all_that_a_worker_may_do_to_jobs(thief: Database) -> None:
    """It neither lists nor cancels them, and makes no schedules."""
    assert [] == allowed(thief, REFUSED)


@pytest.mark.usefixtures("rls")
def test_a_worker_sees_the_ids_of_what_it_enqueued_and_no_other(
    db: Database, thief: Database
) -> None:
    """Whatever tenant it enqueued for."""
    race.insert(db, count=2)
    (own,) = thief.execute(JOB, ["mail", "acme"]).fetchall()

    assert [own] == thief.execute("SELECT id FROM fairlead.jobs").fetchall()


@pytest.mark.usefixtures("rls")
def test_a_bound_login_enqueues_only_where_it_holds_a_job(
    db: Database, bound: Database
) -> None:
    """For any tenant: its handlers fan out. From when it has claimed until it has finished."""
    assert refused(bound, "default")
    queue(db)
    worker = register(bound)
    assert refused(bound, "default")
    lease = race.claim_one(bound, worker)

    assert not refused(bound, "default", "acme")
    assert refused(bound, "payments")
    assert refused(bound, "payments", "acme")
    race.finish(bound, [lease])
    assert refused(bound, "default")


def test_a_statement_of_many_rows_is_refused_for_one(db: Database, bound: Database) -> None:
    """The queues are looked up once for all of its rows."""
    queue(db)
    race.claim_one(bound, register(bound))

    with pytest.raises(
        errors.InsufficientPrivilege, match="bound_workers_enqueue_where_they_hold_a_job"
    ):
        bound.execute(
            "INSERT INTO fairlead.jobs (queue, kind) VALUES ('default', 'k'), ('other', 'k')"
        )
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()


@pytest.mark.usefixtures("rls")
def test_what_others_hold_opens_no_queue(db: Database, bound: Database, log_in: LogIn) -> None:
    """Not another login's worker, and not one of its own that was declared dead."""
    queue(db)
    other = log_in("fairlead_worker")
    race.claim_one(other, register(other))
    assert refused(bound, "default")

    queue(db)
    dead = register(bound)
    race.claim_one(bound, dead)
    assert not refused(bound, "default")
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [dead])
    assert refused(bound, "default")


@pytest.mark.usefixtures("rls")
def test_a_member_of_a_bound_login_is_bound_too(database_url: str, bound: Database) -> None:
    """A handler that logs in by itself enqueues where its worker may."""
    with (
        login(database_url, str(bound.info.user)) as handler,
        psycopg.connect(as_login(database_url, handler), autocommit=True) as session,
    ):
        assert refused(session, "payments")
        with psycopg.connect(database_url, autocommit=True) as db:
            queue(db)
        race.claim_one(bound, register(bound))

        assert refused(session, "payments")
        assert not refused(session, "default")


def test_a_bound_login_that_is_an_application_too_has_what_that_has(
    db: Database, bound: Database, *, rls: bool
) -> None:
    """Every queue, or with row-level security by tenant its tenants in every queue."""
    db.execute(f"GRANT fairlead_enqueue TO {bound.info.user}".encode())
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [bound.info.user])

    assert not refused(bound, "payments", "acme")
    assert rls == refused(bound, "payments", "other")


@pytest.mark.usefixtures("bound", "rls")
def test_a_login_that_is_bound_to_no_pool_enqueues_everywhere(log_in: LogIn) -> None:
    """It claims everywhere, too. Binding one login binds no other."""
    other = log_in("fairlead_worker")

    assert not refused(other, "payments", "acme")
