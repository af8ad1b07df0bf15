"""What a tenant's handlers can do to others, each beside the same tenant with plain ones.

Two tenants are backlogged and a quiet one inserts four short jobs a second, as beside attacks
by insert. The attacker is backlogged as well, and its handlers note when they have slots: what
the others are entitled to at each moment follows from that, and not from the product's figures.
The attacks are those of the tests of simulated workers, where they are played as well.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import psycopg

from bench.context import say
from bench.fairness.postgres import exposition, fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.neighbours import Job, known, neighbours, quiet_waits
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.trace import Arrival
from tests.support import handler_attacks as simulation
from tests.support.adversaries import LIAR, QUIET, VICTIMS
from tests.support.attacked_fleet import by_tenant
from tests.support.entitlements import entitlements

_US = 1e6
_INSERT = b"""
insert into fairlead.jobs (queue, tenant, kind, payload, priority)
select 'q', 'liar', %(kind)s, jsonb_build_object('seconds', %(seconds)s::float8), %(priority)s
from generate_series(1, %(jobs)s)
"""
_RAN = b"""
select exists (select from fairlead.job_status s
               where s.kind = '%s' and (s.attempt > 0 or s.crashes > 0))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Jobs of one kind, in place of a backlog of plain ones or before the rest of it."""

    kind: str
    seconds: float
    jobs: int = 1
    """How many are inserted at a time."""
    at_seconds: float = 0.0
    """When they are inserted; plain ones are there from the start if it is later."""
    every_seconds: float = 0.0
    """How long after that they are inserted again, and again; 0: never."""
    alone_seconds: float = 0.0
    """How long it has the slots alone before the others begin."""
    killed_seconds: float = 0.0
    """How long a handler is entitled to its slot that its process does not survive."""
    is_charged: bool = False
    """Whether what is charged is compared with what was held."""
    limit: int = 0
    """How many slots the policy lets the attacker have at most; 0: all."""
    policy: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def may_delay(self) -> bool:
        """Whether a quiet tenant may wait for a second: until a process is back."""
        return self.every_seconds > 0

    def times_us(self, until_us: int) -> Iterator[float]:
        """Yield when jobs are inserted."""
        at_us = self.at_seconds * _US
        while at_us < until_us:
            yield at_us
            at_us += self.every_seconds * _US or until_us


_PLAIN = Attack(kind="plain", seconds=0.2, jobs=2600)
_RARELY_SECONDS = 3.0
_LONGEST = {"pools": [{"name": "default", "queues": ["*"], "timeoutMax": "2s"}]}
_LIMIT = 4
_FOUR = {"match": {"tenant": "liar"}, "slots": {"limit": _LIMIT}}
_LIMITED = {"queues": [{"match": {"queue": "q"}, "tenants": {"overrides": [_FOUR]}}]}
ATTACKS: Mapping[str, Attack] = {
    "completes early": Attack(kind="completes early", seconds=2, jobs=600, is_charged=True),
    "completes early, limit of 4": Attack(
        kind="completes early", seconds=2, jobs=600, limit=_LIMIT, policy=_LIMITED
    ),
    "one at a time": Attack(kind="one at a time", seconds=0.2, jobs=2600, is_charged=True),
    "plain processes": Attack(kind="processes", seconds=0.2, jobs=2600, is_charged=True),
    "blocks the loop": Attack(
        kind="blocks the loop", seconds=0.5, jobs=600, at_seconds=5, is_charged=True
    ),
    "dies every 3 s": Attack(
        kind="dies", seconds=0, at_seconds=_RARELY_SECONDS, every_seconds=_RARELY_SECONDS
    ),
    "ignores its timeout": Attack(
        kind="ignores its timeout",
        seconds=30,
        killed_seconds=1,
        at_seconds=_RARELY_SECONDS,
        every_seconds=_RARELY_SECONDS,
    ),
    "extends for ever": Attack(
        kind="extends for ever", seconds=0.5, jobs=600, alone_seconds=1, policy=_LONGEST
    ),
    "empty jobs": Attack(kind="empty", seconds=0, jobs=100_000),
}


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], _seed: int) -> Found:
    """Play every attack, or those that are named, and once the attacker's plain work.

    Raises:
        BrokenRunError: There is no attack of a name, or a process ended.
    """
    unknown = set(workload.cases) - set(ATTACKS)
    if unknown:
        raise BrokenRunError(f"no {sorted(unknown)}: there are {sorted(ATTACKS)}")
    plain = _had(server, workload, _PLAIN)
    without = {
        "share_without": plain["share"],
        "quiet_p99_without_seconds": plain["quiet_p99_seconds"],
    }
    rows: dict[str, Figures] = {}
    for name in workload.cases or ATTACKS:
        attack = ATTACKS[name]
        rows[name] = {**_had(server, workload, attack), **without}
        say(f"  {name}: {rows[name]}")
    simulated = simulated_figures(list(rows))
    found = Found(rows=rows, evaluated=worst(rows), simulated=worst(simulated))
    return found.beside("before", workload.before).beside("simulated", simulated)


def simulated_figures(names: Sequence[str]) -> dict[str, Figures]:
    """Return what the others have beside each of these attacks in simulation."""
    plain = simulation.play(simulation.PLAIN).others
    rows: dict[str, Figures] = {}
    for name in names:
        attack = ATTACKS[name]
        found = simulation.play(simulation.ATTACKS[name])
        rows[name] = {
            "share": found.others.share,
            "share_without": plain.share,
            "quiet_p99_seconds": found.others.wait_us(99) / _US,
            "quiet_p99_without_seconds": plain.wait_us(99) / _US,
            **({"charged_over_held": found.charged_over_held} if attack.is_charged else {}),
            **({"held_over_limit": found.held_max / attack.limit} if attack.limit else {}),
        }
    return rows


def worst(rows: Mapping[str, Figures]) -> Figures:
    """Return the worst figures of all attacks, those that have targets."""
    breaking = [row for name, row in rows.items() if ATTACKS[name].may_delay]
    others = [row for name, row in rows.items() if not ATTACKS[name].may_delay]
    charged = [row for row in rows.values() if "charged_over_held" in row]
    lowest = {
        "share": [row["share"] for row in rows.values()],
        "share_over_without": [row["share"] / row["share_without"] for row in rows.values()],
        "charged_over_held": [row["charged_over_held"] for row in charged],
    }
    highest = {
        "quiet_p99_over_without": [
            row["quiet_p99_seconds"] / row["quiet_p99_without_seconds"] for row in others
        ],
        "quiet_p99_beside_breaks_seconds": [row["quiet_p99_seconds"] for row in breaking],
        "quiet_charged_over_held": [
            row["quiet_charged_over_held"]
            for row in charged
            if "quiet_charged_over_held" in row
        ],
        "held_over_limit": [row.get("held_over_limit", 0.0) for row in rows.values()],
    }
    return {
        **{name: min(figures) for name, figures in lowest.items() if figures},
        **{name: max(figures) for name, figures in highest.items() if figures},
    }


def _had(server: Server, workload: Workload, attack: Attack) -> dict[str, float]:
    """Return what the others had beside an attack.

    Raises:
        BrokenRunError: A process ended, or none of the attacker's jobs ran.
    """
    honest = neighbours(int(workload.seconds), from_us=int(attack.alone_seconds * _US))
    due_us = deque(attack.times_us(workload.until_us))
    port = exposition.free_port()
    with fleet.database(server) as (connection, dsn):
        if attack.policy:
            store(connection, json.dumps(attack.policy), reason="bench")
        if due_us[0] > 0:
            _insert(connection, _PLAIN)
        else:
            _insert(connection, attack)
            due_us.popleft()
        there = fleet.fill(connection, honest)

        def act(now_us: float) -> None:
            if due_us and now_us >= due_us[0]:
                due_us.popleft()
                _insert(connection, attack, priority=1)

        with fleet.running(connection, dsn, slots=workload.slots, health_port=port) as own:
            fleet.feed(connection, honest, there, workload.until_us, act)
            own.check()
            if not fleet.one(connection, _RAN % attack.kind.encode())[0]:
                raise BrokenRunError(f"no job of kind {attack.kind!r} has run")
            charged = exposition.shares(port)
            played = replay.read(connection, own.begun_us, honest, workload.until_us)
            notes = own.folder / "held.log"
            text = notes.read_text("ascii") if notes.exists() else ""
    mine = held(text, own.begun_us, workload.until_us, killed_seconds=attack.killed_seconds)
    waits = quiet_waits(played, workload.until_us)
    return {
        "share": share([*known(played), *mine], workload.slots, workload.until_us),
        "quiet_p99_seconds": percentile(waits, 0.99),
        **(
            charges([*known(played), *mine], charged, workload.until_us)
            if attack.is_charged
            else {}
        ),
        **({"held_over_limit": most(mine) / attack.limit} if attack.limit else {}),
    }


def held(text: str, begun_us: int, until_us: int, *, killed_seconds: float) -> list[Job]:
    """Return the attacker's runs from its handlers' notes of when each began and ended."""
    times: dict[str, list[int]] = {}
    for line in text.splitlines():
        run, seconds = line.split()
        times.setdefault(run, []).append(int(float(seconds) * _US) - begun_us)
    runs: list[Job] = []
    for begun, *ends_us in times.values():
        end_us = ends_us[0] if ends_us else begun + int(killed_seconds * _US)
        at_us = max(0, begun)
        if at_us < min(end_us, until_us):
            ended_us = end_us if end_us <= until_us else None
            runs.append(Job(LIAR, end_us - at_us, at_us, at_us, ended_us))
    return runs


def share(jobs: Sequence[Job], slots: int, until_us: int) -> float:
    """Return the smaller share that a victim had of what it was entitled to."""
    honest = (*VICTIMS, QUIET)
    had = entitlements(jobs, by_tenant, honest, slots=slots, until_us=until_us)
    return min(had[lane].share for lane in VICTIMS)


def charges(
    jobs: Sequence[Job], charged: Mapping[str, float], until_us: int
) -> dict[str, float]:
    """Return what the attacker and the quiet tenant were charged for what they held.

    Both are shares of the whole, so that it does not matter when the minute of charges began.
    """
    held_us = dict.fromkeys((LIAR, *VICTIMS, QUIET), 0)
    for job in jobs:
        if job.claimed_us is not None:
            held_us[job.lane] += min(job.cost_us, until_us - job.claimed_us)
    whole_us = sum(held_us.values())
    ratio = {lane: charged[lane[1]] * whole_us / held_us[lane] for lane in (LIAR, QUIET)}
    return {"charged_over_held": ratio[LIAR], "quiet_charged_over_held": ratio[QUIET]}


def most(runs: Sequence[Job]) -> int:
    """Return how many of these had slots at once."""
    changes = [(job.arrived_us, 1) for job in runs]
    changes += [(job.ended_us, -1) for job in runs if job.ended_us is not None]
    return max(accumulate(change for _, change in sorted(changes)), default=0)


def _insert(connection: psycopg.Connection, attack: Attack, *, priority: int = 0) -> None:
    values = {"kind": attack.kind, "seconds": attack.seconds, "jobs": attack.jobs}
    connection.execute(_INSERT, {**values, "priority": priority})
