"""No statement of a service fails for one row, whatever a superuser has stored."""

from collections.abc import Iterator, Mapping
from typing import LiteralString, cast

import psycopg
import pytest
from psycopg import sql

from fairlead.db.connect import SESSION
from fairlead.db.statements import load
from fairlead_cli.dev.postgres import Server
from fairlead_scheduler.ordering.levels.order_tags import TAG_MAX
from tests.support import bad_rows
from tests.support.databases import cloned_database
from tests.support.race import (
    Database,
    claim,
    dispatch,
    finish,
    insert,
    insert_one,
    lead,
    leading,
    register,
)
from tests.support.sampled import sampled
from tests.support.statements import Statement, statements

_SERVICES = statements("fairlead_scheduler", "fairlead_worker", "fairlead_autoscaler")
_WAYS = ("failed", "snoozed", "returned", "released", "crashed", "lost")
_LANES = "SELECT queue, tenant, rank FROM fairlead.jobs ORDER BY id"
_HELD = "SELECT job_id, coalesce(token, 0) FROM fairlead.work_queue ORDER BY job_id"
_KEPT: Mapping[str, object] = {
    "after": 0,
    "after_queue": "",
    "after_tenant": "",
    "again_seconds": 60,
    "ahead_max": 1 << 60,
    "asks_queues": True,
    "at": "2020-01-01",
    "at_us": 0,
    "band": 0,
    "before": 1 << 60,
    "begins": ["default"],
    "below_floor": True,
    "beside": 0,
    "by": 1 << 40,
    "bytes_max": 1 << 20,
    "classes": ["succeeded"],
    "crash_breakers": "[]",
    "days": 1,
    "days_ahead": 1,
    "decision": "{}",
    "digest": "0123456789ab",
    "drain_until": "2100-01-01",
    "floor": 0,
    "fresh": ["pod"],
    "from_us": 0,
    "full": "[]",
    "holder": "me",
    "host": "host",
    "jobs_max": 1000,
    "kinds": ["noop"],
    "lagging": True,
    "drawn": True,
    "lane_jobs": 10,
    "lanes": 100,
    "large": 0,
    "largest": TAG_MAX,
    "last_id": 0,
    "lease_seconds": 60,
    "least": 4,
    "limit": 1000,
    "limits": [3],
    "max_attempts": [5],
    "milliseconds": 10_000,
    "name": "nightly",
    "overdue_seconds": 0,
    "page": 0,
    "pages": 100,
    "paths": ["a", "facts"],
    "place": "policy.yaml",
    "pod_name": "pod",
    "pod_uid": "pod",
    "pods": ["pod"],
    "pool": "default",
    "pools": ["default"],
    "problem": "none",
    "release": "",
    "releases_slots": True,
    "reopened": [],
    "report": "{}",
    "roots": ["payload", "job"],
    "rows": (
        '[{"pool": "default", "at_us": 0, "became_runnable_total": 1, "work_slot_seconds": 1,'
        ' "slots_useful": 1, "slots_kept": 0, "slots_allowed": 1, "service_mean": 1,'
        ' "scheduled_slot_seconds": [1, 1, 1, 1], "service_variance": 1,'
        ' "fires": [[0, 1, 1]]}]'
    ),
    "rule": "a",
    "said": "it broke",
    "since": "-infinity",
    "since_us": 0,
    "slots": 1,
    "slots_full": 1,
    "source": "configmap",
    "span_seconds": 60,
    "streams_max": 100,
    "succeeded_days": 1,
    "tenant": "",
    "timeout_default": "1 s",
    "timeout_max": "1 h",
    "unsuccessful_days": 1,
    "until": "infinity",
    "version": "1.0",
    "wanted": True,
    "within_seconds": 3600,
    "worker_lease_seconds": 15,
}
"""What every statement is asked with, by the parameter's name; one that is missing is null."""
_OF_ONE: Mapping[str, Mapping[str, object]] = {
    "background-steal": {"after": "(0,0)"},
    "background-record_policy_event": {"version": 1, "event": "rule_disabled"},
    "cron-fire": {
        "tenants": [""],
        "names": ["nightly"],
        "crons": ["* * * * *"],
        "timezones": ["UTC"],
        "considered_us": [0],
        "problems": [None],
        "places": [1],
        "fires_us": [0],
    },
    "cron-schedules": {"login": "", "name": "", "limit": 1000},
    "loop-hold_to_limits": {"most": 10},
    "simulation-history_pages": {"days": ["20200101"]},
    "simulation-finished": {"outcomes": ["succeeded", "failed"]},
    "simulation-stored_policy": {"version": 1},
}
"""What one statement alone is asked with."""


def asked(db: Database, worker: int) -> dict[str, object]:
    """Return what to ask every statement with, about all jobs that there are."""
    ids = [row[0] for row in db.execute("SELECT id FROM fairlead.jobs ORDER BY id")]
    held = db.execute(_HELD).fetchall()
    tokens: dict[object, object] = dict(held)
    lanes = db.execute(_LANES).fetchall()
    some = {
        "epoch": db.execute("SELECT max(epoch) FROM fairlead.leaders").fetchall()[0][0],
        "ids": ids,
        "job_id": ids[0],
        "token": tokens.get(ids[0], 0),
        "tokens": [tokens.get(each, 0) for each in ids],
        "worker": worker,
        "workers": [worker],
        "answers": ["{}"] * len(ids),
        "queues": [queue for queue, _, _ in lanes],
        "tenants": [tenant for _, tenant, _ in lanes],
        "ranks": [rank for _, _, rank in lanes],
        "from_seqs": [-(1 << 63)] * len(lanes),
        "counts": [10] * len(lanes),
        "counted": ids,
        "most": [10] * len(lanes),
        "lows": [0],
        "highs": [1 << 40],
        "vtags": [1000] * len(ids),
        "estimates_us": [1000] * len(ids),
        "seen_us": [0] * len(ids),
        "run_us": [1000] * len(ids),
        "seconds": [1.0] * len(ids),
        "fractions": [0.5] * len(ids),
        "notes": ["half"] * len(ids),
        "outcomes": ["failed"] * len(ids),
        "errors": ["it broke"] * len(ids),
        "ended_as": ["failed"] * len(ids),
        "delays": [None] * len(ids),
    }
    return {**_KEPT, **some}


def variants(statement: Statement, values: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield what the statement is asked with, one after another."""
    common = {**dict.fromkeys(statement.numbered()[1]), **values}
    common |= _OF_ONE.get(str(statement), {})
    ids = cast("list[int]", values["ids"])
    if str(statement) == "loop-job_attributes":
        for root, path in (("payload", "a"), ("headers", "a"), ("job", "facts")):
            yield {**common, "roots": [root] * len(ids), "paths": [path] * len(ids)}
    elif str(statement) == "attempts-hand_back":
        for way in _WAYS:
            yield {**common, "ended_as": [way] * len(ids)}
    else:
        yield common


def run_all(db: Database, worker: int) -> dict[str, str]:
    """Run every statement of the services, each rolled back; return the failures."""
    failed: dict[str, str] = {}
    values = asked(db, worker)
    for statement in _SERVICES:
        for given in variants(statement, values):
            try:
                with db.transaction(force_rollback=True), db.cursor(binary=True) as cursor:
                    cursor.execute(load(statement.package, statement.name), given)
                    if cursor.description:
                        cursor.fetchall()
            except psycopg.Error as error:
                failed[str(statement)] = str(error).partition("\n")[0]
    return failed


@pytest.fixture(scope="module")
def session(server: Server) -> Iterator[Database]:
    """Yield a service's session, which prepares its statements once, as a service does."""
    with cloned_database(server) as url, psycopg.connect(url, autocommit=True) as connection:
        for setting in SESSION:
            connection.execute(setting.encode())
        connection.prepare_threshold = 0
        lead(connection)
        lead(connection)
        connection.execute("UPDATE fairlead.leaders SET epoch = 1")
        connection.execute("SELECT fairlead.apply_policy('{}', '0123456789ab')")
        connection.execute(
            "INSERT INTO fairlead.schedules (name, cron, kind)"
            " VALUES ('nightly', '* * * * *', 'k')"
        )
        yield connection


@pytest.fixture
def service(session: Database) -> Iterator[Database]:
    """Yield that session in a transaction which is rolled back at the end."""
    with session.transaction(force_rollback=True):
        yield session


@pytest.mark.parametrize("called", sampled([*bad_rows.JOBS, *bad_rows.ENDLESS], of=4))
def test_no_statement_fails_for_a_bad_job(called: str, service: Database) -> None:
    """One that waits, one that is queued and one that runs."""
    if not bad_rows.exists(service, called):
        pytest.skip("this server has no infinite intervals")
    worker, epoch = register(service), leading(service)
    dispatch(service, [bad_rows.bad_job(service, called), insert_one(service)], epoch=epoch)
    claim(service, worker)
    dispatch(service, [bad_rows.bad_job(service, called)], epoch=epoch)
    bad_rows.bad_job(service, called)

    assert {} == run_all(service, worker)


@pytest.mark.parametrize(
    "values",
    [
        "runnable_at = 'infinity', claimed_at = 'infinity', deadline = 'infinity'",
        "runnable_at = '-infinity', claimed_at = '-infinity', deadline = '-infinity'",
        "timeout = '178000000 years', timeout_max = '178000000 years'",
        "timeout = '-178000000 years', timeout_max = '-178000000 years'",
        "vtag = 9223372036854775807, estimate_us = 9223372036854775807",
        "vtag = -9223372036854775808, estimate_us = -9223372036854775808",
        "queue = repeat('q', 10000), tenant = repeat('t', 10000)",
    ],
)
def test_no_statement_fails_for_a_bad_row_of_the_work_queue(
    values: LiteralString, service: Database
) -> None:
    """One that is queued, and one that runs."""
    worker, epoch = register(service), leading(service)
    dispatch(service, insert(service, count=2), epoch=epoch)
    claim(service, worker, limit=1)
    service.execute(sql.SQL("UPDATE fairlead.work_queue SET {}").format(sql.SQL(values)))
    service.execute("UPDATE fairlead.claim_floors SET vtag = 1000")

    assert {} == run_all(service, worker)


def test_every_statement_runs_beside_good_jobs(service: Database) -> None:
    """So that a failure beside a bad one is the bad one's."""
    worker, epoch = register(service), leading(service)
    dispatch(service, insert(service, count=2), epoch=epoch)
    claim(service, worker, limit=1)
    insert_one(service)

    assert {} == run_all(service, worker)


@pytest.mark.parametrize(("table", "values"), bad_rows.OTHERS)
def test_no_statement_fails_for_a_bad_row_of_another_table(
    table: LiteralString, values: LiteralString, service: Database
) -> None:
    """As far as the table's own checks let a superuser store it."""
    worker, epoch = register(service), leading(service)
    dispatch(service, insert(service, count=3), epoch=epoch)
    finish(service, claim(service, worker, limit=1))
    with service.transaction():
        service.execute("SET LOCAL session_replication_role = replica")
        change = sql.SQL("UPDATE fairlead.{} SET {}")
        service.execute(change.format(sql.Identifier(table), sql.SQL(values)))

    assert {} == run_all(service, worker)
