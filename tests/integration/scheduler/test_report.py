"""The leader publishes how the slots were shared: fenced, soon, and not at rest."""

import signal
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from fairlead import policy_storage
from fairlead.db.statements import load
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import Replica, led, scheduler_process, scheduling
from tests.support.waiting import until
from tests.support.working import working

WEIGHED = """
queues:
  - match: {queue: default}
    tenants: {overrides: [{match: {tenant: heavy}, weight: 3}]}
"""
APART = "pools: [{name: mail, queues: ['mail*']}, {name: default, queues: ['*']}]"
TOGETHER = "pools: [{name: default, queues: ['*']}]"


def insert(db: Database, count: int, *tenants: str) -> None:
    """Insert so many jobs of each tenant."""
    for tenant in tenants:
        db.execute(
            "INSERT INTO fairlead.jobs (tenant, kind)"
            " SELECT %s, 'noop' FROM generate_series(1, %s)",
            [tenant, count],
        )


def published(db: Database, *, after: int = 0) -> Mapping[str, object] | None:
    """Return the report of a leader after this epoch, with its epoch and its window."""
    row = db.execute(
        "SELECT report || jsonb_build_object('epoch', epoch, 'at', extract(epoch from at),"
        " 'since', extract(epoch from since)) FROM fairlead.fairness_reports"
        " WHERE epoch > %s AND (report ->> 'slot_seconds')::float > 0",
        [after],
    ).fetchone()
    return None if row is None else cast("Mapping[str, object]", row[0])


def reported(db: Database) -> dict[str, datetime]:
    """Return the pools that there are reports on, and of when."""
    rows = db.execute("SELECT pool, at FROM fairlead.fairness_reports").fetchall()
    return {str(pool): cast("datetime", at) for pool, at in rows}


def gauge(replica: Replica, series: str, **labels: str) -> float | None:
    """Return the value of a series of the report."""
    return replica.metrics.registry.get_sample_value(f"fairlead_{series}", labels)


def test_two_tenants_under_load_are_shown_within_five_percent(
    database_url: str, db: Database, connect: Connect
) -> None:
    """Shares of 1 to 3, small lags, and an index near 1: in the view and on the page."""
    worker = register(db, slots=10)
    policy_storage.store(db, WEIGHED)
    insert(db, 20_000, "light", "heavy")
    with (
        scheduling(database_url, report_seconds=1.0) as replica,
        working(connect, worker),
    ):
        led(db)

        def window() -> bool:
            found = published(db)
            return found is not None and cast("float", found["window_seconds"]) > 4

        until(window, what="a report on four seconds", seconds=30)
        found = published(db)
        rows = db.execute(
            "SELECT tenant, weight, share, entitled_share, lag_slot_seconds, slot_seconds,"
            " queued + running, blocked_by, oldest_wait_seconds"
            " FROM fairlead.tenant_shares ORDER BY weight"
        ).fetchall()
        until(lambda: gauge(replica, "fairness_jain", pool="default"), what="an index")
        shown = gauge(replica, "tenant_entitled_share", queue="default", tenant="heavy")

    assert found is not None
    assert 2 == found["jain_tenants"]
    # With both shares five points off, as far as they may be below, it is 0.985.
    assert cast("float", found["jain"]) > 0.985
    assert [("light", 1.0), ("heavy", 3.0)] == [row[:2] for row in rows]
    for _, weight, share, entitled, lag, had, out, blocked, wait in rows:
        assert abs(share - weight / 4) < 0.05
        assert abs(entitled - weight / 4) < 0.05
        assert abs(lag) < 0.05 * had + 0.05
        assert out > 0
        assert blocked in ("turn", "capacity")
        assert wait > 3
    assert shown is not None
    assert abs(shown - 0.75) < 0.05


def test_an_idle_scheduler_publishes_nothing(database_url: str, db: Database) -> None:
    """Only while something happens: the table stays empty, though looks go on."""
    with scheduling(database_url, report_seconds=1.0) as replica:
        led(db)
        until(
            lambda: gauge(replica, "tenants", pool="default", group="quiet") is not None,
            what="a report on the page",
            seconds=20,
        )

        assert [(0,)] == db.execute("SELECT count(*) FROM fairlead.fairness_reports").fetchall()


def test_after_a_kill_the_next_leader_reports_what_it_saw_itself(
    database_url: str, db: Database, connect: Connect
) -> None:
    """It says since when it counts: not from before it led."""
    worker = register(db, slots=10)
    insert(db, 20_000, "a", "b")
    settings = {"report_seconds": 1.0, "health_port": 0}
    with working(connect, worker), scheduler_process(database_url, **settings) as first:
        before = until(lambda: published(db), what="a report", seconds=50)
        with scheduler_process(database_url, **settings):
            first.send_signal(signal.SIGKILL)
            first.wait()
            row = db.execute("SELECT extract(epoch from clock_timestamp())").fetchone()
            killed = float(str(row[0])) if row else 0.0
            epoch = int(str(before["epoch"]))
            after = until(
                lambda: published(db, after=epoch), what="a report of the next", seconds=50
            )

    assert killed < float(str(after["since"])) < float(str(after["at"]))


def test_a_pool_that_the_policy_names_no_more_is_reported_on_until_it_is_empty(
    database_url: str, db: Database
) -> None:
    """What runs there is shown while it runs; then its report ends, and so do its series."""
    policy_storage.store(db, APART)
    worker = register(db, pool="mail")
    db.execute("INSERT INTO fairlead.jobs (kind, queue) VALUES ('noop', 'mail')")
    with scheduling(database_url, report_seconds=1.0) as replica:
        (lease,) = until(lambda: claim(db, worker, pool="mail"), what="the job", seconds=20)
        until(lambda: "mail" in reported(db), what="a report on the pool", seconds=20)
        until(
            lambda: gauge(replica, "fairness_jain", pool="mail") is not None, what="its series"
        )
        policy_storage.store(db, TOGETHER)
        in_force = (
            "SELECT max(at) FROM fairlead.policy_events WHERE event = 'in_force'"
            " HAVING count(*) > 1"
        )
        (since,) = until(lambda: db.execute(in_force).fetchone(), what="the policy", seconds=20)
        until(
            lambda: reported(db).get("mail", since) > since, what="a later report", seconds=20
        )

        finish(db, [lease])

        until(lambda: "mail" not in reported(db), what="the end of its report", seconds=60)
        assert gauge(replica, "fairness_jain", pool="mail") is None
        assert gauge(replica, "tenants", pool="mail", group="quiet") is None


def test_a_new_leader_ends_the_reports_that_it_has_nothing_to_say_to(
    database_url: str, db: Database
) -> None:
    """On pools that are no more and on those where nothing runs: it is not the present."""
    for pool in ("gone", "default"):
        db.execute(
            "INSERT INTO fairlead.fairness_reports (pool, epoch, since, at, report)"
            " VALUES (%s, 0, now(), now(), '{}')",
            [pool],
        )
    with scheduling(database_url, report_seconds=1.0):
        until(lambda: not reported(db), what="the end of the reports", seconds=50)


def test_a_deposed_leader_ends_no_report(db: Database) -> None:
    """It does not know the policy in force."""
    db.execute("UPDATE fairlead.leaders SET epoch = 7 WHERE role = 'scheduler'")
    values = {"pool": "gone", "epoch": 7, "since_us": 0, "at_us": 5_000_000, "report": "{}"}
    db.execute(load("fairlead_scheduler.background", "publish_report"), values)
    left: list[set[str]] = []
    for epoch, pools in ((6, ["default"]), (7, ["gone"]), (7, ["default"])):
        values = {"epoch": epoch, "pools": pools}
        db.execute(load("fairlead_scheduler.background", "delete_reports"), values)
        left.append({*reported(db)})

    assert [{"gone"}, {"gone"}, set()] == left


def test_a_deposed_leader_publishes_nothing(db: Database) -> None:
    """A report is fenced by the epoch; the next one of the leader takes its place."""
    db.execute("UPDATE fairlead.leaders SET epoch = 7 WHERE role = 'scheduler'")
    values = {"pool": "default", "since_us": 0, "at_us": 5_000_000}
    for epoch, report in ((6, 6), (7, 7), (8, 8), (7, 9), (6, 10)):
        row = {**values, "epoch": epoch, "report": str(report)}
        db.execute(load("fairlead_scheduler.background", "publish_report"), row)

        found = db.execute(
            "SELECT epoch, report, extract(epoch from at)::int FROM fairlead.fairness_reports"
        ).fetchall()
        expected = {6: [], 7: [(7, 7, 5)], 8: [(7, 7, 5)], 9: [(7, 9, 5)], 10: [(7, 9, 5)]}
        assert expected[report] == found
