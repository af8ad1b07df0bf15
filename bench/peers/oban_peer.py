"""oban (Python): binary psycopg, orjson as its command sets it up, batches in one transaction.

`limit` is the queue's concurrency; the debounce interval is left at its default of 5 ms.
"""

# The peers live in an environment of their own, which type checkers of this one cannot see.
# mypy: disable-error-code="import-not-found, attr-defined, untyped-decorator, misc"
# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import orjson
from oban import Job, Oban, worker
from oban.schema import install as install_schema
from psycopg.types.json import set_json_dumps, set_json_loads

from bench.peers.driver import Payload, Peer, Settings, main
from bench.probe import Probe

QUEUE = "bench"
_PROBES: list[Probe] = []


@worker(queue=QUEUE)
class Nothing:
    """Count the start."""

    async def process(self, _job: Job) -> None:
        """Do nothing else."""
        _PROBES[0].started()


@worker(queue=QUEUE)
class Stamp:
    """Leave the time of the handler's start."""

    async def process(self, job: Job) -> None:
        """Do nothing else."""
        _PROBES[0].stamped(job.args["n"])


async def install(dsn: str) -> None:
    """Make the tables."""
    pool = await Oban.create_pool(dsn, min_size=1, max_size=1)
    await install_schema(pool)
    await pool.close()


class Producer:
    """Enqueue through a client instance."""

    def __init__(self, oban: Oban) -> None:
        """Use a started instance."""
        self._oban = oban

    async def one(self, job: Payload) -> None:
        """Enqueue one job, to the handler that leaves its time."""
        await self._oban.enqueue(Stamp.new(job))

    async def many(self, jobs: Sequence[Payload]) -> None:
        """Enqueue a batch in one transaction."""
        await self._oban.enqueue_many([Nothing.new(job) for job in jobs])


@asynccontextmanager
async def producer(dsn: str) -> AsyncGenerator[Producer]:
    """Open a pool and a client without queues."""
    set_json_dumps(orjson.dumps)
    set_json_loads(orjson.loads)
    pool = await Oban.create_pool(dsn, min_size=1, max_size=2)
    yield Producer(Oban(pool=pool))
    await pool.close()


async def work(dsn: str, settings: Settings, probe: Probe) -> None:
    """Run one instance with one queue."""
    set_json_dumps(orjson.dumps)
    set_json_loads(orjson.loads)
    _PROBES.append(probe)
    pool = await Oban.create_pool(dsn, min_size=2, max_size=10)
    async with Oban(pool=pool, queues={QUEUE: int(settings["limit"])}):
        await asyncio.Event().wait()
    await pool.close()


if __name__ == "__main__":
    main(Peer(install=install, producer=producer, work=work))
