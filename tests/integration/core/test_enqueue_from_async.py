"""asyncpg's connections and SQLAlchemy's asynchronous ones do what the others do, awaited."""

import asyncio
import importlib
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

import fairlead
from fairlead import new_jobs
from fairlead.connections import AsyncConnection
from fairlead.testing import enqueued

asyncpg: Any = importlib.import_module("asyncpg")  # it ships no types

_COUNT = "SELECT count(*) FROM fairlead.jobs"
_FULL = """
INSERT INTO fairlead.over_backlog (queue, tenant, backlog_limit, reopens_at)
VALUES ('default', 'full', 1, 0)
"""
Use = Callable[[AsyncConnection], Awaitable[None]]


async def over_asyncpg(url: str, use: Use, *, commit: bool) -> None:
    """Use asyncpg's connection, and one of its pool's."""
    pool = await asyncpg.create_pool(url, min_size=1, max_size=1)
    async with pool.acquire() as lent:
        transaction = lent.transaction()
        await transaction.start()
        await use(lent)
        await (transaction.commit() if commit else transaction.rollback())
    await pool.close()


async def over_sqlalchemy(url: str, use: Use, *, commit: bool) -> None:
    """Use SQLAlchemy's AsyncSession and its AsyncConnection, over two drivers."""
    for driver in ("psycopg", "asyncpg"):
        engine = create_async_engine(url.replace("postgresql:", f"postgresql+{driver}:"))
        async with AsyncSession(engine) as session:
            await use(session)
            await (session.commit() if commit else session.rollback())
        async with engine.connect() as connection:
            await use(connection)
            await (connection.commit() if commit else connection.rollback())
        await engine.dispose()


@pytest.mark.parametrize(("over", "times"), [(over_asyncpg, 1), (over_sqlalchemy, 4)])
def test_jobs_commit_and_roll_back_with_their_work(
    database_url: str,
    db: Connection[TupleRow],
    monkeypatch: pytest.MonkeyPatch,
    over: Callable[..., Awaitable[None]],
    times: int,
) -> None:
    """One, many from a generator, and what looks after them."""
    monkeypatch.setattr(new_jobs, "_PAGE_JOBS_MAX", 3)

    async def use(connection: AsyncConnection) -> None:
        job = await fairlead.enqueue(connection, "one", {"of": "käse: 100%"})
        assert job is not None
        many = (fairlead.NewJob(kind="many", payload=number) for number in range(8))
        assert 8 == len(await fairlead.enqueue_many(connection, many))
        bad = [fairlead.NewJob(kind="bad", priority=each) for each in (1, 2, 3, 1000)]
        with pytest.raises(Exception, match="jobs_priority_is_between"):
            await fairlead.enqueue_many(connection, bad)
        assert {job: "cancelled"} == await fairlead.cancel(connection, [job])
        found = await fairlead.status(connection, job)
        assert found is not None
        assert ("cancelled", {"of": "käse: 100%"}) == (found.state, found.payload)
        assert 8 <= len(await enqueued(connection, "many"))

    async def use_both() -> None:
        await over(database_url, use, commit=False)
        assert (0,) == db.execute(_COUNT).fetchone()
        await over(database_url, use, commit=True)

    asyncio.run(use_both())

    assert (8 * times,) == db.execute(_COUNT).fetchone()


def test_a_full_backlog_is_said_over_asyncpg(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """And that many jobs need a transaction."""
    db.execute(_FULL)
    db.execute("SELECT setval('fairlead.backlog_gate', fairlead._backlog_bit('default/full'))")

    async def insert() -> None:
        connection = await asyncpg.connect(database_url)
        with pytest.raises(fairlead.OverBacklog, match=r"^tenant 'full' of queue 'default' is"):
            await fairlead.enqueue(connection, "k", tenant="full")
        many = [fairlead.NewJob(kind="k")] * 10_001
        with pytest.raises(
            ValueError, match="the connection commits each: begin a transaction"
        ):
            await fairlead.enqueue_many(connection, many)
        await connection.close()

    asyncio.run(insert())

    assert (0,) == db.execute(_COUNT).fetchone()
