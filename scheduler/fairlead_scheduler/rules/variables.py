"""The values of the variables that a rule may read of a lane, from the leader's ledger."""

from collections.abc import Mapping

from fairlead.policy.cel.variables import LaneFacts
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.policy.rules import Labels

_NO_LABELS: Mapping[str, str] = {}


def lane_facts(lane: Lane, labels: Labels, *, began_us: int, now_us: int) -> LaneFacts | None:
    """Return the facts of a lane; None while its next job is being read."""
    if lane.heads.stream is not None and not lane.heads.ready:
        return None
    return known_lane_facts(lane, labels, began_us=began_us, now_us=now_us)


def known_lane_facts(lane: Lane, labels: Labels, *, began_us: int, now_us: int) -> LaneFacts:
    """Return the facts of a lane; while its next job is being read, its wait counts from now.

    Args:
        lane: The lane.
        labels: The labels of all tenants that have some.
        began_us: The take-over: a job first seen before it counts as waiting since then.
        now_us: The database's time.
    """
    heads = lane.heads
    since_us = now_us
    if heads.stream is not None and heads.ready:
        _, _, _, seen_us = heads.ready[0]
        since_us = began_us if seen_us is None else seen_us
    queue, tenant = lane.queue, lane.tenant
    return (
        queue.name,
        tenant,
        labels.get(tenant, _NO_LABELS),
        lane.in_flight,
        (now_us - since_us) / 1e6 if now_us > since_us else 0.0,
        lane.own.weight,
        heads.stream is not None,
    )
