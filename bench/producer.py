"""Plain INSERTs from a process of its own: the application's side of Fairlead and the floors.

`enqueue` sends arrays of payloads, `ping` one payload per interval, `feed` keeps a backlog
between two bounds by watching how many handlers have started. Each prints JSON at its end.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import time
from pathlib import Path
from types import FrameType

import psycopg

from bench.probe import ProbeFolder


def payload(index: int) -> str:
    """Make 100 bytes of JSON that carry a number."""
    short = json.dumps({"n": index, "pad": ""})
    return json.dumps({"n": index, "pad": "x" * (100 - len(short))})


def connect(dsn: str) -> psycopg.Connection:
    """Open an autocommit connection that prepares every statement at once."""
    return psycopg.connect(dsn, autocommit=True, prepare_threshold=0)


def enqueue(dsn: str, insert: str, jobs: int, batch: int) -> None:
    """Insert `jobs` payloads in batches and print the seconds that the inserts took."""
    query = insert.encode()
    bodies = [payload(index) for index in range(jobs)]
    with connect(dsn) as connection:
        begun = time.monotonic()
        for first in range(0, jobs, batch):
            connection.execute(query, (bodies[first : first + batch],))
        print(json.dumps({"seconds": time.monotonic() - begun}))


def ping(dsn: str, insert: str, jobs: int, interval_seconds: float) -> None:
    """Insert one job per interval and print when each insert was committed."""
    query = insert.encode()
    committed: list[int] = []
    with connect(dsn) as connection:
        due = time.monotonic()
        for index in range(jobs):
            body = payload(index)
            due += interval_seconds
            time.sleep(max(0.0, due - time.monotonic()))
            connection.execute(query, ([body],))
            committed.append(time.monotonic_ns())
    print(json.dumps({"committed_ns": committed}))


def feed(dsn: str, insert: str, backlog: int, batch: int, probes: Path) -> None:
    """Insert batches whenever the backlog is below its bound, until SIGTERM."""
    query = insert.encode()
    bodies = [payload(index) for index in range(batch)]
    folder = ProbeFolder(probes)
    going = [True]

    def stop(_number: int, _frame: FrameType | None) -> None:
        going.clear()

    signal.signal(signal.SIGTERM, stop)
    inserted = 0
    with connect(dsn) as connection:
        while going:
            if inserted - folder.count() < backlog:
                connection.execute(query, (bodies,))
                inserted += batch
            else:
                time.sleep(0.002)
    print(json.dumps({"inserted": inserted}))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("enqueue", "ping", "feed"))
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--insert", required=True)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--batch", type=int, default=1000)
    parser.add_argument("--backlog", type=int, default=20_000)
    parser.add_argument("--interval", type=float, default=0.05)
    parser.add_argument("--probes", type=Path, default=Path())
    given = parser.parse_args()
    gc.freeze()
    match given.command:
        case "enqueue":
            enqueue(given.dsn, given.insert, given.jobs, given.batch)
        case "ping":
            ping(given.dsn, given.insert, given.jobs, given.interval)
        case _:
            feed(given.dsn, given.insert, given.backlog, given.batch, given.probes)


if __name__ == "__main__":
    main()
