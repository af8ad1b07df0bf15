"""Settings of a kind, and the callback for failures."""

import fairlead


def note(job: fairlead.Job) -> None:
    """Take too little."""


fairlead.Tasks(on_error=note)  # refused
tasks = fairlead.Tasks()
tasks.handler("a", timeout="30s")  # refused
tasks.handler("a", backoff=lambda failures: f"{failures} s")  # refused
