"""procrastinate: async psycopg in its binary build, batch defer, LISTEN/NOTIFY on.

`concurrency` and the pool's size are its documented knobs. Finished jobs are kept, which is
its default and what the other contenders do.
"""

# The peers live in an environment of their own, which type checkers of this one cannot see.
# mypy: disable-error-code="import-not-found, untyped-decorator"
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from procrastinate import App, PsycopgConnector

from bench.peers.driver import Payload, Peer, Settings, main
from bench.probe import Probe

TASK = "bench"


def app_for(dsn: str, *, pool_max: int) -> App:
    """Make an app on a pool of at most `pool_max` connections."""
    return App(connector=PsycopgConnector(conninfo=dsn, min_size=1, max_size=pool_max))


async def install(dsn: str) -> None:
    """Make the tables, types and functions."""
    app = app_for(dsn, pool_max=2)
    async with app.open_async():
        await app.schema_manager.apply_schema_async()


class Producer:
    """Defer through the app, whose batch form is one statement."""

    def __init__(self, app: App) -> None:
        """Use an open app."""
        self._task = app.configure_task(TASK)

    async def one(self, job: Payload) -> None:
        """Defer one job."""
        await self._task.defer_async(**job)

    async def many(self, jobs: Sequence[Payload]) -> None:
        """Defer a batch."""
        await self._task.batch_defer_async(*jobs)


@asynccontextmanager
async def producer(dsn: str) -> AsyncGenerator[Producer]:
    """Open an app to defer with."""
    app = app_for(dsn, pool_max=1)
    async with app.open_async():
        yield Producer(app)


async def work(dsn: str, settings: Settings, probe: Probe) -> None:
    """Run one worker."""
    logging.disable(logging.WARNING)
    app = app_for(dsn, pool_max=int(settings["pool_max"]))

    if settings.get("stamps"):

        @app.task(name=TASK)
        async def stamp(n: int, **_rest: object) -> None:
            probe.stamped(n)
    else:

        @app.task(name=TASK)
        async def nothing(**_payload: object) -> None:
            probe.started()

    async with app.open_async():
        await app.run_worker_async(
            concurrency=int(settings["concurrency"]), install_signal_handlers=False
        )


if __name__ == "__main__":
    main(Peer(install=install, producer=producer, work=work))
