"""An application whose secrets must stay in the database: each kind ends in another way."""

import asyncio
import os
import time
from typing import cast

import fairlead
from fairlead import Job, Json

SECRETS = ("payload", "headers", "dedup", "result", "note", "checkpoint", "policy")
"""Where a canary is put that only the database may show."""
KINDS = (
    "succeeds",
    "apart",
    "fails",
    "gives_up",
    "hangs",
    "blocks",
    "crashes",
    "odd",
    "refused",
)
tasks = fairlead.Tasks()


def canary(place: str) -> str:
    """Return the word that stands for a secret in one place."""
    return f"canary-{place}-5d1c"


def _report(job: Job) -> None:
    """Read what the job carries, and leave a note, and what the next attempt goes on from."""
    assert canary("payload") in str(job.payload)
    assert canary("headers") in str(job.headers)
    job.progress(0.5, canary("note"))
    job.checkpoint(canary("checkpoint"))


@tasks.handler("succeeds")
async def succeeds(job: Job) -> Json:
    """Return a secret."""
    _report(job)
    return canary("result")


@tasks.handler("apart", process=True)
def apart(job: Job) -> Json:
    """Do so in a process of its own."""
    _report(job)
    return canary("result")


@tasks.handler("fails")
def fails(job: Job) -> None:
    """Raise an error whose text is the application's, while variables hold secrets."""
    _report(job)
    secret = canary("payload")
    known: dict[int, str] = {}
    try:
        known[len(secret)] += secret
    except KeyError as error:
        raise ValueError(canary("error")) from error


@tasks.handler("gives_up")
async def gives_up(job: Job) -> None:
    """End for good, with a text of the application's."""
    _report(job)
    raise fairlead.Discard(canary("error"))


@tasks.handler("hangs")
async def hangs(job: Job) -> None:
    """Run into the deadline and stop."""
    _report(job)
    await asyncio.sleep(3600)


@tasks.handler("blocks")
def blocks(job: Job) -> None:
    """Run into the deadline and never stop, so that the process is killed."""
    _report(job)
    while True:
        time.sleep(0.1)


@tasks.handler("crashes")
def crashes(job: Job) -> None:
    """End the process, then that in quarantine."""
    _report(job)
    os._exit(9)


@tasks.handler("odd")
async def odd(job: Job) -> Json:
    """Return what is no JSON beside a secret."""
    _report(job)
    return {canary("result"): cast("Json", lambda: None)}


@tasks.handler("refused")
async def refused(job: Job) -> Json:
    """Return what the test has the database refuse."""
    _report(job)
    return {"refused": canary("result")}
