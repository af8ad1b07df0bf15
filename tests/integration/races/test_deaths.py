"""A worker's death and its claims exclude each other, and deaths are counted apart."""

import pytest

from fairlead.db.statements import load
from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    Lease,
    Outwait,
    answer,
    claim,
    claim_one,
    dispatch,
    end,
    finish,
    halted,
    insert,
    insert_one,
    let_fall_due,
    let_lapse,
    mark_dead,
    places,
    promote,
    register,
    run_one,
    steal,
)


def renew(db: Database, worker: int) -> bool:
    """Renew a worker's lease; tell whether it lives."""
    row = db.execute(
        load("fairlead_worker.parent", "renew"),
        {
            "worker": worker,
            "lease_seconds": 15,
            "slots": 1,
            "beside": 0,
            "crash_breakers": None,
            "evictable_kinds": None,
            "ids": [],
            "tokens": [],
        },
    ).fetchone()
    return row is not None


def counts(db: Database, job: int) -> tuple[int, ...]:
    """Return the attempts, crashes, losses and lone deaths of an unfinished job."""
    row = db.execute(
        "SELECT attempts, crashes, losses, lone_deaths FROM fairlead.jobs WHERE id = %s", [job]
    ).fetchone()
    return tuple(row or ())


def next_attempt(db: Database) -> Lease:
    """Claim the only job there is for a new worker."""
    return claim_one(db, register(db))


def test_a_claim_waits_for_its_workers_death_and_gets_nothing(
    db: Database, connect: Connect, outwait: Outwait
) -> None:
    """The claim locks its worker's live row FOR SHARE, so that a death cannot be missed."""
    leader, worker = connect(autocommit=False), connect()
    name, job = register(db), insert_one(db)
    dispatch(db, [job])
    let_lapse(db, name)
    assert (name,) == mark_dead(leader)

    claimed = outwait(lambda: claim(worker, name), waiting=worker, holder=leader)

    assert () == claimed
    assert ("queued",) == places(db, job)


def test_a_worker_is_not_marked_dead_under_its_claim_and_nothing_stays_with_the_dead(
    db: Database, connect: Connect
) -> None:
    """The sweeper skips a worker that claims; then it marks it dead and steals all it took."""
    worker = connect(autocommit=False)
    name, job = register(db), insert_one(db)
    dispatch(db, [job])
    let_lapse(db, name)
    claim_one(worker, name)

    assert () == mark_dead(db)
    worker.commit()

    assert (name,) == mark_dead(db)
    assert (job,) == steal(db)
    assert ("queued",) == places(db, job)


def test_a_death_by_hand_waits_for_a_claim_and_finds_what_it_took(
    db: Database, connect: Connect, background: Background
) -> None:
    """Who marks a worker dead and hands its jobs back at once sees those of a running claim."""
    worker, person = connect(autocommit=False), connect()
    name, job = register(db), insert_one(db)
    dispatch(db, [job])
    claim_one(worker, name)

    def deregister() -> tuple[int, ...]:
        person.execute(load("fairlead_worker.parent", "deregister"), {"workers": [name]})
        return steal(person)

    stolen = background(deregister)
    assert halted(db, person, stolen)
    worker.commit()

    assert (job,) == stolen.result()
    assert ("queued",) == places(db, job)


def test_a_renewal_that_comes_before_the_sweep_keeps_the_worker_alive(
    db: Database, connect: Connect, background: Background
) -> None:
    """A lapsed lease may be renewed until the worker is marked dead, and never after that."""
    worker, leader = connect(autocommit=False), connect(autocommit=False)
    first, second = register(db), register(db)
    let_lapse(db, first)
    let_lapse(db, second)
    assert renew(worker, first)
    assert (second,) == mark_dead(leader)

    renewed = background(lambda: renew(db, second))
    assert halted(worker, db, renewed)
    worker.commit()
    leader.commit()

    assert not renewed.result()
    assert () == mark_dead(db)


def test_a_renewal_does_not_wait_for_the_disk(db: Database, connect: Connect) -> None:
    """Losing a renewal in a crash does no harm; only its own commit is spared the wait."""
    worker = connect(autocommit=False)
    worker.execute("set synchronous_commit = on")
    worker.commit()
    assert renew(worker, register(db))
    assert ("off",) == worker.execute("show synchronous_commit").fetchone()

    worker.commit()

    assert ("on",) == worker.execute("show synchronous_commit").fetchone()


def test_two_claims_of_one_worker_do_not_wait_for_each_other(
    db: Database, connect: Connect
) -> None:
    """Claims share their worker's row and skip each other's jobs."""
    first, second = connect(autocommit=False), connect(autocommit=False)
    name, jobs = register(db), insert(db, count=2)
    dispatch(db, jobs)

    (one,) = claim(first, name, limit=1)
    (two,) = claim(second, name, limit=1)

    assert set(jobs) == {one.job, two.job}


def test_a_job_that_was_lost_once_runs_beside_others_again(db: Database) -> None:
    """Jobs lost with a whole worker are losses, and those are not the job's fault."""
    lease = run_one(db)
    db.execute("UPDATE fairlead.worker_leases SET lease_until = now() - interval '1 second'")
    mark_dead(db)

    assert (lease.job,) == steal(db)

    assert (0, 0, 1, 0) == counts(db, lease.job)
    again = next_attempt(db)
    assert (1, False) == (again.attempt, again.alone)


@pytest.mark.parametrize(("ended_as", "deaths"), [("crashed", 1), ("lost", 3)])
def test_a_job_with_deaths_behind_it_runs_alone(
    db: Database, ended_as: str, deaths: int
) -> None:
    """A job with one crash or three losses behind it runs next alone."""
    lease = run_one(db)
    ran_alone: list[bool] = []
    for _ in range(deaths):
        ran_alone.append(lease.alone)
        assert "queued" == end(db, lease, ended_as)
        lease = next_attempt(db)

    assert [False] * deaths == ran_alone
    assert lease.alone
    assert "queued" == end(db, lease, "returned")
    assert next_attempt(db).alone


@pytest.mark.parametrize("ended_as", ["failed", "snoozed", "released"])
def test_an_attempt_alone_that_did_not_die_is_the_last_one_alone(
    db: Database, ended_as: str
) -> None:
    """A job with one crash behind it runs *next* alone, and not for ever."""
    lease = run_one(db)
    assert "queued" == end(db, lease, "crashed")
    lease = next_attempt(db)
    assert lease.alone

    end(db, lease, ended_as)

    let_fall_due(db, lease.job)
    dispatch(db, promote(db))
    assert not next_attempt(db).alone


def test_losses_that_an_attempt_alone_has_explained_count_no_more(db: Database) -> None:
    """After an attempt alone it takes three more losses, or one crash."""
    lease = run_one(db)
    ran_alone: list[bool] = []
    for ended_as in ("lost", "lost", "lost", "released", "lost", "lost", "lost", "returned"):
        end(db, lease, ended_as)
        lease = next_attempt(db)
        ran_alone.append(lease.alone)

    assert [False, False, True, False, False, False, True, True] == ran_alone


def test_a_job_that_dies_alone_three_times_is_quarantined(db: Database) -> None:
    """Only a death alone counts towards quarantine, and deaths use up no attempt."""
    lease = run_one(db)
    for _ in range(3):
        assert "queued" == end(db, lease, "crashed")
        lease = next_attempt(db)
        assert 1 == lease.attempt
    assert (0, 3, 0, 2) == counts(db, lease.job)

    assert "failed" == end(db, lease, "crashed")

    assert ("failed",) == places(db, lease.job)
    assert (
        4,
        0,
        1,
        "quarantined: the process that ran it alone died 3 times; it broke",
    ) == db.execute(
        "SELECT crashes, losses, attempt, error FROM fairlead.job_history"
    ).fetchone()


def test_failures_count_apart_from_deaths_and_use_the_attempts_up(db: Database) -> None:
    """A job fails for good at its last attempt; what was not its fault does not count."""
    lease = run_one(db)
    db.execute("UPDATE fairlead.jobs SET max_attempts = 2")
    for ended_as in ("returned", "released", "crashed", "lost"):
        assert "queued" == end(db, lease, ended_as)
        lease = next_attempt(db)
        assert 1 == lease.attempt

    assert "scheduled" == end(db, lease, "failed")
    assert (1, 1, 1, 1) == counts(db, lease.job)
    let_fall_due(db, lease.job)
    dispatch(db, promote(db))
    lease = next_attempt(db)
    assert (2, False) == (lease.attempt, lease.alone)
    assert "failed" == end(db, lease, "failed")

    assert ("failed",) == places(db, lease.job)
    assert [("released", 1), ("crashed", 1), ("lost", 1), ("failed", 1), ("failed", 2)] == (
        db.execute(
            "SELECT ended_as, attempt FROM fairlead.attempt_errors ORDER BY at"
        ).fetchall()
    )


def test_a_success_does_not_carry_the_errors_of_earlier_attempts(db: Database) -> None:
    """What went wrong on the way stands in attempt_errors, attempt by attempt."""
    first, second = run_one(db), run_one(db)
    for lease in (first, second):
        assert "queued" == end(db, lease, "released")
    by_batch, by_handler = claim(db, register(db))

    finish(db, [by_batch])
    answer(db, "complete(%s, %s)", by_handler.job, by_handler.token)

    assert [(None,), (None,)] == db.execute("SELECT error FROM fairlead.job_history").fetchall()


@pytest.mark.parametrize(
    ("ended_as", "anew"),
    [("returned", False), ("released", True), ("crashed", True), ("lost", True)],
)
def test_the_wait_of_a_job_that_was_handed_back_begins_anew(
    db: Database, ended_as: str, *, anew: bool
) -> None:
    """A wait does not count the time that the job has run, unless it never ran."""
    lease = run_one(db)
    before = db.execute("SELECT runnable_at FROM fairlead.work_queue").fetchone()
    claimed = db.execute("SELECT claimed_at FROM fairlead.work_queue").fetchone()

    assert "queued" == end(db, lease, ended_as)

    after = db.execute("SELECT runnable_at FROM fairlead.work_queue").fetchone()
    assert before is not None
    assert claimed is not None
    assert after is not None
    assert anew == (after[0] > claimed[0])
    assert anew != (after == before)
