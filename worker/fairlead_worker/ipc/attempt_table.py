"""The attempt table: memory where a child records each attempt before its handler starts.

The parent reads it, also when the child is dead: after a SIGKILL it still knows what had
started, which handler that ignores its stop has passed its deadline, and what had ended and was
not stored.
"""

import mmap
import os
import tempfile
from dataclasses import dataclass

from fairlead_worker.ipc.attempt_key import Key

CELLS = 5
"""64-bit cells per record: job id (0: the slot is free), token, started, deadline, flags."""
STAND_INS_MAX = 4
"""How many attempts that do not stop may run beyond a child's slots: see `child.slots`."""
UNSTORED_CELLS = 3
"""Cells per record of an attempt that has ended: job id (0: there is none), token, run time."""
UNSTORED_MAX = 5500
"""How many of those there are: as many as a child holds attempts at most."""
HAS_CONTENT = -1
"""Stands for the run time where the ending is more than a plain success: it is not recorded."""

ASYNC = 1  # runs on the event loop
THREAD = 2  # runs in a thread, which cannot be stopped
PROCESS = 4  # runs in a process that the child itself can end
CANCELLED = 8  # was stopped because its job was cancelled
EVICTED = 16  # was stopped so that another tenant can run
ASKED = 64  # was asked to stop, whatever for
BLOCKS = 128  # keeps the event loop from everything else now


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEntry:
    """A started attempt; times are microseconds of CLOCK_MONOTONIC, shared by all processes."""

    slot: int
    job_id: int
    token: int
    started_us: int
    deadline_us: int
    flags: int

    @property
    def key(self) -> Key:
        """The job's id and the token."""
        return self.job_id, self.token


@dataclass(frozen=True, slots=True)
class UnstoredSuccess:
    """An attempt that had ended as a success without a result, and was not stored."""

    job_id: int
    token: int
    run_us: int

    @property
    def key(self) -> Key:
        """The job's id and the token."""
        return self.job_id, self.token


class AttemptTable:
    """One record per slot, and records of endings, in memory that parent and child share.

    A record counts while its job id is set. The child writes the id last and clears it first; a
    reader takes a record only when its id and token are the same before and after. The records
    of endings are read when the child is dead.

    Args:
        descriptor: what `new_attempt_table` returned, inherited through exec.
        slots: the child's concurrency. There are a few more records than that.
    """

    def __init__(self, descriptor: int, slots: int) -> None:
        self.cells = memoryview(mmap.mmap(descriptor, _size(slots))).cast("q")
        self._records = slots + STAND_INS_MAX

    @property
    def unstored_cells(self) -> range:
        """The first cell of each record of an ending."""
        first = self._records * CELLS
        return range(first, first + UNSTORED_MAX * UNSTORED_CELLS, UNSTORED_CELLS)

    def read(self) -> tuple[AttemptEntry, ...]:
        """Return what runs, or ran when the child died."""
        found = (self._entry(slot) for slot in range(self._records))
        return tuple(entry for entry in found if entry is not None)

    def read_dead(self) -> tuple[tuple[AttemptEntry, ...], tuple[UnstoredSuccess, ...]]:
        """Return what a dead child has not stored.

        An ending of which only the child knew the content is lost with it: such an attempt
        stands beside those that ran.
        """
        lost, successes = list[AttemptEntry](), list[UnstoredSuccess]()
        for first in self.unstored_cells:
            job_id, token, run_us = self.cells[first : first + UNSTORED_CELLS]
            if job_id and run_us == HAS_CONTENT:
                lost.append(_ended(job_id, token))
            elif job_id:
                successes.append(UnstoredSuccess(job_id, token, run_us))
        ended = {each.token for each in lost}.union(each.token for each in successes)
        ran = [entry for entry in self.read() if entry.token not in ended]
        return (*ran, *lost), tuple(successes)

    def _entry(self, slot: int) -> AttemptEntry | None:
        first = slot * CELLS
        job_id, token, started_us, deadline_us, flags = self.cells[first : first + CELLS]
        if job_id == 0 or [job_id, token] != self.cells[first : first + 2].tolist():
            return None
        return AttemptEntry(
            slot=slot,
            job_id=job_id,
            token=token,
            started_us=started_us,
            deadline_us=deadline_us,
            flags=flags,
        )


def stand_ins_of(concurrency: int) -> int:
    """Return how many attempts that do not stop give their slots up in a child, at a time.

    At most half of the slots, so that a child that runs one job at a time does so always.
    """
    return min(STAND_INS_MAX, concurrency // 2)


def new_attempt_table(slots: int) -> int:
    """Return a new descriptor of an empty attempt table; the caller closes it.

    It is memory without a name where the system has such, so that neither a read-only file
    system nor a crash matters.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("fairlead-attempts")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.truncate(descriptor, _size(slots))
    return descriptor


def _ended(job_id: int, token: int) -> AttemptEntry:
    """Return an attempt that has no slot any more."""
    return AttemptEntry(
        slot=-1, job_id=job_id, token=token, started_us=0, deadline_us=0, flags=0
    )


def _size(slots: int) -> int:
    """Return how many bytes a table has."""
    return ((slots + STAND_INS_MAX) * CELLS + UNSTORED_MAX * UNSTORED_CELLS) * 8
