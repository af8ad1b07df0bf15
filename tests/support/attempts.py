"""Claimed rows and attempts for tests that need no database."""

from typing import Literal

from fairlead.job import Claimed
from fairlead_worker.attempts.attempt import Attempt


def claimed(
    job_id: int,
    token: int,
    *,
    kind: str = "work",
    payload: str = "{}",
    headers: str | None = None,
    timeout_seconds: float = 60.0,
    alone: bool = False,
    doomed: Literal["gone", "cancelled", "expired"] | None = None,
) -> Claimed:
    """Return a row as `claim` answers it."""
    return Claimed(
        job_id=job_id,
        token=token,
        queue="default",
        tenant="",
        kind=kind,
        payload=payload,
        headers=headers,
        attempt=1,
        max_attempts=5,
        timeout_seconds=timeout_seconds,
        timeout_max_seconds=None,
        alone=alone,
        waited_seconds=0.25,
        doomed=doomed,
    )


class Sink:
    """Takes reports, and does nothing with them."""

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Take it."""

    def report(self, attempt: Attempt, fraction: float, note: str) -> None:
        """Take it."""

    def checkpoint(self, attempt: Attempt, text: str) -> None:
        """Take it."""
