"""How a handler ends its attempt, and when the next one comes."""

from datetime import timedelta

import fairlead

tasks = fairlead.Tasks()


def wait(failures: int) -> timedelta:
    """Wait longer each time."""
    return timedelta(seconds=30) * failures


@tasks.handler("a", max_attempts=5, backoff=wait, queue="slow", priority=-1)
def ends(job: fairlead.Job[int]) -> None:
    """End in one of the ways there are."""
    match job.payload:
        case 0:
            raise fairlead.Retry("busy", after=2.5)
        case 1:
            raise fairlead.Snooze(for_=timedelta(hours=1))
        case 2:
            raise fairlead.Discard("wrong")
        case _:
            job.extend(60)
            job.progress(0.5, "half")
            job.raise_if_cancelled()
