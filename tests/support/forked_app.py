"""An application that forks as it is loaded; the copy is loaded as well."""

import os

import fairlead
from fairlead import Job

tasks = fairlead.Tasks()
_copy = os.fork()


def _code() -> int:
    """Wait for the end of the copy; return its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(_copy, 0)[1])


@tasks.handler("waits")
def waits(_job: Job[None]) -> int:
    """Return how the copy of this process has ended."""
    return _code()


@tasks.handler("waits_apart", process=True)
def waits_apart(_job: Job[None]) -> int:
    """Do the same in a process."""
    return _code()
