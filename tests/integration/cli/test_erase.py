"""A tenant is erased and a job is redacted: what jobs carried is in no table any more."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from fairlead.client import enqueue_many
from fairlead.new_jobs import NewJob
from fairlead_cli import batches
from tests.conftest import Connect
from tests.integration.conftest import Fairlead
from tests.support.canary_app import canary
from tests.support.race import (
    claim,
    dispatch,
    end,
    finish,
    insert_one,
    leading,
    places,
    register,
)
from tests.support.waiting import until

TABLES = """
    SELECT c.relname FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind = 'r' ORDER BY 1"""


def carrying(tenant: str, *, name: str) -> NewJob:
    """Return a job that carries a secret wherever one fits."""
    return NewJob(
        kind="k",
        tenant=tenant,
        payload={"secret": canary(tenant)},
        headers={"secret": canary(tenant)},
        dedup_key=f"{canary(tenant)} {name}",
    )


def tables_with(db: Connection[TupleRow], text: str) -> list[str]:
    """Return every table of the schema that holds the text in some row."""
    found: list[str] = []
    for (table,) in db.execute(TABLES).fetchall():
        holds = sql.SQL("SELECT FROM fairlead.{} t WHERE strpos(t::text, %s) > 0 LIMIT 1")
        if db.execute(holds.format(sql.Identifier(table)), [text]).fetchall():
            found.append(str(table))
    return found


def live_through_everything(db: Connection[TupleRow], tenant: str) -> tuple[int, ...]:
    """Leave a tenant's jobs in most places of a job's life; return those that wait."""
    names = ("succeeds", "fails", "retries", "queued", "pending")
    jobs = enqueue_many(db, [carrying(tenant, name=name) for name in names])
    dispatch(db, jobs[:3], epoch=leading(db))
    succeeds, fails, retries = claim(db, register(db))
    secret = canary(tenant)
    db.execute(
        "SELECT FROM fairlead.store_progress(ARRAY[%s], ARRAY[%s], ARRAY[0.5], ARRAY[%s])",
        [retries.job, retries.token, secret],
    )
    db.execute(
        "SELECT FROM fairlead.finish(ARRAY[%s, %s], ARRAY[%s, %s], '{succeeded,failed}',"
        " ARRAY[to_json(%s::text)::text, NULL], ARRAY[NULL, %s])",
        [succeeds.job, fails.job, succeeds.token, fails.token, secret, secret],
    )
    db.execute(
        "SELECT FROM fairlead._end_attempts(ARRAY[%s], ARRAY[%s], '{failed}', ARRAY[%s],"
        " ARRAY['1 hour'::interval])",
        [retries.job, retries.token, secret],
    )
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind, tenant, payload)"
        " VALUES ('s', '* * * * *', 'k', %s, to_jsonb(%s::text))",
        [tenant, secret],
    )
    db.execute(
        "INSERT INTO fairlead.batches (tenant, kind, payload)"
        " VALUES (%s, 'k', jsonb_build_object('p', %s::text))",
        [tenant, secret],
    )
    return tuple(jobs[2:])


def test_nothing_is_left_of_what_a_tenants_jobs_carried(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In no table of the schema; what other tenants have stays, and the audit log tells it."""
    monkeypatch.setattr(batches, "_BATCH", 1)
    erased_too = live_through_everything(db, "acme")
    waiting = live_through_everything(db, "other")
    dispatch(db, [erased_too[1], waiting[1]], epoch=leading(db))
    holding = ["attempt_errors", "batches", "job_progress", "jobs", "schedules"]
    assert set(holding) < set(tables_with(db, canary("acme")))
    others = tables_with(db, canary("other"))

    said = fairlead("tenants", "erase", "acme", "--actor", "ann", "--reason", "they left")

    assert "erased schedules (1), batches (1) and 5 jobs of tenant 'acme'" in said
    assert [] == tables_with(db, canary("acme"))
    assert others == tables_with(db, canary("other"))
    assert ("scheduled",) == places(db, waiting[0])
    told = "SELECT DISTINCT verb, actor, reason FROM fairlead.audit WHERE actor IS NOT NULL"
    assert {
        ("cancel_jobs", "ann", "they left"),
        ("erase_tenant", "ann", "they left"),
        ("remove_schedule", "ann", "they left"),
    } == set(db.execute(told).fetchall())
    erased = json.loads(fairlead("tenants", "erase", "acme", "--json"))
    assert {"tenant": "acme"} | dict.fromkeys(
        ("schedules", "batches", "cancelled", "jobs", "left"), 0
    ) == erased


def forget_history(db: Connection[TupleRow]) -> None:
    """Empty the history of jobs that succeeded, as retention does while errors are kept."""
    db.execute("TRUNCATE fairlead.job_history_succeeded")


def succeeded_after_an_error(db: Connection[TupleRow], tenant: str) -> int:
    """Leave a job whose first attempt failed with a secret, and whose second succeeded."""
    (job,) = enqueue_many(db, [NewJob(kind="k", tenant=tenant)])
    for ended_as in ("failed", ""):
        dispatch(db, [job], epoch=leading(db))
        (lease,) = claim(db, register(db))
        if ended_as:
            db.execute(
                "SELECT FROM fairlead._end_attempts(ARRAY[%s], ARRAY[%s], '{failed}',"
                " ARRAY[%s], ARRAY['0'::interval])",
                [job, lease.token, canary(tenant)],
            )
            db.execute("UPDATE fairlead.jobs SET run_at = NULL")
    assert (job,) == finish(db, [lease])
    forget_history(db)
    return job


def test_errors_that_outlive_the_history_are_erased(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jobs that succeeded are forgotten sooner than errors; others' errors stay."""
    monkeypatch.setattr(batches, "_BATCH", 1)
    for tenant in ("acme", "other", "acme"):
        succeeded_after_an_error(db, tenant)
    assert ["attempt_errors"] == tables_with(db, canary("acme"))

    said = fairlead("tenants", "erase", "acme")

    assert "2 jobs of tenant 'acme'" in said
    assert [] == tables_with(db, canary("acme"))
    assert ["attempt_errors"] == tables_with(db, canary("other"))


def test_a_step_of_erasing_looks_at_so_many_errors(db: Connection[TupleRow]) -> None:
    """Whatever else the history has behind them, none is passed over."""
    db.execute(
        "INSERT INTO fairlead.attempt_errors (job_id, attempt, ended_as, tenant)"
        " SELECT n / 2, 1, 'failed', 't' || n / 2 % 2 FROM generate_series(2, 24001) n"
    )
    step = "SELECT erased, reached_id FROM fairlead._erase_history('t1', %s, 100000)"

    assert (2500, 5000) == db.execute(step, [0]).fetchone()
    assert (2500, 10000) == db.execute(step, [5000]).fetchone()
    assert (1000, None) == db.execute(step, [10000]).fetchone()
    assert (12000,) == db.execute("SELECT count(*) FROM fairlead.attempt_errors").fetchone()


def test_errors_that_outlive_the_history_are_redacted(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """By the id of their job, which is known for as long as they are kept."""
    job = succeeded_after_an_error(db, "acme")

    assert "redacted" in fairlead("jobs", "redact", str(job))

    assert [] == tables_with(db, canary("acme"))
    (entry,) = json.loads(fairlead("audit", "--json"))
    assert ("redact", job, "acme") == (entry["verb"], entry["job_id"], entry["tenant"])


def test_a_job_that_runs_is_asked_to_stop_and_erased_by_a_repeat(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """Its worker holds it for a while yet."""
    jobs = enqueue_many(db, [carrying("acme", name="runs")])
    dispatch(db, jobs, epoch=leading(db))
    (lease,) = claim(db, register(db))

    said = fairlead("tenants", "erase", "acme", "--wait", "0s", code=1)
    assert "1 job of tenant 'acme' cannot be erased yet" in said
    assert "cancelled" == end(db, lease, "failed")
    fairlead("tenants", "erase", "acme", "--wait", "0s")

    assert [] == tables_with(db, canary("acme"))


def test_erasing_waits_for_a_job_that_stops(
    fairlead: Fairlead, db: Connection[TupleRow], connect: Connect
) -> None:
    """One command is enough where handlers heed that they are cancelled."""
    dispatch(db, enqueue_many(db, [carrying("acme", name="runs")]), epoch=leading(db))
    (lease,) = claim(db, register(db))
    worker = connect()
    asked = "SELECT FROM fairlead.jobs WHERE cancel_requested_at IS NOT NULL"

    def stop() -> str:
        until(lambda: bool(worker.execute(asked).fetchall()), what="a cancel", seconds=20)
        return end(worker, lease, "failed")

    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(stop)
        fairlead("tenants", "erase", "acme", "--wait", "30s")

    assert "cancelled" == stopped.result()
    assert [] == tables_with(db, canary("acme"))


def test_a_job_that_a_transaction_holds_is_left_and_said(
    fairlead: Fairlead, db: Connection[TupleRow], connect: Connect
) -> None:
    """No command waits for an application's transaction."""
    enqueue_many(db, [carrying("acme", name=name) for name in "ab"])
    holder = connect(autocommit=False)
    holder.execute("SELECT FROM fairlead.jobs ORDER BY id LIMIT 1 FOR UPDATE")

    said = fairlead("tenants", "erase", "acme", "--wait", "0s", code=1)

    assert "1 job of tenant 'acme' cannot be erased yet" in said
    assert (1,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()
    assert (0,) == db.execute("SELECT count(*) FROM fairlead.job_history").fetchone()


def test_a_job_whose_claim_is_rolled_back_is_not_left(
    fairlead: Fairlead, db: Connection[TupleRow], connect: Connect
) -> None:
    """Nobody has it, though it was asked to stop; it must not end with its payload later."""
    dispatch(db, enqueue_many(db, [carrying("acme", name="queued")]), epoch=leading(db))
    claiming = connect(autocommit=False)
    worker = register(db)
    (_lease,) = claim(claiming, worker)

    said = fairlead("tenants", "erase", "acme", "--wait", "0s", code=1)
    assert "1 job of tenant 'acme' cannot be erased yet" in said
    claiming.rollback()
    fairlead("tenants", "erase", "acme", "--wait", "0s")

    assert [] == tables_with(db, canary("acme"))


def test_erasing_waits_for_a_claim_that_is_rolled_back(
    fairlead: Fairlead, db: Connection[TupleRow], connect: Connect
) -> None:
    """One command is enough, as where a job stops."""
    dispatch(db, enqueue_many(db, [carrying("acme", name="queued")]), epoch=leading(db))
    claiming, watcher = connect(autocommit=False), connect()
    claim(claiming, register(db))
    asked = "SELECT FROM fairlead.jobs WHERE cancel_requested_at IS NOT NULL"

    def give_up() -> None:
        until(lambda: bool(watcher.execute(asked).fetchall()), what="a cancel", seconds=20)
        claiming.rollback()

    with ThreadPoolExecutor(1) as pool:
        gave_up = pool.submit(give_up)
        fairlead("tenants", "erase", "acme", "--wait", "30s")

    assert gave_up.exception() is None
    assert [] == tables_with(db, canary("acme"))


def test_a_step_of_erasing_looks_at_so_many_and_says_where_it_is(
    db: Connection[TupleRow],
) -> None:
    """So it is bounded however long the history is."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant) SELECT 'k', 't' || n % 2"
        " FROM generate_series(1, 10005) n"
    )
    db.execute(
        "SELECT fairlead._end_jobs(array_agg(id), array_agg('succeeded'::text))"
        " FROM fairlead.jobs"
    )
    first = "SELECT erased, reached_id FROM fairlead._erase_history('t1', 0, 100000)"
    ids = [row[0] for row in db.execute("SELECT id FROM fairlead.job_history ORDER BY 1")]

    assert (5000, ids[9999]) == db.execute(first).fetchone()
    assert (3, None) == db.execute(first).fetchone()
    assert (0, None) == db.execute(first).fetchone()
    assert (5002,) == db.execute("SELECT count(*) FROM fairlead.job_history").fetchone()


def test_a_redacted_job_stays_without_what_it_carried(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """It cannot be retried; one that is unfinished is left as it is."""
    waiting = live_through_everything(db, "acme")
    done = [row[0] for row in db.execute("SELECT id FROM fairlead.job_history ORDER BY 1")]
    words = [str(job) for job in done]

    assert "redacted" in fairlead("jobs", "redact", *words, "--actor", "ann")
    assert "redacted" in fairlead("jobs", "redact", *words)
    said = fairlead("jobs", "redact", str(waiting[0]), code=1)
    unknown = fairlead("jobs", "redact", "999999", code=1)

    assert f"unfinished: {waiting[0]}; cancel them first" in said
    assert "unknown: 999999" in unknown
    assert not [each for each in tables_with(db, canary("acme")) if "history" in each]
    assert ["succeeded", "failed"] == [
        json.loads(fairlead("jobs", "show", word, "--json"))["state"] for word in words
    ]
    assert "redact" in fairlead("jobs", "show", words[0])
    assert "cannot be retried" in fairlead("jobs", "retry", words[0], code=2)


@pytest.mark.parametrize(
    ("option", "value", "left"),
    [("--tenant", "acme", 3), ("--queue", "mail", 4), ("--kind", "b", 4)],
)
def test_many_jobs_are_cancelled_at_once(
    fairlead: Fairlead, db: Connection[TupleRow], option: str, value: str, left: int
) -> None:
    """By tenant, queue or kind, in batches that the audit log counts."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind, queue, tenant) VALUES ('a', 'default', 'acme'),"
        " ('b', 'default', 'acme'), ('a', 'mail', 'acme'), ('a', 'mail', 'other'),"
        " ('b', 'default', 'other'), ('a', 'default', 'other')"
    )
    jobs = [row[0] for row in db.execute("SELECT id FROM fairlead.jobs ORDER BY id")]
    dispatch(db, jobs[:1], epoch=leading(db))

    said = fairlead("jobs", "cancel", option, value)

    assert f"cancelled {6 - left} jobs; 0 run" in said
    assert (left,) == db.execute("SELECT count(*) FROM fairlead.jobs").fetchone()
    (entry,) = json.loads(fairlead("audit", "--json"))
    assert ("cancel_jobs", 6 - left) == (entry["verb"], entry["details"]["ended"])


def test_many_jobs_are_cancelled_in_transactions_of_bounded_size(
    fairlead: Fairlead, db: Connection[TupleRow]
) -> None:
    """What a transaction has reached is locked until it ends, and its tenant waits for it."""
    db.execute("INSERT INTO fairlead.jobs (kind) SELECT 'a' FROM generate_series(1, 1001)")

    assert "cancelled 1,001 jobs; 0 run" in fairlead("jobs", "cancel", "--kind", "a")

    entries = json.loads(fairlead("audit", "--json"))
    assert [1, 1000] == sorted(each["details"]["ended"] for each in entries)


def test_cancelling_many_stops_at_its_limit_and_asks_those_that_run(
    fairlead: Fairlead, db: Connection[TupleRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oldest first, over all batches; who was asked already is not counted again."""
    monkeypatch.setattr(batches, "_BATCH", 1)
    jobs = [insert_one(db) for _ in range(4)]
    dispatch(db, jobs[:1], epoch=leading(db))
    leases = claim(db, register(db))
    words = ("jobs", "cancel", "--queue", "default", "--json")

    first = json.loads(fairlead(*words, "--limit", "2"))
    second = json.loads(fairlead(*words))

    assert {"ended": 1, "requested": 1, "locked": 0} == first
    assert {"ended": 2, "requested": 0, "locked": 0} == second
    assert tuple(jobs[:1]) == finish(db, leases)


@pytest.mark.parametrize("words", [(), ("1", "--queue", "mail")])
def test_a_cancel_names_ids_or_what_the_jobs_have_in_common(
    fairlead: Fairlead, words: tuple[str, ...]
) -> None:
    """Never everything by mistake."""
    assert "give ID..., or --queue" in fairlead("jobs", "cancel", *words, code=2)
