"""Row-level security: a login sees and inserts its tenants' jobs, whatever it sets."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.support.logins import LogIn

JOB = "INSERT INTO fairlead.jobs (tenant, kind) VALUES (%s, 'k') RETURNING id"
TENANTS = "SELECT DISTINCT tenant FROM fairlead.job_status ORDER BY tenant"
SCHEDULE = """
    INSERT INTO fairlead.schedules (name, tenant, cron, kind) VALUES (%s, %s, '* * * * *', 'k')
"""


@pytest.fixture
def isolated(db: Connection[TupleRow]) -> Connection[TupleRow]:
    """Return a superuser's connection to a database with row-level security and three jobs."""
    migrate(db, rls=True)
    for tenant in ("", "acme", "other"):
        db.execute(JOB, [tenant])
    return db


@pytest.fixture
def acme(isolated: Connection[TupleRow], log_in: LogIn) -> Connection[TupleRow]:
    """Return a connection of an application that has the tenant acme."""
    application = log_in("fairlead_enqueue")
    isolated.execute(
        "INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [application.info.user]
    )
    return application


def test_an_application_sees_and_inserts_only_its_tenants(
    acme: Connection[TupleRow],
) -> None:
    """Another tenant's insert is refused, and so is the one without a tenant."""
    acme.execute(JOB, ["acme"])

    for statement in (JOB, JOB.removesuffix(" RETURNING id")):
        for tenant in ("other", ""):
            with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
                acme.execute(statement.encode(), [tenant])
    assert [("acme",)] == acme.execute(TENANTS).fetchall()
    assert [(2,)] == acme.execute("SELECT count(id) FROM fairlead.jobs").fetchall()


def test_an_application_schedules_only_for_its_tenants(acme: Connection[TupleRow]) -> None:
    """Schedules are isolated as jobs are."""
    acme.execute(SCHEDULE, ["mine", "acme"])

    with pytest.raises(errors.InsufficientPrivilege, match="row-level security"):
        acme.execute(SCHEDULE, ["theirs", "other"])
    assert [("mine",)] == acme.execute("SELECT name FROM fairlead.schedules").fetchall()


def test_a_name_that_another_tenant_has_taken_tells_nothing_of_it(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """A login that may not see a schedule cannot learn of it from a conflict either."""
    isolated.execute(SCHEDULE, ["nightly", "other"])

    assert 1 == acme.execute(f"{SCHEDULE} ON CONFLICT DO NOTHING", ["nightly", "acme"]).rowcount
    assert 0 == acme.execute(f"{SCHEDULE} ON CONFLICT DO NOTHING", ["nightly", "acme"]).rowcount
    with pytest.raises(errors.UniqueViolation):
        acme.execute(SCHEDULE, ["nightly", "acme"])


def test_a_login_is_not_told_for_which_other_tenant_its_job_made_room(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """It learns that it was asked; one that sees all tenants learns for whom."""
    ((job,),) = isolated.execute(
        "INSERT INTO fairlead.evictions (job_id, token, for_queue, for_tenant)"
        " SELECT id, 1, 'secret', 'other' FROM fairlead.jobs WHERE tenant = 'acme'"
        " RETURNING job_id"
    ).fetchall()
    ask = "SELECT fairlead.explain(%s)"

    told, known = (each.execute(ask, [job]).fetchall()[0][0] for each in (acme, isolated))

    assert ["requested_at"] == list(told["evicted"])
    assert told["sentence"].endswith("so that another tenant could run")
    assert ("secret", "other") == (
        known["evicted"]["for_queue"],
        known["evicted"]["for_tenant"],
    )


def test_a_login_cannot_ask_why_another_tenants_job_waits(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """It is unknown to them, as if it were not there."""
    jobs = isolated.execute(
        "SELECT id FROM fairlead.jobs WHERE tenant IN ('acme', 'other') ORDER BY tenant"
    ).fetchall()

    answers = [
        acme.execute("SELECT fairlead.explain(%s) ->> 'state'", job).fetchone() for job in jobs
    ]

    assert [("pending",), ("unknown",)] == answers


def test_no_setting_changes_who_the_tenant_is(acme: Connection[TupleRow]) -> None:
    """The tenant comes from the login; SET ROLE and settings change nothing."""
    acme.execute("SET ROLE fairlead_enqueue")
    acme.execute("SELECT set_config('fairlead.tenant', 'other', false)")

    assert [("acme",)] == acme.execute(TENANTS).fetchall()
    with pytest.raises(errors.InsufficientPrivilege):
        acme.execute(JOB, ["other"])
    acme.execute("SET row_security = off")
    with pytest.raises(errors.InsufficientPrivilege):
        acme.execute("SELECT id FROM fairlead.jobs")


def test_copy_is_refused_by_postgresql(acme: Connection[TupleRow]) -> None:
    """COPY FROM does not go with row-level security."""
    copying = acme.cursor()
    with (
        pytest.raises(errors.FeatureNotSupported, match="row-level security"),
        copying.copy("COPY fairlead.jobs (tenant, kind) FROM STDIN") as copy,
    ):
        copy.write_row(("acme", "k"))


def test_functions_check_the_tenant_themselves(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """A granted function knows only jobs of the login's tenants."""
    user = acme.info.user
    isolated.execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead TO "{user}"'.encode())
    rows = isolated.execute("SELECT tenant, id FROM fairlead.jobs").fetchall()
    ids = {str(tenant): int(job) for tenant, job in rows}

    assert ("unknown",) == acme.execute("SELECT fairlead.cancel(%s)", [ids["other"]]).fetchone()
    assert (None,) == acme.execute("SELECT fairlead.retry(%s)", [ids["other"]]).fetchone()
    assert ("cancelled",) == acme.execute(
        "SELECT fairlead.cancel(%s)", [ids["acme"]]
    ).fetchone()
    for call in ("pause('default')", "pause('default', 'other')", "resume('default')"):
        with pytest.raises(errors.InsufficientPrivilege, match="own tenant"):
            acme.execute(f"SELECT fairlead.{call}".encode())
    acme.execute("SELECT fairlead.pause('default', 'acme')")


def test_a_redrive_touches_only_the_logins_tenants(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """Failed jobs of others stay where they are."""
    isolated.execute(
        "SELECT fairlead._end_jobs(array_agg(id), array_agg('failed'::text)) FROM fairlead.jobs"
    )
    user = acme.info.user
    isolated.execute(f'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fairlead TO "{user}"'.encode())

    assert (1,) == acme.execute("SELECT fairlead.redrive('default')").fetchone()
    assert [("acme",)] == isolated.execute("SELECT tenant FROM fairlead.jobs").fetchall()
    assert [("acme",)] == acme.execute(TENANTS).fetchall()


@pytest.mark.parametrize("role", ["fairlead_scheduler", "fairlead_admin"])
def test_services_and_administrators_see_every_tenant(
    isolated: Connection[TupleRow], log_in: LogIn, role: str
) -> None:
    """Their statements keep their plans: the policy is a constant for them."""
    service = log_in(role)

    plan = service.execute("EXPLAIN SELECT id FROM fairlead.jobs WHERE id = 1").fetchall()

    assert [("",), ("acme",), ("other",)] == service.execute(TENANTS).fetchall()
    assert [] == [line for line in plan if "_sees" in str(line)]
    assert isolated is not service


def test_a_worker_that_also_inserts_sees_its_own_tenants_alone(
    isolated: Connection[TupleRow], log_in: LogIn
) -> None:
    """Being a worker shows no tenant's jobs but those that it claims."""
    handler = log_in("fairlead_worker", "fairlead_enqueue")
    isolated.execute(
        "INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [handler.info.user]
    )

    assert [("acme",)] == handler.execute(TENANTS).fetchall()


def test_a_later_migrate_keeps_row_level_security(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """It is an option of the install and not of the run."""
    migrate(isolated)

    assert [("acme",)] == acme.execute(TENANTS).fetchall()


def test_without_row_level_security_by_tenant_a_login_acts_for_every_tenant(
    db: Connection[TupleRow], log_in: LogIn
) -> None:
    """It is off by default: a login then sees what it inserted, of whichever tenant."""
    application = log_in("fairlead_enqueue")
    for tenant in ("acme", "other"):
        application.execute(JOB, [tenant])

    assert [("acme",), ("other",)] == application.execute(TENANTS).fetchall()
    assert [(False,)] == db.execute("SELECT rls FROM fairlead.install_options").fetchall()


def test_row_level_security_by_tenant_can_be_taken_out_again(
    isolated: Connection[TupleRow], acme: Connection[TupleRow]
) -> None:
    """The option is set to false; the next migrate goes back to what each login inserted."""
    isolated.execute("UPDATE fairlead.install_options SET rls = false")
    migrate(isolated)

    acme.execute(JOB, ["other"])

    assert [("other",)] == acme.execute(TENANTS).fetchall()
    assert [(1,)] == acme.execute("SELECT count(id) FROM fairlead.jobs").fetchall()
