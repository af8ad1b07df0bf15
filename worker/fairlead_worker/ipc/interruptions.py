"""How attempts end that a child's death or its killing interrupted, and which of them overran.

Pure: table entries and times go in, interruptions come out.
"""

import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from fairlead_worker.ipc.attempt_table import (
    ASKED,
    BLOCKS,
    CANCELLED,
    EVICTED,
    PROCESS,
    AttemptEntry,
)

EndedAs = Literal["failed", "snoozed", "returned", "released", "crashed", "lost"]
_CUT_OFF = "could open no connection to the database any more, and was killed"


@dataclass(frozen=True, slots=True)
class Interruption:
    """How an attempt that did not end by itself is handed back."""

    job_id: int
    token: int
    ended_as: EndedAs
    error: str | None = None
    delay: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Died:
    """The child ended without being asked to: what ran in it crashed.

    So it does when the parent had to kill it because it was cut off from the database.
    """

    exit_code: int
    cut_off: bool = False

    @property
    def how(self) -> str:
        """What happened, in words."""
        return _CUT_OFF if self.cut_off else how_it_died(self.exit_code)


@dataclass(frozen=True, slots=True)
class Stuck:
    """The parent killed the child because one of its attempts let nothing be stopped."""

    over_seconds: float

    @property
    def how(self) -> str:
        """What happened, in words."""
        return f"stopped nothing for {self.over_seconds:g} s and was killed"


Death = Died | Stuck
"""A child's end for which one of its attempts is to blame, and it is not known which."""


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
    """The lease was lost: what ran belongs to another worker, and nothing of it is stored."""


Cause = Died | Stuck | Overran | Stopped | Fenced


def overrunners(
    entries: Iterable[AttemptEntry], *, now_us: int, grace_us: int
) -> tuple[AttemptEntry, ...]:
    """Return the attempts that are past their deadlines by more than the grace.

    Those that run in a process of the child's own are ended by the child.
    """
    return tuple(
        entry
        for entry in entries
        if entry.deadline_us + grace_us < now_us and not entry.flags & PROCESS
    )


def to_blame(
    over: Sequence[AttemptEntry], running: Sequence[AttemptEntry]
) -> tuple[AttemptEntry, ...]:
    """Return which of a child's overdue attempts did not stop; none: it is not known which.

    Those that were asked to stop, and the one that keeps the event loop from asking the others.
    Where nobody was asked the child is stuck: whichever of its attempts keeps the interpreter
    from everything, its watchdog of the event loop included, may not even be overdue.
    """
    found = tuple(entry for entry in over if entry.flags & (ASKED | BLOCKS))
    return found or (tuple(over) if len(running) == 1 else ())


def endings(entries: Iterable[AttemptEntry], cause: Cause) -> tuple[Interruption, ...]:
    """Return how the attempts end that had started in a child which is dead now."""
    return tuple(ending for entry in entries if (ending := _ending(entry, cause)) is not None)


def endings_of_death(
    entries: Iterable[AttemptEntry], death: Death, suspects: frozenset[int]
) -> tuple[Interruption, ...]:
    """Return how the attempts end that had started in a child that died.

    Those that are no suspects run again at once, beside others, as if they had been released.
    """
    how = f"the process that ran it {death.how}"
    return tuple(
        Interruption(*entry.key, "crashed", how)
        if entry.token in suspects
        else Interruption(*entry.key, "released", f"{how}; it is not suspected of that")
        for entry in entries
    )


def _ending(entry: AttemptEntry, cause: Cause) -> Interruption | None:
    match cause:
        case Fenced():
            return None
        case Died() | Stuck():
            return endings_of_death((entry,), cause, frozenset({entry.token}))[0]
        case Overran(tokens, over_seconds) if entry.token in tokens and entry.flags & EVICTED:
            error = f"it did not make room within {over_seconds:g} s, so its process was killed"
            return Interruption(entry.job_id, entry.token, "released", error)
        case Overran(tokens, over_seconds) if entry.token in tokens:
            return Interruption(
                entry.job_id, entry.token, "failed", _overrun(entry, over_seconds)
            )
        case Overran():
            error = "another job in its process did not stop when it was asked to"
            return Interruption(entry.job_id, entry.token, "released", error)
        case Stopped(reason):
            return Interruption(entry.job_id, entry.token, "released", reason)


def _overrun(entry: AttemptEntry, over_seconds: float) -> str:
    """Say what the attempt ignored: its deadline, or its cancellation, which moves that."""
    cancelled = bool(entry.flags & CANCELLED)
    what, since = (
        ("cancelled", "its cancellation") if cancelled else ("timeout", "its deadline")
    )
    stayed = f"it did not stop within {over_seconds:g} s of {since}"
    if entry.flags & BLOCKS:
        stayed = f"it kept the event loop for {over_seconds:g} s after {since}"
    return f"{what}: {stayed}, so its process was killed"


def how_it_died(exit_code: int) -> str:
    """Return it in words: a negative code is the signal that killed it, as in `subprocess`."""
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was killed by {signal.Signals(-exit_code).name}"
    except ValueError:
        return f"was killed by signal {-exit_code}"
