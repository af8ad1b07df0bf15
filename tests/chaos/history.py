"""What the handlers wrote down, and the verdict over it."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to an attempt, at a time of this machine's clock."""

    event: str
    job: int
    token: int
    at: float
    pid: int


@dataclass(frozen=True, slots=True)
class Ended:
    """How a job ended, as the database has it."""

    job: int
    token: int | None
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What went wrong, by job; nothing may be in any of these.

    `lost` jobs are nowhere. `twice` ended more than once. `stale` ended by an attempt that was
    not the last one, so that an old attempt's write was applied, or that a completed job ran
    again. `unseen` succeeded without a handler that finished.
    """

    lost: tuple[int, ...]
    twice: tuple[int, ...]
    stale: tuple[int, ...]
    unseen: tuple[int, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.lost or self.twice or self.stale or self.unseen)


def read(path: Path) -> tuple[Event, ...]:
    """Return every event, in the order of writing."""
    if not path.exists():
        return ()
    return tuple(Event(**json.loads(line)) for line in path.read_text("utf-8").splitlines())


def judge(
    events: Iterable[Event],
    *,
    inserted: Iterable[int],
    ended: Iterable[Ended],
    unfinished: Iterable[int],
) -> Verdict:
    """Compare what ran with what the database says: pure."""
    last_token: dict[int, int] = defaultdict(int)
    finished: set[tuple[int, int]] = set()
    for event in events:
        if event.event == "started":
            last_token[event.job] = max(last_token[event.job], event.token)
        elif event.event == "finished":
            finished.add((event.job, event.token))
    endings: dict[int, list[Ended]] = defaultdict(list)
    for ending in ended:
        endings[ending.job].append(ending)
    everywhere = {*endings, *unfinished}
    succeeded = [
        ending for each in endings.values() for ending in each if ending.outcome == "succeeded"
    ]
    return Verdict(
        lost=tuple(sorted({*inserted} - everywhere)),
        twice=tuple(sorted(job for job, each in endings.items() if len(each) > 1)),
        stale=tuple(
            sorted(each.job for each in succeeded if each.token != last_token[each.job])
        ),
        unseen=tuple(
            sorted(
                each.job for each in succeeded if (each.job, each.token or 0) not in finished
            )
        ),
    )


def slowest_recovery_seconds(
    events: Iterable[Event], *, pids: Iterable[int], died_at: float
) -> float:
    """Return how long it took until what the dead processes ran had started elsewhere.

    Infinity when one of the jobs did not start again; 0 when they ran nothing.
    """
    dead = {*pids}
    seen = tuple(events)
    done = {(each.job, each.token) for each in seen if each.event == "finished"}
    cut_short = {
        each.job: each.token
        for each in seen
        if each.event == "started"
        and each.pid in dead
        and each.at <= died_at
        and (each.job, each.token) not in done
    }
    slowest = 0.0
    for job, token in cut_short.items():
        again = (
            each.at - died_at
            for each in seen
            if each.event == "started" and each.job == job and each.token > token
        )
        slowest = max(slowest, min(again, default=float("inf")))
    return slowest
