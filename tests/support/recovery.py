"""What a cluster has to come back to after one of its components stood still."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import cast

from tests.support import nodes
from tests.support.chart import Json, Object, at
from tests.support.cluster import CommandFailed, Release, run
from tests.support.object_changes import is_ready, is_terminating
from tests.support.waiting import until

_HEARD_TWICE = timedelta(seconds=12)
"""A node renews its Lease every 10 s; each checker looks at it between two renewals."""

_EVERYBODYS = ("kube-system",)
_DATABASE = {"app.kubernetes.io/component": "trial-database"}


@contextmanager
def undisturbed() -> Generator[None]:
    """Run with no other test beside it, and let others begin when the node is whole again."""
    with nodes.alone():
        try:
            yield
        finally:
            await_whole(since=datetime.now(UTC))


def await_whole(*, since: datetime) -> None:
    """Wait until every node has been heard from for a while, and all that tests share is ready.

    What is ready right after a fault may only be what was last said of it: the node
    controller then finds the nodes silent, and reports them as not ready.
    """
    until(lambda: _is_whole(since + _HEARD_TWICE), what="a whole node", seconds=180)


def await_renewed(release: Release, *, since: datetime) -> str:
    """Wait until the Lease is renewed after a time of our own clock; return its holder."""

    def renewed() -> str | None:
        try:
            lease = release.lease()
        except CommandFailed:
            return None
        holder = lease.get("holderIdentity")
        return str(holder) if holder and _renewed_at(lease) > since else None

    return until(renewed, what="a renewal of the Lease", seconds=90)


def _is_whole(heard: datetime) -> bool:
    try:
        found = _listed("nodes")
        heard_at = [
            _renewed_at(each["spec"])
            for each in _listed("leases", "--namespace=kube-node-lease")
        ]
        shared = [each for each in _listed("pods", "--all-namespaces") if _is_shared(each)]
        answers = {
            run(
                "kubectl",
                "get",
                f"--raw=/api/v1/nodes/{at(each, 'metadata', 'name')}/proxy/healthz",
            )
            for each in found
        }
    except CommandFailed:
        return False
    ready = all(is_ready(each) for each in (*found, *shared))
    return ready and min(heard_at) > heard and answers == {"ok"}


def _listed(*words: str) -> list[Object]:
    text = run("kubectl", "get", *words, "--output=json", seconds=15)
    return cast("list[Object]", json.loads(text)["items"])


def _is_shared(pod: Object) -> bool:
    labels = cast("Object", at(pod, "metadata", "labels") or {})
    ours = labels.items() >= _DATABASE.items()
    everybodys = at(pod, "metadata", "namespace") in _EVERYBODYS
    return (ours or everybodys) and not is_terminating(pod)


def _renewed_at(lease: Json) -> datetime:
    said = at(lease, "renewTime")
    return datetime.fromisoformat(str(said)) if said else datetime.min.replace(tzinfo=UTC)
