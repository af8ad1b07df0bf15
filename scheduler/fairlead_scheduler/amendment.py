"""Another policy for the books, between two plans: it touches no row of the database.

A lane whose weight changes keeps what it has been charged beyond the others in slot-time, so a
debt that would have taken a light lane minutes takes a heavy one as long as it should.
"""

from operator import itemgetter

from fairlead_scheduler.books import UNCLAIMED, Queue
from fairlead_scheduler.estimate import prior_us
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.terms import Table


def amend(ledger: Ledger, table: Table, now_us: int) -> None:
    """Serve all lanes on the terms of this table from now on."""
    ledger.now_us = now_us
    ledger.root.advance(ledger.lowest_tag())
    anew = ledger.table.settings != table.settings
    ledger.table = table
    for queue in ledger.queues.values():
        _amend_queue(ledger, queue)
        if anew:
            _estimate_anew(ledger, queue)
    ledger.forget_windows()
    ledger.over = True


def resize(ledger: Ledger, slots: int) -> None:
    """Reckon the limits that are shares of all slots by this number of them."""
    ledger.slots = slots
    for member in ledger.members():
        if member.bounds is not None and member.terms.limit_per_10_000 is not None:
            member.bounds.limit = member.terms.limit_of(slots)
            ledger.holds.ask_again(member)


def _amend_queue(ledger: Ledger, queue: Queue) -> None:
    root, lanes = ledger.root, queue.lanes
    rule = queue.rule = ledger.table.queue(queue.name)
    if queue.terms != rule.own:
        root.reweigh(queue, rule.own.weight)
        queue.terms = rule.own
        ledger.bind(queue, queue.name, None)
    lanes.advance(queue.oldest())
    for lane in queue.tenants.values():
        terms = rule.lane(lane.tenant)
        if lane.terms != terms:
            lanes.reweigh(lane, terms.weight)
            lane.terms = terms
            ledger.bind(lane, queue.name, lane.tenant)
    queue.rescale()


def _estimate_anew(ledger: Ledger, queue: Queue) -> None:
    """Guess costs by the settings of the new table."""
    settings = ledger.table.settings
    queue.mean.narrow(settings.window)
    queue.prior_us = prior_us(queue.mean, settings.prior_us)
    for lane in queue.tenants.values():
        lane.mean.narrow(settings.window)
        lane.expected_us = lane.mean.shrunk_us(queue.prior_us, settings.prior_samples)


def surplus(ledger: Ledger) -> tuple[int, ...]:
    """Return the unclaimed rows that limits no longer allow, ascending: those that go last."""
    excess = {
        member: member.in_flight - member.bounds.limit
        for member in ledger.members()
        if member.bounds is not None and member.in_flight > member.bounds.limit
    }
    chosen: list[int] = []
    if excess:
        waiting = [
            (flight.root_tag, job_id, flight.lane)
            for job_id, flight in ledger.flights.items()
            if flight.claimed_us == UNCLAIMED
            and (flight.lane in excess or flight.lane.queue in excess)
        ]
        for _, job_id, lane in sorted(waiting, key=itemgetter(0, 1), reverse=True):
            above = [member for member in (lane, lane.queue) if member in excess]
            if any(excess[member] > 0 for member in above):
                chosen.append(job_id)
                for member in above:
                    excess[member] -= 1
    ledger.over = bool(chosen)
    return tuple(sorted(chosen))
