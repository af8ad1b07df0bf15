"""Kill one leader and freeze the next under load, while a limit and a rate hold.

The frozen leader is woken when another one leads, and tries to continue. A gap is from the last
dispatch of one leader to the first of the next.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence

import psycopg

from bench.context import say
from bench.fairness.postgres import dispatch_log, fleet, replay
from bench.fairness.postgres.dispatch_log import Dispatch
from bench.fairness.results import metrics
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.processes import Child
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival, Lane

_WARM_SECONDS = 8.0
_FROZEN_SECONDS = 8.0
_SAMPLE_US = 10_000
_US = 1_000_000
_LIMITED, _RATED = "limited", "rated"
_LIMIT = 3
_PER_SECOND, _BURST = 2, 5
_RATE = {"limit": _PER_SECOND, "per": "1s", "burst": _BURST}
_LEADER = b"""
select split_part(l.holder, ':', 2)::int from fairlead.leaders l
where l.role = 'scheduler' and l.lease_until > clock_timestamp()
"""
_IN_FLIGHT = b"select count(*) from fairlead.work_queue q where q.tenant = 'limited'"


class _FaultInjector:
    """Kills the leader, later freezes its successor for a while, and samples limited usage."""

    def __init__(self, own: fleet.Fleet, each_us: float) -> None:
        self._own = own
        self._kill_us = _WARM_SECONDS * _US
        self._freeze_us = self._kill_us + each_us
        self._frozen: tuple[Child, float] | None = None
        self.struck_us: list[float] = []
        self._sample_us = 0.0
        self.most = 0

    def act(self, now_us: float) -> None:
        """Do what is due."""
        if now_us >= self._sample_us:
            self._sample_us = now_us + _SAMPLE_US
            row = fleet.one(self._own.connection, _IN_FLIGHT)
            self.most = max(self.most, int(str(row[0])))
        if not self.struck_us and now_us >= self._kill_us:
            leader = self._leader()
            if leader is not None:
                self._own.lose(leader)
                self._struck("killed")
                self._own.schedule("scheduler-2")
        elif len(self.struck_us) == 1 and now_us >= self._freeze_us:
            leader = self._leader()
            if leader is not None:
                leader.process.send_signal(signal.SIGSTOP)
                self._frozen = (leader, now_us)
                self._struck("frozen")
        elif self._frozen and now_us >= self._frozen[1] + _FROZEN_SECONDS * _US:
            self._frozen[0].process.send_signal(signal.SIGCONT)
            self._frozen = None

    def _struck(self, how: str) -> None:
        self.struck_us.append(time.time() * _US - self._own.begun_us)
        say(f"  the leader is {how}")

    def _leader(self) -> Child | None:
        row = self._own.connection.execute(_LEADER).fetchone()
        return next((c for c in self._own.children if row and c.pid == row[0]), None)


def play(server: Server, workload: Workload, trace: Sequence[Arrival], _seed: int) -> Found:
    """Kill one leader and freeze the next, each in its half of the time."""
    each_us = (workload.seconds - _WARM_SECONDS) / 2 * _US
    with fleet.database(server) as (connection, dsn):
        dispatch_log.install(connection)
        store(connection, json.dumps(_policy()), reason="bench")
        there = fleet.fill(connection, trace)
        with fleet.running(connection, dsn, slots=workload.slots, schedulers=2) as own:
            faults = _FaultInjector(own, each_us)
            fleet.feed(connection, trace, there, workload.until_us, faults.act)
            own.check()
            played = replay.read(connection, own.begun_us, trace, workload.until_us)
            found = dispatch_log.dispatches(connection, own.begun_us)
        rows = {
            name: _after(found, played, workload, trace, at_us, round(each_us))
            for name, at_us in zip(("killed", "frozen"), faults.struck_us, strict=True)
        }
        return Found(
            rows=rows,
            evaluated={
                "dispatch_gap_seconds": max(
                    row["dispatch_gap_seconds"] for row in rows.values()
                ),
                "jain": min(row["jain"] for row in rows.values()),
                "gap_over_bound": max(row["gap_over_bound"] for row in rows.values()),
                **_kept(connection, found, trace, faults.most),
            },
        )


def _policy() -> dict[str, object]:
    overrides = [
        {"match": {"tenant": _LIMITED}, "slots": {"limit": _LIMIT}},
        {"match": {"tenant": _RATED}, "rate": _RATE},
    ]
    return {"queues": [{"match": {"queue": "q"}, "tenants": {"overrides": overrides}}]}


def _after(
    found: Sequence[Dispatch],
    played: Sequence[JobOutcome],
    workload: Workload,
    trace: Sequence[Arrival],
    struck_us: float,
    each_us: int,
) -> Figures:
    """Return the gap after one failure, and the shares until the next one."""
    begun = round(struck_us)
    until = min(begun + each_us, workload.until_us)
    served = metrics.service_us(played, begun, until)
    free = sorted({job.lane for job in trace if job.tenant not in {_LIMITED, _RATED}})
    curves = metrics.curves(played, until)
    grown = {lane: metrics.curve_since(curves[lane], begun) for lane in free}
    apart_us = metrics.largest_gap_us(grown, {}, free)
    bounds = bounds_us([each for each in found if begun <= each.at_us < until], trace)
    return {
        "dispatch_gap_seconds": gap_us(found, struck_us) / _US,
        "jain": metrics.jain([served.get(lane, 0) for lane in free]),
        "gap_slot_seconds": apart_us / _US,
        "gap_over_bound": apart_us / min(bounds[lane] for lane in free),
        "slots_used": sum(served.values()) / (workload.slots * (until - begun)),
    }


def bounds_us(found: Sequence[Dispatch], trace: Sequence[Arrival]) -> dict[Lane, int]:
    """Return (1 + L) c_max of each lane, with L its jobs in flight, unclaimed ones included."""
    most: dict[Lane, int] = {}
    longest_us: dict[Lane, int] = {}
    for each in found:
        job = trace[each.place]
        most[job.lane] = max(each.in_flight, most.get(job.lane, 0))
        longest_us[job.lane] = max(job.cost_us, longest_us.get(job.lane, 0))
    return {lane: (1 + most[lane]) * longest_us[lane] for lane in most}


def gap_us(found: Sequence[Dispatch], struck_us: float) -> int:
    """Return the time from the last dispatch before a failure to the next leader's first."""
    before = [each for each in found if each.at_us <= struck_us]
    epoch = max(each.epoch for each in before)
    first = min(each.at_us for each in found if each.epoch > epoch)
    return first - max(each.at_us for each in before)


def _kept(
    connection: psycopg.Connection,
    found: Sequence[Dispatch],
    trace: Sequence[Arrival],
    most_sampled: int,
) -> Figures:
    """Return what must be zero: jobs over the limit and the rate, lost and done twice."""
    tenants = [job.tenant for job in trace]
    of_rated = [each.at_us for each in found if tenants[each.place] == _RATED]
    return {
        "jobs_over_limit": max(
            dispatch_log.over_limit(found, tenants, {_LIMITED: _LIMIT}), most_sampled - _LIMIT
        ),
        "jobs_over_rate": dispatch_log.over_rate(
            of_rated, per_second=_PER_SECOND, burst=_BURST
        ),
        "jobs_lost": len(trace) - dispatch_log.known(connection),
        "jobs_done_twice": dispatch_log.ended_twice(connection),
    }
