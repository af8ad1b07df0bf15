"""Handlers for trying a fleet without an application: `--app fairlead_cli.trial:tasks`."""

import asyncio

from fairlead.job import Job
from fairlead.tasks import Tasks

tasks = Tasks()


@tasks.handler("hello", timeout=30)
async def hello(job: Job) -> dict[str, str]:
    """Greet the tenant, in the job's result."""
    return {"said": f"hello, {job.tenant or 'world'}"}


@tasks.handler("wait")
async def wait(job: Job[dict[str, float]]) -> None:
    """Hold a slot for the payload's `seconds`; how long it may, its timeout says."""
    await asyncio.sleep(job.payload["seconds"])
