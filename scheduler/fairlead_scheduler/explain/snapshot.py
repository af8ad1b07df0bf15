"""Reading the position of a lane and a job from the ledgers, for explain."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice
from math import ceil
from typing import TypeVar

from fairlead_scheduler.explain.answer import BlockingKey, LaneSnapshot, Position
from fairlead_scheduler.limits.blocked_reasons import BOUNDS, KEY, KIND, REASONS
from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.waiting_lanes import OF_KIND, KeyValue
from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.job_checks.job_rules import blocking_rules, job_rules_of
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.levels.level import Level
from fairlead_scheduler.ordering.router import Router
from fairlead_scheduler.pending.cursors import SKIPPED_MAX

_HOLDERS_SHOWN = 10
_SCANNED_MAX = 10_000
"""Jobs in flight that are scanned at most; the oldest are first."""
M = TypeVar("M", Account, Branch)
N = TypeVar("N", Lane, Queue)
_BOUNDED = BOUNDS | {KEY, KIND}


def lane_snapshot(
    router: Router,
    queue: str,
    tenant: str,
    *,
    rank: int = 0,
    job_id: int = 0,
    now_us: int,
    slots: int,
    free: int,
) -> LaneSnapshot | None:
    """Return where a lane of the pool that serves its queue stands; None: it is not known."""
    pool, band = router.pool_of(queue), router.table.band_of(queue, rank)
    orders = pool.orders[: band + 1]
    found = _in_band(
        orders[band].ledger,
        queue,
        tenant,
        job_id,
        now_us=now_us,
        slots=slots,
        free=free,
        mean_us=orders[band].mean_us,
    )
    if found is None or not band:
        return found
    return replace(
        found,
        unclaimed=sum(order.unclaimed for order in orders),
        band=router.table.bands.names[band],
        above=any(order.ledger.has_waiting for order in orders[:band]),
    )


def _in_band(
    ledger: Ledger,
    queue: str,
    tenant: str,
    job_id: int,
    *,
    now_us: int,
    slots: int,
    free: int,
    mean_us: int,
) -> LaneSnapshot | None:
    """Return what a plan would begin from; None when the lane is not known."""
    node = ledger.queues.get(queue)
    lane = None if node is None else node.tenants.get(tenant)
    if node is None or lane is None:
        return None
    account, keys = lane.account, node.keys
    full = None if keys is None else _full_value(lane, keys, job_id)
    key, key_us = None, now_us
    if keys is not None and full is not None:
        having = keys.holders(full, _SCANNED_MAX)
        key = _blocking_key(lane, keys, full, job_id, having)
        in_flight = ledger.context.in_flight_jobs
        key_us = _nth_us([in_flight[x] for x in having if x in in_flight], key.limit, now_us)
    job_rule, job_rule_us = _blocking_rule(ledger, lane, job_id)
    return LaneSnapshot(
        now_us=now_us,
        slots=slots,
        free=free,
        unclaimed=ledger.unclaimed,
        mean_us=mean_us,
        expected_us=lane.mean.shrunk_us(node.prior_us, ledger.settings.prior_samples),
        lane=replace(
            _position(lane, account, account.branch.accounts, ledger, now_us),
            bounded=_bounded(node.all_lanes(), lane)
            if any(ledger.blocked.lanes_by_reason.values())
            else 0,
        ),
        queue=replace(
            _position(node, account.branch, ledger.root, ledger, now_us),
            bounded=_bounded(ledger.queues.values(), node),
        ),
        key=key,
        key_us=key_us,
        job_rule=job_rule,
        job_rule_us=job_rule_us,
        pool=ledger.context.name,
    )


def _full_value(lane: Lane, keys: ConcurrencyKeys[Lane], job_id: int) -> KeyValue | None:
    """Return what blocks a head, or the kind that blocks the heads before a job."""
    full = keys.first_full(keys.heads.get(job_id, ()))
    if full is not None or lane.blocked_by != KIND:
        return full
    heads = (head[0] for stream in lane.heads.streams for head in stream.ready)
    known = (keys.first_full(keys.heads.get(each, ())) for each in islice(heads, SKIPPED_MAX))
    return next((each for each in known if each is not None), None)


def _bounded(members: Iterable[N], member: N) -> int:
    """Return how many jobs of others are in flight that bounds or keys limit."""
    some = islice(members, _SCANNED_MAX)
    return sum([x.in_flight for x in some if x.blocked_by in _BOUNDED and x is not member])


def _position(
    member: Lane | Queue, share: M, level: Level[M], ledger: Ledger, now_us: int
) -> Position:
    """Return where a lane or a queue stands by what is charged for it.

    The lanes of an account that wait have equal parts of its weight.
    """
    others = level.weight - (share.weight if share.active else 0.0)
    weight = share.weight
    if isinstance(share, Account):
        weight /= max(1, share.lanes_active + (not member.active))
    waits_us = since_us = member.waits_since_us if member.active else now_us
    seconds: dict[str, float] = {}
    blocked_time = member.blocked_time
    if blocked_time is not None:
        blocked_time.restart_after_break(waits_us)
        waits_us, since_us = blocked_time.begun_us, blocked_time.since_us
        for reason, blocked_seconds in blocked_time.seconds(now_us).items():
            name = REASONS[reason]
            seconds[name] = seconds.get(name, 0.0) + blocked_seconds
    return Position(
        weight=weight,
        weights=max(0.0, others) + share.weight,
        lag_us=share.start - level.virtual,
        in_flight=member.in_flight,
        blocked_by=REASONS.get(member.blocked_by),
        bounds=member.bounds,
        rule=member.terms.blocking_rule,
        capped_us=_capped_us(ledger, share, level, now_us),
        since_us=since_us,
        waits_us=waits_us,
        blocked_seconds=seconds,
    )


def _blocking_rule(ledger: Ledger, lane: Lane, job_id: int) -> tuple[str | None, int]:
    """Return the rule that blocks a head itself, and since when rules do, if known."""
    keys, rules = lane.queue.keys, job_rules_of(lane)
    if keys is None or not rules:
        return None, 0
    results = keys.rule_results
    blocking = blocking_rules(ledger, lane, results, job_id, rules)
    if not blocking:
        return None, 0
    return ledger.table.rules.name(blocking), results.since_us.get(job_id, ledger.now_us)


def _capped_us(ledger: Ledger, share: M, level: Level[M], now_us: int) -> int | None:
    """Return since when so much has been in flight that the cap sets a share back.

    It is derived from what is in flight now, so it may have been so for longer. None: the cap
    lets no other one go first.
    """
    if not level.is_set_back(share):
        return None
    in_flight = islice(ledger.in_flight_jobs.values(), _SCANNED_MAX)
    own = (x for x in in_flight if share in (x.lane.account, x.lane.account.branch))
    return _nth_us(own, max(1, ceil(level.cap * share.weight)), now_us)


def _nth_us(in_flight: Iterable[InFlightJob], count: int, now_us: int) -> int:
    """Return since when so many of these jobs have run, or now."""
    claims = (each.claimed_us for each in in_flight if each.claimed_us >= 0)
    first = sorted(islice(claims, count))
    return first[-1] if len(first) == count else now_us


def _blocking_key(
    lane: Lane, keys: ConcurrencyKeys[Lane], full: KeyValue, job_id: int, having: Sequence[int]
) -> BlockingKey:
    """Return which key blocks a head, and which jobs hold its value."""
    heads = [head[0] for stream in lane.heads.streams for head in stream.ready]
    before = heads[: heads.index(job_id)] if job_id in heads else []
    of_kind = full.place == OF_KIND
    return BlockingKey(
        key="kind" if of_kind else keys.limits[full.place].path,
        value=full.text,
        limit=keys.limit(full),
        in_flight=keys.in_flight(full),
        holders=tuple(sorted(having[:_HOLDERS_SHOWN])),
        of_kind=of_kind,
        before=len(before),
        alike_before=sum(full in keys.heads.get(each, ()) for each in before),
    )
