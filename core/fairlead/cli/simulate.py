"""`fairlead policy simulate`: what a policy would do, before it is applied."""

from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fairlead.cli import prediction, show, words
from fairlead.cli.enqueue import read as read_option
from fairlead.cli.policy import File
from fairlead.cli.policy import read as read_policy
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fairlead.policy import Policy
    from fairlead_scheduler.simulation.fleet import Fleet
    from fairlead_scheduler.simulation.report import Report
    from fairlead_scheduler.simulation.scene import Scene
    from fairlead_scheduler.simulation.situation import Situation
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
    str, typer.Option(help="How far back history counts, at most 1d: 90s, 5m, 2h.")
]
Trace = Annotated[
    Path | None,
    typer.Option(help="With recorded: a file of `fairlead trace export`, not history."),
]
Slots = Annotated[
    int | None, typer.Option(min=1, max=1_000_000, help="Else those of live workers.")
]
Pool = Annotated[
    str, typer.Option(help="Whose workers and queues count; and those that moves concern.")
]
Seed = Annotated[int, typer.Option(help="Draws run times: the same gives the same.")]
Plot = Annotated[Path | None, typer.Option(help="Draw it as well, into an SVG or PNG file.")]


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
    as_json: show.AsJson = False,
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
        raise Problem("--trace is recorded traffic: give --against recorded with it")
    if plot is not None:
        _may_draw(plot)
    made = _predict(found, asked)
    if plot is not None:
        _draw(plot, made, str(file))
    if as_json:
        show.print_json(made)
        return
    prediction.say(made, str(file))
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
    found = read_option(name, given, words.duration)
    if found is None or not timedelta(0) < found <= most:
        raise Problem(f"{name} is {given}: give more than 0 and at most {words.age(most)}")
    return found


def _may_draw(plot: Path) -> None:
    """Refuse before anything is simulated what could not be drawn after it."""
    if plot.suffix not in _PICTURES:
        raise Problem(f"--plot is {plot}: give a file that ends in .svg or .png")
    if find_spec("matplotlib") is None:
        raise Problem("matplotlib is not installed: pip install 'fairlead[dev]'")


def _draw(plot: Path, made: "Report", new: str) -> None:
    from fairlead.cli.prediction_picture import draw

    try:
        draw(plot, made, new)
    except OSError as error:
        raise Problem(f"--plot: {plot} cannot be written: {error.strerror or error}") from None


def _predict(policy: "Policy", asked: _Asked) -> "Report":
    from fairlead_scheduler.policies import look
    from fairlead_scheduler.simulation import product
    from fairlead_scheduler.simulation.comparison import compare
    from fairlead_scheduler.simulation.read import situation
    from fairlead_scheduler.simulation.report import report
    from fairlead_scheduler.terms import Table, compiled

    new = compiled(policy)
    trace = None if asked.trace is None else _recorded(asked.trace)
    with session() as connection:
        old = look(connection).table or Table()
        now = situation(
            connection,
            asked.pool,
            old=old,
            new=new,
            within=asked.within,
            queues={job.queue for job in trace or ()},
        )
    if asked.slots:
        now = replace(now, slots=asked.slots)
    if not now.all_slots:
        raise Failure(
            f"pool '{asked.pool}' has no live worker, so nothing would run: give --slots, how "
            "many jobs run at once"
        )
    fleet = product.fleet(now.slots, tuple(now.beside.values()))
    scene = _scene(now, fleet, asked, trace)
    return report(
        compare(scene, old, new),
        against=asked.against.value,
        seed=asked.seed,
        old=old,
        new=new,
        situation=now,
        scene=scene,
    )


def _scene(
    now: "Situation", fleet: "Fleet", asked: _Asked, trace: "Sequence[Arrival] | None"
) -> "Scene":
    """Return what both policies are to deal with."""
    from fairlead_scheduler.simulation.recorded import of_history, of_trace
    from fairlead_scheduler.simulation.traffic import live, played

    until_us = asked.horizon // _US
    if asked.against is Against.LIVE:
        scene = live(now, fleet, until_us=until_us, seed=asked.seed)
        if not (scene.jobs or scene.begun.waiting):
            raise Failure("nothing waits, runs or came of late: there is nothing to predict")
        return scene
    past = of_history(now, asked.seed) if trace is None else of_trace(now, trace)
    if not past.jobs:
        where = "in the file" if asked.trace else "in history: give a longer time with --within"
        raise Failure(f"there is no job of pool '{asked.pool}' {where}")
    return played(past, fleet, until_us=until_us, of=now)


def _recorded(trace: Path) -> "Sequence[Arrival]":
    from fairlead_scheduler.simulation.trace import TraceRefusedError, read
    from fairlead_scheduler.simulation.traffic import ARRIVALS_MAX

    try:
        return read(trace, ARRIVALS_MAX)
    except OSError as error:
        raise Problem(f"--trace: {trace} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise Problem(f"--trace: {trace} is not UTF-8") from None
    except TraceRefusedError as error:
        raise Problem(words.printable(f"--trace: {trace}: {error}")) from None
