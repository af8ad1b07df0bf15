"""Read what a simulation begins with: bounded, whatever the backlog and the history hold."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from psycopg.rows import args_row

from fairlead import sql
from fairlead.store import Connection
from fairlead_scheduler.simulation.fair import Waiting
from fairlead_scheduler.simulation.moves import Concerned, concerned
from fairlead_scheduler.simulation.read_jobs import read_jobs
from fairlead_scheduler.simulation.situation import Came, Ended, Situation
from fairlead_scheduler.simulation.told import Wanted, wanted
from fairlead_scheduler.store import read_queued, read_used
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import Paused, Stream
from fairlead_scheduler.views import Worker

STREAMS_MAX = 20_000
JOBS_COUNTED_MAX = 200_000
CAME_MAX = 50_000
PAGES_MAX = 4000
"""Pages of history that are read: 32 MB, some 100,000 jobs with small payloads."""
WITHIN_MAX = timedelta(days=1)
_PACKAGE = __package__ or ""
_CLASSES = {"succeeded": ["succeeded"], "unsuccessful": ["failed", "cancelled", "expired"]}
_ONE_MOMENT = b"set transaction isolation level repeatable read, read only"
_US = timedelta(microseconds=1)
_NOTHING = Wanted(paths=(), queues=frozenset())


class _Moment(NamedTuple):
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


class _Came(NamedTuple):
    queue: str
    tenant: str
    rank: int
    kind: str
    since_us: int | None
    created_us: int


def situation(
    connection: Connection,
    pool: str,
    *,
    old: Table,
    new: Table,
    within: timedelta,
    queues: Iterable[str] = (),
) -> Situation:
    """Return what is known of a pool now, and of those that moves concern; reads only.

    Args:
        connection: of a login with the role fairlead_admin, or of the schema's owner.
        pool: whose workers count, and whose queues.
        old: the policy in force,
        new: and the other one: which queues are where, and what is asked of jobs.
        within: how far back endings and arrivals are looked at; at most a day. Where there are
            very many, less is known: see `Situation.known_us`.
        queues: those of recorded traffic, which may have no jobs now.
    """
    with connection.transaction():
        connection.execute(_ONE_MOMENT)
        now = _of_all(connection, pool, within)
        there = {*queues, *(stream[0] for stream in now.waiting)}
        there.update(each.queue for some in (now.rows, now.came, now.ended) for each in some)
        those = concerned(pool, there, old.homes, new.homes)
        asked = wanted(those.queues, (old, new), _mixed(now.ended))
        if asked is not None and asked.paths:
            now = replace(now, ended=_ended(connection, now.now_us, within, asked)[0])
        now = _concerned(now, those)
        if asked is None:
            return now
        now = replace(now, ended=_without_values(now.ended, asked))
        return replace(now, read=read_jobs(connection, asked, now.rows, now.waiting, now.ended))


def _of_all(connection: Connection, pool: str, within: timedelta) -> Situation:
    """Return what is known of all pools; `beside` has those besides this one."""
    moment = _moment(connection)
    now_us = moment.now_us
    queued = read_queued(connection)
    ended, since_us = _ended(connection, now_us, within)
    came, came_since_us = _came(connection, now_us - within // _US)
    slots = _slots(connection)
    return Situation(
        now_us=now_us,
        slots=slots.pop(pool, 0),
        beside=slots,
        rows=queued.rows(),
        floors=queued.by_band(),
        used=read_used(connection),
        paused=_paused(moment),
        waiting=_waiting(connection),
        ended=ended,
        came=came,
        known_us=max(1, now_us - max(since_us, came_since_us)),
    )


def _mixed(ended: Iterable[Ended]) -> set[str]:
    """Return the queues in which jobs of several kinds have ended."""
    kinds: dict[str, str] = {}
    return {
        each.queue for each in ended if kinds.setdefault(each.queue, each.kind) != each.kind
    }


def _without_values(ended: Iterable[Ended], asked: Wanted) -> list[Ended]:
    """Note of jobs that nobody wants values of that there are none."""
    plain = asked.mixed - asked.queues if asked.paths else asked.all_queues
    return [each._replace(values=[]) if each.queue in plain else each for each in ended]


def _concerned(now: Situation, those: Concerned) -> Situation:
    """Return what is known of these pools, and of what they serve under either policy."""
    return replace(
        now,
        beside={pool: now.beside.get(pool, 0) for pool in those.pools[1:]},
        concerned=those,
        rows=[row for row in now.rows if row.pool in those.pools],
        waiting={key: each for key, each in now.waiting.items() if key[0] in those.queues},
        ended=[each for each in now.ended if each.queue in those.queues],
        came=[each for each in now.came if each.queue in those.queues],
    )


def _moment(connection: Connection) -> _Moment:
    cursor = connection.cursor(row_factory=args_row(_Moment))
    found = cursor.execute(sql.load(_PACKAGE, "moment")).fetchone()
    assert found is not None
    return found


def _paused(moment: _Moment) -> Paused:
    return frozenset(zip(moment.queues or (), moment.tenants or (), strict=True))


def _slots(connection: Connection) -> Counter[str]:
    """Return how many slots the live workers of each pool have."""
    cursor = connection.cursor(row_factory=args_row(Worker))
    found: Counter[str] = Counter()
    for worker in cursor.execute(sql.load("fairlead_scheduler", "workers")):
        found[worker.pool] += worker.slots
    return found


def _waiting(connection: Connection) -> dict[Stream, Waiting]:
    bounds = {"streams_max": STREAMS_MAX, "jobs_max": JOBS_COUNTED_MAX}
    cursor = connection.cursor(row_factory=args_row(_Counted))
    found = cursor.execute(sql.load(_PACKAGE, "waiting"), bounds)
    return {
        (each.queue, each.tenant, each.rank): Waiting(each.jobs, each.more, each.oldest_us)
        for each in found
    }


def _came(connection: Connection, since_us: int) -> tuple[list[Came], int]:
    """Return unfinished jobs that came since then, and since when none of them is missing."""
    cursor = connection.cursor(binary=True, row_factory=args_row(_Came))
    found = cursor.execute(sql.load(_PACKAGE, "came"), {"limit": CAME_MAX}).fetchall()
    if len(found) == CAME_MAX:
        since_us = max(since_us, min(each.created_us for each in found))
    came = [
        Came(each.queue, each.tenant, each.rank, each.since_us, each.kind)
        for each in found
        if each.since_us is not None and each.since_us >= since_us
    ]
    return came, since_us


def _ended(
    connection: Connection,
    now_us: int,
    within: timedelta,
    asked: Wanted = _NOTHING,
) -> tuple[list[Ended], int]:
    """Return what ended within that time, and since when nothing of it is missing."""
    now = datetime.fromtimestamp(now_us / 1e6, UTC)
    begun = now - within
    since_us = now_us - within // _US
    cursor = connection.cursor(binary=True, row_factory=args_row(Ended))
    ended: list[Ended] = []
    budgets = dict.fromkeys(_CLASSES, PAGES_MAX // len(_CLASSES))
    for part in _partitions(connection, begun, now):
        day = datetime.strptime(part.day, "%Y%m%d").replace(tzinfo=UTC)
        tomorrow = day + timedelta(days=1)
        budget = budgets[part.kind]
        if not budget:  # nothing is known of that day
            since_us = max(since_us, round(tomorrow.timestamp() * 1e6))
            continue
        values = {
            "outcomes": _CLASSES[part.kind],
            "since": max(begun, day),
            "until": tomorrow,
            "page": max(0, part.pages - budget),
            "queues": sorted(asked.queues),
            "roots": [root for root, _ in asked.paths],
            "paths": [path for _, path in asked.paths],
        }
        found = cursor.execute(sql.load(_PACKAGE, "ended"), values).fetchall()
        ended += found
        if part.pages > budget and found:
            since_us = max(since_us, min(each.finished_us for each in found))
        budgets[part.kind] = max(0, budget - part.pages)
    return [each for each in ended if each.finished_us >= since_us], since_us


def _partitions(connection: Connection, begun: datetime, now: datetime) -> Iterator[_Pages]:
    """Yield the partitions of these days, the newest first."""
    days = [now - timedelta(days=back) for back in range((now.date() - begun.date()).days + 1)]
    named = [f"{day:%Y%m%d}" for day in days]
    cursor = connection.cursor(row_factory=args_row(_Pages))
    found = cursor.execute(
        sql.load(_PACKAGE, "pages"), {"classes": list(_CLASSES), "days": named}
    ).fetchall()
    yield from sorted(found, key=lambda each: (each.day, each.kind), reverse=True)
