"""Starting from a full read of `work_queue`, and correcting the ledger by one."""

from collections.abc import Container, Iterable

from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.order_tags import is_far_ahead
from fairlead_scheduler.ordering.membership import ensure_lane
from fairlead_scheduler.ordering.plan import QueueRow
from fairlead_scheduler.pending.cursors import LaneHeads


def adopt(ledger: Ledger, rows: Iterable[QueueRow], now_us: int, floor: int) -> None:
    """Fill an empty ledger from the rows that a former leader dispatched.

    All tags are gone but those of the rows. Queues and tenants are charged anew for what they
    have in flight, from the smallest of these on, which costs fairness one bound, once.
    """
    ordered = sorted(rows, key=_claim_order)
    unclaimed = [row.vtag for row in ordered if row.claimed_us is None]
    ledger.floor = min(floor, *unclaimed) if unclaimed else floor
    root = ledger.root
    root.time.start_at(ledger.floor)
    for row in ordered:
        job = _enter(ledger, row, now_us)
        account = job.lane.account
        branch = account.branch
        if job.claimed_us == UNCLAIMED and is_far_ahead(row.vtag, ledger.floor):
            # Among its branch's rows it would put all new ones behind it.
            ledger.hold_floor(row.job_id, job)
        elif job.claimed_us == UNCLAIMED:
            if branch.rows:
                account.start = max(account.start, branch.tags[-1])
            else:
                ledger.claim_floor.represent(job)
            branch.rows.append(job)
            branch.tags.append(account.start)
        branch.accounts.charge(account, job.charged_us)
        root.charge(branch, job.queue_charged_us)


def reconcile(
    ledger: Ledger, rows: Iterable[QueueRow], now_us: int, touched: Container[int]
) -> int:
    """Correct the ledger by a full read; returns how many ids were wrong.

    Ids in `touched` have changed since the read began, and the ledger is right about them.
    """
    wrong = 0
    read: set[int] = set()
    ledger.to_recall.clear()
    raised_by = ledger.tag_shift.by
    for written in rows:
        row = written._replace(vtag=written.vtag - raised_by) if raised_by else written
        job_id = row.job_id
        read.add(job_id)
        if job_id not in touched:
            wrong += _correct(ledger, row, now_us)
            if row.claimed_us is None and is_far_ahead(row.vtag, ledger.floor):
                ledger.recall(job_id)
    gone = [
        job_id
        for job_id in ledger.in_flight_jobs
        if job_id not in read and job_id not in touched
    ]
    for job_id in gone:
        ledger.close(job_id)
    return wrong + len(gone)


def forget_idle_lanes(ledger: Ledger) -> list[LaneHeads]:
    """Drop lanes without work or debt when there are too many; returns their heads.

    Those go first that have had a job at most. A tenant that is forgotten is a newcomer when it
    comes back, and a name with one job costs nothing: a spray of them would put everybody off
    who was known before.
    """
    gone: list[LaneHeads] = []
    lanes = sum([len(queue.tenants) for queue in ledger.queues.values()])
    if lanes <= ledger.settings.idle_lanes_max:
        return gone
    every = [lane for queue in ledger.queues.values() for lane in queue.tenants.values()]
    excess = lanes - ledger.settings.idle_lanes_max - sum([lane.active for lane in every])
    if excess <= 0:
        return gone
    for branch in ledger.branches.values():
        branch.accounts.advance(branch.smallest_tag(), ledger.now_us)
    queues: dict[Queue, None] = {}
    for lane in _least_known(every, excess, ledger):
        # Another lane of its account may be gone by now.
        if _is_forgettable(lane, ledger):
            del lane.queue.tenants[lane.tenant]
            _drop(lane, ledger)
            gone.append(lane.heads)
            queues[lane.queue] = None
    for queue in tuple(ledger.queues.values()):
        if queue in queues or not queue.tenants:
            _forget_queue(queue, ledger)
    _forget_branches(ledger)
    return gone


def _least_known(lanes: Iterable[Lane], count: int, ledger: Ledger) -> list[Lane]:
    """Return so many lanes that may be forgotten, those first that have had the fewest jobs.

    Of those that have had one at most, the oldest ones.
    """
    few: list[Lane] = []
    others: list[Lane] = []
    for lane in lanes:
        if _is_forgettable(lane, ledger):
            (few if lane.mean.samples <= 1 else others).append(lane)
            if len(few) == count:
                return few
    return few + sorted(others, key=_samples_of)[: count - len(few)]


def _samples_of(lane: Lane) -> int:
    return lane.mean.samples


def _forget_queue(queue: Queue, ledger: Ledger) -> None:
    """Drop lanes of aged jobs that have none, and the queue if nothing is left of it."""
    for lane in [each for each in queue.aged.values() if _is_forgettable(each, ledger)]:
        assert lane.aged is not None
        del queue.aged[lane.tenant, lane.aged]
        _drop(lane, ledger)
    drained = queue.bounds is None or queue.bounds.is_empty(ledger.now_us)
    branch = queue.branch
    competes = branch.queue is queue and branch.service.competes
    waits = branch.queue is queue and branch.drop_claimed() is not None
    if drained and not (competes or waits or queue.tenants or queue.aged):
        _unbind(queue)
        del ledger.queues[queue.name]
        ledger.key_state.queues.pop(queue, None)
        ledger.reserving.pop(queue, None)
        ledger.blocked.unblock(queue, ledger.now_us)


def _forget_branches(ledger: Ledger) -> None:
    """Drop accounts and branches to which no lane belongs any more."""
    for name, branch in tuple(ledger.branches.items()):
        for account in tuple(branch.by_tenant.values()):
            if not (account.lanes or account.in_flight or account.service.competes):
                branch.forget(account)
        kept = name is None or name in ledger.queues or branch.service.competes
        if not (kept or branch.by_tenant or branch.in_flight):
            del ledger.branches[name]
            ledger.root.remove(branch)


def _drop(lane: Lane, ledger: Ledger) -> None:
    _unbind(lane)
    lane.account.lanes.remove(lane)
    ledger.reserving.pop(lane, None)
    ledger.unblock(lane)


def _unbind(member: Member) -> None:
    """Leave a member's bounds to the members in other bands."""
    if member.bounds is not None:
        member.bounds.members = [x for x in member.bounds.members if x is not member]


def _is_forgettable(lane: Lane, ledger: Ledger) -> bool:
    """Whether a lane has neither work nor a part in what its account has had."""
    heads, account = lane.heads, lane.account
    busy = lane.active or lane.in_flight or lane.dirty or heads.stream or heads.changed
    drained = lane.bounds is None or lane.bounds.is_empty(ledger.now_us)
    if busy or not drained:
        return False
    known = len(account.lanes) > 1
    settled = account.start <= account.branch.accounts.virtual
    return known or (settled and not account.service.competes)


def _enter(ledger: Ledger, row: QueueRow, now_us: int) -> InFlightJob:
    """Enter a job in flight for a row that another leader or pool dispatched."""
    lane = ensure_lane(ledger, row.queue, row.tenant)
    queue_us = min(row.estimate_us, lane.queue.hint_max_us(lane.mean))
    job = InFlightJob(lane, None, 0, row.vtag, row.estimate_us, queue_us)
    ledger.in_flight_jobs[row.job_id] = job
    if lane.queue.keys is not None:
        lane.queue.keys.unknown[row.job_id] = row.tenant
    if ledger.context.kinds:
        ledger.context.kinds.is_counted = False
    lane.count_in_flight(1)
    ledger.unclaimed += 1
    ledger.waiting_us += queue_us
    if row.claimed_us is None:
        ledger.last_root_tag = max(ledger.last_root_tag, row.vtag)
        ledger.check_for_recall(lane)
    else:
        ran_us = now_us - row.claimed_us
        job.charged_us = max(row.estimate_us, ran_us)
        job.queue_charged_us = max(queue_us, ran_us)
        ledger.waiting_us += job.queue_charged_us - queue_us
        ledger.claim((row.job_id,), row.claimed_us)
    if ledger.places is not None and job.charged_us >= ledger.places.longer_us:
        ledger.places.long[row.job_id] = lane
    return job


def _correct(ledger: Ledger, row: QueueRow, now_us: int) -> bool:
    job = ledger.in_flight_jobs.get(row.job_id)
    if job is None:
        job = _enter(ledger, row, now_us)
        ledger.owe(job.lane, job.charged_us, job.queue_charged_us)
        if job.claimed_us == UNCLAIMED:
            ledger.hold_floor(row.job_id, job)
    elif row.claimed_us is None and job.claimed_us != UNCLAIMED:
        ledger.hand_back((row.job_id,), now_us)
    elif row.claimed_us is not None and job.claimed_us == UNCLAIMED:
        ledger.claim((row.job_id,), row.claimed_us)
    else:
        return False
    return True


def _claim_order(row: QueueRow) -> tuple[int, int]:
    return row.vtag, row.job_id
