"""An application to be tested with fairlead.testing, and what its tests ask of a drain."""

import fairlead
from fairlead import testing


def noting(tasks: fairlead.Tasks) -> list[fairlead.Json]:
    """Have jobs of kind `note` answer their payload and append it to the returned list."""
    ran: list[fairlead.Json] = []

    def note(job: fairlead.Job) -> fairlead.Json:
        ran.append(job.payload)
        return job.payload

    tasks.handler("note")(note)
    return ran


def outcomes(drained: testing.Drained) -> list[tuple[int, str]]:
    """Return which attempt ended how, in order."""
    return [(each.attempt, each.outcome) for each in drained.endings]
