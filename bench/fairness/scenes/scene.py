"""The result of a scene on PostgreSQL: rows of figures, and those with targets.

A scene is a workload that also acts on the fleet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bench.fairness.results.figures import Figures
from bench.fairness.traffic.workload import Workload
from bench.server import Server
from fairlead_scheduler.simulation.trace import Arrival


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Rows by name, in order, and the figures with targets."""

    rows: Mapping[str, Figures]
    evaluated: Figures
    simulated: Figures = field(default_factory=dict[str, float])
    """The same figures of the scene in simulation, where it is played there as well."""

    def beside(self, word: str, others: Mapping[str, Figures]) -> Found:
        """Return it with other figures of the rows, whose names begin with that word."""
        rows = {
            name: {**row, **{f"{word}_{key}": x for key, x in others.get(name, {}).items()}}
            for name, row in self.rows.items()
        }
        return replace(self, rows=rows)


Scene = Callable[[Server, Workload, Sequence[Arrival], int], Found]
"""Called with the server, the workload, its traffic and the seed."""
