"""The worker's checked settings as plain values.

A parent has little memory, and the library that checks settings takes a quarter of it. So a
process of its own (`fairlead_worker.settings`) reads and checks them, prints the values as one
line of JSON and exits.
"""

import json
import os
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from fairlead.runtime.log_choices import LogFormat


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerConfig:
    """Checked values; `fairlead_worker.settings.WorkerSettings` documents each one."""

    database_url: str = field(repr=False)  # it may hold a password
    database_url_file: Path | None
    database_password_command: str = field(repr=False)
    database_password_seconds: int
    database_direct: bool
    connect_timeout_seconds: int
    network_timeout_seconds: int
    release: str
    app: str
    pool: str
    concurrency: int
    processes: int
    quarantine_processes: int
    isolate_blocking_kinds: bool
    until_empty: bool
    jobs: int | None
    worker_name: str
    pod_uid: str | None
    pod_name: str | None
    worker_lease_seconds: float
    worker_renew_seconds: float
    worker_margin_seconds: float
    worker_call_seconds: float
    grace_seconds: float
    overrun_grace_seconds: float
    health_port: int | None
    health_host: str
    metrics_kind_allowlist: str
    metrics_wait_bounds: tuple[float, ...]
    """In seconds, ascending."""
    log_format: LogFormat
    log_level: str

    def line(self) -> bytes:
        """Return the line that `from_line` reads."""
        return json.dumps(asdict(self), default=str).encode() + b"\n"


class SettingsRefused(Exception):
    """The settings were refused, or only help was wanted; the process has printed the reason.

    Args:
        code: the exit code to end with.
    """

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def from_line(line: bytes) -> WorkerConfig:
    """Read the line that `WorkerConfig.line` made."""
    values = json.loads(line)
    file, bounds = values.pop("database_url_file"), values.pop("metrics_wait_bounds")
    return WorkerConfig(
        database_url_file=None if file is None else Path(file),
        metrics_wait_bounds=tuple(bounds),
        **values,
    )


class SettingsProcess:
    """The process that reads and checks the settings, while this one does something else.

    Args:
        arguments: the command line without the program's name.
    """

    def __init__(self, arguments: tuple[str, ...]) -> None:
        self._pipe, theirs = os.pipe()
        command = [sys.executable, "-m", "fairlead_worker.settings", str(theirs), *arguments]
        self._process = subprocess.Popen(command, pass_fds=[theirs])
        os.close(theirs)

    def config(self) -> WorkerConfig:
        """Wait for the values.

        Raises:
            SettingsRefused: there are none; standard error or output says why.
        """
        with os.fdopen(self._pipe, "rb") as pipe:
            line = pipe.read()
        code = self._process.wait()
        if code != 0 or not line:
            raise SettingsRefused(code)
        return from_line(line)
