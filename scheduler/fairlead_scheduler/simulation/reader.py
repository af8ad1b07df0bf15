"""Read the state of a fleet for a simulation, bounded whatever the size of backlog and history.

Attributes of jobs come from the leader's own statement, so that both see the same values.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.policy.concurrency import KEYS_MAX
from fairlead_scheduler.limits.job_facts import FACTS, parse_facts
from fairlead_scheduler.loop.store import read_queued, read_used
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.values import Paused, Stream
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.rows import Worker
from fairlead_scheduler.simulation.fair_leader import WaitingJobs
from fairlead_scheduler.simulation.fleet_state import ArrivedJob, FinishedJob, FleetState
from fairlead_scheduler.simulation.job_samples import (
    AttributesRead,
    AttributesWanted,
    JobAttributes,
    attributes_wanted,
)
from fairlead_scheduler.simulation.moved_queues import AffectedPools, affected_pools

STREAMS_MAX = 20_000
JOBS_COUNTED_MAX = 200_000
ARRIVED_MAX = 50_000
PAGES_MAX = 4000
"""Pages of history to read: 32 MB, some 100,000 jobs with small payloads."""
JOBS_READ_MAX = 10_000
"""Waiting jobs whose attributes are read; as many again in flight."""
_OF_STREAM_MAX = 500
_AT_ONCE = 500
_BYTES_MAX = 1 << 20
_LOOP = "fairlead_scheduler.loop"
WITHIN_MAX = timedelta(days=1)
_PACKAGE = __package__ or ""
_CLASSES = {"succeeded": ["succeeded"], "unsuccessful": ["failed", "cancelled", "expired"]}
_SNAPSHOT = b"set transaction isolation level repeatable read, read only"
_US = timedelta(microseconds=1)
_NOTHING = AttributesWanted(paths=(), queues=frozenset())


class _ClockAndPaused(NamedTuple):
    now_us: int
    queues: list[str] | None
    tenants: list[str | None] | None


class _Pages(NamedTuple):
    kind: str
    day: str
    pages: int


class _Counted(NamedTuple):
    queue: str
    tenant: str
    rank: int
    jobs: int
    more: bool
    oldest_us: int


class _Arrived(NamedTuple):
    queue: str
    tenant: str
    rank: int
    kind: str
    since_us: int | None
    created_us: int


def read_fleet_state(
    connection: Connection,
    pool: str,
    *,
    old: CompiledPolicy,
    new: CompiledPolicy,
    within: timedelta,
    queues: Iterable[str] = (),
) -> FleetState:
    """Return the state of a pool and of the pools that moved queues affect; reads only.

    Args:
        connection: Of a login with the role fairlead_admin, or of the schema's owner.
        pool: The pool to simulate.
        old: The policy in force.
        new: The other policy. Both decide which pools and which attributes are read.
        within: How far back to read finished jobs and arrivals, at most a day. With very many
            of them the time is shorter: see `FleetState.known_us`.
        queues: The queues of recorded traffic, which may have no jobs now.
    """
    with connection.transaction():
        connection.execute(_SNAPSHOT)
        state = _all_pools(connection, pool, within)
        present = {*queues, *(stream[0] for stream in state.waiting)}
        jobs = (state.rows, state.arrived, state.finished)
        present.update(each.queue for some in jobs for each in some)
        affected = affected_pools(pool, present, old.routing, new.routing)
        wanted = attributes_wanted(affected.queues, (old, new), _mixed(state.finished))
        if wanted is not None and wanted.paths:
            finished, _ = _finished(connection, state.now_us, within, wanted)
            state = replace(state, finished=finished)
        state = _only_affected(state, affected)
        if wanted is None:
            return state
        state = replace(state, finished=_without_values(state.finished, wanted))
        read = _read_jobs(connection, wanted, state.rows, state.waiting, state.finished)
        return replace(state, read=read)


def _all_pools(connection: Connection, pool: str, within: timedelta) -> FleetState:
    """Return the state of all pools; `other_pools` has those besides this one."""
    clock = _clock_and_paused(connection)
    now_us = clock.now_us
    queued = read_queued(connection)
    finished, since_us = _finished(connection, now_us, within)
    arrived, arrived_since_us = _arrived(connection, now_us - within // _US)
    slots = _slots(connection)
    return FleetState(
        now_us=now_us,
        slots=slots.pop(pool, 0),
        other_pools=slots,
        rows=queued.rows(),
        floors=queued.by_band(),
        rate_usage=read_used(connection),
        paused=_paused(clock),
        waiting=_waiting(connection),
        finished=finished,
        arrived=arrived,
        known_us=max(1, now_us - max(since_us, arrived_since_us)),
    )


def _mixed(finished: Iterable[FinishedJob]) -> set[str]:
    """Return the queues in which jobs of several kinds finished."""
    kinds: dict[str, str] = {}
    return {
        each.queue for each in finished if kinds.setdefault(each.queue, each.kind) != each.kind
    }


def _without_values(
    finished: Iterable[FinishedJob], wanted: AttributesWanted
) -> list[FinishedJob]:
    """Set an empty list of values on jobs of queues without paths to read."""
    plain = wanted.mixed - wanted.queues if wanted.paths else wanted.all_queues
    return [each._replace(values=[]) if each.queue in plain else each for each in finished]


def _only_affected(state: FleetState, affected: AffectedPools) -> FleetState:
    """Keep these pools, and the queues that they serve under either policy."""
    return replace(
        state,
        other_pools={pool: state.other_pools.get(pool, 0) for pool in affected.pools[1:]},
        affected=affected,
        rows=[row for row in state.rows if row.pool in affected.pools],
        waiting={key: each for key, each in state.waiting.items() if key[0] in affected.queues},
        finished=[each for each in state.finished if each.queue in affected.queues],
        arrived=[each for each in state.arrived if each.queue in affected.queues],
    )


def _clock_and_paused(connection: Connection) -> _ClockAndPaused:
    cursor = connection.cursor(row_factory=args_row(_ClockAndPaused))
    found = cursor.execute(statements.load(_PACKAGE, "clock_and_paused")).fetchone()
    assert found is not None
    return found


def _paused(clock: _ClockAndPaused) -> Paused:
    return frozenset(zip(clock.queues or (), clock.tenants or (), strict=True))


def _slots(connection: Connection) -> Counter[str]:
    """Return the slots of each pool's live workers."""
    cursor = connection.cursor(row_factory=args_row(Worker))
    found: Counter[str] = Counter()
    for worker in cursor.execute(statements.load("fairlead_scheduler.loop", "workers")):
        found[worker.pool] += worker.slots
    return found


def _waiting(connection: Connection) -> dict[Stream, WaitingJobs]:
    bounds = {"streams_max": STREAMS_MAX, "jobs_max": JOBS_COUNTED_MAX}
    cursor = connection.cursor(row_factory=args_row(_Counted))
    found = cursor.execute(statements.load(_PACKAGE, "waiting"), bounds)
    return {
        (each.queue, each.tenant, each.rank): WaitingJobs(each.jobs, each.more, each.oldest_us)
        for each in found
    }


def _arrived(connection: Connection, since_us: int) -> tuple[list[ArrivedJob], int]:
    """Return unfinished jobs that arrived since then, and from when on they are complete."""
    cursor = connection.cursor(binary=True, row_factory=args_row(_Arrived))
    found = cursor.execute(
        statements.load(_PACKAGE, "arrived"), {"limit": ARRIVED_MAX}
    ).fetchall()
    if len(found) == ARRIVED_MAX:
        since_us = max(since_us, min(each.created_us for each in found))
    arrived = [
        ArrivedJob(each.queue, each.tenant, each.rank, each.since_us, each.kind)
        for each in found
        if each.since_us is not None and each.since_us >= since_us
    ]
    return arrived, since_us


def _finished(
    connection: Connection,
    now_us: int,
    within: timedelta,
    wanted: AttributesWanted = _NOTHING,
) -> tuple[list[FinishedJob], int]:
    """Return jobs that finished within that time, and from when on they are complete."""
    now = datetime.fromtimestamp(now_us / 1e6, UTC)
    start = now - within
    since_us = now_us - within // _US
    cursor = connection.cursor(binary=True, row_factory=args_row(FinishedJob))
    finished: list[FinishedJob] = []
    budgets = dict.fromkeys(_CLASSES, PAGES_MAX // len(_CLASSES))
    for part in _partitions(connection, start, now):
        day = datetime.strptime(part.day, "%Y%m%d").replace(tzinfo=UTC)
        tomorrow = day + timedelta(days=1)
        budget = budgets[part.kind]
        if not budget:  # leave out that day
            since_us = max(since_us, round(tomorrow.timestamp() * 1e6))
            continue
        values = {
            "outcomes": _CLASSES[part.kind],
            "since": max(start, day),
            "until": tomorrow,
            "page": max(0, part.pages - budget),
            "queues": sorted(wanted.queues),
            "roots": [root for root, _ in wanted.paths],
            "paths": [path for _, path in wanted.paths],
        }
        found = cursor.execute(statements.load(_PACKAGE, "finished"), values).fetchall()
        finished += found
        if part.pages > budget and found:
            since_us = max(since_us, min(each.finished_us for each in found))
        budgets[part.kind] = max(0, budget - part.pages)
    return [each for each in finished if each.finished_us >= since_us], since_us


def _partitions(connection: Connection, start: datetime, now: datetime) -> Iterator[_Pages]:
    """Yield the partitions of these days, newest first."""
    days = [now - timedelta(days=back) for back in range((now.date() - start.date()).days + 1)]
    named = [f"{day:%Y%m%d}" for day in days]
    cursor = connection.cursor(row_factory=args_row(_Pages))
    found = cursor.execute(
        statements.load(_PACKAGE, "history_pages"), {"classes": list(_CLASSES), "days": named}
    ).fetchall()
    yield from sorted(found, key=lambda each: (each.day, each.kind), reverse=True)


class _FirstWaiting(NamedTuple):
    place: int
    ids: list[int]


def _read_jobs(
    connection: Connection,
    wanted: AttributesWanted,
    rows: Sequence[QueueRow],
    waiting: Mapping[Stream, WaitingJobs],
    finished: Iterable[FinishedJob],
) -> AttributesRead:
    """Return the attributes of in-flight, first waiting and finished jobs, bounded."""
    in_flight = [row.job_id for row in rows if row.queue in wanted.all_queues][:JOBS_READ_MAX]
    streams = [stream for stream in waiting if stream[0] in wanted.all_queues][:JOBS_READ_MAX]
    ids = _first_waiting(connection, streams)
    found = _attributes(
        connection, wanted, [*in_flight, *(i for some in ids.values() for i in some)]
    )
    return AttributesRead(
        wanted=wanted,
        in_flight={job_id: found[job_id] for job_id in in_flight if job_id in found},
        first={stream: tuple(_until_unread(some, found)) for stream, some in ids.items()},
        finished=[
            (each.lane, each.attributes) for each in finished if each.attributes is not None
        ],
    )


def _until_unread(
    ids: Iterable[int], read: Mapping[int, JobAttributes]
) -> Iterable[JobAttributes]:
    """Yield the attributes of these jobs up to the first one that was not read."""
    for job_id in ids:
        if job_id not in read:
            return
        yield read[job_id]


def _first_waiting(
    connection: Connection, streams: Sequence[Stream]
) -> dict[Stream, list[int]]:
    """Return the ids of the first jobs of each stream."""
    if not streams:
        return {}
    values = {
        "queues": [stream[0] for stream in streams],
        "tenants": [stream[1] for stream in streams],
        "ranks": integers(stream[2] for stream in streams),
        "limit": max(1, min(_OF_STREAM_MAX, JOBS_READ_MAX // len(streams))),
    }
    cursor = connection.cursor(row_factory=args_row(_FirstWaiting))
    found = cursor.execute(statements.load(_PACKAGE, "first_waiting"), values)
    return {streams[each.place - 1]: each.ids for each in found}


def _attributes(
    connection: Connection, wanted: AttributesWanted, ids: Sequence[int]
) -> dict[int, JobAttributes]:
    """Return these jobs' attributes, without jobs that are gone or behind large documents."""
    roots = [*(root for root, _ in wanted.paths), FACTS[0]]
    paths = [*(path for _, path in wanted.paths), FACTS[1]]
    read: dict[int, JobAttributes] = {}
    cursor = connection.cursor(binary=True, row_factory=scalar_row)
    for begin in range(0, len(ids), _AT_ONCE):
        some = ids[begin : begin + _AT_ONCE]
        values = {
            "ids": integers(job_id for job_id in some for _ in roots),
            "roots": roots * len(some),
            "paths": paths * len(some),
            "bytes_max": _BYTES_MAX,
            "least": KEYS_MAX + 1,
        }
        texts: list[str | None] = (
            cursor.execute(statements.load(_LOOP, "job_attributes"), values).fetchone() or []
        )
        for place, job_id in enumerate(some):
            found = texts[place * len(roots) : (place + 1) * len(roots)]
            facts = parse_facts(found[-1]) if len(found) == len(roots) else None
            if facts is not None:
                left = facts.expires_us
                read[job_id] = JobAttributes(
                    facts.kind,
                    tuple(found[:-1]),
                    facts.attempts,
                    None if left is None else left - facts.since_us,
                )
    return read
