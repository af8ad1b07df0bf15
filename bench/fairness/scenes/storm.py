"""A storm of edits: twenty policy versions a second, against the same load without edits.

Two latencies are compared: the duration of the dispatch statement, from the server's log, and
the time from a quiet tenant's insert to its dispatch.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import cast

import psycopg

from bench import statement_log
from bench.fairness.postgres import dispatch_log, fleet
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import wait_until
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.trace import Arrival

_WARM_SECONDS = 5.0
_EVERY_US = 50_000
_US = 1e6
_EVENTS = b"""
select v.version, v.document, e.event, (extract(epoch from e.at - v.stored_at))::float8
from fairlead.policy_events e join fairlead.policy_versions v on v.version = e.version
where e.event <> 'stored' order by e.id
"""
_REWRITTEN = b"""
select n_tup_upd from pg_stat_user_tables where schemaname = 'fairlead' and relname = 'jobs'
"""


class Editor:
    """Stores a version every 50 ms from a moment on, and records what it wrote."""

    def __init__(
        self, connection: psycopg.Connection, tenants: Sequence[str], seed: int
    ) -> None:
        self._connection = connection
        self._tenants = tenants
        self._draw = random.Random(seed)
        self._due_us = 0.0
        self.written: dict[int, str] = {}

    def edit(self, now_us: float) -> None:
        """Store a version if one is due, and catch up on late ones."""
        self._due_us = self._due_us or now_us
        if now_us < self._due_us:
            return
        self._due_us += _EVERY_US
        text = json.dumps(self._document())
        self.written[store(self._connection, text, reason="storm").version] = text

    def _document(self) -> dict[str, object]:
        """Return a policy with a new weight for each tenant, and for some a limit or a rate."""
        draw = self._draw
        overrides: list[dict[str, object]] = [
            {"match": {"tenant": tenant}, "weight": draw.randint(1, 10)}
            for tenant in self._tenants
        ]
        overrides[0]["slots"] = {"limit": draw.randint(2, 20)}
        overrides[1]["rate"] = {"limit": draw.randint(1, 50), "per": "1s"}
        queue = {"match": {"queue": "q"}, "tenants": {"overrides": overrides}}
        return {"version": len(self.written) + 1, "queues": [queue]}


def play(server: Server, workload: Workload, trace: Sequence[Arrival], seed: int) -> Found:
    """Run the first half without edits, and the second with them."""
    half_us = (workload.seconds - _WARM_SECONDS) / 2 * _US
    warm_us = _WARM_SECONDS * _US
    calm, stormy = (warm_us, warm_us + half_us), (warm_us + half_us, warm_us + 2 * half_us)
    marks: list[int] = []
    tenants = sorted({job.tenant for job in trace if job.group == "noisy"})
    with fleet.database(server) as (connection, dsn):
        statement_log.switch_on(server, connection.info.dbname)
        dispatch_log.install(connection)
        there = fleet.fill(connection, trace)
        editor = Editor(connection, tenants, seed)

        def act(now_us: float) -> None:
            if len(marks) < 2 and now_us >= (calm, stormy)[len(marks)][0]:
                marks.append(statement_log.position(server))
            if now_us >= stormy[0]:
                editor.edit(now_us)

        with fleet.running(connection, dsn, slots=workload.slots) as own:
            fleet.feed(connection, trace, there, workload.until_us, act)
            marks.append(statement_log.position(server))
            own.check()
            last = max(editor.written)
            wait_until(
                "the last version is in force",
                lambda: any(row[0] == last for row in _events(connection)),
                watching=own.children,
            )
            found = dispatch_log.dispatches(connection, own.begun_us)
        rows = {
            name: _latencies(
                [each for each in found if begun_us <= each.created_us < ended_us],
                trace,
                statement_log.read(server.log, *marks[number : number + 2]).of("dispatch"),
            )
            for number, (name, (begun_us, ended_us)) in enumerate(
                {"without edits": calm, "with edits": stormy}.items()
            )
        }
        applied = _applied(connection, editor.written, half_us / _US)
    return Found(rows=rows, evaluated={**_compared(*rows.values()), **applied})


def _compared(before: Figures, during: Figures) -> Figures:
    """Return the latencies with edits over those without."""
    return {
        f"{name}_p99_over_baseline": during[f"{name}_p99_ms"] / before[f"{name}_p99_ms"]
        for name in ("dispatch", "until_dispatched")
    }


def _latencies(
    found: Sequence[dispatch_log.Dispatch], trace: Sequence[Arrival], took_ms: Sequence[float]
) -> Figures:
    """Return the latencies of one half."""
    quiet = [
        (each.at_us - each.created_us) / 1000
        for each in found
        if trace[each.place].group == "quiet"
    ]
    return {
        "dispatch_p50_ms": percentile(took_ms, 0.5),
        "dispatch_p99_ms": percentile(took_ms, 0.99),
        "until_dispatched_p50_ms": percentile(quiet, 0.5),
        "until_dispatched_p99_ms": percentile(quiet, 0.99),
    }


def _events(connection: psycopg.Connection) -> list[tuple[int, str, str, float]]:
    """Return version, document, event and delay after it was stored."""
    rows = connection.execute(_EVENTS).fetchall()
    return cast("list[tuple[int, str, str, float]]", rows)


def _applied(
    connection: psycopg.Connection, written: dict[int, str], seconds: float
) -> dict[str, float]:
    """Return what was applied, compared with what was written."""
    events = _events(connection)
    applied = [row for row in events if row[2] == "in_force"]
    return {
        "edits_per_second": len(written) / seconds,
        "versions_applied": len(applied),
        "unknown_versions": sum(written.get(row[0]) != row[1] for row in applied),
        "versions_refused": len(events) - len(applied),
        "last_in_force_seconds": next(row[3] for row in applied if row[0] == max(written)),
        "rows_of_jobs_rewritten": int(str(fleet.one(connection, _REWRITTEN)[0])),
    }
