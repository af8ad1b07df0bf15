"""The figures of one run by name, and those that compare two contenders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.fairness.contenders.ideal import Curves
from bench.fairness.contenders.registry import FAIRLEAD, Race
from bench.fairness.results import metrics
from bench.fairness.traffic.workload import Comparison
from bench.figures import percentile
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import GROUPS, Lane

_BACKLOG_US = 30_000_000
"""A tenant counts in Jain's index when it had work waiting for this long."""
_THROUGHOUT = 0.9
"""Tenants with work waiting for this part of the time share it by weight."""
_LANES_MAX = 50
"""Above this number of lanes, pairs are not compared moment by moment."""
_BEFORE_SECONDS = 10
_US = 1e6

Figures = Mapping[str, float]
COSTS = (
    "scheduler_cpu_us",
    "scheduler_buffers",
    "scheduler_wal_bytes",
    "whole_wal_bytes",
)
"""Figures of a run on PostgreSQL, each per dispatched job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ideal:
    """The references: the fluid shares, and the schedule that comes close to them."""

    fluid: Curves
    played: tuple[JobOutcome, ...]


def figures(played: Sequence[JobOutcome], race: Race, ideal: Ideal | None) -> dict[str, float]:
    """Return every figure of one contender; without an ideal, none that needs it.

    Seconds and slot-seconds, shares between 0 and 1, jobs per second.
    """
    found = _waits(played, race.until_us)
    ended = sum(job.ended_us is not None for job in played)
    found["jobs_per_second"] = ended / (race.until_us / _US)
    found["utilisation"] = metrics.utilisation(played, race.slots, race.until_us)
    found["work_conservation"] = metrics.work_conservation(played, race.slots, race.until_us)
    found |= _after_edit(played, race) if race.edits else _fairness(played, race)
    if ideal is not None:
        found |= _against(played, ideal, race.until_us)
    return found


def _waits(played: Sequence[JobOutcome], until_us: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for group in GROUPS:
        waits = sorted(metrics.dwells_us(played, group, until_us))
        if waits:
            for name, share in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999), ("max", 1.0)):
                found[f"{group}_{name}_seconds"] = percentile(waits, share) / _US
            found[f"{group}_unserved"] = metrics.unserved(played, group, until_us)
    return found


def _fairness(played: Sequence[JobOutcome], race: Race) -> dict[str, float]:
    found: dict[str, float] = {}
    rates = metrics.rates(played, race.weights, _BACKLOG_US, race.until_us)
    if len(rates) > 1:
        found["jain"] = metrics.jain(list(rates.values()))
    lanes = saturated(played, race.until_us)
    if len(lanes) > 1:
        served = metrics.service_us(played, 0, race.until_us)
        of_lanes = {lane: float(served.get(lane, 0)) for lane in lanes}
        found["weight_error"] = metrics.weight_error(of_lanes, race.weights)
        found["largest_share"] = max(of_lanes.values()) / (sum(of_lanes.values()) or 1.0)
    if 1 < len(lanes) <= _LANES_MAX:
        curves = metrics.curves(played, race.until_us)
        found["gap_slot_seconds"] = metrics.largest_gap_us(curves, race.weights, lanes) / _US
    return found


def _after_edit(played: Sequence[JobOutcome], race: Race) -> dict[str, float]:
    """Return the effect of the first edit on the lane whose weight it changed.

    The effect is the part of the way from the share before to the one the new weight entitles
    to, among the lanes with work throughout, that was covered in the fifth second.
    """
    edit = race.edits[0]
    lane = next(each for each, w in edit.weights.items() if w != race.weights.get(each, 1.0))
    lanes = {*saturated(played, race.until_us), lane}
    entitled = edit.weights[lane] / sum(edit.weights.get(each, 1.0) for each in lanes)
    return effect(played, lane, edit.at_us, entitled, before_seconds=_BEFORE_SECONDS)


def effect(
    played: Sequence[JobOutcome],
    lane: Lane,
    at_us: int,
    entitled: float,
    *,
    before_seconds: int,
) -> dict[str, float]:
    """Return a lane's shares before and after an edit, and the effect in the fifth second.

    The effect is the part of the way from the share before, over some seconds, to the one it is
    entitled to.
    """
    moments_us = [at_us + second * 1_000_000 for second in (-before_seconds, 0, 1, 2, 4, 5)]
    before, first, second, _, fifth = metrics.shares(played, lane, moments_us)
    return {
        "share_before": before,
        "share_in_1st_second": first,
        "share_in_2nd_second": second,
        "share_in_5th_second": fifth,
        "share_entitled": entitled,
        "effect_in_5th_second": (fifth - before) / (entitled - before),
    }


def saturated(played: Sequence[JobOutcome], until_us: int) -> list[Lane]:
    """Return the lanes that had work waiting nearly throughout."""
    return [
        lane
        for lane, (begin_us, end_us) in metrics.backlogged(played, until_us).items()
        if end_us - begin_us >= _THROUGHOUT * until_us
    ]


def _against(played: Sequence[JobOutcome], ideal: Ideal, until_us: int) -> dict[str, float]:
    lags = metrics.lags_us(metrics.curves(played, until_us), ideal.fluid)
    bounds = metrics.bounds_us(played, until_us)
    found = {
        "gps_lag_slot_seconds": max(lags.values()) / _US,
        "gps_lag_over_bound": max(
            lag / bounds[lane] for lane, lag in lags.items() if lane in bounds
        ),
    }
    for group in GROUPS:
        excess = metrics.excess_us(played, ideal.played, group, until_us)
        if excess:
            found[f"{group}_excess_p50_seconds"] = percentile(excess, 0.5) / _US
            found[f"{group}_excess_p99_seconds"] = percentile(excess, 0.99) / _US
    return found


def compared(
    comparison: Comparison, measured: Mapping[str, Figures], evaluated: str
) -> float | None:
    """Return a figure that compares two contenders; None if one of them did not take part.

    The evaluated run stands for Fairlead.
    """
    of = evaluated if comparison.of == FAIRLEAD else comparison.of
    mine = measured.get(of, {}).get(comparison.figure)
    other = measured.get(comparison.over, {}).get(comparison.figure)
    if mine is None or other is None:
        return None
    if comparison.how == "difference":
        return mine - other
    return mine / other if other else None
