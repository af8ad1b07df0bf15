"""Failures are reported, by a function or a method."""

import fairlead


class Reports:
    """Where failures go."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, job: fairlead.Job, error: BaseException, *, will_retry: bool) -> None:
        """Note one."""
        self.said.append(f"{job.id} {error} {will_retry}")


tasks = fairlead.Tasks(on_error=Reports().note)


@tasks.handler("a")
def works(job: fairlead.Job) -> None:
    """Be called directly, too."""
    del job


def both(job: fairlead.Job) -> None:
    """Call a handler: it is the function that it was."""
    works(job)
