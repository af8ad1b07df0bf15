"""What the hot statements read: few buffers a job, whatever stands behind them.

Their plans are made while the tables are empty and kept. Then a backlog comes, and rows that
came and went under an open snapshot, whose index entries nothing may clean up.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.connect import SESSION
from fairlead.db.statements import integers
from fairlead_cli.dev.postgres import Server
from tests.support.children import register
from tests.support.databases import cloned_database
from tests.support.statements import Prepared, Statement, faults, prepare, service_statements

pytestmark = pytest.mark.xdist_group("scale")

BATCH = 100
ROUNDS = 5

HOT = ("dispatch", "claim", "finish")
BESIDE = (
    "take_floor_scan_turn",
    "refill",
    "job_attributes",
    "observe",
    "promote",
    "promote_turns",
    "expire",
    "expire_turns",
    "steal",
    "receipts",
)
# Measured: 4.3 to 6.2, 8.1 to 9.2, 6.2 to 7.2 on PostgreSQL 18. Before 17 every id of an array
# is looked up by itself: up to 10.2, 9.2 and 12.3 on 15.
BUFFERS_PER_JOB_MAX = 10
BUFFERS_PER_JOB_MAX_BEFORE_17 = 13
STEAL_PAGES = 8192
# Measured on 15 over a million rows: 7, 400, 500, 409, 2152, 3011, 3221, 4421, 13303, 24. 18
# reads less.
# A row that comes or goes costs some in each index, and the steal reads the table's pages.
BUFFERS_MAX = {
    "take_floor_scan_turn": 20,
    "refill": 6 * BATCH,
    "job_attributes": 6 * BATCH,
    "observe": 6 * BATCH,
    "promote": 25 * BATCH,
    "promote_turns": 40 * BATCH,
    "expire": 35 * BATCH,
    "expire_turns": 50 * BATCH,
    "steal": 60 * BATCH + STEAL_PAGES,
    "receipts": 40,
}
TURNS = {
    "limit": BATCH,
    "after_queue": "",
    "after_tenant": "",
    "lanes": 1000,
    "lane_jobs": BATCH,
}

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
_INDEXES = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = 'fairlead'"
# A batch that falls due and one that expires for each statement, far behind what is dispatched.
_DUE = f"""
    UPDATE fairlead.jobs SET run_at = now() - interval '1 second'
    WHERE id = ANY (ARRAY(SELECT id FROM fairlead.jobs ORDER BY id DESC LIMIT {2 * BATCH}))
""".encode()
_EXPIRED = f"""
    UPDATE fairlead.jobs SET expires_at = now() - interval '1 second' WHERE id = ANY (ARRAY(
        SELECT id FROM fairlead.jobs ORDER BY id DESC OFFSET {2 * BATCH} LIMIT {2 * BATCH}))
""".encode()
_OVERDUE = b"UPDATE fairlead.work_queue SET deadline = now() - interval '1 hour'"
_TURN = b"UPDATE fairlead.floor_scans SET at = now() - interval '1 hour'"
_LANES = """
    SELECT j.tenant, min(j.seq) - 1 FROM (
        SELECT tenant, seq FROM fairlead.jobs
        WHERE id > (SELECT max(job_id) FROM fairlead.work_queue) ORDER BY id LIMIT 1000) j
    GROUP BY j.tenant ORDER BY j.tenant
"""
_LEFT = """
    SELECT (SELECT count(*) FROM fairlead.jobs WHERE run_at IS NOT NULL),
           (SELECT count(*) FROM fairlead.jobs WHERE expires_at IS NOT NULL),
           (SELECT count(*) FROM fairlead.work_queue WHERE worker IS NOT NULL)
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
    scope="module",
    params=[
        pytest.param((50_000, 30_000), id="short"),
        pytest.param(
            (1_000_000, 300_000), id="long", marks=[pytest.mark.long, pytest.mark.timeout(400)]
        ),
    ],
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
        prepared = {name: prepare(connection, hot(name)) for name in (*HOT, *BESIDE)}
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
    found = service_statements()
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
        "used": None,
        "kinds": None,
        "counted": None,
        "workers": None,
        "timeout_default": "10 min",
        "timeout_max": "1 hour",
    }


def claimed(scene: Scene) -> dict[str, object]:
    """Return what a worker with a batch of free slots asks for."""
    return {
        "worker": scene.worker,
        "pool": "default",
        "below_floor": False,
        "limit": BATCH,
        "full_kinds": None,
    }


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


def test_every_hot_statement_keeps_to_the_indexes_of_its_header(scene: Scene) -> None:
    """No sequential scan and no sort, with statistics that were taken while all was empty."""
    rows = scene.connection.execute(_INDEXES).fetchall()
    indexes = {str(index): str(table) for index, table in rows}

    plans = {name: scene.prepared[name].plan() for name in (*HOT, *BESIDE)}

    found = {name: faults(hot(name), plan, indexes) for name, plan in plans.items()}
    assert dict.fromkeys(plans, ()) == found


def test_the_statements_beside_them_read_few_buffers_too(scene: Scene) -> None:
    """Each does a batch of work and reads what that takes, whatever stands beside it."""
    read: dict[str, int] = {}
    # The first round also looks into the catalogs.
    for _ in range(2):
        prepare_work(scene)
        for name, values in asked(scene).items():
            before = blocks(scene)
            scene.prepared[name].run(values)
            read[name] = blocks(scene) - before - idle(scene)

    assert [(0, 0, 0)] == scene.connection.execute(_LEFT).fetchall()
    assert {} == {name: count for name, count in read.items() if count > BUFFERS_MAX[name]}


def prepare_work(scene: Scene) -> None:
    """Let a batch of jobs run past its deadline, one fall due and one expire."""
    scene.connection.execute("DELETE FROM fairlead.receipts")
    scene.prepared["dispatch"].run(dispatched(scene))
    scene.prepared["claim"].run(claimed(scene))
    for statement in (_OVERDUE, _DUE, _EXPIRED, _TURN):
        scene.connection.execute(statement)


def asked(scene: Scene) -> dict[str, dict[str, object]]:
    """Return what the leader and the workers ask for, from where they have looked so far."""
    execute = scene.connection.execute
    lanes = execute(_LANES).fetchall()
    newest, lately, receipt, page = execute(
        "SELECT (SELECT max(id) FROM fairlead.jobs),"
        " (extract(epoch FROM now()) * 1e6)::bigint - 10000000,"
        " (SELECT min(id) - 1 FROM fairlead.receipts),"
        " greatest(0, pg_relation_size('fairlead.work_queue') / 8192 - %s)",
        [STEAL_PAGES],
    ).fetchall()[0]
    sweep: dict[str, object] = {"epoch": 1, "from_us": lately, "limit": 1000}
    turns = {**sweep, **TURNS}
    return {
        "take_floor_scan_turn": {"pool": "default"},
        "refill": {
            "queues": array("q" for _ in lanes),
            "tenants": array(tenant for tenant, _ in lanes),
            "ranks": integers(0 for _ in lanes),
            "from_seqs": integers(int(seq) + 1 for _, seq in lanes),
            "counts": integers(1 for _ in lanes),
        },
        "job_attributes": {
            # Behind the newest four batches, of which each round leaves dead versions.
            "ids": integers(range(int(newest) - 5 * BATCH, int(newest) - 4 * BATCH)),
            "roots": array(["payload"] * BATCH),
            "paths": array(["account.id"] * BATCH),
            "bytes_max": 1 << 20,
            "least": 4,
        },
        "observe": {
            "last_id": int(newest) - BATCH,
            "lagging": True,
            "drawn": True,
            "limit": 1000,
        },
        "promote_turns": turns,
        "promote": sweep,
        "expire_turns": turns,
        "expire": sweep,
        "steal": {
            "epoch": 1,
            "after": f"({page},0)",
            "pages": STEAL_PAGES,
            "overdue_seconds": 1,
            "limit": 1000,
        },
        "receipts": {"epoch": 1, "after_id": receipt, "limit": 1000},
    }


def array(texts: Iterable[object]) -> str:
    """Return an array literal of words."""
    return "{" + ",".join(map(str, texts)) + "}"
