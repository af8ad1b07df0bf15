"""A payload of unknown shape may be a number."""

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("send")
def send(job: fairlead.Job) -> None:
    """Read a key all the same."""
    print(job.payload["to"])  # refused
