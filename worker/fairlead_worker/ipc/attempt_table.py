"""The attempt table: memory where a child records each attempt before its handler starts.

The parent reads it, also when the child is dead: after a SIGKILL it still knows what had
started, and which handler that ignores its stop has passed its deadline.
"""

import mmap
import os
import tempfile
from dataclasses import dataclass

from fairlead_worker.ipc.attempt_key import Key

CELLS = 5
"""64-bit cells per record: job id (0: the slot is free), token, started, deadline, flags."""

ASYNC = 1  # runs on the event loop
THREAD = 2  # runs in a thread, which cannot be stopped
PROCESS = 4  # runs in a process that the child itself can end
CANCELLED = 8  # was stopped because its job was cancelled
EVICTED = 16  # was stopped so that another tenant can run


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


class AttemptTable:
    """One record per slot, in memory that parent and child share.

    A record counts while its job id is set. The child writes the id last and clears it first; a
    reader takes a record only when its id and token are the same before and after.

    Args:
        descriptor: what `new_attempt_table` returned, inherited through exec.
        slots: how many records there are: the child's concurrency.
    """

    def __init__(self, descriptor: int, slots: int) -> None:
        self.cells = memoryview(mmap.mmap(descriptor, slots * CELLS * 8)).cast("q")
        self._slots = slots

    def read(self) -> tuple[AttemptEntry, ...]:
        """Return what runs, or ran when the child died."""
        found = (self._entry(slot) for slot in range(self._slots))
        return tuple(entry for entry in found if entry is not None)

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
    os.truncate(descriptor, slots * CELLS * 8)
    return descriptor
