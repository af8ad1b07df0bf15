"""`fairlead policy simulate`: what a policy would do, before it is applied."""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.inspection import formats
from fairlead_cli.commands.enqueue import read as read_option
from fairlead_cli.commands.policy import File
from fairlead_cli.commands.policy import read as read_policy
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import comparison, tables
from fairlead_cli.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.policy import Policy
    from fairlead_scheduler.simulation.compare import SimulationInput
    from fairlead_scheduler.simulation.engine import SimulatedFleet
    from fairlead_scheduler.simulation.fleet_state import FleetState
    from fairlead_scheduler.simulation.simulation_report import SimulationReport
    from fairlead_scheduler.simulation.trace import Arrival

HORIZON_MAX = timedelta(minutes=10)
_PICTURES = (".svg", ".png")
_US = timedelta(microseconds=1)


class Against(StrEnum):
    """What the policies are simulated with."""

    LIVE = "live"
    RECORDED = "recorded"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


With = Annotated[
    Against,
    typer.Option(
        help="live: the backlog and what runs now, with arrivals and run times of late; "
        "recorded: past traffic from its start."
    ),
]
Horizon = Annotated[
    str, typer.Option(help="How long to simulate, at most 10m; many jobs make it shorter.")
]
Within = Annotated[
    str, typer.Option(help="How far back to read history, at most 1d: 90s, 5m, 2h.")
]
Trace = Annotated[
    Path | None,
    typer.Option(help="With recorded: a file of `fairlead trace export`, not history."),
]
Slots = Annotated[
    int | None,
    typer.Option(min=1, max=1_000_000, help="Number of slots; default: those of live workers."),
]
Pool = Annotated[
    str, typer.Option(help="Whose workers and queues count; and those that moves concern.")
]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.")]
Plot = Annotated[
    Path | None, typer.Option(help="Draw the result into an SVG or PNG file, too.")
]


def simulate(  # noqa: PLR0913 - each is an option of the command
    file: File,
    *,
    against: With = Against.LIVE,
    horizon: Horizon = "60s",
    within: Within = "10m",
    trace: Trace = None,
    slots: Slots = None,
    pool: Pool = "default",
    seed: Seed = 1,
    plot: Plot = None,
    as_json: tables.AsJson = False,
) -> None:
    """Predict each tenant's share and waits.

    Under a file and under the policy in force, side by side. Nothing is applied. Waits count
    from now on, or from a job's arrival; a `>` says that it had not started at the end.
    """
    _, found = read_policy(file)
    asked = _Asked(
        against=against,
        seed=seed,
        horizon=_bounded("--horizon", horizon, HORIZON_MAX),
        within=_bounded("--within", within, timedelta(days=1)),
        trace=trace,
        slots=slots,
        pool=pool,
    )
    if trace is not None and against is Against.LIVE:
        raise CommandError("--trace is recorded traffic: give --against recorded with it")
    if plot is not None:
        _may_draw(plot)
    made = _predict(found, asked)
    if plot is not None:
        _draw(plot, made, str(file))
    if as_json:
        tables.print_json(made)
        return
    comparison.say(made, str(file))
    if plot is not None:
        typer.echo(f"drawn into {plot}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    against: Against
    seed: int
    horizon: timedelta
    within: timedelta
    trace: Path | None
    slots: int | None
    pool: str


def _bounded(name: str, given: str, most: timedelta) -> timedelta:
    found = read_option(name, given, formats.duration)
    if found is None or not timedelta(0) < found <= most:
        raise CommandError(
            f"{name} is {given}: give more than 0 and at most {formats.age(most)}"
        )
    return found


def _may_draw(plot: Path) -> None:
    """Refuse before anything is simulated what could not be drawn after it."""
    if plot.suffix not in _PICTURES:
        raise CommandError(f"--plot is {plot}: give a file that ends in .svg or .png")
    if find_spec("matplotlib") is None:
        raise CommandError("matplotlib is not installed: pip install 'fairlead[plot]'")


def _draw(plot: Path, made: "SimulationReport", new: str) -> None:
    from fairlead_cli.output.comparison_chart import draw

    try:
        draw(plot, made, new)
    except OSError as error:
        raise CommandError(
            f"--plot: {plot} cannot be written: {error.strerror or error}"
        ) from None


def _predict(policy: "Policy", asked: _Asked) -> "SimulationReport":
    from fairlead_scheduler.background.policy_watch import read_newer
    from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
    from fairlead_scheduler.simulation.compare import compare
    from fairlead_scheduler.simulation.engine import default_fleet
    from fairlead_scheduler.simulation.reader import read_fleet_state
    from fairlead_scheduler.simulation.simulation_report import build_report

    new = compile_policy(policy)
    trace = None if asked.trace is None else _recorded(asked.trace)
    with session() as connection:
        old = read_newer(connection).table or CompiledPolicy()
        state = read_fleet_state(
            connection,
            asked.pool,
            old=old,
            new=new,
            within=asked.within,
            queues={job.queue for job in trace or ()},
        )
    if asked.slots:
        state = replace(state, slots=asked.slots)
    if not state.all_slots:
        raise NegativeAnswer(
            f"pool '{asked.pool}' has no live worker, so nothing would run: say how many jobs "
            "run at once (--slots)"
        )
    fleet = default_fleet(state.slots, tuple(state.other_pools.values()))
    given = _input(state, fleet, asked, trace)
    return build_report(
        compare(given, old, new),
        against=asked.against.value,
        seed=asked.seed,
        old=old,
        new=new,
        state=state,
        given=given,
    )


def _input(
    state: "FleetState",
    fleet: "SimulatedFleet",
    asked: _Asked,
    trace: "Sequence[Arrival] | None",
) -> "SimulationInput":
    """Return the input that both policies are simulated with."""
    from fairlead_scheduler.simulation.replay import (
        recorded_input,
        traffic_of_history,
        traffic_of_trace,
    )
    from fairlead_scheduler.simulation.workload import live_input

    until_us = asked.horizon // _US
    if asked.against is Against.LIVE:
        given = live_input(state, fleet, until_us=until_us, seed=asked.seed)
        if not (given.jobs or given.starting.waiting):
            raise NegativeAnswer(
                "nothing waits, runs or came of late: there is nothing to predict"
            )
        return given
    past = (
        traffic_of_history(state, asked.seed)
        if trace is None
        else traffic_of_trace(state, trace)
    )
    if not past.jobs:
        where = "in the file" if asked.trace else "in history: give a longer time with --within"
        raise NegativeAnswer(f"there is no job of pool '{asked.pool}' {where}")
    return recorded_input(past, fleet, until_us=until_us, state=state)


def _recorded(trace: Path) -> "Sequence[Arrival]":
    from fairlead_scheduler.simulation.trace import TraceRefusedError, read
    from fairlead_scheduler.simulation.workload import ARRIVALS_MAX

    try:
        return read(trace, ARRIVALS_MAX)
    except OSError as error:
        raise CommandError(
            f"--trace: {trace} cannot be read: {error.strerror or error}"
        ) from None
    except UnicodeDecodeError:
        raise CommandError(f"--trace: {trace} is not UTF-8") from None
    except TraceRefusedError as error:
        raise CommandError(formats.printable(f"--trace: {trace}: {error}")) from None
