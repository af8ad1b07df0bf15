"""The two sides of a race: the real statements, each on the connection that a test chose.

A side that is held open runs on a connection that does not autocommit: it has done its work and
keeps its locks until the test commits or rolls back. The other side runs in a thread.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar

import psycopg
from psycopg import Connection
from psycopg.rows import DictRow, TupleRow, dict_row

from fairlead.db.statements import integers, load
from tests.support import children
from tests.support.waiting import until

T = TypeVar("T")
Database = Connection[TupleRow]

STALE = "FL001"
"""The SQLSTATE with which a stale token is refused."""

_WAITS = """
    SELECT true FROM pg_stat_activity WHERE pid = %s AND wait_event_type = 'Lock'
"""
_PLACES = """
    SELECT CASE WHEN q.job_id IS NOT NULL AND j.run_at IS NOT NULL
                    THEN 'queued before it is due'
                WHEN q.worker IS NOT NULL THEN 'running'
                WHEN q.job_id IS NOT NULL THEN 'queued'
                WHEN j.run_at IS NOT NULL THEN 'scheduled'
                ELSE 'pending' END
    FROM fairlead.jobs j LEFT JOIN fairlead.work_queue q ON q.job_id = j.id WHERE j.id = %(id)s
    UNION ALL
    SELECT 'queued without a job' FROM fairlead.work_queue q
    WHERE q.job_id = %(id)s AND NOT EXISTS (SELECT FROM fairlead.jobs j WHERE j.id = q.job_id)
    UNION ALL
    SELECT h.outcome FROM fairlead.job_history h WHERE h.id = %(id)s
"""


@dataclass(frozen=True, slots=True)
class Lease:
    """What a claim answers about one job, as far as races need it."""

    job: int
    token: int
    attempt: int = 1
    alone: bool = False
    doomed: str | None = None


class Outwait(Protocol):
    """Makes a call that has to wait for another connection's transaction."""

    def __call__(self, call: Callable[[], T], *, waiting: Database, holder: Database) -> T:
        """Start the call, see its connection wait, commit the holder; return the answer."""
        ...


def insert(
    db: Database, *, count: int = 1, dedup_key: str | None = None, timeout: str | None = None
) -> tuple[int, ...]:
    """Insert jobs as an application does; return the ids of those that are no duplicates."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, dedup_key, timeout) SELECT 'noop', %s, %s::interval"
        " FROM generate_series(1, %s) ON CONFLICT DO NOTHING RETURNING id",
        [dedup_key, timeout, count],
    )
    return tuple(row[0] for row in rows.fetchall())


def insert_one(db: Database, *, dedup_key: str | None = None) -> int:
    """Insert one job that is no duplicate."""
    (job,) = insert(db, dedup_key=dedup_key)
    return job


def queue_one(db: Database) -> int:
    """Insert a job and dispatch it."""
    job = insert_one(db)
    assert (job,) == dispatch(db, [job], epoch=leading(db))
    return job


def let_expire(db: Database, *jobs: int) -> None:
    """Make the jobs expire a second ago."""
    db.execute(
        "UPDATE fairlead.jobs SET expires_at = now() - interval '1 second' WHERE id = ANY(%s)",
        [list(jobs)],
    )


def let_fall_due(db: Database, *jobs: int) -> None:
    """Make the scheduled ones of the jobs due a second ago."""
    db.execute(
        "UPDATE fairlead.jobs SET run_at = now() - interval '1 second'"
        " WHERE id = ANY(%s) AND run_at IS NOT NULL",
        [list(jobs)],
    )


def let_overrun(db: Database, *leases: Lease) -> None:
    """Put the attempts' deadlines a minute into the past."""
    db.execute(
        "UPDATE fairlead.work_queue SET deadline = now() - interval '1 minute'"
        " WHERE token = ANY(%s)",
        [[lease.token for lease in leases]],
    )


def let_lapse(db: Database, worker: int) -> None:
    """End a worker's lease a second ago."""
    db.execute(
        "UPDATE fairlead.worker_leases SET lease_until = now() - interval '1 second'"
        " WHERE id = %s",
        [worker],
    )


def register(db: Database) -> int:
    """Register a worker that lives for an hour; return its id."""
    return children.register(db, slots=100, name="racer")


def lead(db: Database) -> int:
    """Take the lead over, as a new leader does; return its epoch."""
    row = db.execute(
        "UPDATE fairlead.leaders SET epoch = epoch + 1 WHERE role = 'scheduler' RETURNING epoch"
    ).fetchone()
    assert row is not None
    return int(row[0])


def dispatch(
    db: Database,
    jobs: Sequence[int],
    *,
    epoch: int = 0,
    floor: int = 0,
    vtag: int = 1000,
    woken: Sequence[int] = (),
) -> tuple[int, ...]:
    """Dispatch the jobs, all with one tag, and wake workers; return the jobs moved."""
    ids = sorted(jobs)
    rows = db.execute(
        load("fairlead_scheduler.loop", "dispatch"),
        {
            "epoch": epoch,
            "floor": floor,
            "pool": "default",
            "band": 0,
            "ids": integers(ids),
            "vtags": integers([vtag] * len(ids)),
            "estimates_us": integers([1000] * len(ids)),
            "seen_us": integers([None] * len(ids)),
            "used": None,
            "kinds": None,
            "counted": None,
            "workers": [str(each) for each in woken],
            "timeout_default": "10 min",
            "timeout_max": "1 h",
        },
    )
    return tuple(sorted(row[0] for row in rows.fetchall()))


def promote(db: Database, *, epoch: int = 0) -> tuple[int, ...]:
    """Make what fell due pending; return those jobs."""
    values = {"epoch": epoch, "from_us": 0, "limit": 100}
    (row,) = rows(db, "fairlead_scheduler.background", "promote", values)
    return tuple(sorted(row["ids"] or ()))


def mark_dead(db: Database, *, epoch: int = 0) -> tuple[int, ...]:
    """Mark the workers dead whose lease has lapsed; return those."""
    rows = db.execute(
        load("fairlead_scheduler.background", "mark_dead"),
        {"epoch": epoch, "worker_lease_seconds": 0, "limit": 100},
    )
    return tuple(row[0] for row in rows.fetchall())


def steal(
    db: Database, *, epoch: int = 0, overdue_seconds: float = 3600, limit: int = 100
) -> tuple[int, ...]:
    """Take back what dead workers and overdue attempts hold, in one look; return those jobs."""
    values = {
        "epoch": epoch,
        "after": "(0,0)",
        "pages": 8192,
        "overdue_seconds": overdue_seconds,
        "limit": limit,
    }
    (row,) = rows(db, "fairlead_scheduler.background", "steal", values)
    return tuple(sorted(row["stolen"]))


def claim(
    db: Database,
    worker: int,
    *,
    limit: int = 10,
    below_floor: bool = False,
    pool: str = "default",
) -> tuple[Lease, ...]:
    """Claim up to `limit` jobs."""
    values = {
        "worker": worker,
        "pool": pool,
        "limit": limit,
        "below_floor": below_floor,
        "full_kinds": None,
    }
    return tuple(
        Lease(row["job_id"], row["token"], row["attempt"], row["alone"], row["doomed"])
        for row in rows(db, "fairlead_worker.attempts", "claim", values)
    )


def claim_one(db: Database, worker: int) -> Lease:
    """Claim the only job there is."""
    (lease,) = claim(db, worker)
    return lease


def run_one(db: Database, *, dedup_key: str | None = None) -> Lease:
    """Insert a job, dispatch it and claim it for a new worker."""
    job = insert_one(db, dedup_key=dedup_key)
    assert (job,) == dispatch(db, [job], epoch=leading(db))
    return claim_one(db, register(db))


def leading(db: Database) -> int:
    """Return the epoch of the scheduler that leads."""
    row = db.execute("SELECT epoch FROM fairlead.leaders WHERE role = 'scheduler'").fetchone()
    assert row is not None
    return int(row[0])


def finish(
    db: Database,
    leases: Sequence[Lease],
    *,
    outcome: str = "succeeded",
    lock_timeout: str = "10s",
    run_us: int = 1000,
) -> tuple[int, ...]:
    """End attempts for good in one batch, as run for so long; return the jobs whose token held.

    It waits for a locked row as long as a test does; with a lock timeout of 0 as long as
    the statement itself says.
    """
    db.execute("SELECT set_config('lock_timeout', %s, false)", [lock_timeout])
    batch = sorted(leases, key=lambda lease: lease.job)
    rows = db.execute(
        load("fairlead_worker.attempts", "finish"),
        {
            **_keys(batch),
            "outcomes": [outcome] * len(batch),
            "results": None,
            "errors": None,
            "run_us": integers([run_us] * len(batch)),
        },
    )
    held = {row[0] for row in rows.fetchall()}
    return tuple(lease.job for lease in batch if lease.token in held)


def finish_free(
    db: Database, leases: Sequence[Lease]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """End those attempts that are not locked; return their jobs, and those to ask for again.

    Both statements are one transaction, as in a worker.
    """
    with db.transaction():
        found = rows(db, "fairlead_worker.attempts", "finish_free", _keys(leases))
        free = {row["token"] for row in found if row["free"]}
        locked = {row["token"] for row in found} - free
        ended = finish(db, [lease for lease in leases if lease.token in free])
    return ended, tuple(sorted(lease.job for lease in leases if lease.token in locked))


def complete(db: Database, lease: Lease) -> str:
    """Finish a job in the caller's transaction; return how it was refused, or nothing."""
    try:
        db.execute("SELECT fairlead.complete(%s, %s, '{}')", [lease.job, lease.token])
    except psycopg.Error as error:
        return str(error.sqlstate)
    return ""


def _keys(leases: Sequence[Lease]) -> dict[str, object]:
    batch = sorted(leases, key=lambda lease: lease.job)
    return {
        "ids": integers(lease.job for lease in batch),
        "tokens": integers(lease.token for lease in batch),
    }


def end(
    db: Database, lease: Lease, ended_as: str, *, delay: str = "1 hour", patient: bool = True
) -> str:
    """End one attempt without completing its job; return what became of it."""
    row = db.execute(
        "SELECT became FROM fairlead._end_attempts(ARRAY[%s]::bigint[], ARRAY[%s]::bigint[],"
        " ARRAY[%s], ARRAY['it broke'], ARRAY[%s::interval], %s)",
        [lease.job, lease.token, ended_as, delay, not patient],
    ).fetchone()
    assert row is not None
    return str(row[0])


def hand_back(db: Database, lease: Lease, ended_as: str) -> str:
    """End an attempt as its worker does, not its job; return what became of it."""
    values = {**_keys([lease]), "ended_as": [ended_as], "errors": ["it broke"], "delays": None}
    (row,) = rows(db, "fairlead_worker.attempts", "hand_back", values)
    return str(row["became"])


def cancel(db: Database, job: int) -> object:
    """Cancel a job; return the answer."""
    return answer(db, "cancel(%s)", job)


def answer(db: Database, call: str, *values: object) -> object:
    """Return what one of Fairlead's functions answers: the first column of its first row."""
    row = db.execute(f"SELECT * FROM fairlead.{call}".encode(), values).fetchone()
    return row[0] if row else None


def rows(
    db: Database, package: str, statement: str, values: Mapping[str, object]
) -> list[DictRow]:
    """Return what a package's statement answers, by the columns' names."""
    with db.cursor(row_factory=dict_row) as cursor:
        return cursor.execute(load(package, statement), values).fetchall()


def places(db: Database, job: int) -> tuple[str, ...]:
    """Return every place in its life that a job is in; there must be exactly one."""
    return tuple(row[0] for row in db.execute(_PLACES, {"id": job}).fetchall())


def halted(observer: Database, other: Database, call: Future[T]) -> bool:
    """Return whether the other connection's call waits for a lock, or has ended."""
    pid = other.info.backend_pid
    return until(
        lambda: _waits_or_ended(observer, pid, call), what="the other side's end or its wait"
    ) == ("waits",)


def _waits_or_ended(observer: Database, pid: int, call: Future[T]) -> tuple[str] | None:
    if call.done():
        return ("ended",)
    return ("waits",) if observer.execute(_WAITS, [pid]).fetchone() else None
