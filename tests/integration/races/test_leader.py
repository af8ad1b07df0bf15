"""One leader writes; what a deposed one sends changes nothing, however late it arrives."""

from collections.abc import Callable

import pytest

from fairlead.db.statements import load
from fairlead_scheduler.loop.store import LoopStore, renumber
from fairlead_scheduler.settings import SchedulerSettings
from tests.conftest import Connect
from tests.support.race import (
    Database,
    Outwait,
    answer,
    cancel,
    claim,
    claim_one,
    dispatch,
    end,
    finish,
    insert_one,
    lead,
    leading,
    let_expire,
    let_fall_due,
    let_overrun,
    places,
    promote,
    register,
    run_one,
    steal,
)

Write = Callable[[Database, int, int], object]


def _dispatch(db: Database, job: int, epoch: int) -> object:
    return dispatch(db, [job], epoch=epoch, floor=500) or None


def _steal(db: Database, _job: int, epoch: int) -> object:
    return steal(db, epoch=epoch, overdue_seconds=0) or None


def _expire(db: Database, _job: int, epoch: int) -> object:
    return answer(db, "_expire(%s, '-infinity', 100)", epoch) or None


def _recall(db: Database, job: int, epoch: int) -> object:
    return answer(db, "_recall(%s, ARRAY[%s]::bigint[])", epoch, job)


def _promote(db: Database, _job: int, epoch: int) -> object:
    return promote(db, epoch=epoch) or None


def _store(db: Database, epoch: int) -> LoopStore:
    return LoopStore(db, SchedulerSettings(database_url=db.info.dsn), epoch=epoch)


def _raise_tags(db: Database, job: int, epoch: int) -> object:
    return _store(db, epoch).raise_tags([job], 1) or None


def _renumber(db: Database, _job: int, epoch: int) -> object:
    return renumber(db, epoch=epoch) or None


def _due(db: Database) -> int:
    lease = run_one(db)
    assert "scheduled" == end(db, lease, "failed")
    let_fall_due(db, lease.job)
    return lease.job


def _pending(db: Database) -> int:
    return insert_one(db)


def _queued(db: Database) -> int:
    job = insert_one(db)
    assert (job,) == dispatch(db, [job], epoch=leading(db))
    return job


def _queued_at_a_large_tag(db: Database) -> int:
    job = insert_one(db)
    assert (job,) == dispatch(db, [job], epoch=leading(db), floor=1 << 61, vtag=1 << 61)
    return job


def _overdue(db: Database) -> int:
    lease = run_one(db)
    let_overrun(db, lease)
    return lease.job


def _expired(db: Database) -> int:
    job = insert_one(db)
    let_expire(db, job)
    return job


WRITES = pytest.mark.parametrize(
    ("prepare", "write", "before", "after"),
    [
        pytest.param(_pending, _dispatch, "pending", "queued", id="dispatch"),
        pytest.param(_overdue, _steal, "running", "queued", id="steal"),
        pytest.param(_expired, _expire, "pending", "expired", id="expire"),
        pytest.param(_due, _promote, "scheduled", "pending", id="promote"),
        pytest.param(_queued, _recall, "queued", "pending", id="recall"),
        pytest.param(_queued, _raise_tags, "queued", "queued", id="raise_tags"),
        pytest.param(_queued_at_a_large_tag, _renumber, "queued", "queued", id="renumber"),
    ],
)


@WRITES
def test_a_deposed_leader_changes_nothing(
    db: Database, prepare: Callable[[Database], int], write: Write, before: str, after: str
) -> None:
    """Every leader write reads its epoch in the same statement, and the new epoch's works."""
    deposed = lead(db)
    job = prepare(db)
    leader = lead(db)

    assert write(db, job, deposed) is None
    assert (before,) == places(db, job)
    assert write(db, job, leader) is not None
    assert (after,) == places(db, job)


@WRITES
def test_a_take_over_waits_for_the_running_write(
    db: Database,
    connect: Connect,
    outwait: Outwait,
    prepare: Callable[[Database], int],
    write: Write,
    before: str,
    after: str,
) -> None:
    """The epoch is read FOR KEY SHARE, so a new leader sees all that the old one wrote."""
    old, new = connect(autocommit=False), connect()
    epoch = lead(db)
    job = prepare(db)
    assert (before,) == places(db, job)
    assert write(old, job, epoch) is not None

    taken = outwait(lambda: (lead(new), places(new, job)), waiting=new, holder=old)

    assert (epoch + 1, (after,)) == taken


@WRITES
def test_a_write_that_waited_for_a_take_over_changes_nothing(
    db: Database,
    connect: Connect,
    outwait: Outwait,
    prepare: Callable[[Database], int],
    write: Write,
    before: str,
    after: str,
) -> None:
    """Read without the lock, a leader that was deposed a moment ago still writes."""
    old, new = connect(), connect(autocommit=False)
    epoch = lead(db)
    job = prepare(db)
    assert epoch + 1 == lead(new)

    written = outwait(lambda: write(old, job, epoch), waiting=old, holder=new)

    assert written is None
    assert (before,) == places(db, job)
    assert write(db, job, epoch + 1) is not None
    assert (after,) == places(db, job)


def test_of_two_candidates_one_takes_over(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The second candidate waits for the first and finds a lease in force."""
    first, second = connect(autocommit=False), connect()
    assert take_over(first, "first")

    taken = outwait(lambda: take_over(second, "second"), waiting=second, holder=first)

    assert not taken
    assert (1, "first") == db.execute(
        "SELECT epoch, holder FROM fairlead.leaders WHERE role = 'scheduler'"
    ).fetchone()


def take_over(db: Database, holder: str) -> bool:
    """Try to take the lead; tell whether it was had."""
    row = db.execute(
        load("fairlead_scheduler.leadership", "acquire"),
        {"holder": holder, "lease_seconds": 3, "release": ""},
    ).fetchone()
    assert row is not None
    return row[0] is not None


def test_a_deposed_leader_does_not_move_the_floor(db: Database) -> None:
    """It is raised by dispatches and lowered below what came back, by the leader alone."""
    deposed = lead(db)
    leader = lead(db)
    dispatch(db, [insert_one(db)], epoch=leader, floor=300)

    dispatch(db, [insert_one(db)], epoch=deposed, floor=500)
    _store(db, deposed).lower_floor("default", 0, 100)

    assert (300,) == db.execute("SELECT vtag FROM fairlead.claim_floors").fetchone()
    _store(db, leader).lower_floor("default", 0, 400)
    assert (300,) == db.execute("SELECT vtag FROM fairlead.claim_floors").fetchone()
    _store(db, leader).lower_floor("default", 0, 100)
    assert (100,) == db.execute("SELECT vtag FROM fairlead.claim_floors").fetchone()


def test_a_recall_takes_nothing_that_is_being_claimed(db: Database, connect: Connect) -> None:
    """What runs finishes: a recall skips a row that a claim holds."""
    worker = connect(autocommit=False)
    job, name = _queued(db), register(db)
    lease = claim_one(worker, name)

    assert _recall(db, job, 0) is None
    worker.commit()

    assert _recall(db, job, 0) is None
    assert (job,) == finish(db, [lease])


def test_a_claim_takes_nothing_that_is_being_recalled(db: Database, connect: Connect) -> None:
    """A recalled job is pending, and no worker runs it until it is dispatched again."""
    leader = connect(autocommit=False)
    job, name = _queued(db), register(db)
    assert job == _recall(leader, job, 0)

    assert () == claim(db, name)
    leader.commit()

    assert ("pending",) == places(db, job)
    assert (job,) == dispatch(db, [job])


def test_a_pause_during_a_dispatch_recalls_what_was_dispatched(
    db: Database, connect: Connect
) -> None:
    """A recall that comes too early skips the job; the next one takes it back."""
    leader = connect(autocommit=False)
    job = insert_one(db)
    assert (job,) == dispatch(leader, [job])
    answer(db, "pause('default')")

    assert _recall(db, job, 0) is None
    leader.commit()

    assert job == _recall(db, job, 0)
    assert ("pending",) == places(db, job)


def test_a_cancel_waits_for_a_recall_and_ends_the_job(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """A recalled job is pending, and a pending job is cancelled at once."""
    leader, user = connect(autocommit=False), connect()
    job = _queued(db)
    assert job == _recall(leader, job, 0)

    cancelled = outwait(lambda: cancel(user, job), waiting=user, holder=leader)

    assert "cancelled" == cancelled
    assert ("cancelled",) == places(db, job)


def test_a_recalled_job_whose_cancellation_waits_ends_cancelled(
    db: Database, connect: Connect
) -> None:
    """A request made while a claim held the row is kept when that claim is rolled back."""
    worker = connect(autocommit=False)
    job, name = _queued(db), register(db)
    claim_one(worker, name)
    assert "requested" == cancel(db, job)
    worker.rollback()

    assert _recall(db, job, 0) is None

    assert ("cancelled",) == places(db, job)
    assert ([job],) == db.execute(
        "SELECT ended FROM fairlead.receipts WHERE ended IS NOT NULL"
    ).fetchone()


def test_of_two_controllers_of_the_autoscaler_the_later_one_writes(db: Database) -> None:
    """Each begins an epoch when it acquires the Lease, and the former one's is over."""
    former = answer(db, "_begin_autoscaler_epoch('a', '')")
    assert answer(db, "_autoscaler_leads(%s)", former) is True

    later = answer(db, "_begin_autoscaler_epoch('b', '')")

    assert [False, True] == [
        answer(db, "_autoscaler_leads(%s)", epoch) for epoch in (former, later)
    ]
