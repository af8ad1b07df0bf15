"""What a login has prepared outlasts its session, or was planned when it had more rights."""

from collections.abc import Iterator, Mapping, Sequence

import psycopg
import pytest
from psycopg import Connection, errors, sql
from psycopg.rows import TupleRow

from fairlead_cli.dev.postgres import Server
from tests.support.databases import (
    FAST,
    cloned_database,
    fast_folder,
    make_template,
    running_server,
)
from tests.support.logins import LogIn, as_login, login
from tests.support.victims import MAY_HOLD, Victims

Session = Connection[TupleRow]

_DOES: Mapping[str, Sequence[str]] = {
    "fairlead_enqueue": (
        "INSERT INTO fairlead.jobs (kind) VALUES ('k')",
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('mine', '* * * * *', 'k')",
        "SELECT fairlead.cancel_jobs(tenant => 'victim')",
        "SELECT fairlead.remove_schedules('victim', 'victim')",
    ),
    "fairlead_reader": ("SELECT count(*) FROM fairlead.job_status",),
    "fairlead_worker": (
        "SELECT fairlead.take_floor_scan_turn('default')",
        "SELECT fairlead._own_pool('owned', 'evil')",
        "SELECT fairlead._own_pool('mine', 'evil')",
    ),
    "fairlead_autoscaler": ("SELECT fairlead._begin_autoscaler_epoch('me', '')",),
}
"""What each role's own work locks most by, of what notifies nobody: PostgreSQL prepares no
transaction that has."""
_ONE: Mapping[str, str] = {
    **{role: does[0] for role, does in _DOES.items()},
    "fairlead_scheduler": "SELECT * FROM fairlead._acquire_leadership('me', 60, '')",
    "fairlead_operator": "SELECT fairlead.pause('default')",
    "fairlead_admin": "SELECT fairlead.note_refused_policy('0123456789ab', 'said')",
}


@pytest.fixture(scope="module")
def preparing() -> Iterator[Server]:
    """Yield a server that prepares transactions, which PostgreSQL's default does not."""
    settings = FAST | {"max_prepared_transactions": "10"}
    with running_server(settings, within=fast_folder()) as running:
        make_template(running)
        yield running


@pytest.mark.xdist_group("prepared")
@pytest.mark.parametrize("role", _DOES)
def test_a_prepared_transaction_holds_no_more_than_an_open_one_may(
    preparing: Server, role: str
) -> None:
    """It keeps its locks without a session, until its login or a superuser ends it."""
    with (
        cloned_database(preparing) as url,
        psycopg.connect(url, autocommit=True) as owner,
        login(url, role) as name,
    ):
        victims = Victims(owner)
        with psycopg.connect(as_login(url, name), autocommit=True) as by:
            by.execute("BEGIN")
            for each in _DOES[role]:
                by.execute(each.encode())
            by.execute("PREPARE TRANSACTION 'theirs'")
        try:
            held = victims.held(None)
        finally:
            owner.execute("ROLLBACK PREPARED 'theirs'")

        assert [] == [each for each in held if not each.startswith(MAY_HOLD.get(role, ()))]
        assert bool(held) == (role in MAY_HOLD)
        assert set() == victims.held(None)


@pytest.mark.parametrize("role", _ONE)
def test_a_prepared_statement_has_no_right_that_was_taken_away(
    db: Session, log_in: LogIn, role: str
) -> None:
    """Its plan is kept, and the right to run it is asked each time."""
    by = log_in(role)
    by.execute(f"PREPARE mine AS {_ONE[role]}".encode())
    by.execute("EXECUTE mine")

    db.execute(
        sql.SQL("REVOKE {} FROM {}").format(sql.Identifier(role), sql.Identifier(by.info.user))
    )

    with pytest.raises(errors.InsufficientPrivilege):
        by.execute("EXECUTE mine")
