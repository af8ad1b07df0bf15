"""What an asynchronous standby that is promoted without the last commits gives out again.

The processes of before live on: workers that claimed from the lost tail, a leader and a worker
that are in it, and a leader whose term the new primary knows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.fail_over import replicated
from tests.support.race import (
    STALE,
    Database,
    Lease,
    answer,
    claim,
    complete,
    dispatch,
    finish,
    hand_back,
    insert,
    places,
    register,
    rows,
)

JOBS = 10


@dataclass(frozen=True, slots=True)
class FailedOver:
    """The new primary, and what processes hold from before."""

    db: Database
    worker: int
    epoch: int
    """The last one that the new primary knows."""
    lost_epoch: int
    lost_worker: int
    lost: tuple[Lease, ...]
    """Attempts whose claims the new primary does not know."""
    cursor: int
    """The last place of the lane that a leader had read, of a job that is lost."""


@pytest.fixture(scope="module")
def failed_over(migrated_data: Path) -> Iterator[FailedOver]:
    """Yield a promoted standby that lacks claims, a registration and a leader's take-over."""
    with replicated(migrated_data) as pair:
        former = pair.primary
        epoch, worker = acquire(former, "first"), register(former)
        assert JOBS == len(dispatch(former, insert(former, count=JOBS), epoch=epoch))
        assert 1 == len(claim(former, worker, limit=1))
        pair.cut()
        for sequence in ("tokens", "worker_leases_id_seq", "places"):
            pair.level(sequence)

        lost = claim(former, worker, limit=5)
        lost_worker = register(former)
        cursor = place_of(former, insert(former, count=JOBS)[-1])
        former.execute("SELECT fairlead._release_leadership(%s)", [epoch])
        lost_epoch = acquire(former, "second")
        pair.promote()

        yield FailedOver(pair.standby, worker, epoch, lost_epoch, lost_worker, lost, cursor)


def place_of(db: Database, job: int) -> int:
    """Return a job's place in its lane."""
    row = db.execute("SELECT seq FROM fairlead.jobs WHERE id = %s", [job]).fetchone()
    assert row is not None
    return int(row[0])


def acquire(db: Database, holder: str) -> int:
    """Acquire the scheduler's lease for a moment; return the epoch."""
    epoch = answer(db, "_acquire_leadership(%s, 0.1, '')", holder)
    assert isinstance(epoch, int)
    return epoch


def test_no_attempt_has_a_token_of_the_lost_tail(failed_over: FailedOver) -> None:
    """The same jobs are claimed again, in the same order, with greater tokens."""
    db, lost = failed_over.db, failed_over.lost

    held = claim(db, failed_over.worker, limit=5)

    assert [lease.job for lease in lost] == [lease.job for lease in held]
    assert max(lease.token for lease in lost) < min(lease.token for lease in held)
    assert () == finish(db, lost)
    assert {"stale"} == {hand_back(db, lease, "failed") for lease in lost}
    assert {STALE} == {complete(db, lease) for lease in lost}
    assert {("running",)} == {places(db, lease.job) for lease in held}
    assert tuple(lease.job for lease in held) == finish(db, held)


def test_no_leader_has_an_epoch_of_the_lost_tail(failed_over: FailedOver) -> None:
    """One that leads by the new primary's row has to begin again, too: it knows too much."""
    db, known, lost = failed_over.db, failed_over.epoch, failed_over.lost_epoch
    (job,) = insert(db)

    assert () == dispatch(db, [job], epoch=known)
    assert answer(db, "_renew_leadership(%s, 60)", known) is None
    begun = acquire(db, "first")

    assert known < lost < begun
    assert () == dispatch(db, [job], epoch=lost)
    assert answer(db, "_renew_leadership(%s, 60)", lost) is None
    assert (job,) == dispatch(db, [job], epoch=begun)


def test_who_has_a_cursor_of_the_lost_tail_leads_no_more(failed_over: FailedOver) -> None:
    """Places are given again: a leader that had read further would pass a new job by.

    Nobody leads by what a leader of before has read; the next one begins at the heads.
    """
    db = failed_over.db
    (job,) = insert(db)

    assert place_of(db, job) <= failed_over.cursor
    assert job not in behind(db, failed_over.cursor)
    assert [None, None] == [
        answer(db, "_renew_leadership(%s, 60)", epoch)
        for epoch in (failed_over.epoch, failed_over.lost_epoch)
    ]
    assert job in behind(db, -1)
    assert (job,) == dispatch(db, [job], epoch=acquire(db, "first"))


def behind(db: Database, cursor: int) -> list[int]:
    """Return the jobs of the default lane behind a cursor, as a leader reads them."""
    values = {
        "queues": ["default"],
        "tenants": [""],
        "ranks": "{0}",
        "from_seqs": [cursor + 1],
        "counts": [100],
    }
    (row,) = rows(db, "fairlead_scheduler.loop", "refill", values)
    return list(row["ids"] or ())


def test_no_controller_of_the_autoscaler_outlasts_a_fail_over(failed_over: FailedOver) -> None:
    """Its epochs are fenced as the scheduler's are."""
    db = failed_over.db
    known = answer(db, "_autoscaler_leads(0)")

    begun = answer(db, "_begin_autoscaler_epoch('me', '')")

    assert known is False
    assert isinstance(begun, int)
    assert answer(db, "_autoscaler_leads(%s)", begun) is True


def test_no_worker_has_an_id_of_the_lost_tail(failed_over: FailedOver) -> None:
    """A worker whose registration is lost is told so, and renews no other's lease."""
    db, lost = failed_over.db, failed_over.lost_worker

    registered = register(db)

    assert lost < registered
    assert answer(db, "renew_worker(%s)", lost) is None
    assert answer(db, "renew_worker(%s)", registered) is not None


def test_numbers_stay_small_until_a_fail_over(db: Database) -> None:
    """What people read in logs of a server that was never promoted has no more digits."""
    worker, epoch = register(db), acquire(db, "first")
    assert len(dispatch(db, insert(db, count=1), epoch=epoch))

    (lease,) = claim(db, worker)

    assert max(worker, epoch, lease.token) < 1000


def test_tokens_grow_on_after_an_upgrade_that_begins_at_the_first_timeline(
    db: Database,
) -> None:
    """pg_upgrade does: the leader raises the sequence, and is fenced by its new epoch."""
    db.execute("UPDATE fairlead.leaders SET timeline = 3, epoch = 2000000000007")
    before = acquire(db, "first")
    assert len(dispatch(db, insert(db, count=1), epoch=before))

    (lease,) = claim(db, register(db))

    assert 2000000000008 == before
    assert lease.token > 2000000000000
