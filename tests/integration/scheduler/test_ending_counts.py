"""The leader counts how attempts end of workers that speak only SQL."""

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_scheduler.background.ending_counts import EndingCounts
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.metrics.registry import Metrics
from tests.support.children import register
from tests.support.race import (
    Lease,
    answer,
    claim,
    complete,
    dispatch,
    finish,
    hand_back,
    insert,
    leading,
    let_lapse,
)
from tests.support.schedulers import Replica, scheduling
from tests.support.waiting import until

ENDED = "fairlead_attempts_ended_total"
FINISHED = "fairlead_jobs_finished_total"


def claimed(db: Connection[TupleRow], worker: int, count: int) -> list[Lease]:
    """Insert so many jobs, of which the first has one attempt, and claim them all."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, max_attempts)"
        " SELECT 'call', CASE n WHEN 1 THEN 1 ELSE 5 END FROM generate_series(1, %s) n",
        [count],
    )
    leases: list[Lease] = []

    def claim_more() -> bool:
        leases.extend(claim(db, worker))
        return len(leases) == count

    until(claim_more, what=f"{count} claims")
    return sorted(leases, key=lambda lease: lease.job)


def counts(replica: Replica, series: str, label: str) -> dict[str, float]:
    """Return the counts of the kind by their last label."""
    return {
        sample.labels[label]: sample.value
        for family in replica.metrics.registry.collect()
        for sample in family.samples
        if sample.name == series and sample.labels.get("kind") == "call"
    }


def test_every_way_to_end_is_counted(database_url: str, db: Connection[TupleRow]) -> None:
    """One at a time, or many; for good, or to run again."""
    worker = register(db, slots=10)
    ways = {"failed": 2, "succeeded": 1, "expired": 1, "snoozed": 1, "returned": 1}
    with scheduling(database_url) as replica:
        last, whole, late, broken, delayed, unwanted = claimed(db, worker, 6)

        assert "failed" == answer(db, "fail(%s, %s)", last.job, last.token)
        assert "" == complete(db, whole)
        assert (late.job,) == finish(db, [late], outcome="expired")
        assert "scheduled" == answer(
            db, "fail(%s, %s, 'busy', '1 hour')", broken.job, broken.token
        )
        assert "scheduled" == hand_back(db, delayed, "snoozed")
        assert "queued" == hand_back(db, unwanted, "returned")

        until(lambda: counts(replica, ENDED, "ended_as") == ways, what="the counts")
        finished = counts(replica, FINISHED, "outcome")

    assert {"failed": 1, "succeeded": 1, "expired": 1} == finished


def test_what_is_counted_elsewhere_is_not_counted_twice(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """By a worker of Fairlead's own, and by the steal from one that is lost."""
    own = register(db, releases_slots=True, version="1.0")
    lost = register(db, name="lost")
    with scheduling(database_url) as replica:
        finish(db, claimed(db, own, 1))
        claimed(db, lost, 1)
        let_lapse(db, lost)
        until(lambda: counts(replica, ENDED, "ended_as"), what="the steal's count")
        last = register(db, name="last")
        (again,) = until(lambda: claim(db, last), what="a claim of what was stolen")
        complete(db, again)
        until(lambda: counts(replica, FINISHED, "outcome"), what="the last count")

        assert {"lost": 1, "succeeded": 1} == counts(replica, ENDED, "ended_as")
        assert {"succeeded": 1} == counts(replica, FINISHED, "outcome")


def test_what_a_worker_ends_that_releases_its_slots_is_counted(
    database_url: str, db: Connection[TupleRow]
) -> None:
    """It may speak only SQL all the same; once, when it has released the slot."""
    worker = register(db, releases_slots=True)
    with scheduling(database_url) as replica:
        completed, broken = claimed(db, worker, 2)[:2]

        assert "" == complete(db, completed)
        db.execute(
            "SELECT fairlead.release(ARRAY[%s]::bigint[], ARRAY[%s]::bigint[])",
            [completed.job, completed.token],
        )
        assert "scheduled" == answer(
            db, "fail(%s, %s, 'busy', '1 hour')", broken.job, broken.token
        )

        ways = {"succeeded": 1, "failed": 1}
        until(lambda: counts(replica, ENDED, "ended_as") == ways, what="the counts")
        finished = counts(replica, FINISHED, "outcome")

    assert {"succeeded": 1} == finished


def test_a_worker_that_the_leader_does_not_know_yet_is_looked_up(
    db: Connection[TupleRow],
) -> None:
    """It may have registered a moment ago, and count by itself."""
    own, other = register(db, name="own", version="1.0"), register(db, name="other")
    jobs, metrics = insert(db, count=2), Metrics()
    dispatch(db, jobs, epoch=leading(db))
    leases = {worker: claim(db, worker, limit=1)[0] for worker in (own, other)}
    finish(db, [*leases.values()])
    requests = Requests(lambda _task: None)

    requests.count_endings([(lease.job, worker) for worker, lease in leases.items()])
    EndingCounts(db, requests, metrics.endings).count()

    found = [
        sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == ENDED
    ]
    assert [1.0] == found
