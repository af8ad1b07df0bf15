"""Simulate the shadow of the policy in force periodically, in a separate process.

The leader starts the process, polls it, and stores its output. It kills the process when its
term ends and after `RUN_SECONDS_MAX`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from tempfile import TemporaryFile
from time import monotonic
from typing import Protocol, cast

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.policy import Shadow
from fairlead.runtime import log
from fairlead.settings import DatabaseSettings
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.simulation_report import SimulationReport

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_POLL_SECONDS = 1.0
RUN_SECONDS_MAX = 120.0
_OUTPUT_BYTES_MAX = 1 << 20


class PolicyInForce(Protocol):
    """The policy in force."""

    def shadow(self) -> Shadow | None:
        """Return its shadow; None: it has none."""
        ...

    def pools(self) -> Sequence[str]:
        """Return its pools; empty where it names none."""
        ...


class ShadowRun:
    """One run of the simulating process."""

    def __init__(
        self, settings: SchedulerSettings, version: int | str, pool: str | None = None
    ) -> None:
        self.pool = pool or settings.pool
        self._started = monotonic()
        self._output = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlead_scheduler.simulation.shadow_main", str(version)],
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_environment(settings), "FAIRLEAD_POOL": self.pool},
        )

    @property
    def is_over(self) -> bool:
        """Whether it has ended or has run too long."""
        late = monotonic() >= self._started + RUN_SECONDS_MAX
        return late or self.process.poll() is not None

    def end(self) -> tuple[bool, str]:
        """Kill it if it still runs; return whether it printed a report, and its output.

        Call it once.
        """
        code = self.process.poll()
        self.process.kill()
        self.process.wait()
        with self._output as output:
            output.seek(0)
            text = output.read(_OUTPUT_BYTES_MAX).decode(errors="replace").strip()
        if code is None:
            return False, f"the simulation was killed after {RUN_SECONDS_MAX:.0f} s"
        if code not in (0, 1):
            return False, f"the simulation died with exit code {code}"
        return code == 0, text


class ShadowRunner:
    """Runs the shadow simulations of one term, over a shared session.

    Args:
        policies: The policy in force, which may have a shadow. Its pools are simulated one
            after another; where it names none, the pool of the settings is.
    """

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        policies: PolicyInForce,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._policies = policies
        self._left: list[str] = []
        """Pools still to simulate in this round."""
        self._metrics = metrics
        self._wanted: Shadow | None = None
        self._pools: tuple[str, ...] = ()
        self._first = True
        """Whether reports of a former leader may still be stored."""
        self.run: ShadowRun | None = None
        self._due = 0.0

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the periodic tasks; none waits for the process."""
        return (PeriodicTask("shadow", _POLL_SECONDS, self.poll),)

    def poll(self) -> bool:
        """Start the process when it is due, or store its output when it has ended.

        Reports of another shadow or of other pools are deleted first.
        """
        wanted = self._policies.shadow()
        pools = tuple(self._policies.pools()) or (self._settings.pool,)
        if (wanted, pools) != (self._wanted, self._pools) or self._first:
            self.stop()
            self._wanted, self._pools, self._due, self._left = wanted, pools, 0.0, []
            self._metrics.shadow.hide()
            self._connection.execute(
                statements.load(_PACKAGE, "delete_shadow_reports"),
                {"epoch": self._epoch},
            )
            self._first = False
        if wanted is None:
            return False
        if self.run is not None:
            if self.run.is_over:
                pool, (succeeded, text) = self.run.pool, self.run.end()
                self.run = None
                self._store(pool, text, succeeded=succeeded)
        elif self._left or monotonic() >= self._due:
            if not self._left:
                self._due = monotonic() + wanted.every.total_seconds()
                self._left = list(pools)
            self._start(wanted, self._left.pop(0))
        return False

    def _start(self, wanted: Shadow, pool: str) -> None:
        """Start the process; if it cannot start, store that instead of ending the term."""
        try:
            self.run = ShadowRun(self._settings, wanted.version, pool)
        except OSError as error:
            reason = f"no process could be started for the simulation: {error.strerror}"
            self._store(pool, reason, succeeded=False)

    def stop(self) -> None:
        """Kill the process, if any; a repeat does nothing."""
        if self.run is not None:
            self.run.end()
            self.run = None

    def _show(self, pool: str, report: SimulationReport) -> None:
        total = report["all"]
        self._metrics.shadow.show(
            pool,
            report["new"]["digest"],
            moved_share=_moved_share(report),
            waits={
                "in_force": total["old"]["wait_p99_seconds"] or 0.0,
                "shadow": total["new"]["wait_p99_seconds"] or 0.0,
            },
        )

    def _store(self, pool: str, text: str, *, succeeded: bool) -> None:
        if succeeded:
            self._show(pool, cast("SimulationReport", json.loads(text)))
        else:
            self._metrics.shadow.failed.inc()
            _log.warning("shadow.failed", pool=pool, reason=text)
        values = {
            "epoch": self._epoch,
            "pool": pool,
            "report": text if succeeded else None,
            "said": "" if succeeded else text,
        }
        self._connection.execute(statements.load(_PACKAGE, "store_shadow_report"), values)


def _moved_share(report: SimulationReport) -> float:
    """Return the share of slot-time in use that would go to other tenants."""
    sides = [*report["tenants"], *([report["other"]] if report["other"] else [])]
    return sum(abs(each["new"]["share"] - each["old"]["share"]) for each in sides) / 2


def _environment(settings: SchedulerSettings) -> dict[str, str]:
    """Return the settings that the process needs, as environment variables."""
    names = ("pool", *DatabaseSettings.model_fields)
    given = {name: getattr(settings, name) for name in names}
    return {
        f"FAIRLEAD_{name.upper()}": str(value)
        for name, value in given.items()
        if value is not None
    }
