"""The leader publishes what each pool needs that has `autoscale` in the policy."""

from collections.abc import Iterator
from contextlib import closing
from datetime import datetime
from queue import SimpleQueue
from typing import NamedTuple

import psycopg
import pytest
from psycopg.rows import class_row

from fairlead.policy_storage import store
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.demand_store import DemandStore
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.demand.values import PoolDemand
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rows import Event
from fairlead_scheduler.settings import SchedulerSettings
from tests.support.logins import LogIn
from tests.support.race import Database, lead, register
from tests.support.schedulers import scheduling
from tests.support.waiting import notified, until

POLICY = """
version: %s
pools:
  - {name: big, queues: [b], autoscale: {objective: 30s, min: 0, max: 8, slots: 5}}
  - {name: default, queues: ["*"]}
queues:
  - {match: {queue: b}, tenants: {default: {slots: {limit: "25%%"}}}}
"""


class Row(NamedTuple):
    """A row of `pool_demand`."""

    pool: str
    epoch: int
    at: datetime
    became_runnable_total: int
    work_slot_seconds: float
    slots_useful: int
    slots_kept: int
    slots_allowed: int
    oldest_runnable_at: datetime | None
    scheduled_slot_seconds: list[float]
    service_mean: float
    service_variance: float
    fires: list[list[float]]


def demands(db: Database) -> list[Row]:
    """Return what is published."""
    with db.cursor(row_factory=class_row(Row)) as cursor:
        columns = ", ".join(Row._fields)
        cursor.execute(f"SELECT {columns} FROM fairlead.pool_demand ORDER BY pool".encode())
        return cursor.fetchall()


def insert(db: Database, count: int, queue: str) -> tuple[int, ...]:
    """Insert jobs of a queue; return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, queue) SELECT 'noop', %s FROM generate_series(1, %s)"
        " RETURNING id",
        [queue, count],
    )
    return tuple(row[0] for row in rows.fetchall())


def needed(pool: str = "big", *, begins: bool = False, useful: int = 3) -> PoolDemand:
    """Return what a count may have found."""
    return PoolDemand(
        pool=pool,
        at_us=1_000_000,
        became_runnable_total=7,
        work_slot_seconds=1.5,
        slots_useful=useful,
        slots_kept=min(1, useful),
        slots_allowed=10,
        oldest_us=500_000,
        scheduled_slot_seconds=(0.0, 1.0, 2.0, 3.0),
        service_mean=0.5,
        service_variance=0.25,
        begins=begins,
    )


@pytest.fixture
def called(database_url: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """Yield the connection of one who waits for calls."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("LISTEN fairlead_autoscaler")
        yield connection


def publishing(db: Database, epoch: int, *pools: str) -> tuple[DemandStore, Requests]:
    """Return what publishes for these pools."""
    requests = Requests(SimpleQueue[str]().put)
    requests.set_demand_pools(frozenset(pools))
    return DemandStore(db, epoch=epoch, requests=requests), requests


def test_a_pool_that_goes_from_nothing_to_something_is_called_at_once(
    database_url: str, db: Database, called: psycopg.Connection[tuple[object, ...]]
) -> None:
    """Without any worker its jobs are counted at its maximum; the call has its name."""
    store(db, POLICY % 1)
    with scheduling(database_url):
        until(lambda: bool(demands(db)), what="the first row")
        assert ("big", 0, 0.0) == (
            demands(db)[0].pool,
            demands(db)[0].slots_useful,
            demands(db)[0].work_slot_seconds,
        )

        insert(db, 30, "b")
        note = next(called.notifies(timeout=10, stop_after=1))

        (row,) = demands(db)
        assert ("fairlead_autoscaler", "big") == (note.channel, note.payload)
        assert (10, 10, 30) == (row.slots_useful, row.slots_allowed, row.became_runnable_total)
        assert row.oldest_runnable_at is not None
        assert row.oldest_runnable_at <= row.at


def test_a_workers_slots_make_the_maximum(database_url: str, db: Database) -> None:
    """What a worker is to have counts, not what it has while its processes start."""
    store(db, POLICY % 1)
    register(db)
    db.execute("UPDATE fairlead.worker_leases SET pool = 'big', slots = 1, slots_full = 20")
    insert(db, 100, "b")

    with scheduling(database_url):
        until(lambda: [row.slots_useful for row in demands(db)] == [40], what="40 slots")


def test_what_falls_due_soon_is_said(database_url: str, db: Database) -> None:
    """By the estimate of its queue; what is later than 180 s is not."""
    store(db, POLICY % 1)
    jobs = insert(db, 5, "b")
    for job, seconds in zip(jobs, (90, 90, 90, 200, 4000), strict=True):
        db.execute(
            "UPDATE fairlead.jobs SET run_at = now() + %s * interval '1 s' WHERE id = %s",
            [seconds, job],
        )

    with scheduling(database_url):
        until(
            lambda: [row.scheduled_slot_seconds[3] > 0 for row in demands(db)] == [True],
            what="what falls due",
        )
        (row,) = demands(db)

    assert [0.0, 0.0, 0.0, pytest.approx(0.3)] == row.scheduled_slot_seconds


def schedule(db: Database, name: str, *, queue: str, seconds: int) -> None:
    """Let a schedule fire once a day, so many seconds from now."""
    db.execute(
        "INSERT INTO fairlead.schedules (name, cron, kind, queue)"
        " SELECT %s, to_char(x AT TIME ZONE 'UTC', 'SS MI HH24 \"* * *\"'), 'noop', %s"
        " FROM (SELECT now() + %s * interval '1 s' AS x) at",
        [name, queue, seconds],
    )


def test_what_schedules_will_fire_is_said(database_url: str, db: Database) -> None:
    """Within ten minutes, into the pool's queues; once they have fired that is over."""
    store(db, POLICY % 1)
    for name, queue, ahead in (
        *[(f"night {place}", "b", 15) for place in range(30)],
        *[("later", "b", 400), ("too late", "b", 700), ("elsewhere", "other", 30)],
    ):
        schedule(db, name, queue=queue, seconds=ahead)

    with scheduling(database_url):
        until(lambda: bool(demands(db) and demands(db)[0].fires), what="the fires")
        (before,) = demands(db)
        until(lambda: demands(db)[0].became_runnable_total == 30, what="the jobs", seconds=40)
        until(lambda: len(demands(db)[0].fires) == 1, what="what is left")
        (after,) = demands(db)

    assert [30, 1] == [jobs for _, jobs, _ in before.fires]
    assert [pytest.approx(3.0), pytest.approx(0.1)] == [work for _, _, work in before.fires]
    assert 5 < after.fires[0][0] - after.at.timestamp() < 400
    assert [0.0] * 4 == before.scheduled_slot_seconds


def test_what_falls_due_is_looked_for_from_where_promotion_has_come(db: Database) -> None:
    """Each scan for what is due begins at its own low-water mark."""
    demanded, requests = publishing(db, lead(db), "big")
    for job, seconds in zip(insert(db, 2, "b"), (10, 60), strict=True):
        db.execute(
            "UPDATE fairlead.jobs SET run_at = now() + %s * interval '1 s' WHERE id = %s",
            [seconds, job],
        )
    demanded.read_inputs()
    at_first = requests.demand_inputs.get_nowait().due

    (row,) = db.execute("SELECT extract(epoch FROM now() + interval '30 s')").fetchall()
    requests.promoted_us = int(row[0] * 1_000_000)
    demanded.read_inputs()

    assert [1, 1] == sorted(at_first["b"].values())
    assert [1] == [*requests.demand_inputs.get_nowait().due["b"].values()]


def test_promotion_says_how_far_it_has_come(database_url: str, db: Database) -> None:
    """A little before its last look: what is below that was promoted."""
    requests = Requests(SimpleQueue[str]().put)
    settings = SchedulerSettings.model_validate({"database_url": database_url})
    before = requests.promoted_us
    session = connect_leader(settings, name="sweeps")
    with closing(session), closing(Wakeup()) as wakeup:
        Sweeps(
            session,
            settings,
            epoch=lead(db),
            requests=requests,
            events=SimpleQueue[Event](),
            wakeup=wakeup,
            metrics=Metrics(),
        ).promote()

    (row,) = db.execute("SELECT extract(epoch FROM now())").fetchall()
    assert 0 == before < requests.promoted_us < row[0] * 1_000_000


def test_a_pool_without_it_has_no_row_and_one_that_loses_it_loses_its_row(
    database_url: str, db: Database
) -> None:
    """Who does not scale costs nothing."""
    store(db, POLICY % 1)
    insert(db, 3, "other")
    with scheduling(database_url):
        until(lambda: [row.pool for row in demands(db)] == ["big"], what="the row")

        store(db, "pools: [{name: big, queues: [b]}, {name: default, queues: ['*']}]")
        until(lambda: demands(db) == [], what="no row")


def test_a_new_leader_forgets_what_was_said_of_pools_that_do_not_scale(
    database_url: str, db: Database
) -> None:
    """The policy changed while no scheduler led."""
    store(db, POLICY % 1)
    with scheduling(database_url):
        until(lambda: bool(demands(db)), what="the row")
    store(db, "pools: [{name: big, queues: [b]}, {name: default, queues: ['*']}]")
    assert demands(db) != []

    with scheduling(database_url):
        until(lambda: demands(db) == [], what="no row")


def test_a_row_is_renewed_while_nothing_changes(database_url: str, db: Database) -> None:
    """An old row takes no pod away, so that an empty pool would stay as it is."""
    store(db, POLICY % 1)
    with scheduling(database_url):
        until(lambda: bool(demands(db)), what="the first row")
        (first,) = demands(db)

        until(lambda: demands(db)[0].at > first.at, what="a later one")


def test_a_deposed_leader_publishes_nothing(
    db: Database, called: psycopg.Connection[tuple[object, ...]]
) -> None:
    """The epoch is in the statement: nothing is written, deleted or called."""
    epoch = lead(db)
    demanded, requests = publishing(db, epoch, "big", "other")
    requests.publish_demand((needed(), needed("other")))
    demanded.publish()
    before = demands(db)
    lead(db)

    requests.set_demand_pools(frozenset({"big"}))
    requests.publish_demand((needed(begins=True, useful=9),))
    demanded.publish()

    assert ["big", "other"] == [row.pool for row in before]
    assert before == demands(db)
    assert [] == notified(called, db, "fairlead_autoscaler")


def test_the_newest_count_is_published_and_a_call_is_not_lost(
    db: Database, called: psycopg.Connection[tuple[object, ...]]
) -> None:
    """Where several came meanwhile; the schedulers' role may write them."""
    demanded, requests = publishing(db, lead(db), "big")
    requests.publish_demand((needed(begins=True, useful=1),))
    requests.publish_demand((needed(useful=2), needed("gone")))

    demanded.publish()

    assert [("big", 2)] == [(row.pool, row.slots_useful) for row in demands(db)]
    assert ["big"] == notified(called, db, "fairlead_autoscaler")


def test_the_schedulers_role_reads_and_publishes(db: Database, log_in: LogIn) -> None:
    """With no more rights than its own."""
    epoch = lead(db)
    demanded, requests = publishing(log_in("fairlead_scheduler"), epoch, "big")
    requests.unread = (("b", "", 10),)
    insert(db, 20, "b")
    register(db)
    db.execute("UPDATE fairlead.worker_leases SET pool = 'big', slots = 3, slots_full = 3")

    requests.publish_demand((needed(),))
    demanded.publish()
    demanded.read_inputs()

    seen = requests.demand_inputs.get_nowait()
    assert ({"big": 3}, {("b", ""): 10}, {}) == seen
    assert 1 == len(demands(db))
