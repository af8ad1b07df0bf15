"""Which idle lanes are forgotten when there are too many: names cost nothing."""

from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fair_bench import MS, decide


def serve(order: Router, heads: Heads, lanes: list[tuple[str, str]], now_us: int) -> None:
    """Let each lane have a job, which runs for a millisecond."""
    heads.discovered(
        [
            PendingJob(now_us + number, now_us + number, *lane, 0, None, 0)
            for number, lane in enumerate(lanes)
        ]
    )
    ids = [job[0] for job in decide(order, PoolSize(100, 100), heads, now_us).rows]
    order.claimed(ids, now_us)
    order.ended(ids, [MS] * len(ids))
    decide(order, PoolSize(100, 100), heads, now_us + MS)


def lanes_left(names: list[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return which lanes are remembered when a known tenant was first, and then these names."""
    settings = FairSettings(idle_lanes_max=10)
    order = Router("default", CompiledPolicy(settings=settings))
    heads = Heads(in_flight=order.in_flight)
    heads.record_scan()
    for now_us in (1, 1000 * MS):
        serve(order, heads, [("q", "known")], now_us)
    serve(order, heads, names, 2000 * MS)
    serve(order, heads, [("q", "last")], 9000 * MS)

    order.begin_reconcile()
    order.reconcile([], 9002 * MS, heads)

    queues = order.ledgers[0].queues.values()
    return {(queue.name, tenant) for queue in queues for tenant in queue.tenants}


def test_names_with_one_job_are_forgotten_before_a_tenant_that_had_several() -> None:
    """It was there first: among those with one job the oldest go."""
    left = lanes_left([("q", f"name{number}") for number in range(60)])

    names = {("q", f"name{number}") for number in range(52, 60)}
    assert {("q", "known"), ("q", "last"), *names} == left


def test_names_of_queues_are_forgotten_before_a_tenant_of_the_first_queue() -> None:
    """Lanes are compared over all queues."""
    left = lanes_left([(f"queue{number}", f"name{number}") for number in range(60)])

    assert ("q", "known") in left
    assert len(left) == 10


def test_of_those_with_several_jobs_the_one_with_most_is_remembered() -> None:
    """A spray of names with two jobs each has none forgotten that had four."""
    names = [("q", f"name{number}") for number in range(30)]
    settings = FairSettings(idle_lanes_max=1)
    order = Router("default", CompiledPolicy(settings=settings))
    heads = Heads(in_flight=order.in_flight)
    heads.record_scan()
    for now_us in (1, 1000 * MS, 2000 * MS):
        serve(order, heads, [("q", "known")], now_us)
    for now_us in (3000 * MS, 4000 * MS):
        serve(order, heads, names, now_us)
    serve(order, heads, [("q", "known")], 9000 * MS)

    order.begin_reconcile()
    order.reconcile([], 9002 * MS, heads)

    assert ["known"] == list(order.ledgers[0].queues["q"].tenants)
