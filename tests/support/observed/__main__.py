"""`make observe`: run the observed fleet until Ctrl-C, and print its addresses."""

import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

from fairlead.runtime.arguments import Parser, refuse
from fairlead.service import stopping
from fairlead_cli.dev import account
from fairlead_cli.dev.binaries import PostgresError
from tests.support.observed import grafana, prometheus
from tests.support.observed.fleet import Observed, Shape
from tests.support.observed.grafana import Grafana
from tests.support.observed.prometheus import PrometheusError

_RULES = Path("docs/reference/alerts.yaml")
_DASHBOARDS = Path("charts/fairlead/files/dashboards")
_LOOK_SECONDS = 0.2


def main() -> None:
    """Run it; exit 2 with one sentence if it cannot start."""
    parser = Parser(
        prog="make observe",
        description="Run a fleet with endless work, and a Prometheus that scrapes it.",
    )
    parser.add_argument(
        "--seconds", type=float, help="Stop after this time; not given: at Ctrl-C."
    )
    for name, default, about in (
        ("--rules", _RULES, "The alerts, as a rule file of Prometheus."),
        ("--dashboards", _DASHBOARDS, "The folder of the dashboards."),
    ):
        parser.add_argument(name, type=Path, default=default, help=about)
    given = parser.parse_args()
    for path in (given.rules, given.dashboards):
        if not path.exists():
            refuse(f"{path} is not there: run `make observe` in a checkout, or give its path")
    try:
        prometheus.program()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # after the last line, too
        with stopping(stop=(stop := threading.Event()), again=threading.Event()):
            try:
                _run(given.rules.absolute(), given.dashboards, stop, seconds=given.seconds)
            except (PostgresError, PrometheusError):
                if not stop.is_set():  # what has just been forked hears Ctrl-C too, and ends
                    raise
            _print("stopped")
    except (PostgresError, PrometheusError) as error:
        refuse(str(error))


def _run(
    rules: Path, dashboards: Path, stop: threading.Event, *, seconds: float | None
) -> None:
    with ExitStack() as leaving:
        made = tempfile.TemporaryDirectory(prefix="fairlead-observe-", dir=account.state_dir())
        folder = Path(leaving.enter_context(made))
        folder.chmod(0o755)  # the server's account must enter it
        lines = leaving.enter_context((folder / "fleet.log").open("w"))

        def say(name: str, line: str) -> None:
            print(name, line, file=lines, flush=True)

        _print("starting PostgreSQL, two schedulers, an autoscaler, workers and Prometheus")
        observed = leaving.enter_context(Observed(folder, Shape(rules=[rules]), say))
        for line in _addresses(observed, folder):
            _print(line)
        _print(_grafana(leaving, dashboards, folder, observed.prometheus.url))
        until = None if seconds is None else monotonic() + seconds
        _print("Ctrl-C stops everything." if until is None else f"It ends after {seconds:g} s.")
        while not stop.wait(_LOOK_SECONDS) and (until is None or monotonic() < until):
            observed.look()
            if not observed.prometheus.is_running():
                raise PrometheusError("Prometheus ended: start it all again")


def _addresses(observed: Observed, folder: Path) -> Iterator[str]:
    page = observed.prometheus.page
    yield f"Prometheus   {page('alerts')}   and {page('targets')}"
    for target in observed.targets():
        yield f"{target.name:12} {target.url}"
    yield "workers      come and go; each has a page, which is among the targets"
    yield f"database     export FAIRLEAD_DATABASE_URL={observed.url}"
    yield f"log          {folder / 'fleet.log'}"


def _grafana(leaving: ExitStack, dashboards: Path, folder: Path, url: str) -> str:
    """Start Grafana if it is installed; return the line with its address."""
    command = grafana.command()
    if command is None:
        return (
            "Grafana      is not on this machine: in one of yours, add the address of "
            f"Prometheus as a data source, and import {dashboards}/*.json"
        )
    home = folder / "grafana"
    home.mkdir()
    started = Grafana(command, home, dashboards=dashboards.absolute(), prometheus=url)
    started.start()
    leaving.callback(started.stop)
    return f"Grafana      {started.url}/dashboards   in some seconds, without a log-in"


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
