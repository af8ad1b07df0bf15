"""Charging jobs that run longer than was expected, while they run."""

from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.level import NEVER


def charge_running(ledger: Ledger, now_us: int) -> None:
    """Charge running jobs for what they have run beyond their charge; a repeat changes nothing.

    A lane of which no job has ended is expected to have more of that kind.
    """
    long_jobs, root = ledger.long_jobs, ledger.root.time
    longer_us = NEVER if long_jobs is None else long_jobs.longer_us
    for job_id, job in ledger.in_flight_jobs.items():
        if job.claimed_us < 0:
            continue
        ran_us = now_us - job.claimed_us
        over_us, queue_over_us = ran_us - job.charged_us, ran_us - job.queue_charged_us
        lane, account = job.lane, job.lane.account
        if queue_over_us > 0:
            job.queue_charged_us = ran_us
            ledger.owe(lane, max(0, over_us), queue_over_us)
            root.learn_running(queue_over_us, ran_us, account.branch.weight)
        elif over_us > 0:
            ledger.owe(lane, over_us, 0)
        if over_us > 0:
            job.charged_us = ran_us
            if not lane.mean.samples:
                lane.expected_us = max(lane.expected_us, ran_us)
            account.branch.accounts.time.learn_running(over_us, ran_us, account.weight)
            if long_jobs is not None and job.charged_us >= longer_us:
                long_jobs.ids.add(job_id)
