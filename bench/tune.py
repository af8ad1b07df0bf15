"""Find each peer's best settings by a tiny search, and record what was tried.

A peer must not look slow because of a knob. All settings of a grid are drained in turns, a few
rounds of one worker each, and the best median wins. Rates and machine are recorded with the
winner, so that a reader can see how flat the optimum is.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench import machine
from bench.contender import PeerContender, Settings
from bench.context import say
from bench.figures import spread
from bench.peers_known import TUNED
from bench.rounds import drain
from bench.server import Server

_ROUNDS = 3

_GRIDS: dict[str, dict[str, tuple[int | float, ...]]] = {
    "pgqueuer": {"batch_size": (50, 250, 1000, 3000), "managers": (1, 3)},
    "procrastinate": {"concurrency": (4, 10, 30), "pool_max": (4, 20)},
    "chancy": {"concurrency": (300, 1000), "outgoing_seconds": (0.1, 1.0)},
    "oban": {"limit": (100, 300, 1000)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One setting, its rates (jobs per second) and all CPU (µs per job)."""

    settings: Settings
    rates: tuple[float, ...]
    cpu_us: tuple[float, ...]

    @property
    def median(self) -> float:
        """Return the median rate."""
        return spread(self.rates).median


def _grid(name: str) -> list[Settings]:
    knobs = _GRIDS[name]
    return [
        dict(zip(knobs, values, strict=True)) for values in itertools.product(*knobs.values())
    ]


def _drained(server: Server, peer: PeerContender, trial: Trial) -> Trial:
    trying = replace(peer, settings=trial.settings)
    one = drain(server, trying, workers=1, jobs=peer.drain_jobs)
    cpu_us = one.clients_cpu_us + one.postgres_cpu_us
    shown = json.dumps(trial.settings)
    say(f"{peer.name:>14} {shown}: {one.drain_rate:,.0f} jobs/s, {cpu_us:.0f} us/job")
    return replace(trial, rates=(*trial.rates, one.drain_rate), cpu_us=(*trial.cpu_us, cpu_us))


def search(server: Server, peer: PeerContender) -> list[Trial]:
    """Try the peer's grid and return the trials, the best first."""
    trials = [Trial(settings=settings, rates=(), cpu_us=()) for settings in _grid(peer.name)]
    for _round in range(_ROUNDS):
        trials = [_drained(server, peer, each) for each in trials]
    return sorted(trials, key=lambda trial: trial.median, reverse=True)


def _toml(name: str, trials: Sequence[Trial]) -> str:
    best = "\n".join(f"{knob} = {value}" for knob, value in trials[0].settings.items())
    tried = "\n".join(
        f"  {{ settings = '{json.dumps(trial.settings)}', "
        f"jobs_per_second = {[round(rate) for rate in trial.rates]}, "
        f"cpu_us_per_job = {[round(cpu) for cpu in trial.cpu_us]} }},"
        for trial in trials
    )
    return f"[{name}]\ntried = [\n{tried}\n]\n\n[{name}.settings]\n{best}\n"


def tune(server: Server, peers: Sequence[PeerContender]) -> None:
    """Search for every peer and write `peers/tuned.toml`."""
    conditions = machine.describe()
    head = (
        "# Each peer's best settings, found by `python -m bench tune`: rates of one worker.\n"
        f"# {conditions.cpu_model}, {conditions.cores} cores; PostgreSQL {server.version};"
        f" {conditions.date}\n"
    )
    parts = [_toml(peer.name, search(server, peer)) for peer in peers]
    TUNED.write_text("\n".join([head, *parts]))
