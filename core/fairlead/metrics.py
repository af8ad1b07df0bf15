"""What every program of Fairlead measures: where its series live, and which build it is.

Each program has a registry of its own, so that two of them in one process never share a series.
"""

from importlib.metadata import version

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

PREFIX = "fairlead"
"""Every series begins with it."""


def kinds_of(allowlist: str) -> frozenset[str]:
    """Return the kinds that a setting names, separated by commas; none: all are told apart."""
    return frozenset(each.strip() for each in allowlist.split(",") if each.strip())


def new_registry(program: str) -> CollectorRegistry:
    """Return a registry that holds the process's own series and `fairlead_build_info`."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    Gauge(
        "build_info",
        "Always 1; its labels say which build of which program this is.",
        ("program", "version"),
        namespace=PREFIX,
        registry=registry,
    ).labels(program, version("fairlead")).set(1)
    return registry
