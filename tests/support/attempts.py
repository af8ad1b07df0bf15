"""Claimed rows and attempts for tests that need no database."""

from fairlead.job import Claimed


def claimed(
    job_id: int,
    token: int,
    *,
    kind: str = "work",
    payload: str = "{}",
    headers: str | None = None,
    timeout_seconds: float = 60.0,
    alone: bool = False,
    doomed: str | None = None,
) -> Claimed:
    """Return a row as `claim` answers it."""
    return (
        job_id,
        token,
        "default",
        "",
        kind,
        payload,
        headers,
        1,
        5,
        timeout_seconds,
        alone,
        0.25,
        doomed,
    )
