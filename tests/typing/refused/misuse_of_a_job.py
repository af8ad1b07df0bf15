"""What a job does not offer, and exceptions that lack an argument."""

import fairlead


def works(job: fairlead.Job) -> None:
    """Be wrong in each line."""
    job.extend("long")  # refused
    job.id = 5  # refused
    job.progress("half")  # refused
    fairlead.Snooze()  # refused
