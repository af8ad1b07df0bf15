"""An application whose handlers return and leave their process broken.

Starts and ends are recorded as in the application of the chaos tests.
"""

import os
import resource

import fairlead
from tests.chaos.app import note, noted

LIMIT = 256
"""How many descriptors a process may have that leaks them."""

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
    resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, hard))
    try:
        while True:
            _leaked.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return


@tasks.handler("lowers")
def lowers(job: fairlead.Job) -> None:
    """Lower the limit of descriptors below those that there are."""
    note("started", job)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
