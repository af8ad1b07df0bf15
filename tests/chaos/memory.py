"""Memory that runs out: a control group in which the kernel kills who wants more.

It needs Linux, root and a memory controller, of the first version of control groups or the
second.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

from tests.support.waiting import until

_ROOT = Path("/sys/fs/cgroup")
_MIB = 2**20
_JOIN = 'echo $$ > "$1" && shift && exec "$@"'
_numbers = count(1)


@cache
def lacking() -> str | None:
    """Return what is missing for such a group, or None."""
    try:
        with confined(64):
            return None
    except OSError as error:
        return f"needs Linux, root and a control group for memory: {error}"


@dataclass(frozen=True, slots=True)
class Confined:
    """A group with a limit; see `confined`."""

    folder: Path

    @property
    def within(self) -> tuple[str, ...]:
        """Starts a program in the group."""
        return ("/bin/sh", "-c", _JOIN, "sh", str(self.folder / "cgroup.procs"))

    def kills(self) -> int:
        """Return how many processes of it the kernel has killed."""
        told = "memory.events" if is_second() else "memory.oom_control"
        lines = (self.folder / told).read_text().splitlines()
        return int(dict(each.split() for each in lines)["oom_kill"])

    def is_empty(self) -> bool:
        """Return whether no process is in it."""
        return not (self.folder / "cgroup.procs").read_text()


def is_second() -> bool:
    """Return whether there are control groups of the second version only."""
    return (_ROOT / "cgroup.controllers").exists()


@contextmanager
def confined(mib: int) -> Generator[Confined]:
    """Yield a group for so much memory, and remove it at the end; its programs have ended."""
    root = _ROOT if is_second() else _ROOT / "memory"
    group = Confined(root / f"chaos-{os.getpid()}-{next(_numbers)}")
    group.folder.mkdir()
    try:
        if is_second():
            _write(group, "memory.max", mib * _MIB)
            _write(group, "memory.swap.max", 0)
        else:
            _write(group, "memory.limit_in_bytes", mib * _MIB)
            _write(group, "memory.swappiness", 0)
        yield group
    finally:
        until(group.is_empty, what="the end of what ran in the group")
        group.folder.rmdir()


def _write(group: Confined, name: str, value: int) -> None:
    (group.folder / name).write_text(str(value))
