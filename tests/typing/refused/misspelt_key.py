"""A payload of known shape has known keys."""

from typing import TypedDict

import fairlead

tasks = fairlead.Tasks()


class Email(TypedDict):
    """What to send."""

    to: str


@tasks.handler("send")
def send(job: fairlead.Job[Email]) -> None:
    """Read another key."""
    print(job.payload["too"])  # refused
