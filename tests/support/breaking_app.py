"""An application whose handlers return and leave their process broken.

Starts and ends are recorded as in the application of the chaos tests.
"""

import os
import resource
from pathlib import Path
from time import sleep

import fairlead
from tests.chaos.app import HISTORY_VARIABLE, RELEASED, note, noted

_LIMIT = 256
"""How many descriptors a process may have that leaks them."""
_LOWEST = 3
"""The first descriptor after the standard ones."""

tasks = fairlead.Tasks()
_leaked: list[int] = []


@tasks.handler("quick")
def quick(job: fairlead.Job) -> None:
    """Return at once."""
    with noted(job):
        pass


@tasks.handler("leaks")
def leaks(job: fairlead.Job) -> None:
    """Use up the descriptors of the process."""
    note("started", job)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_LIMIT, hard))
    try:
        while True:
            _leaked.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return


@tasks.handler("lowers")
def lowers(job: fairlead.Job) -> None:
    """Have the process open no descriptor any more."""
    note("started", job)
    _lower_limit()


@tasks.handler("closes")
def closes(job: fairlead.Job) -> None:
    """Close the descriptors of the process, and have it open none."""
    note("started", job)
    _lower_limit()
    os.closerange(_LOWEST, 1 << 16)


@tasks.handler("closes_with_result")
def closes_with_result(job: fairlead.Job) -> str:
    """Do the same and return something."""
    closes(job)
    return "done"


@tasks.handler("closes_apart", process=True)
def closes_apart(job: fairlead.Job) -> None:
    """Do the same in a process."""
    closes(job)


@tasks.handler("held")
def held(job: fairlead.Job) -> None:
    """Wait until the test releases it."""
    released = Path(os.environ[HISTORY_VARIABLE] + RELEASED)
    with noted(job):
        while not released.exists():
            job.raise_if_cancelled()
            sleep(0.005)


def _lower_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_LOWEST, hard))
