"""Which pods a ReplicaSet deletes first, as far as Fairlead's pods differ in it."""

from collections.abc import Iterable

from fairlead_autoscaler.kube.port import WatchedPod


def first_to_go(pods: Iterable[WatchedPod], count: int) -> list[WatchedPod]:
    """Return so many of the pods: those without a node first, then not ready, then the newest.

    Deletion costs, restarts and how full nodes are come between and after; our pods have no
    costs, and tests give them one node.
    """
    order = sorted(pods, key=lambda pod: pod.name, reverse=True)
    order.sort(key=lambda pod: pod.created_at, reverse=True)
    order.sort(key=lambda pod: (not pod.unschedulable, pod.ready))
    return order[: max(0, count)]
