"""Another policy for the books, between two plans: it touches no row of the database.

A lane whose weight changes keeps what it has been charged beyond the others in slot-time, so a
debt that would have taken a light lane minutes takes a heavy one as long as it should.

Queues have their new terms at once. Lanes get theirs some at each plan, because ten thousand
would hold up a dispatch for longer than a tick.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from fairlead_scheduler import traits
from fairlead_scheduler.books import UNCLAIMED, UNKNOWN, Flight, Lane, Queue
from fairlead_scheduler.bounds import KEY, RESERVE, RULE, Bounds
from fairlead_scheduler.estimate import prior_us
from fairlead_scheduler.keys import Value
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.longs import long_jobs
from fairlead_scheduler.terms import Table
from fairlead_scheduler.verdicts import is_ruled_out

_LANES_AT_ONCE = 1000
_RULED_LANES_AT_ONCE = 400
"""Where there are rules: to find those that are for a lane takes as long again, or longer."""

Bound = Bounds | tuple[str, Value]
"""What a limit is for: the last is a value of a key."""


def amend(ledger: Ledger, table: Table, now_us: int) -> None:
    """Serve everybody on the terms of this table, from now on.

    Where there are rules no lane has its terms before it is known which of them hold.
    """
    same = table.digest and table.digest == ledger.table.digest
    same = same and table.rules.disabled == ledger.table.rules.disabled
    ruled = bool(ledger.table.rules or table.rules)
    ledger.now_us = now_us
    ledger.table = table
    if same:
        return
    ledger.ruling = 0
    ledger.root.advance(ledger.fronts.lowest_tag())
    rekeyed: set[Queue] = set()
    returned = False
    for queue in ledger.queues.values():
        was, queue.foreign = queue.foreign, ledger.shared.is_foreign(queue.name, table.homes)
        returned = returned or (was and not queue.foreign)
        if ruled:
            queue.rules = table.rules.of(queue.name)
        _amend_queue(ledger, queue)
        if traits.rekey(ledger, queue):
            rekeyed.add(queue)
        ledger.stale.update(dict.fromkeys(queue.every()))
    if returned:
        resize(ledger, ledger.slots)
    if rekeyed:
        traits.forget(ledger, rekeyed)
    if ruled:
        for lane in ledger.stale:
            lane.rules, lane.ruling = UNKNOWN, 0
    ledger.shared.windows.forget(now_us)
    ledger.over = ledger.rebound = True
    if not ruled:
        amend_lanes(ledger)


def rule(
    ledgers: Sequence[Ledger],
    everywhere: Mapping[int, int],
    by_lane: Mapping[Lane, int],
    now_us: int,
) -> None:
    """Let these rules hold, from the next plan on.

    Args:
        ledgers: The books of the bands, whose table has the rules.
        everywhere: By the pools' places, those that hold for everybody they are for in a pool,
            of those that ask nothing of lanes.
        by_lane: For some lanes, those of the others that hold for them.
        now_us: The database's time.
    """
    books = {(ledger.shared.place, ledger.band): ledger for ledger in ledgers}
    for ledger in ledgers:
        ledger.now_us = now_us
        ruling = everywhere.get(ledger.shared.place, 0)
        changed = ledger.ruling ^ ruling
        ledger.ruling = ruling
        if changed:
            _rule_everywhere(ledger, changed)
    for lane, ruling in by_lane.items():
        if lane.ruling != ruling:
            books[lane.queue.pool, lane.band].stale[lane] = None
            if lane.queue.rules.jobs & (lane.ruling ^ ruling):
                books[lane.queue.pool, lane.band].rebound = True
            lane.ruling = ruling


def ruled_lanes(ledgers: Sequence[Ledger]) -> list[Lane]:
    """Return the lanes for which there are rules that ask something of lanes."""
    asking = ledgers[0].table.rules.asking
    queues = (queue for ledger in ledgers for queue in ledger.queues.values())
    lanes = (lane for queue in queues for lane in queue.every())
    return [lane for lane in lanes if lane.rules > 0 and lane.rules & asking]


def _rule_everywhere(ledger: Ledger, changed: int) -> None:
    ledger.root.advance(ledger.fronts.lowest_tag())
    for queue in ledger.queues.values():
        if queue.rules.own & changed:
            _amend_queue(ledger, queue)
            ledger.over = True
        ledger.rebound = ledger.rebound or queue.rules.jobs & changed > 0
    if changed & ledger.table.rules.of_tenants:
        for queue in ledger.queues.values():
            for lane in queue.every():
                if lane.rules & changed:
                    ledger.stale[lane] = None


def amend_lanes(ledger: Ledger) -> None:
    """Give new terms to some of the lanes that wait for theirs, the longest waiting first."""
    at_once = _RULED_LANES_AT_ONCE if ledger.table.rules else _LANES_AT_ONCE
    lanes = tuple(islice(ledger.stale, at_once))
    for queue in dict.fromkeys([lane.queue for lane in lanes]):
        queue.lanes.advance(queue.oldest())
    for lane in lanes:
        del ledger.stale[lane]
        _amend_lane(ledger, lane)
    if not ledger.stale:
        ledger.over, ledger.rebound = ledger.over or ledger.rebound, False
        for queue in ledger.queues.values():
            queue.rescale()


def resize(ledger: Ledger, slots: int) -> None:
    """Reckon the limits that are shares of all slots by this number of them.

    Those of a queue that belongs to another pool now are shares of that one's.
    """
    ledger.slots = slots
    for member in ledger.members():
        if (member.queue if isinstance(member, Lane) else member).foreign:
            continue
        if member.bounds is not None and member.terms.limit_per_10_000 is not None:
            member.bounds.limit = member.terms.limit_of(slots)
            ledger.holds.ask_again(member)


def judge_lengths(ledgers: Sequence[Ledger]) -> list[Lane]:
    """Tell short jobs from long ones as the settings say; returns the lanes to admit."""
    settings = ledgers[0].settings
    longs = long_jobs(
        settings.short, settings.prior_samples, ChainMap(*(x.flights for x in ledgers))
    )
    freed: list[Lane] = []
    for ledger in ledgers:
        ledger.longs = longs
        for lane in ledger.parked.lanes():
            ledger.let(lane)
            freed.append(lane)
    return freed


def _amend_queue(ledger: Ledger, queue: Queue) -> None:
    settings = ledger.settings
    queue.rule = ledger.table.queue(queue.name)
    terms = queue.ruled(ledger.table.rules, ledger.ruling)
    if queue.terms != terms:
        ledger.root.reweigh(queue, terms.weight)
        queue.terms = terms
        ledger.bind(queue, queue.name, None)
        queue.rescale()
    queue.mean.narrow(settings.window)
    queue.prior_us = prior_us(queue.mean, settings.prior_us)


def _amend_lane(ledger: Ledger, lane: Lane) -> None:
    queue, settings = lane.queue, ledger.settings
    if lane.rules == UNKNOWN:
        lane.rules = queue.rules.for_tenant(lane.tenant)
    terms = lane.ruled(ledger.table.rules, ledger.ruling)
    if lane.terms is not terms and lane.terms != terms:
        if lane.weight != terms.weight:
            if lane.held == RESERVE:
                ledger.parked.reweigh(lane, terms.weight)
            else:
                queue.lanes.reweigh(lane, terms.weight)
            queue.scale = min(queue.scale, terms.weight / queue.weight)
        bound, lane.terms = lane.terms.binds_as(terms), terms
        if not bound:
            ledger.rebound = True
            ledger.bind(lane, queue.name, lane.tenant)
    if lane.held in (KEY, RULE):
        ledger.keyed.again[lane] = None
    lane.mean.narrow(settings.window)
    lane.expected_us = lane.mean.shrunk_us(queue.prior_us, settings.prior_samples)


def surplus(ledgers: Sequence[Ledger]) -> tuple[int, ...]:
    """Return the unclaimed rows that may not wait any more, ascending.

    Those are rows above a new limit, of which the ones go that would be claimed last, rows in a
    band or a pool that is no longer theirs, and those that a rule for single jobs holds.
    """
    excess: dict[Bound, int] = {}
    for ledger in ledgers:
        excess.update(_excess(ledger))
    chosen: list[int] = []
    for ledger in reversed(ledgers):
        for _, job_id, flight in sorted(_waiting(ledger, excess), reverse=True):
            above = [each for each in _bounds(job_id, flight) if each in excess]
            if _must_go(ledger, job_id, flight) or any(excess[each] > 0 for each in above):
                chosen.append(job_id)
                for each in above:
                    excess[each] -= 1
    for ledger in ledgers:
        ledger.over = bool(chosen)
    return tuple(sorted(chosen))


def _waiting(ledger: Ledger, excess: Mapping[Bound, int]) -> Iterator[tuple[int, int, Flight]]:
    """Yield the unclaimed rows that may have to go, with their tags and ids."""
    if not (excess or _may_stray(ledger)):
        return
    for job_id, flight in ledger.flights.items():
        if flight.claimed_us == UNCLAIMED and (
            any(each in excess for each in _bounds(job_id, flight))
            or _must_go(ledger, job_id, flight)
        ):
            yield flight.root_tag, job_id, flight


def _excess(ledger: Ledger) -> Iterator[tuple[Bound, int]]:
    """Yield which limits are exceeded, and by how many jobs, where a row waits unclaimed.

    Those are looked for by the rows: lanes are many more.
    """
    flights = ledger.flights.values()
    lanes = dict.fromkeys([x.lane for x in flights if x.claimed_us == UNCLAIMED])
    queues = dict.fromkeys([lane.queue for lane in lanes])
    for bounds in [lane.bounds for lane in lanes] + [queue.bounds for queue in queues]:
        if bounds is not None and bounds.in_flight > bounds.limit:
            yield bounds, bounds.in_flight - bounds.limit
    for queue in ledger.keyed.queues:
        if queue.keys is not None:
            for value, jobs in queue.keys.excess().items():
                yield (queue.name, value), jobs


def _bounds(job_id: int, flight: Flight) -> Iterator[Bound]:
    """Yield which limits a job in flight counts for."""
    queue = flight.lane.queue
    for bounds in (flight.lane.bounds, queue.bounds):
        if bounds is not None:
            yield bounds
    if queue.keys is not None:
        for value in queue.keys.flights.get(job_id, ()):
            yield queue.name, value


def _must_go(ledger: Ledger, job_id: int, flight: Flight) -> bool:
    """Whether an unclaimed row may not wait, whatever limits allow."""
    return _has_strayed(ledger, flight) or is_ruled_out(ledger, job_id, flight)


def _may_stray(ledger: Ledger) -> bool:
    """Whether any row may have to go whatever limits allow: most policies leave none."""
    queues = ledger.queues.values()
    return ledger.shared.several or any(each.foreign or each.rules.jobs for each in queues)


def _has_strayed(ledger: Ledger, flight: Flight) -> bool:
    """Whether a job belongs to another band, or to another pool, now."""
    table, lane = ledger.table, flight.lane
    if lane.queue.foreign or not ledger.shared.several:
        return lane.queue.foreign
    if flight.head is None:
        return ledger.band >= table.bands.count
    band = ledger.band if lane.aged is None else lane.aged
    return band != table.band_of(lane.queue.name, flight.rank)
