"""`python -m bench [quick|long|tune]`: measure against the bars, or tune the peers.

Exit code 1 only for a broken run; a missed bar is shown as missed, and with `--strict` it is 1
too. `--peers-only` measures floors and peers without Fairlead: the targets of a machine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import time
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from bench import budgets, machine, peers_environment, peers_known, report, tune
from bench.context import Context, say
from bench.fairlead_contender import FairleadContender
from bench.outcome import Outcome
from bench.processes import (
    BrokenRunError,
    adopting_orphans,
    machine_cpu_seconds,
    tree_cpu_seconds,
)
from bench.scenarios import (
    backlog,
    console,
    drains,
    enqueue,
    idle_fleet,
    idle_latency,
    memory,
    metrics,
    scheduler,
    snapshot,
    worker,
)
from bench.server import Server, running
from fairlead.policy import PolicyRefused, parse

_SCENARIOS: dict[str, Callable[[Context], Outcome]] = {
    "P1": drains.one_worker,
    "P2": drains.two_workers,
    "P3": enqueue.run,
    "P4": idle_latency.run,
    "P5": backlog.run,
    "P6": snapshot.run,
    "P7": drains.wal,
    "P8": scheduler.run,
    "P9": worker.run,
    "P10": idle_fleet.run,
    "P11": memory.run,
    "P12": metrics.run,
    "P13": console.run,
}
_OTHERS_SHARE_MAX = 0.05
_OTHERS_SECONDS_LOWEST = 1.0
"""Shorter measurements get no warning: one tick of the CPU clock would be too large a part."""
_TENANTS_MAX = 100_000
_WITH_PEERS = ("P1", "P2", "P4", "P7")


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """The parsed command line."""

    form: str
    scenarios: tuple[str, ...]
    peers_only: bool
    strict: bool
    record: bool
    seed: int
    output: Path | None
    tenants: int
    policy: str
    policy_name: str


def _scenarios(text: str) -> tuple[str, ...]:
    names = tuple(part.strip().upper() for part in text.split(",") if part.strip())
    unknown = [name for name in names if name not in _SCENARIOS]
    if unknown:
        raise argparse.ArgumentTypeError(f"no scenario {', '.join(unknown)}: P1 to P13 exist")
    return names


def _policy(path: str) -> tuple[str, str]:
    """Return a policy's name, which is its file's, and the document."""
    try:
        document = Path(path).read_text("utf-8")
        parse(document)
    except (OSError, PolicyRefused) as error:
        raise argparse.ArgumentTypeError(f"no policy {path}: {error}") from None
    return Path(path).stem, document


def _tenants(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= _TENANTS_MAX:
        raise argparse.ArgumentTypeError(f"no number from 1 to {_TENANTS_MAX:,}: {text}")
    return int(text)


def arguments(argv: Sequence[str] | None) -> Arguments:
    """Parse the command line; for an invalid one print a sentence and exit with code 2."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("form", nargs="?", default="quick", choices=("quick", "long", "tune"))
    parser.add_argument("--only", type=_scenarios, default=(), help="such as P1,P4")
    parser.add_argument(
        "--peers-only", action="store_true", help="floors and peers, no Fairlead"
    )
    parser.add_argument("--strict", action="store_true", help="exit 1 for a missed bar")
    parser.add_argument(
        "--record", action="store_true", help="rewrite the budgets' observations"
    )
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--output", type=Path, help="where the JSON goes")
    parser.add_argument(
        "--tenants",
        type=_tenants,
        default=1,
        help="whose jobs P1, P2, P5, P6 and P7 are; else one's",
    )
    parser.add_argument(
        "--policy", type=_policy, default=("", ""), help="a file to put in force"
    )
    given = parser.parse_args(argv)
    policy_name, policy = given.policy
    if given.record and given.tenants > 1 and not policy:
        parser.error("--record is for one tenant, or for a policy: leave out --tenants")
    chosen = given.only or (_WITH_PEERS if given.peers_only else tuple(_SCENARIOS))
    return Arguments(
        form=given.form,
        scenarios=chosen,
        peers_only=given.peers_only,
        strict=given.strict,
        record=given.record,
        seed=given.seed,
        output=given.output,
        tenants=given.tenants,
        policy=policy,
        policy_name=policy_name,
    )


def _context(server: Server, given: Arguments, python: Path) -> Context:
    return Context(
        server=server,
        peers=peers_known.known(python),
        fairlead=FairleadContender(policy=given.policy, tenants=given.tenants),
        long=given.form == "long",
        seed=given.seed,
        with_fairlead=not given.peers_only,
    )


def _others_cpu_seconds() -> float:
    """Return the CPU seconds of all processes on the machine that this run did not start."""
    return machine_cpu_seconds() - tree_cpu_seconds(os.getpid())


def doubts(others_cpu_seconds: float, seconds: float, processors: int) -> tuple[str, ...]:
    """Return a warning if other programs used too much of the machine within a time."""
    if seconds < _OTHERS_SECONDS_LOWEST:
        return ()
    share = others_cpu_seconds / seconds / processors
    if share <= _OTHERS_SHARE_MAX:
        return ()
    return (f"other programs used {share:.0%} of the machine: measure again",)


def _measure(context: Context, names: Sequence[str]) -> tuple[list[Outcome], list[str]]:
    """Run the scenarios one after the other; a broken one does not stop the rest."""
    outcomes: list[Outcome] = []
    failures: list[str] = []
    for name in names:
        begun, others = time.monotonic(), _others_cpu_seconds()
        say(f"{name}: {budgets.load(name).title}")
        try:
            outcome = _SCENARIOS[name](context)
            seconds = time.monotonic() - begun
            said = doubts(_others_cpu_seconds() - others, seconds, os.cpu_count() or 1)
            outcomes.append(replace(outcome, notes=(*outcome.notes, *said)))
        except BrokenRunError as error:
            failures.append(f"{name}: {error}")
            say(f"  broken: {error}")
        say(f"  {name} took {time.monotonic() - begun:.0f} s")
    return outcomes, failures


def _run(given: Arguments) -> int:
    python = peers_environment.ensure()
    say(f"seed {given.seed}")
    with adopting_orphans(), running() as server:
        context = _context(server, given, python)
        outcomes, failures = _measure(context, given.scenarios)
        run = report.Run(
            form=given.form,
            seed=given.seed,
            machine=machine.describe(),
            postgres=server.version,
            versions=peers_environment.versions(python),
            tuned=tomllib.loads(peers_known.TUNED.read_text()),
            failures=tuple(failures),
        )
    report.show(outcomes, run)
    say(f"written to {report.write(outcomes, run, given.output)}")
    if given.record and not failures:
        under = budgets.Under(policy=given.policy_name, tenants=given.tenants)
        on = budgets.On(run.machine, postgres=run.postgres, form=given.form)
        budgets.record(outcomes, on, under if given.policy else None)
    missed = report.missed(outcomes)
    return 1 if failures or (given.strict and missed) else 0


def _leave(number: int, _frame: FrameType | None) -> None:
    """Exit as on an interruption, so that every started process is stopped."""
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit code."""
    given = arguments(argv)
    signal.signal(signal.SIGTERM, _leave)
    if given.form != "tune":
        return _run(given)
    with running() as server:
        tune.tune(server, peers_known.known(peers_environment.ensure()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
