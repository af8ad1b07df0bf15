"""An application that enqueues without pause, and remembers what the server acknowledged.

Each order is one transaction: a job, and a row of the application's own. An order whose answer
was lost with the server may stand or not.
"""

import json
import random
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from time import time

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.chaos.app import TRANSACTIONAL
from tests.chaos.ruled import LIMITED, RATED

MAKE = b"""
CREATE TABLE public.chaos_orders (number bigint PRIMARY KEY, job bigint NOT NULL, kind text);
"""
_PLACE = b"""
WITH job AS (
    INSERT INTO fairlead.jobs (kind, queue, tenant, priority, payload)
    VALUES (%(kind)s, %(queue)s, %(tenant)s, %(priority)s, %(payload)s) RETURNING id
), noted AS (
    INSERT INTO public.chaos_orders (number, job, kind)
    SELECT %(number)s, id, %(kind)s FROM job
)
SELECT id, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer,
       (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint
FROM job
"""
_KINDS = (
    *(("nap", 60),) * 8,
    ("nap", 1500),
    *(("grind", 40),) * 3,
    *(("book", 40),) * 3,
    *(("book_async", 80),) * 3,
    ("book_async", 700),
    ("crunch", 60),
)
"""Kinds with how many milliseconds their jobs take at most."""
_SESSIONS = 3
_PER_SECOND = 10.0
"""Orders of each session."""
_RATED_SECONDS = 5.0
_LIMITED_SHARE = 0.25
_RETRY_SECONDS = 0.05


@dataclass(slots=True)
class Acknowledged:
    """An order that stands, by what the server said."""

    number: int
    job: int
    at: float
    """When the answer had come, by this machine's clock."""
    timeline: int
    """The server's."""
    written: int
    """The place in the server's log from before this order."""
    after: int | None = None
    """The place from before the session's next order: behind all of this one."""


@dataclass(slots=True)
class Orders:
    """What is ordered; see `ordering`."""

    url: str
    seed: str
    kinds: Sequence[tuple[str, int]] = _KINDS
    acknowledged: dict[int, Acknowledged] = field(default_factory=dict[int, Acknowledged])
    unsure: int = 0
    """How many had no answer."""
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _rated_at: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, session: int) -> None:
        """Order until asked to stop, over one session after another."""
        chance = random.Random(f"{self.seed} {session}")
        while not self.stop.is_set():
            with suppress(psycopg.OperationalError), self._connect() as db:
                self._order(db, chance)
            self.stop.wait(_RETRY_SECONDS)

    def until(self, at: float) -> list[Acknowledged]:
        """Return what was acknowledged until then, by this machine's clock."""
        with self._lock:
            return [each for each in self.acknowledged.values() if each.at <= at]

    def first_since(self, at: float) -> float:
        """Return when the first order since then was acknowledged; infinity: none was."""
        with self._lock:
            times = [each.at for each in self.acknowledged.values() if each.at > at]
        return min(times, default=float("inf"))

    def _connect(self) -> Connection[TupleRow]:
        return psycopg.connect(self.url, autocommit=True, connect_timeout=2)

    def _order(self, db: Connection[TupleRow], chance: random.Random) -> None:
        last: Acknowledged | None = None
        while not self.stop.wait(chance.expovariate(_PER_SECOND)):
            with self._lock:
                order = self._drawn(chance, next(self._numbers))
                self.unsure += 1
            row = db.execute(_PLACE, order).fetchone()
            assert row is not None
            number, at = int(str(order["number"])), time()
            made = Acknowledged(number, int(row[0]), at, int(row[1]), int(row[2]))
            with self._lock:
                self.unsure -= 1
                self.acknowledged[made.number] = made
                if last is not None:
                    last.after = made.written
            last = made

    def _drawn(self, chance: random.Random, number: int) -> dict[str, object]:
        kind, longest = chance.choice(self.kinds)
        queue, priority = "default", 0
        if time() - self._rated_at > _RATED_SECONDS:
            self._rated_at = time()
            kind, longest, queue = "nap", 20, RATED
        elif longest <= 100 and chance.random() < _LIMITED_SHARE:
            queue, priority = LIMITED, chance.choice((60, 0, -60))
        payload = {"ms": chance.randrange(1, longest), "account": str(chance.randrange(4))}
        return {
            "number": number,
            "kind": kind,
            "queue": queue,
            "tenant": f"t{chance.randrange(6)}",
            "priority": priority,
            "payload": json.dumps(payload),
        }


@contextmanager
def ordering(url: str, seed: str, *, own_sessions: bool = True) -> Generator[Orders]:
    """Yield orders that are placed from now on, until the block ends or `stop` is set.

    Args:
        url: by way of which they are placed.
        seed: decides what is ordered, and when.
        own_sessions: whether there are jobs whose handlers have sessions of their own.
    """
    kinds = [each for each in _KINDS if own_sessions or each[0] not in TRANSACTIONAL]
    orders = Orders(url, seed, kinds)
    threads = [threading.Thread(target=orders.run, args=[each]) for each in range(_SESSIONS)]
    for thread in threads:
        thread.start()
    try:
        yield orders
    finally:
        orders.stop.set()
        for thread in threads:
            thread.join()
