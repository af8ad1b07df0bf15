"""What applications' transactions do to jobs, each of them allowed, and how they may end.

Each application has a session and does one transaction after the other: jobs by the thousand,
some of them duplicates, which burn ids; locks, deletions and cancellations of what waits, and
reads. Some stay open for long. They end by a commit, a rollback, a two-phase commit, or with
their session. Another one alters tables as a migration does.
"""

import random
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count, pairwise
from time import time
from unittest.mock import patch

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db import migrate as migrating
from fairlead.db.lock_retry import TablesLocked
from fairlead.db.migrate import Migration, migrate, migrations

LANES = ("t0", "t1", "t2")
APPLICATIONS = 4
PROBE = "probe"
"""The tenant of single jobs, of which each INSERT is timed."""
BLOCKED = "blocked"
"""The account that may have one job in flight, so that others of it block their lane's head."""
POLICY = """
queues:
  - match: {queue: default}
    concurrency: [{key: payload.account, limit: 1, scope: queue}]
"""
_ALLOWED = ("40P01", "57P01")
"""A deadlock of two applications, and the end of a session."""
_WAITING_MAX = 4000
_PROBE_SECONDS = 0.02
_UPGRADE_SECONDS = 4.0
_BUSY_SECONDS, _CALM_SECONDS = 12.0, 6.0
"""One application alone is at work now and then, so that a leader falls idle."""
_ENDS = (*("commit",) * 6, "rollback", "prepare", "prepare", "undo", "leave")
_OPEN_SECONDS = (0.0, 0.0, 0.0, 0.05, 1.0, 20.0)
_INSERT = """
    INSERT INTO fairlead.jobs (kind, tenant, payload, dedup_key)
    SELECT 'nap', %s, %s::jsonb, CASE WHEN n %% %s = 0 THEN %s ELSE NULL END
    FROM generate_series(1, %s) n ON CONFLICT DO NOTHING RETURNING id
"""
_WAITING = """
    FROM fairlead.jobs j WHERE j.tenant = %s AND NOT EXISTS (
        SELECT FROM fairlead.work_queue q WHERE q.job_id = j.id)
"""
_LOCK = f"SELECT j.id {_WAITING} ORDER BY j.id LIMIT %s FOR UPDATE SKIP LOCKED"
_DELETE = f"DELETE FROM fairlead.jobs WHERE id IN ({_LOCK}) RETURNING id"
_CANCEL = f"""
    SELECT l.id FROM (SELECT l.id FROM ({_LOCK}) l OFFSET 0) l
    WHERE fairlead.cancel(l.id) IS NOT NULL
"""
_READ = "SELECT count(*) FROM fairlead.jobs j WHERE j.tenant = %s AND j.id > %s"
_TABLES = ("jobs", "work_queue", "worker_leases", "job_history", "leaders")


@dataclass(slots=True)
class Told:
    """What stands, by what the server has said."""

    jobs: dict[int, tuple[str, float]] = field(default_factory=dict[int, tuple[str, float]])
    """The lanes of jobs, and from when on nothing keeps them from running."""
    gone: set[int] = field(default_factory=set[int])
    """Jobs that were deleted or cancelled;"""
    blocked: set[int] = field(default_factory=set[int])
    """those of an account that may have one in flight;"""
    probes: list[float] = field(default_factory=list[float])
    """how long each INSERT of a single job took;"""
    wrong: list[str] = field(default_factory=list[str])
    """what was refused that is allowed;"""
    happened: dict[str, int] = field(default_factory=dict[str, int])
    is_calm: bool = False
    """and whether one application alone is at work."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str) -> None:
        """Count what has happened."""
        with self.lock:
            self.happened[what] = self.happened.get(what, 0) + 1


@dataclass(slots=True)
class _Changes:
    """What a transaction has done."""

    inserted: dict[int, str] = field(default_factory=dict[int, str])
    blocked: set[int] = field(default_factory=set[int])
    touched: set[int] = field(default_factory=set[int])
    gone: set[int] = field(default_factory=set[int])


class Application:
    """One of them.

    Args:
        url: The server's.
        told: What all of them are told.
        chance: Decides what it does.
        stop: Asks it to end.
        rests: Whether it rests while one alone is at work.
    """

    def __init__(
        self,
        url: str,
        told: Told,
        chance: random.Random,
        stop: threading.Event,
        *,
        rests: bool,
    ) -> None:
        self._url, self._told, self._chance, self._stop = url, told, chance, stop
        self._rests = rests
        self._lane = LANES[0]
        self._names = count(1)

    def run(self) -> None:
        """Do one transaction after the other until asked to stop."""
        while not self._stop.is_set():
            try:
                with psycopg.connect(self._url, autocommit=True) as db:
                    while not self._stop.is_set() and self._transact(db):
                        self._stop.wait(self._chance.uniform(0.0, 0.3))
                        while self._rests and self._told.is_calm:
                            if self._stop.wait(_PROBE_SECONDS):
                                break
            except psycopg.Error as error:
                if error.sqlstate not in _ALLOWED:
                    with self._told.lock:
                        self._told.wrong.append(f"{error.sqlstate} {error}")

    def _transact(self, db: Connection[TupleRow]) -> bool:
        """Do one transaction; return whether its session is left."""
        chance, changes = self._chance, _Changes()
        if chance.random() < 0.5:
            self._lane = chance.choice(LANES)
        how = chance.choice(_ENDS)
        is_prepared = how in {"prepare", "undo"}
        db.execute("BEGIN")
        if is_prepared:
            db.execute("SET LOCAL fairlead.notify = 'off'")
        acts: list[Callable[[Connection[TupleRow], _Changes], None]]
        acts = [self._insert, self._insert, self._lock, self._delete, self._read]
        acts += [] if is_prepared else [self._cancel]
        stands = False
        try:
            for act in chance.choices(acts, k=chance.randint(1, 3)):
                act(db, changes)
                self._told.note(act.__name__.strip("_"))
            self._stop.wait(chance.choice(_OPEN_SECONDS))
            stands = self._end(db, how)
        finally:
            self._settle(changes, stands=stands)
        return how != "leave"

    def _end(self, db: Connection[TupleRow], how: str) -> bool:
        """End the transaction; return whether it stands."""
        self._told.note(how)
        if how == "leave":
            db.close()
        elif how in {"prepare", "undo"}:
            name = f"chaos {id(self)} {next(self._names)}"
            db.execute(f"PREPARE TRANSACTION '{name}'".encode())
            self._stop.wait(self._chance.choice(_OPEN_SECONDS))
            word = "COMMIT" if how == "prepare" else "ROLLBACK"
            db.execute(f"{word} PREPARED '{name}'".encode())
        else:
            db.execute("COMMIT" if how == "commit" else "ROLLBACK")
        return how in {"commit", "prepare"}

    def _settle(self, changes: _Changes, *, stands: bool) -> None:
        told, at = self._told, time()
        with told.lock:
            if stands:
                told.jobs |= {job: (lane, at) for job, lane in changes.inserted.items()}
                told.gone |= changes.gone
                told.blocked |= changes.blocked
            for job in changes.touched & told.jobs.keys():
                told.jobs[job] = (told.jobs[job][0], at)

    # --- what a transaction does ------------------------------------------------------------

    def _insert(self, db: Connection[TupleRow], changes: _Changes) -> None:
        lane, is_blocked = self._lane, self._chance.random() < 0.15
        number = self._chance.randint(2, 8) if is_blocked else self._number(db)
        ms = self._chance.choice((1, 20))
        payload = f'{{"ms": 4000, "account": "{BLOCKED}"}}' if is_blocked else f'{{"ms": {ms}}}'
        every = self._chance.choice((number + 1, number + 1, 2))
        values = [lane, payload, every, "duplicate", number]
        jobs = _ids(db, _INSERT, values)
        changes.inserted |= dict.fromkeys(jobs, lane)
        changes.blocked |= {*jobs} if is_blocked else set()

    def _lock(self, db: Connection[TupleRow], changes: _Changes) -> None:
        changes.touched |= {*_ids(db, _LOCK, [self._lane, self._number(db)])}

    def _delete(self, db: Connection[TupleRow], changes: _Changes) -> None:
        number = self._chance.choice((1, 10))
        jobs = _ids(db, _DELETE, [self._lane, number])
        changes.touched |= {*jobs}
        changes.gone |= {*jobs}

    def _cancel(self, db: Connection[TupleRow], changes: _Changes) -> None:
        jobs = _ids(db, _CANCEL, [self._lane, self._chance.choice((1, 10))])
        changes.touched |= {*jobs}
        changes.gone |= {*jobs}

    def _read(self, db: Connection[TupleRow], _: _Changes) -> None:
        db.execute(_READ, [self._lane, 0])

    def _number(self, db: Connection[TupleRow]) -> int:
        ((waiting,),) = db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()
        is_much = waiting >= _WAITING_MAX or self._told.is_calm
        return self._chance.choice((1, 10) if is_much else (1, 10, 300, 3000, 3000))


def _ids(db: Connection[TupleRow], query: str, values: Sequence[object]) -> list[int]:
    return [int(row[0]) for row in db.execute(query.encode(), values).fetchall()]


def _probe(url: str, told: Told, stop: threading.Event) -> None:
    """Insert a job again and again, and note how long each took."""
    with psycopg.connect(url, autocommit=True) as db:
        while not stop.wait(_PROBE_SECONDS):
            if told.is_calm:
                continue
            began = time()
            (job,) = _ids(db, _INSERT, [PROBE, '{"ms": 1}', 2, None, 1])
            with told.lock:
                told.probes.append(time() - began)
                told.jobs[job] = (PROBE, time())


def _upgrade(url: str, told: Told, chance: random.Random, stop: threading.Event) -> None:
    """Alter tables again and again, as migrations to come."""
    known = [*migrations()]
    while not stop.wait(chance.uniform(0.0, _UPGRADE_SECONDS)):
        version, tables = known[-1].version + 1, chance.sample(_TABLES, 2)
        altered = "".join(
            f"ALTER TABLE fairlead.{table} ADD COLUMN later_{version} integer;"
            for table in tables
        )
        known.append(Migration(version, f"{version}_expand_later", 1, altered))
        with (
            patch.object(migrating, "migrations", lambda: (*known,)),
            psycopg.connect(url, autocommit=True) as db,
            suppress(TablesLocked),
        ):
            migrate(db, limit_seconds=20, waiting=lambda _: told.note("upgrade that waits"))
        told.note("upgrade")


def _conduct(told: Told, stop: threading.Event) -> None:
    """Have all at work for a while, then one of them, and so on."""
    while not stop.wait(_CALM_SECONDS if told.is_calm else _BUSY_SECONDS):
        told.is_calm = not told.is_calm


@contextmanager
def applying(url: str, chance: random.Random) -> Generator[Told]:
    """Yield what applications are told that are at work until the block ends."""
    told, stop = Told(), threading.Event()
    works: list[Callable[[], None]] = [
        Application(url, told, random.Random(chance.random()), stop, rests=number > 0).run
        for number in range(APPLICATIONS)
    ]
    works.append(lambda: _conduct(told, stop))
    works.append(lambda: _probe(url, told, stop))
    works.append(lambda: _upgrade(url, told, random.Random(chance.random()), stop))
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield told
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def stalls(
    eligible: Mapping[int, tuple[str, float]],
    starts: Mapping[int, float],
    *,
    until_at: float,
    longer_than: float,
) -> dict[str, float]:
    """Return the lanes that had a job which might run while none of theirs began: pure.

    Args:
        eligible: the lanes of jobs, and from when on each may run.
        starts: when each began first.
        until_at: the end of what is known.
        longer_than: stretches of time up to this are none; the longest one is returned.
    """
    found: dict[str, float] = {}
    for lane in {lane for lane, _ in eligible.values()}:
        mine = [
            (since, starts.get(job, until_at))
            for job, (each, since) in eligible.items()
            if each == lane
        ]
        begun = sorted(at for _, at in mine if at < until_at)
        for before, after in pairwise([0.0, *begun, until_at]):
            if after - before > longer_than:
                waiting = [since for since, at in mine if since < after <= at]
                longest = after - max(before, min(waiting, default=after))
                found[lane] = max(longest, found.get(lane, 0.0))
    return {lane: longest for lane, longest in found.items() if longest > longer_than}


def overtaken(
    eligible: Mapping[int, tuple[str, float]],
    starts: Mapping[int, float],
    *,
    until_at: float,
    longer_than: float,
) -> dict[int, float]:
    """Return the jobs before which those after them in their lane began: pure.

    Args:
        eligible: the lanes of jobs, and from when on each may run.
        starts: when each began first.
        until_at: the end of what is known.
        longer_than: those that might run up to so much later overtake nobody.
    """
    by_start = sorted(eligible, key=lambda job: starts.get(job, until_at))
    place = {job: number for number, job in enumerate(by_start, 1)}
    latest: dict[tuple[str, int], float] = {}
    """The greatest time of those that began up to a place, as a Fenwick tree of each lane."""
    found: dict[int, float] = {}
    for job in sorted(eligible, reverse=True):
        lane, since = eligible[job]
        late, before = 0.0, place[job] - 1
        while before:
            late = max(late, latest.get((lane, before), since) - since)
            before &= before - 1
        if late > longer_than:
            found[job] = late
        after = place[job]
        while job in starts and after <= len(place):
            latest[lane, after] = max(since, latest.get((lane, after), since))
            after += after & -after
    return found
