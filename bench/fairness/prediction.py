"""`python -m bench.fairness.prediction`: how far off `fairlead policy simulate` is.

Three tenants on eight slots of a real fleet: two with backlogs and one whose jobs come one by
one. Each policy is simulated by the command itself four seconds before it is stored; what it
said is held against what happened in the quarter of a minute after that. Exit code 1: an error
is larger than its bound.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import psycopg

from bench.context import say
from bench.fairlead_contender import PYTHONPATH
from bench.fairness import metrics, real
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import running
from fairlead.policy_store import store
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival

_SLOTS = 8
_US = 1_000_000
_HORIZON_SECONDS = 15
_AHEAD_SECONDS = 4
_FIRST_SECONDS = 22
_EVERY_SECONDS = 20
_TENANTS = {"short": 0.1, "long": 0.25, "quiet": 0.05}
_BACKLOGS = {"short": 9000, "long": 4000}
_QUIET_PER_SECOND = 4
# What a busy machine may be off by; a simulation that ignored the policy would exceed them.
_SHARE_ERROR_MAX = 0.1
_STARTED_ERROR_MAX = 0.25
_WAIT_ERROR_SECONDS_MAX = 0.5

_OVERRIDE = "queues: [{match: {queue: q}, tenants: {overrides: [%s]}}]"
_POLICIES = (
    ("long weighs 1/4", _OVERRIDE % "{match: {tenant: long}, weight: 0.25}"),
    ("long weighs 10", _OVERRIDE % "{match: {tenant: long}, weight: 10}"),
    ("short has 2 slots", _OVERRIDE % "{match: {tenant: short}, slots: {limit: 2}}"),
    ("no rules", "{}"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What was predicted of one policy, or happened under it."""

    shares: Mapping[str, float]
    started: int
    quiet_p50_seconds: float
    quiet_p99_seconds: float


class Rehearsal:
    """Simulates a policy beside the fleet, and stores it when its time has come."""

    def __init__(self, title: str, document: str, file: Path) -> None:
        self.title = title
        self._document = document
        self._file = file
        self._file.write_text(document, encoding="utf-8")
        self._said = file.with_suffix(".json")
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, leaving: ExitStack, connection: psycopg.Connection) -> None:
        """Start the command; it is ended with the run at the latest."""
        command = Path(sys.executable).parent / "fairlead"
        argv = [str(command), "policy", "simulate", str(self._file), "--json"]
        argv += ["--horizon", f"{_HORIZON_SECONDS}s"]
        info = connection.info
        dsn = f"postgresql://{info.user}@{info.host}:{info.port}/{info.dbname}"
        with self._said.open("wb") as said:
            environment = {"FAIRLEAD_DATABASE_URL": dsn, "PYTHONPATH": PYTHONPATH}
            self._process = subprocess.Popen(argv, stdout=said, env=environment)
        leaving.callback(self._process.kill)

    def store(self, connection: psycopg.Connection) -> None:
        """Put the policy in force."""
        store(connection, self._document, reason=self.title)

    def predicted(self) -> Figures:
        """Return what the command said."""
        if self._process is None or self._process.wait(30):
            raise BrokenRunError(f"the simulation of '{self.title}' failed")
        said = json.loads(self._said.read_text("utf-8"))
        tenants = {row["tenant"]: row["new"] for row in said["tenants"]}
        quiet = tenants["quiet"]
        return Figures(
            shares={name: tenants[name]["share"] for name in _TENANTS},
            started=said["all"]["new"]["started"],
            quiet_p50_seconds=quiet["wait_p50_seconds"],
            quiet_p99_seconds=quiet["wait_p99_seconds"],
        )


def _trace(until_seconds: int) -> list[Arrival]:
    """Return the backlogs, in turn, and then the quiet tenant's jobs; the same each time."""
    draw = random.Random(1)
    found = [
        Arrival(0, "q", name, _cost_us(name, draw))
        for name, jobs in _BACKLOGS.items()
        for _ in range(jobs)
    ]
    at_seconds = draw.expovariate(_QUIET_PER_SECOND)
    while at_seconds < until_seconds:
        found.append(
            Arrival(round(at_seconds * _US) + 1, "q", "quiet", _cost_us("quiet", draw))
        )
        at_seconds += draw.expovariate(_QUIET_PER_SECOND)
    return found


def _cost_us(tenant: str, draw: random.Random) -> int:
    mean = _TENANTS[tenant]
    return round(draw.uniform(0.5 * mean, 1.5 * mean) * _US)


def happened(played: Sequence[Played], from_us: int, until_us: int) -> Figures:
    """Return what happened between two moments; a wait counts from the first of them on."""
    served = metrics.service_us(played, from_us, until_us)
    whole = sum(served.values()) or 1
    claims = [job for job in played if job.claimed_us is not None]
    within = [job for job in claims if from_us <= (job.claimed_us or 0) < until_us]
    waits = sorted(
        (job.claimed_us or 0) - job.arrival.at_us
        for job in within
        if job.arrival.tenant == "quiet"
    )
    return Figures(
        shares={name: served.get(("q", name), 0) / whole for name in _TENANTS},
        started=len(within),
        quiet_p50_seconds=percentile(waits, 0.5) / _US,
        quiet_p99_seconds=percentile(waits, 0.99) / _US,
    )


def errors(predicted: Figures, found: Figures) -> dict[str, tuple[float, float]]:
    """Return each error with its bound: shares and waits absolute, jobs relative."""
    share = max(abs(predicted.shares[name] - found.shares[name]) for name in _TENANTS)
    return {
        "share": (share, _SHARE_ERROR_MAX),
        "jobs started": (abs(predicted.started / found.started - 1), _STARTED_ERROR_MAX),
        "quiet p50": (
            abs(predicted.quiet_p50_seconds - found.quiet_p50_seconds),
            _WAIT_ERROR_SECONDS_MAX,
        ),
        "quiet p99": (
            abs(predicted.quiet_p99_seconds - found.quiet_p99_seconds),
            _WAIT_ERROR_SECONDS_MAX,
        ),
    }


def _play() -> Iterator[tuple[str, Figures, Figures]]:
    """Run the fleet once through all policies; yield what was predicted and what happened."""
    starts = [_FIRST_SECONDS + _EVERY_SECONDS * place for place in range(len(_POLICIES))]
    until_seconds = starts[-1] + _HORIZON_SECONDS + 1
    with ExitStack() as leaving:
        folder = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="predict-")))
        rehearsals = [
            Rehearsal(title, document, folder / f"{place}.yaml")
            for place, (title, document) in enumerate(_POLICIES)
        ]
        moments: list[real.Moment] = []
        for start, each in zip(starts, rehearsals, strict=True):
            ahead_us = (start - _AHEAD_SECONDS) * _US
            moments.append(real.Moment(ahead_us, partial(each.begin, leaving)))
            moments.append(real.Moment(start * _US, each.store))
        server = leaving.enter_context(running())
        played = real.run(
            server,
            _trace(until_seconds),
            slots=_SLOTS,
            until_us=until_seconds * _US,
            moments=moments,
        )
        for start, each in zip(starts, rehearsals, strict=True):
            from_us = start * _US
            found = happened(played, from_us, from_us + _HORIZON_SECONDS * _US)
            yield each.title, each.predicted(), found


def _leave(number: int, _frame: FrameType | None) -> None:
    """End like an interruption does, so that everything started is stopped on the way out."""
    raise SystemExit(128 + number)


def _row(title: str, predicted: Figures, found: Figures) -> str:
    """Return a line of the table: each figure as predicted and as measured."""
    cells = [f"{predicted.shares[name]:.1%}, {found.shares[name]:.1%}" for name in _TENANTS]
    cells.append(f"{predicted.started:,}, {found.started:,}")
    cells.append(f"{predicted.quiet_p50_seconds:.2f} s, {found.quiet_p50_seconds:.2f} s")
    cells.append(f"{predicted.quiet_p99_seconds:.2f} s, {found.quiet_p99_seconds:.2f} s")
    return f"| {title} | {' | '.join(cells)} |"


def main() -> int:
    """Print a table of predicted against measured; return the exit code."""
    signal.signal(signal.SIGTERM, _leave)
    worst = 0.0
    heads = (
        *(f"share of {name}" for name in _TENANTS),
        "jobs started",
        "quiet p50",
        "quiet p99",
    )
    say(f"| policy | {' | '.join(heads)} |")
    say(f"|---{'|---' * len(heads)}|")
    try:
        for title, predicted, found in _play():
            say(_row(title, predicted, found))
            for name, (error, bound) in errors(predicted, found).items():
                if error > bound:
                    say(f"{title}: {name} is off by {error:.3f}, more than {bound:g}")
                worst = max(worst, error / bound)
    except BrokenRunError as error:
        print(f"bench.fairness.prediction: {error}", file=sys.stderr)
        return 1
    return 1 if worst > 1 else 0


if __name__ == "__main__":
    raise SystemExit(main())
