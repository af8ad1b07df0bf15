"""The application of the fairness bench: jobs that occupy a slot and cost nothing else."""

from __future__ import annotations

import asyncio

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("sleep")
async def sleep(job: fairlead.Job) -> None:
    """Occupy a slot for as many seconds as the payload says."""
    payload = job.payload
    assert isinstance(payload, dict)
    seconds = payload["seconds"]
    assert isinstance(seconds, int | float)
    await asyncio.sleep(seconds)
