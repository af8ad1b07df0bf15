"""The parent's statements, one door each.

Every door is one autocommitted call, or a few of which each holds by itself. A crash or a lost
connection in the middle leaves what was done; doing it again is harmless unless it says so.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from socket import gethostname
from typing import cast

from fairlead.sql import integers, load
from fairlead_worker.keys import Key, columns
from fairlead_worker.ledger_view import Ending
from fairlead_worker.orders import Orders
from fairlead_worker.rest import Mark
from fairlead_worker.session import Session

ROOM = "fairlead_worker"
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Became:
    """What became of an attempt: scheduled, queued, failed, cancelled, stale or locked."""

    ending: Ending
    became: str


@dataclass(frozen=True, slots=True)
class Registered:
    """A worker's new row, and the mark that its pod had already."""

    worker_id: int
    mark: Mark


@dataclass(frozen=True, slots=True)
class Renewed:
    """What a renewal answers: tokens that run and are to be cancelled, and the mark."""

    cancelled: frozenset[int]
    mark: Mark


def register(session: Session, orders: Orders, name: str, slots: int) -> Registered:
    """Insert this worker's row with a fresh lease, wake the scheduler, and answer its id.

    Not idempotent: when the answer is lost, a row stays that nobody renews; it holds no job,
    and lapses with its lease.
    """
    values = {
        "lease_seconds": orders.worker_lease_seconds,
        "slots": slots,
        "slots_full": orders.concurrency * orders.processes,
        "name": name,
        "pool": orders.pool,
        "host": gethostname(),
        "pod_uid": orders.pod_uid,
        "pod_name": orders.pod_name,
        "version": version("fairlead"),
    }
    worker_id, draining, drained, _ = session.rows(load(ROOM, "register"), values)[0]
    return Registered(_integer(worker_id), Mark(bool(draining), bool(drained)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewal:
    """What a renewal says of a worker."""

    worker_id: int
    lease_seconds: float
    slots: int
    beside: int
    """How many attempts it holds without a slot."""
    running: tuple[Key, ...]


def renew(session: Session, renewal: Renewal) -> Renewed | None:
    """Prolong the lease; claim no more once the pod is marked, and again when it is not.

    None: the row is dead, and what it held may run elsewhere by now.
    """
    values = {
        "worker": renewal.worker_id,
        "lease_seconds": renewal.lease_seconds,
        "slots": renewal.slots,
        "beside": renewal.beside,
        **columns(renewal.running),
    }
    rows = session.rows(load(ROOM, "renew"), values)
    if not rows:
        return None
    cancelled, draining, marked, drained = rows[0]
    over = draining and not marked and session.rows(load(ROOM, "undrain"), values)
    mark = Mark() if over else Mark(bool(draining), bool(drained))
    return Renewed(frozenset(_integers(cancelled)), mark)


def drained(session: Session, worker_id: int) -> bool:
    """Write that nothing is left under the pod's mark, if that is so; tell whether it is."""
    return bool(session.rows(load(ROOM, "drained"), {"worker": worker_id}))


def keep(session: Session, waiting: Iterable[Key], lease_seconds: float) -> None:
    """Keep attempts that have not begun from being overdue before the lease is."""
    session.rows(load(ROOM, "keep"), {**columns(waiting), "lease_seconds": lease_seconds})


def bury(session: Session, workers: tuple[int, ...], error: str) -> tuple[Became, ...]:
    """Mark workers dead and hand back whatever they held as lost; answer what became of it.

    Their claims end first: a claim holds its worker's row, so none can slip in between. What
    somebody has locked is left to the scheduler's sweep.
    """
    if not workers:
        return ()
    session.rows(load(ROOM, "deregister"), {"workers": integers(workers)})
    left = held(session, workers)
    return hand_back(session, [Ending(*key, "lost", error) for key in left])


def leave(session: Session, worker_id: int) -> tuple[Became, ...]:
    """Mark this worker dead and return what it still holds; none of it runs any more."""
    session.rows(load(ROOM, "deregister"), {"workers": integers((worker_id,))})
    left = held(session, (worker_id,))
    return hand_back(session, [Ending(*key, "returned") for key in left])


def predecessors(session: Session, orders: Orders, name: str) -> tuple[int, ...]:
    """Return the workers of this name and pod that nobody has marked dead."""
    values = {"name": name, "pod_uid": orders.pod_uid}
    return tuple(_integer(row[0]) for row in session.rows(load(ROOM, "predecessors"), values))


def held(
    session: Session, workers: tuple[int, ...], claimed_until: datetime | None = None
) -> tuple[Key, ...]:
    """Return what is leased to workers, claimed at that instant or before."""
    values = {"workers": integers(workers), "claimed_until": claimed_until}
    rows = session.rows(load(ROOM, "held"), values)
    return tuple((_integer(job_id), _integer(token)) for job_id, token in rows)


def database_time(session: Session) -> datetime:
    """Return the time by the clock that stamps claims."""
    now = session.rows(load(ROOM, "database_time"), {})[0][0]
    assert isinstance(now, datetime)
    return now


def hand_back(session: Session, endings: Iterable[Ending]) -> tuple[Became, ...]:
    """End attempts that were cut short; ask again for those that became `locked`."""
    wanted = sorted(endings, key=lambda each: (each.job_id, each.token))
    became: list[Became] = []
    for start in range(0, len(wanted), _BATCH):
        batch = wanted[start : start + _BATCH]
        by_token = {each.token: each for each in batch}
        rows = session.rows(load(ROOM, "hand_back"), _parameters(batch))
        became += [Became(by_token[_integer(row[1])], str(row[2])) for row in rows]
    return tuple(became)


def kinds(session: Session, job_ids: Iterable[int]) -> dict[int, tuple[str, str]]:
    """Return the queue and the kind of jobs, by id."""
    rows = session.rows(load(ROOM, "kinds"), {"ids": integers(sorted(job_ids))})
    return {_integer(job_id): (str(queue), str(kind)) for job_id, queue, kind in rows}


def return_unheld(
    session: Session, worker_id: int, claimed_until: datetime, keep: frozenset[int]
) -> tuple[Became, ...]:
    """Hand back, as returned, what this worker has claimed and none of its children holds."""
    leased = held(session, (worker_id,), claimed_until)
    unheld = [(job_id, token) for job_id, token in leased if token not in keep]
    return hand_back(session, [Ending(*key, "returned") for key in unheld])


def unfinished(session: Session) -> bool:
    """Tell whether anything is pending, queued, running, or to come again after an attempt."""
    return bool(session.rows(load(ROOM, "unfinished"), {})[0][0])


def awaited(session: Session) -> dict[str, bool]:
    """Return the queues with something unfinished, at most ten, and whether each is paused."""
    rows = session.rows(load(ROOM, "awaited"), {})
    return {str(queue): bool(paused) for queue, paused in rows}


def _parameters(batch: list[Ending]) -> dict[str, object]:
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
