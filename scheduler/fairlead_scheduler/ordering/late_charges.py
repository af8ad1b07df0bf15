"""Charging jobs that run longer than was expected, while they run."""

from collections.abc import Mapping

from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.reserve.places import Places


def charge_running(ledger: Ledger, now_us: int) -> None:
    """Charge running jobs for what they have run beyond their charge; a repeat changes nothing.

    A lane of which no job has ended is expected to have more of that kind. One with a job that
    is long is a lane of long jobs at once.
    """
    root, places = ledger.root.time, ledger.places
    outlasts_us = NEVER if places is None else places.longer_us
    long: dict[int, InFlightJob] = {}
    for job_id, job in ledger.in_flight_jobs.items():
        if job.claimed_us < 0:
            continue
        ran_us = now_us - job.claimed_us
        if ran_us >= outlasts_us:
            long[job_id] = job
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
    if places is not None and long:
        _note_long(ledger, places, long, now_us)


def _note_long(
    ledger: Ledger, places: Places, long: Mapping[int, InFlightJob], now_us: int
) -> None:
    """Make lanes long by their running jobs, and recall rows of them beyond the places."""
    outlasted: dict[Lane, None] = {}
    for job_id, job in long.items():
        mean = job.lane.mean
        if mean.longest_us < places.longer_us or job_id not in places.long:
            outlasted[job.lane] = None
        mean.longest_us = max(mean.longest_us, now_us - job.claimed_us)
    if outlasted:
        for job_id in places.outlasted(outlasted, ledger.in_flight_jobs):
            ledger.recall(job_id)
