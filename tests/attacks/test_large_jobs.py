"""What a login does by many jobs of a size that is admitted: no statement moves all at once."""

from contextlib import closing
from itertools import pairwise
from queue import SimpleQueue

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import lead

Session = Connection[TupleRow]

_JOBS = 40
_AT_ONCE = 25
"""More than a statement moves of jobs of 0.8 MB each."""
LARGE = f"""
    INSERT INTO fairlead.jobs (tenant, kind, queue, payload, expires_at)
    SELECT 'flood', 'k', 'nowhere', v.v, now() + interval '1 hour'
    FROM (SELECT to_jsonb(string_agg(replace(encode(sha256(random()::text::bytea), 'base64'),
                                             E'\\n', ''), '')) AS v
          FROM generate_series(1, 23000)) v, generate_series(1, {_JOBS})
"""


@pytest.fixture
def flood(db: Session, log_in: LogIn) -> Session:
    """Return the owner's connection, when an application has inserted its jobs."""
    log_in("fairlead_enqueue").execute(LARGE.encode())
    return db


def count(db: Session, table: str = "jobs") -> int:
    """Count a table's rows."""
    row = db.execute(f"SELECT count(*) FROM fairlead.{table}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def end_all(db: Session, outcome: str) -> None:
    """End all jobs as one statement of a superuser."""
    db.execute(
        "SELECT fairlead._end_unstarted(array_agg(id), %s) FROM fairlead.jobs", [outcome]
    )


def test_expiry_goes_on_step_by_step(database_url: str, flood: Session) -> None:
    """Each ends what fits, says that there is more, and another's expired jobs follow."""
    flood.execute("INSERT INTO fairlead.jobs (tenant, kind) VALUES ('quiet', 'k')")
    flood.execute("UPDATE fairlead.jobs SET expires_at = now() - interval '1 s'")
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    left: list[int] = []
    with (
        closing(connect_leader(settings, name="sweeps")) as session,
        closing(Wakeup()) as wakeup,
    ):
        sweeps = Sweeps(
            session,
            settings,
            epoch=lead(flood),
            requests=Requests(lambda _: None),
            events=SimpleQueue(),
            wakeup=wakeup,
            metrics=Metrics(),
        )
        more = True
        while more:
            more = sweeps.expire()
            left.append(count(flood))

    assert _JOBS - _AT_ONCE <= left[0]
    assert 0 == left[-1]
    assert _JOBS + 1 == count(flood, "job_history")


def test_expiry_in_turns_goes_on_behind_the_lane_that_did_not_fit(flood: Session) -> None:
    """The next turn is another lane's."""
    flood.execute("INSERT INTO fairlead.jobs (tenant, kind) VALUES ('quiet', 'k')")
    flood.execute("UPDATE fairlead.jobs SET expires_at = now() - interval '1 s', queue = 'q'")

    turns = (
        "SELECT ended, next_queue, next_tenant"
        " FROM fairlead._expire_turns(%s, 'q', %s, 99, 99, 99)"
    )
    epoch = lead(flood)
    first = flood.execute(turns, [epoch, ""]).fetchone()
    second = flood.execute(turns, [epoch, "flood"]).fetchone()

    assert first is not None
    assert 0 < first[0] <= _AT_ONCE
    assert ("q", "flood") == first[1:]
    assert (1, None, None) == second


CANCEL = "SELECT ended, reached_id FROM fairlead._cancel_jobs('nowhere', NULL, NULL, %s, 1000)"
ERASE = "SELECT erased, reached_id FROM fairlead._erase_history('flood', %s, 1000)"


@pytest.mark.parametrize("call", [CANCEL, ERASE])
def test_a_step_by_hand_moves_what_fits_and_says_where_to_go_on(
    flood: Session, call: str
) -> None:
    """Step by step it comes to the end."""
    if call is ERASE:
        end_all(flood, "failed")
    ended: list[int] = []
    reached: int | None = 0
    while reached is not None:
        step = flood.execute(call.encode(), [reached]).fetchone()
        assert step is not None
        ended.append(step[0])
        reached = step[1]

    assert max(ended) <= _AT_ONCE
    assert _JOBS == sum(ended)


def test_a_step_of_a_redrive_makes_what_fits(flood: Session) -> None:
    """And says behind which to go on."""
    end_all(flood, "failed")
    made: list[int] = []
    at: str | None = "-infinity"
    behind = 0
    while at is not None:
        step = flood.execute(
            "SELECT made, reached_at::text, reached_id"
            " FROM fairlead._redrive('nowhere', NULL, NULL, %s, %s, 1000)",
            [at, behind],
        ).fetchone()
        assert step is not None
        made.append(step[0])
        at, behind = step[1], step[2]

    assert max(made) <= _AT_ONCE
    assert _JOBS == sum(made)


@pytest.mark.parametrize(
    "call",
    [
        "SELECT cancelled FROM fairlead.cancel_jobs('nowhere')",
        "SELECT fairlead.redrive('nowhere')",
    ],
)
def test_a_call_by_hand_moves_what_fits(flood: Session, call: str) -> None:
    """Called until it answers 0 it comes to the end."""
    if "redrive" in call:
        end_all(flood, "failed")
    answers: list[int] = []
    while not answers or answers[-1]:
        row = flood.execute(call.encode()).fetchone()
        assert row is not None
        answers.append(row[0])

    assert max(answers) <= _AT_ONCE
    assert _JOBS == sum(answers)


def test_a_call_by_hand_goes_on_past_large_jobs_that_are_locked(
    flood: Session, connect: Connect
) -> None:
    """They count for none of its bytes: else no call would come to the others."""
    flood.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('nowhere', 'last')")
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs WHERE kind = 'k' FOR UPDATE")

    ended = flood.execute("SELECT * FROM fairlead.cancel_jobs('nowhere')").fetchone()

    assert (1, _JOBS) == ended


def test_a_recall_ends_what_fits(flood: Session) -> None:
    """Of jobs that were to stop; the leader asks for the others again."""
    epoch = lead(flood)
    flood.execute("INSERT INTO fairlead.jobs (kind) VALUES ('wanted')")
    jobs = [row[0] for row in flood.execute("SELECT id FROM fairlead.jobs").fetchall()]
    race.dispatch(flood, jobs, epoch=epoch)
    flood.execute("UPDATE fairlead.jobs SET cancel_requested_at = now() WHERE kind <> 'wanted'")
    recall, left = "SELECT fairlead._recall(%s, %s)", [len(jobs)]
    assert [(jobs[-1],)] == flood.execute(recall, [epoch, jobs]).fetchall()
    while left[-1] > 1:
        left.append(count(flood))
        flood.execute(recall, [epoch, jobs])

    assert max(a - b for a, b in pairwise(left)) <= _AT_ONCE
    assert 0 == count(flood, "work_queue")


def test_what_ends_with_a_lost_worker_ends_step_by_step(flood: Session) -> None:
    """Jobs that were to stop end when their worker is lost; those that do not fit come next."""
    epoch = lead(flood)
    ended: list[int] = []
    jobs = [row[0] for row in flood.execute("SELECT id FROM fairlead.jobs").fetchall()]
    race.dispatch(flood, jobs, epoch=epoch)
    flood.execute(
        "UPDATE fairlead.work_queue SET worker = 1, token = job_id, claimed_at = now()"
    )
    flood.execute("UPDATE fairlead.jobs SET cancel_requested_at = now()")
    while count(flood):
        step = flood.execute(
            "SELECT s.* FROM (SELECT array_agg(job_id) AS i, array_agg(token) AS t,"
            " array_agg('lost'::text) AS e FROM fairlead.work_queue"
            " WHERE worker IS NOT NULL) q,"
            " fairlead._steal(%s, q.i, q.t, q.e) s",
            [epoch],
        ).fetchall()
        assert {"cancelled"} == {row[2] for row in step}
        ended.append(len(step))

    assert max(ended) <= _AT_ONCE
    assert _JOBS == sum(ended)
