"""What each role may do, proved by logins that are members of it and do it."""

import pytest
from psycopg import errors

from tests.support.logins import LogIn
from tests.support.statements import Statement, generic_plan, statements

INSERT = "INSERT INTO fairlead.jobs (kind) VALUES ('k') RETURNING id"

MAY_SET = {
    "queue": "'q'",
    "tenant": "'t'",
    "kind": "'k'",
    "payload": "'[1]'",
    "priority": "7",
    "run_at": "now() + interval '1 hour'",
    "expires_at": "now() + interval '2 hours'",
    "dedup_key": "'d'",
    "max_attempts": "3",
    "timeout": "interval '1 minute'",
    "cost_hint": "interval '1 second'",
    "headers": '\'{"traceparent": "00"}\'',
}
MAY_NOT_SET = (
    "seq",
    "created_at",
    "due_at",
    "cancel_requested_at",
    "retry_of",
    "attempts",
    "crashes",
    "losses",
    "lone_deaths",
    "last_error",
)
REFUSED_TO_APPLICATIONS = (
    "SELECT * FROM fairlead.jobs",
    "SELECT payload FROM fairlead.jobs",
    "INSERT INTO fairlead.jobs (kind) VALUES ('k') RETURNING kind",
    "UPDATE fairlead.jobs SET priority = 1",
    "DELETE FROM fairlead.jobs",
    "TRUNCATE fairlead.jobs",
    "LOCK TABLE fairlead.jobs IN ACCESS EXCLUSIVE MODE",
    "SELECT id FROM fairlead.jobs FOR UPDATE",
    "SELECT * FROM fairlead.work_queue",
    "SELECT * FROM fairlead.job_history",
    "SELECT * FROM fairlead.tenant_logins",
    "INSERT INTO fairlead.tenant_logins VALUES (current_user, 'x')",
    "UPDATE fairlead.install_options SET rls = false",
    "SELECT * FROM fairlead.queue_stats",
    "SELECT * FROM fairlead.workers",
    "UPDATE fairlead.schedules SET enabled = false",
    "DELETE FROM fairlead.schedules",
    "SELECT nextval('fairlead.tokens')",
    "SELECT setval('fairlead.places', 1)",
    "SELECT fairlead.cancel(1)",
    "SELECT fairlead.retry(1)",
    "SELECT fairlead.redrive('default')",
    "SELECT fairlead.pause('default')",
    "SELECT fairlead.resume('default')",
    "SELECT fairlead.complete(1, 1)",
    "SELECT fairlead.fail(1, 1)",
    "SELECT fairlead.extend(1, 1, '1 s')",
    "SELECT fairlead._end_jobs('{1}', '{cancelled}')",
    "SELECT fairlead.make_history_partitions(30)",
    "CREATE TABLE fairlead.mine ()",
)


def test_the_enqueue_role_sets_every_column_that_is_an_applications(log_in: LogIn) -> None:
    """The columns of the contract may be set, and the id comes back."""
    application = log_in("fairlead_enqueue")
    columns, values = ", ".join(MAY_SET), ", ".join(MAY_SET.values())

    insert = (
        f"INSERT INTO fairlead.jobs ({columns}) VALUES ({values})"
        " ON CONFLICT DO NOTHING RETURNING id"
    )

    row = application.execute(insert.encode()).fetchone()

    assert row is not None
    assert ("q", "t", "k", "scheduled", [1]) == application.execute(
        "SELECT queue, tenant, kind, state, payload FROM fairlead.job_status WHERE id = %s", row
    ).fetchone()


def test_the_enqueue_role_copies(log_in: LogIn) -> None:
    """COPY needs the same columns and no more."""
    application = log_in("fairlead_enqueue")

    with application.cursor().copy("COPY fairlead.jobs (kind, payload) FROM STDIN") as copy:
        copy.write_row(("k", "{}"))

    assert [(1,)] == application.execute("SELECT count(*) FROM fairlead.job_status").fetchall()


@pytest.mark.parametrize("column", MAY_NOT_SET)
def test_the_enqueue_role_cannot_set_a_column_of_fairleads_own(
    log_in: LogIn, column: str
) -> None:
    """Column privileges keep it so."""
    application = log_in("fairlead_enqueue")

    insert = f"INSERT INTO fairlead.jobs (kind, {column}) VALUES ('k', DEFAULT)"
    with pytest.raises(errors.InsufficientPrivilege):
        application.execute(insert.encode())


def test_the_enqueue_role_can_do_no_more_than_enqueue_and_look_at_jobs(
    log_in: LogIn,
) -> None:
    """Everything else is refused for want of privilege."""
    application = log_in("fairlead_enqueue")
    allowed: list[str] = []
    for statement in REFUSED_TO_APPLICATIONS:
        try:
            with application.transaction():
                application.execute(statement.encode())
        except errors.InsufficientPrivilege:
            continue
        allowed.append(statement)

    assert [] == allowed


def test_the_enqueue_role_inserts_schedules(log_in: LogIn) -> None:
    """An application inserts its schedules; when they were considered is not its to say."""
    application = log_in("fairlead_enqueue")
    insert = "INSERT INTO fairlead.schedules (name, cron, kind) VALUES (%s, '0 3 * * *', 'k')"

    application.execute(insert + " ON CONFLICT DO NOTHING", ["nightly"])
    application.execute(insert + " ON CONFLICT DO NOTHING", ["nightly"])

    with pytest.raises(errors.InsufficientPrivilege):
        application.execute(
            "INSERT INTO fairlead.schedules (name, cron, kind, considered_until)"
            " VALUES ('x', '* * * * *', 'k', now())"
        )


def test_a_login_without_a_role_sees_nothing(log_in: LogIn) -> None:
    """PUBLIC has no right in the schema."""
    stranger = log_in()

    with pytest.raises(errors.InsufficientPrivilege):
        stranger.execute(INSERT.encode())
    with pytest.raises(errors.InsufficientPrivilege):
        stranger.execute("SELECT FROM fairlead.job_status")


def test_the_admin_role_steers_and_never_touches_a_lease(log_in: LogIn) -> None:
    """Every function of an administrator works; the work queue is read only."""
    admin = log_in("fairlead_admin")
    job = admin.execute(INSERT.encode()).fetchone()
    assert job is not None

    assert [("cancelled",)] == admin.execute("SELECT fairlead.cancel(%s)", job).fetchall()
    assert [(job[0] + 1,)] == admin.execute("SELECT fairlead.retry(%s)", job).fetchall()
    assert [(0,)] == admin.execute("SELECT fairlead.redrive('default')").fetchall()
    admin.execute("SELECT fairlead.pause('default')")
    assert [(True,)] == admin.execute("SELECT fairlead.resume('default')").fetchall()
    for view in ("job_status", "queue_stats", "tenant_stats", "workers"):
        admin.execute(f"SELECT * FROM fairlead.{view}".encode())
    with pytest.raises(errors.InsufficientPrivilege):
        admin.execute("UPDATE fairlead.work_queue SET worker = NULL")


def test_a_member_of_the_scheduler_role_keeps_partitions(log_in: LogIn) -> None:
    """It makes, attaches, detaches concurrently and drops what another login made."""
    first, second = log_in("fairlead_scheduler"), log_in("fairlead_scheduler")

    made = first.execute("SELECT fairlead.make_history_partitions(20)").fetchall()
    name = second.execute(
        "SELECT max(relid::text) FROM pg_partition_tree('fairlead.job_history_succeeded')"
    ).fetchone()
    assert name is not None
    parent, part = "fairlead.job_history_succeeded", str(name[0])
    second.execute(f"ALTER TABLE {parent} DETACH PARTITION {part} CONCURRENTLY".encode())
    second.execute(f"DROP TABLE {part}".encode())

    assert [(12,)] == made
    assert [(1,)] == first.execute("SELECT fairlead.make_history_partitions(20)").fetchall()


@pytest.mark.parametrize(
    ("role", "statement"),
    [
        (role, statement)
        for role in ("fairlead_worker", "fairlead_scheduler")
        for statement in statements(role)
    ],
    ids=str,
)
def test_a_service_role_may_run_every_statement_of_its_service(
    log_in: LogIn, role: str, statement: Statement
) -> None:
    """PostgreSQL checks every privilege of a statement before it shows its plan."""
    service = log_in(role)

    assert generic_plan(service, statement)


@pytest.mark.parametrize("statement", statements("fairlead", "cli"), ids=str)
def test_the_admin_role_may_run_every_statement_of_the_command_line(
    log_in: LogIn, statement: Statement
) -> None:
    """What `fairlead` asks the database, an administrator may ask."""
    admin = log_in("fairlead_admin")

    assert generic_plan(admin, statement)


def test_the_autoscaler_role_reads_and_takes_its_own_lead(log_in: LogIn) -> None:
    """It reads the queue and the workers, and changes nothing but who leads."""
    autoscaler = log_in("fairlead_autoscaler")

    for relation in ("work_queue", "workers", "queue_stats", "leaders"):
        autoscaler.execute(f"SELECT * FROM fairlead.{relation}".encode())
    autoscaler.execute(
        "UPDATE fairlead.leaders SET epoch = epoch + 1 WHERE role = 'autoscaler'"
    )

    for statement in ("DELETE FROM fairlead.jobs", "UPDATE fairlead.work_queue SET band = 1"):
        with pytest.raises(errors.InsufficientPrivilege):
            autoscaler.execute(statement.encode())
