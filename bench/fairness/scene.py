"""What a scene on PostgreSQL found: some rows of figures, and those that targets are about.

A scene is a workload that is not only played: something is done to the fleet meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from bench.fairness.figures import Figures
from bench.fairness.workload import Workload
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows by their names, in their order, and the figures that are judged."""

    rows: Mapping[str, Figures]
    judged: Figures


Scene = Callable[[Server, Workload, Sequence[Arrival], int], Found]
"""Called with the server, the workload, its traffic and the seed."""
