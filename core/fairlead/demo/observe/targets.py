"""Where Prometheus finds the fleet's pages: files of targets, with labels as in a cluster.

A pod's name is its process's, so that queries, dashboards and alerts are the same here and on
Kubernetes.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = "fairlead"
JOB = "fairlead"


@dataclass(frozen=True, slots=True)
class Target:
    """A program's page: the program's name, what it is, its port on loopback, its process."""

    name: str
    container: str
    """scheduler, worker or autoscaler."""
    port: int
    pid: int

    @property
    def url(self) -> str:
        """Where a person reads it."""
        return f"http://127.0.0.1:{self.port}/metrics"


def write(path: Path, targets: Iterable[Target]) -> None:
    """Write a file of targets whole or not at all: Prometheus reads it when it changes."""
    found = [
        {
            "targets": [f"127.0.0.1:{each.port}"],
            "labels": {
                "namespace": NAMESPACE,
                "pod": each.name,
                "container": each.container,
                # Labels with two underscores are for Prometheus alone, and for `read`.
                "__pid": str(each.pid),
            },
        }
        for each in targets
    ]
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(found, indent=2))
    partial.replace(path)


def read(path: Path) -> tuple[Target, ...]:
    """Return what a file of targets says; nothing while there is none."""
    if not path.exists():
        return ()
    return tuple(
        Target(
            name=each["labels"]["pod"],
            container=each["labels"]["container"],
            port=int(each["targets"][0].rpartition(":")[2]),
            pid=int(each["labels"]["__pid"]),
        )
        for each in json.loads(path.read_text("utf-8"))
    )
