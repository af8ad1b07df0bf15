"""One job: where it is, why it waits, its life, its errors, and what it carries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

import psycopg

from fairlead.db.connect import Connection
from fairlead.inspection import error_chain, jobs
from fairlead.inspection.rows import Row
from fairlead_console.pages import time_line, waiting
from fairlead_console.reads import moments
from fairlead_console.screens.source import Source

_LEADER_SECONDS = 1.5
_WAITS = ("pending", "queued", "scheduled")
_SUMMARY = ("queue", "tenant", "kind", "priority", "attempt", "max_attempts")


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt that went wrong, with its errors read."""

    number: int
    ended_as: str
    at: datetime
    chain: Sequence[error_chain.Link]


@dataclass(frozen=True, slots=True)
class JobPage:
    """What the page of a job shows."""

    job: Row
    waiting: waiting.Waiting | None
    """Why it waits; None: it does not."""
    line: time_line.TimeLine
    attempts: tuple[Attempt, ...]
    """Those that went wrong, the last one first."""
    error: Sequence[error_chain.Link]
    now: datetime


def read(source: Source, job_id: int) -> JobPage | None:
    """Read the page of one job; None: it is unknown."""
    with source.reads.one() as session:
        job = jobs.show(session, job_id)
        if job is None:
            return None
        attempts = jobs.attempts(session, job_id)
        audit = jobs.audit(session, job_id)
    now = datetime.now(UTC)
    return JobPage(
        job=job,
        waiting=_waiting(source, job),
        line=time_line.of_job(job, attempts, audit, now=now),
        attempts=tuple(map(_attempt, reversed(attempts))),
        error=error_chain.read(cast("str | None", job["error"])),
        now=now,
    )


def _waiting(source: Source, job: Row) -> waiting.Waiting | None:
    if job["state"] not in _WAITS:
        return None
    answer: Row
    slots: list[Row]
    try:
        with source.asks.one() as session:
            answer = jobs.explain(session, cast("int", job["id"]), wait_seconds=_LEADER_SECONDS)
            slots = _slots(session, answer)
    except psycopg.errors.ReadOnlySqlTransaction:
        said = "a standby cannot ask the leader: open the console of the primary"
        answer, slots = {"state": job["state"], "sentence": said}, []
    if answer.get("asked"):
        said = "the leader has not answered yet"
        answer, slots = {"state": job["state"], "sentence": said}, []
    return waiting.drawn(answer, tenant=str(job["tenant"]), slots=slots)


def _slots(session: Connection, answer: Row) -> list[Row]:
    """Read who has the slots, where the answer is about them."""
    if answer["state"] == "scheduled" or answer.get("blocked_by") is None:
        return []
    return moments.slots(session, cast("str | None", answer.get("pool")))


def _attempt(row: Row) -> Attempt:
    return Attempt(
        cast("int", row["attempt"]),
        str(row["ended_as"]),
        cast("datetime", row["at"]),
        error_chain.read(cast("str | None", row["error"])),
    )
