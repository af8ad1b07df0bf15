"""A leader that has read a job moves it when somebody gives it another priority."""

from collections.abc import Sequence
from typing import cast

import pytest

from fairlead import policy_storage
from tests.conftest import Connect
from tests.integration.scheduler.test_bands import BANDS, insert, queued
from tests.support.children import register
from tests.support.race import Database, answer, claim, finish, places
from tests.support.schedulers import Replica, led, scheduling
from tests.support.waiting import until

_OTHERS = 1000
_TICKS = 10
_NOTHING_ELSE = {"scan_seconds": 300.0, "audit_seconds": 600.0}
"""So that nothing but the receipt leads the leader to what has moved."""
_ONE_BY_ONE = "queues: [{match: {queue: default}, slots: {limit: 1}}]"
"""So that jobs run in the order of their lane, and one at most is queued before a change."""
_LOW_HELD = """
rules:
  - {name: low, when: job.priority < 0, hold: true}
"""


def registered(db: Database) -> int:
    """Register a worker for jobs that run one by one."""
    policy_storage.store(db, _ONE_BY_ONE, reason="order")
    return register(db, slots=1)


def drained(db: Database, worker: int, count: int) -> list[int]:
    """Claim and finish one job after another until there were so many; return their order."""
    order: list[int] = []

    def one_more() -> bool:
        leases = claim(db, worker, limit=1)
        finish(db, leases)
        order.extend(lease.job for lease in leases)
        return len(order) >= count

    until(one_more, what=f"{count} jobs having run", seconds=30)
    return order


def set_priority(db: Database, job: int, priority: int) -> None:
    """Give a job that waits another priority."""
    assert "changed" == answer(db, "set_priority(%s, %s)", job, priority)


def settled(replica: Replica) -> None:
    """Wait until the leader has heard of what was committed, and asked where such jobs are."""

    def ticks() -> float:
        return (
            replica.metrics.registry.get_sample_value("fairlead_scheduler_ticks_total") or 0.0
        )

    begun = ticks()
    until(lambda: ticks() > begun + _TICKS, what=f"{_TICKS} ticks", seconds=30)


def blocked_by(db: Database, job: int) -> object:
    """Return what the leader says that keeps a job waiting."""
    row = db.execute("SELECT fairlead.explain(%s)", [job]).fetchone()
    return None if row is None else cast("dict[str, object]", row[0]).get("blocked_by")


def known(db: Database, jobs: Sequence[int]) -> None:
    """Wait until the leader has jobs as heads of a paused lane: it explains the last."""
    until(lambda: blocked_by(db, jobs[-1]) == "paused", what="the leader knowing the jobs")


def test_a_raised_job_overtakes_a_thousand_others(database_url: str, db: Database) -> None:
    """But for those that are queued before it."""
    worker = registered(db)
    others = insert(db, "acme", 0, _OTHERS)
    (late,) = insert(db, "acme", -5)
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        until(lambda: queued(db), what="the first job queued")

        set_priority(db, late, 5)
        settled(replica)

        order = drained(db, worker, 4)

    assert [others[0], late, *others[1:3]] == order


@pytest.mark.parametrize("priority", [5, -5])
def test_jobs_that_are_heads_go_by_their_new_priority(
    database_url: str, db: Database, priority: int
) -> None:
    """Also the first one of its lane, which would have been next."""
    worker = registered(db)
    db.execute("SELECT fairlead.pause('default')")
    jobs = insert(db, "acme", 0, 20)
    moved = (jobs[0], jobs[7], jobs[19])
    rest = [job for job in jobs if job not in moved]
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        known(db, jobs)

        for job in moved:
            set_priority(db, job, priority)
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")

        order = drained(db, worker, len(jobs))

    assert order == ([*moved, *rest] if priority > 0 else [*rest, *moved])


def test_a_job_that_is_moved_twice_stands_where_it_was_moved_last(
    database_url: str, db: Database
) -> None:
    """In one transaction or in two, and back to where it was: behind the others there."""
    worker = registered(db)
    db.execute("SELECT fairlead.pause('default')")
    jobs = insert(db, "acme", 0, 5)
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        known(db, jobs)

        with db.transaction():
            for priority in (9, -9, 0):
                set_priority(db, jobs[0], priority)
        set_priority(db, jobs[1], 9)
        set_priority(db, jobs[1], 0)
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")

        order = drained(db, worker, len(jobs))

    assert [*jobs[2:], jobs[0], jobs[1]] == order


def test_a_change_that_takes_long_is_seen_at_its_end(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Others of the lane and of the new priority have been read past its place by then."""
    worker = registered(db)
    operator = connect(autocommit=False)
    jobs = insert(db, "acme", 0, 3)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db)
        set_priority(operator, jobs[2], 5)
        later = insert(db, "acme", 5, 3)
        first = drained(db, worker, 5)
        assert {*jobs[:2], *later} == set(first)
        last = insert(db, "acme", 0, 3)

        operator.commit()

        order = drained(db, worker, 4)

    assert {jobs[2], *last} == set(order)


def insert_long(db: Database, count: int) -> list[int]:
    """Insert jobs each of which makes a turn of its own, with a tag of its own."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind, cost_hint)"
        " SELECT 'acme', 'noop', interval '1 min' FROM generate_series(1, %s) RETURNING id",
        [count],
    )
    return sorted(int(row[0]) for row in rows.fetchall())


def in_claim_order(db: Database) -> list[int]:
    """Return what is queued and unclaimed, in the order of claims."""
    rows = db.execute(
        "SELECT job_id FROM fairlead.work_queue WHERE worker IS NULL ORDER BY vtag, job_id"
    )
    return [int(row[0]) for row in rows.fetchall()]


def filled(db: Database, jobs: Sequence[int]) -> list[int]:
    """Wait until the queue has as many of them as it holds, and return these in their order."""

    def begun() -> list[int]:
        first = in_claim_order(db)
        return first if len(first) > 3 and first == list(jobs[: len(first)]) else []

    return until(begun, what="a full queue")


def test_a_queued_job_that_is_lowered_is_recalled(database_url: str, db: Database) -> None:
    """Others of its lane go first. One that was claimed before that keeps its priority."""
    worker = register(db, slots=4)
    jobs = insert_long(db, 50)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db)
        first = filled(db, jobs)
        (lease,) = claim(db, worker, limit=1)
        assert "running" == answer(db, "set_priority(%s, -5)", lease.job)

        set_priority(db, first[1], -5)

        wanted = [*first[2:], *jobs[len(first) :]]
        until(
            lambda: (now := in_claim_order(db)) == wanted[: len(now)] and len(now) > 2,
            what="the others queued without it",
        )


def test_a_queued_job_that_is_raised_in_its_band_stays_where_it_is(
    database_url: str, db: Database
) -> None:
    """Taken out and dispatched anew it would run later."""
    register(db, slots=4)
    jobs = insert_long(db, 50)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db)
        first = filled(db, jobs)

        set_priority(db, first[2], 5)
        set_priority(db, first[1], -5)

        until(lambda: first[1] not in in_claim_order(db), what="the lowered one recalled")
        assert [first[0], first[2]] == in_claim_order(db)[:2]


def test_a_recalled_job_goes_by_its_new_priority(database_url: str, db: Database) -> None:
    """Whatever recalls it: it was raised, and left where it was queued."""
    register(db, slots=4)
    jobs = insert_long(db, 3)
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        until(lambda: in_claim_order(db) == jobs, what="the jobs queued")
        set_priority(db, jobs[2], 5)
        db.execute("SELECT fairlead.pause('default')")
        until(lambda: in_claim_order(db) == [], what="the recall")
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")

        until(lambda: len(in_claim_order(db)) == len(jobs), what="the jobs queued again")

    assert [jobs[2], *jobs[:2]] == in_claim_order(db)


def test_a_queued_job_changes_its_band(database_url: str, db: Database) -> None:
    """Up and down, by a recall."""
    register(db, slots=4)
    policy_storage.store(db, BANDS, reason="bands")
    (job,) = insert(db, "acme", 0)
    with scheduling(database_url, **_NOTHING_ELSE):
        until(lambda: queued(db) == {job: 1}, what="the job in its band")
        set_priority(db, job, 5)
        until(lambda: queued(db) == {job: 0}, what="the job in the first band")
        set_priority(db, job, -5)
        until(lambda: queued(db) == {job: 2}, what="the job in the last band")


def test_a_pending_job_changes_its_band(database_url: str, db: Database) -> None:
    """Out of the heads of a lane in one band into another's, which may be new."""
    worker = register(db, slots=1)
    policy_storage.store(db, BANDS, reason="bands")
    db.execute("SELECT fairlead.pause('default')")
    jobs = insert(db, "acme", 5, 4)
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        known(db, jobs)

        set_priority(db, jobs[0], -5)
        set_priority(db, jobs[1], -1)
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")

        until(lambda: set(jobs) == set(queued(db)), what="the jobs queued")
        bands = [queued(db)[job] for job in jobs]
        order = drained(db, worker, len(jobs))

    assert [2, 2, 0, 0] == bands
    assert [jobs[2], jobs[3], jobs[1], jobs[0]] == order


def test_a_scheduled_job_goes_by_its_new_priority_when_it_falls_due(
    database_url: str, db: Database
) -> None:
    """The leader learns of it when it promotes the job."""
    worker = registered(db)
    db.execute("SELECT fairlead.pause('default')")
    jobs = insert(db, "acme", 0, 5)
    row = db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind, run_at)"
        " VALUES ('acme', 'noop', now() + interval '1 hour') RETURNING id"
    ).fetchone()
    assert row is not None
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        known(db, jobs)
        set_priority(db, row[0], 5)
        assert row[0] == answer(db, "retry(%s)", row[0])
        until(lambda: places(db, row[0]) == ("pending",), what="the promotion")
        known(db, row)
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")
        order = drained(db, worker, 6)

    assert [row[0], *jobs] == order


def test_rules_read_the_new_priority(database_url: str, db: Database) -> None:
    """Of a head that a rule holds, and of a job that is queued."""
    register(db, slots=10)
    policy_storage.store(db, _LOW_HELD, reason="rules")
    (held,), (free,) = insert(db, "acme", -5), insert(db, "acme", 5)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db)
        until(lambda: set(queued(db)) == {free}, what="the free job queued")
        until(lambda: blocked_by(db, held) == "hold", what="the other held")

        set_priority(db, held, 1)
        set_priority(db, free, -1)

        until(lambda: set(queued(db)) == {held}, what="the other way round")


def test_many_are_moved_at_once_and_all_of_them_are_found(
    database_url: str, db: Database
) -> None:
    """More than the leader keeps as heads, in lanes that it has and has not."""
    worker = register(db, slots=1)
    db.execute("SELECT fairlead.pause('default')")
    jobs = insert(db, "acme", 0, 3000)
    with scheduling(database_url, **_NOTHING_ELSE) as replica:
        led(db)
        known(db, jobs[:1])
        first = insert(db, "acme", 0, 5)

        changed = 0
        while moved := answer(db, "set_priorities(-3, tenant => 'acme', jobs_max => 1000)"):
            changed += int(str(moved))
            if changed == 3000:
                break
        settled(replica)
        db.execute("SELECT fairlead.resume('default')")
        ahead = drained(db, worker, 5)
        rest: set[int] = set()

        def all_others() -> bool:
            leases = claim(db, worker, limit=500)
            finish(db, leases)
            rest.update(lease.job for lease in leases)
            return len(rest) >= 3000

        until(all_others, what="all others", seconds=60)

    assert first == ahead
    assert set(jobs) == rest


def test_a_leader_that_takes_over_recalls_what_was_lowered_before(
    database_url: str, db: Database
) -> None:
    """While nobody led: the receipt waits for it."""
    register(db, slots=4)
    jobs = insert_long(db, 50)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db)
        first = filled(db, jobs)
    set_priority(db, first[0], -5)
    with scheduling(database_url, **_NOTHING_ELSE):
        led(db, after=1)
        until(lambda: first[0] not in in_claim_order(db), what="the lowered one recalled")
