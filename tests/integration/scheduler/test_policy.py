"""A stored policy is in force soon, holds exactly, and a bad one leaves the last good one."""

import pytest

from fairlead import policy_storage
from fairlead.policy import PolicyRefused, digest, parse
from fairlead_scheduler.background.refusal_watch import RefusalWatch
from fairlead_scheduler.metrics.registry import Metrics
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim
from tests.support.schedulers import Replica, led, scheduler_process, scheduling
from tests.support.waiting import until
from tests.support.working import working

LIMITED = """
version: limited
queues:
  - match: {queue: default}
    tenants: {overrides: [{match: {tenant: loud}, slots: {limit: 3}}]}
"""
RATED = "queues: [{match: {queue: default}, rate: {limit: 5, per: 10s, burst: 5}}]"


def insert(db: Database, tenant: str, count: int) -> None:
    """Insert jobs of a tenant."""
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind)"
        " SELECT %s, 'noop' FROM generate_series(1, %s)",
        [tenant, count],
    )


def in_flight(db: Database, tenant: str) -> int:
    """Count a tenant's rows of work_queue."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.work_queue WHERE tenant = %s", [tenant]
    ).fetchone()
    assert row is not None
    return int(row[0])


def events(db: Database, event: str) -> list[tuple[object, ...]]:
    """Return the versions of such events with what was said."""
    return db.execute(
        "SELECT version, said FROM fairlead.policy_events WHERE event = %s ORDER BY id", [event]
    ).fetchall()


def shown(replica: Replica, document: str) -> float | None:
    """Return what the metrics say of a policy: 1 while it is in force."""
    policy = parse(document)
    labels = {"digest": digest(policy), "version": str(policy.version or "")}
    return replica.metrics.registry.get_sample_value("fairlead_policy_info", labels)


def places_of_jobs(db: Database) -> object:
    """Return something that changes when a row of jobs is written."""
    rows = db.execute("SELECT id, ctid::text, xmin::text FROM fairlead.jobs ORDER BY id")
    return rows.fetchall()


def test_a_stored_policy_is_in_force_within_two_seconds_over_a_backlog(
    database_url: str, db: Database
) -> None:
    """It takes effect by NOTIFY, recalls what a limit leaves no room for, and writes no job."""
    register(db, slots=100)
    insert(db, "loud", 5000)
    with scheduling(database_url) as replica:
        led(db)
        until(lambda: in_flight(db, "loud") > 50, what="a full queue")
        before = places_of_jobs(db)

        stored = policy_storage.store(db, LIMITED, reason="too loud")

        until(
            lambda: (in_flight(db, "loud"), shown(replica, LIMITED)) == (3, 1.0),
            what="the limit in force",
            seconds=2,
        )
        until(lambda: events(db, "in_force") == [(stored.version, "")], what="an event")
        assert before == places_of_jobs(db)
        held = replica.metrics.registry.get_sample_value
        until(
            lambda: held("fairlead_lanes_blocked", {"reason": "limit"}) == 1.0,
            what="the blocked lane being shown",
        )


def test_the_last_of_many_edits_is_in_force_within_two_seconds(
    database_url: str, db: Database
) -> None:
    """Policies stored faster than they are read are skipped, never applied by halves."""
    register(db, slots=100)
    insert(db, "loud", 500)
    with scheduling(database_url) as replica:
        led(db)
        stored = [
            policy_storage.store(
                db, LIMITED.replace("limit: 3", f"limit: {3 + edit % 7}")
            ).version
            for edit in range(41)
        ]
        last = LIMITED.replace("limit: 3", "limit: 8")
        until(
            lambda: (in_flight(db, "loud"), shown(replica, last)) == (8, 1.0),
            what="the last edit in force",
            seconds=2,
        )
        until(lambda: events(db, "in_force")[-1] == (stored[-1], ""), what="its event")
    assert {version for version, _ in events(db, "in_force")} <= set(stored)
    assert [] == events(db, "refused")


def test_a_limit_is_never_exceeded_while_workers_run(
    database_url: str, db: Database, connect: Connect
) -> None:
    """At any time the tenant has no more than its limit in flight."""
    policy_storage.store(db, LIMITED)
    worker = register(db, slots=20)
    insert(db, "loud", 200)
    insert(db, "quiet", 200)
    most = 0
    with scheduling(database_url), working(connect, worker) as done:

        def all_done() -> bool:
            nonlocal most
            most = max(most, in_flight(db, "loud"))
            return len(done) == 400

        until(all_done, what="every job", seconds=60)

    assert 1 <= most <= 3


def test_the_leader_looks_often_while_a_limit_holds_work_back(
    database_url: str, db: Database, connect: Connect
) -> None:
    """An ending may go unannounced, and nothing is queued that could run in its place."""
    policy_storage.store(db, LIMITED)
    worker = register(db, slots=20)
    insert(db, "loud", 10)
    with scheduling(database_url) as replica:

        def looks() -> float:
            counted = replica.metrics.registry.get_sample_value
            return counted("fairlead_scheduler_ticks_total") or 0.0

        until(lambda: in_flight(db, "loud") == 3, what="the limit being reached")
        claim(connect(), worker)
        before = looks()
        until(lambda: looks() > before + 10, what="the loop coming to rest")
        before = looks()
        until(lambda: looks() > before + 40, what="forty looks more", seconds=2)


def test_a_rate_holds_when_the_leader_is_killed(
    database_url: str, db: Database, connect: Connect
) -> None:
    """What a rate has used is written with the dispatch, and the next leader reads it."""
    policy_storage.store(db, RATED)
    worker = register(db, slots=100)
    row = db.execute("SELECT clock_timestamp()").fetchone()
    assert row is not None
    insert(db, "a", 50)

    def most_allowed() -> tuple[int, int]:
        """Return how many were dispatched, and how many may have been by now."""
        found = db.execute(
            "SELECT (SELECT count(*) FROM fairlead.work_queue)"
            " + (SELECT count(*) FROM fairlead.job_history),"
            " 5 + floor(extract(epoch FROM clock_timestamp() - %s) / 2)",
            [row[0]],
        ).fetchone()
        assert found is not None
        assert found[0] <= found[1]
        return int(found[0]), int(found[1])

    with working(connect, worker), scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: most_allowed()[0] >= 5, what="the burst")
        first.kill()
        with scheduler_process(database_url):
            led(db, after=epoch)
            until(lambda: most_allowed()[0] >= 8, what="dispatches of the heir", seconds=30)


def test_a_limit_holds_when_the_leader_is_killed(
    database_url: str, db: Database, connect: Connect
) -> None:
    """The next leader counts what it finds in work_queue before it adds to it."""
    policy_storage.store(db, LIMITED)
    worker = register(db, slots=100)
    insert(db, "loud", 3000)
    most = 0

    def more_than(jobs: int) -> bool:
        nonlocal most
        most = max(most, in_flight(db, "loud"))
        return len(done) > jobs

    with working(connect, worker) as done, scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: more_than(50), what="fifty endings", seconds=30)
        first.kill()
        with scheduler_process(database_url):
            led(db, after=epoch)
            ended = len(done)
            until(lambda: more_than(ended + 50), what="fifty endings more", seconds=30)

    assert 1 <= most <= 3


def test_a_document_that_cannot_be_read_leaves_the_last_good_one_in_force(
    database_url: str, db: Database
) -> None:
    """An event, a metric and the log say so; the next leader does the same."""
    register(db, slots=100)
    good = policy_storage.store(db, LIMITED)
    insert(db, "loud", 20)
    with scheduling(database_url) as replica:
        led(db)
        until(lambda: in_flight(db, "loud") == 3, what="the limit in force")
        db.execute(
            "INSERT INTO fairlead.policy_versions (digest, author, document)"
            " VALUES ('0123456789ab', 'me', 'queues: 7')"
        )

        refused = replica.metrics.registry.get_sample_value
        until(
            lambda: refused("fairlead_policy_refused_total") == 1.0,
            what="the refusal",
            seconds=3,
        )
        ((version, said),) = events(db, "refused")
        assert version == good.version + 1
        assert "queues" in str(said)
        assert 1.0 == shown(replica, LIMITED)
    with scheduling(database_url) as heir:
        until(lambda: shown(heir, LIMITED) == 1.0, what="the last good policy in force")
        insert(db, "quiet", 5)
        until(lambda: in_flight(db, "quiet") > 0, what="a dispatch")
        assert 3 == in_flight(db, "loud")


def test_the_leader_counts_documents_that_were_refused(
    db: Database,
) -> None:
    """The command that refuses one has no metrics; earlier terms' documents do not count."""
    metrics = Metrics()
    refusals = RefusalWatch(db, metrics=metrics)
    for document in ("qeues: []", "wieght: 1"):
        with pytest.raises(PolicyRefused):
            policy_storage.store(db, document, author="ann")
        refusals.watch()
        refusals.watch()

    assert 1.0 == metrics.registry.get_sample_value("fairlead_policy_refused_total")


def test_a_refused_document_is_counted_within_seconds(database_url: str, db: Database) -> None:
    """The leader looks for them beside its work."""
    with scheduling(database_url) as replica:
        led(db)

        def counted() -> bool:
            with pytest.raises(PolicyRefused):
                policy_storage.store(db, "qeues: []")
            return bool(
                replica.metrics.registry.get_sample_value("fairlead_policy_refused_total")
            )

        until(counted, what="the refusal")
