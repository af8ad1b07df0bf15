"""Limits of kinds over the real tables: what workers say holds, whoever comes and goes."""

import signal
from collections.abc import Mapping
from typing import cast

from fairlead import policy_storage
from tests.conftest import Connect
from tests.support.children import register
from tests.support.race import Database, Lease, claim, finish
from tests.support.schedulers import led, scheduler_process, scheduling
from tests.support.waiting import until

_INSERT = """
    INSERT INTO fairlead.jobs (queue, tenant, kind)
    SELECT %s, %s, %s FROM generate_series(1, %s) RETURNING id
"""
_QUEUED = """
    SELECT q.job_id FROM fairlead.work_queue q JOIN fairlead.jobs j ON j.id = q.job_id
    WHERE j.kind = %s ORDER BY 1
"""
_COMPLETED = "SELECT count(*) FROM fairlead.work_queue WHERE completed"


def insert(
    db: Database, kind: str, count: int = 1, *, queue: str = "default", tenant: str = "t"
) -> list[int]:
    """Insert jobs that are alike."""
    rows = db.execute(_INSERT, [queue, tenant, kind, count]).fetchall()
    return [int(row[0]) for row in rows]


def limited(db: Database, worker: int, **limits: int) -> None:
    """Say for a worker how many jobs of some kinds may run at once, and have it noticed."""
    said = [[*limits], [*limits.values()]]
    with db.transaction():
        db.execute("SELECT fairlead.announce_kinds(%s, %s)", [worker, ["report", "other"]])
        db.execute("SELECT fairlead.limit_kinds(%s, %s, %s)", [worker, *said])
        db.execute("SELECT pg_notify('fairlead_scheduler', '')")


def worker_with(
    db: Database,
    *,
    name: str = "w",
    pool: str = "default",
    releases_slots: bool = False,
    **limits: int,
) -> int:
    """Register a worker that limits some kinds, as Fairlead's own do it: in one transaction."""
    with db.transaction():
        worker = register(db, slots=100, name=name, pool=pool, releases_slots=releases_slots)
        limited(db, worker, **limits)
    return worker


def queued(db: Database, kind: str) -> list[int]:
    """Return the jobs of a kind that are in work_queue."""
    return [int(row[0]) for row in db.execute(_QUEUED, [kind]).fetchall()]


def explain(db: Database, job: int) -> Mapping[str, object]:
    """Return why a job does not run, once that is known."""

    def answer() -> Mapping[str, object] | None:
        ((found,),) = db.execute("SELECT fairlead.explain(%s)", [job]).fetchall()
        return None if "asked" in found else cast("Mapping[str, object]", found)

    return until(answer, what="an answer")


def test_no_more_jobs_of_a_kind_are_in_flight_than_workers_say(
    database_url: str, db: Database
) -> None:
    """In all queues and of all tenants together; those of other kinds go past them."""
    worker = worker_with(db, report=3)
    for queue, tenant in (("a", "t"), ("b", "t"), ("b", "u")):
        insert(db, "report", 10, queue=queue, tenant=tenant)
    quick = insert(db, "quick", 10, queue="b")
    with scheduling(database_url):
        until(lambda: queued(db, "quick") == quick, what="the quick jobs")
        for _ in range(10):
            until(lambda: len(queued(db, "report")) >= 3, what="the next three")
            assert 3 == len(queued(db, "report"))
            finish(db, claim(db, worker, limit=100))

    assert [(0,)] == db.execute("SELECT count(*) FROM fairlead.jobs").fetchall()


def test_jobs_over_the_limit_are_never_dispatched(database_url: str, db: Database) -> None:
    """They stay pending rather than sit in the queue, also at the first sight of their kind."""
    db.execute(
        "CREATE TABLE public.dispatched AS SELECT job_id, 0 AS beside FROM fairlead.work_queue;"
        " CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        " INSERT INTO public.dispatched SELECT new.job_id, count(*) FROM fairlead.work_queue;"
        " RETURN NULL; END $$;"
        " GRANT INSERT ON public.dispatched TO PUBLIC;"
        " CREATE TRIGGER note AFTER INSERT ON fairlead.work_queue FOR EACH ROW"
        " EXECUTE FUNCTION public.note()"
    )
    worker = worker_with(db, report=2)
    jobs = insert(db, "report", 20)
    with scheduling(database_url):
        done: list[int] = []
        while len(done) < len(jobs):
            until(lambda: queued(db, "report"), what="the next")
            done += finish(db, claim(db, worker, limit=1))

    assert [(2,)] == db.execute("SELECT max(beside) FROM dispatched").fetchall()


def test_a_new_leader_counts_what_is_in_flight(
    database_url: str, db: Database, connect: Connect
) -> None:
    """What runs, and what is finished and holds its slot still."""
    worker = worker_with(db, releases_slots=True, report=3)
    insert(db, "report", 10)
    with scheduler_process(database_url) as first:
        epoch = led(db)
        until(lambda: len(queued(db, "report")) == 3, what="a dispatch")
        leases = claim(connect(), worker, limit=2)
        complete(db, leases[0])
        first.send_signal(signal.SIGKILL)
    with scheduling(database_url):
        led(db, after=epoch)
        other = insert(db, "other")
        until(lambda: queued(db, "other") == other, what="a dispatch", seconds=30)

        assert (1,) == db.execute(_COMPLETED).fetchone()
        until(lambda: len(queued(db, "report")) == 2, what="a dispatch")
        other = insert(db, "other")
        until(lambda: queued(db, "other")[1:] == other, what="a dispatch")
        assert 2 == len(queued(db, "report"))
        finish(db, leases[1:])
        until(lambda: leases[1].job not in queued(db, "report"), what="an ending")
        until(lambda: len(queued(db, "report")) == 2, what="the next")


def complete(db: Database, lease: Lease) -> None:
    """Finish a job in its handler's transaction: its slot is still taken."""
    db.execute("SELECT fairlead.complete(%s, %s, '1')", [lease.job, lease.token])


def test_a_limit_that_is_new_counts_what_runs_and_recalls_the_rest(
    database_url: str, db: Database, connect: Connect
) -> None:
    """As a policy that brings a limit does."""
    worker = register(db, slots=100)
    jobs = insert(db, "report", 8)
    with scheduling(database_url):
        until(lambda: queued(db, "report") == jobs, what="a dispatch")
        leases = claim(connect(), worker, limit=3)
        limited(db, worker, report=2)
        until(lambda: len(queued(db, "report")) == 3, what="a recall", seconds=5)
        finish(db, leases[:1])
        other = insert(db, "other")
        until(lambda: queued(db, "other") == other, what="a dispatch")

        assert sorted(lease.job for lease in leases[1:]) == queued(db, "report")
        finish(db, leases[1:2])
        until(lambda: len(queued(db, "report")) == 2, what="the next")


def test_the_smallest_number_holds_while_workers_say_different_ones(
    database_url: str, db: Database
) -> None:
    """So it does whoever is new: a deploy that raises it, lowers it, brings it or drops it."""
    first = worker_with(db, name="old", report=3)
    insert(db, "report", 20)
    with scheduling(database_url):
        until(lambda: len(queued(db, "report")) == 3, what="three")
        second = worker_with(db, name="new", report=5)
        third = register(db, slots=100, name="newer")
        other = insert(db, "other")
        until(lambda: queued(db, "other") == other, what="a dispatch")
        assert 3 == len(queued(db, "report"))
        deregister(db, first)
        until(lambda: len(queued(db, "report")) == 5, what="five", seconds=10)
        deregister(db, second)
        limited(db, third)
        until(lambda: len(queued(db, "report")) == 20, what="all", seconds=10)


def deregister(db: Database, worker: int) -> None:
    """Give up a worker's row, as one does that stops."""
    db.execute("SELECT fairlead.deregister_workers(ARRAY[%s]::bigint[])", [worker])
    db.execute("SELECT pg_notify('fairlead_scheduler', '')")


def test_the_last_number_holds_while_no_worker_has_the_kind(
    database_url: str, db: Database
) -> None:
    """Another worker's slots would else fill the queue before the kind's own are back."""
    deregister(db, worker_with(db, name="before", report=2))
    register(db, slots=100, name="other")
    db.execute(
        "SELECT fairlead.announce_kinds(id, '{other}') FROM fairlead.worker_leases"
        " WHERE name = 'other'"
    )
    insert(db, "report", 10)
    other = insert(db, "other", 5)
    with scheduling(database_url):
        until(lambda: queued(db, "other") == other, what="a dispatch")
        until(lambda: len(queued(db, "report")) == 2, what="a dispatch")


def test_a_pools_workers_limit_what_their_own_pool_gets(
    database_url: str, db: Database
) -> None:
    """Its login is trusted no further; what pools that limit a kind have counts together."""
    policy_storage.store(db, "pools:\n- {name: one, queues: [a]}\n- {name: two, queues: [b]}\n")
    worker_with(db, name="one", pool="one", report=2)
    register(db, name="two", pool="two", slots=100)
    insert(db, "report", 5, queue="a")
    insert(db, "report", 5, queue="b")
    with scheduling(database_url):
        until(lambda: len(queued(db, "report")) == 2 + 5, what="a dispatch")


def test_explain_says_how_many_of_the_kind_are_in_flight(
    database_url: str, db: Database
) -> None:
    """For one of the next jobs, and for one far behind; the metric counts the lane."""
    worker_with(db, report=3)
    with scheduling(database_url) as replica:
        jobs = insert(db, "report", 400)
        until(lambda: len(queued(db, "report")) == 3, what="a dispatch")
        until(
            lambda: (
                replica.metrics.registry.get_sample_value(
                    "fairlead_lanes_blocked", {"reason": "kind"}
                )
                == 1.0
            ),
            what="the metric",
        )
        near, far = explain(db, jobs[5]), explain(db, jobs[-1])

    said = "kind report: 3 of 3 in flight in the fleet"
    for answer in (near, far):
        assert "kind" == answer["blocked_by"]
        assert str(answer["sentence"]).startswith(said)
    key = cast("Mapping[str, object]", near["key"])
    assert ("kind", "report", 3, 3, jobs[:3]) == (
        key["key"],
        key["value"],
        key["limit"],
        key["in_flight"],
        key["holders"],
    )
