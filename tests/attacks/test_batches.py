"""A login uses its own batches alone: it neither sees, joins nor closes another's."""

from collections.abc import Callable

import psycopg
import pytest
from psycopg import errors

from fairlead.db.migrate import migrate
from tests.support import race
from tests.support.batches import NOT_JOINED, add, completions, finish, make, settle
from tests.support.logins import LogIn
from tests.support.race import Database, lead
from tests.support.worker_logins import register

REFUSED = (
    "SELECT * FROM fairlead.batch_jobs",
    "INSERT INTO fairlead.batch_jobs (batch, job_id) VALUES (1, 1)",
    "DELETE FROM fairlead.batch_jobs",
    "INSERT INTO fairlead.batches (kind, created_by) VALUES ('k', 'victim')",
    "INSERT INTO fairlead.batches (kind, succeeded) VALUES ('k', 1000000)",
    "INSERT INTO fairlead.batches (kind, completed_at) VALUES ('k', now())",
    "UPDATE fairlead.batches SET open = true",
    "SELECT id FROM fairlead.batches FOR UPDATE",
    "DELETE FROM fairlead.batches",
    "SELECT fairlead._settle_batches(1, 0, 500, 2000, 90)",
    "SELECT fairlead._forget_batches(1, 0, 1000)",
    "SELECT fairlead._erase_batches('', 0, 1000)",
    "SELECT fairlead._count_batch(b, 1) FROM fairlead.batches b",
    "UPDATE fairlead.jobs SET batch = 1",
)


@pytest.fixture
def epoch(db: Database) -> int:
    """Return the epoch of a leader."""
    return lead(db)


def sqlstate(call: Callable[[], object]) -> str | None:
    """Return how a call is refused; None: it is not."""
    try:
        call()
    except psycopg.Error as error:
        return error.sqlstate
    return None


@pytest.mark.parametrize("role", ["fairlead_enqueue", "fairlead_worker"])
def test_to_insert_and_to_close_is_all_that_a_login_may_do(
    db: Database, log_in: LogIn, role: str
) -> None:
    """The counts, the notes and the end are the leader's."""
    make(db)
    attacker = log_in(role)
    make(attacker)

    answers = {attempt: refused(attacker, attempt) for attempt in REFUSED}

    assert {} == {attempt: said for attempt, said in answers.items() if said != "42501"}


def refused(session: Database, attempt: str) -> str | None:
    """Return how a statement is refused."""
    return sqlstate(lambda: session.execute(attempt.encode()))


@pytest.mark.parametrize("role", ["fairlead_enqueue", "fairlead_worker"])
def test_nobody_uses_the_batch_of_another_login(
    db: Database, log_in: LogIn, epoch: int, role: str
) -> None:
    """Of the same role or not; nor does a failed try hold the batch."""
    victim, attacker = log_in("fairlead_enqueue"), log_in(role)
    batch = make(victim, is_open=True)

    with attacker.transaction():
        assert NOT_JOINED == sqlstate(lambda: in_savepoint(attacker, batch))
        assert [(None,)] == attacker.execute(
            "SELECT fairlead.close_batch(%s)", [batch]
        ).fetchall()
        assert [] == attacker.execute("SELECT FROM fairlead.batches").fetchall()
        victim.execute("SELECT fairlead.close_batch(%s)", [batch])
        assert 1 == settle(db, epoch).completed

    assert [] == db.execute("SELECT FROM fairlead.jobs WHERE batch IS NOT NULL").fetchall()


def in_savepoint(session: Database, batch: int) -> None:
    """Add a job to a batch in a savepoint, so that the transaction goes on after a refusal."""
    with session.transaction():
        add(session, batch)


def test_a_batch_is_its_tenants_where_tenants_are_apart(db: Database, log_in: LogIn) -> None:
    """Whichever login of the tenant made it, and no other tenant's."""
    migrate(db, rls=True)
    first, second, other = (log_in("fairlead_enqueue") for _ in range(3))
    for session, tenant in ((first, "acme"), (second, "acme"), (other, "other")):
        db.execute(
            "INSERT INTO fairlead.tenant_logins VALUES (%s, %s)", [session.info.user, tenant]
        )
    batch = make(first, tenant="acme", is_open=True)
    job = "INSERT INTO fairlead.jobs (tenant, kind, batch) VALUES (%s, 'k', %s)"

    second.execute(job, ["acme", batch])
    assert NOT_JOINED == sqlstate(lambda: other.execute(job, ["other", batch]))
    assert "42501" == sqlstate(lambda: make(other, tenant="acme"))
    assert [] == other.execute("SELECT FROM fairlead.batches").fetchall()
    assert [(True,)] == second.execute("SELECT fairlead.close_batch(%s)", [batch]).fetchall()
    assert [("close_batch", "acme", {"batch": batch})] == db.execute(
        "SELECT verb, tenant, details FROM fairlead.audit WHERE verb = 'close_batch'"
    ).fetchall()


@pytest.mark.parametrize("by_tenant", [False, True])
def test_a_worker_adds_to_a_batch_while_it_runs_one_of_its_jobs(
    db: Database, log_in: LogIn, epoch: int, *, by_tenant: bool
) -> None:
    """From its claim to its end; a worker that runs another batch's job does not."""
    migrate(db, rls=by_tenant)
    worker, other = log_in("fairlead_worker"), log_in("fairlead_worker")
    batch, another = make(db), make(db)
    runs: dict[Database, race.Lease] = {}
    for session, of_batch in ((worker, batch), (other, another)):
        (job,) = add(db, of_batch)
        assert (job,) == race.dispatch(db, [job], epoch=epoch)
        assert NOT_JOINED == sqlstate(lambda: add(session, of_batch))  # noqa: B023 - called within the loop
        runs[session] = race.claim_one(session, register(session))

    (child,) = add(worker, batch)
    assert NOT_JOINED == sqlstate(lambda: add(other, batch))
    race.finish(worker, [runs[worker]])
    assert NOT_JOINED == sqlstate(lambda: add(worker, batch))

    finish(db, [child])
    assert 1 == settle(db, epoch).completed
    assert [{"id": batch, "jobs": 2, "succeeded": 2}] == completions(db)


@pytest.mark.parametrize("by_tenant", [False, True])
def test_a_bound_login_completes_batches_where_it_holds_a_job_alone(
    db: Database, log_in: LogIn, *, by_tenant: bool
) -> None:
    """The completion would be a job in a queue of another pool."""
    migrate(db, rls=by_tenant)
    thief = log_in("fairlead_worker")
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'default')", [thief.info.user])
    made = "INSERT INTO fairlead.batches (queue, kind) VALUES (%s, 'k') RETURNING id"
    assert "42501" == sqlstate(lambda: thief.execute(made, ["default"]))
    race.queue_one(db)
    race.claim_one(thief, register(thief))

    (mine,) = thief.execute(made, ["default"]).fetchall()

    add(thief, mine[0])
    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        thief.execute(made, ["payments"])


def test_a_login_has_so_many_batches_that_are_not_over(
    db: Database, log_in: LogIn, epoch: int
) -> None:
    """Of a tenant, and in all; others' do not count, and neither do those that are over."""
    mine, others = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    many = (
        "INSERT INTO fairlead.batches (kind, tenant) SELECT 'k', %s FROM generate_series(1, %s)"
    )
    mine.execute(many, ["t", 1000])

    assert "FL005" == sqlstate(lambda: make(mine, tenant="t"))
    make(others, tenant="t")
    for tenant in range(9):
        mine.execute(many, [str(tenant), 1000])
    with pytest.raises(psycopg.Error, match="this login has 10,000 batches") as full:
        make(mine, tenant="new")
    assert "FL005" == full.value.sqlstate

    assert 50 < settle(db, epoch, batches=1000).completed
    make(mine, tenant="t")
