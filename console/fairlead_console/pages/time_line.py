"""A job's life: what happened to it and when, and how long each part took."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from fairlead_console.pages import words
from fairlead_console.pages.drawing import Segment, stacked
from fairlead_console.pages.values import Row

ENDED = ("succeeded", "failed", "cancelled", "expired")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, or is to happen."""

    at: datetime
    what: str
    detail: str = ""
    tone: str = "plain"
    """`good`, `bad`, `now` or `later`: the colour of its mark."""


@dataclass(frozen=True, slots=True)
class TimeLine:
    """A job's life."""

    events: tuple[Event, ...]
    phases: tuple[Segment, ...]


def of_job(
    job: Row, attempts: Sequence[Row], audit: Sequence[Row], *, now: datetime
) -> TimeLine:
    """Draw the life of a job from its row, the errors of its attempts and the audit log."""
    events = sorted(_events(job, attempts, audit), key=lambda each: each.at)
    return TimeLine(tuple(events), _phases(job, now))


def _at(job: Row, name: str) -> datetime | None:
    return cast("datetime | None", job[name])


def _events(job: Row, attempts: Sequence[Row], audit: Sequence[Row]) -> Iterator[Event]:
    state = str(job["state"])
    created = cast("datetime", job["created_at"])
    by = f"by login {job['enqueued_by']}" if job["enqueued_by"] else ""
    yield Event(created, "Enqueued", by)
    if (run_at := _at(job, "run_at")) is not None:
        yield Event(run_at, "Falls due", "It waits for this time.", "later")
    if (due_at := _at(job, "due_at")) is not None:
        yield Event(due_at, "Fell due")
    if (runnable_at := _at(job, "runnable_at")) is not None and runnable_at != created:
        yield Event(runnable_at, "Seen by the leader", "Its wait counts from here.")
    for row in attempts:
        first = str(row["error"] or "").partition("\n")[0]
        what = f"Attempt {row['attempt']} {_ended_as(row)}"
        yield Event(cast("datetime", row["at"]), what, first, "bad")
    if (claimed_at := _at(job, "claimed_at")) is not None:
        tone = "now" if state == "running" else "plain"
        yield Event(claimed_at, f"Attempt {job['attempt']} started", _worker(job), tone)
    for row in audit:
        who = str(row["actor"] or row["login"])
        detail = f"by {who}" + (f": {row['reason']}" if row["reason"] else "")
        yield Event(cast("datetime", row["at"]), f"By hand: {row['verb']}", detail, "now")
    if (expires_at := _at(job, "expires_at")) is not None and state not in ENDED:
        yield Event(expires_at, "Expires", "Unless it has started by then.", "later")
    if (finished_at := _at(job, "finished_at")) is not None:
        yield Event(
            finished_at, state.capitalize(), "", "good" if state == "succeeded" else "bad"
        )


def _ended_as(row: Row) -> str:
    return {"retried": "failed, and is retried"}.get(str(row["ended_as"]), str(row["ended_as"]))


def _worker(job: Row) -> str:
    return f"on worker {job['worker']}" if job["worker"] is not None else ""


def _phases(job: Row, now: datetime) -> tuple[Segment, ...]:
    """Return how long it was scheduled, waited and ran, as parts of its life so far."""
    created = cast("datetime", job["created_at"])
    end = _at(job, "finished_at") or now
    due = _at(job, "due_at") or _at(job, "run_at") or created
    due = min(max(due, created), end)
    claimed = _at(job, "claimed_at")
    started = min(max(claimed, due), end) if claimed is not None else end
    before = "earlier attempts" if int(str(job["attempt"])) > 1 else "scheduled"
    spans = (("later", before, due - created), ("wait", "waited", started - due))
    ran = ("run", "runs" if job["state"] == "running" else "ran", end - started)
    parts = [
        (tone, f"{label} {words.span(span)}", span.total_seconds())
        for tone, label, span in (*spans, ran)
    ]
    return stacked(parts, total=(end - created).total_seconds())
