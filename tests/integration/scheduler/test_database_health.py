"""What the leader says of the database: sessions, who holds what is dead, tables, workers.

It looks as the scheduler's own role, which may not see what others' sessions do.
"""

from contextlib import ExitStack
from time import monotonic

import psycopg
import pytest
from prometheus_client import CollectorRegistry
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.migrate import migrate
from fairlead_scheduler.background.database_health import DatabaseHealth
from fairlead_scheduler.metrics.database import DatabaseMetrics
from tests.conftest import Connect
from tests.support.children import register
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.logins import LogIn
from tests.support.race import let_lapse

Database = Connection[TupleRow]
_SESSIONS = """
    SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity
    WHERE backend_type = 'client backend'
"""


class Leader:
    """A leader's looks over one session, and what is shown of them."""

    def __init__(self, connection: Database) -> None:
        self.now = 1000.0
        self._registry = CollectorRegistry()
        self.vitals = DatabaseHealth(
            connection,
            DatabaseMetrics(self._registry, str),
            pools=lambda: ("mail",),
            clock=lambda: self.now,
        )

    def look(self, *, after: float = 0.0) -> None:
        """Look at the server after so many seconds."""
        self.now += after
        self.vitals.measure_server()

    def shown(self, name: str, **labels: str) -> float:
        """Return a value that is shown."""
        value = self._registry.get_sample_value(f"fairlead_{name}", labels)
        assert value is not None, (name, labels)
        return value

    def held(self, holder: str) -> tuple[float, float]:
        """Return how old what is held is, in seconds and in transactions."""
        return (
            self.shown("db_oldest_xmin_age_seconds", holder=holder),
            self.shown("db_oldest_xmin_age_transactions", holder=holder),
        )


@pytest.fixture
def leader(log_in: LogIn) -> Leader:
    """Return a leader that has not looked yet."""
    return Leader(log_in("fairlead_scheduler"))


def pass_ids(db: Database, count: int) -> None:
    """Have so many transactions write something."""
    for _ in range(count):
        db.execute("SELECT pg_current_xact_id()")


def test_a_snapshot_that_is_kept_open_ages_and_is_let_go(
    leader: Leader, db: Database, connect: Connect
) -> None:
    """In another login's transaction, which the scheduler may not look into."""
    leader.look()
    holder = connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT 1")
    pass_ids(db, 5)
    leader.look(after=10)
    pass_ids(db, 5)
    leader.look(after=10)

    seconds, transactions = leader.held("transaction")
    assert transactions >= 10
    assert 20.0 == seconds
    holder.rollback()
    leader.look(after=10)
    assert (0.0, 0.0) == leader.held("transaction")
    assert (0.0, 0.0) == leader.held("prepared")


def test_a_transaction_that_only_reads_now_and_then_holds_nothing(
    leader: Leader, db: Database, connect: Connect
) -> None:
    """Between two statements an ordinary transaction without a write has no snapshot."""
    idle = connect(autocommit=False)
    idle.execute("SELECT 1")
    leader.look()
    pass_ids(db, 5)
    leader.look(after=60)

    assert (0.0, 0.0) == leader.held("transaction")


def test_a_prepared_transaction_holds_what_its_session_is_done_with() -> None:
    """It is not listed among the sessions."""
    settings = {**FAST, "max_prepared_transactions": "2"}
    with (
        running_server(settings, within=fast_folder()) as server,
        psycopg.connect(server.url, autocommit=True) as db,
        psycopg.connect(server.url, autocommit=True) as session,
    ):
        migrate(db)
        leader = Leader(session)
        leader.look()
        db.execute("BEGIN")
        db.execute("SELECT pg_current_xact_id()")
        db.execute("PREPARE TRANSACTION 'forgotten'")
        pass_ids(db, 7)
        leader.look(after=30)

        assert (30.0, 8.0) == leader.held("prepared")
        assert 0.0 == leader.held("transaction")[0]
        db.execute("ROLLBACK PREPARED 'forgotten'")


def test_sessions_are_counted_by_the_programs_that_they_name(
    leader: Leader, database_url: str, db: Database
) -> None:
    """All of them together are what is used of the most that there may be."""
    named = ("fairlead worker mail-1", "fairlead worker claims", "fairlead workers", "psql")
    with ExitStack() as opened:
        for name in named:
            opened.enter_context(psycopg.connect(database_url, application_name=name))
        leader.look()
        (every, most) = db.execute(_SESSIONS).fetchone() or (0, 0)

    programs = ("scheduler", "worker", "autoscaler", "other")
    counts = {each: leader.shown("db_connections", program=each) for each in programs}
    assert (2.0, 0.0) == (counts["worker"], counts["autoscaler"])
    assert every == sum(counts.values())
    assert 0 < leader.shown("db_connections_max") < most


def test_workers_are_counted_by_their_leases_and_marks(leader: Leader, db: Database) -> None:
    """One that is marked takes no more jobs; a dead one is not counted."""
    register(db, name="a", pool="gpu")
    marked = register(db, name="b", pool="gpu")
    lapsed = register(db, name="c", pool="gpu")
    dead = register(db, name="d", pool="gpu")
    db.execute("UPDATE fairlead.worker_leases SET pod_uid = 'u' WHERE id = %s", [marked])
    db.execute(
        "INSERT INTO fairlead.pod_drains (pod_uid, pool, epoch, drain_until)"
        " VALUES ('u', 'gpu', 0, now() + interval '1 minute')"
    )
    let_lapse(db, lapsed)
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [dead])
    leader.look()

    states = ("live", "draining", "lapsed")
    assert [1.0, 1.0, 1.0] == [leader.shown("workers", pool="gpu", state=s) for s in states]
    assert [0.0, 0.0, 0.0] == [leader.shown("workers", pool="mail", state=s) for s in states]


def test_dead_rows_are_shown_of_the_tables_that_change(leader: Leader, db: Database) -> None:
    """By the statistics, which know of what was deleted and not cleaned away."""
    db.execute("INSERT INTO fairlead.jobs (kind) SELECT 'k' FROM generate_series(1, 100)")
    db.execute("DELETE FROM fairlead.jobs WHERE id % 4 <> 0")
    db.execute("SELECT pg_stat_force_next_flush()")
    leader.vitals.measure_tables()

    assert 75.0 == leader.shown("db_table_dead_rows", table="jobs")
    assert 0.75 == leader.shown("db_table_bloat_ratio", table="jobs")
    assert leader.shown("db_table_size_bytes", table="jobs") > 0
    assert leader.shown("db_table_index_bytes", table="work_queue") > 0


def test_a_table_that_is_being_rewritten_is_not_waited_for(
    log_in: LogIn, connect: Connect
) -> None:
    """The look is given up after two seconds; the session keeps its own limit and goes on."""
    session = log_in("fairlead_scheduler")
    session.execute("SET statement_timeout = '50s'")
    leader = Leader(session)
    rewriting = connect(autocommit=False)
    rewriting.execute("LOCK TABLE fairlead.jobs IN ACCESS EXCLUSIVE MODE")

    began = monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled):
        leader.vitals.measure_tables()

    assert monotonic() - began < 40
    assert ("50s",) == session.execute("SHOW statement_timeout").fetchone()
    rewriting.rollback()
    leader.vitals.measure_tables()
    assert 0.0 == leader.shown("db_table_dead_rows", table="leaders")


def test_batches_that_are_not_over_are_counted_by_state(leader: Leader, db: Database) -> None:
    """And how old the oldest is; those that are over are not."""
    leader.vitals.measure_batches()
    assert 0.0 == leader.shown("batches", state="open")
    db.execute(
        "INSERT INTO fairlead.batches (kind, open, problem, completed_at, created_at)"
        " SELECT 'k', i < 3, CASE WHEN i = 3 THEN 'full' END,"
        " CASE WHEN i > 6 THEN now() END, now() - i * interval '1 minute'"
        " FROM generate_series(1, 9) i"
    )

    leader.vitals.measure_batches()

    shown = {
        state: (leader.shown("batches", state=state), age // 60)
        for state in ("open", "waiting", "refused")
        for age in (leader.shown("batches_oldest_age_seconds", state=state),)
    }
    assert {"open": (2, 2), "waiting": (3, 6), "refused": (1, 3)} == shown
