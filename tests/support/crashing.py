"""A tenant each of whose jobs crashes once, on a fleet in memory."""

from tests.support.fleet import Fleet


def run_with_crashes(fleet: Fleet, tenant: str, until_us: int) -> dict[int, int]:
    """Run until then; each job of the tenant crashes once it has run for half of its time.

    Returns how long each crashed attempt had its slot.
    """
    held_us: dict[int, int] = {}
    while fleet.now_us < until_us:
        for _, job_id in tuple(fleet.running):
            job = fleet.work[job_id]
            assert job.claimed_us is not None
            ran_us = fleet.now_us - job.claimed_us
            if job.tenant == tenant and job_id not in held_us and 2 * ran_us >= job.cost_us:
                held_us[job_id] = ran_us
                fleet.give_back(job_id)
        fleet.run(fleet.now_us + fleet.tick_us)
    return held_us
