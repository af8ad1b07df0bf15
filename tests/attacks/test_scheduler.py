"""What whoever has only the scheduler's login can take or stop beyond its work."""

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.support.logins import LogIn
from tests.support.race import finish, insert, run_one

_LEADERS = "SELECT role, holder, epoch, lease_until::text FROM fairlead.leaders ORDER BY role"
_NOT_THE_OWNERS = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'fairlead' AND c.relowner <> n.nspowner
"""
_MAY_CREATE = """
    SELECT r.rolname FROM pg_roles r
    WHERE r.rolname LIKE 'fairlead\\_%' AND has_schema_privilege(r.oid, 'fairlead', 'create')
"""
_LEASE_IT = """
    INSERT INTO fairlead.work_queue (job_id, vtag, estimate_us, epoch, runnable_at, worker,
        token, claimed_at, deadline, timeout, band, alone, pool, queue, tenant)
    SELECT %(job)s, 0, 0, 0, now(), 1, %(token)s, now(), now(), '1 s', 0, true, '', '', ''
"""
_DROP = "SELECT step FROM fairlead.drop_history_partitions(1, 1)"
_OLDER = """
    DO $$ BEGIN EXECUTE (
        SELECT format('ALTER TABLE fairlead.%I RENAME TO %I',
                      fairlead._history_partition('succeeded', today - 1),
                      fairlead._history_partition('succeeded', today - 2))
        FROM (SELECT (now() AT TIME ZONE 'UTC')::date) t (today)); END $$
"""
REFUSED = (
    "CREATE TABLE fairlead.mine ()",
    "CREATE FUNCTION fairlead._leads(text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
    "CREATE TRIGGER mine BEFORE INSERT ON fairlead.job_history EXECUTE FUNCTION mine()",
    "ALTER TABLE fairlead.job_history ADD COLUMN mine text",
    "ALTER TABLE fairlead.job_history OWNER TO CURRENT_USER",
    "DROP TABLE fairlead.job_history",
    "TRUNCATE fairlead.job_history",
    "UPDATE fairlead.leaders SET lease_until = 'infinity'",
    "SELECT FROM fairlead.leaders WHERE role = 'autoscaler' FOR SHARE",
    "INSERT INTO fairlead.leaders (role) VALUES ('third')",
    "DELETE FROM fairlead.leaders",
    "LOCK TABLE fairlead.leaders IN SHARE MODE",
    "LOCK TABLE fairlead.schema_versions IN SHARE ROW EXCLUSIVE MODE",
    "SELECT fairlead._begin_autoscaler_epoch('mine', '')",
    "SELECT fairlead._autoscaler_leads(0)",
    "SELECT fairlead.reset_leadership()",
)
OUT_OF_BOUNDS = (
    "SELECT * FROM fairlead._acquire_leadership('me', 'infinity', '')",
    "SELECT * FROM fairlead._acquire_leadership('me', 86400, '')",
    "SELECT * FROM fairlead._acquire_leadership('me', -1, '')",
    "SELECT * FROM fairlead._acquire_leadership('me', 'nan', '')",
    "SELECT * FROM fairlead._acquire_leadership('me', NULL, '')",
    "SELECT * FROM fairlead._acquire_leadership(NULL, 3, '')",
    "SELECT * FROM fairlead._acquire_leadership(repeat('x', 100000), 3, '')",
    "SELECT fairlead._renew_leadership(0, 86400)",
    "SELECT fairlead.make_history_partitions(1000000)",
    "SELECT fairlead.make_history_partitions(-1000000)",
    "SELECT fairlead.make_history_partitions(NULL)",
    "SELECT * FROM fairlead.drop_history_partitions(0, 30)",
    "SELECT * FROM fairlead.drop_history_partitions(7, -30)",
    "SELECT * FROM fairlead.drop_history_partitions(7, NULL)",
)


def allowed(someone: Connection[TupleRow], statements: tuple[str, ...]) -> list[str]:
    """Return the statements that a login was not refused for want of privilege."""
    found: list[str] = []
    for statement in statements:
        try:
            with someone.transaction():
                someone.execute(statement.encode())
        except errors.InsufficientPrivilege:
            continue
        except psycopg.Error as error:
            found.append(f"{statement}: {error}")
        else:
            found.append(statement)
    return found


def test_the_schedulers_login_owns_nothing_and_makes_nothing(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """A trigger of its own on the history would run as the owner in an admin's `cancel()`."""
    assert [] == allowed(log_in("fairlead_scheduler"), REFUSED)
    assert [] == db.execute(_NOT_THE_OWNERS).fetchall()
    assert [] == db.execute(_MAY_CREATE).fetchall()


@pytest.mark.parametrize("statement", OUT_OF_BOUNDS)
def test_what_the_schedulers_functions_accept_is_bounded(log_in: LogIn, statement: str) -> None:
    """No lease without an end, and no day outside the settings' bounds."""
    someone = log_in("fairlead_scheduler")

    with pytest.raises(errors.InvalidParameterValue):
        someone.execute(statement.encode())


def test_the_schedulers_login_renews_and_releases_its_own_epoch_alone(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """Under another epoch nothing is changed, and the autoscaler's row never is."""
    someone = log_in("fairlead_scheduler")
    before = db.execute(_LEADERS).fetchall()

    assert [(None,)] == someone.execute("SELECT fairlead._renew_leadership(9, 3)").fetchall()
    someone.execute("SELECT fairlead._release_leadership(9)")

    assert before == db.execute(_LEADERS).fetchall()


def acquire(someone: Connection[TupleRow], name: str) -> int | None:
    """Acquire the lease for a minute; return the epoch, or None where another one leads."""
    row = someone.execute(
        "SELECT epoch FROM fairlead._acquire_leadership(%s, 60, '')", [name]
    ).fetchone()
    assert row is not None
    return None if row[0] is None else int(row[0])


def renew(someone: Connection[TupleRow], epoch: int) -> int | None:
    """Renew the lease of an epoch; return it, or None where it is not this login's."""
    row = someone.execute("SELECT fairlead._renew_leadership(%s, 60)", [epoch]).fetchone()
    assert row is not None
    return None if row[0] is None else int(row[0])


def steal(someone: Connection[TupleRow], epoch: int, job: int, *, token: int) -> None:
    """Say of a job that a worker had it and lost it."""
    someone.execute("DELETE FROM fairlead.work_queue WHERE job_id = %s", [job])
    someone.execute(_LEASE_IT, {"job": job, "token": token})
    someone.execute(
        "SELECT * FROM fairlead._steal(%s, ARRAY[%s::bigint], ARRAY[%s::bigint], '{forged}')",
        [epoch, job, token],
    )


def test_a_schedulers_login_leads_in_no_other_logins_place(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """It reads the leader's name and epoch, and neither helps it until the lease has lapsed."""
    leader, other = log_in("fairlead_scheduler"), log_in("fairlead_scheduler")
    epoch = acquire(leader, "a")
    assert epoch is not None
    before = other.execute(_LEADERS.encode()).fetchall()

    assert acquire(other, "a") is None
    assert renew(other, epoch) is None
    other.execute("SELECT fairlead._release_leadership(%s)", [epoch])
    assert before == db.execute(_LEADERS).fetchall()

    assert epoch == renew(leader, epoch)
    again = acquire(leader, "a")
    assert again is not None
    assert again == epoch + 1
    leader.execute("SELECT fairlead._release_leadership(%s)", [again])
    assert again + 1 == acquire(other, "b")


def test_a_schedulers_login_leads_in_the_place_of_a_login_that_it_is_or_is_a_member_of(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """So a leader whose connection broke goes on at once, under the next password too."""
    leader, member = log_in("fairlead_scheduler"), log_in("fairlead_scheduler")
    db.execute(f"GRANT {leader.info.user} TO {member.info.user}".encode())
    epoch = acquire(leader, "a")
    assert epoch is not None

    assert epoch == renew(member, epoch)
    assert acquire(member, "b") is None
    taken = acquire(member, "a")
    assert taken is not None
    assert taken == epoch + 1
    assert renew(leader, taken) is None


def test_an_open_transaction_of_a_schedulers_login_holds_no_other_logins_lease(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """The fence of a leader's statements is a lock on its row; nobody else's takes it."""
    leader, other = log_in("fairlead_scheduler"), log_in("fairlead_scheduler")
    epoch = acquire(leader, "a")
    assert epoch is not None
    (job,) = insert(db)
    leader.execute("SET lock_timeout = '2s'")

    with other.transaction():
        assert [(False,)] == other.execute("SELECT fairlead._leads(%s)", [epoch]).fetchall()
        assert acquire(other, "a") is None
        other.execute("SELECT fairlead._release_leadership(%s)", [epoch])
        steal(other, epoch, job, token=1)
        assert epoch == renew(leader, epoch)
    assert [] == db.execute("SELECT FROM fairlead.attempt_errors").fetchall()


def test_the_schedulers_login_ends_any_job_with_an_error_of_its_own(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """As security.md says: without a worker, without an entry in the audit log, as failed."""
    someone = log_in("fairlead_scheduler")
    epoch = acquire(someone, "a")
    assert epoch is not None
    (job,) = insert(db)

    for token in range(1, 4):
        steal(someone, epoch, job, token=token)

    ended = db.execute(
        "SELECT outcome, error::text FROM fairlead.job_history WHERE id = %s", [job]
    )
    ((outcome, error),) = ended.fetchall()
    assert "failed" == outcome
    assert "forged" in str(error)
    assert [] == db.execute("SELECT FROM fairlead.audit").fetchall()


def test_the_schedulers_login_drops_the_history_of_all_days_before_yesterday(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """As security.md says: not more. While that is not committed, endings wait."""
    someone = log_in("fairlead_scheduler")
    db.execute("SELECT fairlead.make_history_partitions(1)")
    finish(db, [run_one(db)])
    db.execute("UPDATE fairlead.job_history SET finished_at = finished_at - interval '1 day'")
    assert [] == someone.execute(_DROP).fetchall()
    db.execute(_OLDER.encode())

    with someone.transaction():
        assert [("emptied",)] == someone.execute(_DROP).fetchall()
        assert [("dropped",)] == someone.execute(_DROP).fetchall()
        for table in ("job_history_succeeded", "job_history_succeeded_default"):
            with pytest.raises(errors.LockNotAvailable), db.transaction():
                db.execute(f"LOCK TABLE fairlead.{table} IN ACCESS SHARE MODE NOWAIT".encode())

    assert [] == db.execute("SELECT FROM fairlead.job_history").fetchall()


def test_an_upgrade_takes_back_what_the_schedulers_role_owned(
    log_in: LogIn, db: Connection[TupleRow]
) -> None:
    """It names triggers that were put there meanwhile, and objects of other logins."""
    someone = log_in("fairlead_scheduler")
    name = str(someone.info.user)
    db.execute("GRANT CREATE ON SCHEMA fairlead TO fairlead_scheduler")
    db.execute("GRANT UPDATE, DELETE ON fairlead.leaders TO fairlead_scheduler")
    for (table,) in db.execute(
        "SELECT relid::text FROM pg_partition_tree('fairlead.job_history')"
    ):
        db.execute(f"ALTER TABLE {table} OWNER TO fairlead_scheduler".encode())
    someone.execute(
        "CREATE FUNCTION fairlead.mine() RETURNS trigger LANGUAGE plpgsql AS"
        " 'BEGIN RETURN new; END'"
    )
    someone.execute(
        "CREATE TRIGGER mine BEFORE INSERT ON fairlead.job_history"
        " FOR EACH ROW EXECUTE FUNCTION fairlead.mine()"
    )
    said: list[str] = []
    db.add_notice_handler(lambda notice: said.append(str(notice.message_primary)))

    migrate(db)
    db.execute("DROP TRIGGER mine ON fairlead.job_history")

    assert [] == allowed(someone, REFUSED)
    assert [] == db.execute(_NOT_THE_OWNERS).fetchall()
    assert [] == db.execute(_MAY_CREATE).fetchall()
    assert any("trigger mine on fairlead.job_history" in line for line in said), said
    assert any(f"fairlead.mine() belongs to {name}" in line for line in said), said
