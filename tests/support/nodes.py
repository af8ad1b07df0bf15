"""Processes of a cluster whose only node is this machine, held still as a fault."""

import os
import signal
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

PIDS = os.environ.get("FAIRLEAD_TEST_NODE_PIDS", "")
"""A folder with `kubelet.pid` and the like; empty: the node is not this machine."""

_PAUSE = b"/pause"


def of_component(name: str) -> tuple[int, ...]:
    """Return the process of one of the node's components, such as `kubelet`."""
    return (int((Path(PIDS) / f"{name}.pid").read_text()),)


def of_pod(uid: str) -> tuple[int, ...]:
    """Return the processes of a pod's containers, but for the one that holds its network."""
    names = (uid, uid.replace("-", "_"))
    found: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            groups, command = (folder / "cgroup").read_text(), (folder / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if any(name in groups for name in names) and not command.startswith(_PAUSE):
            found.append(int(folder.name))
    return tuple(found)


@contextmanager
def frozen(pids: Iterable[int]) -> Generator[None]:
    """Stop processes for the length of the block, as a machine does that hangs."""
    held = tuple(pids)
    assert held
    try:
        for pid in held:
            os.kill(pid, signal.SIGSTOP)
        yield
    finally:
        for pid in held:
            _go_on(pid)


def _go_on(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:  # killed while it was stopped
        return
