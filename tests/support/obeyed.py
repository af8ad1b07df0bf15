"""Obeying a policy for a few looks: the leader's own table, ledgers and rules, no database."""

from functools import partial
from itertools import product

from fairlead.policy import Policy
from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.ordering.router import PoolSize, Router
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.policy.backlog_limits import compile_backlog_limits
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.fair_bench import POOL

SLOTS = 8
_LANES = tuple(
    product(("emails-in", "reports", "reindex", "other"), ("acme", "initech", ""), (-50, 0, 99))
)
"""Queues, tenants and ranks that patterns, labels and bands of the example are for, or not."""
_JOBS = 3
_LOOKS = 4
_LOOK_US = 1_100_000
_BEGIN_US = 1_700_000_000_000_000


def jobs_obeying(policy: Policy) -> int:
    """Serve a backlog for some looks, from the second one on by this policy.

    Returns:
        How many jobs were dispatched. None of them was dispatched twice.
    """
    order = Router(POOL, CompiledPolicy())
    heads = Heads(in_flight=order.in_flight)
    heads.record_scan()
    found = [
        PendingJob(place + 1, place + 1, queue, tenant, rank, 10_000, _BEGIN_US)
        for place, (queue, tenant, rank) in enumerate(_LANES * _JOBS)
    ]
    heads.discovered(found)
    seconds = 0.0
    evaluator = RuleEvaluator(
        Metrics().policy.rules, lambda _: None, EvaluationClocks(lambda: seconds, lambda: 0.0)
    )
    table = compile_policy(policy, stored=1)
    limits = [
        compile_backlog_limits(policy).limit(queue, tenant) for queue, tenant, _ in _LANES
    ]
    assert all(limit >= 0 for limit in limits)
    done: set[int] = set()
    for look in range(_LOOKS):
        now_us, seconds = _BEGIN_US + look * _LOOK_US, look * _LOOK_US / 1e6
        if look == 1:
            order.apply(table, now_us)
        order.learn([None] * len(order.attribute_requests()))
        evaluator.evaluate(order, partial(_workers, look % 2 * SLOTS), now_us)
        order.recalled(order.surplus_rows(), heads)
        sizes = dict.fromkeys((POOL, *order.pool_names), PoolSize(SLOTS, SLOTS))
        plans = order.plan(now_us, sizes, heads)
        jobs = [job_id for plan in plans for job_id, *_ in plan.rows]
        assert done.isdisjoint(jobs)
        done.update(jobs)
        order.claimed(jobs, now_us)
        order.ended(jobs, [10_000] * len(jobs))
    return len(done)


def _workers(free: int, pool: str | None) -> Workers:
    """Return the slots of the only pool."""
    del pool
    return Workers(SLOTS, free)
