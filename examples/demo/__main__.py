"""`python -m examples.demo`: a scratch database, a fleet, and the run's course."""

import random
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Event
from typing import Annotated

import typer
from rich.console import Console

from examples.demo import sources
from examples.demo.course import Course, worker
from examples.demo.policy_scene import WORKERS_MIN, Scene
from examples.demo.screen import screen
from fairlead.db.connect import connect
from fairlead.runtime import log
from fairlead.service import stopping
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev import account
from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.fleet import Fleet
from fairlead_cli.dev.local_pods import LocalPods
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.running import install
from fairlead_cli.dev.scaling import Rows, Scaling
from fairlead_cli.dev.worker_count import POOL

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_CHECKOUT = Path(__file__).resolve().parents[2]
_PICTURES = (".svg", ".png")
_WEIGHED = 2
"""So many of the largest packages are what the policy's edit is about."""


def _drawable(plot: Path) -> Path:
    """Refuse at the start what the picture could not be written to at the end."""
    if plot.suffix not in _PICTURES:
        raise typer.BadParameter(f"'{plot}' must end with {' or '.join(_PICTURES)}")
    if not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"the folder of '{plot}' does not exist")
    if find_spec("matplotlib") is None:  # imported at the end, because it is slow
        raise typer.BadParameter("matplotlib is not installed: pip install 'fairlead[plot]'")
    return plot


@app.command()
def demo(
    plot: Annotated[
        Path, typer.Option(help="Where the picture goes, .svg or .png.", callback=_drawable)
    ] = Path("fairlead-demo.svg"),
    seed: Annotated[int, typer.Option(help="Which worker is killed.")] = 1,
    *,
    plain: Annotated[
        bool, typer.Option("--plain", help="Progress lines instead of the live view.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON; the rest is on stderr.")
    ] = False,
) -> None:
    """Measure the Python source on this machine with a fleet, and kill parts of it midway."""
    console = Console(stderr=as_json)
    how = _How(live=console.is_terminal and not plain, as_json=as_json)
    try:
        good = _demo(console, how, plot=plot, seed=seed)
    except PostgresError as error:
        Console(stderr=True, soft_wrap=True).print(
            f"fairlead: {error}", markup=False, highlight=False
        )
        raise typer.Exit(2) from None
    raise typer.Exit(0 if good else 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class _How:
    """How the run is shown, and its result."""

    live: bool
    as_json: bool


def _demo(console: Console, how: _How, *, plot: Path, seed: int) -> bool:
    stop, again = Event(), Event()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop=stop, again=again))
        folder = Path(stack.enter_context(_scratch()))
        lines = stack.enter_context((folder / "fleet.log").open("w"))
        work = sources.find()
        console.print(_about(work))
        server = stack.enter_context(Server(folder / "postgres"))
        install(server.url)
        settings = DatabaseSettings(database_url=server.url, database_url_file=None)
        own = stack.enter_context(connect(settings, name="demo"))

        def say(name: str, text: str) -> None:
            print(name, text, file=lines, flush=True)

        fleet = Fleet(
            environment={
                "FAIRLEAD_DATABASE_URL": server.url,
                "FAIRLEAD_LOG_FORMAT": "json",
                "PYTHONPATH": str(
                    _CHECKOUT
                ),  # workers import `examples`, which is not installed
            },
            say=say,
            folder=folder,
        )
        stack.callback(lambda: fleet.end(fleet.names(), seconds=10.0))
        scene = Scene(
            folder / "policy.yaml",
            [name for name, _ in work.flood[:_WEIGHED]],
            url=server.url,
            own=own,
            say=say,
        )
        log.configure("json", to=log.LineWriter("autoscaler", say))
        serving = Rows(server.url)
        stack.callback(serving.close)
        pods = LocalPods(fleet, worker, serving, pool=POOL, replicas=WORKERS_MIN)
        scaling = Scaling(pods, server.url)
        course = Course(own, fleet, work, random.Random(seed), scene, scaling.look)
        course.begin()
        stack.enter_context(scaling)
        with screen(console, live=how.live) as show:
            ended = course.run(show, stop)
        if not ended:
            console.print(f"the demo was stopped or did not end; {_tail(folder / 'fleet.log')}")
            return False
        return course.finish(console, plot, as_json=how.as_json)


def _about(work: sources.Sources) -> str:
    left_out = f" ({work.left_out:,} long ones left out)" if work.left_out else ""
    packages = f"{len(work.packages)} packages, one tenant each"
    return f"{work.files:,} Python files of {packages}{left_out}"


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that the server's account can enter, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="fairlead-demo-", dir=account.state_dir())
    Path(folder.name).chmod(0o755)  # the server's account must enter it
    return folder


def _tail(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()[-12:]
    return "the fleet's last lines:\n" + "\n".join(lines)


if __name__ == "__main__":
    app(prog_name="python -m examples.demo")
