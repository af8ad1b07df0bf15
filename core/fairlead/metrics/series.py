"""Descriptions of metrics: each program lists all of its own in one table, `SERIES`.

The program makes its metrics from the table, and docs/reference/metrics.md is generated from
it. This module does not import prometheus_client: a worker's child counts without it.
"""

from dataclasses import dataclass
from typing import Literal

PREFIX = "fairlead"
"""Every name begins with it."""

Type = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Series:
    """One entry of a table.

    The name has the unit and, for a counter, `_total`, but not the prefix.
    """

    name: str
    type: Type
    about: str
    """One or two sentences: what it measures, and what it does not."""
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, without the last, +Inf."""
    by_leader: bool = False
    """Whether only the leader shows it, so that the maximum over processes is its value."""

    @property
    def full_name(self) -> str:
        """The name in Prometheus; a histogram's samples add `_bucket`, `_sum`, `_count`."""
        return f"{PREFIX}_{self.name}"

    @property
    def help(self) -> str:
        """The help text on the page that is scraped."""
        return f"{self.about} Shown by the leader only." if self.by_leader else self.about


def counter(name: str, about: str, *labels: str) -> Series:
    """Describe a counter of one process; its name ends in `_total`."""
    return Series(name, "counter", about, labels)


def gauge(name: str, about: str, *labels: str) -> Series:
    """Describe a gauge that each process shows."""
    return Series(name, "gauge", about, labels)


def leaders(name: str, about: str, *labels: str) -> Series:
    """Describe a gauge that only the leader shows."""
    return Series(name, "gauge", about, labels, by_leader=True)


def histogram(name: str, about: str, bounds: tuple[float, ...], *labels: str) -> Series:
    """Describe a histogram of one process."""
    return Series(name, "histogram", about, labels, bounds)


BUILD_INFO = gauge(
    "build_info",
    "Always 1; its labels are the program and its version.",
    "program",
    "version",
)
LEADER = gauge(
    "leader", "1 while this process leads; at most one process of each program does.", "program"
)
LEADER_TRANSITIONS = counter(
    "leader_transitions_total", "Take-overs by this process.", "program"
)
RELOAD_SUCCESSFUL = leaders(
    "config_last_reload_successful",
    "1 while the newest policy document could be read, 0 while an older one stays in force.",
)
RELOADED_AT = leaders(
    "config_last_reload_timestamp_seconds",
    "When a policy document was last put in force, in seconds since 1970.",
)
GENERATION = leaders("config_generation", "Version of the policy that this program applies.")
