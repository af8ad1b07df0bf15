"""Accuracy of `fairlead.explain`'s estimates: random pending jobs of a loaded fleet.

Each estimate is compared with the moment the job was claimed. A job that was not claimed before
the end is only counted.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import psycopg

from bench.fairness.postgres import dispatch_log, fleet
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.trace import Arrival

_WARM_US = 6_000_000
_LAST_QUARTER = 0.75
_EVERY_US = 100_000
_AGAIN_US = 15_000
_US = 1_000_000
_LOWEST_SECONDS = 0.5
"""Below this an error is given in seconds only, since a relative one means little."""
_POLICY = {
    "queues": [
        {
            "match": {"queue": "q"},
            "tenants": {
                "overrides": [
                    {"match": {"tenant": "heavy"}, "weight": 3},
                    {"match": {"tenant": "limited"}, "slots": {"limit": 4}},
                    {
                        "match": {"tenant": "rated"},
                        "rate": {"limit": 4, "per": "1s", "burst": 4},
                    },
                ]
            },
        }
    ]
}
_ASK = b"""
select fairlead.explain(%s), (extract(epoch from clock_timestamp()) * 1e6)::bigint
"""
_PENDING = b"""
select j.id, (j.payload ->> 'n')::int from fairlead.jobs j
where j.queue = 'q' and j.tenant = %s and j.run_at is null
  and not exists (select from fairlead.work_queue q where q.job_id = j.id)
order by j.rank, j.seq offset %s limit 1
"""


class Estimate(NamedTuple):
    """The estimate for a job, and when it was given."""

    place: int
    """The job's index in the trace."""
    blocked_by: str
    said_us: int
    starts_us: float


class Asker:
    """Asks for the estimate of one pending job after the other."""

    def __init__(
        self, connection: psycopg.Connection, horizons: Mapping[str, int], seed: int
    ) -> None:
        self._connection = connection
        self._horizons = tuple(horizons.items())
        self._draw = random.Random(seed)
        self._about: tuple[int, int] | None = None
        self._due_us = float(_WARM_US)
        self.asked = 0
        self.found: list[Estimate] = []

    def ask(self, now_us: float, begun_us: int) -> None:
        """When it is time, choose a job, or ask again about the chosen one."""
        if now_us < self._due_us:
            return
        if self._about is None:
            tenant, horizon = self._horizons[self.asked % len(self._horizons)]
            self.asked += 1
            self._due_us = now_us + _EVERY_US
            place = self._draw.randrange(horizon)
            row = self._connection.execute(_PENDING, (tenant, place)).fetchone()
            if row is None:
                return
            self._about = cast("tuple[int, int]", tuple(row))
        row = self._connection.execute(_ASK, (self._about[0],)).fetchone()
        assert row is not None
        answer, at_us = cast("tuple[dict[str, object], int]", tuple(row))
        if answer.get("asked"):
            self._due_us = now_us + _AGAIN_US
            return
        number = self._about[1]
        self._about = None
        starts_in, blocked_by = answer.get("starts_in_seconds"), answer.get("blocked_by")
        if isinstance(starts_in, int | float) and isinstance(blocked_by, str):
            said_us = at_us - begun_us
            self.found.append(Estimate(number, blocked_by, said_us, said_us + starts_in * _US))


def play(server: Server, workload: Workload, trace: Sequence[Arrival], seed: int) -> Found:
    """Ask in the first three quarters, so that the last jobs asked about can still start."""
    last_us = _LAST_QUARTER * workload.until_us
    with fleet.database(server) as (connection, dsn):
        dispatch_log.install(connection)
        store(connection, json.dumps(_POLICY), reason="bench")
        there = fleet.fill(connection, trace)
        with fleet.running(connection, dsn, slots=workload.slots) as own:
            asker = Asker(connection, _horizons(workload), seed)

            def act(now_us: float) -> None:
                if now_us < last_us:
                    asker.ask(now_us, own.begun_us)

            fleet.feed(connection, trace, there, workload.until_us, act)
            own.check()
            found = dispatch_log.dispatches(connection, own.begun_us)
    claimed = {each.place: each.claimed_us for each in found if each.claimed_us is not None}
    pairs = [
        (each, claimed[each.place])
        for each in asker.found
        if claimed.get(each.place, 0) > each.said_us
    ]
    rows = {
        "all": errors(pairs),
        **{
            f"blocked by {reason}": errors([p for p in pairs if p[0].blocked_by == reason])
            for reason in sorted({each.blocked_by for each, _ in pairs})
        },
    }
    unseen = sum(each.place not in claimed for each in asker.found)
    return Found(rows=rows, evaluated={**rows["all"], "never_started": unseen})


def _horizons(workload: Workload) -> dict[str, int]:
    """Return how deep in each tenant's backlog to choose jobs, so these can start in time."""
    seconds = (1 - _LAST_QUARTER) * workload.seconds
    rates = {"heavy": 60, "a": 20, "b": 20, "limited": 12, "rated": 3}
    return {name: max(1, int(rate * seconds)) for name, rate in rates.items()}


def errors(pairs: Sequence[tuple[Estimate, int]]) -> Figures:
    """Return the errors of some estimates; relative ones refer to the time until the start."""
    if not pairs:
        return {"questions": 0}
    waits = [((claimed - each.said_us) / _US, each, claimed) for each, claimed in pairs]
    errors = [abs(each.starts_us - claimed) / _US for each, claimed in pairs]
    parts = [
        abs(each.starts_us - claimed) / _US / wait
        for wait, each, claimed in waits
        if wait >= _LOWEST_SECONDS
    ]
    found = {
        "questions": len(pairs),
        "wait_p50_seconds": percentile([wait for wait, _, _ in waits], 0.5),
        "error_p50_seconds": percentile(errors, 0.5),
        "error_p90_seconds": percentile(errors, 0.9),
        "started_later": sum(claimed > each.starts_us for each, claimed in pairs) / len(pairs),
    }
    if parts:
        found["relative_error_p50"] = percentile(parts, 0.5)
        found["relative_error_p90"] = percentile(parts, 0.9)
    return found
