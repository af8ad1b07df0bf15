"""What the loop asks of the hands beside it."""

from fairlead_scheduler.loop.requests import Requests


def test_the_first_stir_after_a_rest_has_due_jobs_and_batches_looked_for_at_once() -> None:
    """A job that fails then may be due again sooner than an idle scheduler looks.

    And all jobs of a small batch may have ended by then.
    """
    called: list[str] = []
    requests = Requests(called.append)

    requests.set_idle(idle=True)
    requests.set_idle(idle=True)
    requests.set_idle(idle=False)
    requests.set_idle(idle=False)

    assert ["promote", "settle_batches"] == called


def test_a_due_job_is_promoted_at_once_by_an_idle_scheduler() -> None:
    """A busy one looks often anyway."""
    called: list[str] = []
    requests = Requests(called.append)

    requests.promote_from(1)
    assert [] == called
    requests.set_idle(idle=True)
    requests.promote_from(2)

    assert ["promote"] == called
