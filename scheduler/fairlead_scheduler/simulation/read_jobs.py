"""Read what keys and rules ask of single jobs: of those in flight, and the first that wait.

It is the leader's own statement that reads them, so that both see the same values.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from psycopg.rows import args_row, scalar_row

from fairlead import sql
from fairlead.policy.concurrency import KEYS_MAX
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.judged import FACTS, facts_in
from fairlead_scheduler.simulation.fair import Waiting
from fairlead_scheduler.simulation.situation import Ended
from fairlead_scheduler.simulation.told import Read, Told, Wanted
from fairlead_scheduler.values import QueueRow, Stream

JOBS_READ_MAX = 10_000
"""Waiting jobs that are read; as many in flight."""
_OF_STREAM_MAX = 500
_AT_ONCE = 500
_BYTES_MAX = 1 << 20
_SCHEDULER, _PACKAGE = "fairlead_scheduler", __package__ or ""


class _First(NamedTuple):
    place: int
    ids: list[int]


def read_jobs(
    connection: Connection,
    wanted: Wanted,
    rows: Sequence[QueueRow],
    waiting: Mapping[Stream, Waiting],
    ended: Iterable[Ended],
) -> Read:
    """Return what was read: of those that wait the first of each tenant, and a bounded lot."""
    flying = [row.job_id for row in rows if row.queue in wanted.all_queues][:JOBS_READ_MAX]
    streams = [stream for stream in waiting if stream[0] in wanted.all_queues][:JOBS_READ_MAX]
    ids = _first(connection, streams)
    told = _told(connection, wanted, [*flying, *(i for some in ids.values() for i in some)])
    return Read(
        wanted=wanted,
        in_flight={job_id: told[job_id] for job_id in flying if job_id in told},
        first={stream: tuple(_known(some, told)) for stream, some in ids.items()},
        ended=[(each.lane, each.told) for each in ended if each.told is not None],
    )


def _known(ids: Iterable[int], told: Mapping[int, Told]) -> Iterable[Told]:
    """Yield what is known of the first of these, up to one of which nothing is."""
    for job_id in ids:
        if job_id not in told:
            return
        yield told[job_id]


def _first(connection: Connection, streams: Sequence[Stream]) -> dict[Stream, list[int]]:
    """Return the ids of the first jobs of each stream."""
    if not streams:
        return {}
    values = {
        "queues": [stream[0] for stream in streams],
        "tenants": [stream[1] for stream in streams],
        "ranks": integers(stream[2] for stream in streams),
        "limit": max(1, min(_OF_STREAM_MAX, JOBS_READ_MAX // len(streams))),
    }
    cursor = connection.cursor(row_factory=args_row(_First))
    found = cursor.execute(sql.load(_PACKAGE, "first"), values)
    return {streams[each.place - 1]: each.ids for each in found}


def _told(connection: Connection, wanted: Wanted, ids: Sequence[int]) -> dict[int, Told]:
    """Return what these jobs have; one that is gone, or behind large documents, is left out."""
    roots = [*(root for root, _ in wanted.paths), FACTS[0]]
    paths = [*(path for _, path in wanted.paths), FACTS[1]]
    told: dict[int, Told] = {}
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
            cursor.execute(sql.load(_SCHEDULER, "traits"), values).fetchone() or []
        )
        for place, job_id in enumerate(some):
            found = texts[place * len(roots) : (place + 1) * len(roots)]
            facts = facts_in(found[-1]) if len(found) == len(roots) else None
            if facts is not None:
                left = facts.expires_us
                told[job_id] = Told(
                    facts.kind,
                    tuple(found[:-1]),
                    facts.attempts,
                    None if left is None else left - facts.since_us,
                )
    return told
