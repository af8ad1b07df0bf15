"""pgqueuer: asyncpg (its faster driver), its recommended autovacuum settings, batch enqueue.

`batch_size` is its documented knob for short jobs; `managers` is how many queue managers one
process runs, each on a connection of its own, as its own benchmark tool does.
"""

# The peers live in an environment of their own, which type checkers of this one cannot see; and
# asyncpg, which this one has too, ships no types.
# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator"
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import asyncpg
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.driver import Payload, Peer, Settings, main
from bench.probe import Probe

ENTRYPOINT = "bench"


async def install(dsn: str) -> None:
    """Make the tables and apply the autovacuum settings that its guide recommends."""
    connection = await asyncpg.connect(dsn)
    queries = Queries(AsyncpgDriver(connection))
    await queries.install()
    await queries.optimize_autovacuum()
    await connection.close()


class Producer:
    """Enqueue through `Queries`, whose list form is one statement per batch."""

    def __init__(self, queries: Queries) -> None:
        """Use queries on an open connection."""
        self._queries = queries

    async def one(self, job: Payload) -> None:
        """Enqueue one job."""
        await self._queries.enqueue(ENTRYPOINT, json.dumps(job).encode())

    async def many(self, jobs: Sequence[Payload]) -> None:
        """Enqueue a batch in one statement."""
        bodies = [json.dumps(job).encode() for job in jobs]
        await self._queries.enqueue([ENTRYPOINT] * len(bodies), bodies, [0] * len(bodies))


@asynccontextmanager
async def producer(dsn: str) -> AsyncGenerator[Producer]:
    """Open one connection to enqueue on."""
    connection = await asyncpg.connect(dsn)
    yield Producer(Queries(AsyncpgDriver(connection)))
    await connection.close()


async def _manage(dsn: str, settings: Settings, probe: Probe) -> None:
    connection = await asyncpg.connect(dsn)
    manager = PgQueuer(AsyncpgDriver(connection))

    if settings.get("stamps"):

        @manager.entrypoint(ENTRYPOINT)
        async def stamp(job: Job) -> None:
            assert job.payload is not None
            probe.stamped(json.loads(job.payload)["n"])
    else:

        @manager.entrypoint(ENTRYPOINT)
        async def nothing(_job: Job) -> None:
            probe.started()

    await manager.run(batch_size=int(settings["batch_size"]))


async def work(dsn: str, settings: Settings, probe: Probe) -> None:
    """Run the queue managers of one process."""
    managers = range(int(settings["managers"]))
    await asyncio.gather(*(_manage(dsn, settings, probe) for _ in managers))


if __name__ == "__main__":
    main(Peer(install=install, producer=producer, work=work))
