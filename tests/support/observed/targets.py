"""Files of targets for Prometheus, with the labels that pages have in a cluster.

The label `pod` is the process's name, so that queries, dashboards and alerts are the same here
and on Kubernetes.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

NAMESPACE = "fairlead"
JOB = "fairlead"


@dataclass(frozen=True, slots=True)
class Target:
    """A program's page."""

    name: str
    container: str
    """scheduler, worker or autoscaler."""
    port: int
    pid: int

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://127.0.0.1:{self.port}/metrics"


def write(path: Path, targets: Iterable[Target]) -> None:
    """Replace a file of targets in one step: Prometheus reads it when it changes."""
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
    """Read a file of targets; empty while there is none."""
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
