"""The audit log: every change by hand is an entry, none is changed, and all go in time."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from tests.support.logins import LogIn
from tests.support.race import cancel, insert_one, lead, run_one

ENTRIES = "SELECT verb, job_id, queue, tenant, schedule, version, details FROM fairlead.audit"
SCHEDULE = (
    "INSERT INTO fairlead.schedules (name, cron, kind, tenant, payload)"
    " VALUES ('nightly', '0 3 * * *', 'k', 'acme', '{\"secret\": 1}')"
)


def entries(db: Connection[TupleRow]) -> list[TupleRow]:
    """Return what was done to what, oldest first."""
    return db.execute(f"{ENTRIES} ORDER BY at, id".encode()).fetchall()


def failed(db: Connection[TupleRow]) -> int:
    """Return a job that has failed for good."""
    job = insert_one(db)
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}', '{boom}')", [job])
    return job


def test_an_entry_says_who_did_it_when_and_why(log_in: LogIn, db: Connection[TupleRow]) -> None:
    """The login is the one that the database knows, whatever the session says of itself."""
    someone = log_in("fairlead_admin")
    job = insert_one(db)
    someone.execute("SET application_name = 'console'")
    someone.execute("SELECT set_config('fairlead.actor', 'ann', false)")
    someone.execute("SELECT set_config('fairlead.reason', 'a duplicate', false)")

    someone.execute("SELECT fairlead.cancel(%s)", [job])

    assert [("cancel", job, "ann", "a duplicate", someone.info.user, "console", True)] == (
        someone.execute(
            "SELECT verb, job_id, actor, reason, login, application_name,"
            " at BETWEEN now() - interval '1 minute' AND clock_timestamp() FROM fairlead.audit"
        ).fetchall()
    )


def test_jobs_that_are_cancelled_or_run_again_are_entries(db: Connection[TupleRow]) -> None:
    """What changes nothing is none: a job that is unknown, over, asked to stop or repeated."""
    waiting, running, over = insert_one(db), run_one(db), failed(db)

    for job in (waiting, running.job, over, 10**9, waiting, running.job):
        cancel(db, job)
    row = db.execute("SELECT fairlead.retry(%(id)s), fairlead.retry(%(id)s)", {"id": over})
    again, same = row.fetchone() or (None, None)

    assert again == same
    assert [
        ("cancel", waiting, "default", "", None, None, None),
        ("cancel", running.job, "default", "", None, None, None),
        ("retry", over, "default", "", None, None, {"runs_as": again}),
    ] == entries(db)


def test_a_redrive_is_one_entry_a_batch(db: Connection[TupleRow]) -> None:
    """It says how many jobs; one that finds none is no entry."""
    for _ in range(3):
        failed(db)

    db.execute("SELECT fairlead.redrive('default', kind => 'noop')")
    db.execute("SELECT fairlead.redrive('default', kind => 'noop')")

    assert [
        ("redrive", None, "default", None, None, None, {"kind": "noop", "jobs": 3})
    ] == entries(db)


def test_pauses_and_policies_are_entries_and_their_repeats_are_none(
    db: Connection[TupleRow],
) -> None:
    """What is so already is not changed."""
    for _ in range(2):
        db.execute("SELECT fairlead.pause('mail', 'acme')")
    for _ in range(2):
        db.execute("SELECT fairlead.resume('mail', 'acme')")
    for _ in range(2):
        db.execute("SELECT fairlead.apply_policy('{}', '0123456789ab', 'ann', 'because')")

    assert [
        ("pause", None, "mail", "acme", None, None, None),
        ("resume", None, "mail", "acme", None, None, None),
        ("apply_policy", None, None, None, None, 1, None),
    ] == entries(db)
    assert [("ann", "because")] == db.execute(
        "SELECT actor, reason FROM fairlead.audit WHERE verb = 'apply_policy'"
    ).fetchall()


def test_changes_of_schedules_are_entries_without_values(db: Connection[TupleRow]) -> None:
    """They name the columns, as a payload may hold anything; what the leader notes is none."""
    db.execute(SCHEDULE.encode())
    db.execute("UPDATE fairlead.schedules SET payload = '{\"secret\": 2}', enabled = false")
    db.execute("UPDATE fairlead.schedules SET enabled = false")
    db.execute("UPDATE fairlead.schedules SET considered_until = now(), problem = 'p'")
    db.execute("DELETE FROM fairlead.schedules")

    of = (None, "default", "acme", "nightly", None)
    changed = {"changed": ["enabled", "payload"], "enabled": False}
    assert [
        ("add_schedule", *of, None),
        ("change_schedule", *of, changed),
        ("remove_schedule", *of, None),
    ] == entries(db)
    assert "secret" not in str(db.execute("SELECT a::text FROM fairlead.audit a").fetchall())


def test_one_statement_on_schedules_is_one_entry(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """Of a hundred at most, which it names: none fills the log faster than by single ones."""
    mine = log_in("fairlead_enqueue")
    names = [f"s{number:02}" for number in range(12)]
    mine.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind, tenant, queue)"
        " SELECT n, '0 3 * * *', 'k', 'acme', 'q' || n FROM unnest(%s::text[]) n",
        [names],
    )
    mine.execute("UPDATE fairlead.schedules SET queue = 'q', enabled = name > 's05'")
    mine.execute("UPDATE fairlead.schedules SET enabled = true")
    mine.execute("UPDATE fairlead.schedules SET enabled = true")
    db.execute("UPDATE fairlead.schedules SET considered_until = now(), problem = 'p'")
    mine.execute("SELECT fairlead.remove_schedules('acme')")
    mine.execute("SELECT fairlead.remove_schedules('acme')")

    several = {"schedules": 12, "names": names}
    both = {"changed": ["enabled", "queue"]}
    one = {"changed": ["enabled"], "enabled": True, "schedules": 6, "names": names[:6]}
    assert [
        ("add_schedule", None, None, "acme", None, None, several),
        ("change_schedule", None, "q", "acme", None, None, several | both),
        ("change_schedule", None, "q", "acme", None, None, one),
        ("remove_schedule", None, "q", "acme", None, None, several),
    ] == entries(db)


def test_a_hundred_schedules_are_an_entry(db: Connection[TupleRow]) -> None:
    """So that none is hidden behind others, and none too large; each with its tenant."""
    names, tenants = [f"s{number:03}" for number in range(201)], ["acme"] * 150 + ["bolt"] * 51
    db.execute(
        "INSERT INTO fairlead.schedules (name, tenant, cron, kind)"
        " SELECT n, t, '0 3 * * *', 'k' FROM unnest(%s::text[], %s::text[]) s (n, t)",
        [names, tenants],
    )

    assert [
        {"schedules": 201, "names": names[at : at + 100], "tenants": tenants[at : at + 100]}
        for at in (0, 100, 200)
    ] == [entry[-1] for entry in entries(db)]


def test_what_is_rolled_back_is_no_entry(db: Connection[TupleRow]) -> None:
    """An entry is written in the transaction of the change."""
    with db.transaction(force_rollback=True):
        db.execute("SELECT fairlead.pause('mail')")

    assert [] == entries(db)


def test_an_applications_schedule_is_an_entry_of_its_login(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """It may not read the log, nor write it; an administrator may only read it."""
    application, person = log_in("fairlead_enqueue"), log_in("fairlead_admin")
    application.execute(SCHEDULE.encode())
    refused = (
        (application, "SELECT verb FROM fairlead.audit"),
        *(
            (each, statement)
            for each in (application, person, log_in("fairlead_scheduler"))
            for statement in (
                "INSERT INTO fairlead.audit (verb) VALUES ('cancel')",
                "UPDATE fairlead.audit SET actor = 'somebody else'",
                "DELETE FROM fairlead.audit",
                "TRUNCATE fairlead.audit",
                "SELECT fairlead._record_audit('cancel')",
            )
        ),
    )

    for session, statement in refused:
        with pytest.raises(errors.InsufficientPrivilege):
            session.execute(statement.encode())

    assert [(application.info.user,)] == person.execute(
        "SELECT login FROM fairlead.audit"
    ).fetchall()
    assert 1 == len(entries(db))


def test_not_even_the_owner_changes_an_entry(db: Connection[TupleRow]) -> None:
    """It can be deleted after 30 days at the earliest."""
    db.execute("SELECT fairlead.pause('mail')")

    for statement in ("UPDATE fairlead.audit SET verb = ''", "TRUNCATE fairlead.audit"):
        with pytest.raises(errors.InsufficientPrivilege):
            db.execute(statement.encode())
    with pytest.raises(errors.InsufficientPrivilege):
        db.execute("DELETE FROM fairlead.audit")


def test_only_the_leader_sweeps_and_never_what_is_younger_than_30_days(
    db: Connection[TupleRow],
) -> None:
    """In bounded batches, oldest first, whatever it asks for."""
    db.execute(
        "INSERT INTO fairlead.audit (verb, at)"
        " SELECT 'pause', now() - make_interval(days => n) FROM generate_series(27, 35) n"
    )
    sweep = "SELECT fairlead._forget_audit(%s, 0, 3)"
    epoch = lead(db)

    swept = [db.execute(sweep.encode(), [epoch]).fetchone() for _ in range(3)]

    assert [(3,), (3,), (0,)] == swept
    assert (0,) == db.execute(sweep.encode(), [epoch - 1]).fetchone()
    assert [(3,)] == db.execute("SELECT count(*) FROM fairlead.audit").fetchall()
