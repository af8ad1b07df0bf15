"""`fairlead audit` and `jobs show` say who did what; commands say who runs them."""

import getpass
import json

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.integration.conftest import Fairlead
from tests.support.logins import as_login, login
from tests.support.race import insert_one

ACTORS = "SELECT verb, actor, reason FROM fairlead.audit ORDER BY at, id"


def test_commands_say_who_runs_them_and_why(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option wins over FAIRLEAD_ACTOR, and that over the user of the machine."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind) VALUES ('s', '* * * * *', 'k')"
    )
    job = str(insert_one(db))
    fairlead("pause", "mail", "--actor", "ann", "--reason", "they bounce")
    monkeypatch.setenv("FAIRLEAD_ACTOR", "bob")
    fairlead("resume", "mail")
    fairlead("jobs", "cancel", job, "--actor", "ann")
    fairlead("jobs", "retry", job, "--reason", "it is wanted")
    monkeypatch.delenv("FAIRLEAD_ACTOR")
    fairlead("schedules", "disable", "s")
    fairlead("schedules", "remove", "s", "--actor", "ann")

    me = getpass.getuser()
    assert [
        ("add_schedule", None, None),
        ("pause", "ann", "they bounce"),
        ("resume", "bob", None),
        ("cancel", "ann", None),
        ("retry", "bob", "it is wanted"),
        ("change_schedule", me, None),
        ("remove_schedule", "ann", None),
    ] == db.execute(ACTORS).fetchall()


def test_a_redrive_and_a_policy_say_it_as_well(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch of a redrive does; the author of a policy is its actor."""
    job = insert_one(db)
    db.execute("SELECT fairlead._end_jobs(array[%s::bigint], '{failed}')", [job])
    monkeypatch.setattr("sys.stdin", _Document())

    fairlead("jobs", "redrive", "default", "--actor", "ann", "--reason", "it was the network")
    fairlead("policy", "apply", "-", "--author", "bob", "--reason", "more mail")

    assert [
        ("redrive", "ann", "it was the network"),
        ("apply_policy", "bob", "more mail"),
    ] == db.execute(ACTORS).fetchall()


class _Document:
    """Standard input with a policy."""

    @property
    def buffer(self) -> "_Document":
        """Itself."""
        return self

    def read(self, _: int) -> bytes:
        """Return the policy."""
        return b"queues: [{match: {queue: mail}, weight: 2}]"


def test_the_audit_log_is_listed_newest_first_and_filtered(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """By age, actor or login, job, tenant and verb, so many at most."""
    job = insert_one(db)
    fairlead("jobs", "cancel", str(job), "--actor", "ann")
    fairlead("pause", "mail", "--tenant", "acme", "--actor", "bob", "--reason", "they bounce")
    db.execute(
        "INSERT INTO fairlead.audit (verb, at, actor) VALUES ('pause', now() - '9d'::interval,"
        " 'ann')"
    )

    def listed(*filters: str) -> list[tuple[object, object]]:
        found = json.loads(fairlead("audit", "--json", *filters))
        return [(entry["verb"], entry["actor"]) for entry in found]

    everything = [("pause", "bob"), ("cancel", "ann"), ("pause", "ann")]
    assert everything == listed()
    assert everything[:2] == listed("--since", "1d")
    assert everything[1:] == listed("--actor", "ann")
    assert everything == listed("--actor", str(db.info.user))
    assert everything[1:2] == listed("--job", str(job))
    assert everything[:1] == listed("--tenant", "acme")
    assert [everything[0]] == listed("--verb", "pause", "--limit", "1")
    said = fairlead("audit", "--tenant", "acme")
    assert all(word in said for word in ("queue mail, tenant acme", "bob as ", "they bounce"))
    assert "no such entry" in fairlead("audit", "--verb", "nothing")


def test_a_job_is_shown_with_who_changed_it(
    fairlead: Fairlead,
    db: Connection[TupleRow],
    database_url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To those who may read the log; a reader sees the job alone."""
    job = str(insert_one(db))
    fairlead("jobs", "cancel", job, "--actor", "ann", "--reason", "a duplicate")

    shown = fairlead("jobs", "show", job)
    (entry,) = json.loads(fairlead("jobs", "show", job, "--json"))["audit"]
    with login(database_url, "fairlead_reader") as name:
        monkeypatch.setenv("FAIRLEAD_DATABASE_URL", as_login(database_url, name))
        alone = json.loads(fairlead("jobs", "show", job, "--json"))["audit"]

    assert all(word in shown for word in ("cancel", "ann as ", "fairlead cli", "a duplicate"))
    assert ("cancel", "ann", "a duplicate") == (entry["verb"], entry["actor"], entry["reason"])
    assert [] == alone
