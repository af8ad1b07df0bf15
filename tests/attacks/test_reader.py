"""What a login that may only look tries to change, and to see of others' tenants."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.attacks.test_enqueue_reads import IDS, JOB, SCHEDULE, explained, insert, shown
from tests.support import race
from tests.support.logins import LogIn

Session = Connection[TupleRow]


@pytest.fixture
def theirs(log_in: LogIn) -> Session:
    """Return a connection of an application."""
    return log_in("fairlead_enqueue")


def test_a_reader_reads_everything_and_changes_nothing(log_in: LogIn, theirs: Session) -> None:
    """The role is for dashboards and for people who only look."""
    reader = log_in("fairlead_reader")
    job = insert(theirs, "acme")
    theirs.execute(SCHEDULE, ["nightly", "acme"])

    assert [(job, "secret")] == reader.execute(
        "SELECT id, payload FROM fairlead.job_status"
    ).fetchall()
    for view in ("tenant_stats", "tenant_shares", "queue_stats", "workers", "schedules"):
        reader.execute(f"SELECT * FROM fairlead.{view}".encode())
    assert "pending" == explained(reader, job)["state"]
    assert [("nightly",)] == reader.execute("SELECT name FROM fairlead.schedules").fetchall()
    for refused in (
        JOB.replace("%s", "''"),
        "SELECT id FROM fairlead.jobs",
        "SELECT last_value FROM fairlead.places",
        "INSERT INTO fairlead.tenant_logins VALUES (session_user, 'acme')",
        "UPDATE fairlead.schedules SET enabled = false",
        "DELETE FROM fairlead.schedules",
        f"SELECT fairlead.cancel({job})",
        f"SELECT fairlead.retry({job})",
        "SELECT * FROM fairlead.job_history",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            reader.execute(refused.encode())


def test_a_reader_that_enqueues_cancels_only_its_own(log_in: LogIn, theirs: Session) -> None:
    """To read a job is not to own it."""
    both = log_in("fairlead_reader", "fairlead_enqueue")
    job = insert(theirs)
    theirs.execute(SCHEDULE, ["nightly", ""])

    assert [(job,)] == both.execute(IDS).fetchall()
    assert "unknown" == race.answer(both, "cancel(%s)", job)
    assert [(0,)] == both.execute("SELECT fairlead.remove_schedules('')").fetchall()


def test_with_row_level_security_a_reader_has_tenants_as_others_have(
    db: Session, log_in: LogIn
) -> None:
    """The role shows more about them, and no more of them."""
    reader = log_in("fairlead_reader")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [reader.info.user])
    for tenant in ("acme", "other"):
        insert(db, tenant)
        db.execute(SCHEDULE, ["nightly", tenant])

    for relation in ("job_status", "tenant_stats", "schedules"):
        rows = reader.execute(f"SELECT DISTINCT tenant FROM fairlead.{relation}".encode())
        assert [("acme",)] == rows.fetchall()


@pytest.mark.parametrize(
    ("view", "column", "expected"),
    [
        ("job_status", "tenant", ["acme"]),
        ("tenant_stats", "tenant", ["acme"]),
        ("tenant_shares", "tenant", ["acme"]),
        ("queue_stats", "queue", []),
        ("schedules", "tenant", ["acme"]),
    ],
)
def test_with_row_level_security_a_function_is_shown_no_row_of_other_tenants(
    db: Session, log_in: LogIn, view: str, column: str, expected: list[str]
) -> None:
    """A reader's may look at every column of every view."""
    reader = log_in("fairlead_reader")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [reader.info.user])
    for tenant in ("acme", "other"):
        insert(db, tenant)
        db.execute(SCHEDULE, ["nightly", tenant])
    db.execute(
        "INSERT INTO fairlead.fairness_reports (pool, epoch, since, at, report)"
        """ VALUES ('default', 1, now(), now(), '{"tenants": [{"tenant": "acme"},"""
        """ {"tenant": "other"}]}')"""
    )

    assert expected == shown(db, reader, view, column)


def test_a_viewer_reads_every_table_and_changes_nothing(
    db: Session, log_in: LogIn, theirs: Session
) -> None:
    """It sees what an operator does, of every tenant, and asks why a job waits."""
    viewer = log_in("fairlead_viewer")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [theirs.info.user])
    job = insert(theirs, "acme")
    theirs.execute(SCHEDULE, ["nightly", "acme"])

    for relation in ("jobs", "job_status", "tenant_stats", "schedules"):
        rows = viewer.execute(f"SELECT DISTINCT tenant FROM fairlead.{relation}".encode())
        assert [("acme",)] == rows.fetchall()
    for relation in ("job_history", "attempt_errors", "audit", "leaders", "policy_versions"):
        viewer.execute(f"SELECT * FROM fairlead.{relation}".encode())
    assert "pending" == explained(viewer, job)["state"]
    for refused in (
        JOB.replace("%s", "''"),
        "SELECT nextval('fairlead.places')",
        "UPDATE fairlead.schedules SET enabled = false",
        f"SELECT fairlead.cancel({job})",
        f"SELECT fairlead.retry({job})",
        "SELECT fairlead.pause('default')",
        "DELETE FROM fairlead.explain_requests",
    ):
        with pytest.raises(errors.InsufficientPrivilege):
            viewer.execute(refused.encode())


def test_a_viewer_that_enqueues_does_so_for_its_own_tenants(db: Session, log_in: LogIn) -> None:
    """To read every tenant is not to act for it."""
    both = log_in("fairlead_viewer", "fairlead_enqueue")
    migrate(db, rls=True)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [both.info.user])
    other = insert(db, "other")

    assert insert(both, "acme")
    with pytest.raises(errors.InsufficientPrivilege):
        insert(both, "other")
    assert "unknown" == race.answer(both, "cancel(%s)", other)
