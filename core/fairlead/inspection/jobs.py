"""One job, and the newest jobs that pass a filter."""

import time
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from fairlead.inspection.rows import Row, ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

_AGAIN_SECONDS = 0.1


class State(StrEnum):
    """Where a job is in its life."""

    PENDING = "pending"
    QUEUED = "queued"
    RUNNING = "running"
    SCHEDULED = "scheduled"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which jobs are wanted; what is None admits every job."""

    queue: str | None = None
    tenant: str | None = None
    kind: str | None = None
    state: State | None = None
    since: datetime | None = None
    """Only jobs that were inserted then or later."""
    until: datetime | None = None
    """Only jobs that were inserted then or before."""
    before: int | None = None
    """Only jobs with smaller ids: the page after the one that ends with this job."""
    limit: int = 20


@dataclass(frozen=True, slots=True)
class Listed:
    """The newest jobs of a filter, the newest first."""

    rows: list[Row]
    left_out: str
    """At what was looked, where older jobs could belong here as well; else empty."""
    go_on_before: int | None
    """Before which id to go on then."""


def newest(connection: "Connection", wanted: Filter) -> Listed:
    """Read the newest jobs that pass a filter, by walks that look at so many jobs at most."""
    found = ask(connection, "list_jobs", asdict(wanted))
    last = found.pop() if found and found[-1]["id"] is None else None
    for row in found:
        del row["left_out"], row["go_on_before"]
    if last is None:
        return Listed(found, "", None)
    return Listed(found, str(last["left_out"]), cast("int", last["go_on_before"]))


def show(connection: "Connection", job_id: int) -> Row | None:
    """Read one job, wherever it is in its life; None: it never was, or its history is gone."""
    found = ask(connection, "show_job", {"id": job_id})
    return found[0] if found else None


def attempts(connection: "Connection", job_id: int) -> list[Row]:
    """Read what went wrong, oldest first; an application's login sees only the job itself."""
    from psycopg.errors import InsufficientPrivilege

    try:
        found = ask(connection, "show_attempts", {"id": job_id})
    except InsufficientPrivilege:
        return []
    return sorted(found, key=lambda row: cast("datetime", row["at"]))


def audit(connection: "Connection", job_id: int) -> list[Row]:
    """Read who changed a job by hand, oldest first; nothing if the login may not read it."""
    from psycopg.errors import InsufficientPrivilege

    try:
        return ask(connection, "audit_of_job", {"id": job_id})
    except InsufficientPrivilege:
        return []


def explain(connection: "Connection", job_id: int, *, wait_seconds: float) -> Row:
    """Ask why a job does not run, and wait so long for the leader, if it has to answer.

    Without an answer by then the row has `asked`.
    """
    until = time.monotonic() + wait_seconds
    while True:
        (row,) = ask(connection, "explain", {"id": job_id})
        answer = cast("Row", row["answer"])
        if not answer.get("asked") or time.monotonic() >= until:
            return answer
        time.sleep(_AGAIN_SECONDS)
