"""Applying another policy to the ledgers, between two plans: it touches no row of the database.

A lane whose weight changes keeps what it has been charged beyond the others in slot-time, so a
debt that would have taken a light lane minutes takes a heavy one as long as it should.

Queues get their new terms at once. Lanes get theirs some at each plan, because ten thousand
would hold up a dispatch for longer than a tick.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from fairlead_scheduler.limits.blocked_reasons import KEY, KIND, RULE
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.limits.waiting_lanes import KeyValue
from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.job_checks import job_attributes
from fairlead_scheduler.ordering.job_checks.job_rules import is_blocked_by_rule
from fairlead_scheduler.ordering.lanes import UNKNOWN, Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.renamed_queues import move_renamed_queues
from fairlead_scheduler.ordering.reserve.places import find_places
from fairlead_scheduler.ordering.run_time import prior_us
from fairlead_scheduler.policy.compiled import CompiledPolicy

_LANES_AT_ONCE = 1000
_LANES_WITH_RULES_AT_ONCE = 400
"""Where there are rules: finding those that apply to a lane takes as long again, or longer."""

Bound = Limiter | tuple[str, KeyValue]
"""What a limit belongs to: the last is a value of a key, or a kind, of no queue."""


def apply(ledger: Ledger, table: CompiledPolicy, now_us: int) -> None:
    """Apply this policy from now on.

    Where there are rules no lane gets its terms before it is known which of them hold.
    """
    same = table.digest and table.digest == ledger.table.digest
    same = same and table.rules.disabled == ledger.table.rules.disabled
    has_rules = bool(ledger.table.rules or table.rules)
    ledger.now_us = now_us
    ledger.table = table
    if same:
        return
    ledger.active_rules = 0
    # What has ended is served first: V would count it as if it had run until now, and branches
    # with new weights are lifted to V.
    ledger.settle()
    rekeyed: set[Queue] = set()
    returned = False
    for queue in ledger.queues.values():
        was, queue.foreign = queue.foreign, ledger.context.is_foreign(queue.name, table.routing)
        returned = returned or (was and not queue.foreign)
        if has_rules:
            queue.rules = table.rules.of(queue.name)
            for lane in queue.all_lanes():
                lane.rules, lane.active_rules = UNKNOWN, 0
        _apply_to_queue(ledger, queue)
        if job_attributes.rekey(ledger, queue):
            rekeyed.add(queue)
        ledger.stale.update(dict.fromkeys(queue.all_lanes()))
    if returned:
        resize(ledger, ledger.slots)
    move_renamed_queues(ledger)
    if rekeyed:
        job_attributes.reread_in_flight(ledger, rekeyed)
    ledger.context.windows.forget(now_us)
    ledger.may_exceed_limits = ledger.rebound = True
    if not has_rules:
        apply_to_lanes(ledger)


def apply_rules(
    ledgers: Sequence[Ledger],
    everywhere: Mapping[int, int],
    by_lane: Mapping[Lane, int],
    now_us: int,
) -> None:
    """Let these rules hold, from the next plan on.

    Args:
        ledgers: Those of the bands, whose policy has the rules.
        everywhere: By the pools' places, the rules without lane variables that hold in a pool
            for all lanes that they apply to.
        by_lane: For some lanes, the other rules that hold for them.
        now_us: The database's time.
    """
    by_place = {(ledger.context.place, ledger.band): ledger for ledger in ledgers}
    for ledger in ledgers:
        ledger.now_us = now_us
        active_rules = everywhere.get(ledger.context.place, 0)
        changed = ledger.active_rules ^ active_rules
        ledger.active_rules = active_rules
        if changed:
            _apply_rules_everywhere(ledger, changed)
    for lane, active_rules in by_lane.items():
        if lane.active_rules != active_rules:
            by_place[lane.queue.pool, lane.band].stale[lane] = None
            if lane.queue.rules.jobs & (lane.active_rules ^ active_rules):
                by_place[lane.queue.pool, lane.band].rebound = True
            lane.active_rules = active_rules


def lanes_with_rules(ledgers: Sequence[Ledger]) -> list[Lane]:
    """Return the lanes for which there are rules with lane variables."""
    asking = ledgers[0].table.rules.asking
    queues = (queue for ledger in ledgers for queue in ledger.queues.values())
    lanes = (lane for queue in queues for lane in queue.all_lanes())
    return [lane for lane in lanes if lane.rules > 0 and lane.rules & asking]


def _apply_rules_everywhere(ledger: Ledger, changed: int) -> None:
    ledger.settle()
    for queue in ledger.queues.values():
        if queue.rules.own & changed:
            _apply_to_queue(ledger, queue)
            ledger.may_exceed_limits = True
        ledger.rebound = ledger.rebound or queue.rules.jobs & changed > 0
    if changed & ledger.table.rules.of_tenants:
        for queue in ledger.queues.values():
            for lane in queue.all_lanes():
                if lane.rules & changed:
                    ledger.stale[lane] = None


def apply_to_lanes(ledger: Ledger) -> None:
    """Give new terms to some of the stale lanes, those that have waited longest first."""
    at_once = _LANES_WITH_RULES_AT_ONCE if ledger.table.rules else _LANES_AT_ONCE
    lanes = tuple(islice(ledger.stale, at_once))
    for branch in dict.fromkeys([lane.account.branch for lane in lanes]):
        branch.accounts.advance(branch.smallest_tag(), ledger.now_us)
    for lane in lanes:
        del ledger.stale[lane]
        _apply_to_lane(ledger, lane)
    if not ledger.stale:
        ledger.may_exceed_limits, ledger.rebound = (
            ledger.may_exceed_limits or ledger.rebound,
            False,
        )
        for branch in ledger.branches.values():
            branch.rescale()


def resize(ledger: Ledger, slots: int) -> None:
    """Compute limits that are shares of all slots from this number of them.

    Those of a queue that belongs to another pool now are shares of that pool's slots.
    """
    ledger.slots = ledger.context.slot_entry.slots = slots
    for member in ledger.members():
        if (member.queue if isinstance(member, Lane) else member).foreign:
            continue
        if member.bounds is not None and member.terms.limit_per_10_000 is not None:
            member.bounds.limit = member.terms.limit_of(slots)
            ledger.blocked.recheck(member)


def classify_lanes(ledgers: Sequence[Ledger]) -> list[Lane]:
    """Tell short jobs from long ones by the settings; returns the lanes to admit."""
    settings = ledgers[0].settings
    places = find_places(settings.short, ChainMap(*(x.in_flight_jobs for x in ledgers)))
    freed: list[Lane] = []
    for ledger in ledgers:
        ledger.places = places
        for lane in ledger.short_reserve.lanes():
            ledger.unblock(lane)
            freed.append(lane)
    return freed


def _apply_to_queue(ledger: Ledger, queue: Queue) -> None:
    settings = ledger.settings
    queue.rule = ledger.table.queue(queue.name)
    terms = queue.terms_under(ledger.table.rules, ledger.active_rules)
    if queue.terms != terms:
        queue.terms = terms
        if queue.branch.queue is queue:
            ledger.root.reweigh(queue.branch, terms.weight)
            queue.branch.rescale()
        ledger.bind(queue, queue.name, None)
    queue.mean.narrow(settings.window)
    queue.prior_us = prior_us(queue.mean, settings.prior_us)


def _apply_to_lane(ledger: Ledger, lane: Lane) -> None:
    queue, settings = lane.queue, ledger.settings
    if lane.rules == UNKNOWN:
        lane.rules = queue.rules.for_tenant(lane.tenant)
    terms = lane.terms_under(ledger.table.rules, ledger.active_rules)
    if lane.terms is not terms and lane.terms != terms:
        bound, lane.terms = lane.terms.equals_but_weight(terms), terms
        account = lane.account
        branch, weight = account.branch, account.weight_of_lanes()
        if weight != account.weight:
            with ledger.short_reserve.moving(account):
                branch.accounts.reweigh(account, weight)
            branch.scale = min(branch.scale, weight / branch.weight)
        if not bound:
            ledger.rebound = True
            ledger.bind(lane, queue.name, lane.tenant)
    if lane.blocked_by in (KEY, RULE, KIND):
        ledger.key_state.to_readmit[lane] = None
    elif lane.active and lane.rules & queue.rules.jobs:
        ledger.key_state.unread[lane] = None  # for what they read of a job, before its turn
    lane.mean.narrow(settings.window)
    lane.expected_us = lane.mean.shrunk_us(queue.prior_us, settings.prior_samples)
    lane.hint_max_us = queue.hint_max_us(lane.mean)


def surplus_rows(ledgers: Sequence[Ledger]) -> tuple[int, ...]:
    """Return the unclaimed rows that may not wait any more, ascending.

    Those are rows above a new limit, of which the ones go that would be claimed last, rows in a
    band or a pool that is no longer theirs, rows with tags of an older numbering, and rows that
    a rule for single jobs blocks.
    """
    excess: dict[Bound, int] = {}
    for value, jobs in ledgers[0].context.kinds.excess().items():
        excess["", value] = jobs
    for ledger in ledgers:
        excess.update(_excess(ledger))
    chosen: list[int] = []
    for ledger in reversed(ledgers):
        for _, job_id, job in sorted(_waiting(ledger, excess), reverse=True):
            above = [each for each in _bounds(job_id, job) if each in excess]
            if _must_go(ledger, job_id, job) or any(excess[each] > 0 for each in above):
                chosen.append(job_id)
                for each in above:
                    excess[each] -= 1
    for ledger in ledgers:
        ledger.may_exceed_limits = bool(chosen)
    return tuple(sorted(chosen))


def _waiting(
    ledger: Ledger, excess: Mapping[Bound, int]
) -> Iterator[tuple[int, int, InFlightJob]]:
    """Yield the unclaimed rows that may have to be recalled, with their tags and ids."""
    if not (excess or _may_stray(ledger)):
        return
    for job_id, job in ledger.in_flight_jobs.items():
        if job.claimed_us == UNCLAIMED and (
            any(each in excess for each in _bounds(job_id, job))
            or _must_go(ledger, job_id, job)
        ):
            yield job.root_tag, job_id, job


def _excess(ledger: Ledger) -> Iterator[tuple[Bound, int]]:
    """Yield which limits are exceeded, and by how many jobs, where a row waits unclaimed.

    It scans rows, because lanes are many more.
    """
    in_flight_jobs = ledger.in_flight_jobs.values()
    lanes = dict.fromkeys([x.lane for x in in_flight_jobs if x.claimed_us == UNCLAIMED])
    queues = dict.fromkeys([lane.queue for lane in lanes])
    for bounds in [lane.bounds for lane in lanes] + [queue.bounds for queue in queues]:
        if bounds is not None and bounds.in_flight > bounds.limit:
            yield bounds, bounds.in_flight - bounds.limit
    for queue in ledger.key_state.queues:
        if queue.keys is not None:
            for value, jobs in queue.keys.excess().items():
                yield (queue.name, value), jobs


def _bounds(job_id: int, job: InFlightJob) -> Iterator[Bound]:
    """Yield the limits for which a job in flight counts."""
    queue = job.lane.queue
    for bounds in (job.lane.bounds, queue.bounds):
        if bounds is not None:
            yield bounds
    if queue.keys is not None:
        for value in queue.keys.in_flight_values.get(job_id, ()):
            yield queue.name, value
        if queue.keys.kinds is not None:
            kind = queue.keys.kinds.kind_of(job_id)
            limited = None if kind is None else queue.keys.kinds.value_of(queue.name, kind)
            if limited is not None:
                yield "", limited


def _must_go(ledger: Ledger, job_id: int, job: InFlightJob) -> bool:
    """Whether an unclaimed row may not wait, whatever limits allow."""
    return (
        job_id in ledger.to_recall
        or _has_strayed(ledger, job)
        or is_blocked_by_rule(ledger, job_id, job)
    )


def _may_stray(ledger: Ledger) -> bool:
    """Whether any row may have to be recalled whatever limits allow: no for most policies."""
    queues = ledger.queues.values()
    if ledger.to_recall or ledger.context.has_several:
        return True
    return any(each.foreign or each.rules.jobs for each in queues)


def _has_strayed(ledger: Ledger, job: InFlightJob) -> bool:
    """Whether a job belongs to another band, or to another pool, now."""
    table, lane = ledger.table, job.lane
    if lane.queue.foreign or not ledger.context.has_several:
        return lane.queue.foreign
    if job.head is None:
        return ledger.band >= table.bands.count
    band = ledger.band if lane.aged is None else lane.aged
    return band != table.band_of(lane.queue.name, job.rank)
