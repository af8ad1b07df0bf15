"""Policy versions in the database: only added, one after the other, by operators alone."""

import pytest
from psycopg import Connection, errors
from psycopg.rows import TupleRow

from fairlead.policy import PolicyRefused, digest, hash_of, parse
from fairlead.policy_storage import Stored, store
from tests.conftest import Background, Connect
from tests.support.logins import LogIn
from tests.support.waiting import blocked, notified

ONE = "version: 1\n"
TWO = "version: 2\n"
APPLY = "SELECT version, stored FROM fairlead.apply_policy(%s, %s, %s, %s)"
STORED = "SELECT version, digest, document FROM fairlead.policy_versions ORDER BY version"
EVENTS = "SELECT version, event, epoch, said FROM fairlead.policy_events ORDER BY id"
REFUSED = (
    "SELECT * FROM fairlead.policy_versions",
    "SELECT * FROM fairlead.policy_events",
    "SELECT * FROM fairlead.rate_usage",
    "SELECT fairlead.apply_policy('{}', '44136fa355b3')",
    "SELECT fairlead.note_refused_policy('44136fa355b3', 'no')",
    "INSERT INTO fairlead.policy_versions (digest, author, document) VALUES ('x', 'x', 'x')",
    "INSERT INTO fairlead.policy_events (version, event) VALUES (1, 'in_force')",
    "INSERT INTO fairlead.rate_usage VALUES ('p', 'q', NULL, 1, 1)",
)
STEERING = (
    "INSERT INTO fairlead.policy_versions (digest, author, document) VALUES ('x', 'x', 'x')",
    "UPDATE fairlead.policy_versions SET document = 'x'",
    "DELETE FROM fairlead.policy_versions",
    "DELETE FROM fairlead.policy_events",
)


def newest(db: Connection[TupleRow]) -> object:
    """Return the document that was stored last."""
    return db.execute(STORED).fetchall()[-1][-1]


def test_every_document_is_a_version(db: Connection[TupleRow]) -> None:
    """Each stored document has a version of its own, an author, a reason and an event."""
    first = store(db, ONE, author="ann", reason="to begin with")
    second = store(db, TWO)

    assert (True, True) == (first.new, second.new)
    assert [
        (first.version, first.digest, ONE),
        (second.version, second.digest, TWO),
    ] == db.execute(STORED).fetchall()
    assert [("ann", "to begin with"), (db.info.user, "")] == db.execute(
        "SELECT author, reason FROM fairlead.policy_versions ORDER BY version"
    ).fetchall()
    assert [(each.version, "stored", None, "") for each in (first, second)] == db.execute(
        EVENTS
    ).fetchall()


def test_what_is_in_force_is_not_stored_again(db: Connection[TupleRow]) -> None:
    """A repeat, or other words for the same, answers the version that there is."""
    first = store(db, ONE)

    again = store(db, f"# a comment\n{ONE}")

    assert Stored(first.version, first.digest, new=False) == again
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.policy_versions").fetchall()


def test_an_older_document_is_a_new_version(db: Connection[TupleRow]) -> None:
    """Only the newest is compared."""
    stored = [store(db, each).version for each in (ONE, TWO, ONE)]

    assert stored == sorted(set(stored))
    assert ONE == newest(db)


def test_a_bad_document_is_not_stored(db: Connection[TupleRow]) -> None:
    """What is in force stays."""
    store(db, ONE)

    with pytest.raises(PolicyRefused, match="did you mean queues"):
        store(db, "qeues: []")

    assert ONE == newest(db)


NOTED = (
    "SELECT hash, author, said FROM fairlead.policy_events WHERE version IS NULL ORDER BY id"
)
NOTE = "SELECT fairlead.note_refused_policy(%s, %s, %s)"


def test_a_bad_document_is_an_event(db: Connection[TupleRow]) -> None:
    """With its hash, its author and the sentence; and it is one event however often."""
    said = "qeues: there is no such field; did you mean queues? (line 1)"
    for author in ("ann", None):
        with pytest.raises(PolicyRefused):
            store(db, "qeues: []", author=author)

    assert [(hash_of(b"qeues: []"), db.info.user, said)] == db.execute(NOTED).fetchall()


def test_the_newest_hundred_refusals_are_kept(db: Connection[TupleRow]) -> None:
    """One that is refused again is the newest; events of versions stay."""
    store(db, ONE)
    for number in (*range(101), 1):
        db.execute(NOTE, [f"{number:012x}", "x" * 2000, "a" * 500])

    found = db.execute(NOTED).fetchall()

    assert [*range(2, 101), 1] == [int(row[0], 16) for row in found]
    assert {(128, 1024)} == {(len(row[1]), len(row[2])) for row in found}
    assert 101 == len(db.execute(EVENTS).fetchall())


def test_storing_wakes_the_scheduler(db: Connection[TupleRow], connect: Connect) -> None:
    """A NOTIFY goes out for a new version, and for nothing else."""
    listener = connect()
    listener.execute("LISTEN fairlead_scheduler")

    store(db, ONE)
    store(db, ONE)

    assert ["policy"] == notified(listener, db, "fairlead_scheduler")


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("document", ("", "44136fa355b3", "ann", "")),
        ("document", ("#" * (256 * 1024 + 1), "44136fa355b3", "ann", "")),
        ("digest", ("{}", "44136fa355b", "ann", "")),
        ("digest", ("{}", "44136FA355B3", "ann", "")),
        ("author", ("{}", "44136fa355b3", "a" * 129, "")),
        ("reason", ("{}", "44136fa355b3", "ann", "r" * 1025)),
    ],
)
def test_the_database_bounds_what_is_stored(
    db: Connection[TupleRow], column: str, given: tuple[str, ...]
) -> None:
    """Any program that calls the function wakes it."""
    with pytest.raises(errors.CheckViolation) as refused:
        db.execute(APPLY, given)

    assert f"policy_versions_{column}_is_" in str(refused.value)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE fairlead.policy_versions SET reason = 'another'",
        "DELETE FROM fairlead.policy_versions",
        "TRUNCATE fairlead.policy_versions CASCADE",
    ],
)
def test_versions_are_only_ever_added(db: Connection[TupleRow], change: str) -> None:
    """Not even the owner changes a stored policy."""
    store(db, ONE)

    with pytest.raises(errors.InsufficientPrivilege, match="store a new version"):
        db.execute(change.encode())

    assert ONE == newest(db)


def test_one_version_follows_another(
    db: Connection[TupleRow], connect: Connect, background: Background
) -> None:
    """A version is in force when its number is the highest: the second waits for the first."""
    first, second = connect(autocommit=False), connect()
    earlier = store(first, ONE)
    later = background(lambda: store(second, TWO))
    blocked(db, second.info.backend_pid)

    first.commit()

    assert later.result().version > earlier.version
    assert TWO == newest(db)


def test_two_who_store_the_same_at_once_store_it_once(
    db: Connection[TupleRow], connect: Connect, background: Background
) -> None:
    """The second sees what the first committed while it waited."""
    first, second = connect(autocommit=False), connect()
    earlier = store(first, ONE)
    later = background(lambda: store(second, ONE))
    blocked(db, second.info.backend_pid)

    first.commit()

    assert Stored(earlier.version, earlier.digest, new=False) == later.result()


@pytest.mark.parametrize(
    ("role", "refused"),
    [
        ("fairlead_enqueue", REFUSED),
        ("fairlead_worker", REFUSED),
        ("fairlead_admin", STEERING),
        ("fairlead_scheduler", (*REFUSED[3:5], *STEERING)),
    ],
)
def test_a_role_can_do_no_more_to_a_policy_than_its_work(
    db: Connection[TupleRow], log_in: LogIn, role: str, refused: tuple[str, ...]
) -> None:
    """Applications and workers nothing; operators store; the scheduler reads."""
    store(db, ONE)
    someone = log_in(role)
    allowed: list[str] = []
    for statement in refused:
        try:
            someone.execute(statement.encode())
        except errors.InsufficientPrivilege:
            continue
        allowed.append(statement)

    assert [] == allowed


def test_an_operator_stores_and_a_scheduler_says_what_became_of_it(log_in: LogIn) -> None:
    """The roles have what their work needs."""
    operator, scheduler = log_in("fairlead_admin"), log_in("fairlead_scheduler")

    stored = store(operator, ONE)

    assert (stored.version, digest(parse(ONE)), ONE) == scheduler.execute(STORED).fetchone()
    note = (
        "INSERT INTO fairlead.policy_events (version, event, epoch, said)"
        " VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
    )
    for _ in range(2):
        scheduler.execute(note, [stored.version, "in_force", 3, ""])
    assert [(stored.version, "stored", None, ""), (stored.version, "in_force", 3, "")] == (
        operator.execute(EVENTS).fetchall()
    )


def test_a_queues_own_rate_is_no_tenants(log_in: LogIn) -> None:
    """The tenant without a name has a row beside the queue's own, and each is there once."""
    scheduler = log_in("fairlead_scheduler")
    keep = (
        "INSERT INTO fairlead.rate_usage (pool, queue, tenant, per_us, tat_us)"
        " VALUES ('p', 'q', %s, 1000000, %s)"
        " ON CONFLICT (pool, queue, tenant, per_us) DO UPDATE SET tat_us = excluded.tat_us"
    )

    for tenant, tat_us in ((None, 1), ("", 2), (None, 3)):
        scheduler.execute(keep, [tenant, tat_us])

    assert [("", 2), (None, 3)] == scheduler.execute(
        "SELECT tenant, tat_us FROM fairlead.rate_usage ORDER BY tenant"
    ).fetchall()
