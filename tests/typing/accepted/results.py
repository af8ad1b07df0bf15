"""What handlers return."""

from typing import TypedDict

import fairlead

tasks = fairlead.Tasks()


class Sums(TypedDict):
    """A result of known shape."""

    total: int


@tasks.handler("shape")
def shape(job: fairlead.Job) -> Sums:
    """Return a TypedDict."""
    return {"total": job.attempt}


@tasks.handler("numbers")
async def numbers(job: fairlead.Job) -> dict[str, int]:
    """Return numbers, from a coroutine."""
    return {"attempt": job.attempt}


@tasks.handler("texts", process=True)
def texts(job: fairlead.Job) -> list[str]:
    """Return texts, from a process."""
    return [job.kind]


@tasks.handler("perhaps")
def perhaps(job: fairlead.Job) -> tuple[int, str] | None:
    """Return something or nothing."""
    return (1, job.kind) if job.attempt > 1 else None
