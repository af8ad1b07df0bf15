"""What holds whenever a transaction has committed, each as one query of what breaks it.

A query answers the jobs, tokens or rows that break it. They read what the start had and what
sides were told (`Told`) from the parameters, and what has committed from `live` (jobs),
`queue`, `history` and `told` (receipts).
"""

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.statements import integers
from tests.interleavings.scene import Scene, Told

Database = Connection[TupleRow]

INVARIANTS = {
    "a job is in one place": """
        SELECT k.id FROM unnest(%(jobs)s::bigint[]) AS k (id)
        WHERE (SELECT count(*) FROM live j WHERE j.id = k.id)
            + (SELECT count(*) FROM history h WHERE h.id = k.id) <> 1
    """,
    "a row of the queue has a job, or its handler has finished that": """
        SELECT q.job_id FROM queue q
        WHERE q.completed = EXISTS (SELECT FROM live j WHERE j.id = q.job_id)
    """,
    "what is queued is due": """
        SELECT q.job_id FROM queue q JOIN live j ON j.id = q.job_id
        WHERE j.run_at IS NOT NULL
    """,
    "a lease is whole": """
        SELECT q.job_id FROM queue q
        WHERE num_nonnulls(q.worker, q.token, q.claimed_at, q.deadline) NOT IN (0, 4)
    """,
    "a token is held by one": """
        SELECT t.token FROM (
            SELECT q.token FROM queue q WHERE NOT q.completed
            UNION ALL SELECT h.token FROM history h) t
        WHERE t.token IS NOT NULL GROUP BY t.token HAVING count(*) > 1
    """,
    "a lease was given by a claim": """
        SELECT t.job_id FROM (
            SELECT q.job_id, q.token FROM queue q
            UNION ALL SELECT h.id, h.token FROM history h) t
        WHERE t.token IS NOT NULL AND (t.job_id, t.token) NOT IN (
            SELECT * FROM unnest(%(leased_jobs)s::bigint[], %(leased_tokens)s::bigint[]))
    """,
    "what a worker finished has succeeded under its token": """
        SELECT f.id FROM unnest(%(finished_jobs)s::bigint[], %(finished_tokens)s::bigint[])
            AS f (id, token)
        WHERE NOT EXISTS (
            SELECT FROM history h
            WHERE h.id = f.id AND h.token = f.token AND h.outcome = 'succeeded')
    """,
    "no job has succeeded without a worker that finished it": """
        SELECT h.id FROM history h
        WHERE h.outcome = 'succeeded' AND (h.id, h.token) NOT IN (
            SELECT * FROM unnest(%(finished_jobs)s::bigint[], %(finished_tokens)s::bigint[]))
    """,
    "a failed job is repeated once": """
        SELECT r.retry_of FROM (
            SELECT j.retry_of FROM live j
            UNION ALL SELECT h.retry_of FROM history h) r
        WHERE r.retry_of IS NOT NULL GROUP BY r.retry_of HAVING count(*) > 1
    """,
    "a repeated job names the one that repeats it": """
        SELECT j.id FROM live j WHERE j.retry_of IS NOT NULL AND NOT EXISTS (
            SELECT FROM history h WHERE h.id = j.retry_of AND h.retried_as = j.id)
        UNION ALL
        SELECT h.id FROM history h WHERE h.retried_as IS NOT NULL AND NOT EXISTS (
            SELECT FROM live j WHERE j.id = h.retried_as UNION ALL
            SELECT FROM history j WHERE j.id = h.retried_as)
    """,
    "what leaves the queue is told": """
        SELECT k.id FROM unnest(%(jobs)s::bigint[]) AS k (id)
        WHERE (SELECT count(*) FROM queue q WHERE q.job_id = k.id)
            <> cardinality(array_positions(
                   %(queued)s::bigint[] || %(dispatched)s::bigint[], k.id))
             - cardinality(array_positions(%(recalled)s::bigint[], k.id))
             - (SELECT count(*) FROM told r, unnest(r.ended) AS e (id)
                WHERE e.id = k.id)
    """,
    "the leader was told of each job that waits for it": """
        SELECT j.id FROM live j
        WHERE j.run_at IS NULL AND j.id = ANY(%(jobs)s::bigint[])
          AND NOT EXISTS (SELECT FROM queue q WHERE q.job_id = j.id)
          AND cardinality(array_positions(%(pending)s::bigint[] || %(promoted)s::bigint[]
                                          || %(recalled)s::bigint[], j.id))
            + (SELECT count(*) FROM told r, unnest(r.evicted) AS e (id)
               WHERE e.id = j.id)
            <= cardinality(array_positions(%(dispatched)s::bigint[], j.id))
    """,
    "the leader was told of each job that has another priority than it was inserted with": """
        SELECT j.id FROM live j
        WHERE j.priority <> 0 AND j.run_at IS NULL AND j.id = ANY(%(jobs)s::bigint[])
          AND j.id <> ALL(%(promoted)s::bigint[])
          AND NOT EXISTS (
              SELECT FROM told r, jsonb_array_elements(r.moved) AS m
              WHERE m -> 4 @> to_jsonb(j.id) AND m -> 3 = to_jsonb(- j.priority))
    """,
    "who was given another priority stands behind all others": """
        SELECT j.id FROM live j
        WHERE j.priority <> 0 AND j.run_at IS NULL AND j.id = ANY(%(jobs)s::bigint[])
          AND j.seq <= %(place)s::bigint
    """,
    "what is promoted is the last of its lane": """
        SELECT j.id FROM live j
        WHERE j.id = ANY(%(just_promoted)s::bigint[]) AND j.seq <= %(place)s::bigint
    """,
    "an attempt ends only with a receipt": """
        SELECT k.id FROM unnest(%(jobs)s::bigint[]) AS k (id)
        CROSS JOIN LATERAL (
            SELECT cardinality(array_positions(%(leased_jobs)s::bigint[], k.id)) AS leased,
                   (SELECT count(*) FROM queue q
                    WHERE q.job_id = k.id AND q.worker IS NOT NULL) AS held,
                   (SELECT count(*) FROM told r, unnest(r.returned) AS e (id)
                    WHERE e.id = k.id) AS returned,
                   (SELECT count(*) FROM told r, unnest(r.ended) AS e (id)
                    WHERE e.id = k.id) AS ended) n
        WHERE n.leased NOT BETWEEN n.held + n.returned AND n.held + n.returned + n.ended
    """,
    "each claim is told": """
        SELECT k.id FROM unnest(%(jobs)s::bigint[]) AS k (id)
        WHERE cardinality(array_positions(%(leased_jobs)s::bigint[], k.id))
            <> (SELECT count(*) FROM told r, unnest(r.claimed) AS c (id) WHERE c.id = k.id)
    """,
    "what waits below the floor is told": """
        SELECT q.job_id FROM queue q
        JOIN fairlead.claim_floors f ON f.pool = q.pool AND f.band = q.band
        WHERE q.worker IS NULL AND q.vtag < f.vtag AND NOT %(numbers_mixed)s::boolean
          AND NOT EXISTS (SELECT FROM told r WHERE q.job_id = ANY(r.returned))
    """,
    "a claim is not missed by its worker's death": """
        SELECT q.job_id FROM queue q JOIN fairlead.worker_leases w ON w.id = q.worker
        WHERE q.token = ANY(%(claimed)s::bigint[]) AND w.dead_at IS NOT NULL
    """,
    "who says from where a job goes on has it": """
        SELECT c.id FROM unnest(%(just_checkpointed_jobs)s::bigint[],
                                %(just_checkpointed_tokens)s::bigint[]) AS c (id, token)
        WHERE NOT EXISTS (SELECT FROM queue q WHERE q.job_id = c.id AND q.token = c.token)
    """,
    "nobody changes anything under an old epoch": """
        SELECT l.epoch FROM fairlead.leaders l
        WHERE l.role = 'scheduler' AND l.epoch > ANY(%(epochs)s::bigint[])
    """,
}

_TABLES = """
    WITH live AS MATERIALIZED (SELECT id, seq, priority, run_at, retry_of FROM fairlead.jobs),
    queue AS MATERIALIZED (
        SELECT job_id, worker, token, claimed_at, deadline, completed, vtag, pool, band
        FROM fairlead.work_queue WHERE job_id <> ALL(%(deleted)s::bigint[])),
    history AS MATERIALIZED (
        SELECT id, token, outcome, retry_of, retried_as FROM fairlead.job_history),
    told AS MATERIALIZED (
        SELECT claimed, ended, returned, evicted, moved FROM fairlead.receipts)
"""
_ALL = _TABLES + " UNION ALL ".join(
    f"SELECT $${name}$$ AS what, array_agg(x::text) AS who FROM ({query}) x HAVING count(*) > 0"
    for name, query in INVARIANTS.items()
)

_STATE = b"""
    SELECT ARRAY(
        SELECT (j.id - %(first)s, j.run_at IS NULL, j.run_at <= now(), j.expires_at <= now(),
                j.attempts, j.crashes, j.losses, j.suspect, j.cancel_requested_at IS NULL,
                j.retry_of - %(first)s, j.checkpoint IS NULL, j.priority)::text
        FROM fairlead.jobs j ORDER BY j.id),
    ARRAY(
        SELECT (q.job_id - %(first)s, q.worker, q.token IS NULL, q.vtag, q.completed, q.alone,
                q.epoch)::text
        FROM fairlead.work_queue q ORDER BY q.job_id),
    ARRAY(
        SELECT (h.id - %(first)s, h.outcome, h.token IS NULL, h.retried_as IS NULL)::text
        FROM fairlead.job_history h ORDER BY h.id),
    ARRAY(
        SELECT (w.id, w.dead_at IS NULL, w.draining)::text
        FROM fairlead.worker_leases w ORDER BY w.id),
    ARRAY(
        SELECT (f.pool, f.band, f.vtag)::text
        FROM fairlead.claim_floors f ORDER BY f.pool, f.band),
    (SELECT l.epoch FROM fairlead.leaders l WHERE l.role = 'scheduler')
"""


def broken(db: Database, scene: Scene, told: Told, *, changed: Told) -> list[str]:
    """Return which invariants do not hold, and for whom.

    Args:
        db: a session that sees what has committed.
        scene: the start.
        told: what all sides were told until now.
        changed: what the transaction that committed last was told.
    """
    leased = [*scene.leases, *told.leased]
    finished = [*scene.finished, *told.finished]
    finished = [lease for lease in finished if lease.job not in told.deleted]
    checkpointed = [lease for lease in changed.checkpointed if lease.job not in told.deleted]
    columns = {
        "jobs": [job for job in scene.jobs if job not in told.deleted],
        "deleted": told.deleted,
        "pending": scene.pending,
        "queued": scene.queued,
        "dispatched": told.dispatched,
        "recalled": told.recalled,
        "promoted": told.promoted,
        "just_promoted": changed.promoted,
        "epochs": changed.epochs,
        "claimed": [lease.token for lease in changed.leased],
        "just_checkpointed_jobs": [lease.job for lease in checkpointed],
        "just_checkpointed_tokens": [lease.token for lease in checkpointed],
        "leased_jobs": [lease.job for lease in leased],
        "leased_tokens": [lease.token for lease in leased],
        "finished_jobs": [lease.job for lease in finished],
        "finished_tokens": [lease.token for lease in finished],
    }
    # As text, which always has one type, so that the query is planned once.
    values: dict[str, object] = {name: integers(column) for name, column in columns.items()}
    values["place"] = scene.place
    values["numbers_mixed"] = told.numbers_mixed
    return [f"{what}: {who}" for what, who in db.execute(_ALL.encode(), values).fetchall()]


def state(db: Database, scene: Scene) -> str:
    """Return what has committed, without what differs from run to run."""
    return repr(db.execute(_STATE, {"first": scene.jobs[0]}).fetchone())
