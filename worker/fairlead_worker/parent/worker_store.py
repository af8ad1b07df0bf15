"""The parent's statements, one function each: the worker's row, and what is leased to it.

Every function is one autocommitted call, or a few of which each is valid by itself. A crash or
a lost connection in the middle leaves what was done; repeating it is harmless unless the
function says otherwise.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import version
from socket import gethostname
from typing import cast

from fairlead.db.statements import integers, load
from fairlead_worker.config import WorkerConfig
from fairlead_worker.db.session import Session
from fairlead_worker.ipc.attempt_key import Key, key_parameters
from fairlead_worker.ipc.attempt_table import UnstoredSuccess
from fairlead_worker.ipc.interruptions import Interruption
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent.pod_drain_state import DrainMark

_PACKAGE = __package__ or ""
_ATTEMPTS = "fairlead_worker.attempts"
_BATCH = 500
_BREAKERS_SHOWN = 100
_EVICTABLE_MAX = 1000
_KINDS_MAX = 1000
_STOPPED = "its worker was stopped before it was done"


@dataclass(frozen=True, slots=True)
class HandBackResult:
    """What the job is now: scheduled, queued, pending, failed, cancelled, stale or locked."""

    ending: Interruption
    state: str
    queue: str | None
    kind: str | None
    """Its job's queue and kind; None where nothing was handed back."""


@dataclass(frozen=True, slots=True)
class Registered:
    """A worker's new row, and the drain mark that its pod had already."""

    worker_id: int
    drain_mark: DrainMark


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a renewal returns: tokens of running attempts to stop, and the drain mark."""

    cancelled: frozenset[int]
    evicted: frozenset[int]
    drain_mark: DrainMark


def register(session: Session, config: WorkerConfig, name: str, slots: int) -> Registered:
    """Insert this worker's row with a new lease, wake the scheduler, and return the row.

    Not idempotent: when the answer is lost, a row stays that is never renewed; it holds no job
    and lapses with its lease.
    """
    values = {
        "lease_seconds": config.worker_lease_seconds,
        "slots": slots,
        "slots_full": config.concurrency * config.processes,
        "name": name,
        "pool": config.pool,
        "host": gethostname(),
        "pod_uid": config.pod_uid,
        "pod_name": config.pod_name,
        "version": version("fairlead"),
        "releases_slots": True,
    }
    worker_id, draining, drained = session.rows(load(_PACKAGE, "register"), values)[0]
    return Registered(_integer(worker_id), DrainMark(bool(draining), bool(drained)))


@dataclass(frozen=True, slots=True)
class Kinds:
    """The kinds for which a worker has handlers, and what it says of their jobs."""

    max_attempts: Mapping[str, int]
    """Of each kind, how many attempts a job has that does not say."""
    at_most_once: frozenset[str] = frozenset()
    """Those whose jobs never begin again."""
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    """Of some, how many of their jobs may run at once in the fleet."""


def announce_kinds(session: Session, worker_id: int, kinds: Kinds) -> None:
    """Say for which kinds this worker has handlers; of more than there is room for, nothing."""
    if len(kinds.max_attempts) <= _KINDS_MAX:
        once = [kind in kinds.at_most_once for kind in kinds.max_attempts]
        values = {
            "worker": worker_id,
            "kinds": [*kinds.max_attempts],
            "max_attempts": integers(kinds.max_attempts.values()),
            "at_most_once": once if kinds.at_most_once else None,
        }
        session.rows(load(_PACKAGE, "announce_kinds"), values)


def limit_kinds(session: Session, worker_id: int, limits: Mapping[str, int]) -> None:
    """Say how many jobs of some kinds may run at once in the fleet."""
    values = {"worker": worker_id, "kinds": [*limits], "limits": integers(limits.values())}
    session.rows(load(_PACKAGE, "limit_kinds"), values)


def awaits_limits(session: Session, worker_id: int) -> bool:
    """Return whether the leader does not yet hold to what `limit_kinds` has said."""
    ((awaits,),) = session.rows(load(_PACKAGE, "awaits_limits"), {"worker": worker_id})
    return bool(awaits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """What a renewal reports about a worker."""

    worker_id: int
    lease_seconds: float
    slots: int
    slotless: int
    """How many attempts it holds without a slot."""
    crash_breakers: frozenset[Source]
    """The sources whose circuit breaker is open: they are shown, and change nothing else."""
    evictable_kinds: frozenset[str]
    """The kinds of which a run may be asked to make room."""
    running: tuple[Key, ...]


def renew(session: Session, renewal: Renewal) -> Renewed | None:
    """Renew the lease; stop claims while the pod is marked, and allow them afterwards.

    None: the row is dead, and its jobs may run elsewhere by now.
    """
    values = {
        "worker": renewal.worker_id,
        "lease_seconds": renewal.lease_seconds,
        "slots": renewal.slots,
        "beside": renewal.slotless,
        "crash_breakers": _shown(renewal.crash_breakers),
        "evictable_kinds": sorted(renewal.evictable_kinds)[:_EVICTABLE_MAX] or None,
        **key_parameters(renewal.running),
    }
    rows = session.rows(load(_PACKAGE, "renew"), values)
    if not rows:
        return None
    cancelled, evicted, draining, marked, drained = rows[0]
    over = draining and not marked and session.rows(load(_PACKAGE, "undrain"), values)
    drain_mark = DrainMark() if over else DrainMark(bool(draining), bool(drained))
    return Renewed(frozenset(_integers(cancelled)), frozenset(_integers(evicted)), drain_mark)


def drained(session: Session, worker_id: int) -> bool:
    """Store that a marked pod holds nothing, if that is true; return whether it is."""
    return bool(session.rows(load(_PACKAGE, "drained"), {"worker": worker_id}))


def pool_owner(session: Session, pool: str) -> str:
    """Return the release that owns a pool, or nothing. It only reads."""
    return str(session.rows(load("fairlead", "own_pool"), {"pool": pool, "release": ""})[0][0])


def keep_deadlines(session: Session, waiting: Iterable[Key], lease_seconds: float) -> None:
    """Move the deadlines of attempts that have not begun to the end of a lease at least."""
    session.rows(
        load(_PACKAGE, "keep_deadlines"),
        {**key_parameters(waiting), "lease_seconds": lease_seconds},
    )


def take_over(
    session: Session, workers: tuple[int, ...], error: str
) -> tuple[HandBackResult, ...]:
    """Mark workers dead and hand back what they held as lost; return the new states.

    Their claims end first: a claim locks its worker's row, so none can slip in between. What
    another transaction has locked is left to the scheduler's sweep.
    """
    if not workers:
        return ()
    session.rows(load(_PACKAGE, "deregister"), {"workers": integers(workers)})
    left = leased(session, workers)
    return hand_back(session, [Interruption(*key, "lost", error) for key in left])


def deregister(
    session: Session, worker_id: int, begun: frozenset[int] = frozenset()
) -> tuple[HandBackResult, ...]:
    """Mark this worker dead and return what it still holds; none of it runs any more.

    Attempts of these tokens have begun: what was to be stored of them could not be.
    """
    session.rows(load(_PACKAGE, "deregister"), {"workers": integers((worker_id,))})
    left = leased(session, (worker_id,))
    return hand_back(
        session,
        [
            Interruption(*key, "released", _STOPPED)
            if key[1] in begun
            else Interruption(*key, "returned")
            for key in left
        ],
    )


def predecessors(session: Session, config: WorkerConfig, name: str) -> tuple[int, ...]:
    """Return the workers of this name and pod that are not marked dead."""
    values = {"name": name, "pod_uid": config.pod_uid}
    return tuple(
        _integer(row[0]) for row in session.rows(load(_PACKAGE, "predecessors"), values)
    )


def leased(
    session: Session, workers: tuple[int, ...], claimed_until: datetime | None = None
) -> tuple[Key, ...]:
    """Return what is leased to workers and was claimed at that instant or before."""
    values = {"workers": integers(workers), "claimed_until": claimed_until}
    rows = session.rows(load(_PACKAGE, "leased"), values)
    return tuple((_integer(job_id), _integer(token)) for job_id, token in rows)


def database_time(session: Session) -> datetime:
    """Return the time of the clock that stamps claims."""
    now = session.rows(load(_PACKAGE, "database_time"), {})[0][0]
    assert isinstance(now, datetime)
    return now


def hand_back(session: Session, endings: Iterable[Interruption]) -> tuple[HandBackResult, ...]:
    """End attempts that were cut short; the caller asks again for those that are `locked`."""
    wanted = sorted(endings, key=lambda each: (each.job_id, each.token))
    results: list[HandBackResult] = []
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        by_token = {each.token: each for each in batch}
        rows = session.rows(load(_ATTEMPTS, "hand_back"), _parameters(batch))
        results += [
            HandBackResult(
                by_token[_integer(token)],
                str(became),
                cast("str | None", queue),
                cast("str | None", kind),
            )
            for _, token, became, queue, kind in rows
        ]
    return tuple(results)


def finish(
    session: Session, ended: Iterable[UnstoredSuccess]
) -> tuple[frozenset[int], frozenset[int]]:
    """Finish jobs whose attempts succeeded without a result, but for those that are locked.

    Returns:
        The tokens of those that are finished now, and of those that are locked.

    Raises:
        psycopg.Error: nothing of it has happened.
    """
    ordered = sorted(ended, key=lambda each: each.job_id)
    values = {
        **key_parameters(each.key for each in ordered),
        "run_us": integers(each.run_us for each in ordered),
    }
    rows = session.rows(load(_PACKAGE, "finish_free"), values)
    finished = frozenset(_integer(token) for token, is_finished in rows if is_finished)
    return finished, frozenset(_integer(token) for token, _ in rows) - finished


@dataclass(frozen=True, slots=True)
class JobRecord:
    """Whose job it is, and how often a process has died with it beside others."""

    source: Source
    crashes: int


def sources(session: Session, keys: Iterable[Key]) -> dict[int, JobRecord]:
    """Return the sources and crashes of the unfinished jobs of attempts, by id."""
    rows = session.rows(load(_PACKAGE, "sources"), key_parameters(keys))
    return {
        _integer(job_id): JobRecord((str(kind), str(tenant)), _integer(crashes))
        for job_id, kind, tenant, crashes in rows
    }


def count_crashes(session: Session, keys: Iterable[Key]) -> None:
    """Count a death of the process against jobs that are no suspects and go back unpunished.

    Not idempotent: when the answer is lost, the death counts twice, and the job may be a
    suspect one death too soon.
    """
    session.rows(load(_PACKAGE, "count_crashes"), key_parameters(keys))


def unfinished(session: Session) -> bool:
    """Return whether anything is pending, queued, running, or due again after an attempt."""
    return bool(session.rows(load(_PACKAGE, "unfinished"), {})[0][0])


def awaited(session: Session) -> dict[str, bool]:
    """Return the queues with something unfinished, at most ten, and whether each is paused."""
    rows = session.rows(load(_PACKAGE, "awaited"), {})
    return {str(queue): bool(paused) for queue, paused in rows}


def _shown(sources: frozenset[Source]) -> str | None:
    """Return some of the sources as JSON; None: there is none."""
    return json.dumps(sorted(sources)[:_BREAKERS_SHOWN]) if sources else None


def _parameters(batch: list[Interruption]) -> dict[str, object]:
    return {
        "ids": integers(each.job_id for each in batch),
        "tokens": integers(each.token for each in batch),
        "ended_as": [each.ended_as for each in batch],
        "errors": [each.error for each in batch],
        "delays": [each.delay for each in batch],
    }


def _integer(value: object) -> int:
    assert isinstance(value, int)
    return value


def _integers(value: object) -> tuple[int, ...]:
    assert isinstance(value, list)
    return tuple(_integer(each) for each in cast("list[object]", value))
