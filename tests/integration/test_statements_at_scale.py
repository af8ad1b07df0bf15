"""What the hot statements read: few buffers a job, whatever stands behind them.

Their plans are made while the tables are empty and kept. Then a backlog comes, and rows that
came and went under an open snapshot, whose index entries nothing may clean up.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.dev.postgres import Server
from fairlead.sql import integers
from fairlead.store import SESSION
from tests.support.children import register
from tests.support.databases import cloned_database
from tests.support.statements import Prepared, Statement, prepare, statements

BATCH = 100
ROUNDS = 5

HOT = ("dispatch", "claim", "finish")
# Measured: 4.3 to 6.2, 8.1 to 9.2, 6.2 to 7.2 on PostgreSQL 18. Before 17 every id of an array
# is looked up by itself: up to 10.2, 9.2 and 12.3 on 15.
BUFFERS_PER_JOB_MAX = 10
BUFFERS_PER_JOB_MAX_BEFORE_17 = 13

_BACKLOG = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT 'q', 't' || i %% 100, 'k' FROM generate_series(1, %s) i
"""
_DISPATCHED = """
    INSERT INTO fairlead.work_queue
        (job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, pool, queue, tenant)
    SELECT id, id, 1, 1, now(), '1 min', 0, 'default', queue, tenant
    FROM fairlead.jobs ORDER BY id LIMIT %s
"""
_ENDED = """
    SELECT fairlead._end_jobs(array_agg(job_id), array_agg('succeeded'::text))
    FROM fairlead.work_queue
"""


_PENDING = f"""
    SELECT id FROM fairlead.jobs
    WHERE id > (SELECT coalesce(max(job_id), 0) FROM fairlead.work_queue)
    ORDER BY id LIMIT {BATCH}
""".encode()
_CLAIMED = """
    SELECT job_id, token FROM fairlead.work_queue WHERE worker IS NOT NULL ORDER BY job_id
"""
_BLOCKS = """
    SELECT pg_stat_get_db_blocks_fetched(oid) FROM pg_database
    WHERE datname = current_database()
"""


@dataclass(frozen=True, slots=True)
class Scene:
    """A service's session with the hot statements prepared, and who works in it."""

    connection: Connection[TupleRow]
    prepared: Mapping[str, Prepared]
    worker: int


@pytest.fixture(
    params=[
        pytest.param((50_000, 30_000), id="short"),
        pytest.param((1_000_000, 300_000), id="long", marks=pytest.mark.long),
    ]
)
def scene(request: pytest.FixtureRequest, server: Server) -> Iterator[Scene]:
    """Yield prepared statements over a backlog and dead rows that an open snapshot keeps."""
    backlog, dead = request.param
    with (
        cloned_database(server) as url,
        psycopg.connect(url, autocommit=True) as connection,
        psycopg.connect(url) as snapshot,
    ):
        connection.execute("ANALYZE")
        for setting in SESSION:
            connection.execute(setting.encode())
        prepared = {name: prepare(connection, hot(name)) for name in HOT}
        for statement in prepared.values():
            statement.plan()
        snapshot.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        snapshot.execute("SELECT FROM fairlead.jobs")
        fill(url, backlog=backlog, dead=dead)
        yield Scene(connection, prepared, take_part(connection))


def fill(url: str, *, backlog: int, dead: int) -> None:
    """Insert jobs and end the oldest of them, in an ordinary session."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((_BACKLOG % (backlog + dead)).encode())
        connection.execute((_DISPATCHED % dead).encode())
        connection.execute(_ENDED.encode())


def hot(name: str) -> Statement:
    """Return a statement by its name."""
    found = statements("fairlead_worker", "fairlead_scheduler")
    return next(each for each in found if each.name == name)


def take_part(connection: Connection[TupleRow]) -> int:
    """Lead under epoch 1, and return the id of a worker that lives."""
    connection.execute("UPDATE fairlead.leaders SET epoch = 1 WHERE role = 'scheduler'")
    return register(connection, slots=100)


def dispatched(scene: Scene) -> dict[str, object]:
    """Return a plan for the oldest pending jobs."""
    ids = [int(row[0]) for row in scene.connection.execute(_PENDING)]
    return {
        "epoch": 1,
        "pool": "default",
        "band": 0,
        "floor": ids[0],
        "ids": integers(ids),
        "vtags": integers(ids),
        "estimates_us": integers([1] * BATCH),
        "seen_us": integers([1] * BATCH),
        "timeout_default": "10 min",
        "timeout_max": "1 hour",
    }


def claimed(scene: Scene) -> dict[str, object]:
    """Return what a worker with a batch of free slots asks for."""
    return {"worker": scene.worker, "pool": "default", "below_floor": False, "limit": BATCH}


def finished(scene: Scene) -> dict[str, object]:
    """Return the success of every claimed job."""
    rows = scene.connection.execute(_CLAIMED).fetchall()
    nothing = integers([None] * len(rows))
    return {
        "ids": integers(int(job) for job, _ in rows),
        "tokens": integers(int(token) for _, token in rows),
        "outcomes": nothing,
        "results": nothing,
        "errors": nothing,
        "run_us": integers([1] * len(rows)),
    }


def blocks(scene: Scene) -> int:
    """Return how many buffers were asked for; a plan hides those of its CTEs."""
    scene.connection.execute("SELECT pg_stat_force_next_flush()")
    row = scene.connection.execute(_BLOCKS).fetchone()
    assert row is not None
    return int(row[0])


def idle(scene: Scene) -> int:
    """Return how many buffers the counting itself asks for."""
    return -blocks(scene) + blocks(scene)


def test_the_hot_statements_read_few_buffers_a_job(scene: Scene) -> None:
    """Neither the backlog nor dead entries under an open snapshot make them read more."""
    touched: dict[str, list[float]] = {name: [] for name in HOT}

    for _ in range(ROUNDS):
        for name, batch in (("dispatch", dispatched), ("claim", claimed), ("finish", finished)):
            values = batch(scene)
            before = blocks(scene)
            plan = scene.prepared[name].run(values)
            after = blocks(scene)
            assert plan["Actual Rows"] == BATCH
            touched[name].append((after - before - idle(scene)) / BATCH)

    # The first round also looks into the catalogs.
    worst = {name: max(values[1:]) for name, values in touched.items()}
    old = scene.connection.info.server_version < 170_000
    most = BUFFERS_PER_JOB_MAX_BEFORE_17 if old else BUFFERS_PER_JOB_MAX
    assert {} == {name: read for name, read in worst.items() if read > most}
