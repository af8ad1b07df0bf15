"""Many jobs come from a generator, and reach the database all together or not at all."""

import asyncio
import tracemalloc
from collections.abc import Iterator

import psycopg
import pytest
import sqlalchemy
from psycopg import Connection
from psycopg.rows import TupleRow
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

import fairlead
from fairlead import new_jobs
from fairlead.errors import InvalidPayload
from tests.conftest import Connect
from tests.integration.core.test_enqueue_from_others import DriversConnection

COUNT = "SELECT count(*) FROM fairlead.jobs"


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send three jobs in a statement."""
    monkeypatch.setattr(new_jobs, "_PAGE_JOBS_MAX", 3)


def jobs(count: int, *, bad: bool = False) -> Iterator[fairlead.NewJob]:
    """Yield jobs, the last of which cannot be inserted."""
    for number in range(count):
        yield fairlead.NewJob(kind="k", payload={"n": number}, dedup_key=str(number // 2))
    if bad:
        yield fairlead.NewJob(kind="k", priority=1000)


def test_a_generator_is_inserted_in_order(db: Connection[TupleRow]) -> None:
    """Without those whose dedup key is live; a connection that commits gets a transaction."""
    inserted = fairlead.enqueue_many(db, jobs(10))

    rows = db.execute("SELECT id, payload -> 'n' FROM fairlead.jobs ORDER BY id").fetchall()
    assert [(job, 2 * place) for place, job in enumerate(inserted)] == rows
    assert () == fairlead.enqueue_many(db, iter([]))


def test_many_jobs_commit_nothing_of_a_connection_that_does_not_commit_by_itself(
    connect: Connect, db: Connection[TupleRow], database_url: str
) -> None:
    """Also where they are the first that it does; the caller rolls them back."""

    async def enqueue() -> None:
        connection = await psycopg.AsyncConnection.connect(database_url)
        await fairlead.enqueue_many(connection, jobs(10))
        await connection.rollback()
        await connection.close()

    application = connect(autocommit=False)
    fairlead.enqueue_many(application, jobs(10))
    application.rollback()
    asyncio.run(enqueue())

    assert [(0,)] == db.execute(COUNT).fetchall()


def test_one_that_is_refused_refuses_those_that_were_sent(
    connect: Connect, db: Connection[TupleRow]
) -> None:
    """And leaves the rest of the caller's transaction, whatever refused it."""
    for connection in (db, connect(autocommit=False)):
        fairlead.enqueue(connection, "before")
        with pytest.raises(psycopg.errors.CheckViolation):
            fairlead.enqueue_many(connection, jobs(10, bad=True))
        with pytest.raises(InvalidPayload):
            fairlead.enqueue_many(connection, typed())
        connection.commit()

    assert [("before",)] * 2 == db.execute("SELECT kind FROM fairlead.jobs").fetchall()


tasks = fairlead.Tasks()


@tasks.handler("typed by this test")
def numbered(job: fairlead.Job, number: int) -> int:
    """Take a number."""
    return job.id + number


def typed() -> Iterator[fairlead.NewJob]:
    """Yield jobs, the last of which has no number."""
    for number in range(7):
        yield numbered.new_job(number)
    yield fairlead.NewJob(kind=numbered.kind, payload={"number": "seven"})


def test_other_connections_have_to_be_in_a_transaction(
    database_url: str, connect: Connect, db: Connection[TupleRow]
) -> None:
    """Where there are more jobs than one statement takes; all of them or none."""
    with pytest.raises(ValueError, match="the connection commits each: begin a transaction"):
        fairlead.enqueue_many(DriversConnection(db), jobs(10))
    assert 2 == len(fairlead.enqueue_many(DriversConnection(db), jobs(3)))
    db.execute("DELETE FROM fairlead.jobs")

    inside = connect(autocommit=False)
    assert 5 == len(fairlead.enqueue_many(DriversConnection(inside), jobs(10)))
    inside.commit()
    engine = sqlalchemy.create_engine(
        database_url.replace("postgresql:", "postgresql+psycopg:")
    )
    with Session(engine) as session:
        with pytest.raises(IntegrityError):
            fairlead.enqueue_many(session, jobs(20, bad=True))
        assert 5 == len(fairlead.enqueue_many(session, jobs(20)))
        session.commit()
    engine.dispose()

    assert [(10,)] == db.execute(COUNT).fetchall()


def test_an_asynchronous_connection_is_awaited(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """All or none there, too."""

    async def insert() -> int:
        async with await psycopg.AsyncConnection.connect(database_url) as connection:
            with pytest.raises(psycopg.errors.CheckViolation):
                await fairlead.enqueue_many(connection, jobs(10, bad=True))
            assert () == await fairlead.enqueue_many(connection, [])
            few = await fairlead.enqueue_many(connection, jobs(2))
            return len(few + await fairlead.enqueue_many(connection, jobs(10)))

    assert 5 == asyncio.run(insert())
    assert [(5,)] == db.execute(COUNT).fetchall()


def test_few_are_held_at_a_time(
    db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """200 jobs of 100 kB are 20 MB; a page of 1 MB is held, and what it takes to send it."""
    monkeypatch.setattr(new_jobs, "_PAGE_JOBS_MAX", 1000)
    monkeypatch.setattr(new_jobs, "_PAGE_BYTES_MAX", 1_000_000)
    large = (fairlead.NewJob(kind="k", payload="x" * 100_000) for _ in range(200))

    tracemalloc.start()
    try:
        assert 200 == len(fairlead.enqueue_many(db, large))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 10_000_000
