"""Charging jobs that run longer than was expected, while they run."""

from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.short_job_reserve import LongJobs


def charge_running(ledger: Ledger, now_us: int) -> None:
    """Charge running jobs for what they have run beyond their charge; a repeat changes nothing.

    A lane of which no job has ended is expected to have more of that kind. One with a job that
    is long is a lane of long jobs at once.
    """
    root = ledger.root.time
    for job in ledger.in_flight_jobs.values():
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
    if ledger.long_jobs is not None:
        _find_long(ledger, ledger.long_jobs, now_us)


def _find_long(ledger: Ledger, long_jobs: LongJobs, now_us: int) -> None:
    """Note which running jobs are long, and recall rows of their lanes beyond the places."""
    longer_us, counted = long_jobs.longer_us, long_jobs.jobs
    begun_us = now_us - longer_us
    outlasted: dict[Lane, None] = {}
    for job_id, job in ledger.in_flight_jobs.items():
        if 0 <= job.claimed_us <= begun_us:
            mean = job.lane.mean
            if mean.longest_us < longer_us or job_id not in counted:
                outlasted[job.lane] = None
            mean.longest_us = max(mean.longest_us, now_us - job.claimed_us)
    if outlasted:
        for job_id in long_jobs.outlasted(outlasted, ledger.in_flight_jobs):
            ledger.recall(job_id)
