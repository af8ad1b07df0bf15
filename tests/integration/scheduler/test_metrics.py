"""The leader counts what ends where no worker is."""

from fairlead_scheduler.loop.store import read_lanes
from tests.support.race import (
    Database,
    cancel,
    claim_one,
    insert_one,
    let_lapse,
    places,
    register,
)
from tests.support.schedulers import Replica, led, scheduling
from tests.support.waiting import until


def counted(replica: Replica, series: str, **labels: str) -> float:
    """Return the value of a counter of the default queue; 0 when it is not there."""
    named = {"queue": "default", **labels}
    return replica.metrics.registry.get_sample_value(f"fairlead_{series}", named) or 0.0


def test_what_sql_cancels_and_what_expires_is_counted_by_the_leader(
    database_url: str, db: Database
) -> None:
    """Jobs that end before they start are on a page as well as those that a worker ends."""
    with scheduling(database_url) as replica:
        led(db)
        queued = insert_one(db)
        until(lambda: places(db, queued) == ("queued",), what="a dispatch")
        cancel(db, queued)
        row = db.execute(
            "INSERT INTO fairlead.jobs (kind, run_at)"
            " VALUES ('noop', now() + interval '1 h') RETURNING id"
        ).fetchone()
        assert row is not None
        cancel(db, int(row[0]))
        db.execute(
            "INSERT INTO fairlead.jobs (kind, expires_at)"
            " VALUES ('noop', now() + interval '0.2 s')"
        )

        def ended(outcome: str) -> float:
            return counted(replica, "jobs_finished_total", kind="noop", outcome=outcome)

        until(
            lambda: (ended("cancelled"), ended("expired")) == (2.0, 1.0),
            what="counting two cancelled jobs and one that expired",
            seconds=20,
        )
        assert 0.0 == counted(replica, "lease_expirations_total")


def test_what_the_leader_takes_back_from_a_dead_worker_is_counted(
    database_url: str, db: Database
) -> None:
    """An attempt that was lost with its worker is counted by queue and kind."""
    with scheduling(database_url) as replica:
        led(db)
        worker = register(db)
        job = insert_one(db)
        until(lambda: places(db, job) == ("queued",), what="a dispatch")
        claim_one(db, worker)
        let_lapse(db, worker)

        until(
            lambda: counted(replica, "lease_expirations_total"),
            what="counting the lost attempt",
            seconds=30,
        )
        assert 1.0 == counted(replica, "attempts_ended_total", kind="noop", ended_as="lost")
        assert 1.0 == counted(replica, "lease_expirations_total")
        rescued = replica.metrics.registry.get_sample_value("fairlead_jobs_rescued_total")
        assert 1.0 == rescued
        assert ("queued",) == places(db, job)


def test_a_scan_ages_the_oldest_job_of_each_queue(db: Database) -> None:
    """Whosever it is, by the database's clock; a queue without a pending one is not there."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, created_at)"
        " SELECT 'noop', 't' || i, now() - i * interval '100 s' FROM generate_series(1, 3) i"
    )
    db.execute(
        "INSERT INTO fairlead.jobs (kind, queue, run_at)"
        " VALUES ('noop', 'later', now() + interval '1 h')"
    )

    waits = read_lanes(db).waits_us()

    assert ["default"] == list(waits)
    assert 300 <= waits["default"] / 1e6 < 330
