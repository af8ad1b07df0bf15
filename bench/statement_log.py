"""Durations of statements, read from the server's own log.

`log_min_duration_statement = 0` on one database makes PostgreSQL write each statement with its
duration. Fairlead's statements begin with a comment that names them, so the log attributes
durations without asking Fairlead's processes.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from bench.server import Server

_LINE = re.compile(
    rb"\[(\d+)\] [^\n]*?duration: ([0-9.]+) ms +(parse|bind|execute) [^:\n]*: "
    rb"/\* ([\w.]+): (\w+) \*/"
)
_EXECUTED = re.compile(
    rb"\[\d+\] ([^\n]*?) ?LOG: +duration: [0-9.]+ ms +(?:execute|statement|fastpath)"
)
_PARAMETERS = re.compile(
    rb"execute [^:\n]*: /\* [\w.]+: (\w+) \*/(?:(?!duration:).)*?Parameters: ([^\n]*)\n",
    re.DOTALL,
)
_VALUE = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')")


@dataclass(frozen=True, slots=True)
class Durations:
    """Durations in milliseconds by `package: name`, parsing and planning included."""

    by_name: dict[str, tuple[float, ...]]

    def of(self, name: str) -> tuple[float, ...]:
        """Return the durations of a statement, whichever package it belongs to."""
        return tuple(
            duration
            for full_name, durations in self.by_name.items()
            if full_name.partition(": ")[2] == name
            for duration in durations
        )


def switch_on(server: Server, database: str, *, with_parameters: bool = False) -> None:
    """Log every statement of new sessions in this database with its duration."""
    settings = {
        "log_min_duration_statement": "0",
        "log_parameter_max_length": "-1" if with_parameters else "0",
    }
    for name, value in settings.items():
        server.execute(f"alter database {database} set {name} = {value}")


def switch_off(server: Server, database: str) -> None:
    """Restore the server's logging for new sessions of this database."""
    server.execute(f"alter database {database} reset all")


def switch_all_on(server: Server, *, with_parameters: bool = False) -> None:
    """Log every statement, also of existing sessions, from their next one on."""
    server.execute("alter system set log_min_duration_statement = 0")
    length = "-1" if with_parameters else "0"
    server.execute(f"alter system set log_parameter_max_length = {length}")
    server.execute("select pg_reload_conf()")


def switch_all_off(server: Server) -> None:
    """Restore the logging; a repeat changes nothing."""
    server.execute("alter system reset log_min_duration_statement")
    server.execute("alter system reset log_parameter_max_length")
    server.execute("select pg_reload_conf()")


def position(server: Server) -> int:
    """Return where the log ends now."""
    return server.log.stat().st_size


def _text(log: Path, first: int, last: int) -> bytes:
    with log.open("rb") as file:
        file.seek(first)
        return file.read(last - first)


def read(log: Path, first: int, last: int) -> Durations:
    """Read the durations between two positions.

    The extended protocol logs parse, bind (which plans) and execute separately; they are added
    up.
    """
    found: dict[str, list[float]] = defaultdict(list)
    prepared: dict[bytes, float] = defaultdict(float)
    for match in _LINE.finditer(_text(log, first, last)):
        pid, milliseconds, step, package, name = match.groups()
        if step == b"execute":
            full_name = f"{package.decode()}: {name.decode()}"
            found[full_name].append(float(milliseconds) + prepared.pop(pid, 0.0))
        else:
            prepared[pid] += float(milliseconds)
    return Durations({name: tuple(durations) for name, durations in found.items()})


def executions(log: Path, first: int, last: int) -> dict[str, int]:
    """Return how many statements each application name has executed between two positions."""
    return Counter(
        match[1].decode().strip() for match in _EXECUTED.finditer(_text(log, first, last))
    )


def parameters(log: Path, first: int, last: int, name: str) -> tuple[tuple[str, ...], ...]:
    """Return the parameters of each execution of a statement as SQL literals, in order."""
    return tuple(
        tuple(_VALUE.findall(match[2].decode()))
        for match in _PARAMETERS.finditer(_text(log, first, last))
        if match[1].decode() == name
    )
