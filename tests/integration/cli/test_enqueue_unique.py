"""`fairlead enqueue` replaces, debounces and keeps to a period, in the words of SQL."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.enqueuing import enqueue
from tests.support.logins import LogIn, as_login


def test_each_way_is_an_option(fairlead: Fairlead, db: Connection[TupleRow]) -> None:
    """The id that is printed is that of the job that waits."""
    key = ("--dedup-key", "key")
    first = fairlead("enqueue", "k", "1", *key, "--debounce", "1h", "--debounce-max", "2h")

    assert first == fairlead("enqueue", "k", "2", *key, "--replace", "--in", "1h")
    assert [(2,)] == db.execute("SELECT payload FROM fairlead.jobs").fetchall()
    once = ("enqueue", "k", "--dedup-key", "once", "--unique-for", "1h")
    fairlead("jobs", "cancel", fairlead(*once).strip())
    assert "has this dedup key, or its period is not over" in fairlead(*once)


def test_what_is_wrong_is_a_sentence(fairlead: Fairlead) -> None:
    """With exit code 2."""
    assert "dedup_key is None: replace needs the key" in fairlead(
        "enqueue", "k", "--replace", code=2
    )
    assert "--debounce 'soon'" in fairlead(
        "enqueue", "k", "--dedup-key", "key", "--debounce", "soon", code=2
    )
    assert "debounce_max is 0:00:01: give 0:00:05" in fairlead(
        *("enqueue", "k", "--dedup-key", "key", "--debounce", "5s", "--debounce-max", "1s"),
        code=2,
    )


def test_another_logins_job_is_not_replaced(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    log_in: LogIn,
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is not said to be a matter of tenants."""
    enqueue(db)
    url = as_login(database_url, log_in("fairlead_enqueue").info.user)
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", url)

    said = fairlead("enqueue", "k", "--dedup-key", "key", "--replace", code=2)

    assert "is not login" in said
    assert "tenant_logins" not in said
