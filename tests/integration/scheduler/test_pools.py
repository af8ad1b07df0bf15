"""Pools on PostgreSQL: two fleets of workers, and queues that move between them."""

from typing import cast

from fairlead import policy_storage
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, claim
from tests.support.schedulers import led, scheduling
from tests.support.waiting import until
from tests.support.working import working

APART = "pools: [{name: mail, queues: ['mail*']}, {name: default, queues: ['*']}]"
TOGETHER = "fairness: {reserve: null}\npools: [{name: default, queues: ['*']}]"
LIMITED = "queues: [{match: {queue: mail}, slots: {limit: 3}}]"


def insert(
    db: Database, queue: str, count: int, *, tenant: str = "", timeout: str | None = None
) -> set[int]:
    """Insert a tenant's jobs into a queue and return their ids."""
    rows = db.execute(
        "INSERT INTO fairlead.jobs (queue, tenant, kind, timeout)"
        " SELECT %s, %s, 'noop', %s::interval FROM generate_series(1, %s) RETURNING id",
        [queue, tenant, timeout, count],
    )
    return {int(row[0]) for row in rows.fetchall()}


def pools(db: Database, queue: str) -> set[str]:
    """Return the pools into which jobs of a queue are dispatched just now."""
    rows = db.execute("SELECT pool FROM fairlead.work_queue WHERE queue = %s", [queue])
    return {str(row[0]) for row in rows.fetchall()}


def in_flight(db: Database, queue: str) -> int:
    """Count a queue's rows of work_queue."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.work_queue WHERE queue = %s", [queue]
    ).fetchone()
    assert row is not None
    return int(row[0])


def ended(db: Database) -> list[tuple[int, int]]:
    """Return each job that ended with how often it did."""
    rows = db.execute("SELECT id, count(*) FROM fairlead.job_history GROUP BY id ORDER BY id")
    return [(int(job), int(endings)) for job, endings in rows.fetchall()]


def test_each_fleet_has_the_jobs_of_its_pool_and_no_others(
    database_url: str, db: Database, connect: Connect
) -> None:
    """A queue belongs to exactly one pool; one leader dispatches for all of them."""
    policy_storage.store(db, APART)
    workers = {"default": register(db, name="a"), "mail": register(db, name="b", pool="mail")}
    jobs = {"mail": insert(db, "mail", 150), "default": insert(db, "reports", 150)}
    with (
        scheduling(database_url),
        working(connect, workers["default"]) as rest,
        working(connect, workers["mail"], pool="mail") as mail,
    ):
        until(lambda: len(rest) + len(mail) == 300, what="every job", seconds=60)

    assert jobs == {"mail": set(mail), "default": set(rest)}


def test_no_job_is_lost_or_run_twice_and_no_limit_passed_while_a_queue_moves(
    database_url: str, db: Database, connect: Connect
) -> None:
    """With a backlog, with rows that no worker has claimed, and with jobs that run."""
    policy_storage.store(db, f"{TOGETHER}\n{LIMITED}")
    first, second = register(db, name="a"), register(db, name="b", pool="mail")
    jobs = {*insert(db, "mail", 250), *insert(db, "mailing", 250)}
    most = moves = 0

    def reach(done: int) -> None:
        def sampled() -> bool:
            nonlocal most
            most = max(most, in_flight(db, "mail"))
            return len(here) + len(there) >= done

        until(sampled, what=f"{done} endings", seconds=60)

    with (
        scheduling(database_url),
        working(connect, first) as here,
        working(connect, second, pool="mail") as there,
    ):
        for done in range(60, 361, 60):
            reach(done)
            moves += 1
            policy_storage.store(db, f"{APART if moves % 2 else TOGETHER}\n{LIMITED}")
        reach(len(jobs))

    assert [(job, 1) for job in sorted(jobs)] == ended(db)
    assert 1 <= most <= 3


def test_rows_that_no_worker_claims_follow_their_queue_within_two_seconds(
    database_url: str, db: Database
) -> None:
    """What a worker has taken stays where it is."""
    policy_storage.store(db, TOGETHER)
    worker = register(db, slots=4)
    register(db, name="b", slots=4, pool="mail")
    insert(db, "mail", 100)
    with scheduling(database_url):
        until(lambda: in_flight(db, "mail") > 8, what="a full queue")
        running = {lease.job for lease in claim(db, worker, limit=2)}
        policy_storage.store(db, APART)

        def waiting() -> set[tuple[str, bool]]:
            rows = db.execute(
                "SELECT DISTINCT pool, job_id = ANY (%s) FROM fairlead.work_queue",
                [sorted(running)],
            )
            return {(str(pool), bool(runs)) for pool, runs in rows.fetchall()}

        expected = {("default", True), ("mail", False)}
        until(lambda: waiting() == expected, what="the rows in the other pool", seconds=4)


def test_a_new_leader_takes_over_the_rows_of_a_pool_that_is_no_more(
    database_url: str, db: Database
) -> None:
    """They were dispatched under a policy that the last leader had read."""
    policy_storage.store(db, APART)
    register(db, slots=4)
    insert(db, "mail", 20)
    with scheduling(database_url):
        until(lambda: pools(db, "mail") == {"mail"}, what="rows of the pool")
    policy_storage.store(db, TOGETHER)

    with scheduling(database_url):
        led(db)
        until(lambda: pools(db, "mail") == {"default"}, what="rows of the other pool")


def test_a_pool_sets_the_budget_of_an_attempt(database_url: str, db: Database) -> None:
    """TimeoutDefault where the row has none; timeoutMax bounds both."""
    policy_storage.store(
        db,
        "pools: [{name: mail, queues: [mail], timeoutDefault: 90s, timeoutMax: 2m}, "
        "{name: default, queues: ['*']}]",
    )
    short, long = insert(db, "mail", 1), insert(db, "mail", 1, timeout="30 min")
    other = insert(db, "reports", 1)
    with scheduling(database_url):

        def budgets() -> dict[int, int]:
            rows = db.execute(
                "SELECT job_id, extract(epoch FROM timeout) FROM fairlead.work_queue"
            )
            return {int(job): int(seconds) for job, seconds in rows.fetchall()}

        expected = {**dict.fromkeys(short, 90), **dict.fromkeys(long, 120)}
        expected |= dict.fromkeys(other, 600)
        until(lambda: budgets() == expected, what="the budgets")


def test_a_queue_that_no_pool_serves_is_shown_as_such(database_url: str, db: Database) -> None:
    """By `explain` and by a metric."""
    policy_storage.store(db, "pools: [{name: default, queues: [reports]}]")
    register(db)
    (lost,) = insert(db, "lost", 1)
    with scheduling(database_url) as replica:
        led(db)

        def explained() -> dict[str, object]:
            row = db.execute("SELECT fairlead.explain(%s)", [lost]).fetchone()
            assert row is not None
            return cast("dict[str, object]", row[0])

        until(lambda: explained().get("blocked_by") == "pool", what="the answer")
        said = str(explained()["sentence"])
        value = replica.metrics.registry.get_sample_value
        until(
            lambda: value("fairlead_lanes_blocked", {"reason": "pool"}) == 1.0,
            what="the blocked lane being shown",
        )

    assert said.startswith("no pool of the policy serves its queue")
    assert said.endswith(": name it in the queues of one")


def test_a_ceiling_of_the_depth_is_changed_while_jobs_flow(
    database_url: str, db: Database
) -> None:
    """Of each pool; who goes past it is counted."""
    policy_storage.store(db, "capacity: {depthCeiling: 5}")
    register(db, slots=50)
    insert(db, "noisy", 200)
    with scheduling(database_url) as replica:
        until(lambda: in_flight(db, "noisy") == 5, what="as many rows as may wait")
        insert(db, "quiet", 1, tenant="another")
        until(lambda: in_flight(db, "quiet") == 1, what="the quiet job beside them")
        before = in_flight(db, "noisy")
        policy_storage.store(db, "capacity: {depthCeiling: 20}")
        until(lambda: in_flight(db, "noisy") >= 19, what="more rows")
        counted = replica.metrics.registry.get_sample_value

        assert (5, 1.0) == (
            before,
            counted("fairlead_scheduler_overflow_total", {"pool": "default"}),
        )
