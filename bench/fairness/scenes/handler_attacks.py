"""What a tenant's handlers can do to others, each beside the same tenant with plain ones.

Two tenants are backlogged and a quiet one inserts four short jobs a second, as beside attacks
by insert. The attacker is backlogged as well: each of the three is entitled to a third of the
slots.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import psycopg

from bench.context import say
from bench.fairness.postgres import fleet, replay
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.neighbours import neighbours, quiet_waits
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.trace import Arrival
from tests.support.adversaries import VICTIMS

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
    policy: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def breaks_workers(self) -> bool:
        """Whether a quiet tenant may wait as long as a worker needs to come back."""
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
ATTACKS: Mapping[str, Attack] = {
    "completes early": Attack(kind="completes early", seconds=2, jobs=600),
    "one at a time": Attack(kind="one at a time", seconds=0.2, jobs=2600),
    "plain processes": Attack(kind="processes", seconds=0.2, jobs=2600),
    "blocks the loop": Attack(kind="blocks the loop", seconds=0.5, jobs=600, at_seconds=5),
    "dies every 3 s": Attack(
        kind="dies", seconds=0, at_seconds=_RARELY_SECONDS, every_seconds=_RARELY_SECONDS
    ),
    "ignores its timeout": Attack(
        kind="ignores its timeout",
        seconds=30,
        at_seconds=_RARELY_SECONDS,
        every_seconds=_RARELY_SECONDS,
    ),
    "extends for ever": Attack(kind="extends for ever", seconds=0.5, jobs=600, policy=_LONGEST),
    "empty jobs": Attack(kind="empty", seconds=0, jobs=100_000),
}


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], _seed: int) -> Found:
    """Play every attack, and once the attacker's plain work."""
    share, p99 = _had(server, workload, _PLAIN)
    without = {"share_without": share, "quiet_p99_without_seconds": p99}
    rows: dict[str, Figures] = {}
    for name, attack in ATTACKS.items():
        share, p99 = _had(server, workload, attack)
        rows[name] = {"share": share, "quiet_p99_seconds": p99, **without}
        say(f"  {name}: {rows[name]}")
    return Found(rows=rows, evaluated=worst(rows)).beside(workload.before)


def worst(rows: Mapping[str, Figures]) -> Figures:
    """Return the worst figures of all attacks, those that have targets."""
    breaking = [row for name, row in rows.items() if ATTACKS[name].breaks_workers]
    others = [row for name, row in rows.items() if not ATTACKS[name].breaks_workers]
    return {
        "share_over_without": min(row["share"] / row["share_without"] for row in rows.values()),
        "quiet_p99_over_without": max(
            row["quiet_p99_seconds"] / row["quiet_p99_without_seconds"] for row in others
        ),
        "quiet_p99_beside_breaks_seconds": max(row["quiet_p99_seconds"] for row in breaking),
    }


def _had(server: Server, workload: Workload, attack: Attack) -> tuple[float, float]:
    """Return the smaller share that a victim had of its third, and the quiet tenant's p99.

    Raises:
        BrokenRunError: A process ended, or none of the attacker's jobs ran.
    """
    honest = neighbours(int(workload.seconds))
    due_us = deque(attack.times_us(workload.until_us))
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

        with fleet.running(connection, dsn, slots=workload.slots) as own:
            fleet.feed(connection, honest, there, workload.until_us, act)
            own.check()
            if not fleet.one(connection, _RAN % attack.kind.encode())[0]:
                raise BrokenRunError(f"no job of kind {attack.kind!r} has run")
            played = replay.read(connection, own.begun_us, honest, workload.until_us)
    held = dict.fromkeys(VICTIMS, 0)
    for job, claimed_us, _ in played:
        if job.lane in held and claimed_us is not None:
            held[job.lane] += min(job.cost_us, workload.until_us - claimed_us)
    third = workload.slots * workload.until_us / 3
    waits = quiet_waits(played, workload.until_us)
    return min(held.values()) / third, percentile(waits, 0.99)


def _insert(connection: psycopg.Connection, attack: Attack, *, priority: int = 0) -> None:
    values = {"kind": attack.kind, "seconds": attack.seconds, "jobs": attack.jobs}
    connection.execute(_INSERT, {**values, "priority": priority})
