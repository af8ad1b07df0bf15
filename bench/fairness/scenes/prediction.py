"""The error of `fairlead policy simulate`: four policies are simulated, then applied.

The command itself simulates each policy while the fleet runs, four seconds before it is stored;
its prediction is compared with the fifteen seconds after that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import psycopg

from bench.fairlead_contender import PYTHONPATH
from bench.fairness.postgres import replay
from bench.fairness.results import metrics
from bench.fairness.results.figures import Figures
from bench.fairness.scenes.scene import Found
from bench.fairness.traffic.workload import Workload
from bench.figures import percentile
from bench.processes import BrokenRunError
from bench.server import Server
from fairlead.policy_storage import store
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

_US = 1_000_000
_HORIZON_SECONDS = 15
_AHEAD_SECONDS = 4
_FIRST_SECONDS = 22
_EVERY_SECONDS = 20
_TENANTS = ("short", "long", "quiet")
_OVERRIDE = "queues: [{match: {queue: q}, tenants: {overrides: [%s]}}]"
_POLICIES = (
    ("long weighs 1/4", _OVERRIDE % "{match: {tenant: long}, weight: 0.25}"),
    ("long weighs 10", _OVERRIDE % "{match: {tenant: long}, weight: 10}"),
    ("short has 2 slots", _OVERRIDE % "{match: {tenant: short}, slots: {limit: 2}}"),
    ("no rules", "{}"),
)


class Rehearsal:
    """Simulates a policy while the fleet runs, and stores it at its time."""

    def __init__(self, title: str, document: str, file: Path) -> None:
        self.title = title
        self._document = document
        self._file = file
        self._file.write_text(document, encoding="utf-8")
        self._said = file.with_suffix(".json")
        self._process: subprocess.Popen[bytes] | None = None

    def begin(self, leaving: ExitStack, connection: psycopg.Connection) -> None:
        """Start the command; it ends with the run at the latest."""
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
        """Return the command's prediction."""
        if self._process is None or self._process.wait(30):
            raise BrokenRunError(f"the simulation of '{self.title}' failed")
        said = json.loads(self._said.read_text("utf-8"))
        tenants = {row["tenant"]: row["new"] for row in said["tenants"]}
        quiet = tenants["quiet"]
        return {
            **{f"share_of_{name}": tenants[name]["share"] for name in _TENANTS},
            "started": said["all"]["new"]["started"],
            "quiet_p50_seconds": quiet["wait_p50_seconds"],
            "quiet_p99_seconds": quiet["wait_p99_seconds"],
        }


def happened(played: Sequence[JobOutcome], from_us: int, until_us: int) -> Figures:
    """Return what happened between two moments; a wait counts from the first one on."""
    served = metrics.service_us(played, from_us, until_us)
    whole = sum(served.values()) or 1
    claims = [job for job in played if job.claimed_us is not None]
    within = [job for job in claims if from_us <= (job.claimed_us or 0) < until_us]
    waits = sorted(
        (job.claimed_us or 0) - job.arrival.at_us
        for job in within
        if job.arrival.tenant == "quiet"
    )
    return {
        **{f"share_of_{name}": served.get(("q", name), 0) / whole for name in _TENANTS},
        "started": len(within),
        "quiet_p50_seconds": percentile(waits, 0.5) / _US,
        "quiet_p99_seconds": percentile(waits, 0.99) / _US,
    }


def errors(predicted: Figures, found: Figures) -> Figures:
    """Return each figure's error: shares and waits absolute, jobs relative."""
    off = {name: abs(predicted[name] - found[name]) for name in found}
    return {
        "share_error": max(off[f"share_of_{name}"] for name in _TENANTS),
        "started_error": off["started"] / found["started"],
        "quiet_p50_error_seconds": off["quiet_p50_seconds"],
        "quiet_p99_error_seconds": off["quiet_p99_seconds"],
    }


def play(server: Server, workload: Workload, trace: Sequence[Arrival], _seed: int) -> Found:
    """Run the fleet once through all policies."""
    starts = [_FIRST_SECONDS + _EVERY_SECONDS * place for place in range(len(_POLICIES))]
    rows: dict[str, Figures] = {}
    off: list[Figures] = []
    with ExitStack() as leaving:
        folder = Path(leaving.enter_context(tempfile.TemporaryDirectory(prefix="predict-")))
        rehearsals = [
            Rehearsal(title, document, folder / f"{place}.yaml")
            for place, (title, document) in enumerate(_POLICIES)
        ]
        moments: list[replay.Moment] = []
        for start, each in zip(starts, rehearsals, strict=True):
            ahead_us = (start - _AHEAD_SECONDS) * _US
            moments.append(replay.Moment(ahead_us, partial(each.begin, leaving)))
            moments.append(replay.Moment(start * _US, each.store))
        slots, until_us = workload.slots, workload.until_us
        played = replay.run(
            server, trace, slots=slots, until_us=until_us, moments=moments
        ).played
        for start, each in zip(starts, rehearsals, strict=True):
            predicted = each.predicted()
            found = happened(played, start * _US, (start + _HORIZON_SECONDS) * _US)
            rows[f"{each.title}, predicted"] = predicted
            rows[f"{each.title}, measured"] = found
            off.append(errors(predicted, found))
    return Found(rows=rows, evaluated=_worst(off))


def _worst(off: Sequence[Mapping[str, float]]) -> Figures:
    return {name: max(each[name] for each in off) for name in off[0]}
