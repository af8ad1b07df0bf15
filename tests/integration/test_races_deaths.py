"""A worker's death and its claims exclude each other, and deaths are counted apart."""

import pytest

from tests.conftest import Background, Connect
from tests.support.race import (
    Database,
    Lease,
    answer,
    claim,
    claim_one,
    dispatch,
    end,
    halted,
    insert,
    insert_one,
    places,
    register,
    run_one,
)

STEAL = "_steal(%s, interval '1 hour', 100)"


def bury(db: Database, worker: int) -> None:
    """Mark a worker dead, as the leader does before it steals."""
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now() WHERE id = %s", [worker])


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
    db: Database, connect: Connect, background: Background
) -> None:
    """The claim locks its worker's live row FOR SHARE, so that a death cannot be missed."""
    leader, worker = connect(autocommit=False), connect()
    name, job = register(db), insert_one(db)
    dispatch(db, [job])
    bury(leader, name)

    claimed = background(lambda: claim(worker, name))
    assert halted(db, worker, claimed)
    leader.commit()

    assert () == claimed.result()
    assert ("queued",) == places(db, job)


def test_a_death_waits_for_a_claim_and_the_steal_finds_what_it_took(
    db: Database, connect: Connect, background: Background
) -> None:
    """The sweeper first marks a worker dead, then steals: nothing stays with the dead."""
    worker, leader = connect(autocommit=False), connect()
    name, job = register(db), insert_one(db)
    dispatch(db, [job])
    claim_one(worker, name)

    def bury_and_steal() -> object:
        bury(leader, name)
        return answer(leader, STEAL, 0)

    stolen = background(bury_and_steal)
    assert halted(db, leader, stolen)
    worker.commit()

    assert job == stolen.result()
    assert ("queued",) == places(db, job)


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
    db.execute("UPDATE fairlead.worker_leases SET dead_at = now()")

    assert lease.job == answer(db, STEAL, 0)

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
    db.execute("UPDATE fairlead.jobs SET run_at = NULL")
    dispatch(db, [lease.job])
    lease = next_attempt(db)
    assert (2, True) == (lease.attempt, lease.alone)
    assert "failed" == end(db, lease, "failed")

    assert ("failed",) == places(db, lease.job)
    assert [("released", 1), ("crashed", 1), ("lost", 1), ("failed", 1), ("failed", 2)] == (
        db.execute(
            "SELECT ended_as, attempt FROM fairlead.attempt_errors ORDER BY at"
        ).fetchall()
    )
