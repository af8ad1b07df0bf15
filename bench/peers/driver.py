"""The command line that every peer's script shares, so that each shows only its own calls.

`install`, `enqueue` and `ping` print JSON; `work` runs until SIGTERM. All of them run on
uvloop, which two of the peers recommend and none suffers from.
"""

# uvloop is in the peers' environment only, which type checkers of this one cannot see.
# mypy: disable-error-code="import-not-found"
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import sys
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

import uvloop

from bench.probe import Probe

BATCH_JOBS = 1000

Payload = dict[str, object]
Settings = dict[str, int | float | str]


def payload(index: int) -> Payload:
    """Make a payload of 100 bytes of JSON that carries its number."""
    short = json.dumps({"n": index, "pad": ""})
    return {"n": index, "pad": "x" * (100 - len(short))}


class Producer(Protocol):
    """How jobs get in, on connections that are already open."""

    async def one(self, job: Payload) -> None:
        """Enqueue one job and return when it is committed."""
        ...

    async def many(self, jobs: Sequence[Payload]) -> None:
        """Enqueue a batch in the fastest documented way."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One peer: make its tables, put jobs in, and run a worker until it is cancelled."""

    install: Callable[[str], Coroutine[object, object, None]]
    producer: Callable[[str], AbstractAsyncContextManager[Producer]]
    work: Callable[[str, Settings, Probe], Coroutine[object, object, None]]


async def _enqueue(peer: Peer, dsn: str, jobs: int, batch: int) -> None:
    payloads = [payload(index) for index in range(jobs)]
    async with peer.producer(dsn) as producer:
        begun = time.monotonic()
        if batch == 1:
            for job in payloads:
                await producer.one(job)
        else:
            for first in range(0, jobs, batch):
                await producer.many(payloads[first : first + batch])
        print(json.dumps({"seconds": time.monotonic() - begun}))


async def _ping(peer: Peer, dsn: str, jobs: int, interval_seconds: float) -> None:
    committed: list[int] = []
    async with peer.producer(dsn) as producer:
        due = time.monotonic()
        for index in range(jobs):
            due += interval_seconds
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            job = payload(index)
            await producer.one(job)
            committed.append(time.monotonic_ns())
    print(json.dumps({"committed_ns": committed}))


async def _work(peer: Peer, dsn: str, settings: Settings) -> None:
    task = asyncio.ensure_future(peer.work(dsn, settings, Probe.from_environment()))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        sys.exit(0)


def main(peer: Peer) -> None:
    """Read the command line and do what it says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("install", "enqueue", "ping", "work"))
    parser.add_argument("--dsn", required=True)
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--batch", type=int, default=BATCH_JOBS)
    parser.add_argument("--interval", type=float, default=0.05)
    parser.add_argument("--settings", type=json.loads, default={})
    given = parser.parse_args()
    gc.freeze()
    match given.command:
        case "install":
            uvloop.run(peer.install(given.dsn))
        case "enqueue":
            uvloop.run(_enqueue(peer, given.dsn, given.jobs, given.batch))
        case "ping":
            uvloop.run(_ping(peer, given.dsn, given.jobs, given.interval))
        case _:
            uvloop.run(_work(peer, given.dsn, given.settings))
