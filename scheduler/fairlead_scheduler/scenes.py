"""Where a lane and a job stand in the books, to be explained."""

from itertools import islice

from fairlead_scheduler.books import Lane, Queue
from fairlead_scheduler.bounds import REASONS
from fairlead_scheduler.explain import KeyHold, Scene, Standing
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import Level

_HOLDERS_SHOWN = 10


def scene(
    ledger: Ledger,
    queue: str,
    tenant: str,
    job_id: int,
    *,
    now_us: int,
    slots: int,
    free: int,
    mean_us: int,
) -> Scene | None:
    """Return what a plan would begin from; None when the lane is not known."""
    node = ledger.queues.get(queue)
    lane = None if node is None else node.tenants.get(tenant)
    if node is None or lane is None:
        return None
    return Scene(
        now_us=now_us,
        slots=slots,
        free=free,
        unclaimed=ledger.unclaimed,
        mean_us=mean_us,
        expected_us=lane.mean.shrunk_us(node.prior_us, ledger.settings.prior_samples),
        lane=_standing(lane, node.lanes),
        queue=_standing(node, ledger.root),
        key=_held_by(lane, job_id),
    )


def _standing(member: Lane | Queue, level: Level[Lane] | Level[Queue]) -> Standing:
    others = level.weight - (member.weight if member.active else 0.0)
    return Standing(
        weight=member.weight,
        weights=max(0.0, others) + member.weight,
        lag_us=member.start - level.virtual,
        in_flight=member.in_flight,
        held=REASONS.get(member.held),
        bounds=member.bounds,
        rule=member.terms.held_by,
    )


def _held_by(lane: Lane, job_id: int) -> KeyHold | None:
    """Return which key holds a head back; None when none does, or it is not at hand."""
    keys = lane.queue.keys
    full = None if keys is None else keys.full(keys.heads.get(job_id, ()))
    if keys is None or full is None:
        return None
    heads = [head[0] for stream in lane.heads.streams for head in stream.ready]
    before = heads[: heads.index(job_id)] if job_id in heads else []
    demand = keys.demands[full.place]
    having = (each for each, values in keys.flights.items() if full in values)
    return KeyHold(
        key=demand.path,
        value=full.text,
        limit=demand.limit,
        in_flight=keys.in_flight(full),
        holders=tuple(sorted(islice(having, _HOLDERS_SHOWN))),
        before=len(before),
        alike_before=sum(full in keys.heads.get(each, ()) for each in before),
    )
