"""The application under test: one handler that counts, one that also records its start time."""

from __future__ import annotations

from functools import cache

import fairlead
from bench.probe import Probe

tasks = fairlead.Tasks()


@cache
def _probe() -> Probe:
    """Open the probe at the first job, in the process that runs the handlers."""
    return Probe.from_environment()


@tasks.handler("bench")
async def nothing(_job: fairlead.Job) -> None:
    """Count the start."""
    _probe().started()


@tasks.handler("stamp")
async def stamp(job: fairlead.Job) -> None:
    """Record the time of the handler's start."""
    payload = job.payload
    assert isinstance(payload, dict)
    number = payload["n"]
    assert isinstance(number, int)
    _probe().stamped(number)
