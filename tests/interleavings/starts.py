"""The states that schedules begin with, each made once by the product's own statements.

Their rows are copied, and put back before each schedule: a millisecond, and the same ids.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from psycopg import Connection
from psycopg.rows import TupleRow

from tests.interleavings.scene import Scene
from tests.support import race
from tests.support.children import register

Database = Connection[TupleRow]
Make = Callable[[Database, Scene], Scene]

TABLES = (
    "jobs",
    "work_queue",
    "job_history",
    "receipts",
    "attempt_errors",
    "evictions",
    "job_progress",
    "paused",
    "rate_usage",
    "unique_periods",
    "worker_leases",
    "leaders",
    "claim_floors",
)
_CLEAR = f"""
    DO $$ BEGIN
        SET LOCAL session_replication_role = replica;
        {" ".join(f"DELETE FROM fairlead.{each};" for each in TABLES[:-2])}
        UPDATE fairlead.claim_floors SET vtag = 0;
    END $$
"""
_COLUMNS = """
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
    WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
"""


def pending(_db: Database, scene: Scene) -> Scene:
    """Two jobs wait for the leader."""
    return replace(scene, pending=scene.jobs)


def queued(db: Database, scene: Scene) -> Scene:
    """Two jobs are dispatched."""
    assert scene.jobs == race.dispatch(db, scene.jobs, epoch=scene.epoch, floor=900)
    return replace(scene, queued=scene.jobs)


def running(db: Database, scene: Scene) -> Scene:
    """A worker holds two jobs."""
    scene = queued(db, scene)
    return replace(scene, leases=race.claim(db, scene.worker))


def mixed(db: Database, scene: Scene) -> Scene:
    """A worker holds one job; the other waits for one."""
    first, second = scene.jobs
    assert (first,) == race.dispatch(db, [first], epoch=scene.epoch, floor=900)
    leases = race.claim(db, scene.worker)
    assert (second,) == race.dispatch(db, [second], epoch=scene.epoch, floor=900)
    return replace(scene, leases=leases, queued=scene.jobs)


def lost(db: Database, scene: Scene) -> Scene:
    """The worker that holds two jobs is dead."""
    scene = lapsed(db, scene)
    assert (scene.worker,) == race.mark_dead(db, epoch=scene.epoch)
    return scene


def lapsed(db: Database, scene: Scene) -> Scene:
    """The worker that holds two jobs has not renewed its lease."""
    scene = running(db, scene)
    race.let_lapse(db, scene.worker)
    return scene


def overdue(db: Database, scene: Scene) -> Scene:
    """Two attempts are past their deadlines."""
    scene = running(db, scene)
    race.let_overrun(db, *scene.leases)
    return scene


def cancelling(db: Database, scene: Scene) -> Scene:
    """Two attempts were asked to stop."""
    scene = running(db, scene)
    assert ["requested"] * 2 == [race.cancel(db, job) for job in scene.jobs]
    return scene


def evicted(db: Database, scene: Scene) -> Scene:
    """Two attempts were asked to make room."""
    scene = running(db, scene)
    for lease in scene.leases:
        db.execute(
            "INSERT INTO fairlead.evictions (job_id, token, for_queue, for_tenant)"
            " VALUES (%s, %s, 'default', 'other')",
            [lease.job, lease.token],
        )
    return scene


def completed(db: Database, scene: Scene) -> Scene:
    """Two handlers have completed their jobs and go on."""
    scene = running(db, scene)
    assert ["", ""] == [race.complete(db, lease) for lease in scene.leases]
    return replace(scene, finished=scene.leases)


def due(db: Database, scene: Scene) -> Scene:
    """Two scheduled jobs have fallen due."""
    scene = later(db, scene)
    race.let_fall_due(db, *scene.jobs)
    return scene


def later(db: Database, scene: Scene) -> Scene:
    """Two jobs are scheduled."""
    db.execute("UPDATE fairlead.jobs SET run_at = now() + interval '1 hour'")
    return scene


def expired(db: Database, scene: Scene) -> Scene:
    """Two jobs wait for the leader and have expired."""
    race.let_expire(db, *scene.jobs)
    return pending(db, scene)


def queued_expired(db: Database, scene: Scene) -> Scene:
    """Two jobs were dispatched and have expired."""
    scene = queued(db, scene)
    race.let_expire(db, *scene.jobs)
    return scene


def failed(db: Database, scene: Scene) -> Scene:
    """Two jobs have failed for good."""
    scene = running(db, scene)
    assert scene.jobs == race.finish(db, scene.leases, outcome="failed")
    return scene


def unpartitioned(db: Database, scene: Scene) -> Scene:
    """A worker holds two jobs on a day without a partition of history."""
    return running(db, scene)


STARTS: dict[str, Make] = {
    make.__name__: make
    for make in (
        pending,
        queued,
        running,
        mixed,
        lost,
        lapsed,
        overdue,
        cancelling,
        evicted,
        completed,
        due,
        later,
        expired,
        queued_expired,
        failed,
        unpartitioned,
    )
}
_UNPARTITION = """
    FOR partition IN
        SELECT c.oid::regclass::text FROM pg_class c
        WHERE c.relkind = 'r' AND c.oid::regclass::text ~ '^fairlead.job_history_.*[0-9]$'
    LOOP
        EXECUTE 'DROP TABLE ' || partition;
    END LOOP;
"""


def make(db: Database, name: str) -> Scene:
    """Make a state, and keep it as `proof.restore_<name>()`."""
    db.execute(_CLEAR.encode())
    worker, other, last = (
        register(db, slots=100, name=each, releases_slots=True)
        for each in ("holder", "other", "last")
    )
    rows = db.execute(
        "INSERT INTO fairlead.jobs (kind, dedup_key) VALUES ('noop', 'a'), ('noop', 'b')"
        " RETURNING id"
    )
    jobs: Sequence[int] = [row[0] for row in rows.fetchall()]
    scene = Scene((jobs[0], jobs[1]), race.lead(db), worker, other, last)
    scene = STARTS[name](db, scene)
    _keep(db, name)
    (place,) = db.execute("SELECT last_value FROM fairlead.places").fetchone() or (0,)
    return replace(scene, place=place)


def _keep(db: Database, name: str) -> None:
    body = [_UNPARTITION] if name == unpartitioned.__name__ else list[str]()
    for table in TABLES:
        (columns,) = db.execute(_COLUMNS, [f"fairlead.{table}"]).fetchone() or ("",)
        kept = f"proof.{name}_{table}"
        db.execute(f"CREATE TABLE {kept} AS SELECT {columns} FROM fairlead.{table}".encode())
        body.append(f"DELETE FROM fairlead.{table};")
        if db.execute(f"SELECT true FROM {kept} LIMIT 1".encode()).fetchone():
            body.append(
                f"INSERT INTO fairlead.{table} ({columns})"
                f" OVERRIDING SYSTEM VALUE SELECT {columns} FROM {kept};"
            )
    db.execute(
        f"CREATE FUNCTION proof.restore_{name}() RETURNS void LANGUAGE plpgsql"
        " SET session_replication_role = replica"
        f" AS $$ DECLARE partition text; BEGIN {' '.join(body)} END $$".encode()
    )
