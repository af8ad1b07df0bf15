"""What tenants were entitled to and what they had, from raw claims and endings alone.

It shares no code with the order and reads none of its figures: it knows when each job arrived,
had a slot and ended, and how long it runs. Slots are shared as a fluid would share them:
max-min by weight (Bertsekas and Gallager, 1992), level by level. An honest tenant wants slots
for what waits and what runs; of others only what they used counts, whatever they have inserted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import Protocol

from tests.support.fleet import Key

STEP_US = 200_000
"""For how long at a time entitlements are taken as constant."""
Path = tuple[tuple[str, float], ...]
"""An account: names and weights from the root down. Lanes with one path have one share."""
Accounts = Callable[[Key], Path]
"""Returns the account of a lane."""


class Job(Protocol):
    """What is known of a job; times are in microseconds."""

    @property
    def lane(self) -> Key:
        """Queue and tenant."""
        ...

    @property
    def cost_us(self) -> int:
        """How long it runs."""
        ...

    @property
    def arrived_us(self) -> int:
        """When it began to wait."""
        ...

    @property
    def claimed_us(self) -> int | None:
        """When it was given a slot; None: it was not."""
        ...

    @property
    def ended_us(self) -> int | None:
        """When it left its slot; None: it did not."""
        ...


@dataclass(slots=True)
class Had:
    """What an account had in the steps in which a job of it waited all the time."""

    backlogged_us: int = 0
    """For how long that was."""
    entitled_us: float = 0.0
    """In slot-microseconds, as is what it held."""
    beside_us: float = 0.0
    """What all accounts below its parent were entitled to together."""
    held_us: int = 0
    without_us: int = 0
    """The longest time in which a job of it waited and it had no slot."""

    @property
    def share(self) -> float:
        """What it held of its entitlement; 1 if it was entitled to nothing."""
        return self.held_us / self.entitled_us if self.entitled_us else 1.0


def entitlements(
    jobs: Iterable[Job],
    accounts: Accounts,
    honest: Iterable[Key],
    *,
    slots: int | None,
    until_us: int,
) -> dict[Key, Had]:
    """Return what honest lanes' accounts had until then of what they were entitled to.

    Args:
        jobs: The jobs that share the slots.
        accounts: What they are charged to.
        honest: The lanes of honest tenants.
        slots: How many there are; None: what these jobs used of them, so that nobody is
            entitled to what none of them had.
        until_us: The end of the last step.
    """
    paths = {lane: accounts(lane) for lane in honest}
    had = {path: Had() for path in paths.values()}
    changes = _changes(jobs, accounts)
    active: dict[Path, _Account] = {}
    moments_us = sorted({*changes, *range(0, until_us, STEP_US), until_us})
    for now_us, next_us in pairwise(each for each in moments_us if each <= until_us):
        for path, change in changes.get(now_us, {}).items():
            if path not in active:
                active[path] = _Account(now_us - now_us % STEP_US)
            active[path].change(now_us, change)
        if now_us % STEP_US == 0:
            active = {path: each for path, each in active.items() if each.begin(now_us)}
        if next_us % STEP_US == 0 or next_us == until_us:
            _count(had, active, slots, next_us)
    return {lane: had[path] for lane, path in paths.items()}


def _count(
    had: Mapping[Path, Had],
    active: Mapping[Path, "_Account"],
    slots: int | None,
    now_us: int,
) -> None:
    """Count a step that ends now."""
    wanted = {path: each.wanted(now_us, is_honest=path in had) for path, each in active.items()}
    used = sum(each.held_us / each.took_us(now_us) for each in active.values())
    shares = fluid(wanted, used if slots is None else slots)
    for path, account in active.items():
        own, beside = shares[path]
        took_us = account.took_us(now_us)
        mine = had.get(path)
        if mine is not None:
            mine.without_us = max(mine.without_us, account.without_us(now_us))
        if mine is not None and account.least_waiting:
            mine.backlogged_us += took_us
            mine.entitled_us += own * took_us
            mine.beside_us += beside * took_us
            mine.held_us += account.held_us
            account.ahead_us = 0.0
        else:
            account.ahead_us = (wanted[path] - own) * took_us


def fluid(wanted: Mapping[Path, float], slots: float) -> dict[Path, tuple[float, float]]:
    """Return how many slots each account is entitled to, of those that want so many.

    And how many all below its parent are entitled to together.
    """
    return dict(_shared(wanted, slots, 0))


def _shared(
    wanted: Mapping[Path, float], slots: float, depth: int
) -> Iterator[tuple[Path, tuple[float, float]]]:
    """Yield the shares of accounts that have the same names above this depth."""
    groups: dict[Path, dict[Path, float]] = {}
    for path, count in wanted.items():
        groups.setdefault(path[: depth + 1], {})[path] = count
    wants = {name: sum(group.values()) for name, group in groups.items()}
    level = _level([(count, name[-1][1]) for name, count in wants.items()], slots)
    for name, group in groups.items():
        own = min(wants[name], name[-1][1] * level)
        if name in group:
            yield name, (own, slots)
        else:
            yield from _shared(group, own, depth + 1)


def _level(wanted: Iterable[tuple[float, float]], slots: float) -> float:
    """Return the slots per weight at which these use all slots; infinite if they never do."""
    ordered = sorted(wanted, key=lambda each: each[0] / each[1])
    weight = sum(each for _, each in ordered)
    for count, own in ordered:
        if count * weight >= slots * own:
            return slots / weight
        slots -= count
        weight -= own
    return inf


class _Account:
    """What an account has in the present step."""

    def __init__(self, begun_us: int) -> None:
        self._waiting = self._work_us = self._running = 0
        self._begun_us = self._now_us = begun_us
        self.held_us = 0
        self.least_waiting = 0
        """The fewest jobs that waited at any time in the step."""
        self._least_work_us = 0
        self.ahead_us = 0.0
        """What it has used beyond what it was entitled to: the fluid gives it that later."""
        self._since_us: int | None = None
        """Since when a job of it waits and it has no slot."""
        self._without_us = 0

    def begin(self, now_us: int) -> bool:
        """Begin a step; whether there is anything to count."""
        self._advance(now_us)
        self._begun_us, self.held_us = now_us, 0
        self.least_waiting, self._least_work_us = self._waiting, self._work_us
        return self._waiting + self._running > 0 or self.ahead_us > 0

    def change(self, now_us: int, change: tuple[int, int, int]) -> None:
        """Let jobs begin or cease to wait or to run; the work is of those that wait."""
        self._advance(now_us)
        waiting, work_us, running = change
        self._waiting += waiting
        self._work_us += work_us
        self._running += running
        self.least_waiting = min(self.least_waiting, self._waiting)
        self._least_work_us = min(self._least_work_us, self._work_us)
        if self._running or not self._waiting:
            self._without_us = self.without_us(now_us)
            self._since_us = None
        elif self._since_us is None:
            self._since_us = now_us

    def wanted(self, now_us: int, *, is_honest: bool) -> float:
        """Return how many slots it used in the step until now; if honest, could have used."""
        self._advance(now_us)
        took_us = self.took_us(now_us)
        used = (self.held_us + self.ahead_us) / took_us
        could = min(self.least_waiting, self._least_work_us / took_us)
        return used + could if is_honest else used

    def took_us(self, now_us: int) -> int:
        """Return how long the step has taken."""
        return now_us - self._begun_us

    def without_us(self, now_us: int) -> int:
        """Return the longest time in which a job of it waited and it had no slot."""
        since_us = now_us if self._since_us is None else self._since_us
        return max(self._without_us, now_us - since_us)

    def _advance(self, now_us: int) -> None:
        self.held_us += self._running * (now_us - self._now_us)
        self._now_us = now_us


def _changes(
    jobs: Iterable[Job], accounts: Accounts
) -> dict[int, dict[Path, tuple[int, int, int]]]:
    """Return by time and account how many more jobs wait, the work in them, and more run."""
    found: dict[int, dict[Path, tuple[int, int, int]]] = {}
    for job in jobs:
        path = accounts(job.lane)
        for at_us, waiting, running in (
            (job.arrived_us, 1, 0),
            (job.claimed_us, -1, 1),
            (job.ended_us, 0, -1),
        ):
            if at_us is not None:
                beside = found.setdefault(at_us, {})
                before = beside.get(path, (0, 0, 0))
                beside[path] = (
                    before[0] + waiting,
                    before[1] + waiting * job.cost_us,
                    before[2] + running,
                )
    return found
