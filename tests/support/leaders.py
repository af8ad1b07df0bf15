"""The autoscaler's processes on a cluster: which one leads, and what takes it away."""

from time import monotonic

from tests.support import nodes
from tests.support.cluster import Release
from tests.support.object_changes import uid
from tests.support.waiting import until

TAKEOVER_SECONDS = 13.0
"""Within which another one leads after a crash."""


def await_holder(release: Release, *, other_than: str = "") -> str:
    """Wait until another of the autoscaler's processes holds the Lease; return which."""
    return until(
        lambda: holder if (holder := release.holder()) not in {"", other_than} else None,
        what="a holder" + (f" other than {other_than}" if other_than else ""),
        seconds=40,
    )


def await_leader(release: Release, *, other_than: str = "") -> str:
    """Wait until another of the autoscaler's pods holds the Lease; return which."""
    return until(
        lambda: leader if (leader := release.leader()) not in {"", other_than} else None,
        what="a leader" + (f" other than {other_than}" if other_than else ""),
        seconds=40,
    )


def processes(release: Release, pod: str) -> tuple[int, ...]:
    """Return a pod's processes, where the node is this machine."""
    return nodes.of_pod(uid(release.got("pod", pod)))


def kill(release: Release, holder: str) -> float:
    """Kill a process where it is in reach, and have another pod come for its own; return when.

    Without the new pod the container would come back ever later.
    """
    pod = holder.partition("_")[0]
    killed_at = monotonic()
    if nodes.PIDS:
        found = processes(release, pod)
        killed_at = monotonic()
        nodes.killed(found)
    release.kubectl("delete", "pod", pod, "--force", "--grace-period=0", "--wait=false")
    return killed_at
