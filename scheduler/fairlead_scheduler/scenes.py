"""Where a lane and a job stand in the books, to be explained."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil
from typing import TypeVar

from fairlead_scheduler.books import UNCLAIMED, Flight, Lane, Queue
from fairlead_scheduler.bounds import BOUNDS, KEY, REASONS
from fairlead_scheduler.explain import KeyHold, Scene, Standing
from fairlead_scheduler.keys import Keys, Value
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.order import Level
from fairlead_scheduler.verdicts import concerning, held_by

_HOLDERS_SHOWN = 10
_LOOKED_THROUGH = 10_000
"""Jobs in flight that are asked whose they are; the oldest are first."""
M = TypeVar("M", Lane, Queue)
_TO_SO_MANY = BOUNDS | {KEY}


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
    keys = node.keys
    full = None if keys is None else keys.full(keys.heads.get(job_id, ()))
    key, key_us = None, now_us
    if keys is not None and full is not None:
        looked = islice(keys.flights.items(), _LOOKED_THROUGH)
        having = [each for each, values in looked if full in values]
        key = _held_by(lane, keys, full, job_id, having)
        flights = ledger.shared.flights
        key_us = _nth_us([flights[x] for x in having if x in flights], key.limit, now_us)
    job_rule, job_rule_us = _ruled_by(ledger, lane, job_id)
    return Scene(
        now_us=now_us,
        slots=slots,
        free=free,
        unclaimed=ledger.unclaimed,
        mean_us=mean_us,
        expected_us=lane.mean.shrunk_us(node.prior_us, ledger.settings.prior_samples),
        lane=replace(
            _standing(lane, node.lanes, _capped_us(ledger, lane, node.lanes, now_us), now_us),
            bounded=_bounded(node.every(), lane) if any(ledger.holds.lanes.values()) else 0,
        ),
        queue=replace(
            _standing(node, ledger.root, _capped_us(ledger, node, ledger.root, now_us), now_us),
            bounded=_bounded(ledger.queues.values(), node),
        ),
        key=key,
        key_us=key_us,
        job_rule=job_rule,
        job_rule_us=job_rule_us,
        pool=ledger.shared.name,
    )


def _bounded(members: Iterable[M], member: M) -> int:
    """Return how many jobs are in flight of others that bounds or keys hold to so many."""
    some = islice(members, _LOOKED_THROUGH)
    return sum([x.in_flight for x in some if x.held in _TO_SO_MANY and x is not member])


def _standing(
    member: Lane | Queue,
    level: Level[Lane] | Level[Queue],
    capped_us: int | None,
    now_us: int,
) -> Standing:
    others = level.weight - (member.weight if member.active else 0.0)
    waits_us = since_us = member.waits_since_us if member.active else now_us
    seconds: dict[str, float] = {}
    stint = member.stint
    if stint is not None:
        stint.go_on(waits_us)
        waits_us, since_us = stint.begun_us, stint.since_us
        for reason, held_seconds in stint.seconds(now_us).items():
            name = REASONS[reason]
            seconds[name] = seconds.get(name, 0.0) + held_seconds
    return Standing(
        weight=member.weight,
        weights=max(0.0, others) + member.weight,
        lag_us=member.start - level.virtual,
        in_flight=member.in_flight,
        held=REASONS.get(member.held),
        bounds=member.bounds,
        rule=member.terms.held_by,
        capped_us=capped_us,
        since_us=since_us,
        waits_us=waits_us,
        held_seconds=seconds,
    )


def _ruled_by(ledger: Ledger, lane: Lane, job_id: int) -> tuple[str | None, int]:
    """Return the rule that holds a head by itself, and since when rules do, as far as known."""
    keys, rules = lane.queue.keys, concerning(lane)
    held = held_by(ledger, lane, keys.judged, job_id, rules) if keys and rules else 0
    if keys is None or not held:
        return None, 0
    return ledger.table.rules.name(held), keys.judged.since_us.get(job_id, ledger.now_us)


def _capped_us(ledger: Ledger, member: M, level: Level[M], now_us: int) -> int | None:
    """Return since when a member has had so much in flight that the cap sets it back.

    That is told by what is in flight now, so it may have been so for longer. None: others do
    not go first for that.
    """
    if not level.sets_back(member):
        return None
    flights = islice(ledger.flights.values(), _LOOKED_THROUGH)
    own = (each for each in flights if each.lane is member or each.lane.queue is member)
    return _nth_us(own, max(1, ceil(level.cap * member.weight)), now_us)


def _nth_us(flights: Iterable[Flight], count: int, now_us: int) -> int:
    """Return since when so many of these jobs have run, or now."""
    claims = (each.claimed_us for each in flights if each.claimed_us != UNCLAIMED)
    first = sorted(islice(claims, count))
    return first[-1] if len(first) == count else now_us


def _held_by(
    lane: Lane, keys: Keys[Lane], full: Value, job_id: int, having: Sequence[int]
) -> KeyHold:
    """Return which key holds a head back, and who has its value."""
    heads = [head[0] for stream in lane.heads.streams for head in stream.ready]
    before = heads[: heads.index(job_id)] if job_id in heads else []
    demand = keys.demands[full.place]
    return KeyHold(
        key=demand.path,
        value=full.text,
        limit=demand.limit,
        in_flight=keys.in_flight(full),
        holders=tuple(sorted(having[:_HOLDERS_SHOWN])),
        before=len(before),
        alike_before=sum(full in keys.heads.get(each, ()) for each in before),
    )
