"""A machine and outcomes of a small workload, for tests of the benches' tables."""

from bench.fairness.contenders.registry import FAIRLEAD, REAL
from bench.fairness.results.outcome import Outcome
from bench.fairness.traffic.workload import Workload
from bench.machine import Machine

MACHINE = Machine(
    cpu_model="a processor",
    cores=2,
    memory_gib=8,
    kernel="1",
    python="3.11",
    commit="abc",
    date="2026-01-01T00:00:00+00:00",
)
_FIGURE = "quiet_p99_seconds"
_WORKLOAD = Workload.model_validate(
    {
        "title": "small",
        "slots": 1,
        "seconds": 2,
        "show": [_FIGURE],
        "targets": {_FIGURE: {"at_most": 0.5, "missed_because": "Slow."}},
    }
)


def outcome(*, simulated: float, real: float) -> Outcome:
    """Return what was found of it, simulated and on PostgreSQL."""
    found = {FAIRLEAD: {_FIGURE: simulated}, REAL: {_FIGURE: real}}
    return Outcome(
        name="X", workload=_WORKLOAD, seed=1, jobs=1, measured=found, evaluated=found
    )
