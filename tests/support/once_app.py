"""An application whose jobs run at most once, and note each start in a file."""

import os
import time
from pathlib import Path

import fairlead

tasks = fairlead.Tasks()


def note(job: fairlead.Job[dict[str, str]]) -> int:
    """Note that the job has started; return how often it has."""
    with Path(job.payload["file"]).open("a+") as file:
        file.write(f"{job.id}\n")
        file.flush()
        file.seek(0)
        return len(file.readlines())


@tasks.handler("dies", at_most_once=True)
def dies(job: fairlead.Job[dict[str, str]]) -> None:
    """End the process."""
    note(job)
    os.abort()


@tasks.handler("dies_apart", at_most_once=True, process=True)
def dies_apart(job: fairlead.Job[dict[str, str]]) -> None:
    """End the handler's own process."""
    note(job)
    os.abort()


@tasks.handler("lasts", at_most_once=True)
def lasts(job: fairlead.Job[dict[str, str]]) -> None:
    """Run until the job has to stop."""
    note(job)
    while True:
        job.raise_if_cancelled()
        time.sleep(0.01)


@tasks.handler("dies_first", max_attempts=1)
def dies_first(job: fairlead.Job[dict[str, str]]) -> None:
    """End the process the first time."""
    if note(job) == 1:
        os.abort()
