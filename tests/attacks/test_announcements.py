"""A worker's login announces what nobody means: others read on, and no slower."""

from time import perf_counter

import pytest
from psycopg import errors

from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import Database, rows
from tests.support.worker_logins import queue, register, renewal

_ANNOUNCE = "SELECT fairlead.announce_kinds(%s, {})"
_NO_LISTS = (
    "array[['a', 'b']]",
    "'[0:1]={a,b}'::text[]",
    "array['a', null]",
    "(SELECT array_agg('k' || i) FROM generate_series(1, 1001) i)",
    "array['a', 'b'], array[[1], [2]]",
    "array['a', 'b'], '[2:3]={1,2}'::integer[]",
    "array['a'], array[1, 2]",
    "array['a', 'b'], null, array[[true], [false]]",
    "array['a'], null, array[true, false]",
    "array['a', repeat('x', 129)]",
)
"""Arguments that are no lists of kinds, or not as long as they are."""

_WORKERS_WITH_MOST = """
    WITH live AS (
        INSERT INTO fairlead.worker_leases (lease_until, slots, name, pool)
        SELECT now() + interval '1 hour', 1, 'w' || i, 'default' FROM generate_series(1, 2000) i
        RETURNING id)
    INSERT INTO fairlead.worker_kinds (worker, kinds, max_attempts)
    SELECT l.id, k.kinds, array_fill(null::integer, array[1000])
    FROM live l CROSS JOIN (
        SELECT array_agg(lpad(i::text, 128, 'x')) AS kinds FROM generate_series(1, 1000) i) k
"""


@pytest.fixture
def worker(log_in: LogIn) -> Database:
    """Return the session of a worker's login."""
    return log_in("fairlead_worker")


@pytest.mark.parametrize("said", _NO_LISTS)
def test_kinds_are_lists(db: Database, worker: Database, said: str) -> None:
    """An array of two dimensions ended each read of `job_status` in an error, whoever read."""
    race.insert_one(db)
    me = register(worker)

    with pytest.raises(errors.CheckViolation, match=r"fairlead|worker_kinds"):
        worker.execute(_ANNOUNCE.format(said).encode(), [me])

    assert [(20,)] == db.execute("SELECT max_attempts FROM fairlead.job_status").fetchall()
    assert [] == db.execute("SELECT FROM fairlead.announced_kinds").fetchall()


def test_an_announcement_replaces_the_one_before(db: Database, worker: Database) -> None:
    """Of a kind that is named twice the first counts; the newest worker's word is shown."""
    race.insert_one(db)
    me, later = register(worker), register(worker)
    shown = "SELECT max_attempts FROM fairlead.job_status"
    for said, wanted in (("'{noop,noop}', '{3,4}'", 3), ("'{}'", 20), ("'{noop}', '{5}'", 5)):
        worker.execute(_ANNOUNCE.format(said).encode(), [me])
        assert [(wanted,)] == db.execute(shown).fetchall()

    worker.execute(_ANNOUNCE.format("'{noop}', '{7}'").encode(), [later])
    assert [(7,)] == db.execute(shown).fetchall()
    worker.execute("SELECT fairlead.deregister_workers(array[%s::bigint])", [later])
    db.execute("DELETE FROM fairlead.worker_leases WHERE id = %s", [later])
    assert [(5,)] == db.execute(shown).fetchall()


def test_reads_cost_the_same_whatever_workers_announce(db: Database, worker: Database) -> None:
    """They went through all kinds of all workers for each job without `max_attempts`."""
    db.execute(
        "INSERT INTO fairlead.jobs (kind) SELECT 'noop' FROM generate_series(1, 5000)",
    )
    _announce_most(worker, workers=30)
    began = perf_counter()

    assert [(5000,)] == db.execute(
        "SELECT count(*) FROM fairlead.job_status WHERE max_attempts = 20"
    ).fetchall()

    assert perf_counter() - began < 2, "it takes 0.1 s, and took a minute"


def test_a_look_for_another_handler_is_by_the_kind(db: Database, worker: Database) -> None:
    """An attempt that has no handler went through all kinds of all workers of its pool."""
    me = register(worker, slots=30)
    leases = [race.claim_one(worker, me) for _ in range(30) if queue(db)]
    db.execute(_WORKERS_WITH_MOST)
    began = perf_counter()

    back = worker.execute(
        "SELECT became FROM fairlead.hand_back(%s, %s, %s)",
        [
            [lease.job for lease in leases],
            [lease.token for lease in leases],
            ["unhandled"] * len(leases),
        ],
    ).fetchall()

    assert [("scheduled",)] * 30 == back, "no other worker has a handler"
    assert perf_counter() - began < 1, "it takes 0.1 s, and took 2.4 s"


def test_a_value_from_a_table_is_no_shorter_than_it_is(db: Database, worker: Database) -> None:
    """It is compressed there: 3.5 MB of crash breakers passed as 44 kB.

    There are no more of them than may be, so that their length alone is judged.
    """
    me = register(worker)
    worker.execute(
        "CREATE TEMP TABLE stored AS SELECT"
        " (SELECT jsonb_agg(jsonb_build_array('k', repeat('x', 35000)))"
        "  FROM generate_series(1, 100)) AS breakers,"
        " (SELECT array_agg(repeat('x', 1000)) FROM generate_series(1, 3500)) AS kinds"
    )
    (small,) = worker.execute(
        "SELECT greatest(pg_column_size(breakers), pg_column_size(kinds)) <= 65536 FROM stored"
    ).fetchall()
    assert small == (True,), "else this test tries nothing"

    worker.execute(
        "SELECT fairlead.renew_worker(%s, crash_breakers => breakers, evictable_kinds => kinds)"
        " FROM stored",
        [me],
    )

    stored = "SELECT crash_breakers, evictable_kinds FROM fairlead.worker_leases"
    assert [(None, None)] == db.execute(stored).fetchall()


@pytest.mark.parametrize("kinds", ["{{a,b}}", "[0:1]={a,b}"])
def test_kinds_that_make_room_are_a_list(db: Database, worker: Database, kinds: str) -> None:
    """The lease is renewed all the same."""
    assert rows(
        worker,
        "fairlead_worker.parent",
        "renew",
        renewal(register(worker), evictable_kinds=kinds),
    )

    stored = "SELECT evictable_kinds FROM fairlead.worker_leases"
    assert [(None,)] == db.execute(stored).fetchall()


def test_a_schedules_payload_from_a_table_is_as_deep_as_it_is(log_in: LogIn) -> None:
    """Compressed it passed as one that is too short to be nested 500 deep."""
    application = log_in("fairlead_enqueue")
    application.execute(
        "CREATE TEMP TABLE stored AS"
        " SELECT (repeat('[', 1000) || repeat(']', 1000))::jsonb AS payload"
    )

    with pytest.raises(errors.CheckViolation, match="nested_at_most_500_deep"):
        application.execute(
            "INSERT INTO fairlead.schedules (name, cron, kind, payload)"
            " SELECT 'deep', '0 3 * * *', 'noop', payload FROM stored"
        )


def _announce_most(worker: Database, *, workers: int) -> None:
    """Have workers that announce as many kinds as they may."""
    worker.execute(
        "SELECT fairlead.announce_kinds(r.worker, (SELECT array_agg(lpad(i::text, 128, 'x'))"
        " FROM generate_series(1, 1000) i)) FROM generate_series(1, %s) n CROSS JOIN LATERAL"
        " fairlead.register_worker('w' || n, 'default', 1, 3600) r",
        [workers],
    )
