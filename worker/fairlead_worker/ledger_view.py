"""What a ledger says about the attempts in it: who overran, and how each one ends.

Pure: entries and times go in, endings come out.
"""

import signal
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from fairlead_worker.ledger import CANCELLED, PROCESS, Entry

EndedAs = Literal["failed", "snoozed", "returned", "released", "crashed", "lost"]


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt that did not end by itself is handed back."""

    job_id: int
    token: int
    ended_as: EndedAs
    error: str | None = None
    delay: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Died:
    """The child ended without being told to: what ran in it crashed."""

    exit_code: int


@dataclass(frozen=True, slots=True)
class Overran:
    """The parent killed the child because of these attempts; the others are not to blame."""

    tokens: frozenset[int]
    over_seconds: float


@dataclass(frozen=True, slots=True)
class Stopped:
    """The worker stopped before the attempts were done; none is to blame."""

    reason: str


@dataclass(frozen=True, slots=True)
class Fenced:
    """The lease was lost: what ran belongs to somebody else, and nothing of it is written."""


Cause = Died | Overran | Stopped | Fenced


def overrunners(entries: Iterable[Entry], *, now_us: int, grace_us: int) -> tuple[Entry, ...]:
    """Return the attempts that are past their deadlines by more than the grace.

    Those that run in a process of the child's own are the child's to end.
    """
    return tuple(
        entry
        for entry in entries
        if entry.deadline_us + grace_us < now_us and not entry.flags & PROCESS
    )


def endings(entries: Iterable[Entry], cause: Cause) -> tuple[Ending, ...]:
    """Return how the attempts that had started in a child which is dead now ended."""
    return tuple(ending for entry in entries if (ending := _ending(entry, cause)) is not None)


def _ending(entry: Entry, cause: Cause) -> Ending | None:
    match cause:
        case Fenced():
            return None
        case Died(exit_code):
            error = f"the process that ran it {how_it_died(exit_code)}"
            return Ending(entry.job_id, entry.token, "crashed", error)
        case Overran(tokens, over_seconds) if entry.token in tokens:
            return Ending(entry.job_id, entry.token, "failed", _overrun(entry, over_seconds))
        case Overran():
            error = "another job in its process did not stop when it was told to"
            return Ending(entry.job_id, entry.token, "released", error)
        case Stopped(reason):
            return Ending(entry.job_id, entry.token, "released", reason)


def _overrun(entry: Entry, over_seconds: float) -> str:
    """Say what the attempt did not heed: its deadline, or being cancelled, which moves that."""
    cancelled = bool(entry.flags & CANCELLED)
    what, since = ("cancelled", "being told") if cancelled else ("timeout", "its deadline")
    stayed = f"it did not stop within {over_seconds:g} s of {since}"
    return f"{what}: {stayed}, so its process was killed"


def how_it_died(exit_code: int) -> str:
    """Say it in words: a negative code is the signal that killed it, as in `subprocess`."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
