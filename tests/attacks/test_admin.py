"""What an administrator's login tries to do without an entry in the audit log, and by locks."""

import re
from pathlib import Path

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from tests.attacks.test_rights import MAY
from tests.support import race, tree
from tests.support.logins import LogIn

Session = Connection[TupleRow]

ENTRIES = "SELECT verb, details, login FROM fairlead.audit ORDER BY id"
BIND = "INSERT INTO fairlead.{} SELECT 'zz_' || n, {} FROM generate_series(1000, %s) n"
_PAGE = Path("docs/explanation/security.md")
_LOCKS = "### What an administrator's login can lock\n"


@pytest.fixture
def admin(log_in: LogIn) -> Session:
    """Return the session of the login that attacks."""
    return log_in("fairlead_admin")


def held_by_one_that_ended(db: Session, count: int) -> tuple[int, tuple[race.Lease, ...]]:
    """Return a worker that deregistered, and the attempts that it holds still."""
    race.dispatch(db, race.insert(db, count=count), epoch=race.leading(db))
    worker = race.register(db)
    leases = race.claim(db, worker)
    assert count == len(leases)
    race.answer(db, "deregister_workers(%s::bigint[])", [worker])
    return worker, leases


@pytest.mark.parametrize(
    ("table", "of"), [("tenant_logins", "tenant"), ("pool_logins", "pool")]
)
def test_no_binding_hides_behind_others(
    admin: Session, db: Session, table: str, of: str
) -> None:
    """Every pair is in an entry, however many a statement changes; and no entry is large."""
    pairs = sorted(f"zz_{number}: victim" for number in range(1000, 1211))
    admin.execute(BIND.format(table, "'victim'").encode(), [1210])
    admin.execute(f"UPDATE fairlead.{table} SET {of} = 'b'".encode())
    admin.execute(f"DELETE FROM fairlead.{table}".encode())

    found = db.execute(ENTRIES).fetchall()

    others = [pair.replace("victim", "b") for pair in pairs]
    told: list[tuple[str, list[str]]] = []
    for verb, details, login in found:
        assert admin.info.user == login
        assert table == details["of"]
        assert len(details["pairs"]) == details["rows"] <= len(range(100))
        if not told or told[-1][0] != verb:
            told.append((verb, []))
        told[-1][1].extend(details["pairs"])
    listed = {(verb, pair) for verb, each in told for pair in each}
    assert {("bind_login", pair) for pair in [*pairs, *others]} | {
        ("unbind_login", pair) for pair in [*pairs, *others]
    } == listed
    assert 4 * len(pairs) == sum(details["rows"] for _, details, _ in found)


def test_jobs_of_a_worker_that_ended_by_itself_are_not_given_away_in_silence(
    admin: Session, db: Session
) -> None:
    """Nobody had to release it first; what changes nothing is no entry."""
    worker, leases = held_by_one_that_ended(db, 3)
    release = "SELECT became FROM fairlead._release_jobs(%s, 0, 1000)"

    answers = [admin.execute(release, [worker]).fetchall() for _ in range(2)]

    assert [len(leases) * [("queued",)], []] == answers
    assert [
        ("release_jobs", {"worker": worker, "jobs": len(leases)}, admin.info.user)
    ] == db.execute(ENTRIES).fetchall()


def test_jobs_that_a_transaction_holds_are_not_counted_as_released(
    admin: Session, db: Session, log_in: LogIn
) -> None:
    """Whoever waits for them asks again and again."""
    worker, (lease,) = held_by_one_that_ended(db, 1)
    holder = log_in("fairlead_admin")
    with holder.transaction():
        holder.execute("SELECT fairlead.extend(%s, %s, '1 s')", [lease.job, lease.token])
        held = admin.execute("SELECT became FROM fairlead._release_jobs(%s, 0, 9)", [worker])
        assert [("locked",)] == held.fetchall()

    verbs = [verb for verb, _, _ in db.execute(ENTRIES).fetchall()]
    assert "release_jobs" not in verbs


def test_a_database_is_not_given_away_in_silence(
    admin: Session, db: Session, log_in: LogIn
) -> None:
    """A scheduler that starts takes one without an owner, an administrator only by hand."""
    own = "SELECT fairlead._own_database(%s)"
    for release in ("evil/release", "evil/release", "another"):
        assert ("evil/release",) == admin.execute(own, [release]).fetchone()

    assert [("own_database", {"to": "evil/release"}, admin.info.user)] == (
        db.execute(ENTRIES).fetchall()
    )

    db.execute("UPDATE fairlead.leaders SET release = ''")
    assert ("mine",) == log_in("fairlead_scheduler").execute(own, ["mine"]).fetchone()
    assert 1 == len(db.execute(ENTRIES).fetchall())


def test_the_page_says_what_an_administrator_can_lock() -> None:
    """It begins with the tables."""
    told = tree.text(_PAGE).partition(_LOCKS)[2].partition(", which it changes")[0]

    assert {may for may in MAY["fairlead_admin"] if may.startswith("LOCK")} == {
        f"LOCK {table}" for table in re.findall(r"`(\w+)`", told)
    }


@pytest.mark.parametrize(
    ("table", "role", "statement"),
    [
        ("pool_logins", "fairlead_worker", "SELECT * FROM fairlead.claim(1, 1)"),
        ("tenant_logins", "fairlead_enqueue", "INSERT INTO fairlead.jobs (kind) VALUES ('k')"),
    ],
)
def test_what_an_administrator_locks_is_waited_for_as_the_page_says(
    admin: Session, db: Session, log_in: LogIn, table: str, role: str, statement: str
) -> None:
    """Claims for the one, INSERTs with row-level security by tenant for the other."""
    migrate(db, rls=True)
    other = log_in(role)
    db.execute("INSERT INTO fairlead.tenant_logins VALUES (%s, '')", [other.info.user])
    other.execute(statement.encode())
    other.execute("SET lock_timeout = '100ms'")
    with admin.transaction():
        admin.execute(f"LOCK TABLE fairlead.{table} IN ACCESS EXCLUSIVE MODE".encode())
        with pytest.raises(errors.LockNotAvailable):
            other.execute(statement.encode())

    other.execute(statement.encode())
