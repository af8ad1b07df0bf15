"""One Prometheus of our own: on loopback, over a folder of its own, stopped by its process.

Its program is the user's, or Debian's package.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Self, cast
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

from fairlead_cli.dev.ports import free_port
from tests.support.observed.targets import JOB

PROGRAM = "prometheus"
ABSENT = (
    "prometheus is not on this machine: install it (Debian: apt-get install "
    "--no-install-recommends prometheus), or put its program into PATH"
)
_START_SECONDS = 120.0
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.05
_CALL_SECONDS = 60.0
_LOG_LINES = 12
_open = build_opener(ProxyHandler({})).open
"""Bypasses proxies: it is on this machine."""


class PrometheusError(Exception):
    """Prometheus is not installed, does not start or refuses a query, as one sentence."""


def program() -> str:
    """Return where the program is.

    Raises:
        PrometheusError: it is not there; the sentence says how to get it.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise PrometheusError(ABSENT)
    return found


def settings(targets: Path, rules: Sequence[Path], *, every_seconds: float) -> str:
    """Return its configuration, as JSON, which is YAML too.

    Args:
        targets: The folder of the files of targets, *.json.
        rules: Files of rules.
        every_seconds: Between two scrapes of a page, and between two looks at the rules.
    """
    every = f"{round(every_seconds * 1000)}ms"
    found = {"files": [str(targets / "*.json")], "refresh_interval": "1s"}
    scraped = {"job_name": JOB, "honor_timestamps": False, "file_sd_configs": [found]}
    times = {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every}
    files = [str(each) for each in rules]
    said = {"global": times, "rule_files": files, "scrape_configs": [scraped]}
    return json.dumps(said, indent=2)


class Prometheus:
    """Scrapes the targets of a folder, from `start` until `stop`; a context does both.

    Args:
        folder: Where its data and its log go; it must exist.
        targets: The folder of the files of targets.
        rules: Files of rules.
        every_seconds: Between two scrapes of a page, and between two looks at the rules.
    """

    def __init__(
        self,
        folder: Path,
        *,
        targets: Path,
        rules: Sequence[Path] = (),
        every_seconds: float = 1.0,
    ) -> None:
        self._folder = folder
        self._settings = settings(targets, rules, every_seconds=every_seconds)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Its address, once started."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it and wait until it is ready. The calling thread must outlive it.

        Raises:
            PrometheusError: it is not on this machine, or does not start; the text ends with
                the last lines of its log.
        """
        found = program()
        self._port = free_port()
        chosen = self._folder / "prometheus.yml"
        chosen.write_text(self._settings)
        command = [
            *(sys.executable, "-m", "fairlead_cli.dev.bound_program", str(os.getpid()), found),
            f"--config.file={chosen}",
            f"--storage.tsdb.path={self._folder / 'data'}",
            "--storage.tsdb.retention.time=1d",
            f"--web.listen-address=127.0.0.1:{self._port}",
        ]
        # A Ctrl-C is for its owner, who stops it, also before the session is a new one.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        try:
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        try:
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def page(self, name: str) -> str:
        """Return the address of a page for people, such as `alerts`.

        Debian's package leaves the newer pages out and has the ones before them.
        """
        page = f"{self.url}/{name}"
        return page if _answers(page) else f"{self.url}/classic/{name}"

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

    def is_running(self) -> bool:
        """Return whether its process is alive."""
        return self._process is not None and self._process.poll() is None

    def ask(self, what: str, **values: str) -> object:
        """Return the data of an answer of `/api/v1/`.

        Args:
            what: Such as `query` or `alerts`.
            values: The question's parameters.

        Raises:
            PrometheusError: it refused; the sentence is its own.
        """
        url = f"{self.url}/api/v1/{what}?{urlencode(values)}"
        try:
            with _open(url, timeout=_CALL_SECONDS) as answer:
                said = cast("dict[str, object]", json.load(answer))
        except HTTPError as error:
            with error:
                body = error.read().decode(errors="replace")
            raise PrometheusError(_refusal(body)) from None
        except (OSError, HTTPException) as error:
            raise PrometheusError(
                f"Prometheus does not answer at {self.url}: {error}"
            ) from None
        return said["data"]

    @property
    def _log(self) -> Path:
        return self._folder / "prometheus.log"

    def _await_ready(self) -> None:
        deadline = monotonic() + _START_SECONDS
        while not self._ready():
            if not self.is_running():
                raise PrometheusError(f"Prometheus stopped while it started:\n{self._said()}")
            if monotonic() > deadline:
                raise PrometheusError(
                    f"Prometheus is not ready after {_START_SECONDS:g} s:\n{self._said()}"
                )
            sleep(_POLL_SECONDS)

    def _ready(self) -> bool:
        return _answers(f"{self.url}/-/ready")

    def _said(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-_LOG_LINES:])


def _refusal(body: str) -> str:
    """Return Prometheus' error message for a query."""
    try:
        return str(cast("dict[str, object]", json.loads(body))["error"])
    except (ValueError, KeyError):
        return body.strip() or "Prometheus refused the question and said nothing"


def _answers(address: str) -> bool:
    try:
        with _open(address, timeout=_CALL_SECONDS):
            return True
    except (OSError, HTTPException):  # it is not there, or not yet
        return False
