"""Pauses that end at an instant: who may make them, what a repeat does, and who ends them."""

from datetime import UTC, datetime, timedelta

import pytest
from psycopg import errors

from tests.conftest import Connect
from tests.support.logins import LogIn
from tests.support.race import Database, insert_one, lead

_PAUSED = "SELECT queue, tenant, until FROM fairlead.paused ORDER BY queue, tenant"
_AUDIT = "SELECT verb, queue, tenant, reason, details FROM fairlead.audit ORDER BY at, id"
_SOON = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)


def test_a_pause_has_an_end_or_none_and_a_repeat_gives_it_another(db: Database) -> None:
    """The same once more is no entry of the audit log."""
    for until in (_SOON, _SOON, _SOON + timedelta(hours=1), None, None):
        db.execute("SELECT fairlead.pause('mail', 'acme', %s)", [until])
        assert [("mail", "acme", until)] == db.execute(_PAUSED).fetchall()

    said = [row[4] for row in db.execute(_AUDIT).fetchall()]
    ends = [None if each is None else datetime.fromisoformat(each["until"]) for each in said]
    assert [_SOON, _SOON + timedelta(hours=1), None] == ends


@pytest.mark.parametrize(
    "until", ["now()", "now() - interval '1 s'", "now() + interval '367 d'"]
)
@pytest.mark.parametrize("beyond", ["infinity", "-infinity"])
def test_an_end_lies_ahead(db: Database, until: str, beyond: str) -> None:
    """By a year at most: what is further away is a pause without an end."""
    for each in (until, f"'{beyond}'"):
        with pytest.raises(errors.InvalidParameterValue, match="lies ahead, by 366 days"):
            db.execute(f"SELECT fairlead.pause('mail', until => {each})".encode())

    assert [] == db.execute(_PAUSED).fetchall()


def test_the_leader_ends_those_that_are_over(db: Database) -> None:
    """No other login does, and none before its time; each is an entry of the audit log."""
    epoch = lead(db)
    db.execute(
        "INSERT INTO fairlead.paused (queue, tenant, until) VALUES ('q1', 'acme', now()),"
        " ('q2', null, now() - interval '1 s'), ('q3', null, now() - interval '2 s'),"
        " ('q4', null, now() + interval '1 h'), ('open', null, null)"
    )
    done = "SELECT fairlead._end_pauses(%s, 2)"

    assert (0,) == db.execute(done, [epoch + 1]).fetchone()
    assert [(2,), (1,), (0,)] == [db.execute(done, [epoch]).fetchone() for _ in range(3)]

    assert ["open", "q4"] == [row[0] for row in db.execute(_PAUSED).fetchall()]
    ended = [row[:4] for row in db.execute(_AUDIT).fetchall() if row[0] == "resume"]
    why = "its end has come"
    assert [("resume", "q1", "acme", why)] == [row for row in ended if row[1] == "q1"]
    assert 3 == len(ended)


def test_one_that_is_given_another_end_meanwhile_is_left(
    db: Database, connect: Connect
) -> None:
    """A row that somebody holds is passed over, so that no leader waits for it."""
    epoch = lead(db)
    other = connect()
    db.execute("INSERT INTO fairlead.paused (queue, until) VALUES ('mail', now())")
    with other.transaction():
        other.execute("SELECT fairlead.pause('mail', until => %s)", [_SOON])
        db.execute("SET lock_timeout = '1s'")
        assert (0,) == db.execute("SELECT fairlead._end_pauses(%s, 9)", [epoch]).fetchone()

    assert (0,) == db.execute("SELECT fairlead._end_pauses(%s, 9)", [epoch]).fetchone()
    assert [("mail", None, _SOON)] == db.execute(_PAUSED).fetchall()


def test_explain_says_until_when(db: Database) -> None:
    """Where its queue and its tenant are paused, until both are over."""
    db.execute("SET timezone = 'UTC'")
    job = insert_one(db)
    later = _SOON + timedelta(hours=3)
    explain = "SELECT fairlead.explain(%s)"

    db.execute("SELECT fairlead.pause('default', until => %s)", [_SOON])
    db.execute("SELECT fairlead.pause('default', '', %s)", [later])
    (both,) = db.execute(explain, [job]).fetchone() or ({},)
    db.execute("SELECT fairlead.pause('default', '')")
    (without,) = db.execute(explain, [job]).fetchone() or ({},)

    assert later == datetime.fromisoformat(both["paused_until"])
    assert f", until {later:%Y-%m-%d %H:%M:%S}+00: resume it" in both["sentence"]
    assert "paused_until" not in without
    assert "until" not in without["sentence"]


def test_a_login_of_a_tenant_pauses_its_own_alone(log_in: LogIn) -> None:
    """An end gives nobody a right."""
    reader = log_in("fairlead_viewer")

    with pytest.raises(errors.InsufficientPrivilege):
        reader.execute("SELECT fairlead.pause('mail', until => now() + interval '1 h')")
    with pytest.raises(errors.InsufficientPrivilege):
        reader.execute("SELECT fairlead._end_pauses(1, 1)")
