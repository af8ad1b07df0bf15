"""The leader asks running jobs that agreed to it to make room, and says so."""

from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from typing import cast

import pytest

from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.evictions import AGAIN_SECONDS, Evictions
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.ordering.eviction import EvictionNeed, Holder, Waiting
from fairlead_scheduler.rows import Event, EvictionsRequested
from tests.support.children import register
from tests.support.logged import Line, Lines
from tests.support.race import (
    Database,
    Lease,
    claim,
    dispatch,
    end,
    insert_one,
    lead,
    leading,
    places,
)
from tests.support.schedulers import depose, scheduling
from tests.support.waiting import until

pytestmark = pytest.mark.any_server

_POLICY = "fairness: {eviction: {after: 300ms}}"
_COUNTED = "fairlead_evictions_total"
QUIET, FLOOD = ("default", "quiet"), ("default", "flood")


def agreeing(db: Database, *kinds: str, slots: int = 2) -> int:
    """Register a worker whose handlers of these kinds agreed; return its id."""
    worker = register(db, slots=slots)
    db.execute(
        "UPDATE fairlead.worker_leases SET evictable_kinds = %s WHERE id = %s",
        [list(kinds), worker],
    )
    return worker


def insert(db: Database, tenant: str, count: int) -> list[int]:
    """Insert jobs of a tenant; return their ids."""
    return [
        int(row[0])
        for row in db.execute(
            "INSERT INTO fairlead.jobs (tenant, kind) SELECT %s, 'long'"
            " FROM generate_series(1, %s) RETURNING id",
            [tenant, count],
        ).fetchall()
    ]


def explained(db: Database, job: int) -> Mapping[str, object]:
    """Return what explain answers now."""
    return cast(
        "Mapping[str, object]",
        db.execute("SELECT fairlead.explain(%s)", [job]).fetchall()[0][0],
    )


def eviction_in(lines: list[Line]) -> Line | None:
    """Return the line that says that a job was asked to stop."""
    return next((line for line in lines if line["event"] == "eviction.requested"), None)


def requests(db: Database) -> list[tuple[int, int]]:
    """Return which attempts were asked to stop."""
    rows = db.execute("SELECT job_id, token FROM fairlead.evictions ORDER BY job_id")
    return [(int(job), int(token)) for job, token in rows.fetchall()]


class Asker:
    """A leader's task that asks, and what it tells the loop."""

    def __init__(self, db: Database, wakeup: Wakeup) -> None:
        self._requests = Requests(lambda _: None)
        self._events = SimpleQueue[Event]()
        self._task = Evictions(
            db,
            epoch=lead(db),
            requests=self._requests,
            events=self._events,
            wakeup=wakeup,
            metrics=Metrics(),
        )

    def ask(self, *jobs: int) -> tuple[int, ...]:
        """Need a slot that a lane with these jobs may give; return who was asked to stop."""
        holder = Holder(FLOOD, 0, len(jobs) + 1, 1.0, jobs)
        waiting = (Waiting(QUIET, 0, 1_000_000),)
        self._requests.evict(EvictionNeed("default", 1, waiting, (holder,)))
        self._task.evict()
        told = self._events.get_nowait()
        assert isinstance(told, EvictionsRequested)
        return told.ids


@pytest.fixture
def asker(db: Database) -> Iterator[Asker]:
    """Yield the task of the leader."""
    wakeup = Wakeup()
    yield Asker(db, wakeup)
    wakeup.close()


def held(db: Database, worker: int, count: int) -> tuple[Lease, ...]:
    """Have a worker run so many jobs of the flood."""
    dispatch(db, insert(db, "flood", count), epoch=leading(db))
    return claim(db, worker, limit=count)


def test_a_request_is_logged_counted_explained_and_the_job_comes_back(
    database_url: str, db: Database, logged: Lines
) -> None:
    """In its place and the same attempt, behind the tenant for which it made room."""
    db.execute("SELECT fairlead.apply_policy(%s, '0123456789ab')", [_POLICY])
    worker = agreeing(db, "long")
    with scheduling(database_url) as replica:
        jobs = insert(db, "flood", 2)
        leases = {
            each.job: each
            for each in until(
                lambda: claim(db, worker) if places(db, jobs[1]) == ("queued",) else (),
                what="a claim of both",
            )
        }
        (quiet,) = insert(db, "quiet", 1)

        ((asked, token),) = until(lambda: requests(db), what="a request")

        assert leases[asked].token == token
        answer = explained(db, asked)
        line = until(lambda: eviction_in(logged()), what="the log's line")
        counted = replica.metrics.registry.get_sample_value(_COUNTED, {"queue": "default"})
        assert "pending" == end(db, leases[asked], "released")
        assert {"queue", "tenant"} <= explained(db, asked).keys()
        (first,) = until(lambda: claim(db, worker, limit=1), what="the next claim")
        until(lambda: places(db, asked) == ("queued",), what="its return to the queue")
        until(lambda: "asked" not in explained(db, asked), what="the leader's answer")
        queued = explained(db, asked)
        (again,) = claim(db, worker, limit=1)

    sentence = str(answer["sentence"])
    assert "it runs since" in sentence
    assert ", and was asked to stop at " in sentence
    assert sentence.endswith("so that tenant 'quiet' of queue 'default' could run")
    assert "; it was asked to stop at " in str(queued["sentence"])
    assert ("default", "quiet") == tuple(
        cast("Mapping[str, str]", answer["evicted"])[key] for key in ("for_queue", "for_tenant")
    )
    assert (asked, "flood", "quiet") == (line["job"], line["tenant"], line["for_tenant"])
    assert 1 == counted
    assert (quiet, asked) == (first.job, again.job)
    assert leases[asked].attempt == again.attempt


def test_nobody_is_asked_without_the_policy(database_url: str, db: Database) -> None:
    """It is off by default: the same scene, and a policy that says nothing of it."""
    worker = agreeing(db, "long")
    with scheduling(database_url) as replica:
        jobs = insert(db, "flood", 2)
        until(
            lambda: claim(db, worker) if places(db, jobs[1]) == ("queued",) else (),
            what="a claim of both",
        )
        (quiet,) = insert(db, "quiet", 1)
        until(lambda: places(db, quiet) == ("queued",), what="a dispatch")
        ticks = "fairlead_scheduler_ticks_total"
        value = replica.metrics.registry.get_sample_value
        seen = value(ticks) or 0
        until(lambda: (value(ticks) or 0) > seen + 50, what="fifty ticks")

    assert [] == requests(db)


def test_a_deposed_leader_asks_nobody(db: Database, asker: Asker) -> None:
    """The epoch fences the write, whatever was decided before."""
    (lease,) = held(db, agreeing(db, "long"), 1)
    depose(db)

    assert () == asker.ask(lease.job)

    assert [] == requests(db)


def test_a_request_concerns_one_attempt_and_not_the_next(db: Database, asker: Asker) -> None:
    """It names the token: the job's next attempt does not end as pending because of it."""
    worker = agreeing(db, "long")
    (lease,) = held(db, worker, 1)
    assert (lease.job,) == asker.ask(lease.job)
    assert [(lease.job, lease.token)] == requests(db)

    assert "queued" == end(db, lease, "returned")
    (again,) = claim(db, worker)

    assert again.token != lease.token
    assert "queued" == end(db, again, "released")


def test_the_last_claimed_is_asked_once_and_the_next_one_after_it(
    db: Database, asker: Asker
) -> None:
    """A job is left alone for some minutes once it was asked."""
    leases = held(db, agreeing(db, "long"), 2)
    newest, oldest = (each.job for each in reversed(leases))

    told = [asker.ask(newest, oldest) for _ in range(3)]

    assert [(newest,), (oldest,), ()] == told
    db.execute(
        "UPDATE fairlead.evictions SET requested_at = now() - make_interval(secs => %s)",
        [AGAIN_SECONDS + 1],
    )
    assert (newest,) == asker.ask(newest, oldest)


@pytest.mark.parametrize(
    "change",
    [
        "worker_leases SET evictable_kinds = NULL",
        "worker_leases SET evictable_kinds = '{other}'",
        "worker_leases SET draining = true",
        "worker_leases SET dead_at = now()",
        "worker_leases SET lease_until = now() - interval '1 s'",
        "work_queue SET alone = true",
        "work_queue SET completed = true",
        "work_queue SET worker = NULL, token = NULL, claimed_at = NULL, deadline = NULL",
        "jobs SET cancel_requested_at = now()",
    ],
)
def test_none_is_asked_that_did_not_agree_or_frees_no_slot(
    db: Database, asker: Asker, change: str
) -> None:
    """Each of these alone keeps an attempt from being asked."""
    (lease,) = held(db, agreeing(db, "long"), 1)
    db.execute(f"UPDATE fairlead.{change}".encode())

    assert () == asker.ask(lease.job)


def test_requests_are_forgotten_after_an_hour(db: Database, asker: Asker) -> None:
    """When others are made; the table stays small."""
    (lease,) = held(db, agreeing(db, "long"), 1)
    old = insert_one(db)
    db.execute(
        "INSERT INTO fairlead.evictions (job_id, token, requested_at, for_queue, for_tenant)"
        " VALUES (%s, 1, now() - interval '61 min', 'q', 't'),"
        " (%s, 1, now() - interval '61 min', 'q', 't')",
        [old, lease.job],
    )

    assert (lease.job,) == asker.ask(lease.job)

    assert [(lease.job, lease.token)] == requests(db)
