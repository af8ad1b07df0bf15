"""Where a leader's CPU time goes: the scheduler as it is, with a clock at each of its steps.

`python -m bench.steps` runs `fairlead-scheduler` with a few of its methods wrapped, which sum
the CPU time of their thread into a memory-mapped file. A round takes some hundred jobs and
passes ten such clocks, so they cost a hundredth of a microsecond per job. What is told is of a
live leader, with the driver, beside a server and a worker that have used the processor's
caches: not of its code alone in a loop.
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
from fairlead_scheduler import main as scheduler
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.loop import Loop
from fairlead_scheduler.reporter import Reporter
from fairlead_scheduler.store import Store

P = ParamSpec("P")
R = TypeVar("R")
FILE = "steps.cells"


class Step(NamedTuple):
    """One step of a leader's round, and the method that does it."""

    key: str
    label: str
    owner: type
    door: str


STEPS = (
    Step("ask", "say what to read", Knowledge, "ask"),
    Step("look", "read it", Store, "look"),
    Step("learn", "take it in", Knowledge, "learn"),
    Step("plan", "plan", Knowledge, "plan"),
    Step("dispatch", "send the jobs", Store, "dispatch"),
    Step("dispatched", "note what went", Knowledge, "dispatched"),
    Step("report", "report", Reporter, "step"),
)
"""None of them contains another; each is done by the loop's thread."""
_ROUND = Step("round", "a round", Loop, "step")
_TIMED = (*STEPS, _ROUND)
_FILE_BYTES = 8 * len(_TIMED)


def _mapped(folder: Path, access: int) -> memoryview:
    path = folder / FILE
    with path.open("r+b") as file:
        return memoryview(mmap.mmap(file.fileno(), _FILE_BYTES, access=access)).cast("q")


def timed(cells: memoryview, place: int, door: Callable[P, R]) -> Callable[P, R]:
    """Return `door` with the CPU time of its thread added to a cell, in nanoseconds."""

    @wraps(door)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        begun = thread_time_ns()
        try:
            return door(*args, **kwargs)
        finally:
            cells[place] += thread_time_ns() - begun

    return call


def put_clocks(folder: Path) -> None:
    """Have every step of this process's schedulers counted in a file of this folder."""
    begun = folder / f"{FILE}.new"
    begun.write_bytes(bytes(_FILE_BYTES))
    begun.rename(folder / FILE)
    cells = _mapped(folder, mmap.ACCESS_WRITE)
    for place, step in enumerate(_TIMED):
        door: Callable[..., object] = getattr(step.owner, step.door)
        setattr(step.owner, step.door, timed(cells, place, door))


class Clocks:
    """The harness's view of the clocks; they must have been put."""

    def __init__(self, folder: Path) -> None:
        """Read the clocks of this folder."""
        self._cells = _mapped(folder, mmap.ACCESS_READ)

    def seconds(self) -> dict[str, float]:
        """Return the CPU seconds of each step so far, and of whole rounds."""
        return {step.key: cell / 1e9 for step, cell in zip(_TIMED, self._cells, strict=True)}


def split(
    before: dict[str, float], after: dict[str, float], whole_seconds: float
) -> dict[str, float]:
    """Return what each step took of the CPU seconds of a process.

    What a round does beside the steps, and the process beside its rounds, are steps too.
    """
    spent = {key: after[key] - before[key] for key in after}
    rounds = spent.pop(_ROUND.key)
    return {
        **spent,
        "rest": rounds - sum(spent.values()),
        "beside": whole_seconds - rounds,
    }


LABELS = {
    **{step.key: step.label for step in STEPS},
    "rest": "the rest of a round",
    "beside": "rests, sweeps and renewals",
}
"""What `split` returns, in words."""


def main() -> None:
    """Run a scheduler with clocks until SIGTERM."""
    put_clocks(Path(os.environ[FOLDER_VARIABLE]))
    scheduler.main()


if __name__ == "__main__":
    main()
