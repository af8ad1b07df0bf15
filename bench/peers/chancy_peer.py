"""chancy: the asyncio executor, eager polling, batch push, binary psycopg.

`concurrency` is the queue's; `outgoing_seconds` is the worker's documented
`send_outgoing_interval`, after which finished jobs are written.
"""

# The peers live in an environment of their own, which type checkers of this one cannot see.
# mypy: disable-error-code="import-not-found"
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from chancy import Chancy, Job, Queue, Worker
from chancy.app import setup_default_logger

from bench.peers import chancy_handlers
from bench.peers.driver import Payload, Peer, Settings, main
from bench.probe import Probe

QUEUE = "bench"
_HANDLERS = chancy_handlers.__name__


def app_for(dsn: str) -> Chancy:
    """Make an app that logs warnings only."""
    return Chancy(dsn, log=setup_default_logger(level=logging.WARNING))


async def install(dsn: str) -> None:
    """Make the tables."""
    async with app_for(dsn) as chancy:
        await chancy.migrate()


class Producer:
    """Push through the app."""

    def __init__(self, chancy: Chancy) -> None:
        """Use an open app."""
        self._chancy = chancy
        self._job = Job(func=f"{_HANDLERS}.nothing", queue=QUEUE)
        self._stamp = Job(func=f"{_HANDLERS}.stamp", queue=QUEUE)

    async def one(self, job: Payload) -> None:
        """Push one job, to the handler that leaves its time."""
        await self._chancy.push(self._stamp.with_kwargs(**job))

    async def many(self, jobs: Sequence[Payload]) -> None:
        """Push a batch in one transaction."""
        batch = [self._job.with_kwargs(**job) for job in jobs]
        async for _references in self._chancy.push_many(batch, batch_size=len(batch)):
            pass


@asynccontextmanager
async def producer(dsn: str) -> AsyncGenerator[Producer]:
    """Open an app to push with."""
    async with app_for(dsn) as chancy:
        yield Producer(chancy)


async def work(dsn: str, settings: Settings, probe: Probe) -> None:
    """Run one worker on the queue, which it declares first."""
    chancy_handlers.PROBES.append(probe)
    async with app_for(dsn) as chancy:
        queue = Queue(
            name=QUEUE,
            concurrency=int(settings["concurrency"]),
            executor=Chancy.Executor.Async,
            polling_interval=1,
            eager_polling=True,
        )
        await chancy.declare(queue, upsert=True)
        worker = Worker(chancy, register_signal_handlers=False)
        worker.send_outgoing_interval = float(settings["outgoing_seconds"])
        async with worker:
            await worker.wait_for_shutdown()


if __name__ == "__main__":
    main(Peer(install=install, producer=producer, work=work))
