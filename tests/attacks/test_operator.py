"""What an operator's login tries beyond looking after the fleet."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.attacks.test_scheduler import allowed
from tests.support import race
from tests.support.logins import LogIn

Session = Connection[TupleRow]

REFUSED = (
    # Policies.
    "SELECT fairlead.apply_policy('pools: []', 'd')",
    "SELECT fairlead.note_refused_policy('h', 'said')",
    # Rights, and whose things are.
    "INSERT INTO fairlead.tenant_logins VALUES (current_user, 'victim')",
    "DELETE FROM fairlead.tenant_logins",
    "INSERT INTO fairlead.pool_logins VALUES (current_user, 'default')",
    "UPDATE fairlead.pool_logins SET pool = 'mine'",
    "DELETE FROM fairlead.pool_logins",
    "UPDATE fairlead.install_options SET rls = false",
    "GRANT fairlead_operator TO fairlead_reader",
    "SELECT fairlead._take_over('mine')",
    "SELECT fairlead._assign_pool('default', 'mine')",
    "SELECT fairlead._own_pool('default', 'mine')",
    "SELECT fairlead._own_database('mine')",
    # Erasure.
    "SELECT fairlead.redact(1)",
    "SELECT fairlead._erase_history('victim', 0, 10)",
    "DELETE FROM fairlead.job_history",
    "DELETE FROM fairlead.audit",
    "SELECT fairlead._forget_audit(1, 30, 100)",
    "SELECT fairlead.remove_schedules('victim')",
    "DELETE FROM fairlead.schedules",
    # Work of its own, and what others' work came to.
    "INSERT INTO fairlead.jobs (kind) VALUES ('k')",
    "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('mine', '* * * * *', 'k')",
    "UPDATE fairlead.schedules SET cron = '* * * * * *'",
    "UPDATE fairlead.schedules SET payload = '[]'",
    "UPDATE fairlead.jobs SET priority = 1",
    "SELECT fairlead.complete(1, 1)",
    "SELECT fairlead.fail(1, 1)",
    "SELECT fairlead.extend(1, 1, '1 s')",
    "SELECT fairlead.claim(1, 1)",
    "UPDATE fairlead.worker_leases SET dead_at = now()",
    "SELECT * FROM fairlead._acquire_leadership('me', 60, '')",
    "SELECT fairlead.make_history_partitions()",
    "SELECT * FROM fairlead.drop_history_partitions(1, 1)",
    "SELECT nextval('fairlead.places')",
    "LOCK TABLE fairlead.jobs IN ROW SHARE MODE",
)
MADE = "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '* * * * *', 'k')"
WHOSE = "SELECT created_by FROM fairlead.schedules"


@pytest.fixture
def operator(log_in: LogIn) -> Session:
    """Return the session of the login that attacks."""
    return log_in("fairlead_operator")


def test_an_operator_changes_no_policy_no_right_and_no_record(operator: Session) -> None:
    """Nor what work came to: that is the administrators' alone."""
    assert [] == allowed(operator, REFUSED)


@pytest.mark.parametrize("rls", [False, True], ids=["open", "isolated"])
def test_what_an_operator_does_is_in_the_audit_log_with_its_login(
    db: Session, log_in: LogIn, *, rls: bool
) -> None:
    """All that it may, for jobs of every tenant; an entry for each."""
    migrate(db, rls=rls)
    operator = log_in("fairlead_operator")
    db.execute(MADE)
    failed, waits, other = race.insert(db, count=3)
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}', '{boom}')", [failed])
    lost = race.run_one(db)
    worker = db.execute("SELECT id FROM fairlead.worker_leases").fetchall()[0][0]

    assert "changed" == race.answer(operator, "set_priority(%s, 7)", waits)
    assert 2 == race.answer(operator, "set_priorities(9, queue => 'default')")
    assert "cancelled" == race.answer(operator, "cancel(%s)", waits)
    again = race.answer(operator, "retry(%s)", waits)
    assert 1 == race.answer(operator, "redrive('default')")
    race.answer(operator, "pause('default')")
    assert True is race.answer(operator, "resume('default')")
    assert True is race.answer(operator, "_release_worker(%s)", worker)
    released = operator.execute("SELECT * FROM fairlead._release_jobs(%s, 0, 10)", [worker])
    assert [(lost.job, "queued")] == released.fetchall()
    operator.execute("UPDATE fairlead.schedules SET enabled = false")
    assert isinstance(race.answer(operator, "run_schedule('', 's')"), int)
    operator.execute("SELECT fairlead.cancel_jobs(queue => 'default')")

    assert isinstance(again, int)
    assert [] == operator.execute("SELECT id FROM fairlead.jobs").fetchall()
    assert ("cancelled",) == operator.execute(
        "SELECT state FROM fairlead.job_status WHERE id = %s", [other]
    ).fetchone()
    assert [
        ("set_priority",),
        ("set_priorities",),
        ("cancel",),
        ("retry",),
        ("redrive",),
        ("pause",),
        ("resume",),
        ("release_worker",),
        ("release_jobs",),
        ("change_schedule",),
        ("run_schedule",),
        ("cancel_jobs",),
    ] == db.execute(
        "SELECT verb FROM fairlead.audit WHERE login = %s ORDER BY id", [operator.info.user]
    ).fetchall()


def test_a_schedule_that_an_operator_switches_stays_its_makers(
    db: Session, operator: Session, log_in: LogIn
) -> None:
    """An administrator's may fire each second, and goes on to when it is enabled again."""
    admin = log_in("fairlead_admin")
    admin.execute(MADE)

    for enabled in (False, True):
        operator.execute("UPDATE fairlead.schedules SET enabled = %s", [enabled])

    assert [(admin.info.user,)] == db.execute(WHOSE).fetchall()


def test_an_operator_that_is_an_application_too_makes_what_it_changes_its_own(
    db: Session, log_in: LogIn
) -> None:
    """It could have an administrator's schedule insert what it likes, each second."""
    both = log_in("fairlead_operator", "fairlead_enqueue")
    log_in("fairlead_admin").execute(MADE)

    both.execute("UPDATE fairlead.schedules SET payload = '[1]'")

    assert [(both.info.user,)] == db.execute(WHOSE).fetchall()


def test_an_operator_acts_for_no_other_logins_worker(
    db: Session, operator: Session, log_in: LogIn
) -> None:
    """Not even one that is a worker, too: whose an attempt is, asks for administrators."""
    lease = race.run_one(db)
    both = log_in("fairlead_operator", "fairlead_worker")

    assert race.STALE == race.complete(both, lease)
    assert ("running",) == operator.execute(
        "SELECT state FROM fairlead.job_status WHERE id = %s", [lease.job]
    ).fetchone()
