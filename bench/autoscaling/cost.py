"""`python -m bench.autoscaling.cost`: the controller's cost in a large release.

The program itself runs over a real PostgreSQL with a million due jobs, five hundred pods in ten
pools, and one pool at zero. It is measured at rest, then while fifty pods change each second,
and at last while every pool needs twice its pods. The duration and number of its statements
come from the server's log; requests are those the API server received. Exit code 0 whatever the
result; with `--strict` 1 for a missed target.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import kubernetes

from bench import statement_log
from bench.autoscaling import release
from bench.autoscaling.release import Size
from bench.context import say
from bench.figures import percentile
from bench.machine import ROOT
from bench.processes import Child, start, wait_until
from bench.server import SETTINGS, Server, running
from fairlead import policy_storage
from fairlead_cli.dev.ports import free_port
from tests.support.kubernetes import api, program

_ROOMS = (ROOT / room for room in (".", "core", "autoscaler"))
_STEPS = "fairlead_autoscaler_reconcile_seconds_count"
_SETTLED_STEPS = 20
"""After this many steps everything is prepared, reported and recorded."""
_CHANGED_PODS = 50
_QUESTION = "snapshot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Length of each measurement, in seconds."""

    rest: float = 150.0
    change: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A target and its measurement."""

    what: str
    most: float
    measured: float
    over: str
    """What the figure is measured over."""

    @property
    def met(self) -> bool:
        """Whether the target was reached."""
        return self.measured <= self.most


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The measurements of one run."""

    size: Size
    steps: int
    """Controller steps at rest."""
    questions_ms: tuple[float, ...]
    statements: int
    """All statements it sent at rest, records of its decisions included."""
    requests_per_second: float
    memory_mib: float
    """Peak memory."""
    decisions: int
    """Decisions to change pods after pools needed more."""
    writes: int

    def costs(self) -> tuple[Cost, ...]:
        """Return the figures with targets."""
        ms, pools = self.questions_ms, len(self.size.deployments)
        return (
            Cost(
                what="questions to the database in a step, for all pools",
                most=1,
                # A step that is under way at either end counts once or not at all.
                measured=round(len(ms) / self.steps, 2),
                over=f"{self.steps} steps, {pools} pools; {self.statements} statements with "
                "what is noted of each pool once a minute",
            ),
            Cost(
                what=f"p99 of it with {self.size.jobs:,} jobs due, ms",
                most=20,
                measured=round(percentile(ms, 0.99), 1),
                over=f"{len(ms)} questions; p50 {percentile(ms, 0.5):.1f}, "
                f"longest {max(ms):.1f}",
            ),
            Cost(
                what=f"memory at {self.size.pods} pods, MiB",
                most=128,
                measured=round(self.memory_mib),
                over=f"client {kubernetes.__version__.partition('.')[0]}, "
                f"{_CHANGED_PODS} pods change each second",
            ),
            Cost(
                what="writes of `scale` for a decision to write it",
                most=1,
                measured=round(self.writes / self.decisions, 2),
                over=f"{self.decisions} decisions",
            ),
            Cost(
                what="requests to the API server in a second at rest",
                most=1,
                measured=round(self.requests_per_second, 2),
                over=f"the leader of {pools} pools",
            ),
        )


def main() -> int:
    """Measure, and print the lines for `elsewhere.toml`."""
    parser = argparse.ArgumentParser(prog="python -m bench.autoscaling.cost")
    parser.add_argument("--jobs", type=int, default=1_000_000, help="that are due")
    parser.add_argument("--pods", type=int, default=500, help="in all pools together")
    parser.add_argument("--pools", type=int, default=10, help="with pods")
    parser.add_argument("--strict", action="store_true", help="exit 1 for a missed target")
    given = parser.parse_args()
    costs = measure(Size(jobs=given.jobs, pods=given.pods, pools=given.pools), Times()).costs()
    say("\n\n".join(map(figure, costs)))
    return 1 if given.strict and not all(each.met for each in costs) else 0


def figure(cost: Cost) -> str:
    """Return a figure in the form of `elsewhere.toml`."""
    return (
        f'[[figure]]\ntarget = "T10"\nwhat = "{cost.what}"\nmost = {cost.most:g}\n'
        f'measured = {cost.measured:g}\nover = "{cost.over}"'
    )


def measure(size: Size, times: Times) -> Found:
    """Run the program over a release of this size and measure it."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-cost-")))
        server = stack.enter_context(running({**SETTINGS, "max_connections": "3000"}))
        kube = stack.enter_context(api.running())
        say(f"  {size.jobs:,} jobs, {size.pods} pods")
        url = release.install(server, kube, size)
        stack.enter_context(release.renewing_demand(server))
        statement_log.switch_on(server, release.DATABASE)
        watched = _Watched(server, kube, size, _start(url, kube, size, folder))
        stack.callback(watched.child.kill)
        return watched.found(times)


def _start(url: str, kube: api.Api, size: Size, folder: Path) -> _Program:
    port = free_port()
    environment = {
        **program.environment(url, size.deployments),
        "FAIRLEAD_HEALTH_PORT": str(port),
        "FAIRLEAD_HEALTH_HOST": "127.0.0.1",
        "FAIRLEAD_LOG_FORMAT": "json",
        "PYTHONPATH": os.pathsep.join(map(str, _ROOMS)),
    }
    argv = [sys.executable, "-m", "fairlead_autoscaler.main"]
    argv += ["--kubeconfig", str(program.kubeconfig(kube, folder))]
    child = start("autoscaler", argv, log=folder / "autoscaler.log", environment=environment)
    return _Program(child, port)


@dataclass(frozen=True, slots=True)
class _Program:
    child: Child
    port: int

    def steps(self) -> int:
        """Return its number of steps so far; 0 while its metrics do not answer."""
        with contextlib.suppress(OSError):
            with urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as page:
                text = page.read().decode()
            found = re.search(rf"^{_STEPS} ([0-9.e+]+)$", text, re.MULTILINE)
            return int(float(found[1])) if found else 0
        return 0

    def peak_mib(self) -> float:
        """Return its peak memory."""
        status = Path(f"/proc/{self.child.pid}/status").read_text()
        found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024

    def scaled(self) -> int:
        """Return how many decisions it has written to the cluster, by its log."""
        return self.child.log.read_text().count('"pool.scaled"')


@dataclass(frozen=True, slots=True)
class _Watched:
    server: Server
    kube: api.Api
    size: Size
    program: _Program

    @property
    def child(self) -> Child:
        """Return the process."""
        return self.program.child

    def found(self, times: Times) -> Found:
        """Measure it at rest, then while pods change, and at last while pools grow."""
        self._until("it has settled", lambda: self.program.steps() >= _SETTLED_STEPS)
        say("  at rest")
        position, steps = statement_log.position(self.server), self.program.steps()
        begun, asked = time.monotonic(), len(self.kube.asked)
        time.sleep(times.rest)
        asked, seconds = len(self.kube.asked) - asked, time.monotonic() - begun
        steps = self.program.steps() - steps
        end = statement_log.position(self.server)
        say("  while pods change")
        for turn in range(int(times.change)):
            release.change(self.kube, self.size, turn, _CHANGED_PODS)
            time.sleep(1.0)
        memory_mib = self.program.peak_mib()
        say("  while pools grow")
        decisions, writes = self._grown()
        log = self.server.log
        return Found(
            size=self.size,
            steps=steps,
            questions_ms=statement_log.read(log, position, end).of(_QUESTION),
            statements=statement_log.executions(log, position, end)["fairlead autoscaler"],
            requests_per_second=asked / seconds,
            memory_mib=memory_mib,
            decisions=decisions,
            writes=writes,
        )

    def _grown(self) -> tuple[int, int]:
        """Let every pool need twice its pods; return the decisions on it, and the writes."""
        scaled, asked = self.program.scaled(), len(self.kube.asked)
        policy = self.size.policy(2 * self.size.per_pool)
        with self.server.connect(release.DATABASE) as connection:
            policy_storage.store(connection, policy, author="bench")
        wanted = scaled + self.size.pools
        self._until("every pool has grown", lambda: self.program.scaled() >= wanted)
        settled = self.program.steps() + _SETTLED_STEPS
        self._until("it has settled again", lambda: self.program.steps() >= settled)
        writes = sum(_is_scale(each.verb, each.resource) for each in self.kube.asked[asked:])
        return self.program.scaled() - scaled, writes

    def _until(self, what: str, condition: Callable[[], bool]) -> None:
        children: Sequence[Child] = (self.child,)
        wait_until(what, condition, watching=children, timeout_seconds=120, pause_seconds=0.2)


def _is_scale(verb: str, resource: str) -> bool:
    return (verb, resource) == ("patch", "deployments/scale")


if __name__ == "__main__":
    sys.exit(main())
