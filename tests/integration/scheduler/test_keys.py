"""Concurrency keys over the real tables: exact while leaders die and policies change."""

import signal
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import pytest
from psycopg.types.json import Jsonb

from fairlead import policy_storage
from fairlead.db.statements import integers, load
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim, finish
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.waiting import until

ACCOUNT, REGION = "payload.account.id", "headers.region"
KEYED = f"""
version: keyed
queues:
  - match: {{queue: default}}
    concurrency:
      - {{key: {ACCOUNT}, limit: 1, scope: queue}}
      - {{key: {REGION}, limit: 3, scope: queue}}
"""
_IN_FLIGHT = """
    SELECT greatest(
        (SELECT max(n) FROM (
            SELECT count(*) AS n FROM fairlead.work_queue q
            JOIN fairlead.jobs j ON j.id = q.job_id
            WHERE j.payload #>> '{account,id}' IS NOT NULL
            GROUP BY j.payload #>> '{account,id}') accounts), 0),
        greatest((SELECT max(n) FROM (
            SELECT count(*) AS n FROM fairlead.work_queue q
            JOIN fairlead.jobs j ON j.id = q.job_id
            WHERE j.headers ->> 'region' IS NOT NULL
            GROUP BY j.headers ->> 'region') regions), 0)
"""


def insert(
    db: Database, payload: object, *, region: str | None = None, count: int = 1
) -> list[int]:
    """Insert jobs that are alike."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, payload, headers)"
        " SELECT 'noop', %s, %s FROM generate_series(1, %s) RETURNING id",
        [Jsonb(payload), None if region is None else Jsonb({"region": region}), count],
    ).fetchall()
    return [int(row[0]) for row in rows]


def insert_many(db: Database, count: int) -> None:
    """Insert jobs of 20 accounts, every seventh without one, and of 2 regions or none."""
    db.execute(
        "INSERT INTO fairlead.jobs (tenant, kind, payload, headers)"
        " SELECT 't' || i %% 3, 'noop', CASE WHEN i %% 7 > 0 THEN"
        " jsonb_build_object('account', jsonb_build_object('id', i %% 20)) ELSE '{}' END,"
        " CASE WHEN i %% 5 > 1 THEN jsonb_build_object('region', 'r' || i %% 2) END"
        " FROM generate_series(1, %s) i",
        [count],
    )


def in_flight(db: Database) -> tuple[int, int]:
    """Return how many rows of work_queue the fullest account has, and the fullest region."""
    ((account, region),) = db.execute(_IN_FLIGHT).fetchall()
    return int(account), int(region)


def queued(db: Database) -> list[int]:
    """Return the jobs that are in work_queue."""
    rows = db.execute("SELECT job_id FROM fairlead.work_queue ORDER BY job_id").fetchall()
    return [int(row[0]) for row in rows]


@contextmanager
def working(
    connect: Connect, worker: int
) -> Generator[tuple[list[int], list[tuple[int, int]]]]:
    """Claim and finish until the end of the block; yield the ids, and what was in flight."""
    done: list[int] = []
    samples: list[tuple[int, int]] = []
    stop = threading.Event()
    session = connect()

    def work() -> None:
        while not stop.wait(0.002):
            leases = claim(session, worker)
            samples.append(in_flight(session))
            done.extend(finish(session, leases))

    thread = threading.Thread(target=work, name="working")
    thread.start()
    try:
        yield done, samples
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("ended", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_keys_hold_when_the_leader_is_killed_or_frozen(
    database_url: str, db: Database, connect: Connect, ended: signal.Signals
) -> None:
    """One for each account and three for each region, before, during and after a take-over.

    One that was frozen wakes up beside its heir, with a plan of its own in mind.
    """
    policy_storage.store(db, KEYED)
    worker = register(db, slots=100)
    insert_many(db, 3000)
    with working(connect, worker) as (done, samples), scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: len(done) > 100, what="a hundred endings", seconds=30)
        first.send_signal(ended)
        with scheduler_process(database_url):
            led(db, after=epoch)
            before = len(done)
            first.send_signal(signal.SIGCONT)
            until(lambda: len(done) > before + 100, what="a hundred more", seconds=30)

    assert (1, 3) == (max(a for a, _ in samples), max(r for _, r in samples))


def test_every_job_runs_though_keys_hold_most_of_them(
    database_url: str, db: Database, connect: Connect
) -> None:
    """What a key holds goes on when an ending lets it; nothing is forgotten."""
    policy_storage.store(db, KEYED)
    worker = register(db, slots=20)
    insert_many(db, 300)
    with scheduling(database_url), working(connect, worker) as (done, samples):
        until(lambda: len(done) == 300, what="every job", seconds=60)

    assert (1, 3) == (max(a for a, _ in samples), max(r for _, r in samples))


def test_a_policy_that_brings_a_key_counts_what_is_in_flight(
    database_url: str, db: Database, connect: Connect
) -> None:
    """What no worker has claimed is recalled, what runs goes on, and nothing is added to it."""
    worker = register(db, slots=100)
    jobs = insert(db, {"account": {"id": 7}}, count=8)
    with scheduling(database_url):
        until(lambda: queued(db) == jobs, what="a dispatch")
        leases = claim(connect(), worker, limit=2)
        policy_storage.store(db, KEYED)
        until(lambda: len(queued(db)) == 2, what="a recall", seconds=5)
        other = insert(db, {"account": {"id": "8"}})
        until(lambda: other[0] in queued(db), what="another account's dispatch")

        assert sorted([*(lease.job for lease in leases), *other]) == queued(db)
        finish(db, leases)
        until(lambda: len(queued(db)) == 2, what="the next of the account")
        assert 1 == in_flight(db)[0]


def test_explain_says_which_key_who_holds_it_and_where_the_job_stands(
    database_url: str, db: Database
) -> None:
    """The key's path, the value, its limit, its holders; the metric counts the lane."""
    register(db, slots=100)
    policy_storage.store(db, KEYED)
    with scheduling(database_url) as replica:
        first, *others = insert(db, {"account": {"id": 7}}, count=4)
        until(lambda: queued(db) == [first], what="a dispatch")
        until(
            lambda: (
                replica.metrics.registry.get_sample_value(
                    "fairlead_lanes_blocked", {"reason": "key"}
                )
                == 1.0
            ),
            what="the metric",
        )
        until(lambda: "asked" not in explain(db, others[-1]), what="an answer")
        answer = explain(db, others[-1])

    key = cast("Mapping[str, object]", answer["key"])
    assert ("key", 2) == (answer["blocked_by"], answer["ahead"])
    assert (ACCOUNT, "7", 1, 1, [first]) == (
        key["key"],
        key["value"],
        key["limit"],
        key["in_flight"],
        key["holders"],
    )
    assert f"1 jobs with {ACCOUNT} = '7' of 1 are in flight" in str(answer["sentence"])


def explain(db: Database, job: int) -> Mapping[str, object]:
    """Ask once."""
    (row,) = db.execute("SELECT fairlead.explain(%s)", [job]).fetchall()
    return cast("Mapping[str, object]", row[0])


def texts(
    db: Database,
    ids: Sequence[int],
    path: str,
    *,
    root: str = "payload",
    bytes_max: int = 1 << 22,
) -> list[str | None]:
    """Return what keys find in jobs."""
    values = {
        "ids": integers(ids),
        "roots": [root] * len(ids),
        "paths": [path] * len(ids),
        "bytes_max": bytes_max,
        "least": 2,
    }
    (row,) = db.execute(load("fairlead_scheduler.loop", "job_attributes"), values).fetchall()
    return cast("list[str | None]", row[0])


def test_values_are_texts_numbers_and_truths(db: Database) -> None:
    """Compared as text; null, lists, mappings, what is missing and who is gone have none."""
    payloads: list[object] = [
        {"a": {"b": "x"}},
        {"a": {"b": 7}},
        {"a": {"b": "7"}},
        {"a": {"b": 1.50}},
        {"a": {"b": True}},
        {"a": {"b": ""}},
        {"a": {"b": None}},
        {"a": {"b": [1]}},
        {"a": {"b": {}}},
        {"a": 1},
        {},
        [1],
        "a",
    ]
    ids = [insert(db, payload)[0] for payload in payloads]

    found = texts(db, [*ids, 10**9], "a.b")

    assert ["x", "7", "7", "1.5", "true", "", *[None] * 8] == found


def test_values_in_headers_are_found_there(db: Database) -> None:
    """Jobs without headers have none."""
    ids = [*insert(db, {"region": "no"}, region="eu"), *insert(db, {"region": "no"})]

    assert ["eu", None] == texts(db, ids, "region", root="headers")


def test_long_values_are_distinguished_and_kept_short(db: Database) -> None:
    """The leader keeps a value of each head at hand."""
    ids = [insert(db, {"a": "x" * 5000 + end})[0] for end in ("1", "2", "1")]

    one, two, again = texts(db, ids, "a")

    assert one == again
    assert one != two
    assert one is not None
    assert 129 == len(one)


def test_large_documents_are_read_a_few_at_a_time(db: Database) -> None:
    """The answer ends early, and never among the first: all the keys of one job are read."""
    db.execute("ALTER TABLE fairlead.jobs ALTER COLUMN payload SET STORAGE EXTERNAL")
    ids = [insert(db, {"a": n, "b": "x" * 100_000})[0] for n in range(5)]

    assert ["0", "1", "2"] == texts(db, ids, "a", bytes_max=250_000)
    assert ["0", "1"] == texts(db, ids, "a", bytes_max=1)
