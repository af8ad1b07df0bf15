"""The minimal dispatcher in Python on this path, as a lower bound for the scheduler.

It reads pending jobs in the order of their ids, counts each tenant's jobs in flight, sends as
many as a round takes through the product's own statement with ids, tags, estimates and times,
reads which of them went if not all did, and reads the receipts, which state how many rows wait
and whose jobs have ended. It has no order, limits or policy, no second session and no metrics.
It leads as a scheduler does, so it works on the same backlog, and its tags go on at the floor
that it finds: those of the next leader go on from it.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections import defaultdict
from types import FrameType
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from bench.floors.script import statement
from bench.producer import connect
from fairlead.db.connect import SESSION, Connection
from fairlead.db.statements import integers, load
from fairlead_scheduler.rows import Receipt

_LOOP, _LEADERSHIP = "fairlead_scheduler.loop", "fairlead_scheduler.leadership"
_TICK_SECONDS = 0.01
"""The product's tick, so that rounds take as long and as many jobs."""
_DEPTH = 1000
_LIMIT = 1000
_LATE_RECEIPTS = 100
"""This many receipts may be committed after one with a higher id."""
_ESTIMATE_US = 100_000
_LEASE_SECONDS = 60.0
_COLLECT_AFTER = (50_000, 50, 100)
"""The product's setting."""
_LOWEST_TAG = b"select vtag from fairlead.claim_floors where pool = 'default' and band = 0"


class Pending(NamedTuple):
    """Jobs to send, by columns; None for none."""

    ids: list[int] | None
    tenants: list[str] | None


class Bare:
    """Sends pending jobs in the order of their ids; `step` is one round."""

    def __init__(self, connection: Connection, epoch: int, *, depth: int = _DEPTH) -> None:
        self._connection = connection
        self._epoch = epoch
        self._depth = depth
        cursor = connection.cursor
        self._receipts: Cursor[Receipt] = cursor(binary=True, row_factory=args_row(Receipt))
        self._pending: Cursor[Pending] = cursor(binary=True, row_factory=args_row(Pending))
        self._dispatch: Cursor[int] = cursor(binary=True, row_factory=scalar_row)
        self._queries = (load(_LOOP, "receipts"), statement("floor_pending"))
        self._dispatching = load(_LOOP, "dispatch")
        self._last_receipt = self._last_id = self._waiting = 0
        self._tag = self._lowest_tag()
        self._in_flight: dict[str, int] = defaultdict(int)
        self._tenants: dict[int, str] = {}

    def _lowest_tag(self) -> int:
        row = self._connection.execute(_LOWEST_TAG).fetchone()
        return int(str(row[0])) if row else 0

    def step(self) -> None:
        """Take rows that a worker left behind, and send as many jobs as have ended."""
        receipts, pending = self._queries
        after = max(0, self._last_receipt - _LATE_RECEIPTS)
        taking = {"epoch": self._epoch, "after_id": after, "limit": _LIMIT}
        self._learn(self._receipts.execute(receipts, taking).fetchall())
        room = self._depth - self._waiting
        if room > 0:
            after = self._last_id
            found = self._pending.execute(pending, {"after": after, "limit": room}).fetchone()
            if found is not None and found.ids and found.tenants:
                self._send(found.ids, found.tenants)

    def _learn(self, receipts: list[Receipt]) -> None:
        in_flight, tenants = self._in_flight, self._tenants
        for receipt in receipts:
            self._last_receipt = max(self._last_receipt, receipt.id)
            if receipt.claimed:
                self._waiting -= len(receipt.claimed)
            for job_id in receipt.ended or ():
                tenant = tenants.pop(job_id, None)
                if tenant is not None:
                    in_flight[tenant] -= 1

    def _send(self, ids: list[int], tenants: list[str]) -> None:
        count, asleep = len(ids), self._waiting == 0
        for job_id, tenant in zip(ids, tenants, strict=True):
            self._tenants[job_id] = tenant
            self._in_flight[tenant] += 1
        parameters = {
            "epoch": self._epoch,
            "pool": "default",
            "band": 0,
            "floor": max(0, self._tag - self._waiting),
            "timeout_default": "600 s",
            "timeout_max": "3600 s",
            "ids": integers(ids),
            "vtags": integers(range(self._tag, self._tag + count)),
            "estimates_us": integers([_ESTIMATE_US] * count),
            "seen_us": integers([None] * count),
            "used": None,
            "kinds": None,
            "counted": None,
            "workers": [""] if asleep else None,
        }
        taken = self._dispatch.execute(self._dispatching, parameters).rowcount
        self._tag, self._last_id = self._tag + count, ids[-1]
        self._waiting += taken
        if taken < count:
            for job_id in set(ids).difference(self._dispatch.fetchall()):
                self._in_flight[self._tenants.pop(job_id)] -= 1


def lead(connection: Connection, holder: str) -> int:
    """Become the leader as soon as there is none, and return the epoch."""
    taking = {"holder": holder, "lease_seconds": _LEASE_SECONDS, "release": ""}
    cursor: Cursor[int] = connection.cursor(row_factory=scalar_row)
    while (epoch := cursor.execute(load(_LEADERSHIP, "acquire"), taking).fetchone()) is None:
        time.sleep(0.1)
    opening = {"epoch": epoch, "pool": "default", "bands": 1}
    connection.execute(load(_LOOP, "open_bands"), opening)
    return epoch


def main() -> None:
    """Lead the database of the environment until SIGTERM."""
    stop = threading.Event()

    def leave(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    signal.signal(signal.SIGTERM, leave)
    gc.set_threshold(*_COLLECT_AFTER)
    with connect(os.environ["FAIRLEAD_DATABASE_URL"]) as connection:
        for setting in (*SESSION, "set synchronous_commit = off"):
            connection.execute(setting.encode())
        epoch = lead(connection, f"bare:{os.getpid()}")
        bare = Bare(connection, epoch)
        while not stop.is_set():
            bare.step()
            stop.wait(_TICK_SECONDS)
        connection.execute(load(_LEADERSHIP, "release"), {"epoch": epoch})


if __name__ == "__main__":
    main()
