"""How long statements took, read from the server's own log.

`log_min_duration_statement = 0` on one database makes PostgreSQL write each statement with its
duration. Fairlead's statements begin with a comment that names them, so durations can be told
apart without asking any process of Fairlead for its own opinion.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from bench.server import Server

_LINE = re.compile(rb"duration: ([0-9.]+) ms +\S+ [^:]*: /\* (\w+): (\w+) \*/")
_SETTINGS = {"log_min_duration_statement": "0", "log_parameter_max_length": "0"}


@dataclass(frozen=True, slots=True)
class Durations:
    """Durations in milliseconds by `package: name`."""

    by_name: dict[str, tuple[float, ...]]

    def of(self, name: str) -> tuple[float, ...]:
        """Return the durations of a statement, whichever package it belongs to."""
        return tuple(
            duration
            for full_name, durations in self.by_name.items()
            if full_name.partition(": ")[2] == name
            for duration in durations
        )


def switch_on(server: Server, database: str) -> None:
    """Have every statement of new sessions in this database logged, without its parameters."""
    for name, value in _SETTINGS.items():
        server.execute(f"alter database {database} set {name} = {value}")


def position(server: Server) -> int:
    """Return where the log ends now."""
    return server.log.stat().st_size


def read(log: Path, first: int, last: int) -> Durations:
    """Read the durations between two positions."""
    with log.open("rb") as file:
        file.seek(first)
        text = file.read(last - first)
    found: dict[str, list[float]] = defaultdict(list)
    for match in _LINE.finditer(text):
        found[f"{match[2].decode()}: {match[3].decode()}"].append(float(match[1]))
    return Durations({name: tuple(durations) for name, durations in found.items()})
