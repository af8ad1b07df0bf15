"""Batches from an application's side: Python's `then`, what SQL is refused, what jobs pay."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors

import fairlead
from fairlead import new_jobs, testing
from fairlead.errors import InvalidPayload
from tests.conftest import Connect
from tests.support import tree
from tests.support.batches import NOT_JOINED, add, completions, make
from tests.support.race import Database

_FUNCTIONS = """
    SELECT p.proname::text, coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) FROM pg_proc p
    WHERE p.pronamespace = 'fairlead'::regnamespace AND p.proname <> ALL (%s)
"""
_OF_BATCHES = (
    *("_admit_batch", "_count_batch", "_count_behind", "_erase_batches", "_forget_batch_jobs"),
    *("_forget_batches", "_join_batch", "_owns_batch", "_runs_in_batch", "_settle_batches"),
    *("close_batch", "list_batches", "_newest_batches"),
    "enqueue",  # which takes a job back that came second in its period
)
tasks = fairlead.Tasks()


@tasks.handler("page", queue="pages", max_attempts=1)
def page(_job: fairlead.Job, number: int) -> None:
    """Fail where the number is odd."""
    if number % 2:
        raise ValueError(str(number))


@tasks.handler("bind", queue="books", priority=3)
def bind(_job: fairlead.Job, book: int, batch: dict[str, int]) -> dict[str, int]:
    """Return what it was told."""
    return {"book": book, **batch}


def pages(count: int) -> Iterator[fairlead.NewJob]:
    """Yield jobs of a book, one after another."""
    return (page.new_job(number=number) for number in range(count))


def binding() -> fairlead.NewJob:
    """Return the job that is to come when all pages have ended."""
    return fairlead.NewJob(kind="bind", payload={"book": 7}, tenant="acme")


@pytest.fixture(autouse=True)
def _small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send three jobs in a statement."""
    monkeypatch.setattr(new_jobs, "_PAGE_JOBS_MAX", 3)


def test_what_then_says_runs_once_when_all_have_ended(db: Database, database_url: str) -> None:
    """Over many statements, with the defaults of its handler, and the counts in its payload."""
    made = fairlead.enqueue_many(db, pages(7), then=binding())

    assert 7 == len(made)
    drained = testing.drain(tasks, database_url)
    assert {"succeeded": 5, "failed": 3} == drained.counts
    last = drained.endings[-1]
    counts = {"jobs": 7, "succeeded": 4, "failed": 3, "cancelled": 0, "expired": 0}
    assert ("bind", "books", "acme") == (last.kind, last.queue, last.tenant)
    assert isinstance(last.result, dict)
    assert {"book": 7, "id": last.result["id"], **counts, "unknown": 0} == last.result
    assert [(3,)] == db.execute(
        "SELECT priority FROM fairlead.job_status WHERE kind = 'bind'"
    ).fetchall()


def test_a_batch_without_jobs_is_over_at_once(db: Database, database_url: str) -> None:
    """Its completion says so."""
    assert () == fairlead.enqueue_many(db, [], then=binding())

    (only,) = testing.drain(tasks, database_url).endings
    assert isinstance(only.result, dict)
    assert 0 == only.result["jobs"]


def test_batch_and_jobs_are_rolled_back_together(connect: Connect, db: Database) -> None:
    """By the application, or because one job is refused."""
    application = connect(autocommit=False)
    fairlead.enqueue_many(application, pages(4), then=binding())
    application.rollback()
    with pytest.raises(errors.CheckViolation):
        fairlead.enqueue_many(
            db, [*pages(4), fairlead.NewJob(kind="k", priority=101)], then=binding()
        )

    for table in ("jobs", "batches", "batch_jobs"):
        assert [] == db.execute(f"SELECT FROM fairlead.{table}".encode()).fetchall()


def test_an_asynchronous_connection_has_batches_too(db: Database, database_url: str) -> None:
    """And awaits them."""

    async def enqueue() -> tuple[int, ...]:
        connection = await psycopg.AsyncConnection.connect(database_url)
        async with connection:
            return await fairlead.enqueue_many(connection, pages(4), then=binding())

    assert 4 == len(asyncio.run(enqueue()))
    assert [(4,)] == db.execute("SELECT count(*) FROM fairlead.batch_jobs").fetchall()


def test_jobs_join_a_batch_by_its_id(db: Database, database_url: str) -> None:
    """One by one, from a task, and many."""
    batch = make(db)
    fairlead.enqueue(db, "page", {"number": 0}, batch=batch)
    page.using(batch=batch).enqueue(db, number=2)
    fairlead.enqueue_many(
        db, [fairlead.NewJob(kind="page", payload={"number": 4}, batch=batch)]
    )

    testing.drain(tasks, database_url)

    assert [{"id": batch, "jobs": 3, "succeeded": 3}] == completions(db)
    with pytest.raises(psycopg.Error, match=f"batch {batch} is over") as refused:
        fairlead.enqueue(db, "page", {"number": 6}, batch=batch)
    assert NOT_JOINED == refused.value.sqlstate


@pytest.mark.parametrize(
    "said",
    [
        {"run_at": datetime.now(UTC)},
        {"expires_at": datetime.now(UTC)},
        {"dedup_key": "k"},
        {"cost_hint": 1.0},
        {"batch": 1},
        {"replace": True},
        {"debounce": 0},
        {"debounce_max": 1},
        {"unique_for": 1},
    ],
)
def test_then_takes_nothing_that_a_batch_does_not_keep(
    db: Database, said: dict[str, Any]
) -> None:
    """It would be lost silently."""
    with pytest.raises(ValueError, match=f"give no {next(iter(said))}"):
        fairlead.enqueue_many(db, pages(1), then=replace(binding(), **said))


@pytest.mark.parametrize("then", ["bind", {"kind": "bind"}, 7])
def test_then_is_a_job(db: Database, then: Any) -> None:  # noqa: ANN401 - what is wrong
    """The name of a kind alone was an error about an attribute."""
    with pytest.raises(TypeError, match=f"then is a {type(then).__name__}: give a fairlead.Ne"):
        fairlead.enqueue_many(db, pages(1), then=then)
    with pytest.raises(TypeError, match=f"a job is a {type(then).__name__}: give a fairlead.N"):
        fairlead.enqueue_many(db, [then], then=binding())


def test_a_job_is_in_one_batch(db: Database) -> None:
    """Which of two would wait for it is not guessed."""
    mine = fairlead.NewJob(kind="k", batch=make(db))

    with pytest.raises(ValueError, match="then makes another one"):
        fairlead.enqueue_many(db, [mine], then=binding())


def test_a_completion_is_held_to_its_handler_but_for_the_counts(db: Database) -> None:
    """They are not there yet."""
    bad = fairlead.NewJob(kind="bind", payload={"book": "seven"})

    with pytest.raises(InvalidPayload):
        fairlead.enqueue_many(db, pages(1), then=bad)
    fairlead.enqueue_many(db, pages(1), then=binding())
    assert [({"book": 7},)] == db.execute("SELECT payload FROM fairlead.batches").fetchall()


def test_no_function_of_a_jobs_life_knows_of_batches(db: Database) -> None:
    """Claims, endings and dispatches do what they did: the text of none has the word."""
    functions: dict[str, str] = dict(db.execute(_FUNCTIONS, [list(_OF_BATCHES)]).fetchall())
    statements = {
        str(path): path.read_text()
        for room in ("worker", "scheduler")
        for path in (tree.ROOT / room).rglob("sql/*.sql")
        if path.stem not in {"settle_batches", "forget_batches", "unfinished_batches"}
    }

    assert {"claim", "finish", "_end_jobs", "_end_attempts", "complete"} <= set(functions)
    assert [] == [
        name
        for name, text in {**functions, **statements}.items()
        if "batches" in code(text) or "batch_jobs" in code(text)
    ]


def code(text: str) -> str:
    """Return a statement without its comments."""
    return "\n".join(line.partition("--")[0] for line in text.splitlines())


def test_a_job_without_a_batch_fires_no_trigger_of_batches(db: Database) -> None:
    """One with a batch does, so the plan would show it."""

    def fired(batch: int | None) -> set[str]:
        row = db.execute(
            "EXPLAIN (ANALYZE, FORMAT JSON)"
            f" INSERT INTO fairlead.jobs (kind, batch) VALUES ('k', {batch or 'null'})".encode()
        ).fetchone()
        assert row is not None
        return {str(each["Trigger Name"]) for each in row[0][0]["Triggers"]}

    assert {"jobs_join_batch"} == fired(make(db)) - fired(None)
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.batch_jobs").fetchall()


def test_two_that_add_to_a_batch_do_not_wait_for_each_other(
    db: Database, connect: Connect
) -> None:
    """Nor does who adds wait for one that closes it."""
    batch = make(db, is_open=True)
    first, second, closes = (connect(autocommit=False) for _ in range(3))
    db.execute("SET lock_timeout = '1s'")

    for one in (first, second):
        one.execute("SET lock_timeout = '1s'")
        add(one, batch)
    closes.execute("SELECT fairlead.close_batch(%s)", [batch])
    add(db, batch)

    for one in (first, second, closes):
        one.commit()
    assert [(3,)] == db.execute("SELECT count(*) FROM fairlead.batch_jobs").fetchall()


def test_the_pages_sample_binds_its_book(
    db: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page on batches shows an application that works."""
    monkeypatch.setenv("FAIRLEAD_DATABASE_URL", database_url)
    shown: dict[str, Any] = {}
    fences = tree.text(Path("docs/how-to/batches.md")).split("```python\n")
    exec(fences[1].split("```")[0], shown)  # noqa: S102 - our own page
    fairlead.enqueue(db, "publish", {"book": 7, "pages": 3}, tenant="acme")

    *_, last = testing.drain(shown["tasks"], database_url).endings

    assert ("bind", "acme", "book 7 has 3 pages") == (last.kind, last.tenant, last.result)
