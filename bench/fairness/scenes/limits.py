"""The cost of a limit where it should cost nothing: all slots may be used.

The same backlog runs without a limit, with a limit of the queue as high as the number of slots,
and with limits of its tenants that together allow all slots. A limit counts queued jobs too, so
no job can wait at the workers for a slot that becomes free: an ending has to be read, and its
successor dispatched and claimed. The output shows where that time goes.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

from bench.fairness.postgres import dispatch_log, fleet
from bench.fairness.postgres.dispatch_log import Dispatch
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.trace import Arrival

_SETTLE_SECONDS = 4.0
_US = 1_000_000
Span = tuple[int, int]
_FREE, _QUEUE, _TENANTS = "no limit", "limit of the queue", "limits of the tenants"


def play(server: Server, workload: Workload, trace: Sequence[Arrival], _seed: int) -> Found:
    """Run one policy after the other over one backlog."""
    policies = _policies(workload.slots)
    each_us = workload.until_us // len(policies)
    due = deque((number * each_us, text) for number, text in enumerate(policies.values()))
    with fleet.database(server) as (connection, dsn):
        dispatch_log.install(connection)
        there = fleet.fill(connection, trace)

        def act(now_us: float) -> None:
            if due and now_us >= due[0][0]:
                store(connection, json.dumps(due.popleft()[1]), reason="bench")

        with fleet.running(connection, dsn, slots=workload.slots) as own:
            fleet.feed(connection, trace, there, workload.until_us, act)
            own.check()
            dispatched = dispatch_log.dispatches(connection, own.begun_us)
    found = dispatch_log.lasting(dispatched)
    settle_us = round(_SETTLE_SECONDS * _US)
    spans = {
        name: (number * each_us + settle_us, (number + 1) * each_us)
        for number, name in enumerate(policies)
    }
    rows: dict[str, Figures] = {
        name: figures(found, trace, workload.slots, span) for name, span in spans.items()
    }
    by_tenant: dict[str, list[Dispatch]] = defaultdict(list)
    for each in found:
        by_tenant[trace[each.place].tenant].append(each)
    for name, sharing, limit in (
        (_QUEUE, [found], workload.slots),
        (_TENANTS, list(by_tenant.values()), _of_tenant(workload.slots)),
    ):
        rows[name] = {**rows[name], **gaps(sharing, trace, limit, spans[name])}
    used = min(rows[name]["work_conservation"] for name in (_QUEUE, _TENANTS))
    return Found(
        rows=rows,
        evaluated={
            "work_conservation": used,
            # Jobs are of one length; counting them would be coarser.
            "throughput_over_unlimited": used / rows[_FREE]["work_conservation"],
            "jobs_over_limit": _over(dispatched, trace, spans, workload.slots),
        },
    )


def _policies(slots: int) -> Mapping[str, Mapping[str, object]]:
    """Return the policies by name; with limits of tenants each may have half of the slots.

    None keeps slots free for short jobs: here every job may be long.
    """
    match = {"queue": "q"}
    each = {"default": {"slots": {"limit": _of_tenant(slots)}}}
    rest = {"fairness": {"reserve": None}}
    return {
        _FREE: rest,
        _QUEUE: {"queues": [{"match": match, "slots": {"limit": slots}}], **rest},
        _TENANTS: {"queues": [{"match": match, "tenants": each}], **rest},
    }


def _of_tenant(slots: int) -> int:
    return slots // 2


def figures(
    found: Sequence[Dispatch], trace: Sequence[Arrival], slots: int, span: Span
) -> Figures:
    """Return the utilisation of the slots in a time, and the gap between two jobs of a slot.

    A job occupied its slot for as long as it slept, until it ended.
    """
    used_us = ended = 0
    for each in found:
        if each.claimed_us is None:
            continue
        slept_us = trace[each.place].cost_us
        ended_us = each.finished_us or each.claimed_us + slept_us
        used_us += max(0, min(ended_us, span[1]) - max(ended_us - slept_us, span[0]))
        ended += span[0] <= ended_us < span[1]
    seconds = (span[1] - span[0]) / _US
    return {
        "work_conservation": used_us / (slots * (span[1] - span[0])),
        "jobs_per_second": ended / seconds,
    }


def gaps(
    sharing: Sequence[Sequence[Dispatch]], trace: Sequence[Arrival], limit: int, span: Span
) -> Figures:
    """Return the parts of the time between two jobs of a slot, as medians.

    `sharing` are the dispatches that share a limit. Where it is reached all the time, the
    successor of the n-th ending is the job dispatched `limit` places after it.
    """
    seen: list[float] = []
    claimed: list[float] = []
    stored: list[float] = []
    for group in sharing:
        ended = sorted(each.finished_us for each in group if each.finished_us is not None)
        for number, each in enumerate(group):
            if not span[0] <= each.at_us < span[1] or each.claimed_us is None:
                continue
            claimed.append((each.claimed_us - each.at_us) / 1000)
            if limit <= number < limit + len(ended):
                seen.append((each.at_us - ended[number - limit]) / 1000)
            if each.finished_us is not None:
                slept_us = trace[each.place].cost_us
                stored.append((each.finished_us - each.claimed_us - slept_us) / 1000)
    parts = {
        "until_dispatched_p50_ms": seen,
        "until_claimed_p50_ms": claimed,
        "start_and_end_p50_ms": stored,
    }
    return {name: percentile(values, 0.5) for name, values in parts.items() if values}


def _over(
    found: Sequence[Dispatch],
    trace: Sequence[Arrival],
    spans: Mapping[str, Span],
    slots: int,
) -> int:
    """Return by how many jobs a limit was exceeded while it was in force."""
    begun_us, ended_us = spans[_TENANTS]
    within = [each for each in found if begun_us <= each.at_us < ended_us]
    limits = {job.tenant: _of_tenant(slots) for job in trace}
    over = dispatch_log.over_limit(within, [job.tenant for job in trace], limits)
    begun_us, ended_us = spans[_QUEUE]
    of_queue = [each.of_queue for each in found if begun_us <= each.at_us < ended_us]
    return max(over, *(jobs - slots for jobs in of_queue), 0)
