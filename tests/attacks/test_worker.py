"""A worker's login tries what is not its own: other workers' jobs, pools and rows."""

from dataclasses import dataclass
from typing import LiteralString

import psycopg
import pytest
from psycopg import errors, sql

from fairlead.db.statements import integers, load
from tests.support import drains, race
from tests.support.logins import LogIn, as_login, login
from tests.support.race import Database, Lease, rows
from tests.support.worker_logins import queue, register, renewal

_TOUCHES_TABLES: tuple[LiteralString, ...] = (
    "SELECT payload FROM fairlead.jobs",
    "SELECT payload FROM fairlead.job_history",
    "SELECT payload FROM fairlead.job_status",
    "SELECT job_id, token FROM fairlead.work_queue",
    "SELECT error FROM fairlead.attempt_errors",
    "SELECT note FROM fairlead.job_progress",
    "SELECT id FROM fairlead.worker_leases",
    "SELECT id FROM fairlead.workers",
    "SELECT vtag FROM fairlead.claim_floors",
    "SELECT pool FROM fairlead.pool_logins",
    "DELETE FROM fairlead.jobs",
    "UPDATE fairlead.work_queue SET worker = NULL",
    "DELETE FROM fairlead.work_queue",
    "INSERT INTO fairlead.job_history (id, outcome) VALUES (1, 'succeeded')",
    "INSERT INTO fairlead.receipts (ended, run_us) VALUES ('{1}', '{86400000000}')",
    "INSERT INTO fairlead.worker_leases (slots) VALUES (1000000)",
    "UPDATE fairlead.worker_leases SET slots = 1000000",
    "INSERT INTO fairlead.job_progress (job_id, token, fraction) VALUES (1, 1, 0.5)",
    "DELETE FROM fairlead.job_progress",
    "UPDATE fairlead.floor_scans SET at = 'infinity'",
    "UPDATE fairlead.pod_drains SET drained_at = now()",
    "INSERT INTO fairlead.pool_logins SELECT session_user, 'default'",
    "DELETE FROM fairlead.pool_logins",
    "SELECT nextval('fairlead.tokens')",
    "SELECT fairlead._end_attempts('{1}', '{1}', '{lost}', '{x}', '{0}')",
    "SELECT fairlead._release('{1}', '{1}')",
    "SELECT fairlead._end_jobs('{1}', '{succeeded}')",
)


@dataclass(frozen=True, slots=True)
class Victim:
    """Another login's worker, and the attempt that it runs."""

    worker: int
    lease: Lease

    @property
    def keys(self) -> dict[str, object]:
        """The attempt, as statements ask for it; its token is guessed."""
        return {"ids": integers([self.lease.job]), "tokens": integers([self.lease.token])}


@pytest.fixture
def thief(log_in: LogIn) -> Database:
    """Return the session of the login that attacks."""
    return log_in("fairlead_worker")


@pytest.fixture
def victim(db: Database, log_in: LogIn) -> Victim:
    """Register another login's worker, which runs one job."""
    theirs = log_in("fairlead_worker")
    worker = register(theirs)
    queue(db)
    return Victim(worker, race.claim_one(theirs, worker))


@pytest.fixture
def before(db: Database, victim: Victim) -> str:  # noqa: ARG001 - after it has registered
    """Return everything there is of the victim, before the attack."""
    return everything(db)


def everything(db: Database) -> str:
    """Return what a worker could have changed, as text."""
    tables = (
        "jobs",
        "work_queue",
        "job_history",
        "attempt_errors",
        "job_progress",
        "receipts",
        "claim_floors",
        "floor_scans",
    )
    found = [
        db.execute(
            sql.SQL("SELECT t::text FROM fairlead.{} t ORDER BY 1").format(
                sql.Identifier(table)
            )
        ).fetchall()
        for table in tables
    ]
    leases = db.execute(
        "SELECT id, lease_until, dead_at, slots, draining FROM fairlead.worker_leases"
        " ORDER BY id"
    ).fetchall()
    return repr((found, leases))


@pytest.mark.parametrize("statement", _TOUCHES_TABLES)
def test_a_worker_touches_no_table(thief: Database, statement: LiteralString) -> None:
    """Whatever it reads and writes, it reads and writes through functions."""
    with pytest.raises(errors.InsufficientPrivilege):
        thief.execute(statement)


@pytest.mark.usefixtures("victim")
def test_a_worker_does_not_claim_as_another_logins(db: Database, thief: Database) -> None:
    """A worker's id is no secret, and does not have to be."""
    queue(db)
    known = db.execute("SELECT id FROM fairlead.worker_leases").fetchone()
    assert known is not None
    before = everything(db)

    assert () == race.claim(thief, int(known[0]))
    assert before == everything(db)


@pytest.mark.parametrize(
    "ended_as", ["failed", "snoozed", "returned", "released", "crashed", "lost"]
)
def test_a_worker_hands_back_no_attempt_of_another(
    db: Database, thief: Database, victim: Victim, before: str, ended_as: str
) -> None:
    """The token is right, and the login is not."""
    values = {**victim.keys, "ended_as": [ended_as], "errors": ["x"], "delays": ["1 hour"]}

    (row,) = rows(thief, "fairlead_worker.attempts", "hand_back", values)

    assert "stale" == row["became"]
    assert before == everything(db)


def test_a_worker_finishes_no_attempt_of_another(
    db: Database, thief: Database, victim: Victim, before: str
) -> None:
    """Neither alone nor in a batch with one of its own."""
    assert () == race.finish(thief, [victim.lease])
    assert ((), ()) == race.finish_free(thief, [victim.lease])
    assert before == everything(db)

    queue(db)
    own = race.claim_one(thief, register(thief))
    assert (own.job,) == race.finish(thief, [victim.lease, own])
    assert ("running",) == race.places(db, victim.lease.job)


@pytest.mark.parametrize(
    "call",
    ["complete({}, {})", "fail({}, {})", "extend({}, {}, '1 h')", "checkpoint({}, {}, '1')"],
)
def test_a_handler_of_one_worker_ends_nothing_of_another(
    db: Database, thief: Database, victim: Victim, before: str, call: LiteralString
) -> None:
    """It is refused as a stale token is, and waits for nothing and locks nothing."""
    query = sql.SQL("SELECT fairlead." + call).format(victim.lease.job, victim.lease.token)

    with pytest.raises(psycopg.Error) as refused:
        thief.execute(query)

    assert race.STALE == refused.value.sqlstate
    assert before == everything(db)


def test_a_worker_changes_nothing_of_a_running_attempt_of_another(
    db: Database, thief: Database, victim: Victim
) -> None:
    """Its deadline, its progress, its slot, its crashes and where it runs stay as they are."""
    db.execute(
        "INSERT INTO fairlead.job_progress (job_id, token, fraction) VALUES (%s, %s, 0.5)",
        [victim.lease.job, victim.lease.token],
    )
    before = everything(db)
    for statement, values in (
        ("extend", {"seconds": [86400.0]}),
        ("progress", {"fractions": [0.9], "notes": ["forged"]}),
        ("checkpoints", {"values": ["7"]}),
        ("forget_progress", {}),
        ("release", {"run_us": "{1}"}),
        ("begin_in_quarantine", {"job_id": victim.lease.job, "token": victim.lease.token}),
        ("origins", {}),
    ):
        thief.execute(load("fairlead_worker.attempts", statement), {**victim.keys, **values})
    for statement in ("keep_deadlines", "count_crashes"):
        values = {**victim.keys, "lease_seconds": 86400}
        thief.execute(load("fairlead_worker.parent", statement), values)

    assert before == everything(db)


def test_a_worker_locks_no_attempt_of_another(thief: Database, victim: Victim) -> None:
    """A lock would keep the other from ending it for as long as the thief likes."""
    assert [] == rows(thief, "fairlead_worker.attempts", "finish_free", victim.keys)


def test_a_worker_says_of_no_pod_of_another_that_it_is_empty(
    db: Database, thief: Database
) -> None:
    """The autoscaler would remove it."""
    worker = drains.register(db)
    drains.mark(db)
    drains.renew(db, worker)

    assert not drains.say_drained(thief, worker)
    assert drains.say_drained(db, worker)


def test_a_worker_frees_no_slot_of_another(
    db: Database, thief: Database, victim: Victim
) -> None:
    """The handler has completed its job and runs on."""
    assert "" == race.complete(db, victim.lease)
    before = everything(db)

    values = {**victim.keys, "run_us": "{1}"}

    assert [] == rows(thief, "fairlead_worker.attempts", "release", values)
    assert before == everything(db)
    assert 1 == len(rows(db, "fairlead_worker.attempts", "release", values))


@pytest.mark.parametrize(
    ("package", "statement", "values"),
    [
        ("attempts", "begin_in_quarantine", {}),
        ("attempts", "origins", {}),
        ("parent", "sources", {}),
        ("parent", "leased", {"claimed_until": None}),
        ("parent", "predecessors", {"name": "worker", "pod_uid": None}),
    ],
)
def test_a_worker_reads_nothing_of_another(
    thief: Database, victim: Victim, package: str, statement: str, values: dict[str, object]
) -> None:
    """Neither its jobs nor which they are."""
    asked = {
        **victim.keys,
        "job_id": victim.lease.job,
        "token": victim.lease.token,
        "workers": [victim.worker],
        **values,
    }

    assert [] == rows(thief, f"fairlead_worker.{package}", statement, asked)


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("renew", "worker"),
        ("undrain", "worker"),
        ("drained", "worker"),
        ("deregister", "workers"),
    ],
)
def test_a_worker_does_nothing_to_the_row_of_another(
    db: Database, thief: Database, victim: Victim, before: str, statement: str, named: str
) -> None:
    """It renews, drains and ends its own alone."""
    values = {
        **renewal(victim.worker),
        named: [victim.worker] if named == "workers" else victim.worker,
    }

    assert [] == rows(thief, "fairlead_worker.parent", statement, values)
    assert before == everything(db)


def test_a_worker_learns_of_its_own_cancellations_alone(
    db: Database, thief: Database, victim: Victim
) -> None:
    """A renewal that asks for another's attempt is not told that it is to be cancelled."""
    race.cancel(db, victim.lease.job)
    mine = register(thief)

    (row,) = rows(thief, "fairlead_worker.parent", "renew", renewal(mine, **victim.keys))

    assert [] == row["cancelled"]


def test_a_worker_has_no_more_slots_than_it_registered(db: Database, thief: Database) -> None:
    """The scheduler would dispatch its pool's whole backlog to it, and no lease would lapse."""
    mine = register(thief)

    said = renewal(mine, slots=1_000_000, lease_seconds=1e9)
    assert rows(thief, "fairlead_worker.parent", "renew", said)

    assert (4, True) == db.execute(
        "SELECT slots, lease_until < now() + interval '2 hours' FROM fairlead.worker_leases"
    ).fetchone()


@pytest.mark.parametrize("run_us", [-(10**15), 10**15])
def test_a_receipt_says_of_an_attempt_what_can_be(
    db: Database, thief: Database, run_us: int
) -> None:
    """A tenant is charged neither less than nothing nor for longer than since the claim."""
    queue(db)
    lease = race.claim_one(thief, register(thief))
    values = {
        "ids": integers([lease.job]),
        "tokens": integers([lease.token]),
        "outcomes": None,
        "results": None,
        "errors": None,
        "run_us": integers([run_us]),
    }

    assert rows(thief, "fairlead_worker.attempts", "finish", values)

    (charged,) = db.execute(
        "SELECT run_us[1] FROM fairlead.receipts WHERE ended IS NOT NULL"
    ).fetchall()
    assert 0 <= charged[0] <= 3600e6


def test_a_worker_announces_nothing_for_another(db: Database, thief: Database) -> None:
    """With one attempt for each job, the other's would fail at the first error."""
    theirs, mine = register(db), register(thief)
    values = {"kinds": ["noop"], "max_attempts": "{1}", "at_most_once": "{true}"}

    for worker in (theirs, mine):
        announced = {**values, "worker": worker}
        thief.execute(load("fairlead_worker.parent", "announce_kinds"), announced)

    assert [(mine,)] == db.execute("SELECT worker FROM fairlead.worker_kinds").fetchall()


def test_a_worker_limits_no_kind_for_another(db: Database, thief: Database) -> None:
    """Nor in another pool: it would keep back what others serve."""
    theirs, mine = register(db), register(thief, "elsewhere")

    for worker in (theirs, mine):
        limited = {"worker": worker, "kinds": ["noop"], "limits": "{1}"}
        thief.execute(load("fairlead_worker.parent", "limit_kinds"), limited)

    said = db.execute("SELECT worker, pool FROM fairlead.worker_kind_limits").fetchall()
    assert [(mine, "elsewhere")] == said


def test_a_worker_tells_the_leader_of_rows_of_its_own_pool_alone(
    db: Database, thief: Database
) -> None:
    """What it passes over, the scheduler no longer counts as queued for a worker."""
    queue(db)
    mine = register(thief, "elsewhere")
    values = {"worker": mine, "pool": "default", "full_kinds": ["noop"], "limit": 10}

    thief.execute(load("fairlead_worker.attempts", "pass_over"), values)

    assert [] == db.execute("SELECT id FROM fairlead.receipts").fetchall()


# --- what has to work all the same ----------------------------------------------------------


def test_a_handlers_login_ends_attempts_of_the_worker_login_that_it_is_a_member_of(
    db: Database, database_url: str, thief: Database
) -> None:
    """So that a handler may complete its job over a connection of its own."""
    queue(db)
    lease = race.claim_one(thief, register(thief))

    with (
        login(database_url, str(thief.info.user)) as handler,
        psycopg.connect(as_login(database_url, handler), autocommit=True) as session,
    ):
        assert "" == race.complete(session, lease)

    assert ("succeeded",) == (db.execute("SELECT outcome FROM fairlead.job_history").fetchone())


def test_a_worker_whose_login_is_gone_is_left_to_administrators(
    db: Database, database_url: str, thief: Database, log_in: LogIn
) -> None:
    """Another worker that asks for its attempt is refused without an error."""
    queue(db)
    with (
        login(database_url, "fairlead_worker") as leaver,
        psycopg.connect(as_login(database_url, leaver), autocommit=True) as session,
    ):
        lease = race.claim_one(session, register(session))

    assert race.STALE == race.complete(thief, lease)
    assert "" == race.complete(log_in("fairlead_admin"), lease)
