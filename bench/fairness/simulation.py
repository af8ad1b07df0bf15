"""A fleet in simulated time: a trace goes in, and when each job was claimed and ended comes.

A leader looks, hears everything that happened until then, and hands out rows that the workers
see a round trip later. Workers take the row with the smallest tag, a round trip after they are
free. Without any of these latencies the leader decides at every event, which is how a policy
is at its best. Everything is determined by what is put in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

from bench.fairness.policy import Event, Policy, Row
from bench.fairness.prefetch import Prefetch
from bench.fairness.trace import Arrival
from bench.fairness.weights import Edit

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The conditions under which a trace is played."""

    slots: int
    tick_us: int = 0
    """Rest between two looks of the leader; with 0 it looks whenever something happened."""
    dispatch_us: int = 0
    """From a decision until workers see it."""
    claim_us: int = 0
    """From a free slot to its next job, and from a row that workers see to an idle slot."""
    depth: int | None = 0
    """Rows beside the free slots; None for the product's own measure."""


class Played(NamedTuple):
    """What became of one job of the trace; None for what did not happen before the end."""

    arrival: Arrival
    claimed_us: int | None
    ended_us: int | None


def play(
    trace: Sequence[Arrival],
    policy: Policy,
    fleet: Fleet,
    until_us: int,
    edits: Sequence[Edit] = (),
) -> tuple[Played, ...]:
    """Play a trace until then, and return what became of its jobs, in the trace's order.

    `trace` must be in the order of arrivals, and `edits` of weights in that of their times.
    """
    return _Play(trace, policy, fleet, until_us, edits).run()


class _Play:
    def __init__(
        self,
        trace: Sequence[Arrival],
        policy: Policy,
        fleet: Fleet,
        until_us: int,
        edits: Sequence[Edit],
    ) -> None:
        self._trace = trace
        self._policy = policy
        self._fleet = fleet
        self._until_us = until_us
        self._edits = deque(edits)
        self._amended: list[Edit] = []
        """Those that the policy is to hear of at the next look."""
        self._prefetch = Prefetch(
            slots=fleet.slots, fixed=fleet.depth, round_us=fleet.tick_us + fleet.dispatch_us
        )
        self._claimed_us: list[int | None] = [None] * len(trace)
        self._ended_us: list[int | None] = [None] * len(trace)
        self._arrived = 0
        """How many jobs of the trace have arrived,"""
        self._told = 0
        """how many of them the policy knows,"""
        self._handed_out = 0
        """and how many it has handed out."""
        self._transit: deque[tuple[int, Sequence[Row]]] = deque()
        self._queued: list[Row] = []
        self._running: list[tuple[int, int]] = []
        self._claiming: deque[int] = deque()
        """When slots that are on their way to a row get there."""
        self._idle = fleet.slots
        self._claims: list[Event] = []
        self._endings: list[Event] = []
        self._claims_in_all = 0
        self._look_us = 0
        self._stirred = True

    def run(self) -> tuple[Played, ...]:
        now_us = 0
        while now_us < self._until_us:
            self._happen(now_us)
            if now_us >= self._look_us and (self._stirred or self._fleet.tick_us):
                self._look(now_us)
                self._happen(now_us)
            now_us = self._next_us()
        return tuple(map(Played, self._trace, self._claimed_us, self._ended_us))

    def _next_us(self) -> int:
        times = [_NEVER]
        if self._arrived < len(self._trace):
            times.append(self._trace[self._arrived].at_us)
        if self._running:
            times.append(self._running[0][0])
        if self._claiming:
            times.append(self._claiming[0])
        if self._transit:
            times.append(self._transit[0][0])
        if self._edits:
            times.append(self._edits[0].at_us)
        if self._fleet.tick_us or self._stirred:
            times.append(self._look_us)
        return min(times)

    def _happen(self, now_us: int) -> None:
        """Let everything happen that is due by now."""
        trace, claim_us = self._trace, self._fleet.claim_us
        while self._arrived < len(trace) and trace[self._arrived].at_us <= now_us:
            self._arrived += 1
            self._stirred = True
        while self._edits and self._edits[0].at_us <= now_us:
            self._amended.append(self._edits.popleft())
            self._stirred = True
        while self._running and self._running[0][0] <= now_us:
            job = heappop(self._running)[1]
            self._ended_us[job] = now_us
            self._endings.append(Event(job, now_us))
            self._claiming.append(now_us + claim_us)
            self._stirred = True
        while self._transit and self._transit[0][0] <= now_us:
            rows = self._transit.popleft()[1]
            for row in rows:
                heappush(self._queued, row)
            woken = min(self._idle, len(rows))
            self._idle -= woken
            self._claiming.extend([now_us + claim_us] * woken)
        while self._claiming and self._claiming[0] <= now_us:
            self._claiming.popleft()
            self._claim(now_us)

    def _claim(self, now_us: int) -> None:
        if not self._queued:
            self._idle += 1
            return
        job = heappop(self._queued).job
        self._claimed_us[job] = now_us
        heappush(self._running, (now_us + self._trace[job].cost_us, job))
        self._claims.append(Event(job, now_us))
        self._claims_in_all += 1

    def _look(self, now_us: int) -> None:
        """Tell the policy what happened, and send out what it hands out."""
        policy, trace = self._policy, self._trace
        for edit in self._amended:
            policy.weigh(edit.weights, now_us)
        self._amended.clear()
        claims, self._claims = self._claims, []
        endings, self._endings = self._endings, []
        policy.claimed(claims)
        policy.ended(endings)
        policy.arrived(list(enumerate(trace[self._told : self._arrived], self._told)), now_us)
        self._told = self._arrived
        room = self._prefetch.room(
            now_us,
            claims=len(claims),
            runs_us=[trace[job].cost_us for job, _ in endings],
            unclaimed=self._handed_out - self._claims_in_all,
            free=self._fleet.slots - len(self._running),
            waiting=self._arrived - self._handed_out,
        )
        rows = policy.plan(now_us, room=room, slots=self._fleet.slots)
        if rows:
            self._handed_out += len(rows)
            self._transit.append((now_us + self._fleet.dispatch_us, rows))
        self._look_us = now_us + self._fleet.tick_us + self._fleet.dispatch_us
        self._stirred = False
