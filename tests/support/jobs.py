"""Jobs of the trial's handlers: inserted as a service would, and looked at when they ended."""

from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.waiting import until

_INSERT = """
    INSERT INTO fairlead.jobs (queue, kind, payload)
    SELECT %s, 'wait', jsonb_build_object('seconds', %s::float) FROM generate_series(1, %s)
    RETURNING id
"""
_ENDED = """
    SELECT count(*), max(attempt), max(losses + crashes),
        coalesce(max(extract(epoch FROM claimed_at - created_at)), 0)::float
    FROM fairlead.job_history WHERE id = ANY(%s) AND outcome = 'succeeded'
"""
_RUNNING = "SELECT count(*) FROM fairlead.job_status WHERE id = ANY(%s) AND state = 'running'"
_PODS = """
    SELECT DISTINCT w.pod_uid
    FROM fairlead.job_status s JOIN fairlead.workers w ON w.id = s.worker
    WHERE s.id = ANY(%s) AND s.state = 'running'
"""
_CUT_SHORT = """
    SELECT ended_as, count(*) FROM fairlead.attempt_errors WHERE job_id = ANY(%s) GROUP BY 1
"""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of jobs that were inserted together."""

    succeeded: int
    attempts: int
    """Of the job that needed most."""
    losses: int
    longest_wait_seconds: float


@dataclass(frozen=True, slots=True)
class Jobs:
    """Some jobs and the connection that sees them."""

    db: Connection[TupleRow]
    ids: tuple[int, ...]

    def ended(self) -> Ended:
        """Return what has become of them so far."""
        row = self.db.execute(_ENDED, [list(self.ids)]).fetchone()
        assert row is not None
        return Ended(row[0], row[1] or 0, row[2] or 0, row[3])

    def running(self) -> int:
        """Return how many of them run now."""
        row = self.db.execute(_RUNNING, [list(self.ids)]).fetchone()
        assert row is not None
        return int(row[0])

    def pods(self) -> set[str]:
        """Return the uids of the pods that run any of them now."""
        return {str(uid) for (uid,) in self.db.execute(_PODS, [list(self.ids)]).fetchall()}

    def await_running(self, count: int, *, seconds: float = 60.0) -> None:
        """Wait until so many of them run at once."""
        until(
            lambda: self.running() >= count,
            what=f"{count} jobs running at once",
            seconds=seconds,
        )

    def await_end(self, *, seconds: float = 120.0) -> Ended:
        """Wait until all of them have succeeded."""
        return until(
            lambda: found if (found := self.ended()).succeeded == len(self.ids) else None,
            what=f"the success of {len(self.ids)} jobs",
            seconds=seconds,
        )

    def cut_short(self) -> dict[str, int]:
        """Return how many attempts ended without ending their job, by how they did."""
        rows = self.db.execute(_CUT_SHORT, [list(self.ids)]).fetchall()
        return {str(how): int(count) for how, count in rows}


def inserted(
    db: Connection[TupleRow], count: int, *, seconds: float, queue: str = "default"
) -> Jobs:
    """Insert jobs that hold a slot for so many seconds each."""
    rows = db.execute(_INSERT, [queue, seconds, count]).fetchall()
    return Jobs(db, tuple(row[0] for row in rows))
