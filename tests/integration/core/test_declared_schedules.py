"""Schedules that an application declares are written, changed and removed, and no others."""

import json
import sys
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from fairlead.errors import InvalidPayload
from fairlead.tasks import Tasks
from tests.integration.conftest import Fairlead
from tests.support.logins import LogIn

_ROWS = """
    SELECT tenant, name, cron, timezone, kind, payload, queue, declared_by
    FROM fairlead.schedules ORDER BY tenant, name
"""
_BY_HAND = "INSERT INTO fairlead.schedules (name, cron, kind) VALUES (%s, '0 4 * * *', 'k')"


def application(**crons: str) -> Tasks:
    """Return an application with schedules of these names."""
    tasks = Tasks(name="mail")

    @tasks.handler("nightly", queue="slow", max_attempts=3)
    def nightly(job: fairlead.Job, days: int = 1) -> int:
        return job.id + days

    for name, cron in crons.items():
        tasks.cron(cron, tenant="acme", name=name, payload={"days": 7})(nightly)
    return tasks


def test_what_is_new_is_added_and_what_is_gone_removed(db: Connection[TupleRow]) -> None:
    """What differs is changed, and a repeat changes nothing."""
    first = fairlead.sync_schedules(db, application(a="0 3 * * *", b="0 4 * * *"))
    assert ((("acme", "a"), ("acme", "b")), (), ()) == first
    assert ((), (), ()) == fairlead.sync_schedules(
        db, application(a="0 3 * * *", b="0 4 * * *")
    )

    then = fairlead.sync_schedules(db, application(b="0 5 * * *", c="0 6 * * *"))

    assert ((("acme", "c"),), (("acme", "b"),), (("acme", "a"),)) == then
    columns = ("UTC", "nightly", {"days": 7}, "slow", "mail")
    assert [
        ("acme", "b", "0 5 * * *", *columns),
        ("acme", "c", "0 6 * * *", *columns),
    ] == db.execute(_ROWS).fetchall()
    verbs = "SELECT verb, schedule FROM fairlead.audit ORDER BY id"
    assert [
        ("add_schedule", None),
        ("add_schedule", "c"),
        ("change_schedule", "b"),
        ("remove_schedule", "a"),
    ] == sorted(db.execute(verbs).fetchall(), key=lambda row: (row[0], row[1] or ""))


def test_what_others_made_is_left_alone(db: Connection[TupleRow], log_in: LogIn) -> None:
    """By hand, by another application, by another login; a name that is taken is said."""
    db.execute(_BY_HAND, ["by hand"])
    mine, theirs = log_in("fairlead_enqueue"), log_in("fairlead_enqueue")
    fairlead.sync_schedules(theirs, application(theirs="0 3 * * *"))
    other = Tasks(name="other")
    other.cron("0 1 * * *", name="other")(other.handler("nightly")(_nothing))
    fairlead.sync_schedules(mine, other)

    fairlead.sync_schedules(mine, application(mine="0 3 * * *"))
    assert ((), (), (("acme", "mine"),)) == fairlead.sync_schedules(mine, application())

    assert ["by hand", "other", "theirs"] == sorted(
        str(row[1]) for row in db.execute(_ROWS).fetchall()
    )
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        fairlead.sync_schedules(mine, application(theirs="0 5 * * *"))
    mine.execute(
        "INSERT INTO fairlead.schedules (tenant, name, cron, kind)"
        " VALUES ('acme', 'taken', '0 4 * * *', 'k')"
    )
    with pytest.raises(ValueError, match="schedule 'taken' of tenant 'acme' is there and this"):
        fairlead.sync_schedules(mine, application(new="0 5 * * *", taken="0 5 * * *"))
    assert "new" not in {row[1] for row in db.execute(_ROWS).fetchall()}


def _nothing(_job: fairlead.Job) -> None:
    """Do nothing."""


def test_one_that_was_disabled_stays_so(db: Connection[TupleRow]) -> None:
    """An operator's decision outlasts a deploy."""
    fairlead.sync_schedules(db, application(a="0 3 * * *"))
    db.execute("UPDATE fairlead.schedules SET enabled = false")

    fairlead.sync_schedules(db, application(a="0 4 * * *"))

    assert [(False, "0 4 * * *")] == db.execute(
        "SELECT enabled, cron FROM fairlead.schedules"
    ).fetchall()


def test_what_cannot_be_declared_is_refused(db: Connection[TupleRow]) -> None:
    """Where it stands, or when it is written."""
    tasks = Tasks(name="mail")
    handler = tasks.handler("k")(_nothing)
    with pytest.raises(ValueError, match="cron must have five fields"):
        tasks.cron("daily")(handler)
    tasks.cron("0 3 * * *")(handler)
    with pytest.raises(ValueError, match="tenant '' has a schedule 'k' already: give this one"):
        tasks.cron("0 4 * * *")(handler)
    with pytest.raises(ValueError, match="name must be 1 to 128 bytes, not ''"):
        Tasks(name="")
    with pytest.raises(ValueError, match="an application with schedules needs a name"):
        fairlead.sync_schedules(db, Tasks())
    unreadable = application()
    unreadable.cron("0 25 * * *")(unreadable.handler("late")(_nothing))
    with pytest.raises(
        ValueError, match=r"schedule 'late': cron '0 25 \* \* \*' cannot be read"
    ):
        fairlead.sync_schedules(db, unreadable)

    typed = application()
    typed.cron("0 3 * * *", payload={"days": "many"})(typed.handler("typed")(_typed))
    with pytest.raises(InvalidPayload, match="payload of 'typed' does not fit: days is 'many'"):
        fairlead.sync_schedules(db, typed)
    assert [] == db.execute(_ROWS).fetchall()


def _typed(job: fairlead.Job, days: int) -> int:
    return job.id + days


_APP = """
import fairlead
tasks = fairlead.Tasks(name="shop")

@tasks.cron("0 3 * * *", tenant="acme", timezone="Europe/Berlin")
def nightly(job: fairlead.Job) -> None: ...
"""


def test_a_command_writes_them_in_a_deploy(
    fairlead: Fairlead, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the folder in which it is started, and it says what it did."""
    (tmp_path / "shop_jobs.py").write_text(_APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    said = fairlead("schedules", "sync", "shop_jobs:tasks", "--reason", "deploy 7")
    assert "added schedule 'nightly' of tenant 'acme'\n" == said
    assert "nothing to change\n" == fairlead("schedules", "sync", "shop_jobs:tasks")
    (row,) = json.loads(fairlead("schedules", "list", "--json"))
    assert ("shop", "Europe/Berlin") == (row["declared_by"], row["timezone"])
    again = json.loads(fairlead("schedules", "sync", "shop_jobs:tasks", "--json"))
    assert {"added": [], "changed": [], "removed": []} == again
    assert "deploy 7" in fairlead("audit", "--json")

    assert "cannot load app 'nothing:tasks'" in fairlead(
        "schedules", "sync", "nothing:tasks", code=2
    )
