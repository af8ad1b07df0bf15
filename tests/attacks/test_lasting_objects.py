"""What a login can leave behind, or find, beside tables: large objects and transactions."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_cli.dev.postgres import Server
from tests.support.attacks import ROLES
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import LogIn, as_login, login

Session = Connection[TupleRow]
_EVERYBODY = [*ROLES, None]
_ON_OTHERS = (
    "SELECT lo_get({})",
    "SELECT lo_put({}, 0, 'stolen')",
    "SELECT lo_unlink({})",
    "SELECT lo_open({}, 131072)",
    "SELECT loread(lo_open({}, 262144), 100)",
    "SELECT lo_export({}, '/tmp/stolen')",
    "SELECT data FROM pg_largeobject WHERE loid = {}",
    "DELETE FROM pg_largeobject WHERE loid = {}",
    "ALTER LARGE OBJECT {} OWNER TO CURRENT_USER",
    "GRANT ALL ON LARGE OBJECT {} TO PUBLIC",
    "COMMENT ON LARGE OBJECT {} IS ''",
)
_HOLDS = {
    "fairlead_enqueue": "INSERT INTO fairlead.jobs (kind) VALUES ('k')",
    "fairlead_worker": "SELECT fairlead.take_floor_scan_turn('default')",
    "fairlead_autoscaler": "SELECT fairlead._begin_autoscaler_epoch('me', '')",
    "fairlead_scheduler": "SELECT * FROM fairlead._acquire_leadership('me', 60, '')",
    "fairlead_admin": "SELECT fairlead.pause('default')",
}


def log_in_as(log_in: LogIn, role: str | None) -> Session:
    """Return a session of a login with this role, or with none."""
    return log_in(*([role] if role else []))


@pytest.fixture(scope="module")
def preparing() -> Iterator[Server]:
    """Yield a migrated server that prepares transactions."""
    settings = FAST | {"max_prepared_transactions": "10"}
    with running_server(settings, within=fast_folder()) as running:
        with psycopg.connect(running.url, autocommit=True) as connection:
            migrate(connection)
        yield running


@pytest.mark.parametrize("role", _EVERYBODY)
def test_a_large_object_is_its_logins_alone(
    db: Session, log_in: LogIn, role: str | None
) -> None:
    """Anybody who may connect makes some, and reads none of others'."""
    ((theirs,),) = db.execute("SELECT lo_from_bytea(0, 'of others')").fetchall()
    by = log_in_as(log_in, role)

    for attempt in _ON_OTHERS:
        with pytest.raises(errors.InsufficientPrivilege):
            by.execute(attempt.format(theirs).encode())
    ((own,),) = by.execute("SELECT lo_from_bytea(0, 'my own')").fetchall()

    assert [(b"my own",)] == by.execute("SELECT lo_get(%s)", [own]).fetchall()
    assert [(b"of others",)] == db.execute("SELECT lo_get(%s)", [theirs]).fetchall()
    by.execute("SELECT lo_unlink(%s)", [own])


@pytest.mark.parametrize("role", _EVERYBODY)
def test_nobody_prepares_a_transaction_by_default(log_in: LogIn, role: str | None) -> None:
    """It would keep its locks without a session."""
    by = log_in_as(log_in, role)
    by.execute("BEGIN")

    with pytest.raises(errors.ObjectNotInPrerequisiteState, match="disabled"):
        by.execute("PREPARE TRANSACTION 'stolen'")


@pytest.mark.parametrize("role", _EVERYBODY)
def test_a_prepared_transaction_is_ended_by_its_login_alone(
    preparing: Server, role: str | None
) -> None:
    """Where the server prepares them: nobody commits or rolls back what others prepared."""
    url = preparing.url
    with (
        psycopg.connect(url, autocommit=True) as owner,
        login(url, *([role] if role else [])) as name,
        psycopg.connect(as_login(url, name), autocommit=True) as by,
    ):
        owner.execute("BEGIN")
        owner.execute("INSERT INTO fairlead.jobs (kind) VALUES ('k')")
        owner.execute("PREPARE TRANSACTION 'theirs'")
        try:
            for verb in ("COMMIT", "ROLLBACK"):
                with pytest.raises(errors.InsufficientPrivilege):
                    by.execute(f"{verb} PREPARED 'theirs'".encode())
        finally:
            owner.execute("ROLLBACK PREPARED 'theirs'")


@pytest.mark.parametrize("role", _HOLDS)
def test_a_prepared_statement_has_no_right_that_was_taken_away(
    db: Session, log_in: LogIn, role: str
) -> None:
    """Its plan is kept, and the right to run it is asked each time."""
    by = log_in(role)
    by.execute(f"PREPARE mine AS {_HOLDS[role]}".encode())
    by.execute("EXECUTE mine")

    db.execute(
        sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(role), sql.Identifier(by.info.user))
    )

    with pytest.raises(errors.InsufficientPrivilege):
        by.execute("EXECUTE mine")
