"""The fencing token decides whose attempt it is: an old one changes nothing and says so."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from tests.conftest import Background, Connect
from tests.support.race import (
    STALE,
    Database,
    Lease,
    Outwait,
    answer,
    cancel,
    claim,
    claim_one,
    complete,
    dispatch,
    end,
    finish,
    halted,
    insert,
    insert_one,
    lead,
    let_overrun,
    places,
    register,
    run_one,
    steal,
)


def finish_alone(db: Database, lease: Lease) -> str:
    """Finish a job as a batch of one; answer as `complete` does."""
    return "" if finish(db, [lease]) else STALE


def test_the_steal_sweep_does_not_wait_for_a_handler_that_has_completed_its_job(
    db: Database, connect: Connect
) -> None:
    """Sweeps skip what is locked: a plain sweep blocks on a handler's transaction."""
    handler, leader = connect(autocommit=False), connect()
    done, hung = run_one(db), run_one(db)
    let_overrun(db, done)
    let_overrun(db, hung)
    assert "" == complete(handler, done)

    stolen = steal(leader, overdue_seconds=0)
    handler.commit()

    assert (hung.job,) == stolen
    assert ("succeeded",) == places(db, done.job)
    assert ("queued",) == places(db, hung.job)


def test_a_handler_that_rolls_its_completion_back_loses_the_job_to_the_sweep(
    db: Database, connect: Connect
) -> None:
    """A completion that was not committed did not happen."""
    handler = connect(autocommit=False)
    lease = run_one(db)
    let_overrun(db, lease)
    assert "" == complete(handler, lease)
    handler.rollback()

    assert (lease.job,) == steal(db, overdue_seconds=0)
    assert STALE == complete(db, lease)
    assert ("queued",) == places(db, lease.job)


def test_a_completion_that_waited_for_a_steal_is_refused(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The token is looked at again after the wait, so a zombie's completion changes nothing."""
    leader, handler = connect(autocommit=False), connect()
    lease = run_one(db)
    let_overrun(db, lease)
    assert (lease.job,) == steal(leader, overdue_seconds=0)

    refused = outwait(lambda: complete(handler, lease), waiting=handler, holder=leader)

    assert STALE == refused
    assert ("queued",) == places(db, lease.job)


def test_a_batch_that_waited_for_a_steal_ends_only_what_it_still_holds(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The batch's other jobs are finished, and what comes back says which token was stale."""
    leader, worker = connect(autocommit=False), connect()
    kept, stolen = run_one(db), run_one(db)
    let_overrun(db, stolen)
    assert (stolen.job,) == steal(leader, overdue_seconds=0)

    finished = outwait(lambda: finish(worker, [kept, stolen]), waiting=worker, holder=leader)

    assert (kept.job,) == finished
    assert ("succeeded",) == places(db, kept.job)
    assert ("queued",) == places(db, stolen.job)


def test_a_zombies_completion_never_lands_on_the_next_attempt(db: Database) -> None:
    """A write with an old token changes nothing, also while the job runs again."""
    old = run_one(db)
    let_overrun(db, old)
    assert (old.job,) == steal(db, overdue_seconds=0)
    new = claim_one(db, register(db))
    assert new.token > old.token

    assert () == finish(db, [old])
    assert STALE == complete(db, old)
    assert "stale" == end(db, old, "failed")
    assert ("running",) == places(db, old.job)
    assert (new.job,) == finish(db, [old, new])
    assert ("succeeded",) == places(db, old.job)


@pytest.mark.parametrize("first", [complete, finish_alone])
@pytest.mark.parametrize("again", [complete, finish_alone])
def test_a_second_completion_waits_for_the_first_and_is_refused(
    db: Database,
    connect: Connect,
    outwait: Outwait,
    first: Callable[[Database, Lease], str],
    again: Callable[[Database, Lease], str],
) -> None:
    """A repeat raises; one in a batch, as after a lost connection, answers nothing."""
    handler, worker = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "" == first(handler, lease)

    repeated = outwait(lambda: again(worker, lease), waiting=worker, holder=handler)

    assert STALE == repeated
    assert ("succeeded",) == places(db, lease.job)


def test_a_handlers_open_transaction_is_never_taken_for_a_lost_lease(
    db: Database, connect: Connect
) -> None:
    """Only a token without a lease is stale; a lease that a session has locked is locked."""
    handler = connect(autocommit=False)
    lease = run_one(db)
    handler.execute(
        "SELECT fairlead.extend(%s, %s, interval '1 minute')", [lease.job, lease.token]
    )

    assert "locked" == end(db, lease, "crashed")
    handler.rollback()

    assert "queued" == end(db, lease, "crashed")
    assert ("queued",) == places(db, lease.job)


def test_a_caller_that_may_not_wait_learns_that_the_job_is_locked(
    db: Database, connect: Connect
) -> None:
    """With skip_locked a held job is left as it is, and the answer says so."""
    user = connect(autocommit=False)
    lease = run_one(db)
    assert "requested" == cancel(user, lease.job)

    assert "locked" == end(db, lease, "released", patient=False)
    user.commit()

    assert "cancelled" == end(db, lease, "released", patient=False)
    assert "stale" == end(db, lease, "released", patient=False)


def test_a_sweep_answers_nothing_about_what_it_skipped(db: Database, connect: Connect) -> None:
    """What the steal sweep answers is what it changed."""
    user = connect(autocommit=False)
    lease = run_one(db)
    let_overrun(db, lease)
    assert "requested" == cancel(user, lease.job)

    assert () == steal(db, overdue_seconds=0)
    assert ("running",) == places(db, lease.job)


def test_a_dispatch_passes_over_a_job_that_is_queued_already(
    db: Database, connect: Connect, background: Background
) -> None:
    """A dispatch of a running job changes nothing, and does not wait for its row lock."""
    handler, leader = connect(autocommit=False), connect()
    lease = run_one(db)
    handler.execute(
        "SELECT fairlead.extend(%s, %s, interval '1 minute')", [lease.job, lease.token]
    )

    moved = background(lambda: dispatch(leader, [lease.job]))
    waited = halted(db, leader, moved)
    handler.commit()

    assert (False, ()) == (waited, moved.result())
    assert ("running",) == places(db, lease.job)


def test_a_dispatch_of_a_job_that_is_being_failed_passes_it_over(
    db: Database, connect: Connect, background: Background
) -> None:
    """Without the lock a retried job runs before its back-off is over."""
    worker, leader = connect(autocommit=False), connect()
    lease = run_one(db)
    assert "scheduled" == end(worker, lease, "failed")

    moved = background(lambda: dispatch(leader, [lease.job]))
    waited = halted(db, leader, moved)
    worker.commit()

    assert (False, ()) == (waited, moved.result())
    assert ("scheduled",) == places(db, lease.job)


def test_a_dispatch_passes_over_a_job_that_waits_for_its_back_off(db: Database) -> None:
    """What the leader remembers of a job may be old; only a pending one is dispatched."""
    lease = run_one(db)
    assert "scheduled" == end(db, lease, "failed")

    assert () == dispatch(db, [lease.job])
    assert ("scheduled",) == places(db, lease.job)


def test_a_dispatch_that_began_before_a_failure_sees_the_back_off(
    db: Database, connect: Connect, background: Background
) -> None:
    """The job is read as it is when it is locked, not as it was when the statement began."""
    other, leader = connect(autocommit=False), connect()
    lease = run_one(db)
    other.execute("SELECT FROM fairlead.leaders FOR UPDATE")

    moved = background(lambda: dispatch(leader, [lease.job]))
    assert halted(db, leader, moved)
    assert "scheduled" == end(db, lease, "failed")
    other.rollback()

    assert () == moved.result()
    assert ("scheduled",) == places(db, lease.job)


def test_each_job_of_a_batch_has_a_token_of_its_own_and_tokens_grow(db: Database) -> None:
    """Fencing tokens are drawn per claim and only grow."""
    worker = register(db)
    jobs = insert(db, count=3)
    dispatch(db, jobs)
    first = [lease.token for lease in claim(db, worker)]
    dispatch(db, [insert_one(db)])

    (last,) = claim(db, worker)

    assert 3 == len(set(first))
    assert max(first) < last.token


def test_a_steal_by_a_leader_that_was_deposed_changes_nothing(db: Database) -> None:
    """Every leader write reads its epoch."""
    lease = run_one(db)
    let_overrun(db, lease)
    lead(db)

    assert () == steal(db, overdue_seconds=0)
    assert ("running",) == places(db, lease.job)


def test_a_dispatch_and_a_batch_that_finishes_the_same_job_never_deadlock(
    db: Database, connect: Connect, background: Background
) -> None:
    """A dispatch holds jobs rows, so it may wait for no row that a completion holds."""
    user, worker, leader = connect(autocommit=False), connect(), connect()
    first, second = run_one(db), run_one(db)
    assert first.job == answer(user, "retry(%s)", first.job)
    finished = background(lambda: finish(worker, [first, second]))
    assert halted(db, worker, finished)

    moved = background(lambda: dispatch(leader, [second.job]))
    waited = halted(db, leader, moved)
    user.commit()

    assert (False, ()) == (waited, moved.result())
    assert (first.job, second.job) == finished.result()


def test_an_extension_goes_no_further_than_the_longest_timeout_after_the_claim(
    db: Database,
) -> None:
    """Nor back: what the worker has allowed for, beyond it, stays."""
    lease = run_one(db)
    query = "SELECT fairlead.extend(%s, %s, %s::interval) - claimed_at FROM fairlead.work_queue"

    assert (timedelta(hours=1),) == db.execute(
        query, [lease.job, lease.token, "30 days"]
    ).fetchone()

    db.execute("UPDATE fairlead.work_queue SET deadline = claimed_at + interval '2 hours'")
    assert (timedelta(hours=2),) == db.execute(
        query, [lease.job, lease.token, "3 hours"]
    ).fetchone()
