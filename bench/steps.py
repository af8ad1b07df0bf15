"""A leader's CPU time by step: the unchanged scheduler with a clock at each of its steps.

`python -m bench.steps` runs `fairlead-scheduler` with a few of its methods wrapped, which add
the CPU time of their thread to a memory-mapped file. A round takes some hundred jobs and passes
ten such clocks, so they cost a hundredth of a microsecond per job. The figures are those of a
live leader, with the driver, next to a server and a worker that compete for the processor's
caches, not of its code alone in a loop.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from time import thread_time_ns
from typing import NamedTuple, ParamSpec, TypeVar

from bench.probe import FOLDER_VARIABLE
from fairlead_scheduler import program as scheduler
from fairlead_scheduler.loop.loop import Loop
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.loop.store import LoopStore
from fairlead_scheduler.report.builder import ReportBuilder

P = ParamSpec("P")
R = TypeVar("R")
FILE = "steps.cells"


class Step(NamedTuple):
    """One step of a leader's round, and the method that does it."""

    key: str
    label: str
    owner: type
    method: str


STEPS = (
    Step("ask", "choose what to read", LeaderState, "next_read"),
    Step("observe", "read it", LoopStore, "observe"),
    Step("learn", "take it in", LeaderState, "learn"),
    Step("plan", "plan", LeaderState, "plan"),
    Step("dispatch", "send the jobs", LoopStore, "dispatch"),
    Step("dispatched", "note what went", LeaderState, "dispatched"),
    Step("report", "report", ReportBuilder, "step"),
)
"""No step contains another; each runs on the loop's thread."""
_ROUND = Step("round", "a round", Loop, "step")
_TIMED = (*STEPS, _ROUND)
_FILE_BYTES = 8 * len(_TIMED)


def _mapped(folder: Path, access: int) -> memoryview:
    path = folder / FILE
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), _FILE_BYTES, access=access)).cast("q")


def timed(cells: memoryview, place: int, method: Callable[P, R]) -> Callable[P, R]:
    """Return `method` wrapped to add its thread's CPU time to a cell, in nanoseconds."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        begun = thread_time_ns()
        try:
            return method(*args, **kwargs)
        finally:
            cells[place] += thread_time_ns() - begun

    return call


def put_clocks(folder: Path) -> None:
    """Count every step of this process's schedulers in a file of this folder."""
    begun = folder / f"{FILE}.new"
    begun.write_bytes(bytes(_FILE_BYTES))
    begun.rename(folder / FILE)
    cells = _mapped(folder, mmap.ACCESS_WRITE)
    for place, step in enumerate(_TIMED):
        method: Callable[..., object] = getattr(step.owner, step.method)
        setattr(step.owner, step.method, timed(cells, place, method))


class Clocks:
    """The harness's view of the clocks; `put_clocks` must have run."""

    def __init__(self, folder: Path) -> None:
        """Read the clocks of this folder."""
        self._cells = _mapped(folder, mmap.ACCESS_READ)

    def seconds(self) -> dict[str, float]:
        """Return the CPU seconds of each step so far, and of whole rounds."""
        return {step.key: cell / 1e9 for step, cell in zip(_TIMED, self._cells, strict=True)}


def split(
    before: dict[str, float], after: dict[str, float], whole_seconds: float
) -> dict[str, float]:
    """Return the CPU seconds of each step, out of those of a process.

    The rest of a round, and the rest of the process, are steps too.
    """
    spent = {key: after[key] - before[key] for key in after}
    rounds = spent.pop(_ROUND.key)
    return {
        **spent,
        "rest": rounds - sum(spent.values()),
        "others": whole_seconds - rounds,
    }


LABELS = {
    **{step.key: step.label for step in STEPS},
    "rest": "the rest of a round",
    "others": "rests, sweeps and renewals",
}
"""What `split` returns, in words."""


def main() -> None:
    """Run a scheduler with clocks until SIGTERM."""
    put_clocks(Path(os.environ[FOLDER_VARIABLE]))
    scheduler.main()


if __name__ == "__main__":
    main()
