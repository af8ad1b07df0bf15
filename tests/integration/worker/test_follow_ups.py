"""Handlers of a real worker enqueue follow-ups over the worker's own login."""

from pathlib import Path

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.chaos.fleet import fleet
from tests.support.logins import LogIn, as_login
from tests.support.programs import forked
from tests.support.schedulers import led
from tests.support.waiting import until

_DONE = """
    SELECT kind, tenant, result #>> '{}', enqueued_by FROM fairlead.job_history
    WHERE outcome = 'succeeded' ORDER BY id
"""


@pytest.mark.parametrize("bound", [False, True], ids=["any pool", "bound"])
@pytest.mark.parametrize("rls", [False, True], ids=["open", "isolated"])
def test_a_handler_enqueues_a_follow_up_in_its_jobs_own_transaction(
    database_url: str,
    db: Connection[TupleRow],
    log_in: LogIn,
    tmp_path: Path,
    *,
    bound: bool,
    rls: bool,
) -> None:
    """Each program has its role and no other; the follow-up is of another tenant."""
    migrate(db, rls=rls)
    client, scheduler, worker = (
        log_in(f"fairlead_{role}") for role in ("enqueue", "scheduler", "worker")
    )
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, 'acme')", [client.info.user])
    if bound:
        db.execute(
            "INSERT INTO fairlead.pool_logins VALUES (%s, 'default')", [worker.info.user]
        )
    client.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, payload) VALUES ('import', 'acme', '\"a\"')"
    )

    with fleet(database_url, tmp_path, starts=forked) as made:
        for name, login, arguments in (
            ("scheduler", scheduler, ()),
            ("worker", worker, ("--app", "tests.support.follow_up_app:tasks")),
        ):
            url = as_login(database_url, login.info.user)
            made.start(name, f"fairlead_{name}.main", *arguments, url=url)
        led(db)
        done = until(
            lambda: found if len(found := db.execute(_DONE).fetchall()) == 2 else None,
            what="the follow-up",
            seconds=60,
        )

    assert [
        ("import", "acme", None, client.info.user),
        ("thumbnail", "other", "a", worker.info.user),
    ] == done
