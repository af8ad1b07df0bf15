"""Completions never wait for the upkeep of partitions, and no returned row is out of reach."""

from concurrent.futures import Future

import psycopg
import pytest

from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    answer,
    claim,
    claim_one,
    complete,
    dispatch,
    end,
    finish,
    halted,
    insert_one,
    places,
    register,
    run_one,
)

MAKE = "make_history_partitions(%s)"


@pytest.fixture(autouse=True)
def partitions_of_today(db: Database) -> None:
    """Bring the copied schema up to today: midnight may have passed since it was made."""
    answer(db, MAKE, 14)


def partition(db: Database, days: int) -> str:
    """Return the name of the partition of succeeded jobs of a day, counted from today."""
    name = answer(
        db,
        "_history_partition('succeeded', (now() AT TIME ZONE 'UTC')::date + %s)",
        days,
    )
    return f"fairlead.{name}"


def partitions(db: Database) -> int:
    """Count the partitions of succeeded jobs."""
    row = db.execute(
        "SELECT count(*) FROM pg_inherits"
        " WHERE inhparent = 'fairlead.job_history_succeeded'::regclass AND NOT inhdetachpending"
    ).fetchone()
    assert row is not None
    return int(row[0])


def detach(leader: Database, name: str, how: str) -> None:
    """Detach a partition of succeeded jobs."""
    table = "ALTER TABLE fairlead.job_history_succeeded"
    leader.execute(f"{table} DETACH PARTITION {name} {how}".encode())


def detach_while_it_waits(
    db: Database, leader: Database, background: Background
) -> Future[None]:
    """Begin to detach yesterday's partition, and see that it waits for a transaction."""
    yesterday = partition(db, -1)
    detached = background(lambda: detach(leader, yesterday, "CONCURRENTLY"))
    assert halted(db, leader, detached)
    return detached


def test_completions_go_on_while_partitions_are_made(db: Database, connect: Connect) -> None:
    """LIKE and ATTACH lock nothing that a completion needs."""
    leader, handler = connect(autocommit=False), connect()
    leader.execute("SET lock_timeout = '200ms'")
    first, second = run_one(db), run_one(db)
    before = partitions(db)
    assert 4 == answer(leader, MAKE, 16)

    assert (first.job,) == finish(db, [first])
    assert "" == complete(handler, second)
    leader.commit()

    assert before + 2 == partitions(db)
    assert ("succeeded",) == places(db, first.job)
    assert ("succeeded",) == places(db, second.job)


def test_partitions_are_made_while_a_handlers_transaction_is_open(
    db: Database, connect: Connect
) -> None:
    """A handler that has completed its job and goes on does not hold the upkeep up."""
    handler = connect(autocommit=False)
    lease = run_one(db)
    assert "" == complete(handler, lease)
    db.execute("SET lock_timeout = '200ms'")

    assert 4 == answer(db, MAKE, 16)
    assert 0 == answer(db, MAKE, 16)
    handler.commit()

    assert ("succeeded",) == places(db, lease.job)


def test_completions_go_on_while_a_partition_waits_to_be_detached(
    db: Database, connect: Connect, background: Background
) -> None:
    """DETACH CONCURRENTLY waits for an open transaction and lets all other sessions pass."""
    handler, leader = connect(autocommit=False), connect()
    first, second = run_one(db), run_one(db)
    before = partitions(db)
    assert "" == complete(handler, first)

    detached = detach_while_it_waits(db, leader, background)
    assert (second.job,) == finish(db, [second])
    handler.commit()

    detached.result()
    assert before - 1 == partitions(db)
    assert ("succeeded",) == places(db, first.job)
    assert ("succeeded",) == places(db, second.job)


def test_completions_go_on_while_a_reader_keeps_a_partition_from_being_detached(
    db: Database, connect: Connect, background: Background
) -> None:
    """A plain DETACH or DROP waits for a reader, and every completion waits behind it."""
    reader, leader = connect(autocommit=False), connect()
    lease = run_one(db)
    before = partitions(db)
    reader.execute("SELECT count(*) FROM fairlead.job_history")

    detached = detach_while_it_waits(db, leader, background)
    assert (lease.job,) == finish(db, [lease])
    reader.commit()

    detached.result()
    assert before - 1 == partitions(db)
    assert ("succeeded",) == places(db, lease.job)


def test_an_interrupted_detach_is_finalized_and_completions_go_on(
    db: Database, connect: Connect
) -> None:
    """The upkeep gives up after its lock_timeout, and its next run finishes the work."""
    handler, leader = connect(autocommit=False), connect()
    leader.execute("SET lock_timeout = '200ms'")
    first, second = run_one(db), run_one(db)
    assert "" == complete(handler, first)
    old = partition(db, -1)
    with pytest.raises(psycopg.errors.LockNotAvailable):
        detach(leader, old, "CONCURRENTLY")

    assert (second.job,) == finish(db, [second])
    handler.commit()
    detach(leader, old, "FINALIZE")
    leader.execute(f"DROP TABLE {old}".encode())

    assert ("succeeded",) == places(db, first.job)
    assert ("succeeded",) == places(db, second.job)
    assert 1 == answer(db, MAKE, 14)


def test_a_row_handed_back_below_a_floor_raised_meanwhile_is_claimed_below_it(
    db: Database, connect: Connect
) -> None:
    """Once a second a claim ignores the floor: otherwise such a row is never claimed."""
    worker = connect(autocommit=False)
    name, job = register(db), insert_one(db)
    dispatch(db, [job], vtag=50)
    lease = claim_one(db, name)
    other = insert_one(db)
    dispatch(db, [other], floor=100, vtag=150)
    assert "queued" == end(worker, lease, "released")

    late = insert_one(db)
    dispatch(db, [late], floor=200, vtag=250)
    worker.commit()

    assert (100,) == db.execute(
        "SELECT vtag FROM fairlead.work_queue WHERE job_id = %s", [job]
    ).fetchone()
    assert [late] == [each.job for each in claim(db, name)]
    assert {job, other} == {each.job for each in claim(db, name, below_floor=True)}


def test_a_row_that_is_handed_back_stays_above_the_floor(db: Database) -> None:
    """Handing a row back sets vtag = greatest(vtag, floor)."""
    lease = run_one(db)
    dispatch(db, [insert_one(db)], floor=5000, vtag=6000)

    assert "queued" == end(db, lease, "returned")

    assert lease.job == claim(db, register(db), limit=1)[0].job
