"""Another policy for the books, between two plans: it touches no row of the database.

A lane whose weight changes keeps what it has been charged beyond the others in slot-time, so a
debt that would have taken a light lane minutes takes a heavy one as long as it should.

Queues have their new terms at once. Lanes get theirs some at each plan, because ten thousand
would hold up a dispatch for longer than a tick.
"""

from collections.abc import Iterator
from itertools import islice
from operator import itemgetter

from fairlead_scheduler import traits
from fairlead_scheduler.books import UNCLAIMED, Flight, Lane, Queue
from fairlead_scheduler.estimate import prior_us
from fairlead_scheduler.keys import Value
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.longs import long_jobs
from fairlead_scheduler.terms import Table

_LANES_AT_ONCE = 1000

Bound = Lane | Queue | tuple[Queue, Value]
"""What a limit is for: the last is a value of a key."""


def amend(ledger: Ledger, table: Table, now_us: int) -> None:
    """Serve everybody on the terms of this table, from now on."""
    same = table.digest and table.digest == ledger.table.digest
    ledger.now_us = now_us
    ledger.table = table
    if same:
        return
    ledger.root.advance(ledger.lowest_tag())
    rekeyed: set[Queue] = set()
    for queue in ledger.queues.values():
        _amend_queue(ledger, queue)
        demands = () if queue.keys is None else queue.keys.demands
        if demands != queue.rule.keys and traits.rekey(ledger, queue, queue.rule.keys):
            rekeyed.add(queue)
        ledger.stale.update(dict.fromkeys(queue.tenants.values()))
    if rekeyed:
        traits.forget(ledger, rekeyed)
    ledger.forget_windows()
    ledger.over = True
    amend_lanes(ledger)


def amend_lanes(ledger: Ledger) -> None:
    """Give new terms to some of the lanes that wait for theirs, the longest waiting first."""
    lanes = tuple(islice(ledger.stale, _LANES_AT_ONCE))
    for queue in dict.fromkeys([lane.queue for lane in lanes]):
        queue.lanes.advance(queue.oldest())
    for lane in lanes:
        del ledger.stale[lane]
        _amend_lane(ledger, lane)
    if not ledger.stale:
        ledger.over = True
        for queue in ledger.queues.values():
            queue.rescale()


def resize(ledger: Ledger, slots: int) -> None:
    """Reckon the limits that are shares of all slots by this number of them."""
    ledger.slots = slots
    for member in ledger.members():
        if member.bounds is not None and member.terms.limit_per_10_000 is not None:
            member.bounds.limit = member.terms.limit_of(slots)
            ledger.holds.ask_again(member)


def judge_lengths(ledger: Ledger) -> list[Lane]:
    """Tell short jobs from long ones as the settings say; returns the lanes to admit."""
    settings, freed = ledger.settings, ledger.parked.lanes()
    ledger.longs = long_jobs(settings.short, settings.prior_samples, ledger.flights)
    for lane in freed:
        ledger.let(lane)
    return freed


def _amend_queue(ledger: Ledger, queue: Queue) -> None:
    settings = ledger.settings
    rule = queue.rule = ledger.table.queue(queue.name)
    if queue.terms != rule.own:
        ledger.root.reweigh(queue, rule.own.weight)
        queue.terms = rule.own
        ledger.bind(queue, queue.name, None)
        queue.rescale()
    queue.mean.narrow(settings.window)
    queue.prior_us = prior_us(queue.mean, settings.prior_us)


def _amend_lane(ledger: Ledger, lane: Lane) -> None:
    queue, settings = lane.queue, ledger.settings
    terms = queue.rule.lane(lane.tenant)
    if lane.terms is not terms and lane.terms != terms:
        if lane.weight != terms.weight:
            queue.lanes.reweigh(lane, terms.weight)
            queue.scale = min(queue.scale, terms.weight / queue.weight)
        lane.terms = terms
        ledger.bind(lane, queue.name, lane.tenant)
    lane.mean.narrow(settings.window)
    lane.expected_us = lane.mean.shrunk_us(queue.prior_us, settings.prior_samples)


def surplus(ledger: Ledger) -> tuple[int, ...]:
    """Return the unclaimed rows that limits no longer allow, ascending: those that go last."""
    excess = dict(_excess(ledger))
    chosen: list[int] = []
    if excess:
        waiting = [
            (flight.root_tag, job_id, above)
            for job_id, flight in ledger.flights.items()
            if flight.claimed_us == UNCLAIMED
            and (above := [each for each in _bounds(job_id, flight) if each in excess])
        ]
        for _, job_id, above in sorted(waiting, key=itemgetter(0, 1), reverse=True):
            if any(excess[each] > 0 for each in above):
                chosen.append(job_id)
                for each in above:
                    excess[each] -= 1
    ledger.over = bool(chosen)
    return tuple(sorted(chosen))


def _excess(ledger: Ledger) -> Iterator[tuple[Bound, int]]:
    """Yield whose limits are exceeded, and by how many jobs."""
    for member in ledger.members():
        if member.bounds is not None and member.in_flight > member.bounds.limit:
            yield member, member.in_flight - member.bounds.limit
    for queue in ledger.keyed.queues:
        if queue.keys is not None:
            for value, jobs in queue.keys.excess().items():
                yield (queue, value), jobs


def _bounds(job_id: int, flight: Flight) -> Iterator[Bound]:
    """Yield whose limits a job in flight counts for."""
    queue = flight.lane.queue
    yield flight.lane
    yield queue
    if queue.keys is not None:
        for value in queue.keys.flights.get(job_id, ()):
            yield queue, value
