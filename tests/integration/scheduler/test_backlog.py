"""A lane over its backlog limit accepts no new jobs, by whatever way they come."""

import asyncio

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead.db.migrate import migrate
from fairlead.inspection.doctor.reader import Reader
from tests.conftest import Connect
from tests.integration.conftest import Fairlead
from tests.support.logins import LogIn

Database = Connection[TupleRow]
FULL = "FL005"
INSERT = "INSERT INTO fairlead.jobs (queue, tenant, kind) VALUES ('mail', 'acme', 'k')"
GATE = """
    SELECT setval('fairlead.backlog_gate',
                  bit_or(fairlead._backlog_bit(concat_ws('/', queue, tenant))))
    FROM fairlead.over_backlog
"""


def shut(db: Database, tenant: str | None = "acme", queue: str = "mail") -> None:
    """Have a lane accept no jobs, as the leader would."""
    db.execute(
        "INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)"
        " VALUES (%s, %s, 1000, 900)",
        [queue, tenant],
    )
    db.execute(GATE)


def jobs(db: Database) -> int:
    """Count the unfinished jobs."""
    row = db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()
    assert row is not None
    return int(row[0])


def refusal(db: Database, statement: str) -> psycopg.Error:
    """Run a statement that must be refused; return the error."""
    with pytest.raises(psycopg.DatabaseError) as refused:
        db.execute(statement.encode())
    assert FULL == refused.value.sqlstate
    return refused.value


def test_a_refusal_names_queue_tenant_limit_and_what_to_do(db: Database) -> None:
    """One sentence, with an SQLSTATE of its own."""
    shut(db)

    error = refusal(db, INSERT)

    assert (
        "fairlead: tenant 'acme' of queue 'mail' is at its backlog limit of 1000 unfinished "
        "jobs: insert again when some have ended, or raise backlog.limit in the policy"
    ) == error.diag.message_primary
    assert "Jobs are accepted again when 900 are left." == error.diag.message_detail
    assert ("jobs", "tenant") == (error.diag.table_name, error.diag.column_name)


def test_a_full_queue_refuses_every_tenant(db: Database) -> None:
    """The limit of the queue is over all tenants; other queues go on."""
    shut(db, None)

    assert "fairlead: queue 'mail' is at its backlog limit" in str(refusal(db, INSERT))
    db.execute(INSERT.replace("mail", "other").encode())
    assert 1 == jobs(db)


def test_the_tenant_without_a_name_is_not_the_queue(db: Database) -> None:
    """'' is a tenant as any other."""
    shut(db, "")

    refusal(db, INSERT.replace("acme", ""))
    db.execute(INSERT.encode())
    assert 1 == jobs(db)


@pytest.mark.parametrize(
    "statement",
    [
        INSERT,
        INSERT + ", ('mail', 'other', 'k')",
        INSERT + " ON CONFLICT DO NOTHING",
        INSERT.replace("'k'", "'k', now() + interval '1 hour'").replace("kind", "kind, run_at"),
        INSERT.replace("'k'", "'k', 'x'").replace("kind", "kind, dedup_key"),
        INSERT.replace("'k'", "'k', to_jsonb(repeat('x', 2000))").replace(
            "kind", "kind, payload"
        ),
    ],
)
def test_every_insert_of_a_full_lane_is_refused_whole(db: Database, statement: str) -> None:
    """Alone, among others, delayed, deduplicated, with a large payload."""
    shut(db)

    refusal(db, statement)

    assert 0 == jobs(db)


def test_a_copy_of_a_full_lane_is_refused(db: Database) -> None:
    """COPY is an INSERT."""
    shut(db)

    def copied() -> None:
        with db.cursor().copy("COPY fairlead.jobs (queue, tenant, kind) FROM STDIN") as copy:
            copy.write_row(("mail", "other", "k"))
            copy.write_row(("mail", "acme", "k"))

    with pytest.raises(psycopg.DatabaseError) as refused:
        copied()

    assert (FULL, 0) == (refused.value.sqlstate, jobs(db))


def test_a_live_dedup_key_makes_no_new_job_and_is_not_refused(db: Database) -> None:
    """A producer that enqueues the same again learns that it is there."""
    keyed = (
        "INSERT INTO fairlead.jobs (queue, tenant, kind, dedup_key)"
        " VALUES ('mail', 'acme', 'k', 'live') ON CONFLICT DO NOTHING RETURNING id"
    )
    db.execute(keyed.encode())
    shut(db)

    assert [] == db.execute(keyed.encode()).fetchall()
    assert 1 == jobs(db)


def test_what_is_unfinished_goes_on_in_a_full_lane(db: Database) -> None:
    """A retry of a scheduled job makes none, and neither do a pause and a cancel."""
    row = db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, run_at)"
        " VALUES ('mail', 'acme', 'k', now() + interval '1 hour') RETURNING id"
    ).fetchone()
    assert row is not None
    shut(db)

    assert [(row[0],)] == db.execute("SELECT fairlead.retry(%s)", [row[0]]).fetchall()
    assert [("cancelled",)] == db.execute("SELECT fairlead.cancel(%s)", [row[0]]).fetchall()


def test_an_administrators_retry_and_redrive_are_not_refused(db: Database) -> None:
    """They repeat what was admitted once, and nothing of it is lost."""
    db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind)"
        " SELECT 'mail', 'acme', 'k' FROM generate_series(1, 3)"
    )
    db.execute(
        "SELECT fairlead._end_jobs(array_agg(id), array_agg('failed'::text)) FROM fairlead.jobs"
    )
    shut(db)

    assert (True,) == db.execute(
        "SELECT fairlead.retry(min(id)) IS NOT NULL FROM fairlead.job_history"
    ).fetchone()
    assert (2,) == db.execute("SELECT fairlead.redrive('mail')").fetchone()
    assert 3 == jobs(db)


def test_an_application_can_insert_and_be_refused(db: Database, log_in: LogIn) -> None:
    """Its role is enough, and does not let it see who is over the limit."""
    application = log_in("fairlead_enqueue")
    application.execute(INSERT.encode())
    shut(db)

    refusal(application, INSERT)
    for forbidden in (
        "SELECT * FROM fairlead.over_backlog",
        "SELECT nextval('fairlead.backlog_gate')",
        "SELECT setval('fairlead.backlog_gate', 1, false)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            application.execute(forbidden.encode())


def test_another_tenants_backlog_is_not_disclosed(
    db: Database, log_in: LogIn, connect: Connect
) -> None:
    """Under row-level security a foreign tenant is refused as such, full or not."""
    migrate(connect(), rls=True)
    application = log_in("fairlead_enqueue")
    db.execute(
        "INSERT INTO fairlead.tenant_logins VALUES (%s, 'mine')", [application.info.user]
    )
    shut(db)
    shut(db, "mine")

    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        application.execute(INSERT.encode())
    refusal(application, INSERT.replace("acme", "mine"))


def test_python_raises_over_backlog(db: Database, connect: Connect) -> None:
    """Synchronous, asynchronous, one or many: with the database's sentence."""
    shut(db)
    mine = connect(autocommit=False)

    with pytest.raises(fairlead.OverBacklog, match="tenant 'acme' of queue 'mail' is at its"):
        fairlead.enqueue(mine, "k", queue="mail", tenant="acme")
    mine.rollback()
    with pytest.raises(fairlead.OverBacklog), mine.transaction():
        fairlead.enqueue_many(
            mine.cursor(),
            [
                fairlead.NewJob(kind="k"),
                fairlead.NewJob(kind="k", queue="mail", tenant="acme"),
            ],
        )
    assert isinstance(fairlead.enqueue(mine, "k", queue="mail", tenant="other"), int)

    async def enqueue() -> None:
        async with await psycopg.AsyncConnection.connect(db.info.dsn) as session:
            await fairlead.enqueue(session, "k", queue="mail", tenant="acme")

    with pytest.raises(fairlead.OverBacklog):
        asyncio.run(enqueue())


def test_the_command_exits_2_with_the_sentence(db: Database, fairlead: Fairlead) -> None:
    """No traceback: whose limit it is, and what to do."""
    shut(db)

    said = fairlead("enqueue", "k", "--queue", "mail", "--tenant", "acme", code=2)

    assert said.startswith("fairlead: tenant 'acme' of queue 'mail' is at its backlog limit of")


def test_doctor_setup_names_the_lanes_that_are_refused(db: Database) -> None:
    """Whose INSERTs are refused, the longest refused first, with the limit."""
    shut(db)
    shut(db, None)

    _, setup = Reader(db).read_setup()

    assert (
        "tenant 'acme' of queue 'mail' (1000)",
        "queue 'mail' (1000)",
    ) == setup.over_backlog


def test_an_open_gate_is_not_looked_behind(db: Database) -> None:
    """So an INSERT costs nothing while no lane is full: only the leader opens the gate."""
    shut(db)
    db.execute("SELECT setval('fairlead.backlog_gate', 1, false)")

    db.execute(INSERT.encode())

    assert 1 == jobs(db)


def test_a_lane_that_shares_its_bit_with_a_full_one_is_not_refused(db: Database) -> None:
    """The gate only says who may be full; every lane is looked for among the rows."""
    shut(db)
    lanes = db.execute(
        "SELECT 'tenant ' || i FROM generate_series(1, 1000) i"
        " WHERE fairlead._backlog_bit('mail/tenant ' || i)"
        " = fairlead._backlog_bit('mail/acme') LIMIT 3"
    ).fetchall()

    for (tenant,) in lanes:
        db.execute(
            "INSERT INTO fairlead.jobs (queue, tenant, kind) VALUES ('mail', %s, 'k')", [tenant]
        )
    assert 3 == jobs(db)


def test_every_bit_is_one_that_the_gate_can_hold(db: Database) -> None:
    """62 of them, each positive, so that a lane shares its bit with few others."""
    assert [(62, 1, 2**61)] == db.execute(
        "SELECT count(DISTINCT b), min(b), max(b) FROM generate_series(1, 5000) i"
        " CROSS JOIN LATERAL fairlead._backlog_bit('q/' || i) b"
    ).fetchall()
