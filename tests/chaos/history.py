"""The events that handlers recorded, and their evaluation."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.chaos.records import Effect


@dataclass(frozen=True, slots=True)
class Event:
    """An event of an attempt, by this machine's clock."""

    event: str
    job: int
    token: int
    at: float
    pid: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job finished, from the database."""

    job: int
    token: int | None
    outcome: str


@dataclass(frozen=True, slots=True)
class Resets:
    """Times at which a recovery starts anew: take-overs, and for some jobs their dispatches.

    A policy that allows less recalls unclaimed rows; then the job waits for its turn.
    """

    of_all: Collection[float] = ()
    of: Mapping[int, Collection[float]] = field(default_factory=dict[int, Collection[float]])

    def last(self, job: int, since: float, until: float) -> float:
        """Return the last of them for a job in this time, or the time's start."""
        found = (*self.of_all, *self.of.get(job, ()))
        return max((at for at in found if since <= at <= until), default=since)


NO_RESETS = Resets()


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """Violations by job; all must be empty.

    `lost` jobs are nowhere. `twice` finished more than once, or their work was done twice.
    `stale` finished by an attempt that was not the last one, so that an old attempt's write was
    applied, or a completed job ran again; or the work of an attempt stands that did not finish
    its job. `unseen` succeeded without a handler that finished, or without its work. `usurped`
    were dispatched by a deposed leader. `strange` is the first change that no transaction of
    the model could have made.
    """

    lost: tuple[int, ...]
    twice: tuple[int, ...]
    stale: tuple[int, ...]
    unseen: tuple[int, ...]
    usurped: tuple[int, ...]
    strange: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no violation."""
        known = self.lost or self.twice or self.stale or self.unseen or self.usurped
        return not (known or self.strange)


@dataclass(slots=True)
class History:
    """The file that the handlers write to, of which each look reads what is new."""

    path: Path
    _known: list[Event] = field(default_factory=list[Event])
    _bytes: int = 0
    """How much of the file the known events are from: whole lines."""

    def events(self) -> tuple[Event, ...]:
        """Return every event, in the order of writing.

        An incomplete line is being written at this moment, or its writer was killed: a file
        grows page by page, and a write may end between two of them.
        """
        if not self.path.exists():
            return ()
        with self.path.open("rb") as file:
            file.seek(self._bytes)
            lines, newline, last = file.read().rpartition(b"\n")
        self._known += _events(lines)
        self._bytes += len(lines) + len(newline)
        return (*self._known, *_events(last))


def _events(lines: bytes) -> list[Event]:
    return [Event(**json.loads(line)) for line in lines.split(b"\n") if line.endswith(b"}")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The final state of the database.

    `booked` jobs finish in their handlers' own transactions; `effects` is their work, and
    `usurped` the jobs dispatched by a deposed leader, and `strange` what the model refuses.
    """

    inserted: Collection[int]
    ended: Collection[Ended]
    unfinished: Collection[int]
    booked: Collection[int] = frozenset()
    effects: Collection[Effect] = ()
    usurped: tuple[int, ...] = ()
    strange: tuple[str, ...] = ()


def find_violations(events: Iterable[Event], found: Found) -> Violations:
    """Compare the events with the state of the database; pure."""
    last_token: dict[int, int] = defaultdict(int)
    done: set[tuple[int, int]] = {(each.job, each.token) for each in found.effects}
    for event in events:
        if event.event == "started":
            last_token[event.job] = max(last_token[event.job], event.token)
        elif event.event == "finished" and event.job not in found.booked:
            done.add((event.job, event.token))
    succeeded = [each for each in found.ended if each.outcome == "succeeded"]
    ending = {(each.job, each.token) for each in succeeded}
    everywhere = {each.job for each in found.ended} | {*found.unfinished}
    return Violations(
        lost=_sorted({*found.inserted} - everywhere),
        twice=_repeated(found.ended) + _repeated(found.effects),
        stale=_sorted(each.job for each in succeeded if each.token != last_token[each.job])
        + _sorted(each.job for each in found.effects if (each.job, each.token) not in ending),
        unseen=_sorted(each.job for each in succeeded if (each.job, each.token) not in done),
        usurped=found.usurped,
        strange=found.strange,
    )


def _repeated(each_of: Iterable[Ended | Effect]) -> tuple[int, ...]:
    counts = Counter(each.job for each in each_of)
    return _sorted(job for job, count in counts.items() if count > 1)


def _sorted(jobs: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted(jobs))


def find_cut_short(
    events: Iterable[Event],
    *,
    pids: Iterable[int],
    died_at: float,
    ended: Iterable[Ended] = (),
) -> dict[int, int]:
    """Return the jobs that ran in processes when these died, with the attempts' tokens."""
    dead = {*pids}
    seen = tuple(events)
    done = {(each.job, each.token) for each in seen if each.event == "finished"}
    done |= {(each.job, each.token or 0) for each in ended}
    return {
        each.job: each.token
        for each in seen
        if each.event == "started"
        and each.pid in dead
        and each.at <= died_at
        and (each.job, each.token) not in done
    }


def slowest_recovery_seconds(
    events: Iterable[Event],
    *,
    pids: Iterable[int],
    died_at: float,
    ended: Iterable[Ended] = (),
    resets: Resets = NO_RESETS,
) -> float:
    """Return how long it took until the jobs of dead processes had started elsewhere.

    Infinity when one of them did not start again; 0 when they ran nothing. The time starts at
    the death, or at the last of the `resets` before the start, such as a take-over.
    """
    seen = tuple(events)
    cut_short = find_cut_short(seen, pids=pids, died_at=died_at, ended=ended)
    slowest = 0.0
    for job, token in cut_short.items():
        starts = (each for each in seen if each.event == "started" and each.job == job)
        again = min((each.at for each in starts if each.token > token), default=float("inf"))
        slowest = max(slowest, again - resets.last(job, died_at, again))
    return slowest
