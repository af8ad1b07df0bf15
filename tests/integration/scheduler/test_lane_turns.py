"""One lane's backlog of due or expired jobs delays no other lane's, and keeps its own order."""

from collections.abc import Iterator
from contextlib import closing
from queue import SimpleQueue

import pytest

from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rows import Event, Promoted
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import Database, claim, dispatch, lead, leading, register

BATCH = 10
FLOOD = 300
_INSERT = """
    INSERT INTO fairlead.jobs (queue, tenant, kind, run_at, expires_at)
    SELECT 'q', %s, 'noop', CASE WHEN %s THEN now() + interval '1 hour' END,
           now() + interval '2 hours'
    FROM generate_series(1, %s) RETURNING id
"""
_DUE = """
    UPDATE fairlead.jobs
    SET run_at = now() - interval '1 s' * %s + interval '1 ms' * (id - %s) WHERE id = ANY(%s)
"""
_EXPIRED = _DUE.replace("run_at", "expires_at")


class Leader:
    """The sweeps of a leader, and what they promoted."""

    def __init__(self, db: Database, sweeps: Sweeps, events: SimpleQueue[Event]) -> None:
        self.db = db
        self.sweeps = sweeps
        self._events = events

    def promoted(self) -> list[list[int]]:
        """Run one promotion; return the jobs of each of its batches."""
        self.sweeps.promote()
        return [
            [job.id for job in event.rows]
            for event in take_all(self._events)
            if isinstance(event, Promoted)
        ]

    def promoted_of(self, jobs: list[int], *, runs: int) -> set[int]:
        """Run some promotions; return which of these jobs they promoted."""
        found = {job for _ in range(runs) for batch in self.promoted() for job in batch}
        return found & set(jobs)


@pytest.fixture
def leader(database_url: str, db: Database) -> Iterator[Leader]:
    """Yield the sweeps of a leader that takes ten jobs at a time."""
    settings = SchedulerSettings.model_validate(
        {"database_url": database_url, "sweep_max": BATCH}
    )
    events = SimpleQueue[Event]()
    session = connect_leader(settings, name="sweeps")
    with closing(session), closing(Wakeup()) as wakeup:
        sweeps = Sweeps(
            session,
            settings,
            epoch=lead(db),
            requests=Requests(SimpleQueue[str]().put),
            events=events,
            wakeup=wakeup,
            metrics=Metrics(),
        )
        yield Leader(db, sweeps, events)


def due(db: Database, tenant: str, count: int, *, ago: float) -> list[int]:
    """Insert jobs of a tenant that fell due so many seconds ago, a millisecond apart."""
    return _past(db, _DUE, tenant, count, ago, scheduled=True)


def expired(db: Database, tenant: str, count: int, *, ago: float) -> list[int]:
    """Insert pending jobs of a tenant that expired so many seconds ago."""
    return _past(db, _EXPIRED, tenant, count, ago, scheduled=False)


def _past(
    db: Database, statement: str, tenant: str, count: int, ago: float, *, scheduled: bool
) -> list[int]:
    rows = db.execute(_INSERT.encode(), [tenant, scheduled, count]).fetchall()
    jobs = sorted(int(row[0]) for row in rows)
    db.execute(statement.encode(), [ago, jobs[0], jobs])
    return jobs


def left(db: Database, jobs: list[int]) -> set[int]:
    """Return which of these jobs have not ended."""
    rows = db.execute("SELECT id FROM fairlead.jobs WHERE id = ANY(%s)", [jobs]).fetchall()
    return {int(row[0]) for row in rows}


def test_a_flood_of_due_jobs_delays_no_other_lane(db: Database, leader: Leader) -> None:
    """Whoever fell due after it has its turn with the next batch, and not after thirty."""
    due(db, "flood", FLOOD, ago=9)
    others = [job for each in range(5) for job in due(db, f"other {each}", 1, ago=5)]

    assert set(others) == leader.promoted_of(others, runs=2)


def test_more_lanes_than_a_statement_walks_all_have_their_turn(
    db: Database, leader: Leader
) -> None:
    """The next statement goes on where one stopped, behind lanes that have nothing due."""
    due(db, "flood", FLOOD, ago=9)
    for each in range(60):
        due(db, f"later {each:2}", 1, ago=-3600)
    others = [job for each in range(34) for job in due(db, f"other {each:2}", 1, ago=5)]

    assert set(others) == leader.promoted_of(others, runs=7)


def test_a_lane_that_appears_meanwhile_has_its_turn_with_the_next_batch(
    db: Database, leader: Leader
) -> None:
    """The flood alone had any in the round before, and leaves room for one more."""
    due(db, "flood", FLOOD, ago=9)
    leader.promoted_of([], runs=2)
    newcomers = due(db, "new", 3, ago=5)

    assert set(newcomers) == leader.promoted_of(newcomers, runs=1)


def test_a_lanes_jobs_are_promoted_in_order_of_time(db: Database, leader: Leader) -> None:
    """In turns or not, no batch has a job that fell due before one of an earlier batch."""
    lanes = [due(db, tenant, FLOOD // 3, ago=9) for tenant in ("a", "b", "c")]
    batches = [batch for _ in range(FLOOD // BATCH) for batch in leader.promoted()]

    for jobs in lanes:
        mine = [sorted(set(batch) & set(jobs)) for batch in batches]
        assert jobs == [job for batch in mine for job in batch]


def test_a_locked_job_is_passed_over_and_has_the_lanes_next_turn(
    db: Database, leader: Leader, connect: Connect
) -> None:
    """A promotion waits for no application, and comes back while it has a backlog."""
    other = connect(autocommit=False)
    due(db, "flood", FLOOD, ago=9)
    (locked,) = due(db, "other", 1, ago=5)
    other.execute("SELECT FROM fairlead.jobs WHERE id = %s FOR UPDATE", [locked])
    while_locked = leader.promoted_of([locked], runs=3)

    other.rollback()

    assert (set(), {locked}) == (while_locked, leader.promoted_of([locked], runs=2))


def test_everything_is_promoted_once_and_what_is_not_due_stays(
    db: Database, leader: Leader
) -> None:
    """Until a batch in order of time takes all there is, and then nothing is left."""
    jobs = due(db, "flood", FLOOD, ago=9) + due(db, "other", 30, ago=5)
    due(db, "later", 5, ago=-3600)

    found = [job for _ in range(FLOOD) for batch in leader.promoted() for job in batch]

    assert (sorted(jobs), False) == (sorted(found), leader.sweeps.promote())


def test_a_former_leader_promotes_and_ends_nothing_in_turns(
    db: Database, leader: Leader
) -> None:
    """Each statement is fenced by the epoch."""
    due(db, "flood", FLOOD, ago=9)
    expired(db, "flood", FLOOD, ago=9)
    leader.promoted()
    leader.sweeps.expire()
    before = db.execute("SELECT count(*), count(run_at) FROM fairlead.jobs").fetchone()

    lead(db)

    assert [] == leader.promoted()
    leader.sweeps.expire()
    after = db.execute("SELECT count(*), count(run_at) FROM fairlead.jobs").fetchone()
    assert before == after


def test_a_flood_of_expired_jobs_delays_no_other_lane(db: Database, leader: Leader) -> None:
    """Whoever expired after it ends with the next batch, and not after thirty."""
    expired(db, "flood", FLOOD, ago=9)
    others = [job for each in range(5) for job in expired(db, f"other {each}", 1, ago=5)]

    leader.sweeps.expire()
    leader.sweeps.expire()

    assert set() == left(db, others)


def test_more_lanes_than_a_statement_walks_all_expire_in_turns(
    db: Database, leader: Leader
) -> None:
    """The next statement goes on where one stopped, behind lanes where nothing expired."""
    expired(db, "flood", FLOOD, ago=9)
    for each in range(60):
        expired(db, f"later {each:2}", 1, ago=-3600)
    others = [job for each in range(34) for job in expired(db, f"other {each:2}", 1, ago=5)]

    for _ in range(7):
        leader.sweeps.expire()

    assert set() == left(db, others)


def test_a_turn_ends_what_is_queued_and_leaves_what_runs(db: Database) -> None:
    """As in order of time: an expired job that runs is left to finish."""
    (running,) = expired(db, "runs", 1, ago=-3600)
    (queued,) = expired(db, "waits", 1, ago=-3600)
    epoch = leading(db)
    assert (running,) == dispatch(db, [running], epoch=epoch)
    assert 1 == len(claim(db, register(db)))
    assert (queued,) == dispatch(db, [queued], epoch=epoch)
    db.execute("UPDATE fairlead.jobs SET expires_at = now() - interval '1 s'")

    row = db.execute(
        "SELECT ended, lanes, next_queue FROM fairlead._expire_turns(%s, '', '', 9, 9, 9)",
        [epoch],
    ).fetchone()

    assert ((1, 1, None), {running}) == (row, left(db, [running, queued]))
