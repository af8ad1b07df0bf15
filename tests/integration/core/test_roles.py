"""What each role may do, proved by logins that are members of it and do it."""

from collections.abc import Sequence

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

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
    "suspect",
    "last_error",
    "enqueued_by",
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
    "UPDATE fairlead.schedules SET created_by = 'x'",
    "TRUNCATE fairlead.schedules",
    "SELECT nextval('fairlead.tokens')",
    "SELECT setval('fairlead.places', 1)",
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
REFUSED_TO_WORKERS = (
    "SELECT payload FROM fairlead.jobs",
    "UPDATE fairlead.jobs SET attempts = 0",
    "SELECT id FROM fairlead.jobs FOR UPDATE",
    "INSERT INTO fairlead.work_queue (job_id) VALUES (1)",
    "INSERT INTO fairlead.attempt_errors (job_id, attempt, ended_as) VALUES (1, 1, 'lost')",
    "UPDATE fairlead.job_history SET outcome = 'failed'",
    "DELETE FROM fairlead.job_history",
    "UPDATE fairlead.claim_floors SET vtag = 0",
    "UPDATE fairlead.leaders SET epoch = 1",
    "SELECT * FROM fairlead.receipts",
    "SELECT fairlead.cancel(1)",
    "SELECT fairlead._end_jobs('{1}', '{succeeded}')",
    "SELECT fairlead._steal(0, '{1}', '{1}', '{}')",
)
REFUSED_TO_ADMINISTRATORS = (
    "UPDATE fairlead.jobs SET priority = 1",
    "DELETE FROM fairlead.jobs",
    "SELECT id FROM fairlead.jobs FOR UPDATE",
    "INSERT INTO fairlead.jobs (kind, attempts) VALUES ('k', 1)",
    "UPDATE fairlead.work_queue SET worker = NULL",
    "DELETE FROM fairlead.job_history",
    "UPDATE fairlead.schedules SET considered_until = now()",
    "UPDATE fairlead.worker_leases SET lease_until = 'infinity'",
    "UPDATE fairlead.worker_leases SET dead_at = now()",
    "SELECT fairlead._end_attempts('{1}', '{1}', '{lost}', '{x}', '{0}')",
    "UPDATE fairlead.leaders SET epoch = 1",
    "UPDATE fairlead.install_options SET rls = false",
    "SELECT setval('fairlead.tokens', 1)",
    "SELECT fairlead._end_jobs('{1}', '{succeeded}')",
    "SELECT fairlead._steal(0, '{1}', '{1}', '{}')",
    "SELECT fairlead._recall(0, '{1}')",
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


def test_the_enqueue_role_inserts_many_rows_and_passes_over_duplicates(log_in: LogIn) -> None:
    """In one statement, with a conflict's target or without, whoever holds the key."""
    first, second = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    insert = (
        "INSERT INTO fairlead.jobs (kind, dedup_key) SELECT 'k', d FROM unnest(%s::text[]) d"
    )
    target = "(queue, tenant, dedup_key) WHERE dedup_key IS NOT NULL"

    made = [
        login.execute(
            f"{insert} ON CONFLICT {on} DO NOTHING RETURNING id".encode(), [keys]
        ).rowcount
        for login, on, keys in (
            (first, "", ["a", "b"]),
            (first, target, ["b", "c"]),
            (second, "", ["a", "c", "d"]),
            (second, target, ["d", "e"]),
        )
    ]

    assert [2, 1, 1, 1] == made


def test_copy_is_refused_to_the_enqueue_role(log_in: LogIn) -> None:
    """PostgreSQL has no COPY into a table whose rows are checked for each login."""
    application = log_in("fairlead_enqueue")

    with (
        pytest.raises(errors.FeatureNotSupported, match="row-level security"),
        application.cursor().copy("COPY fairlead.jobs (kind) FROM STDIN") as copy,
    ):
        copy.write_row(("k",))


def test_the_enqueue_role_cannot_set_a_column_of_fairleads_own(log_in: LogIn) -> None:
    """Column privileges keep it so."""
    application = log_in("fairlead_enqueue")

    for column in MAY_NOT_SET:
        insert = f"INSERT INTO fairlead.jobs (kind, {column}) VALUES ('k', DEFAULT)"
        with pytest.raises(errors.InsufficientPrivilege):
            application.execute(insert.encode())


@pytest.mark.parametrize(
    ("role", "refused"),
    [
        ("fairlead_enqueue", REFUSED_TO_APPLICATIONS),
        ("fairlead_worker", REFUSED_TO_WORKERS),
        ("fairlead_admin", REFUSED_TO_ADMINISTRATORS),
    ],
)
def test_a_role_can_do_no_more_than_its_work(
    log_in: LogIn, role: str, refused: tuple[str, ...]
) -> None:
    """Everything else is refused for want of privilege; lists of what would do harm."""
    someone = log_in(role)
    allowed: list[str] = []
    for statement in refused:
        try:
            with someone.transaction():
                someone.execute(statement.encode())
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
    for view in ("job_status", "queue_stats", "tenant_stats", "tenant_shares", "workers"):
        admin.execute(f"SELECT * FROM fairlead.{view}".encode())
    admin.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '* * * * *', 'k')"
    )
    admin.execute("UPDATE fairlead.schedules SET enabled = false, cron = '0 3 * * *'")
    assert [(1,)] == admin.execute("SELECT fairlead.remove_schedules('')").fetchall()
    admin.execute("INSERT INTO fairlead.tenant_logins VALUES ('acme_app', 'acme')")
    admin.execute("DELETE FROM fairlead.tenant_logins")


def test_a_member_of_the_scheduler_role_keeps_partitions(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """It makes and drops them by functions; the tables are the owner's."""
    someone = log_in("fairlead_scheduler")
    someone.execute(
        "SELECT fairlead.make_history_partitions()"
    )  # it may be past midnight by now
    old = db.execute(
        "SELECT fairlead._history_partition('succeeded', current_date - 40)"
    ).fetchone()
    assert old is not None
    db.execute(f"CREATE TABLE fairlead.{old[0]} (LIKE fairlead.job_history)".encode())

    made = someone.execute("SELECT fairlead.make_history_partitions(20)").fetchall()
    dropped = someone.execute("SELECT * FROM fairlead.drop_history_partitions(7, 30)")

    assert [(12,)] == made
    assert [(old[0], "dropped")] == dropped.fetchall()


@pytest.mark.parametrize("role", ["fairlead_worker", "fairlead_scheduler"])
def test_a_service_role_may_run_every_statement_of_its_service(
    log_in: LogIn, role: str
) -> None:
    """PostgreSQL checks every privilege of a statement before it shows its plan."""
    assert [] == refused(log_in(role), statements(role))


def test_the_admin_role_may_run_every_statement_of_the_command_line(log_in: LogIn) -> None:
    """What `fairlead` asks the database, an administrator may ask."""
    asked = (*statements("fairlead", but="fairlead.testing"), *statements("fairlead_cli"))

    assert [] == refused(log_in("fairlead_admin"), asked)


def test_the_operator_role_may_run_all_but_what_an_administrator_decides(
    log_in: LogIn,
) -> None:
    """Policies, erasure, bindings, whose a pool is, and jobs of one's own."""
    asked = statements("fairlead_cli")

    assert [
        "fairlead_cli-assign_pool",
        "fairlead_cli-bind_pools",
        "fairlead_cli-bind_tenants",
        "fairlead_cli-erase_batches",
        "fairlead_cli-erase_history",
        "fairlead_cli-erase_periods",
        "fairlead_cli-erase_schedules",
        "fairlead_cli-redact",
        "fairlead_cli-remove_schedule",
    ] == sorted(refused(log_in("fairlead_operator"), asked))


def refused(someone: Connection[TupleRow], asked: Sequence[Statement]) -> list[str]:
    """Return the statements that a login may not run."""
    assert asked
    found: list[str] = []
    for statement in asked:
        try:
            assert generic_plan(someone, statement)
        except errors.InsufficientPrivilege:
            found.append(str(statement))
    return found


def test_the_autoscaler_role_reads_and_takes_its_own_lead(log_in: LogIn) -> None:
    """It reads the queue and the workers, and changes nothing but who leads."""
    autoscaler = log_in("fairlead_autoscaler")

    for relation in ("work_queue", "workers", "queue_stats", "leaders"):
        autoscaler.execute(f"SELECT * FROM fairlead.{relation}".encode())
    autoscaler.execute("SELECT fairlead._begin_autoscaler_epoch('me', '')")

    for statement in ("DELETE FROM fairlead.jobs", "UPDATE fairlead.work_queue SET band = 1"):
        with pytest.raises(errors.InsufficientPrivilege):
            autoscaler.execute(statement.encode())
