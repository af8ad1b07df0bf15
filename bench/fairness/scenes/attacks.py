"""Attacks by tenants that can only insert, each beside the same work without the attack.

The attacks are those of the tests of the fair order, where they are played in simulation; here
they are played on PostgreSQL as well. The same independent checker finds what honest tenants
had, by the claims that the database has.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import psycopg

from bench.context import say
from bench.fairness.postgres import fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes import due_flood
from bench.fairness.scenes.neighbours import known
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation import trace
from tests.simulation import due_flood as simulated_flood
from tests.support import attacked_fleet
from tests.support.adversaries import ATTACKS
from tests.support.attacked_fleet import Arrival, Outcome, Scene, outcome

_BATCH = 1000
DUE = "300,000 jobs due at once"
_US = 1e6
_INSERT = b"""
insert into fairlead.jobs (queue, tenant, kind, payload, priority, cost_hint)
select queue, tenant, 'sleep', payload, priority, hint_us * interval '1 microsecond'
from unnest(%s::text[], %s::text[], %s::jsonb[], %s::int[], %s::bigint[])
    as new (queue, tenant, payload, priority, hint_us)
"""


def play(
    server: Server, workload: Workload, _trace: Sequence[trace.Arrival], _seed: int
) -> Found:
    """Play every attack, or those that are named, and where the target is relative the truth.

    Raises:
        BrokenRunError: There is no attack of a name, or a process ended.
    """
    names = _names(workload.cases)
    rows: dict[str, Figures] = {}
    simulated: dict[str, Figures] = {}
    for name in names:
        if name == DUE:
            rows[DUE] = _due_figures(server, workload.slots)
            simulated[DUE] = simulated_due_figures(workload.slots)
            continue
        scene = ATTACKS[name]()
        attacked = _outcome(server, scene, attacked=True)
        truthful = _outcome(server, scene, attacked=False) if scene.truth else None
        rows[name] = _figures(attacked, truthful)
        simulated[name] = simulated_figures(scene)
        say(f"  {name}: {dict(rows[name])}")
    found = Found(
        rows=rows,
        evaluated=worst(list(rows.values())),
        simulated=worst(list(simulated.values())),
    )
    return found.beside("before", workload.before).beside("simulated", simulated)


def _names(cases: Sequence[str]) -> Sequence[str]:
    """Return the rows to play: those that are named, or all."""
    every = (*ATTACKS, DUE)
    unknown = set(cases) - set(every)
    if unknown:
        raise BrokenRunError(f"no {sorted(unknown)}: there are {sorted(every)}")
    return cases or every


def _due_figures(server: Server, slots: int) -> Figures:
    """Return how long delayed jobs wait on PostgreSQL, beside a flood and without."""
    flooded, free = (
        due_flood.quiet_p99_seconds(server, slots=slots, flood=flood) for flood in (True, False)
    )
    return {"quiet_p99_seconds": flooded, "quiet_p99_without_seconds": free}


def simulated_figures(scene: Scene) -> Figures:
    """Return what honest tenants have under one attack in simulation."""
    attacked, *truthful = (
        outcome(scene, attacked_fleet.play(scene, attacked=attacked).jobs.values())
        for attacked in ((True, False) if scene.truth else (True,))
    )
    return _figures(attacked, truthful[0] if truthful else None)


def simulated_due_figures(slots: int) -> Figures:
    """Return how long delayed jobs wait in simulation, beside a flood and without."""
    flooded, free = (
        percentile(simulated_flood.quiet_waits_us(slots=slots, flood=flood), 0.99) / _US
        for flood in (True, False)
    )
    return {"quiet_p99_seconds": flooded, "quiet_p99_without_seconds": free}


def _figures(attacked: Outcome, truthful: Outcome | None) -> Figures:
    """Return what honest tenants had under one attack."""
    found = {"quiet_p99_seconds": attacked.wait_us(99) / _US}
    if truthful is not None:
        found["quiet_p99_without_seconds"] = truthful.wait_us(99) / _US
    if truthful is not None and attacked.had:
        found["share"] = attacked.share
        found["share_without"] = truthful.share
        found["longest_pause_seconds"] = attacked.without_us / _US
    return found


def worst(rows: Sequence[Figures]) -> Figures:
    """Return the worst figures of all attacks, those that have targets.

    A share is of the entitlement; it is compared with that without the attack as well, where
    slots are empty between two jobs, too.
    """
    relative = [row for row in rows if "quiet_p99_without_seconds" in row]
    long = [row for row in rows if "quiet_p99_without_seconds" not in row]
    busy = [row for row in rows if "share" in row]
    lowest = {
        "share": [row["share"] for row in busy],
        "share_over_without": [row["share"] / row["share_without"] for row in busy],
    }
    highest = {
        "quiet_p99_over_without": [
            row["quiet_p99_seconds"] / row["quiet_p99_without_seconds"] for row in relative
        ],
        "quiet_p99_beside_long_jobs_seconds": [row["quiet_p99_seconds"] for row in long],
    }
    return {
        **{name: min(figures) for name, figures in lowest.items() if figures},
        **{name: max(figures) for name, figures in highest.items() if figures},
    }


def _outcome(server: Server, scene: Scene, *, attacked: bool) -> Outcome:
    """Play a scene on a database of its own."""
    inserted = (*scene.honest, *(scene.attack if attacked else scene.truth))
    jobs = sorted(inserted, key=lambda job: job.at_us)
    traffic = [trace.Arrival(job.at_us, *job.lane, job.cost_us) for job in jobs]
    until_us = scene.seconds * 1_000_000
    there = sum(job.at_us == 0 for job in jobs)
    with fleet.database(server) as (connection, dsn):
        if scene.policy:
            store(connection, json.dumps(scene.policy), reason="bench")
        for first in range(0, there, _BATCH):
            _insert(connection, jobs, first, min(there, first + _BATCH))
        connection.execute("analyze")
        place = there

        def act(now_us: float) -> None:
            nonlocal place
            end = place
            while end < min(len(jobs), place + _BATCH) and jobs[end].at_us <= now_us:
                end += 1
            if end > place:
                _insert(connection, jobs, place, end)
                place = end

        with fleet.running(connection, dsn, slots=scene.slots) as own:
            fleet.feed(connection, (), 0, until_us, act)
            own.check()
            played = replay.read(connection, own.begun_us, traffic, until_us)
    return outcome(scene, known(played))


def _insert(
    connection: psycopg.Connection, jobs: Sequence[Arrival], first: int, end: int
) -> None:
    """Insert a range of the jobs; each carries its index."""
    columns = (
        [job.lane[0] for job in jobs[first:end]],
        [job.lane[1] for job in jobs[first:end]],
        [
            json.dumps({"n": number, "seconds": job.cost_us / _US, "account": job.account})
            for number, job in enumerate(jobs[first:end], first)
        ],
        [job.priority for job in jobs[first:end]],
        [job.hint_us for job in jobs[first:end]],
    )
    connection.execute(_INSERT, columns)
