"""A copy of a worker's process, which a handler has forked, runs and ends no job."""

from collections.abc import Iterator, Sequence

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from tests.support.children import RunningChild, child, ending, register
from tests.support.dispatching import insert, insert_many
from tests.support.waiting import until

_ERROR = 1
"""The exit code of a program that ends with an exception."""


@pytest.fixture
def running(database_url: str, db: Connection[TupleRow]) -> Iterator[RunningChild]:
    """Yield a child whose handlers fork, with four slots."""
    db.execute("CREATE TABLE seen (at serial, what text)")
    app = "tests.support.forking_app:tasks"
    with child(database_url, register(db, releases_slots=True), app=app) as started:
        yield started


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize("kind", ["forks", "forks_apart", "forks_on_loop"])
@pytest.mark.parametrize(("payload", "code"), [("return", 0), ("raise", _ERROR), ("exit", 3)])
def test_a_copy_ends_where_it_leaves_the_handler(
    db: Connection[TupleRow], kind: str, payload: str, code: int
) -> None:
    """With the exit code of a program that ends so; the original ends their job."""
    assert ("succeeded", code, None) == ending(db, insert(db, kind, payload))
    assert ("succeeded", 0, None) == ending(db, insert(db, kind, "return"))


@pytest.mark.usefixtures("running")
def test_a_copy_on_the_event_loop_ends_where_it_would_wait(db: Connection[TupleRow]) -> None:
    """What it would wait for belongs to the original, and so do all other coroutines."""
    assert ("succeeded", 0, None) == ending(db, insert(db, "forks_on_loop", "wait"))


def test_a_copy_goes_on_with_no_other_coroutine(
    running: RunningChild, db: Connection[TupleRow]
) -> None:
    """Not even with those that the event loop was about to call in the same turn."""
    assert [running.process.pid] * 4 == processes(db, insert_many(db, "forks_among", 4, 3))


def test_a_copy_begins_no_other_job(running: RunningChild, db: Connection[TupleRow]) -> None:
    """Not even those that were claimed together with the one that forks."""
    assert [running.process.pid] * 4 == processes(db, insert_many(db, "forks_first", 4))


def processes(db: Connection[TupleRow], jobs: Sequence[int]) -> list[int]:
    """Return in which processes jobs have run once all have succeeded."""
    for each in jobs:
        assert ("succeeded", None, None) == ending(db, each)

    def seen() -> list[int]:
        return [int(row[0]) for row in db.execute("SELECT what FROM seen").fetchall()]

    until(lambda: len(seen()) >= len(jobs), what="all of them")
    return seen()


@pytest.mark.parametrize("kind", ["waits", "waits_apart"])
def test_a_copy_that_an_application_forks_as_it_is_loaded_ends_then(
    database_url: str, db: Connection[TupleRow], kind: str
) -> None:
    """Before it is a child, or serves one."""
    with child(database_url, register(db), app="tests.support.forked_app:tasks"):
        assert ("succeeded", 0, None) == ending(db, insert(db, kind))
