"""P4: from the commit of a plain INSERT to the start of its handler, on an idle system."""

from __future__ import annotations

from bench.contender import Contender
from bench.context import Context, say
from bench.figures import paired_ratio
from bench.floors.contender import ONE_HOP, TWO_HOP
from bench.outcome import Figure, Outcome, Row, figure, ratio
from bench.peers_known import NAMES
from bench.rounds import Latency, latency

_RUNS_QUICK, _RUNS_LONG = 4, 5
_JOBS_QUICK, _JOBS_LONG = 100, 400
_PEER_RUNS_QUICK, _PEER_JOBS_QUICK = 1, 60
"""Of peers, whose p99 has no bar."""


def _measure(context: Context, contender: Contender) -> Latency:
    evaluated = contender.name in {context.fairlead.name, TWO_HOP.name}
    quick = _JOBS_QUICK if evaluated else _PEER_JOBS_QUICK
    result = latency(context.server, contender, jobs=context.rounds(quick, _JOBS_LONG))
    say(f"  latency, {contender.name}: p50 {result.p50_ms:.2f} ms, p99 {result.p99_ms:.2f} ms")
    return result


def _figures(name: str, runs: list[Latency]) -> list[Figure]:
    return [
        figure(f"p50_{name}", f"{name} p50", "ms", [run.p50_ms for run in runs]),
        figure(f"p99_{name}", f"{name} p99", "ms", [run.p99_ms for run in runs]),
    ]


def _ratios(runs: dict[str, list[Latency]]) -> list[Figure]:
    ours, floor = runs["fairlead"], runs[TWO_HOP.name]
    p50s = [run.p50_ms for run in ours]
    return [
        ratio(
            "p50_over_two_hop",
            "p50 / two-hop floor",
            paired_ratio(p50s, [run.p50_ms for run in floor]),
        ),
        ratio(
            "p99_over_two_hop",
            "p99 / two-hop floor",
            paired_ratio([run.p99_ms for run in ours], [run.p99_ms for run in floor]),
        ),
        *(
            ratio(
                f"p50_over_{name}",
                f"p50 / {name}",
                paired_ratio(p50s[: len(runs[name])], [run.p50_ms for run in runs[name]]),
            )
            for name in NAMES
        ),
    ]


def run(context: Context) -> Outcome:
    """Take turns between Fairlead, the floors and the peers; the median of the runs counts."""
    runs: dict[str, list[Latency]] = {}
    peer_runs = context.rounds(_PEER_RUNS_QUICK, _RUNS_LONG)
    for turn in range(context.rounds(_RUNS_QUICK, _RUNS_LONG)):
        everyone: list[Contender] = [TWO_HOP]
        everyone += [context.fairlead] if context.with_fairlead else []
        everyone += [ONE_HOP, *context.peers] if turn < peer_runs else []
        for contender in context.shuffled(everyone, turn):
            runs.setdefault(contender.name, []).append(_measure(context, contender))
    names = [name for name in ("fairlead", TWO_HOP.name, ONE_HOP.name, *NAMES) if name in runs]
    figures = _ratios(runs) if context.with_fairlead else []
    for name in names:
        figures += _figures(name, runs[name])
    rows: list[Row] = [
        {
            "run": number,
            "contender": name,
            "p50_ms": round(one.p50_ms, 3),
            "p99_ms": round(one.p99_ms, 3),
            "highest_ms": round(one.highest_ms, 3),
        }
        for name in names
        for number, one in enumerate(runs[name])
    ]
    return Outcome(scenario="P4", figures=tuple(figures), rows=tuple(rows))
