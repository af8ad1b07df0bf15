"""Candidates for a Lease on a clock that a test moves: calls take time, get lost, come late.

Each candidate has a clock of its own, begun anywhere and running at its own rate. The server
has one record, which may be deleted, and refuses writes at an older version. After everything
that happens it is checked that no two candidates trust the Lease at once.
"""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from itertools import count
from random import Random

from fairlead_autoscaler.election import elector
from fairlead_autoscaler.election.elector import Election, Lease, NextStep

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Refusal(Enum):
    """Why a request changed nothing."""

    MISSING = auto()
    CONFLICT = auto()


@dataclass(eq=False)
class World:
    """The server, its clock, and all candidates for the Lease."""

    random: Random
    now: float = 0.0
    record: Lease | None = field(default_factory=lambda: Lease(version="0"))
    """None: it is missing."""
    versions: "count[int]" = field(default_factory=lambda: count(1))
    candidates: list["Candidate"] = field(default_factory=list["Candidate"])
    latency_seconds: float = 0.02
    """At most, of one way."""
    lost: float = 0.0
    """The share of requests that never arrive."""
    unanswered: float = 0.0
    """The share of requests that are carried out, and whose answer never arrives."""
    late_seconds: float = 0.0
    """By how much more a request may be on its way, also beyond its sender's timeout."""
    down_until: float = 0.0
    """Until when the server carries nothing out."""
    _happens: list[tuple[float, int, Callable[[], None]]] = field(
        default_factory=list[tuple[float, int, Callable[[], None]]]
    )
    _order: "count[int]" = field(default_factory=count)

    def at(self, when: float, what: Callable[[], None]) -> None:
        """Let something happen then."""
        heapq.heappush(self._happens, (max(when, self.now), next(self._order), what))

    def advance(self, seconds: float) -> None:
        """Let time go by, and everything happen in it; what happens may take time as well."""
        until = self.now + seconds
        while self._happens and self._happens[0][0] <= until:
            when, _, what = heapq.heappop(self._happens)
            self.now = max(self.now, when)
            what()
            self.check()
        self.now = max(self.now, until)
        self.check()

    def advance_until(self, condition: Callable[[], bool], *, seconds: float) -> float:
        """Let time go by until something is true; return how long it took, at most so long."""
        begun = self.now
        while not condition() and self.now < begun + seconds:
            self.advance(0.01)
        return self.now - begun

    def check(self) -> None:
        """Hold that at most one trusts the Lease."""
        trusting = [each.election.identity for each in self.candidates if each.is_leader()]
        assert len(trusting) <= 1, f"at {self.now:.3f} s: {trusting}"

    def leader(self) -> "Candidate | None":
        """Return who trusts the Lease."""
        return next((each for each in self.candidates if each.is_leader()), None)

    def join(self, *, rate: float = 1.0) -> "Candidate":
        """Let another one want the Lease, from now on."""
        identity = f"candidate-{next(self._order)}"
        candidate = Candidate(
            world=self,
            election=Election(identity=identity),
            ahead=self.random.uniform(-1e6, 1e6),
            rate=rate,
        )
        self.candidates.append(candidate)
        self.at(self.now, candidate.wake)
        return candidate

    def delete(self) -> None:
        """Delete the record, as a tool does that prunes what it does not know."""
        self.record = None

    def took_effect(self, record: Lease | None) -> "Lease | Refusal":
        """Read the record, replace it, or create it if it names no version."""
        if record is None:
            return self.record or Refusal.MISSING
        if self.record is None and record.version:
            return Refusal.MISSING
        if record.version != (self.record.version if self.record else ""):
            return Refusal.CONFLICT
        self.record = replace(record, version=str(next(self.versions)))
        return self.record


@dataclass(eq=False)
class Candidate:
    """A process that wants the Lease: the elector's rules, and calls that take time."""

    world: World
    election: Election
    ahead: float
    rate: float
    """How fast its clock goes."""
    alive: bool = True
    frozen_until: float = 0.0
    _call: int = 0
    _waiting: bool = False
    """Whether a call is on its way."""
    _leaving: bool = False

    def clock(self) -> float:
        """Return what its own clock says."""
        return self.ahead + self.rate * self.world.now

    def is_leader(self) -> bool:
        """Return whether it would write now, or as soon as it thaws."""
        return self.alive and self.election.is_leader(self.clock())

    def freeze(self, seconds: float) -> None:
        """Let it do nothing for so long; its clock goes on."""
        self.frozen_until = max(self.frozen_until, self.world.now + seconds)

    def kill(self) -> None:
        """Let it be gone at once."""
        self.alive = False
        if self in self.world.candidates:
            self.world.candidates.remove(self)

    def leave(self) -> None:
        """Let it stop in order, once the call that it waits for has come back."""
        self._leaving = True
        if not self._waiting:
            self._depart()

    def wake(self) -> None:
        """Do what is next."""
        if self._waits(self.wake):
            return
        following = elector.next_step(self.election, self.clock())
        if following is NextStep.REST:
            self._rest()
            return
        record = None
        if following is not NextStep.READ:
            day = NOON + timedelta(seconds=self.world.now)
            record = elector.record_to_write(self.election, day)
        self._send(record)

    def _send(self, record: Lease | None) -> None:
        world, started_at = self.world, self.clock()
        self._call += 1
        self._waiting = True
        call = self._call
        world.at(
            world.now + self.election.timing.call_seconds / self.rate,
            lambda: self._given_up(call),
        )
        if world.random.random() < world.lost:
            return
        way = world.random.uniform(0, world.latency_seconds)
        late = world.random.uniform(0, world.late_seconds)

        def arrives() -> None:
            if world.now < world.down_until:
                return
            answer = world.took_effect(record)
            if world.random.random() >= world.unanswered:
                back = world.random.uniform(0, world.latency_seconds)
                world.at(
                    world.now + back,
                    lambda: self._answered(call, record, answer, started_at),
                )

        world.at(world.now + way + late, arrives)

    def _answered(
        self,
        call: int,
        record: Lease | None,
        answer: Lease | Refusal,
        started_at: float,
    ) -> None:
        if self._waits(lambda: self._answered(call, record, answer, started_at)):
            return
        if call != self._call:
            return
        self._call += 1
        self._waiting = False
        if answer is Refusal.CONFLICT:
            self.election = elector.after_conflict(self.election)
        elif isinstance(answer, Refusal):
            self.election = elector.after_missing(self.election, self.clock())
        elif record is not None:
            self.election = elector.after_write(
                self.election, answer, started_at=started_at, now=self.clock()
            )
        else:
            self.election = elector.after_read(self.election, answer, self.clock())
        if self._leaving:
            self._depart()
        else:
            self.wake()

    def _given_up(self, call: int) -> None:
        if self._waits(lambda: self._given_up(call)):
            return
        if call == self._call:
            self._call += 1
            self._waiting = False
            self.election = elector.after_failure(self.election)
            self._rest()

    def _depart(self) -> None:
        """Give the Lease away: the trust goes first, then the record."""
        given = elector.release(self.election, NOON)
        self.election = elector.after_release(self.election)
        if given is not None:
            world = self.world
            world.at(
                world.now + world.latency_seconds, lambda: _ignored(world.took_effect(given))
            )
        self.kill()

    def _rest(self) -> None:
        if self._leaving:
            self._depart()
            return
        rest = elector.rest_seconds(self.election, self.clock(), self.world.random.random())
        self.election = elector.after_rest(self.election)
        self.world.at(self.world.now + rest / self.rate, self.wake)

    def _waits(self, what: Callable[[], None]) -> bool:
        """Put off what a frozen process would do, and forget what a dead one would."""
        if self.alive and self.world.now < self.frozen_until:
            self.world.at(self.frozen_until, what)
            return True
        return not self.alive


def _ignored(_answer: Lease | Refusal) -> None:
    """Drop the answer."""
