"""The observed fleet's autoscaler: a program that owns the workers, as `fairlead dev` does.

It scales by the policy in the database, serves its metrics at its health port, and writes the
workers' pages into a file of targets. It stops its workers when it ends.
"""

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from fairlead.runtime import log
from fairlead.runtime.arguments import Parser
from fairlead.runtime.health import Health
from fairlead.service import stopping
from fairlead.settings import ServiceSettings
from fairlead_autoscaler.metrics.registry import Metrics
from fairlead_cli.dev.fleet import Fleet, Program
from fairlead_cli.dev.local_pods import LocalPods
from fairlead_cli.dev.ports import free_port
from fairlead_cli.dev.scaling import Rows, Scaling
from fairlead_cli.dev.worker_count import POOL
from tests.support.observed import targets
from tests.support.observed.schedule import SLOTS
from tests.support.observed.targets import Target

_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 3
_HERE = "127.0.0.1"


def main() -> None:
    """Run until SIGTERM or SIGINT."""
    parser = Parser(prog="tests.support.observed.pods")
    parser.add_argument("--targets", type=Path, required=True)
    parser.add_argument("--replicas", type=int, required=True)
    given = parser.parse_args()
    settings = ServiceSettings()
    log.configure(settings.log_format, settings.log_level)
    stop, metrics = threading.Event(), Metrics()
    url = settings.database_url
    with ExitStack() as leaving:
        leaving.enter_context(stopping(stop=stop, again=threading.Event()))
        port = settings.health_port
        if port is not None:
            pages = Health(ready=lambda: True, registry=metrics.registry, port=port, host=_HERE)
            leaving.enter_context(pages)
        workers = Workers(given.targets)
        leaving.callback(workers.end)
        serving = leaving.enter_context(closing(Rows(url)))
        pods = LocalPods(
            workers.fleet, workers.make, serving, pool=POOL, replicas=given.replicas
        )
        scaling = leaving.enter_context(Scaling(pods, url, metrics))
        while not stop.wait(_LOOK_SECONDS):
            scaling.look()
            workers.look()


class Workers:
    """The workers' processes, with a page each.

    Args:
        path: The file of their targets.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._ports: dict[str, int] = {}
        self._written: tuple[Target, ...] | None = None
        self.fleet = Fleet(environment={}, say=_say, folder=Path.cwd())

    def make(self, name: str, environment: Mapping[str, str]) -> Program:
        """Return the program of a worker, which keeps its port when it is restarted."""
        self._ports[name] = free_port()
        page = {"FAIRLEAD_HEALTH_PORT": str(self._ports[name]), "FAIRLEAD_HEALTH_HOST": _HERE}
        flags = (
            *("--app", "tests.support.observed.shop:tasks", "--name", name),
            *("--concurrency", str(SLOTS), "--grace-seconds", str(_GRACE_SECONDS)),
        )
        return Program(name, "fairlead_worker.main", flags, {**environment, **page})

    def look(self) -> None:
        """Restart dead workers, and write the file of targets."""
        self.fleet.revive()
        found = tuple(
            Target(name, "worker", self._ports[name], self.fleet.pid(name))
            for name in self.fleet.names()
        )
        if found != self._written:
            targets.write(self._path, found)
            self._written = found

    def end(self) -> None:
        """Stop all workers."""
        self.fleet.end(self.fleet.names(), seconds=_GRACE_SECONDS + 5.0)


def _say(name: str, line: str) -> None:
    os.write(2, f"{name}: {line}\n".encode())


if __name__ == "__main__":
    main()
