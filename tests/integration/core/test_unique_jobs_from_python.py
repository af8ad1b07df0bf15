"""`enqueue` replaces, debounces and keeps to a period over whatever connection there is."""

import asyncio
import importlib
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from psycopg import Connection
from psycopg.rows import TupleRow
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

import fairlead
from fairlead import new_jobs
from fairlead.connections import AsyncConnection, SyncConnection
from tests.conftest import Background, Connect
from tests.integration.core.test_enqueue_from_others import DriversConnection
from tests.support import race

asyncpg: Any = importlib.import_module("asyncpg")  # it ships no types

_JOBS = "SELECT id, payload, run_at IS NULL FROM fairlead.jobs ORDER BY id"
tasks = fairlead.Tasks()


@tasks.handler("index")
def index(job: fairlead.Job, document: int) -> None:
    """Index a document."""
    job.progress(document / 10)


def test_each_way_is_an_argument(db: Connection[TupleRow]) -> None:
    """The same words as in SQL."""
    one = fairlead.enqueue(db, "k", 1, dedup_key="a", debounce=3600, debounce_max=7200)
    assert one == fairlead.enqueue(db, "k", 2, dedup_key="a", debounce=3600)
    assert one == fairlead.enqueue(db, "k", 3, dedup_key="a", replace=True)
    two = fairlead.enqueue(db, "k", dedup_key="b", unique_for=3600)
    assert two is not None
    fairlead.cancel(db, two)

    assert None is fairlead.enqueue(db, "k", dedup_key="b", unique_for=3600)
    assert [(one, 3, False)] == db.execute(_JOBS).fetchall()


def test_a_task_says_it_before(db: Connection[TupleRow]) -> None:
    """With the handler's own arguments behind."""
    debounced = index.using(dedup_key="7", debounce=3600)

    assert debounced.enqueue(db, 1) == debounced.enqueue(db, document=2)

    assert [({"document": 2},)] == db.execute("SELECT payload FROM fairlead.jobs").fetchall()
    assert index.using(dedup_key="7", replace=True).using(replace=False).enqueue(db, 3) is None


def use(session: SyncConnection) -> tuple[int | None, ...]:
    """Enqueue over a connection, and replace that."""
    return tuple(
        fairlead.enqueue(session, "k", {"of": "käse: 100%"}, dedup_key="a", debounce=3600)
        for _ in range(2)
    )


def test_other_connections_do_it_too(database_url: str, db: Connection[TupleRow]) -> None:
    """SQLAlchemy's and another driver's."""
    engine = sqlalchemy.create_engine(
        database_url.replace("postgresql:", "postgresql+psycopg:")
    )
    with Session(engine) as session:
        one, two = use(session)
        session.commit()
    engine.dispose()

    assert one == two is not None
    assert (one, one) == use(DriversConnection(db))


def test_asynchronous_connections_do_it_too(database_url: str) -> None:
    """psycopg's, asyncpg's and SQLAlchemy's."""

    async def twice(connection: AsyncConnection) -> tuple[int | None, ...]:
        return tuple(
            [
                await fairlead.enqueue(connection, "k", dedup_key="a", debounce=3600)
                for _ in range(2)
            ]
        )

    async def all_of_them() -> set[int | None]:
        engine = create_async_engine(database_url.replace("postgresql:", "postgresql+asyncpg:"))
        lent = await asyncpg.connect(database_url)
        found = {*await twice(lent)}
        await lent.close()
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            found |= {*await twice(connection)}
        async with AsyncSession(engine) as session:
            found |= {*await twice(session)}
        await engine.dispose()
        return found

    assert {1} == asyncio.run(all_of_them())


def test_many_may_be_of_each_sort(db: Connection[TupleRow]) -> None:
    """A job of a page, and the last of a key wins."""

    def jobs() -> Iterator[fairlead.NewJob]:
        yield fairlead.NewJob(kind="plain")
        for number in range(5):
            yield fairlead.NewJob(kind="k", payload=number, dedup_key="a", debounce=3600)
        yield fairlead.NewJob(kind="plain", dedup_key="b")
        yield fairlead.NewJob(kind="plain", dedup_key="b")
        yield fairlead.NewJob(kind="k", dedup_key="c", unique_for=3600)

    inserted = fairlead.enqueue_many(db, jobs())

    assert 8 == len(inserted)
    assert 4 == len({*inserted})
    assert [(4,)] == db.execute(
        "SELECT payload FROM fairlead.jobs WHERE dedup_key = 'a'"
    ).fetchall()


def test_many_go_by_their_keys(
    db: Connection[TupleRow], connect: Connect, background: Background
) -> None:
    """Two that name the same keys the other way round wait for each other and never lock up."""
    one, two = connect(autocommit=False), connect()
    named = [fairlead.NewJob(kind="k", dedup_key=key, replace=True) for key in "ab"]
    fairlead.enqueue_many(db, named)
    fairlead.enqueue_many(one, named[:1])

    waits = background(lambda: fairlead.enqueue_many(two, named[::-1]))
    assert race.halted(db, two, waits)
    fairlead.enqueue_many(one, named[1:])
    one.commit()

    assert 2 == len(waits.result())


@pytest.mark.parametrize("pages", [1, 3])
def test_a_generator_of_replacements_is_one_transaction(
    db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch, pages: int
) -> None:
    """One that is refused refuses all."""
    monkeypatch.setattr(new_jobs, "_PAGE_JOBS_MAX", 6 // pages)
    first = fairlead.enqueue(db, "k", 0, dedup_key="0")
    jobs = [
        fairlead.NewJob(kind="k", payload=1, dedup_key=str(number), replace=True)
        for number in range(5)
    ]

    with pytest.raises(psycopg.errors.CheckViolation):
        fairlead.enqueue_many(db, [*jobs, fairlead.NewJob(kind="k", priority=1000)])

    assert [(first, 0, True)] == db.execute(_JOBS).fetchall()


def test_what_is_wrong_is_a_value_error(db: Connection[TupleRow]) -> None:
    """And nothing is sent."""
    with pytest.raises(ValueError, match="dedup_key is None: debounce needs the key"):
        index.using(debounce=5).enqueue(db, 1)

    assert [] == db.execute(_JOBS).fetchall()
