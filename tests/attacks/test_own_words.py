"""What a worker's login says of its own: others wait for none of it, and it counts once."""

from contextlib import closing
from time import perf_counter

import pytest
from psycopg import errors
from psycopg.types.json import Jsonb

from fairlead import policy_storage
from fairlead.db.statements import load
from fairlead.settings import DatabaseSettings
from fairlead_autoscaler.controller.database import Database as AutoscalerDatabase
from tests.support import race
from tests.support.logins import LogIn
from tests.support.race import Database, Lease, rows
from tests.support.schedulers import scheduling
from tests.support.waiting import until
from tests.support.worker_logins import queue, register, registration

_LOOP = "fairlead_scheduler.loop"
_FINISH = "SELECT fairlead.finish(%s, %s)"
_READ_AS_80_MB = "[" + ",".join(["1e-16383"] * 5000) + "]"
_SCALED = """
version: 1
pools:
  - {name: a, queues: [a], autoscale: {objective: 30s, min: 0, max: 8, slots: 5}}
  - {name: b, queues: ["*"], autoscale: {objective: 30s, min: 0, max: 8, slots: 5}}
"""
_ERRORS_OF_ONE_JOB = """
    INSERT INTO fairlead.attempt_errors (job_id, token, attempt, ended_as)
    SELECT %s, i, i, 'released' FROM generate_series(1, 200000) i
"""


@pytest.fixture
def worker(log_in: LogIn) -> Database:
    """Return the session of a worker's login."""
    return log_in("fairlead_worker")


@pytest.fixture
def lease(db: Database, worker: Database) -> Lease:
    """Claim a job with it."""
    queue(db)
    return race.claim_one(worker, register(worker))


def limit(session: Database, worker: int, *kinds: str, at_most: int = 1) -> None:
    """Say how many jobs of some kinds may run at once."""
    said = [worker, [*kinds], [at_most] * len(kinds)]
    session.execute("SELECT fairlead.limit_kinds(%s, %s, %s)", said)


def told(db: Database, *limits: tuple[str, str, int]) -> None:
    """Tell workers that these limits hold, as the leader does."""
    pools, kinds, numbers = map(list, zip(*limits, strict=True))
    given = {"epoch": race.leading(db), "pools": pools, "kinds": kinds, "limits": numbers}
    db.execute(load(_LOOP, "hold_to_limits"), {**given, "most": 100})


def limits(db: Database, *pools: str) -> list[tuple[object, ...]]:
    """Return the limits of kinds of these pools, as the leader reads them."""
    given = {"pools": [*pools], "limit": 100, "looked": 64}
    return [tuple(each.values()) for each in rows(db, _LOOP, "kind_limits", given)]


def test_the_leader_waits_for_no_limit_that_is_said_again(
    db: Database, worker: Database, log_in: LogIn
) -> None:
    """An open transaction ended its term: it waited for the row that it wanted to change."""
    me, other = register(worker), log_in("fairlead_worker")
    limit(worker, me, "noop")
    limit(other, register(other), "noop")
    worker.autocommit = False
    limit(worker, me, "noop")

    db.execute("SET statement_timeout = '2s'")
    told(db, ("default", "noop", 1))

    worker.commit()
    known = "SELECT worker = %s, known FROM fairlead.worker_kind_limits ORDER BY 1"
    assert [(False, True), (True, False)] == db.execute(known, [me]).fetchall()


def test_the_limits_of_kinds_are_read_as_fast_whatever_is_announced(
    db: Database, worker: Database
) -> None:
    """For each limit that no live worker has, all kinds of all live workers were looked at."""
    worker.execute(
        "SELECT fairlead.announce_kinds(r.worker, (SELECT array_agg(lpad(i::text, 128, 'x'))"
        " FROM generate_series(1, 1000) i)) FROM generate_series(1, 20) n CROSS JOIN LATERAL"
        " fairlead.register_worker('w' || n, 'default', 1, 3600) r"
    )
    gone = [register(worker) for _ in range(5)]
    for number, me in enumerate(gone):
        limit(worker, me, *(f"k{number}-{kind}" for kind in range(100)))
    worker.execute("SELECT fairlead.deregister_workers(%s)", [gone])
    began = perf_counter()

    assert 100 == len(limits(db, "default"))

    assert perf_counter() - began < 0.5, "it takes 0.05 s, and took 10"


def test_the_limits_of_one_pool_leave_out_none_of_another(
    db: Database, worker: Database
) -> None:
    """A thousand were read of all, in the order of the pools' names."""
    for number in range(10):
        me = register(worker, pool="a")
        limit(worker, me, *(f"k{number}-{kind}" for kind in range(100)))
    limit(worker, register(worker), "noop", at_most=3)

    found = limits(db, "a", "default")
    assert 101 == len(found)
    assert ("default", "noop", 3) in [each[:3] for each in found]


@pytest.mark.parametrize("dead", [0, 100])
def test_a_limit_holds_however_many_said_another_and_are_dead(
    db: Database, worker: Database, dead: int
) -> None:
    """Those with the smallest numbers are looked at first, then the newest."""
    limit(worker, register(worker), "noop", at_most=7)
    gone = [register(worker) for _ in range(dead)]
    for me in gone:
        limit(worker, me, "noop", at_most=2)
    limit(worker, register(worker), "noop", at_most=5)
    gone.append(register(worker))
    limit(worker, gone[-1], "noop", at_most=9)
    worker.execute("SELECT fairlead.deregister_workers(%s)", [gone])

    assert [("default", "noop", 5)] == [each[:3] for each in limits(db, "default")]


def test_what_a_bound_login_limits_counts_apart(
    db: Database, worker: Database, log_in: LogIn
) -> None:
    """It could hold as many jobs of another pool's kind as that may have at once, for ever."""
    bound = log_in("fairlead_worker")
    db.execute("INSERT INTO fairlead.pool_logins VALUES (%s, 'a')", [bound.info.user])
    limit(bound, register(bound, pool="a"), "noop", at_most=1000)
    limit(worker, register(worker), "noop", at_most=3)

    assert [("a", "noop", 1000, bound.info.user), ("default", "noop", 3, "")] == [
        (pool, kind, most, fleet) for pool, kind, most, _, fleet in limits(db, "a", "default")
    ]


def test_an_attempt_that_is_named_twice_ends_once(
    db: Database, worker: Database, lease: Lease
) -> None:
    """Its ending was stored and told as often as it was named."""
    assert [(lease.token,)] == worker.execute(
        _FINISH, [[lease.job] * 1000, [lease.token] * 1000]
    ).fetchall()

    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.job_history").fetchall()
    assert [([lease.job],)] == db.execute(
        "SELECT ended FROM fairlead.receipts WHERE ended IS NOT NULL"
    ).fetchall()


def test_an_attempt_that_is_handed_back_twice_ends_once(
    db: Database, worker: Database, lease: Lease
) -> None:
    """As one that is named twice when it finishes."""
    worker.execute(
        "SELECT fairlead.hand_back(%s, %s, %s)",
        [[lease.job] * 1000, [lease.token] * 1000, ["released"] * 1000],
    )

    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.attempt_errors").fetchall()
    assert [(1,)] == db.execute(
        "SELECT cardinality(returned) FROM fairlead.receipts WHERE returned IS NOT NULL"
    ).fetchall()


def test_a_slot_that_is_given_back_twice_is_told_once(
    db: Database, worker: Database, lease: Lease
) -> None:
    """The leader ran out of memory over one receipt of millions, and so did the next one."""
    worker.execute("SELECT fairlead.complete(%s, %s)", [lease.job, lease.token])

    worker.execute(
        "SELECT fairlead.release(%s, %s)", [[lease.job] * 1000, [lease.token] * 1000]
    )

    assert [(1,)] == db.execute(
        "SELECT cardinality(ended) FROM fairlead.receipts WHERE ended IS NOT NULL"
    ).fetchall()


def test_two_attempts_of_one_job_may_end_in_one_call(
    db: Database, worker: Database, lease: Lease
) -> None:
    """One of them was lost: its token is another."""
    assert [(lease.token,)] == worker.execute(
        _FINISH, [[lease.job] * 3, [0, lease.token, None]]
    ).fetchall()
    assert [(1,)] == db.execute("SELECT count(*) FROM fairlead.job_history").fetchall()


def test_a_result_is_as_long_as_it_is_read(worker: Database, lease: Lease) -> None:
    """Its numbers took eight bytes each, and whoever read the job 16 kB for each of them."""
    with pytest.raises(errors.CheckViolation, match="bytes of JSON, more than 1,048,576"):
        worker.execute(
            "SELECT fairlead.finish(%s, %s, results => %s)",
            [[lease.job], [lease.token], [_READ_AS_80_MB]],
        )


def test_no_attempt_is_older_than_its_claim(db: Database, worker: Database) -> None:
    """A claim in an old transaction had its tenant charged for the time since that began."""
    me = register(worker)
    queue(db)
    worker.autocommit = False
    ((began,),) = worker.execute("SELECT now()").fetchall()
    until(
        lambda: db.execute(
            "SELECT true WHERE clock_timestamp() > %s + '2.5 s'::interval", [began]
        ).fetchall(),
        what="an old transaction",
    )
    lease = race.claim_one(worker, me)
    worker.execute(_FINISH, [[lease.job], [lease.token]])
    worker.commit()

    ((ran, ended, told_at),) = db.execute(
        "SELECT claimed_at - %(began)s > '1 s', finished_at - %(began)s > '1 s',"
        " (SELECT min(at) FROM fairlead.receipts) - %(began)s > '1 s'"
        " FROM fairlead.job_history",
        {"began": began},
    ).fetchall()
    assert (True, True, True) == (ran, ended, told_at)


@pytest.mark.parametrize("seconds", ["-1e10", "-1", "'-Infinity'"])
def test_no_lease_ends_before_it_begins(db: Database, worker: Database, seconds: str) -> None:
    """Any number of workers that had lapsed long ago could register, and all were read."""
    worker.execute(f"SELECT fairlead.register_worker('w', 'default', 1, {seconds})".encode())
    renews = f"SELECT fairlead.renew_worker(id, {seconds}) FROM unnest(%s::bigint[]) id"
    worker.execute(renews.encode(), [[register(worker)]])

    assert [(2,)] == db.execute(
        "SELECT count(*) FROM fairlead.worker_leases"
        " WHERE lease_until > now() - interval '1 min'"
    ).fetchall()


def test_workers_whose_leases_have_lapsed_are_bounded_too(
    db: Database, worker: Database
) -> None:
    """Until the leader marks them dead, each of its reads passes over them."""
    register(worker)
    db.execute(
        "INSERT INTO fairlead.worker_leases (lease_until, slots, name, pool, login)"
        " SELECT now(), slots, name, pool, login FROM fairlead.worker_leases"
        " CROSS JOIN generate_series(1, 19999)"
    )
    with pytest.raises(errors.ConfigurationLimitExceeded, match="20,000 workers"):
        register(worker)


def test_no_number_of_slots_stops_the_demand_of_other_pools(
    database_url: str, db: Database, worker: Database
) -> None:
    """All pools are published in one statement, which failed for a number of that size."""
    policy_storage.store(db, _SCALED)
    slots = registration(pool="a", slots=2**31 - 1, slots_full=2**31 - 1)
    rows(worker, "fairlead_worker.parent", "register", slots)
    db.execute("INSERT INTO fairlead.jobs (queue, kind) VALUES ('a', 'noop'), ('b', 'noop')")

    with scheduling(database_url):
        until(
            lambda: (
                db.execute(
                    "SELECT pool, slots_allowed > 500000000 FROM fairlead.pool_demand"
                    " ORDER BY 1"
                ).fetchall()
                == [("a", True), ("b", False)]
            ),
            what="the demand of both",
            seconds=30,
        )


def test_a_pods_load_is_what_its_own_pool_says(
    database_url: str, db: Database, worker: Database
) -> None:
    """A worker of another pool had it kept, and its pool scaled up, by naming the pod."""
    rows(
        worker,
        "fairlead_worker.parent",
        "register",
        registration(pool="a", pod_uid="theirs", slots=50),
    )
    me = db.execute("SELECT max(id) FROM fairlead.worker_leases").fetchall()[0][0]
    queue(db)
    db.execute("UPDATE fairlead.work_queue SET pool = 'a'")
    db.execute("INSERT INTO fairlead.claim_floors VALUES ('a', 0, 0) ON CONFLICT DO NOTHING")
    race.claim_one(worker, me)

    settings = DatabaseSettings(database_url=database_url)
    with closing(AutoscalerDatabase(settings)) as autoscaler:
        (load,) = autoscaler.snapshot(known=None, asks_queues=False).loads

    assert ("theirs", "a", 1) == (load.pod_uid, load.pool, load.jobs)


def test_no_deadline_is_beyond_what_programs_read(
    db: Database, worker: Database, lease: Lease
) -> None:
    """Every read of job_status failed that came to the job."""
    worker.execute(
        "SELECT fairlead.extend_deadlines(%s, %s, array[3e11])", [[lease.job], [lease.token]]
    )

    ((deadline,),) = db.execute("SELECT deadline FROM fairlead.job_status").fetchall()
    assert deadline.year == 9999


def test_no_value_that_a_job_carries_is_in_the_statistics(db: Database) -> None:
    """They outlast its row: an erased payload was in `pg_stats` until its partition went."""
    marked = {"secret": "of-acme"}
    db.execute(
        "INSERT INTO fairlead.jobs (kind, tenant, payload, headers)"
        " SELECT 'noop', 'acme', %(it)s, %(it)s FROM generate_series(1, 10)",
        {"it": Jsonb(marked)},
    )
    db.execute("ANALYZE fairlead.jobs")
    db.execute("UPDATE fairlead.jobs SET last_error = 'of-acme', dedup_key = 'of-acme' || id")
    db.execute("ANALYZE")
    db.execute("SELECT fairlead.cancel_jobs(tenant => 'acme')")
    db.execute("SELECT fairlead.make_history_partitions(20)")
    db.execute("ANALYZE")
    db.execute("SELECT fairlead._erase_history('acme', 0, 1000)")

    assert (
        []
        == db.execute(
            "SELECT tablename, attname FROM pg_stats WHERE schemaname = 'fairlead'"
            " AND concat(most_common_vals, histogram_bounds) LIKE '%of-acme%'"
        ).fetchall()
    )
    assert (
        []
        == db.execute(
            "SELECT c.relname, a.attname FROM pg_class c"
            " JOIN pg_attribute a ON a.attrelid = c.oid"
            " WHERE c.relnamespace = 'fairlead'::regnamespace"
            " AND c.relname LIKE 'job_history%%'"
            " AND c.relkind IN ('r', 'p') AND a.attname = ANY(%s) AND a.attstattarget <> 0",
            [["payload", "headers", "dedup_key", "result", "error"]],
        ).fetchall()
    ), "nor in a partition that is made later"


def test_any_number_of_errors_of_one_job_are_read_as_fast(
    db: Database, worker: Database, lease: Lease
) -> None:
    """The leader and the worker that has it next read all of them, each time."""
    db.execute(_ERRORS_OF_ONE_JOB, [lease.job])
    me = db.execute("SELECT max(id) FROM fairlead.worker_leases").fetchall()[0][0]
    ended = {"ids": [lease.job] * 20, "workers": [me] * 20}
    began = perf_counter()

    found = rows(db, "fairlead_scheduler.background", "ended_elsewhere", ended)
    origin = worker.execute(
        "SELECT token, attempt, ended_as FROM fairlead._origins(%s, %s)",
        [[lease.job], [lease.token]],
    ).fetchall()

    assert {"released"} == {str(each["ended_as"]) for each in found}
    assert [(200000, 200000, "released")] == origin
    assert perf_counter() - began < 0.5, "it takes 10 ms, and took 2 s"


def test_a_login_that_dies_often_is_forgotten_as_fast(db: Database) -> None:
    """The leader read all that had died within a day to find those that had before."""
    db.execute(
        "INSERT INTO fairlead.worker_leases (lease_until, dead_at, slots, name, pool)"
        " SELECT now(), now(), 1, 'w', 'default' FROM generate_series(1, 100000)"
    )
    db.execute(
        "UPDATE fairlead.worker_leases SET dead_at = now() - interval '2 days' WHERE id = 5"
    )
    forgets = load("fairlead_scheduler.background", "forget_workers")
    db.execute("SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off")
    plan = db.execute(
        b"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + forgets,
        {"epoch": race.leading(db), "limit": 1000},
    ).fetchall()

    read = plan[0][0][0]["Plan"]
    assert read["Shared Hit Blocks"] + read["Shared Read Blocks"] < 200
    assert [(0,)] == db.execute(
        "SELECT count(*) FROM fairlead.worker_leases WHERE id = 5"
    ).fetchall()
