"""What whoever has only the scheduler's login can take or stop beyond its work."""

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.support.logins import LogIn

_LEADERS = "SELECT role, holder, epoch, lease_until::text FROM fairlead.leaders ORDER BY role"
_NOT_THE_OWNERS = """
    SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'fairlead' AND c.relowner <> n.nspowner
"""
_MAY_CREATE = """
    SELECT r.rolname FROM pg_roles r
    WHERE r.rolname LIKE 'fairlead\\_%' AND has_schema_privilege(r.oid, 'fairlead', 'create')
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
