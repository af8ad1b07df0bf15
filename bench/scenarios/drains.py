"""P1, P2 and P7: draining with one and two workers against the peers, and its WAL."""

from __future__ import annotations

from collections.abc import Callable

from bench.context import Context, DrainRound
from bench.figures import paired_ratio
from bench.floors.contender import TWO_STAGE
from bench.outcome import Figure, Outcome, Row, figure, ratio
from bench.peers_known import NAMES
from bench.rounds import Drain

OURS = "fairlead"
Value = Callable[[Drain], float]


def _values(rounds: list[DrainRound], name: str, value: Value) -> list[float]:
    return [value(each[name]) for each in rounds if name in each]


def _rate(one: Drain) -> float:
    return one.drain_rate


def _wal(one: Drain) -> float:
    return one.wal_bytes


def _cpu(one: Drain) -> float:
    return one.clients_cpu_us + one.postgres_cpu_us


def _over(rounds: list[DrainRound], name: str, value: Value) -> Figure:
    """Return Fairlead's ratio over another, from the rounds in which both took part."""
    both = [each for each in rounds if name in each]
    pairs = paired_ratio(_values(both, OURS, value), _values(both, name, value))
    return ratio(f"over_{name}", f"fairlead / {name}", pairs)


def _names(rounds: list[DrainRound]) -> list[str]:
    return [name for name in (OURS, *NAMES, TWO_STAGE.name) if name in rounds[0]]


def _rows(rounds: list[DrainRound]) -> tuple[Row, ...]:
    return tuple(
        {
            "round": number,
            "contender": name,
            "drain_jobs_per_second": round(one.drain_rate, 1),
            "enqueue_jobs_per_second": round(one.enqueue_rate, 1),
            "wal_bytes_insert": round(one.insert_wal_bytes),
            "wal_bytes_total": round(one.wal_bytes),
            "clients_cpu_us": round(one.clients_cpu_us, 2),
            "postgres_cpu_us": round(one.postgres_cpu_us, 2),
        }
        for number, each in enumerate(rounds)
        for name, one in each.items()
    )


def _drain_outcome(context: Context, scenario: str, workers: int) -> Outcome:
    rounds = context.drains(workers)
    names = _names(rounds)
    figures: list[Figure] = []
    if context.with_fairlead:
        figures = [_over(rounds, name, _rate) for name in names if name != OURS]
    figures += [
        figure(f"rate_{name}", name, "jobs/s", _values(rounds, name, _rate)) for name in names
    ]
    figures += [
        figure(f"cpu_{name}", f"{name}, CPU of all", "us/job", _values(rounds, name, _cpu))
        for name in names
    ]
    return Outcome(scenario=scenario, figures=tuple(figures), rows=_rows(rounds))


def one_worker(context: Context) -> Outcome:
    """P1: drain with one worker child."""
    return _drain_outcome(context, "P1", 1)


def two_workers(context: Context) -> Outcome:
    """P2: drain with two worker children."""
    return _drain_outcome(context, "P2", 2)


def wal(context: Context) -> Outcome:
    """P7: bytes of WAL per job from its insert to its history, a checkpoint beforehand."""
    rounds = context.drains(1)
    names = _names(rounds)
    figures: list[Figure] = []
    if context.with_fairlead:
        inserts = [each[OURS].insert_wal_bytes for each in rounds]
        figures = [
            figure("wal_bytes", "insert to history", "B/job", _values(rounds, OURS, _wal)),
            figure("wal_bytes_insert", "of that, the insert", "B/job", inserts),
            *(_over(rounds, name, _wal) for name in NAMES),
        ]
    figures += [
        figure(f"wal_{name}", name, "B/job", _values(rounds, name, _wal))
        for name in names
        if name != OURS
    ]
    return Outcome(scenario="P7", figures=tuple(figures), rows=_rows(rounds))
