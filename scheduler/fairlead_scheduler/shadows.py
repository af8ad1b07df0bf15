"""Has the shadow of the policy in force simulated, again and again, by a process of its own.

The leader only starts it, looks whether it has ended, and stores what it printed. The process
is killed at the end of the term, and after a time that it should never need.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from tempfile import TemporaryFile
from time import monotonic
from typing import Protocol, cast

from fairlead import log, sql
from fairlead.policy import Shadow
from fairlead.settings import DatabaseSettings
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.report import Report

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_SECONDS = 1.0
RUN_SECONDS_MAX = 120.0
_SAID_BYTES_MAX = 1 << 20


class InForce(Protocol):
    """The policy in force."""

    def shadow(self) -> Shadow | None:
        """Return its shadow; None: it has none."""
        ...

    def pools(self) -> Sequence[str]:
        """Return its pools; none where it names none."""
        ...


class Run:
    """The process that simulates once."""

    def __init__(
        self, settings: SchedulerSettings, version: int | str, pool: str | None = None
    ) -> None:
        self.pool = pool or settings.pool
        self._begun = monotonic()
        self._said = TemporaryFile()  # noqa: SIM115 - closed by `end`
        self.process = subprocess.Popen(
            [sys.executable, "-m", "fairlead_scheduler.simulation.shadow", str(version)],
            stdin=subprocess.DEVNULL,
            stdout=self._said,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_environment(settings), "FAIRLEAD_POOL": self.pool},
        )

    @property
    def over(self) -> bool:
        """Whether it has ended, or should have."""
        late = monotonic() >= self._begun + RUN_SECONDS_MAX
        return late or self.process.poll() is not None

    def end(self) -> tuple[bool, str]:
        """Kill it, if need be; return whether it said a report, and what it said.

        Call it once.
        """
        code = self.process.poll()
        self.process.kill()
        self.process.wait()
        with self._said as said:
            said.seek(0)
            text = said.read(_SAID_BYTES_MAX).decode(errors="replace").strip()
        if code is None:
            return False, f"the simulation was ended, for it took over {RUN_SECONDS_MAX:.0f} s"
        if code not in (0, 1):
            return False, f"the simulation died with exit code {code}"
        return code == 0, text


class Shadows:
    """The shadow of one term, over a session that it shares.

    Args:
        policies: Of which the one in force may have a shadow. Its pools are simulated one
            after another; where it names none, that of the settings is.
    """

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        policies: InForce,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._policies = policies
        self._left: list[str] = []
        """Pools that are to be simulated in this round."""
        self._metrics = metrics
        self._wanted: Shadow | None = None
        self._pools: tuple[str, ...] = ()
        self._first = True
        """Whether what a former leader stored is still there."""
        self.run: Run | None = None
        self._due = 0.0

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often: none of it waits for the process."""
        return (Chore("shadow", _SECONDS, self.look),)

    def look(self) -> bool:
        """Start the process when it is time, or store what it said when it has ended.

        What was said of another shadow, or when there were other pools, is forgotten.
        """
        wanted = self._policies.shadow()
        pools = tuple(self._policies.pools()) or (self._settings.pool,)
        if (wanted, pools) != (self._wanted, self._pools) or self._first:
            self.stop()
            self._wanted, self._pools, self._due, self._left = wanted, pools, 0.0, []
            self._metrics.shadow.hide()
            self._connection.execute(
                sql.load(_PACKAGE, "forget_shadow"),
                {"epoch": self._epoch},
            )
            self._first = False
        if wanted is None:
            return False
        if self.run is not None:
            if self.run.over:
                pool, (done, text) = self.run.pool, self.run.end()
                self.run = None
                self._store(pool, text, done=done)
        elif self._left or monotonic() >= self._due:
            if not self._left:
                self._due = monotonic() + wanted.every.total_seconds()
                self._left = list(pools)
            self._start(wanted, self._left.pop(0))
        return False

    def _start(self, wanted: Shadow, pool: str) -> None:
        """Start the process, or say why there is none: a term must not end for want of it."""
        try:
            self.run = Run(self._settings, wanted.version, pool)
        except OSError as error:
            said = f"no process could be started for the simulation: {error.strerror}"
            self._store(pool, said, done=False)

    def stop(self) -> None:
        """Kill the process, if there is one; a repeat does nothing."""
        if self.run is not None:
            self.run.end()
            self.run = None

    def _show(self, pool: str, report: Report) -> None:
        whole = report["all"]
        self._metrics.shadow.show(
            pool,
            report["new"]["digest"],
            moved_share=_moved_share(report),
            waits={
                "in_force": whole["old"]["wait_p99_seconds"] or 0.0,
                "shadow": whole["new"]["wait_p99_seconds"] or 0.0,
            },
        )

    def _store(self, pool: str, text: str, *, done: bool) -> None:
        if done:
            self._show(pool, cast("Report", json.loads(text)))
        else:
            self._metrics.shadow.failed.inc()
            _log.warning("shadow.failed", pool=pool, reason=text)
        values = {
            "epoch": self._epoch,
            "pool": pool,
            "report": text if done else None,
            "said": "" if done else text,
        }
        self._connection.execute(sql.load(_PACKAGE, "note_shadow"), values)


def _moved_share(report: Report) -> float:
    """Return which part of the slots in use other tenants would have."""
    sides = [*report["tenants"], *([report["other"]] if report["other"] else [])]
    return sum(abs(each["new"]["share"] - each["old"]["share"]) for each in sides) / 2


def _environment(settings: SchedulerSettings) -> dict[str, str]:
    """Return the settings that the process needs, as variables."""
    names = ("pool", *DatabaseSettings.model_fields)
    given = {name: getattr(settings, name) for name in names}
    return {
        f"FAIRLEAD_{name.upper()}": str(value)
        for name, value in given.items()
        if value is not None
    }
