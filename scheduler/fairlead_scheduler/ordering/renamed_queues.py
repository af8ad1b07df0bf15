"""Moving queues between branches, when another policy names them or names them no longer."""

from collections.abc import Iterable

from fairlead_scheduler.limits.blocked_reasons import RESERVE
from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Account
from fairlead_scheduler.ordering.levels.service import KNOWN
from fairlead_scheduler.ordering.membership import branch_of


def move_renamed_queues(ledger: Ledger) -> None:
    """Charge lanes of queues that are named otherwise than before where the policy says.

    What they have had stays charged where it was, and they stay known; what their jobs in
    flight are expected to take yet moves with them. Their unclaimed rows have tags of the
    former branches: they are recalled, to be dispatched anew.
    """
    queues = [
        queue
        for queue in ledger.queues.values()
        if queue.is_named != (queue.branch.queue is queue)
    ]
    if not queues:
        return
    ledger.settle()
    jobs: dict[Lane, list[tuple[int, InFlightJob]]] = {}
    for job_id, job in ledger.in_flight_jobs.items():
        jobs.setdefault(job.lane, []).append((job_id, job))
    for queue in queues:
        former = queue.branch
        former.take_rows_of(queue)
        queue.branch = branch_of(ledger, queue)
        for lane in queue.all_lanes():
            _move(ledger, lane, jobs.get(lane, ()))
        first = former.drop_claimed()
        if first is not None:
            ledger.claim_floor.represent(first)
        queue.branch.rescale()


def _move(ledger: Ledger, lane: Lane, jobs: Iterable[tuple[int, InFlightJob]]) -> None:
    """Move one lane, with its jobs in flight, to its tenant's account in its queue's branch."""
    if lane.blocked_by == RESERVE:
        ledger.unblock(lane)
    if lane.active:
        ledger.deactivate(lane)
        lane.resumes = True
    former, in_flight = lane.account, lane.in_flight
    lane.count_in_flight(-in_flight)
    former.lanes.remove(lane)
    account = lane.queue.branch.account_of(lane.tenant, lane.weight)
    account.add(lane)
    # Whoever is known is no newcomer for another policy's sake.
    if former.service.standing == KNOWN:
        account.branch.accounts.time.know(account)
    if former.branch.service.standing == KNOWN:
        ledger.root.time.know(account.branch)
    lane.count_in_flight(in_flight)
    running = expected_us = queue_expected_us = 0
    for job_id, job in jobs:
        ran_us = ledger.now_us - job.claimed_us if job.claimed_us >= 0 else 0
        running += job.claimed_us >= 0
        expected_us += job.charged_us - ran_us
        queue_expected_us += job.queue_charged_us - ran_us
        if job.claimed_us == UNCLAIMED:
            ledger.claim_floor.add(job)
            ledger.recall(job_id)
    _charge(ledger, former, -running, -expected_us, -queue_expected_us)
    _charge(ledger, lane.account, running, expected_us, queue_expected_us)
    if lane.heads.stream is not None:
        ledger.key_state.to_readmit[lane] = None


def _charge(
    ledger: Ledger, account: Account, running: int, expected_us: int, branch_expected_us: int
) -> None:
    """Count so many more running jobs, and what they and queued ones will take."""
    branch, root = account.branch, ledger.root
    branch.accounts.time.pass_to(ledger.now_us)
    branch.accounts.time.serve(account, running, 0)
    branch.accounts.charge(account, expected_us)
    root.time.serve(branch, running, 0)
    root.charge(branch, branch_expected_us)
