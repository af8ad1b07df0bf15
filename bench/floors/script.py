"""The floors' one script: minimal dispatchers and claimers on plain psycopg.

One hop is LISTEN, claim, start. Two hops put a dispatcher between the insert and the claimer,
which is the least that a fair scheduler costs; they exist in an idle form, driven by
notifications, and in a drain form that never rests. No handler is called: a start is counted
where one would begin.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from bench.probe import Probe
from bench.producer import connect

_SQL = Path(__file__).resolve().parent.parent / "sql"
_IN, _OUT = "floor_in", "floor_out"
_REST_SECONDS = 1.0


def statement(name: str) -> bytes:
    """Read one statement."""
    return (_SQL / f"{name}.sql").read_bytes()


def install(dsn: str, table: str, *, waking: bool) -> None:
    """Make the tables, and the notification triggers if there are any."""
    with connect(dsn) as connection:
        connection.execute(statement("floor_schema"), prepare=False)
        for watched, channel in ((table, _IN), ("floor_work_queue", _OUT)):
            trigger = (
                f"create trigger wake after insert on {watched} for each statement "
                f"execute function floor_wake('{channel}')"
            )
            if waking:
                connection.execute(trigger.encode())


class Wakes:
    """A connection that listens on one channel."""

    def __init__(self, dsn: str, channel: str) -> None:
        """Start to listen."""
        self._connection = connect(dsn)
        self._connection.execute(f"listen {channel}".encode())

    def rest(self) -> None:
        """Wait for a notification, at most one rest long."""
        for _notification in self._connection.notifies(timeout=_REST_SECONDS, stop_after=1):
            return


def one_hop(dsn: str, probe: Probe) -> None:
    """Claim one job per notification and record its start time."""
    take = statement("floor_take")
    wakes = Wakes(dsn, _IN)
    with connect(dsn) as connection:
        while True:
            while rows := connection.execute(take, {"limit": 1}).fetchall():
                for row in rows:
                    probe.stamped(row[0]["n"])
            wakes.rest()


def dispatch_on_wake(dsn: str) -> None:
    """Move new jobs into the work queue at each notification."""
    query = statement("floor_dispatch")
    wakes = Wakes(dsn, _IN)
    cursor = 0
    with connect(dsn) as connection:
        while True:
            while rows := connection.execute(
                query, {"cursor": cursor, "limit": 100}
            ).fetchall():
                cursor = max(row[0] for row in rows)
            wakes.rest()


def claim_on_wake(dsn: str, probe: Probe) -> None:
    """Claim at each notification, record the start times, then complete."""
    claim, complete = statement("floor_claim"), statement("floor_complete")
    wakes = Wakes(dsn, _OUT)
    with connect(dsn) as connection:
        while True:
            while rows := connection.execute(claim, {"limit": 100}).fetchall():
                for row in rows:
                    probe.stamped(row[2]["n"])
                ends = {"ids": [row[0] for row in rows], "tokens": [row[1] for row in rows]}
                connection.execute(complete, ends)
            wakes.rest()


def drain_dispatch(dsn: str, batch: int) -> None:
    """Keep the work queue a few batches deep."""
    query = statement("floor_dispatch")
    depth = (
        b"select count(*) from (select from floor_work_queue where worker is null limit 10000)"
    )
    cursor = 0
    with connect(dsn) as connection:
        while True:
            row = connection.execute(depth).fetchone()
            if row is not None and row[0] > 4 * batch:
                time.sleep(0.001)
            elif rows := connection.execute(
                query, {"cursor": cursor, "limit": batch}
            ).fetchall():
                cursor = max(row[0] for row in rows)
            else:
                time.sleep(0.01)


def drain_claim(dsn: str, probe: Probe, batch: int) -> None:
    """Claim and complete batch after batch."""
    claim, complete = statement("floor_claim"), statement("floor_complete")
    with connect(dsn) as connection:
        while True:
            rows = connection.execute(claim, {"limit": batch}, binary=True).fetchall()
            if rows:
                probe.started_many(len(rows))
                ends = {"ids": [row[0] for row in rows], "tokens": [row[1] for row in rows]}
                connection.execute(complete, ends)
            else:
                time.sleep(0.001)


def work(role: str, dsn: str, batch: int) -> None:
    """Run the role until SIGTERM."""
    match role:
        case "one-hop":
            one_hop(dsn, Probe.from_environment())
        case "dispatch":
            dispatch_on_wake(dsn)
        case "claim":
            claim_on_wake(dsn, Probe.from_environment())
        case "drain-dispatch":
            drain_dispatch(dsn, batch)
        case "drain-claim":
            drain_claim(dsn, Probe.from_environment(), batch)
        case _:
            sys.exit(f"no such role: {role}")


def _leave(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("install", "work"))
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--table", default="floor_jobs")
    parser.add_argument("--waking", action="store_true")
    parser.add_argument("--role", default="")
    parser.add_argument("--batch", type=int, default=1000)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    if given.command == "install":
        install(given.dsn, given.table, waking=given.waking)
    else:
        work(given.role, given.dsn, given.batch)


if __name__ == "__main__":
    main()
