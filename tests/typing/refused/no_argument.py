"""A handler takes its job."""

import fairlead

tasks = fairlead.Tasks()


@tasks.handler("a")  # refused
def works() -> None:
    """Take nothing."""
