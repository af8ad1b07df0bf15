"""What a series is: each program's room names all of its own in one table, `SERIES`.

A table is what the program makes its series from and what the page of metrics is written from.
Nothing of prometheus-client is imported here: a worker's child counts without it.
"""

from dataclasses import dataclass
from typing import Literal

PREFIX = "fairlead"
"""Every series begins with it."""

Type = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Series:
    """One series, as its table has it.

    Its name has the unit and, of a counter, `_total`, but not the prefix.
    """

    name: str
    type: Type
    about: str
    """One or two sentences: what it says, and what it does not."""
    labels: tuple[str, ...] = ()
    bounds: tuple[float, ...] = ()
    """Upper bounds of a histogram's buckets, without the last one, which is +Inf."""
    by_leader: bool = False
    """Whether the process that leads shows it alone, so that the maximum is the truth."""

    @property
    def full_name(self) -> str:
        """What Prometheus calls it; a histogram's samples add `_bucket`, `_sum`, `_count`."""
        return f"{PREFIX}_{self.name}"

    @property
    def help(self) -> str:
        """What stands beside it on the page that is scraped."""
        return f"{self.about} Shown by the leader only." if self.by_leader else self.about


def counter(name: str, about: str, *labels: str) -> Series:
    """Describe a counter, of this process; its name ends in `_total`."""
    return Series(name, "counter", about, labels)


def gauge(name: str, about: str, *labels: str) -> Series:
    """Describe a gauge that each process shows."""
    return Series(name, "gauge", about, labels)


def leaders(name: str, about: str, *labels: str) -> Series:
    """Describe a gauge that only the leader shows."""
    return Series(name, "gauge", about, labels, by_leader=True)


def histogram(name: str, about: str, bounds: tuple[float, ...], *labels: str) -> Series:
    """Describe a histogram, of this process."""
    return Series(name, "histogram", about, labels, bounds)


BUILD_INFO = gauge(
    "build_info",
    "Always 1; its labels say which build of which program this is.",
    "program",
    "version",
)
LEADER = gauge(
    "leader", "1 while this process leads; of each program one does, or nobody.", "program"
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
    "When a policy document was taken last, in seconds since 1970.",
)
GENERATION = leaders(
    "config_generation", "The version of the policy that this program goes by."
)
