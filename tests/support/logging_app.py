"""Handlers that log by Python's logging; one of its loggers was set up, the others were not."""

import asyncio
import logging
import sys

import fairlead
from fairlead import Job

tasks = fairlead.Tasks()

_own = logging.getLogger("shop.audit")
_own.propagate = False
_handler = logging.StreamHandler(sys.stderr)
_handler.setFormatter(logging.Formatter("audit: %(message)s of job %(job)s of %(tenant)r"))
_own.addHandler(_handler)


def _log(job: Job) -> None:
    logging.getLogger("shop.orders").warning("packed %s", job.kind, extra={"order": 7})
    _own.warning("packed %s", job.kind)


@tasks.handler("on_loop")
async def on_loop(job: Job) -> None:
    """Log on the loop, after a wait."""
    await asyncio.sleep(0)
    _log(job)


@tasks.handler("in_thread")
def in_thread(job: Job) -> None:
    """Log in a thread."""
    _log(job)


@tasks.handler("in_process", process=True)
def in_process(job: Job) -> None:
    """Log in a process."""
    _log(job)
