"""Redraw the pictures of the docs, from a fleet that this runs and disturbs for them.

    python -m docs.generate.dashboards.pictures

takes seven minutes and needs Prometheus on this machine (Debian: `prometheus`). The page
docs/how-to/watch-in-grafana.md describes what happens in the fleet, and when.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from docs.generate.dashboards.draw import FOLDER, draw_all
from fairlead.db.connect import connect
from fairlead.policy_storage import store
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev import account, process_table
from tests.support.observed import schedule
from tests.support.observed.fleet import LOAD, Observed, Shape

_MINUTES = 6.5
_RULES = Path(__file__).parents[3] / "docs/reference/alerts.yaml"
_SHADOW = "shadow: {version: 1, every: 10s}\n"
_LOOK_SECONDS = 0.2
_STOP_SECONDS = 10.0


class Harm:
    """The faults that are injected into the fleet."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._frozen: list[int] = []

    def freeze(self) -> None:
        """Stop a worker and its children."""
        living = process_table.living().values()
        self._frozen = [
            next(each.pid for each in self._observed.targets() if each.container == "worker")
        ]
        for pid in self._frozen:
            self._frozen += [each.pid for each in living if each.parent == pid]
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue them; a repeat does nothing."""
        self._signal(signal.SIGCONT)
        self._frozen = []

    def restart(self) -> None:
        """Restart PostgreSQL."""
        self._observed.server.restart()

    def leave(self) -> None:
        """Stop inserting jobs."""
        self._observed.fleet.end([LOAD], seconds=_STOP_SECONDS)

    def come(self) -> None:
        """Insert jobs again."""
        self._observed.start(LOAD)

    def plan(self) -> list[tuple[float, Callable[[], None]]]:
        """Return each fault with its seconds after the start."""
        return [
            (215, self.freeze),
            (240, self.thaw),
            (273, self.restart),
            (312, self.leave),
            (335, self.come),
        ]

    def _signal(self, what: signal.Signals) -> None:
        for pid in self._frozen:
            os.kill(pid, what)


def main() -> None:
    """Run the fleet, and draw what Prometheus recorded."""
    with ExitStack() as leaving:
        made = tempfile.TemporaryDirectory(prefix="fairlead-pictures-", dir=account.state_dir())
        folder = Path(leaving.enter_context(made))
        folder.chmod(0o755)  # the server's account must enter it
        shape = Shape(rules=[_RULES], environment={"FAIRLEAD_REPORT_SECONDS": "1"})
        observed = leaving.enter_context(Observed(folder, shape, lambda _name, _line: None))
        settings = DatabaseSettings(database_url=observed.url, database_url_file=None)
        with connect(settings, name="pictures") as own:
            store(own, schedule.policy(*shape.workers) + _SHADOW, author="pictures")
        harm = Harm(observed)
        leaving.callback(harm.thaw)
        end = time.time() + 60 * _MINUTES
        _live(observed, harm, end)
        draw_all(
            FOLDER,
            observed.prometheus.url,
            end=end,
            minutes=_MINUTES,
            rate_interval="15s",
            objective="2.5",
        )


def _live(observed: Observed, harm: Harm, end: float) -> None:
    """Run the fleet until then, and inject the planned faults."""
    start, rest = time.time(), harm.plan()
    while time.time() < end:
        while rest and time.time() - start >= rest[0][0]:
            rest.pop(0)[1]()
        observed.look()
        time.sleep(_LOOK_SECONDS)


if __name__ == "__main__":
    main()
