"""Processes of a cluster whose only node is this machine, held still as a fault.

Several test processes may share the node. Each holds a lock with the others while one of its
tests runs, and alone while it stops what all of them need.
"""

import fcntl
import os
import signal
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from functools import cache
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
def shared() -> Generator[None]:
    """Have the node's components go on for the length of the block."""
    if not PIDS:
        yield
        return
    node, gate = _locks()
    fcntl.flock(gate, fcntl.LOCK_EX)
    fcntl.flock(node, fcntl.LOCK_SH)
    fcntl.flock(gate, fcntl.LOCK_UN)
    try:
        yield
    finally:
        fcntl.flock(node, fcntl.LOCK_UN)


@contextmanager
def alone() -> Generator[None]:
    """Wait until no other test process runs a test, and let none begin; within `shared`.

    A caller that waits here holds the gate, so that others cannot go on passing it. It releases
    the node before, since another one may wait at the gate for just that.
    """
    node, gate = _locks()
    fcntl.flock(node, fcntl.LOCK_UN)
    fcntl.flock(gate, fcntl.LOCK_EX)
    fcntl.flock(node, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(node, fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)


@cache
def _locks() -> tuple[int, int]:
    """Open what the processes of one run lock: the node, and the gate before it."""
    names = ("kubelet.pid", "kube-apiserver.pid")
    node, gate = (os.open(Path(PIDS) / name, os.O_RDONLY) for name in names)
    return node, gate


def killed(pids: Iterable[int]) -> None:
    """Kill processes at once, as a machine does that is out of memory."""
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


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
