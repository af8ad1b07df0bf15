"""A result is JSON."""

from datetime import UTC, datetime

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("a")  # refused
def works(job: fairlead.Job) -> datetime:
    """Return an instant."""
    del job
    return datetime.now(UTC)
