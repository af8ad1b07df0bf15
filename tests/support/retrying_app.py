"""Handlers that always fail, and say when their jobs are tried again."""

import asyncio
from datetime import timedelta

import fairlead

tasks = fairlead.Tasks()


def _an_hour_each(failed: int) -> float:
    return 3600.0 * failed


def _broken(failed: int) -> float:
    raise LookupError(f"no wait after {failed}")


@tasks.handler("in_turn", backoff=_an_hour_each)
async def in_turn(_job: fairlead.Job) -> None:
    """Fail on the loop."""
    raise ValueError("no luck")


@tasks.handler("in_thread", backoff=_an_hour_each)
def in_thread(_job: fairlead.Job) -> None:
    """Fail in a thread."""
    raise ValueError("no luck")


@tasks.handler("apart", process=True, backoff=_an_hour_each)
def apart(_job: fairlead.Job) -> None:
    """Fail in another process."""
    raise ValueError("no luck")


@tasks.handler("late", backoff=timedelta(hours=1), timeout=0.1)
async def late(_job: fairlead.Job) -> None:
    """Run out of time."""
    await asyncio.sleep(60)


@tasks.handler("its_own", backoff=_an_hour_each)
def its_own(_job: fairlead.Job) -> None:
    """Fail with a wait of its own."""
    raise fairlead.Retry(after=7200)


@tasks.handler("broken", backoff=_broken)
def broken(_job: fairlead.Job) -> None:
    """Fail, and have no wait."""
    raise ValueError("no luck")


@tasks.handler("thrice", max_attempts=3)
def thrice(job: fairlead.Job) -> None:
    """Fail as often as may be."""
    raise fairlead.Retry(f"{job.attempt} of {job.max_attempts}", after=0)
