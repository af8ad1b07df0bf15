"""The handlers of the observed fleet: jobs that take time, fail, wait and crash.

They sleep instead of computing, so that a small machine can run a busy fleet.
"""

import asyncio
import os
import random
import signal
import time

import fairlead

tasks = fairlead.Tasks()

_chance = random.Random()


@tasks.handler("send", timeout=10)
async def send(_job: fairlead.Job) -> None:
    """Take some fifty milliseconds, as a call of another service does."""
    await asyncio.sleep(_chance.uniform(0.03, 0.08))


@tasks.handler("resize", timeout=10)
def resize(job: fairlead.Job) -> None:
    """Take half a second in a thread, and report progress."""
    for step in range(4):
        job.progress(step / 4, "resizing")
        time.sleep(_chance.uniform(0.08, 0.16))


@tasks.handler("report", timeout=20)
def report(_job: fairlead.Job) -> None:
    """Take a second or two."""
    time.sleep(_chance.uniform(0.8, 2.0))


@tasks.handler("call", timeout=10)
async def call(_job: fairlead.Job) -> None:
    """Fail now and then: mostly to be retried, sometimes for good."""
    await asyncio.sleep(_chance.uniform(0.02, 0.1))
    drawn = _chance.random()
    if drawn < 0.1:
        raise fairlead.Discard("no such address")
    if drawn < 0.4:
        raise fairlead.Retry("the other side is busy", after=_chance.uniform(0.5, 2.0))


@tasks.handler("await", timeout=10)
async def await_answer(_job: fairlead.Job) -> None:
    """Poll another service: snooze half of the time."""
    if _chance.random() < 0.5:
        raise fairlead.Snooze(for_=1.0)


@tasks.handler("hang", timeout=0.5)
async def hang(_job: fairlead.Job) -> None:
    """Exceed the timeout."""
    await asyncio.sleep(5.0)


@tasks.handler("crash", timeout=10)
def crash(_job: fairlead.Job) -> None:
    """Kill its own process, as a fault in a library's C code does, after some work.

    The work is longer than a worker takes to say that the kind runs alone, so that who pauses
    the queue then finds no job at its last attempt.
    """
    time.sleep(2)
    os.kill(os.getpid(), signal.SIGKILL)


@tasks.handler("tidy", timeout=10)
async def tidy(_job: fairlead.Job) -> None:
    """Run as a schedule's job."""
    await asyncio.sleep(0.05)
