"""P1, P2 and P7: draining with one and two workers beside the peers, and the WAL of it."""

from __future__ import annotations

from bench.context import Context, DrainRound
from bench.figures import paired_ratio
from bench.floors.contender import TWO_STAGE
from bench.outcome import Figure, Outcome, Row, figure, ratio
from bench.peers_known import NAMES

_ROUNDS_QUICK, _ROUNDS_LONG = 3, 7


def _rates(rounds: list[DrainRound], name: str) -> list[float]:
    return [each[name].drain_rate for each in rounds if name in each]


def _wal(rounds: list[DrainRound], name: str) -> list[float]:
    return [each[name].wal_bytes for each in rounds if name in each]


def _rows(rounds: list[DrainRound]) -> tuple[Row, ...]:
    return tuple(
        {
            "round": number,
            "contender": name,
            "drain_jobs_per_second": round(one.drain_rate, 1),
            "enqueue_jobs_per_second": round(one.enqueue_rate, 1),
            "wal_bytes_insert": round(one.insert_wal_bytes),
            "wal_bytes_total": round(one.wal_bytes),
            "clients_cpu_us": round(one.workers_cpu_us, 2),
            "postgres_cpu_us": round(one.postgres_cpu_us, 2),
        }
        for number, each in enumerate(rounds)
        for name, one in each.items()
    )


def _drain_outcome(context: Context, scenario: str, workers: int) -> Outcome:
    rounds = context.drains(workers, context.rounds(_ROUNDS_QUICK, _ROUNDS_LONG))
    names = [name for name in ("fairlead", *NAMES, TWO_STAGE.name) if name in rounds[0]]
    figures: list[Figure] = []
    if context.with_fairlead:
        ours = _rates(rounds, "fairlead")
        figures = [
            ratio(
                f"over_{name}", f"fairlead / {name}", paired_ratio(ours, _rates(rounds, name))
            )
            for name in names
            if name != "fairlead"
        ]
    figures += [
        figure(f"rate_{name}", f"{name}", "jobs/s", _rates(rounds, name)) for name in names
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
    rounds = context.drains(1, context.rounds(_ROUNDS_QUICK, _ROUNDS_LONG))
    names = [name for name in ("fairlead", *NAMES, TWO_STAGE.name) if name in rounds[0]]
    figures: list[Figure] = []
    if context.with_fairlead:
        ours = _wal(rounds, "fairlead")
        inserts = [each["fairlead"].insert_wal_bytes for each in rounds]
        figures = [
            figure("wal_bytes", "fairlead, insert to history", "B/job", ours),
            figure("wal_bytes_insert", "of that, the insert", "B/job", inserts),
            *(
                ratio(
                    f"over_{name}", f"fairlead / {name}", paired_ratio(ours, _wal(rounds, name))
                )
                for name in NAMES
            ),
        ]
    figures += [
        figure(f"wal_{name}", name, "B/job", _wal(rounds, name))
        for name in names
        if name != "fairlead"
    ]
    return Outcome(scenario="P7", figures=tuple(figures), rows=_rows(rounds))
