"""A weight times ten, a hold and its end over a backlog of any length, and what they rewrite.

The chosen tenant's share of the slots is measured second by second after each edit. Two
readings show that no row of the backlog was written: PostgreSQL counts updates, and a written
row carries a transaction id from after the first edit.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, cast

import psycopg

from bench.fairness.postgres import backlogs, fleet
from bench.fairness.results import figures
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.weights import Weights, document
from bench.fairness.traffic.workload import Workload
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival, Lane

_WARM_PARTS, _EDIT_PARTS = 3, 2
"""Parts of the time before the first edit, and after each of the three."""
_TIMES = 10
_SECOND_US = 1_000_000
_BEFORE_SECONDS = 4
_STARTED = b"""
select p.queue, p.tenant, ((p.payload ->> 'seconds')::float8 * 1e6)::bigint,
       (extract(epoch from p.claimed_at) * 1e6)::bigint - %s
from (
    select h.queue, h.tenant, h.payload, h.claimed_at from fairlead.job_history h
    union all
    select j.queue, j.tenant, j.payload, q.claimed_at
    from fairlead.work_queue q join fairlead.jobs j on j.id = q.job_id
    where q.worker is not null
) p
"""
_NOW = b"select pg_current_xact_id()::text"
_WRITTEN_SINCE = b"""
select count(*) from fairlead.jobs j where age(j.xmin) < age(%s::text::xid)
"""
_UPDATED = b"""
select n_tup_upd from pg_stat_user_tables where schemaname = 'fairlead' and relname = 'jobs'
"""


class _Edit(NamedTuple):
    """A policy, and the share of the slots it entitles the chosen tenant to."""

    name: str
    policy: dict[str, object]
    entitled: float


def play(server: Server, workload: Workload, _trace: Sequence[Arrival], seed: int) -> Found:
    """Edit three times while the backlog runs: ten times the weight, hold, release."""
    chosen = next(iter(workload.weights))
    edits = _edits(workload.weights, chosen)
    part_us = workload.until_us // (_WARM_PARTS + _EDIT_PARTS * len(edits))
    due = [(part_us * (_WARM_PARTS + _EDIT_PARTS * n), e) for n, e in enumerate(edits)]
    stored_us: list[int] = []
    with fleet.database(server) as (connection, dsn):
        backlogs.fill(server, connection.info.dbname, workload, seed)
        begun_at = str(fleet.one(connection, _NOW)[0])
        with fleet.running(connection, dsn, slots=workload.slots) as own:

            def act(now_us: float) -> None:
                place = len(stored_us)
                if place < len(due) and now_us >= due[place][0]:
                    stored_us.append(round(time.time() * 1e6) - own.begun_us)
                    store(connection, json.dumps(due[place][1].policy), reason="bench")

            fleet.feed(connection, (), 0, workload.until_us, act)
            own.check()
            played = started(connection, own.begun_us)
        rewritten = max(
            int(str(fleet.one(connection, _UPDATED)[0])), _written(connection, begun_at)
        )
    rows = {
        edit.name: effect(played, chosen, at_us, edit.entitled)
        for edit, at_us in zip(edits, stored_us, strict=True)
    }
    reached = [row["effect_in_5th_second"] for row in rows.values()]
    return Found(
        rows=rows,
        evaluated={"effect_in_5th_second": min(reached), "rows_rewritten": rewritten},
    )


def _edits(weights: Weights, chosen: Lane) -> tuple[_Edit, ...]:
    """Return the edits in order; the last has the weight of the first."""
    more = {**weights, chosen: weights[chosen] * _TIMES}
    queue, tenant = chosen
    hold = {
        "name": "held",
        "match": {"queue": queue, "tenant": tenant},
        "when": "hour >= 0",
        "hold": True,
    }
    share = more[chosen] / sum(more.values())
    return (
        _Edit("weight times ten", document(more), share),
        _Edit("hold", document(more, {"rules": [hold]}), 0.0),
        _Edit("hold ended", document(more), share),
    )


def started(connection: psycopg.Connection, begun_us: int) -> tuple[JobOutcome, ...]:
    """Read the claimed jobs; each occupied its slot for as long as it slept."""
    rows = connection.execute(_STARTED, (begun_us,)).fetchall()
    return tuple(
        JobOutcome(
            Arrival(0, queue, tenant, cost_us, "noisy"), claimed_us, claimed_us + cost_us
        )
        for queue, tenant, cost_us, claimed_us in cast("list[tuple[str, str, int, int]]", rows)
    )


def effect(played: Sequence[JobOutcome], lane: Lane, at_us: int, entitled: float) -> Figures:
    """Return the effect of an edit, and the longest pause in the five seconds after it."""
    shares = figures.effect(played, lane, at_us, entitled, before_seconds=_BEFORE_SECONDS)
    return {
        **shares,
        "longest_pause_ms": pause_us(played, at_us, at_us + 5 * _SECOND_US) / 1000,
    }


def pause_us(played: Sequence[JobOutcome], from_us: int, until_us: int) -> int:
    """Return the longest time between two claims of any lane, between two moments."""
    times = [each.claimed_us for each in played if each.claimed_us is not None]
    within = sorted({from_us, until_us, *(at for at in times if from_us < at < until_us)})
    return max(later - earlier for earlier, later in pairwise(within))


def _written(connection: psycopg.Connection, since: str) -> int:
    """Count the jobs written by later transactions; nothing is inserted meanwhile."""
    row = connection.execute(_WRITTEN_SINCE, (since,)).fetchone()
    assert row is not None
    return int(row[0])
