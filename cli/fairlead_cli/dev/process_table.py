"""Which processes of this machine are alive, and whose children they are.

`os.kill(pid, 0)` cannot say so: it succeeds for a zombie, and a container without an init
process keeps the zombies of killed orphans.
"""

import subprocess
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that is alive, zombies excluded."""

    pid: int
    parent: int
    name: str


def living() -> dict[int, Process]:
    """Return every living process by its id, as of now: Linux's /proc, elsewhere `ps`."""
    found = _from_proc() if (_PROC / "self/stat").exists() else _from_ps()
    return {process.pid: process for process in found}


def is_alive(pid: int) -> bool:
    """Tell whether this process runs; a zombie does not."""
    return pid in living()


def children(pid: int) -> tuple[int, ...]:
    """Return the ids of the living direct children of a process."""
    return tuple(each.pid for each in living().values() if each.parent == pid)


def _from_proc() -> list[Process]:
    found: list[Process] = []
    for folder in _PROC.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            text = (folder / "stat").read_text(errors="replace")
        except OSError:  # it ended since the folder was listed
            continue
        # The name stands in brackets and may hold spaces and brackets itself.
        head, _, tail = text.rpartition(")")
        pid, _, name = head.partition(" (")
        state, parent = tail.split()[:2]
        if state not in "ZX":
            found.append(Process(int(pid), int(parent), name))
    return found


def _from_ps() -> list[Process]:
    listing = subprocess.run(
        ["/bin/ps", "-A", "-o", "pid=,ppid=,stat=,ucomm="],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    rows = (line.split(None, 3) for line in listing.splitlines())
    return [
        Process(int(pid), int(parent), name.strip())
        for pid, parent, state, name in rows
        if not state.startswith("Z")
    ]
