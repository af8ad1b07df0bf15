"""A Grafana with the fleet's dashboards, if its program is installed."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from fairlead_cli.dev.ports import free_port

_STOP_SECONDS = 10.0
_INSTALL_FOLDERS = (
    "/usr/share/grafana",
    "/opt/grafana",
    "/opt/homebrew/opt/grafana/share/grafana",
)


def command() -> tuple[str, ...] | None:
    """Return the command of its server; None: it is not installed."""
    server = shutil.which("grafana-server")
    if server is not None:
        return (server,)
    found = shutil.which("grafana")
    return None if found is None else (found, "server")


def provisioning(dashboards: Path, prometheus: str) -> Mapping[str, str]:
    """Return the files below its folder `provisioning`, as JSON, which is YAML too.

    Args:
        dashboards: The folder of the dashboards, *.json.
        prometheus: The address of what they ask.
    """
    source = {"name": "Prometheus", "type": "prometheus", "uid": "prometheus"}
    how = {"access": "proxy", "isDefault": True, "jsonData": {"timeInterval": "1s"}}
    sources = [{**source, **how, "url": prometheus}]
    provider = {"name": "fairlead", "type": "file", "options": {"path": str(dashboards)}}
    return {
        "datasources/fairlead.yaml": json.dumps({"apiVersion": 1, "datasources": sources}),
        "dashboards/fairlead.yaml": json.dumps({"apiVersion": 1, "providers": [provider]}),
    }


def settings(folder: Path, port: int) -> Mapping[str, str]:
    """Return its environment: all data below one folder, and no log-in."""
    return {
        "GF_PATHS_DATA": str(folder / "data"),
        "GF_PATHS_LOGS": str(folder / "logs"),
        "GF_PATHS_PLUGINS": str(folder / "plugins"),
        "GF_PATHS_PROVISIONING": str(folder / "provisioning"),
        "GF_SERVER_HTTP_ADDR": "127.0.0.1",
        "GF_SERVER_HTTP_PORT": str(port),
        "GF_AUTH_ANONYMOUS_ENABLED": "true",
        "GF_AUTH_ANONYMOUS_ORG_ROLE": "Viewer",
        "GF_ANALYTICS_REPORTING_ENABLED": "false",
        "GF_ANALYTICS_CHECK_FOR_UPDATES": "false",
    }


class Grafana:
    """Runs it from `start` until `stop`.

    Args:
        called: As `command` returns it.
        folder: Where its data, log and settings go; it must exist.
        dashboards: The folder of the dashboards.
        prometheus: The address of what they ask.
    """

    def __init__(
        self, called: tuple[str, ...], folder: Path, *, dashboards: Path, prometheus: str
    ) -> None:
        self._called = called
        self._folder = folder
        self._files = provisioning(dashboards, prometheus)
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it; it answers some seconds later. The calling thread must outlive it."""
        for name, text in self._files.items():
            path = self._folder / "provisioning" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        home = next((each for each in _INSTALL_FOLDERS if Path(each).is_dir()), None)
        place = () if home is None else ("--homepath", home)
        owned = (sys.executable, "-m", "fairlead_cli.dev.bound_program", str(os.getpid()))
        with (self._folder / "grafana.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*owned, *self._called, *place],
                cwd=self._folder,
                env={**os.environ, **settings(self._folder, self._port)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def stop(self) -> None:
        """Ask it to stop; after ten seconds it is killed. A repeat does nothing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
