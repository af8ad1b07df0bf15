"""What a handler records: a count and start times in a memory-mapped file.

A handler that reported through the database or a pipe would be measured with its report. Two
stores into a mapped page cost well under a microsecond, are the same for every contender, and
can be read by the harness at any moment without disturbing a process. Times are CLOCK_MONOTONIC
in nanoseconds, which all processes of one machine share. Only the standard library is used: the
peers' environments import this module too.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Iterator
from pathlib import Path

STAMPS_MAX = 8192
_COUNT, _FIRST_START, _STAMPS = 0, 1, 2
_FILE_BYTES = 8 * (_STAMPS + STAMPS_MAX)
FOLDER_VARIABLE = "BENCH_PROBE"


class Probe:
    """One process's counters; the file is named after the process."""

    def __init__(self, folder: Path) -> None:
        """Create the file of this process in `folder`, which must exist."""
        path = folder / f"{os.getpid()}.probe"
        with path.open("w+b") as file:
            file.truncate(_FILE_BYTES)
            self._cells = memoryview(mmap.mmap(file.fileno(), _FILE_BYTES)).cast("q")

    @classmethod
    def from_environment(cls) -> Probe:
        """Open the probe of this process in the folder that the harness has named."""
        return cls(Path(os.environ[FOLDER_VARIABLE]))

    def started(self) -> None:
        """Count one handler start; the first one also records its time."""
        cells = self._cells
        cells[_COUNT] += 1
        if not cells[_FIRST_START]:
            cells[_FIRST_START] = time.monotonic_ns()

    def stamped(self, index: int) -> None:
        """Count one handler start and keep its time under `index` (0 up to STAMPS_MAX)."""
        self._cells[_STAMPS + index] = time.monotonic_ns()
        self.started()

    def started_many(self, count: int) -> None:
        """Count several starts at once, for floors that call no handler."""
        cells = self._cells
        cells[_COUNT] += count
        if not cells[_FIRST_START]:
            cells[_FIRST_START] = time.monotonic_ns()


class ProbeFolder:
    """The harness's view of all probes of one fleet."""

    def __init__(self, path: Path) -> None:
        """Read the probes in `path`; they may appear at any time."""
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o777)
        self._open: dict[Path, memoryview] = {}

    def _cells(self) -> Iterator[memoryview]:
        for path in self.path.glob("*.probe"):
            if path not in self._open and path.stat().st_size == _FILE_BYTES:
                with path.open("r+b") as file:
                    mapped = mmap.mmap(file.fileno(), _FILE_BYTES, prot=mmap.PROT_READ)
                self._open[path] = memoryview(mapped).cast("q")
        yield from self._open.values()

    def count(self) -> int:
        """Return how many handlers have been started so far, in all processes."""
        return sum(cells[_COUNT] for cells in self._cells())

    def first_start_ns(self) -> int:
        """Return the monotonic time of the first handler's start, or 0 before it."""
        starts = [cells[_FIRST_START] for cells in self._cells() if cells[_FIRST_START]]
        return min(starts, default=0)

    def stamps(self, count: int) -> tuple[int, ...]:
        """Return the start times of jobs 0 up to `count`; 0 where a job has not started."""
        every = tuple(self._cells())
        return tuple(
            max((cells[_STAMPS + index] for cells in every), default=0)
            for index in range(count)
        )
