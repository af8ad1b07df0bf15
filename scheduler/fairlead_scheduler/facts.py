"""What the rules of a policy may ask of a lane, as the leader's books have it."""

from collections.abc import Mapping

from fairlead.policy.variables import LaneFacts
from fairlead_scheduler.books import Lane
from fairlead_scheduler.rulebook import Labels

_NO_LABELS: Mapping[str, str] = {}


def facts_of(lane: Lane, labels: Labels, *, began_us: int, now_us: int) -> LaneFacts | None:
    """Return what is known of a lane; None while its next job is being read."""
    if lane.heads.front is not None and not lane.heads.ready:
        return None
    return known_of(lane, labels, began_us=began_us, now_us=now_us)


def known_of(lane: Lane, labels: Labels, *, began_us: int, now_us: int) -> LaneFacts:
    """Return what is known of a lane; its next job waits from now on while it is being read.

    Args:
        lane: Which.
        labels: Of all tenants that have some.
        began_us: When the leader took over: it sees no job that waits earlier than that.
        now_us: The database's time.
    """
    heads = lane.heads
    since_us = now_us
    if heads.front is not None and heads.ready:
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
        heads.front is not None,
    )
