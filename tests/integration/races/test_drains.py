"""A mark and a claim: whichever comes first, a pod that is empty claims nothing."""

from functools import partial

import pytest

from tests.conftest import Background, Connect
from tests.support.drains import (
    drained_at,
    lift,
    mark,
    register,
    renew,
    say_drained,
    undrain,
)
from tests.support.race import (
    Database,
    Outwait,
    claim,
    claim_one,
    finish,
    let_lapse,
    places,
    queue_one,
)

TRIES = 400


def put_back(db: Database) -> None:
    """Make the only row of work_queue unclaimed, and the pod unmarked."""
    db.execute("UPDATE fairlead.work_queue SET worker = NULL, token = NULL, claimed_at = NULL")
    db.execute("DELETE FROM fairlead.pod_drains")
    db.execute("UPDATE fairlead.worker_leases SET draining = false")


def test_a_mark_and_a_claim_never_both_win(
    db: Database, connect: Connect, background: Background
) -> None:
    """A job that was claimed after drained_at was written must not exist."""
    worker, job = register(db), queue_one(db)
    claiming, renewing = connect(), connect()
    claims = drains = both = 0
    for turn in range(TRIES):
        put_back(db)
        mark(db, call=False)
        if turn % 4 == 3:
            renew(renewing, worker)
        claimed = background(partial(claim, claiming, worker))
        if turn % 4 == 0:
            claimed.result()
        renew(renewing, worker)
        empty = say_drained(renewing, worker)
        won = len(claimed.result()) + len(claim(claiming, worker)) > 0
        claims, drains, both = claims + won, drains + empty, both + (won and empty)
        assert (drained_at(db) is not None) == empty
        assert (("running",) if won else ("queued",)) == places(db, job)

    assert 0 == both
    assert TRIES == claims + drains
    assert TRIES // 4 <= min(claims, drains)


def test_a_claim_waits_for_the_renewal_that_saw_the_mark_and_gets_nothing(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The claim locks its worker's row, so that draining cannot be missed."""
    parent, child = connect(autocommit=False), connect()
    worker, job = register(db), queue_one(db)
    mark(db)
    assert (True, True, False) == renew(parent, worker)

    claimed = outwait(partial(claim, child, worker), waiting=child, holder=parent)

    assert () == claimed
    assert say_drained(db, worker)
    assert ("queued",) == places(db, job)


def test_a_renewal_waits_for_the_claim_before_it_and_the_worker_is_not_empty(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """What a child has claimed as the mark came runs to its end; then the worker is empty."""
    parent, child = connect(), connect(autocommit=False)
    worker = register(db)
    queue_one(db)
    mark(db)
    lease = claim_one(child, worker)

    assert (True, True, False) == outwait(
        partial(renew, parent, worker), waiting=parent, holder=child
    )
    while_it_runs = say_drained(parent, worker)
    finish(db, [lease])

    assert (False, True) == (while_it_runs, say_drained(parent, worker))
    assert (True, True, True) == renew(parent, worker)


def test_a_worker_without_a_renewal_since_the_mark_is_not_empty(db: Database) -> None:
    """It might still claim: it has not seen the mark yet."""
    worker = register(db)
    mark(db)

    assert not say_drained(db, worker)
    assert drained_at(db) is None


def test_a_pod_with_two_workers_is_empty_when_both_are(db: Database) -> None:
    """Else the pod would go while the other one is at work."""
    idle, busy = register(db), register(db)
    queue_one(db)
    mark(db)
    renew(db, idle)
    lease = claim_one(db, busy)
    unaware = say_drained(db, idle)
    renew(db, busy)
    at_work = say_drained(db, idle)
    finish(db, [lease])

    assert (False, False) == (unaware, at_work)
    assert say_drained(db, idle)
    assert (True, True, True) == renew(db, busy)


def test_a_worker_that_is_gone_does_not_keep_its_pod_from_being_empty(db: Database) -> None:
    """Its container has started again: what it held is taken back, and runs elsewhere."""
    gone = register(db)
    queue_one(db)
    claim_one(db, gone)
    worker = register(db)
    mark(db)
    renew(db, worker)
    assert not say_drained(db, worker)
    let_lapse(db, gone)

    assert say_drained(db, worker)


@pytest.fixture
def lapsing(db: Database, connect: Connect) -> tuple[int, Database]:
    """Return a drained worker whose mark has lapsed, and a leader that began before that."""
    leader = connect(autocommit=False)
    worker = register(db)
    mark(db)
    renew(db, worker)
    assert say_drained(db, worker)
    leader.execute("SELECT now()")  # which stands still from here on
    db.execute("UPDATE fairlead.pod_drains SET drain_until = clock_timestamp()")
    assert (True, False, True) == renew(db, worker)
    return worker, leader


def test_a_mark_that_is_prolonged_too_late_is_a_new_one(
    db: Database, lapsing: tuple[int, Database]
) -> None:
    """Its worker has begun to claim by then, and is not empty under it."""
    worker, leader = lapsing
    assert undrain(db, worker)

    mark(leader)
    leader.commit()

    assert drained_at(db) is None
    queue_one(db)
    assert 1 == len(claim(db, worker))


def test_a_mark_that_is_prolonged_in_time_keeps_its_worker_from_claiming(
    db: Database, lapsing: tuple[int, Database]
) -> None:
    """The worker takes its word that the pod is empty back before it claims, or not at all."""
    worker, leader = lapsing
    mark(leader)

    assert not undrain(db, worker)
    leader.commit()
    assert not undrain(db, worker)

    queue_one(db)
    assert () == claim(db, worker)
    assert drained_at(db) is not None


def test_a_mark_that_is_taken_away_frees_its_worker(db: Database) -> None:
    """Demand has come back: the pod works on, and a later mark begins anew."""
    worker = register(db)
    mark(db)
    renew(db, worker)
    assert say_drained(db, worker)
    lift(db)

    assert (True, False, False) == renew(db, worker)
    assert undrain(db, worker)

    queue_one(db)
    assert 1 == len(claim(db, worker))
    mark(db)
    assert (True, True, False) == renew(db, worker)


def test_a_container_that_restarts_in_a_marked_pod_claims_nothing(db: Database) -> None:
    """The mark belongs to the pod, with what workers reported under it, until it lapses."""
    queue_one(db)
    mark(db)
    assert () == claim(db, register(db))
    mark(db, holds="-1 second")

    assert 1 == len(claim(db, register(db)))
