"""Completions never wait for the upkeep of partitions, and no returned row is out of reach."""

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


def age(db: Database, days: int) -> str:
    """Make yesterday's partition one of long ago; return its name."""
    name = f"fairlead.job_history_succeeded_2001010{days}"
    db.execute(f"ALTER TABLE {partition(db, -1)} RENAME TO {name.partition('.')[2]}".encode())
    return name


def drop(leader: Database) -> list[tuple[str, str]]:
    """Do the next step with partitions past their retention."""
    rows = leader.execute("SELECT * FROM fairlead.drop_history_partitions(7, 30)").fetchall()
    return [(f"fairlead.{name}", str(step)) for name, step in rows]


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


def test_completions_wait_no_longer_than_a_drop_does(
    db: Database, connect: Connect, background: Background
) -> None:
    """A drop waits for an open completion, and others behind it, until its timeout."""
    handler, worker, leader = connect(autocommit=False), connect(), connect()
    first, second = run_one(db), run_one(db)
    old = age(db, 1)
    assert "" == complete(handler, first)

    for _ in range(3):
        dropped = background(lambda: drop(leader))
        assert [(old, "locked")] == dropped.result(10)
    assert (second.job,) == finish(worker, [second])
    handler.commit()

    assert [(old, "dropped")] == drop(leader)
    assert ("succeeded",) == places(db, first.job)
    assert ("succeeded",) == places(db, second.job)


def test_completions_go_on_while_a_reader_keeps_a_partition_from_being_dropped(
    db: Database, connect: Connect
) -> None:
    """The drop gives up, and is tried again later."""
    reader, leader = connect(autocommit=False), connect()
    lease = run_one(db)
    before, old = partitions(db), age(db, 1)
    reader.execute("SELECT count(*) FROM fairlead.job_history")

    assert [(old, "locked")] == drop(leader)
    assert (lease.job,) == finish(db, [lease])
    reader.commit()

    assert [(old, "dropped")] == drop(leader)
    assert before - 1 == partitions(db)
    assert ("succeeded",) == places(db, lease.job)


def test_completions_go_on_while_an_old_partition_is_emptied(
    db: Database, connect: Connect
) -> None:
    """Emptying locks the old partition and nothing that a completion needs."""
    leader = connect(autocommit=False)
    first, second = run_one(db), run_one(db)
    assert (first.job,) == finish(db, [first])
    db.execute(
        "UPDATE fairlead.job_history SET finished_at = finished_at - interval '1 day'"
        " WHERE id = %s",
        [first.job],
    )
    old = age(db, 1)

    assert [(old, "emptied")] == drop(leader)
    assert (second.job,) == finish(db, [second])
    leader.commit()

    assert [(old, "dropped")] == drop(leader)
    leader.commit()


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
